/* SPDX-License-Identifier: BSD-3-Clause */
/* The pipeline: budget, back-pressure, time, filters, fragments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/rxq_rig.h"

#define TIMEOUT 1000u
#define US      1000u

/* ---- packets through the path ---- */

static void segments_of_one_poll_leave_joined_at_complete(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);

	(void)state;
	for (unsigned i = 0; i < 5u; i++)
		assert_true(rxq_rig_send(r, 0, 1000u, 0));
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 5);
	rxq_rig_expect(r, "");
	assert_true(vnetrx_rxq_complete(r->rxq, 0));
	rxq_rig_expect(r, "5000:flush");
	assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_RUNNING);
	rxq_rig_free(r);
}

static void push_leaves_in_the_same_call(void **state)
{
	const struct vnetrx_rxq_config cfg = { .gro_timeout_ns = TIMEOUT };
	struct rxq_rig *r = rxq_rig_new(&cfg);

	(void)state;
	rxq_rig_send(r, 0, 1000u, 0);
	rxq_rig_send(r, 0, 1000u, FR_PSH);
	(void)vnetrx_rxq_poll(r->rxq, 64u, 0);
	rxq_rig_expect(r, "2000:push");
	rxq_rig_free(r);
}

static void without_gro_packets_go_up_as_they_are(void **state)
{
	const struct vnetrx_rxq_config cfg = { .flags = VNETRX_RXQ_GRO_OFF };
	struct rxq_rig *r = rxq_rig_new(&cfg);

	(void)state;
	rxq_rig_send(r, 0, 1000u, 0);
	rxq_rig_send(r, 0, 1000u, 0);
	(void)vnetrx_rxq_poll(r->rxq, 64u, 0);
	rxq_rig_expect(r, "1000:passed 1000:passed");
	vnetrx_rxq_flush(r->rxq);
	vnetrx_rxq_set_gro_protos(r->rxq, VNETRX_GRO_TCP);
	assert_true(vnetrx_rxq_deadline(r->rxq) == VNETRX_NEVER);
	rxq_rig_free(r);
}

static unsigned fragments_of_64_kib(uint32_t flags)
{
	struct vnetrx_rxq_config cfg = { .ring_size = 128u, .buf_len_min = 1530u, .buf_len_max = 1536u,
	                                 .copy_len_max = 0xffffu, .flags = flags | VNETRX_RXQ_GRO_OFF };
	struct rxq_rig *r = rxq_rig_new(&cfg);
	unsigned frags;

	r->host.keep = true;
	assert_true(rxq_rig_send_other(r, 65549u)); /* 14 + 65535 */
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 1);
	assert_non_null(r->host.kept.first);
	assert_int_equal(r->host.kept.first->nbufs, 43);
	frags = r->host.kept.first->nfrags;
	rxq_rig_free(r);
	return frags;
}

static void a_64_kib_packet_is_2_or_3_fragments_and_without_the_coalescer_43(void **state)
{
#ifdef VNRX_POOL_DEBUG
	(void)fragments_of_64_kib;
	skip(); /* every buffer has a run of its own */
#else
	unsigned with = fragments_of_64_kib(0), without = fragments_of_64_kib(VNETRX_RXQ_NO_COALESCE);

	print_message("# 65549 bytes over buffers of 1536: %u fragments (limit 2..3), %u without the coalescer (43)\n",
	              with, without);
	assert_in_range(with, 2, 3);
	assert_int_equal(without, 43);
#endif
	(void)state;
}

static void small_packets_are_copied_and_their_buffers_go_back_to_the_ring(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);
	struct vnetrx_rxq_stats s;

	(void)state;
	r->host.keep = true;
	for (unsigned i = 0; i < 100u; i++) {
		assert_true(rxq_rig_send(r, 0, 0, 0));
		assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 1);
	}
	assert_true(vnetrx_rxq_complete(r->rxq, 0));
	s = rxq_rig_stats(r);
	assert_int_equal(s.pool.copies, 100);
	assert_int_equal(s.pool.bufs_lent, RXQ_RING);
	assert_true((r->host.kept.first->flags & VNETRX_PKT_COPIED) != 0u);
	rxq_rig_free(r);
}

