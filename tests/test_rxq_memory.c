/* SPDX-License-Identifier: BSD-3-Clause */
/* What fails, fails at every call once: each op, the n-th time, for every n. And memory that runs out and comes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rxq/ops.h"
#include "support/stream.h"

#define ROUNDS 16u

/* The same traffic every time: two flows, some small packets, some large, kept for a while. */
static void traffic(struct rxq_rig *rig)
{
	struct frame f[2];

	frame_init(&f[0], 0);
	frame_init6(&f[1], 1);
	(void)vnetrx_rxq_fill(rig->rxq);
	for (unsigned i = 0; i < ROUNDS; i++) {
		rig->host.keep = i % 4u != 3u;
		for (unsigned k = 0; k < 6u; k++) {
			f[k % 2u].payload_len = i % 5u == 0u ? 40 : i % 7u == 0u ? 6000 : 1400;
			(void)rxq_rig_next(rig, &f[k % 2u]);
		}
		rig->now += 1000;
		(void)vnetrx_rxq_poll(rig->rxq, 64, rig->now);
		if (i % 3u == 0u)
			rxq_rig_drain(rig);
		if (i % 6u == 5u)
			rxq_rig_release(rig, 20);
		if (vnetrx_rxq_deadline(rig->rxq) <= rig->now)
			(void)vnetrx_rxq_expire(rig->rxq, 64, rig->now);
	}
}

/* A retry is due: after it, the ring is full again, without an interrupt and without a wake. */
static void recover(struct rxq_rig *rig)
{
	rxq_rig_release(rig, UINT32_MAX);
	for (unsigned i = 0; i < 10u && vnetrx_rxq_deadline(rig->rxq) != VNETRX_NEVER; i++) {
		rig->now = vnetrx_rxq_deadline(rig->rxq);
		(void)vnetrx_rxq_expire(rig->rxq, 64, rig->now);
	}
	rxq_rig_drain(rig);
	assert_int_equal(vnetrx_rxq_state(rig->rxq), VNETRX_RXQ_RUNNING);
	assert_true(rxq_rig_stats(rig).pool.bufs_lent == rig->cfg.ring_size);
	assert_int_equal(softdev_room(rig->dev), rig->cfg.ring_size);
}

/* Lets call n of an op fail, for n = 1, 2, ... until there are no more; the call still takes `most`. */
static void fail_each(enum op op, unsigned most, uint32_t flags)
{
	struct vnetrx_rxq_config cfg = { .ring_size = 32, .frame_len_max = 9000, .run_size = 8192,
	                                 .pkts_max = 1000, .runs_max = 500, .flags = flags };
	unsigned n = 1;

	for (bool more = true; more; n += stream_step(5)) {
		struct ops ops = { .op = op, .at = n, .most = most };
		struct rxq_rig rig;

		ops_open(&ops, &rig, &cfg);
		traffic(&rig);
		more = ops.calls[op] >= n;
		recover(&rig);
		rxq_rig_close(&rig);
		assert_true(n < 5000u);
	}
	assert_true(n > 10u);
}

static void any_page_allocation_may_fail(void **state)
{
	(void)state;
	fail_each(OP_PAGE_ALLOC, 0, 0);
	fail_each(OP_PAGE_ALLOC, 0, VNETRX_RXQ_NO_COALESCE);
}

static void any_post_may_take_nothing_or_less(void **state)
{
	(void)state;
	fail_each(OP_POST, 0, 0);
	fail_each(OP_POST, 1, 0);
}

static void any_reap_may_find_nothing_yet(void **state)
{
	(void)state;
	fail_each(OP_REAP, 0, 0);
}

static void any_deliver_may_take_nothing_or_less(void **state)
{
	(void)state;
	fail_each(OP_DELIVER, 0, 0);
	fail_each(OP_DELIVER, 1, 0);
	fail_each(OP_DELIVER, 0, VNETRX_RXQ_GRO_OFF);
}

static void ring_without_any_page_fills_at_its_deadline(void **state)
{
	struct vnetrx_rxq_config cfg = { .refill_retry_ns = 5000 };
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	rxq_rig_open(&rig, &cfg, NULL);
	rig.host.fail_from = 1;
	(void)vnetrx_rxq_poll(rig.rxq, 64, 100);
	assert_int_equal(vnetrx_rxq_fill(rig.rxq), 0);
	assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_SHORT);
	assert_true(vnetrx_rxq_deadline(rig.rxq) == 5100u);
	assert_true(vnetrx_rxq_complete(rig.rxq, 100));
	assert_true(rig.host.deadline == vnetrx_rxq_deadline(rig.rxq));
	(void)vnetrx_rxq_expire(rig.rxq, 64, 5100); /* no memory yet: it tries again later */
	assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_SHORT);
	assert_true(vnetrx_rxq_deadline(rig.rxq) == 10100u);
	rig.host.fail_from = 0;
	(void)vnetrx_rxq_expire(rig.rxq, 64, 10100);
	assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_RUNNING);
	assert_true(vnetrx_rxq_deadline(rig.rxq) == VNETRX_NEVER);
	frame_init(&f, 0);
	assert_true(rxq_rig_next(&rig, &f));
	rxq_rig_drain(&rig);
	assert_true(rig.host.pkts == 1u);
	rxq_rig_close(&rig);
}

/* The host keeps so much that nothing is left; what it frees wakes the queue. */
static void keep_all(struct rxq_rig *rig, struct frame *f)
{
	f->payload_len = 1400;
	f->flags |= FR_PSH;
	rig->host.keep = true;
	while (rxq_rig_next(rig, f))
		(void)vnetrx_rxq_poll(rig->rxq, 64, rig->now);
	assert_int_equal(vnetrx_rxq_state(rig->rxq), VNETRX_RXQ_SHORT);
}

static void free_wakes_a_queue_whose_memory_is_all_at_the_host(void **state)
{
	static const uint32_t flags[] = { 0, VNETRX_RXQ_REMOTE_FREE };

	(void)state;
#ifdef VNRX_POOL_DEBUG
	skip(); /* every buffer has a run of its own */
#endif
	for (unsigned i = 0; i < 2u; i++) {
		struct vnetrx_rxq_config cfg = { .ring_size = 32,
						 .frame_len_max = 9000,
						 .run_size = 8192,
						 .runs_max = 12,
						 .copy_len_max = 0xffff,
						 .flags = flags[i] };
		struct rxq_rig rig;
		struct frame f;

		rxq_rig_open(&rig, &cfg, NULL);
		(void)vnetrx_rxq_fill(rig.rxq);
		frame_init(&f, 0);
		keep_all(&rig, &f);
		assert_true(rig.host.wakes == 0u);
		assert_true(rig.host.pages_out <= 12u);
		rxq_rig_release(&rig, UINT32_MAX);
		while (atomic_load(&rig.host.wakes) == 0u) /* the other thread may still be at it */
			continue;
		for (unsigned k = 0; k < 1000000u && vnetrx_rxq_fill(rig.rxq) < 32u; k++)
			continue;
		assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_RUNNING);
		rxq_rig_close(&rig);
	}
}

static void descriptors_that_are_all_at_the_host_cost_no_packet(void **state)
{
	struct vnetrx_rxq_config cfg = { .ring_size = 32, .frame_len_max = 2000, .pkts_max = 40,
		                         .flags = VNETRX_RXQ_GRO_OFF };
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	rxq_rig_open(&rig, &cfg, NULL);
	(void)vnetrx_rxq_fill(rig.rxq);
	frame_init(&f, 0);
	f.payload_len = 1000;
	rig.host.keep = true;
	for (unsigned i = 0; i < 100u && rxq_rig_next(&rig, &f); i++)
		(void)vnetrx_rxq_poll(rig.rxq, 64, 0);
	assert_true(rig.host.kept.count <= 40u);
	assert_true(rxq_rig_stats(&rig).merge.drop_no_pkt == 0u);
	rxq_rig_release(&rig, UINT32_MAX);
	assert_true(rig.host.wakes > 0u);
	rxq_rig_drain(&rig);
	rxq_rig_close(&rig);
}