/* ---- budget and back-pressure ---- */

static void budget_counts_packets_also_lost_ones(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);

	(void)state;
	for (unsigned i = 0; i < 10u; i++)
		assert_true(rxq_rig_send(r, i % 8u, 1000u, 0));
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 0, 0), 0);
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 3u, 0), 3);
	faulty_set(r->faulty, FAULTY_LEN_ZERO, 1000000u);
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 3u, 0), 3);
	assert_int_equal(rxq_rig_stats(r).merge.drop_error, 3);
	faulty_quiet(r->faulty, true);
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 4);
	rxq_rig_free(r);
}

static void a_packet_of_many_buffers_counts_once(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);

	(void)state;
	assert_true(rxq_rig_send_other(r, 60000u));
	assert_true(rxq_rig_send_other(r, 1000u));
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 2);
	assert_int_equal(r->host.pkts, 2);
	rxq_rig_free(r);
}

static void a_full_host_stops_the_queue_and_loses_nothing(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);

	(void)state;
	r->host.limited = true;
	r->host.take_max = 0;
	for (unsigned i = 0; i < 4u; i++)
		assert_true(rxq_rig_send(r, i, 1000u, FR_PSH));
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 4);
	assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_STALLED);
	assert_true(rxq_rig_send(r, 4u, 1100u, FR_PSH));
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 0); /* nothing more is reaped */
	assert_int_equal(softdev_waiting(r->soft), 1);
	assert_true(vnetrx_rxq_complete(r->rxq, 0));          /* the host says when there is room again */
	assert_int_equal(rxq_rig_stats(r).queue.waiting, 4);
	r->host.take_max = 3u;
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 0);
	rxq_rig_expect(r, "1000:passed 1000:passed 1000:passed");
	r->host.limited = false;
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 1);
	rxq_rig_expect(r, "1000:passed 1100:passed");
	assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_RUNNING);
	assert_true(vnetrx_rxq_complete(r->rxq, 0));
	assert_int_equal(rxq_rig_stats(r).queue.delivered, 5);
	assert_int_equal(rxq_rig_stats(r).queue.delivered_bytes, 4u * 1054u + 1154u);
	rxq_rig_free(r);
}

static void nothing_is_reaped_while_every_descriptor_is_at_the_host(void **state)
{
	const struct vnetrx_rxq_config cfg = { .pkts_max = 8u };
	struct rxq_rig *r = rxq_rig_new(&cfg);

	(void)state;
	r->host.keep = true;
	for (unsigned i = 0; i < 12u; i++)
		assert_true(rxq_rig_send(r, 0, 1000u, FR_PSH));
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 8);
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 0);
	assert_int_equal(softdev_waiting(r->soft), 4);
	assert_int_equal(rxq_rig_stats(r).merge.drop_no_pkt, 0);
	assert_int_equal(heap_release(&r->host, 8u), 8);
	assert_true(atomic_load(&r->host.wakes) > 0u);
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 4);
	rxq_rig_free(r);
}

/* ---- time ---- */

static void lateness_of_the_caller_never_splits_a_train(void **state)
{
	const struct vnetrx_rxq_config cfg = { .gro_timeout_ns = TIMEOUT };
	struct rxq_rig *r = rxq_rig_new(&cfg);

	(void)state;
	rxq_rig_send(r, 0, 1000u, 0);
	(void)vnetrx_rxq_poll(r->rxq, 64u, 0);
	assert_true(vnetrx_rxq_deadline(r->rxq) == TIMEOUT);
	rxq_rig_send(r, 0, 1000u, 0); /* is already there when the timer comes, late */
	assert_int_equal(vnetrx_rxq_expire(r->rxq, 64u, 50u * TIMEOUT), 1);
	rxq_rig_expect(r, "");
	assert_true(vnetrx_rxq_deadline(r->rxq) == 51u * TIMEOUT);
	(void)vnetrx_rxq_expire(r->rxq, 64u, 51u * TIMEOUT);
	rxq_rig_expect(r, "2000:timeout");
	rxq_rig_free(r);
}

static void hold_max_bounds_a_flow_that_never_pauses(void **state)
{
	const struct vnetrx_rxq_config cfg = { .gro_timeout_ns = 10u * TIMEOUT, .gro_hold_max_ns = 25u * TIMEOUT };
	struct rxq_rig *r = rxq_rig_new(&cfg);

	(void)state;
	for (unsigned i = 0; i <= 5u; i++) {
		rxq_rig_send(r, 0, 100u, 0);
		(void)vnetrx_rxq_poll(r->rxq, 64u, i * 5u * TIMEOUT);
	}
	rxq_rig_expect(r, "500:hold"); /* the sixth came at the bound */
	vnetrx_rxq_flush(r->rxq);
	rxq_rig_expect(r, "100:flush");
	rxq_rig_free(r);
}

static void with_timeout_0_poll_keeps_what_may_grow_and_complete_empties(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);

	(void)state;
	for (unsigned i = 0; i < 4u; i++) {
		rxq_rig_send(r, 0, 100u, 0);
		(void)vnetrx_rxq_poll(r->rxq, 64u, i * 100u * US);
	}
	rxq_rig_expect(r, "");
	assert_true(vnetrx_rxq_complete(r->rxq, 400u * US));
	rxq_rig_expect(r, "400:flush");
	assert_true(vnetrx_rxq_deadline(r->rxq) == VNETRX_NEVER);
	rxq_rig_send(r, 0, 100u, 0);
	(void)vnetrx_rxq_poll(r->rxq, 64u, 500u * US);
	(void)vnetrx_rxq_poll(r->rxq, 64u, 1500u * US); /* the default bound is 1 ms */
	rxq_rig_expect(r, "100:hold");
	rxq_rig_free(r);
}

static void time_at_its_edges(void **state)
{
	const struct vnetrx_rxq_config cfg = { .gro_timeout_ns = TIMEOUT };
	struct rxq_rig *r = rxq_rig_new(&cfg);

	(void)state;
	rxq_rig_send(r, 0, 100u, 0);
	(void)vnetrx_rxq_poll(r->rxq, 64u, VNETRX_NEVER - 10u);
	assert_true(vnetrx_rxq_deadline(r->rxq) == VNETRX_NEVER - 1u); /* not past the end, not "never" */
	rxq_rig_send(r, 0, 100u, 0);
	(void)vnetrx_rxq_poll(r->rxq, 64u, 5u); /* steps back: counts as standing still */
	rxq_rig_expect(r, "");
	(void)vnetrx_rxq_expire(r->rxq, 64u, VNETRX_NEVER - 1u);
	rxq_rig_expect(r, "200:hold");
	rxq_rig_free(r);
}

static void the_host_is_told_a_deadline_when_it_changes(void **state)
{
	const struct vnetrx_rxq_config cfg = { .gro_timeout_ns = TIMEOUT };
	struct rxq_rig *r = rxq_rig_new(&cfg);

	(void)state;
	assert_true(vnetrx_rxq_complete(r->rxq, 0));
	assert_int_equal(r->host.timer_sets, 0);
	rxq_rig_send(r, 0, 100u, 0);
	(void)vnetrx_rxq_poll(r->rxq, 64u, 10u);
	assert_true(vnetrx_rxq_complete(r->rxq, 10u));
	assert_true(vnetrx_rxq_complete(r->rxq, 11u));
	assert_int_equal(r->host.timer_sets, 1);
	assert_true(r->host.deadline == 10u + TIMEOUT);
	(void)vnetrx_rxq_expire(r->rxq, 64u, 10u + TIMEOUT);
	assert_int_equal(r->host.timer_sets, 2);
	assert_true(r->host.deadline == VNETRX_NEVER);
	rxq_rig_free(r);
}