/* Four descriptors, all at the host, and `more` packets at the device. */
static void keep_four(struct ops *ops, struct rxq_rig *rig, struct frame *f, unsigned more, uint32_t flags)
{
	const struct vnetrx_rxq_config cfg = { .ring_size = 32, .frame_len_max = 2000, .pkts_max = 4,
		                               .copy_len_max = 0xffff, .flags = flags };

	ops_open(ops, rig, &cfg);
	(void)vnetrx_rxq_fill(rig->rxq);
	frame_init(f, 0);
	f->payload_len = 1000;
	f->flags |= FR_PSH;
	rig->host.keep = true;
	for (unsigned i = 0; i < 4u + more; i++)
		assert_true(rxq_rig_next(rig, f));
	assert_int_equal(vnetrx_rxq_poll(rig->rxq, 64, 0), 4);
	assert_int_equal(rig->host.kept.count, 4);
	assert_int_equal(softdev_waiting(rig->dev), more);
}

static void queue_without_descriptors_sleeps_until_one_is_freed(void **state)
{
	static const uint32_t flags[] = { 0, VNETRX_RXQ_GRO_OFF };

	(void)state;
	for (unsigned i = 0; i < 2u; i++) {
		struct ops ops = { .rig = NULL };
		struct rxq_rig rig;
		struct frame f;

		keep_four(&ops, &rig, &f, 6, flags[i]);
		assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_STARVED);
		assert_true(vnetrx_rxq_complete(rig.rxq, 0));
		assert_true(rxq_rig_stats(&rig).queue.starved == 1u);
		assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 0);
		assert_true(vnetrx_rxq_complete(rig.rxq, 0));
		assert_true(rxq_rig_stats(&rig).queue.starved == 1u); /* still the same time */
		assert_true(rig.host.wakes == 0u);
		rxq_rig_release(&rig, 1);
		assert_true(rig.host.wakes == 1u);
		assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_RUNNING);
		assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 1);
		assert_true(vnetrx_rxq_complete(rig.rxq, 0));
		assert_true(rxq_rig_stats(&rig).queue.starved == 2u);
		rxq_rig_release(&rig, UINT32_MAX);
		assert_true(rig.host.wakes == 2u);
		rig.host.keep = false;
		rxq_rig_drain(&rig);
		assert_true(rig.host.pkts == 10u);
		rxq_rig_close(&rig);
	}
}

/* Complete alone finds out: a poll that reached its budget with the last descriptor did not. */
static void starving_is_noticed_when_the_budget_ends_with_the_descriptors(void **state)
{
	struct vnetrx_rxq_config cfg = { .ring_size = 32, .frame_len_max = 2000, .pkts_max = 4,
		                         .copy_len_max = 0xffff, .flags = VNETRX_RXQ_GRO_OFF };
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	rxq_rig_open(&rig, &cfg, NULL);
	(void)vnetrx_rxq_fill(rig.rxq);
	frame_init(&f, 0);
	rig.host.keep = true;
	for (unsigned i = 0; i < 5u; i++)
		assert_true(rxq_rig_next(&rig, &f));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 4, 0), 4);
	assert_true(vnetrx_rxq_complete(rig.rxq, 0));
	assert_true(rxq_rig_stats(&rig).queue.starved == 1u);
	rxq_rig_release(&rig, 1);
	assert_true(rig.host.wakes == 1u);
	rxq_rig_close(&rig);
}