static void complete_says_poll_again_when_packets_came_meanwhile(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);

	(void)state;
	(void)vnetrx_rxq_poll(r->rxq, 64u, 0);
	rxq_rig_send(r, 0, 100u, 0); /* between the poll and the interrupt being on */
	assert_false(vnetrx_rxq_complete(r->rxq, 0));
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 1);
	assert_true(vnetrx_rxq_complete(r->rxq, 0));
	rxq_rig_free(r);
}

/* ---- early ---- */

static void drop_take_pass(void *host, struct vnetrx_pkt *const *pkts, unsigned n, uint8_t *verdict)
{
	struct heap_host *h = host;

	for (unsigned i = 0; i < n; i++) {
		verdict[i] = (uint8_t)(pkts[i]->len % 3u);
		if (verdict[i] == VNETRX_VERDICT_TAKEN)
			vnetrx_pktq_add(&h->kept, pkts[i]);
	}
}

static void the_early_filter_drops_takes_and_passes(void **state)
{
	struct vnetrx_host_ops ops = heap_host_ops;
	struct rxq_rig *r = rxq_rig_new(NULL);
	struct vnetrx_rxq_stats s;
	size_t size;

	(void)state;
	(void)rxq_rig_reset(r); /* the same memory and devices, with another table */
	assert_int_equal(vnetrx_rxq_fini(r->rxq), VNETRX_OK);
	ops.early = drop_take_pass;
	r->cfg.host_ops = &ops;
	size = vnetrx_rxq_footprint(&r->cfg, NULL);
	assert_int_equal(vnetrx_rxq_init(&r->rxq, &r->cfg, r->mem, size), VNETRX_OK);
	assert_int_equal(vnetrx_rxq_fill(r->rxq), RXQ_RING);
	for (unsigned i = 0; i < 30u; i++)
		assert_true(rxq_rig_send(r, 0, 1000u + i, 0)); /* len 1054 + i: 1, 2, 0, 1, 2, 0 ... */
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 30);
	assert_true(vnetrx_rxq_complete(r->rxq, 0));
	s = rxq_rig_stats(r);
	assert_int_equal(s.queue.early_dropped, 10);
	assert_int_equal(s.queue.early_taken, 10);
	assert_int_equal(s.gro.pkts, 10);
	assert_int_equal(r->host.kept.count, 10);
	rxq_rig_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_of_one_poll_leave_joined_at_complete),
		cmocka_unit_test(push_leaves_in_the_same_call),
		cmocka_unit_test(without_gro_packets_go_up_as_they_are),
		cmocka_unit_test(a_64_kib_packet_is_2_or_3_fragments_and_without_the_coalescer_43),
		cmocka_unit_test(small_packets_are_copied_and_their_buffers_go_back_to_the_ring),
		cmocka_unit_test(budget_counts_packets_also_lost_ones),
		cmocka_unit_test(a_packet_of_many_buffers_counts_once),
		cmocka_unit_test(a_full_host_stops_the_queue_and_loses_nothing),
		cmocka_unit_test(nothing_is_reaped_while_every_descriptor_is_at_the_host),
		cmocka_unit_test(lateness_of_the_caller_never_splits_a_train),
		cmocka_unit_test(hold_max_bounds_a_flow_that_never_pauses),
		cmocka_unit_test(with_timeout_0_poll_keeps_what_may_grow_and_complete_empties),
		cmocka_unit_test(time_at_its_edges),
		cmocka_unit_test(the_host_is_told_a_deadline_when_it_changes),
		cmocka_unit_test(complete_says_poll_again_when_packets_came_meanwhile),
		cmocka_unit_test(the_early_filter_drops_takes_and_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