/* Freed by another thread after the poll, before complete: no sleep. After complete: a wake. */
static void remote_free_around_complete_is_not_lost(void **state)
{
	(void)state;
	for (unsigned late = 0; late < 2u; late++) {
		struct ops ops = { .rig = NULL };
		struct rxq_rig rig;
		struct vnetrx_pkt *pkt;
		struct frame f;

		keep_four(&ops, &rig, &f, 2, VNETRX_RXQ_REMOTE_FREE);
		pkt = vnetrx_pktq_take(&rig.host.kept);
		if (late != 0u)
			assert_true(vnetrx_rxq_complete(rig.rxq, 0));
		assert_true(rig.host.wakes == 0u);
		vnetrx_pkt_free_remote(&pkt, 1);
		assert_true(rig.host.wakes == 1u);
		if (late == 0u)
			assert_false(vnetrx_rxq_complete(rig.rxq, 0));
		assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 1);
		rig.host.keep = false;
		(void)heap_release(&rig.host, 3);
		rxq_rig_close(&rig);
	}
}

/* A refill, successful or not, has its own idea of what is waited for. */
static void fill_of_a_starved_queue_leaves_the_wake_in_place(void **state)
{
	(void)state;
#ifdef VNRX_POOL_DEBUG
	skip(); /* every buffer has a run of its own */
#endif
	for (unsigned memory = 0; memory < 2u; memory++) {
		struct ops ops = { .rig = NULL };
		struct rxq_rig rig;
		struct frame f;

		keep_four(&ops, &rig, &f, 2, 0);
		softdev_reset(rig.dev);
		(void)vnetrx_rxq_reclaim(rig.rxq);
		rig.sent -= 2u;
		laws_forget(rig.laws);
		assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 0);
		assert_true(vnetrx_rxq_complete(rig.rxq, 0));
		rig.host.fail_from = memory != 0u ? 0u : 1u;
		(void)vnetrx_rxq_fill(rig.rxq);
		assert_true(rig.host.wakes == 0u);
		rxq_rig_release(&rig, 1);
		assert_true(rig.host.wakes == 1u);
		rig.host.fail_from = 0;
		rxq_rig_close(&rig);
	}
}

static void broken_device_is_noticed_though_nothing_may_be_taken(void **state)
{
	(void)state;
	for (unsigned stalled = 0; stalled < 2u; stalled++) {
		struct ops ops = { .rig = NULL };
		struct rxq_rig rig;
		struct frame f;

		keep_four(&ops, &rig, &f, 2, 0);
		if (stalled != 0u) {
			rig.host.limited = true;
			rxq_rig_release(&rig, 2);
			assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 2);
			assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_STALLED);
		}
		ops.broken = true;
		assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 0);
		assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_BROKEN);
		assert_true(rxq_rig_stats(&rig).queue.broken == 1u);
		assert_true(vnetrx_rxq_complete(rig.rxq, 0));
		ops.broken = false;
		if (stalled == 0u) {
			rig.sent -= 2u;
			laws_forget(rig.laws);
		}
		rxq_rig_close(&rig);
	}
}

/* It waits for buffers, but no descriptor will come back by waiting. */
static void packet_of_more_pieces_than_descriptors_is_dropped_and_the_next_one_comes(void **state)
{
	struct vnetrx_rxq_config cfg = { .ring_size = 32, .frame_len_max = 40000, .buf_len_min = 2048,
		                         .buf_len_max = 2048, .pkts_max = 4, .flags = VNETRX_RXQ_NO_COALESCE };
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	rxq_rig_open(&rig, &cfg, NULL);
	rig.lawless = true;
	(void)vnetrx_rxq_fill(rig.rxq);
	frame_init(&f, 0);
	f.payload_len = 20000; /* ten buffers */
	assert_true(rxq_rig_next(&rig, &f));
	f.payload_len = 5000; /* three */
	assert_true(rxq_rig_next(&rig, &f));
	rxq_rig_drain(&rig);
	assert_true(rxq_rig_stats(&rig).merge.drop_no_pkt == 1u);
	assert_true(rxq_rig_stats(&rig).queue.starved == 0u);
	assert_true(rig.host.pkts == 1u);
	assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_RUNNING);
	rxq_rig_close(&rig);
}

/* G19, G22: what the host is charged for is what is there */
static void truesize_and_pinned_bytes_come_back_to_zero(void **state)
{
	struct vnetrx_rxq_config cfg = { .ring_size = 64 };
	struct rxq_rig rig;
	struct frame f;
	struct vnetrx_rxq_stats s;

	(void)state;
	rxq_rig_open(&rig, &cfg, NULL);
	(void)vnetrx_rxq_fill(rig.rxq);
	frame_init(&f, 0);
	f.payload_len = 1448;
	rig.host.keep = true;
	for (unsigned i = 0; i < 44u; i++) {
		assert_true(rxq_rig_next(&rig, &f));
		if (i % 8u == 7u)
			(void)vnetrx_rxq_poll(rig.rxq, 64, 0);
	}
	rxq_rig_drain(&rig);
	s = rxq_rig_stats(&rig);
	assert_true(s.pool.pinned_bytes >= rig.host.bytes);
	assert_true(s.pool.pinned_bytes <= s.pool.run_bytes);
	assert_true(rig.host.truesize >= rig.host.bytes);
	assert_true(s.pool.run_bytes == rig.host.bytes_out);
	rxq_rig_release(&rig, UINT32_MAX);
	rxq_rig_drain(&rig);
	assert_true(rxq_rig_stats(&rig).pool.pinned_bytes == 0u);
	rxq_rig_close(&rig);
}

/* A 64 KiB packet over buffers of an MTU: neighbours become one fragment. */
static void large_packet_over_small_buffers_has_few_fragments(void **state)
{
	static const uint32_t flags[] = { 0, VNETRX_RXQ_NO_COALESCE };

	(void)state;
#ifdef VNRX_POOL_DEBUG
	skip(); /* every buffer has a run of its own */
#endif
	for (unsigned i = 0; i < 2u; i++) {
		struct vnetrx_rxq_config cfg = {
			.ring_size = 256, .buf_len_min = 1536, .buf_len_max = 1536, .flags = flags[i]
		};
		struct rxq_rig rig;
		struct frame f;

		rxq_rig_open(&rig, &cfg, NULL);
		(void)vnetrx_rxq_fill(rig.rxq);
		frame_init(&f, 0);
		f.payload_len = 65000;
		assert_true(rxq_rig_next(&rig, &f));
		rxq_rig_drain(&rig);
		if (i == 0u)
			assert_in_range(rig.host.frags, 2, 3);
		else
			assert_int_equal(rig.host.frags, 43);
		rxq_rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_page_allocation_may_fail),
		cmocka_unit_test(any_post_may_take_nothing_or_less),
		cmocka_unit_test(any_reap_may_find_nothing_yet),
		cmocka_unit_test(any_deliver_may_take_nothing_or_less),
		cmocka_unit_test(ring_without_any_page_fills_at_its_deadline),
		cmocka_unit_test(free_wakes_a_queue_whose_memory_is_all_at_the_host),
		cmocka_unit_test(descriptors_that_are_all_at_the_host_cost_no_packet),
		cmocka_unit_test(queue_without_descriptors_sleeps_until_one_is_freed),
		cmocka_unit_test(starving_is_noticed_when_the_budget_ends_with_the_descriptors),
		cmocka_unit_test(remote_free_around_complete_is_not_lost),
		cmocka_unit_test(fill_of_a_starved_queue_leaves_the_wake_in_place),
		cmocka_unit_test(broken_device_is_noticed_though_nothing_may_be_taken),
		cmocka_unit_test(packet_of_more_pieces_than_descriptors_is_dropped_and_the_next_one_comes),
		cmocka_unit_test(truesize_and_pinned_bytes_come_back_to_zero),
		cmocka_unit_test(large_packet_over_small_buffers_has_few_fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
