/* SPDX-License-Identifier: BSD-3-Clause */
/* Life of a queue: set-up, shortage and recovery, reset, failing ops, end; statistics from another thread. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/rxq_rig.h"
#include "support/stream.h"

#define MS 1000000u

/* ---- configuration ---- */

static void refuse(const struct vnetrx_rxq_config *cfg, const char *field)
{
	struct vnetrx_rxq *rxq;
	const char *why = NULL;

	assert_int_equal(vnetrx_rxq_footprint(cfg, &why), 0);
	assert_non_null(why);
	if (strncmp(why, field, strlen(field)) != 0)
		fail_msg("\"%s\" does not name %s", why, field);
	assert_int_equal(vnetrx_rxq_init(&rxq, cfg, NULL, 0), VNETRX_ERR_INVALID);
}

#define REFUSE(field, value) \
	do { \
		struct vnetrx_rxq_config bad = r->cfg; \
		bad.field = (value); \
		refuse(&bad, #field); \
	} while (0)

static void a_wrong_field_is_named(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);
	const struct vnetrx_rxq_config cfg = r->cfg;

	(void)state;
	REFUSE(dev_ops, NULL);
	REFUSE(host_ops, NULL);
	REFUSE(ring_size, 0);
	REFUSE(ring_size, 32769u);
	REFUSE(frame_len_max, 59u);
	REFUSE(frame_len_max, 1048577u);
	REFUSE(run_size, 1000u);
	REFUSE(buf_len_min, 5000u);
	REFUSE(buf_len_max, 32u);
	REFUSE(buf_align, 48u);
	REFUSE(buf_align, 8u);
	REFUSE(buf_align, 8192u);
	REFUSE(buf_cost, 65536u);
	REFUSE(hdr_len, 129u);
	REFUSE(runs_max, 65536u);
	REFUSE(gro_flows, 65537u);
	REFUSE(gro_bytes_max, 1000u);
	REFUSE(gro_segs_max, 1u);
	REFUSE(flags, 0x8000u);
	r->cfg.ring_size = 8u; /* 8 * 4096 do not hold 64 KiB */
	refuse(&r->cfg, "ring_size");
	r->cfg.ring_size = 32768u;
	r->cfg.frame_len_max = 60u;
	r->cfg.hdr_len = 128u;
	r->cfg.buf_len_max = 128u; /* all header */
	refuse(&r->cfg, "buf_len_min, buf_len_max");
	r->cfg = cfg;
	r->cfg.pkts_max = 16777216u;
	r->cfg.pkt_user_size = 65536u;
	/* Where 32 bits cannot count it, it is the pool that says so. */
	refuse(&r->cfg, sizeof(size_t) > 4u ? "ring_size, pkts_max" : "pkts_max");
	r->cfg = cfg;
	r->cfg.hash_key[0] = 0;
	refuse(&r->cfg, "hash_key");
	rxq_rig_free(r);
}

static void ops_without_a_required_member_are_refused(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);
	struct vnetrx_dev_ops dev = softdev_ops;
	struct vnetrx_host_ops host = heap_host_ops;

	(void)state;
	dev.reap = NULL;
	host.deliver = NULL;
	REFUSE(dev_ops, &dev);
	REFUSE(host_ops, &host);
	host = heap_host_ops;
	host.page_free = NULL;
	REFUSE(host_ops, &host);
	host = heap_host_ops;
	host.page_alloc = NULL;
	REFUSE(host_ops, &host);
	rxq_rig_free(r);
}

static void memory_too_small_or_not_aligned_is_refused(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);
	size_t size = vnetrx_rxq_footprint(&r->cfg, NULL);
	uint8_t *mem = heap_memory(size + 64u);
	struct vnetrx_rxq *rxq;

	(void)state;
	assert_non_null(mem);
	assert_int_equal(vnetrx_rxq_init(&rxq, &r->cfg, mem, size - 1u), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_rxq_init(&rxq, &r->cfg, mem + 8, size + 56u), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_rxq_init(&rxq, &r->cfg, NULL, size), VNETRX_ERR_NOMEM);
	free(mem);
	rxq_rig_free(r);
}

/* ---- shortage ---- */

static void no_page_makes_the_ring_short_and_the_deadline_brings_it_back(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);

	(void)state;
	r->host.keep = true; /* so that no run comes back */
	r->host.fail_from = r->host.allocs + 1u;
	for (unsigned i = 0; i < RXQ_RING; i++)
		assert_true(rxq_rig_send(r, 0, 1000u, FR_PSH));
	(void)vnetrx_rxq_poll(r->rxq, 64u, 5u * MS);
	assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_SHORT);
	assert_true(vnetrx_rxq_deadline(r->rxq) == 15u * MS); /* the default retry is 10 ms */
	assert_true(vnetrx_rxq_complete(r->rxq, 5u * MS));
	assert_true(r->host.deadline == 15u * MS);
	r->host.fail_from = 0;
	assert_int_equal(vnetrx_rxq_expire(r->rxq, 64u, 15u * MS), 0); /* no interrupt, no packet */
	assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_RUNNING);
	assert_int_equal(softdev_room(r->soft), RXQ_RING);
	assert_true(vnetrx_rxq_deadline(r->rxq) == VNETRX_NEVER);
	rxq_rig_free(r);
}

static void a_packet_that_comes_back_wakes_a_short_queue(void **state)
{
	struct rxq_rig *r;

	(void)state;
#ifdef VNRX_POOL_DEBUG
	skip(); /* every buffer has a run of its own: one that comes back is enough for one, not for all */
#endif
	r = rxq_rig_new(NULL);
	r->host.keep = true;
	r->host.fail_from = r->host.allocs + 1u;
	for (unsigned i = 0; i < RXQ_RING; i++)
		assert_true(rxq_rig_send(r, 0, 1400u, FR_PSH));
	(void)vnetrx_rxq_poll(r->rxq, 64u, 0);
	assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_SHORT);
	assert_int_equal(atomic_load(&r->host.wakes), 0);
	assert_int_equal(heap_release(&r->host, RXQ_RING), RXQ_RING);
	assert_int_equal(atomic_load(&r->host.wakes), 1);
	assert_int_equal(vnetrx_rxq_fill(r->rxq), RXQ_RING);
	assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_RUNNING);
	rxq_rig_free(r);
}

/* ---- reset and end ---- */

static void packets_in_every_place_survive_a_reset(void **state)
{
	const struct vnetrx_rxq_config cfg = { .gro_timeout_ns = MS, .flags = VNETRX_RXQ_REMOTE_FREE };
	struct rxq_rig *r = rxq_rig_new(&cfg);
	struct vnetrx_pkt *pkt;

	(void)state;
	r->host.keep = true;
	rxq_rig_send(r, 0, 500u, FR_PSH);
	rxq_rig_send(r, 1, 501u, FR_PSH);
	(void)vnetrx_rxq_poll(r->rxq, 64u, 0);       /* at the host */
	pkt = vnetrx_pktq_take(&r->host.kept);
	vnetrx_pkt_free_remote(&pkt, 1u);            /* on the return list */
	r->host.limited = true;
	rxq_rig_send(r, 2, 502u, 0);
	rxq_rig_send(r, 3, 503u, FR_PSH);
	(void)vnetrx_rxq_poll(r->rxq, 64u, 0);       /* in GRO, and in the FIFO */
	rxq_rig_expect(r, "500:passed 501:passed");
	rxq_rig_send(r, 4, 504u, 0);                 /* completed, not reaped: lost with the device */
	assert_int_equal(rxq_rig_reset(r), RXQ_RING);
	assert_int_equal(vnetrx_rxq_fini(r->rxq), VNETRX_ERR_BUSY); /* the host has one; what was held is gone */
	assert_int_equal(vnetrx_rxq_fill(r->rxq), RXQ_RING);
	r->host.limited = false;
	rxq_rig_send(r, 5, 505u, FR_PSH);
	(void)vnetrx_rxq_poll(r->rxq, 64u, 1u);
	rxq_rig_expect(r, "505:passed");
	rxq_rig_free(r);
}

static void what_is_held_goes_up_on_flush_before_the_end(void **state)
{
	const struct vnetrx_rxq_config cfg = { .gro_timeout_ns = MS };
	struct rxq_rig *r = rxq_rig_new(&cfg);

	(void)state;
	rxq_rig_send(r, 0, 500u, 0);
	(void)vnetrx_rxq_poll(r->rxq, 64u, 0);
	assert_int_equal(rxq_rig_reset(r), RXQ_RING);
	vnetrx_rxq_flush(r->rxq);
	rxq_rig_expect(r, "500:flush");
	rxq_rig_free(r);
}

static void fini_waits_for_the_device_and_for_the_host(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);

	(void)state;
	r->host.keep = true;
	rxq_rig_send(r, 0, 500u, FR_PSH);
	(void)vnetrx_rxq_poll(r->rxq, 64u, 0);
	assert_int_equal(vnetrx_rxq_fini(r->rxq), VNETRX_ERR_BUSY);
	(void)rxq_rig_reset(r);
	assert_int_equal(vnetrx_rxq_fini(r->rxq), VNETRX_ERR_BUSY);
	assert_true(r->host.pages_out > 0u);
	rxq_rig_free(r); /* releases the host's packet */
}

static void a_broken_device_stops_the_queue_until_it_is_reclaimed(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);

	(void)state;
	faulty_fail(r->faulty, FAULTY_OP_REAP, 1u, true);
	rxq_rig_send(r, 0, 500u, 0);
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 0);
	assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_BROKEN);
	assert_true(vnetrx_rxq_complete(r->rxq, 0));
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 0);
	assert_int_equal(rxq_rig_stats(r).queue.broken, 1);
	assert_int_equal(vnetrx_rxq_fill(r->rxq), RXQ_RING); /* they are all at the device still */
	assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_BROKEN);
	faulty_fail(r->faulty, FAULTY_OP_REAP, 0, false);
	assert_int_equal(rxq_rig_reset(r), RXQ_RING);
	assert_int_equal(vnetrx_rxq_fill(r->rxq), RXQ_RING);
	rxq_rig_send(r, 0, 600u, FR_PSH);
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 0), 1);
	rxq_rig_expect(r, "600:passed");
	rxq_rig_free(r);
}

/* ---- every op fails at its n-th call, for every n ---- */

/* Sends 40 packets over many polls while something fails, then 8 more without: those all arrive. */
static void some_traffic(struct rxq_rig *r)
{
	for (unsigned i = 0; i < 40u; i++) {
		(void)rxq_rig_send(r, i % 8u, i % 5u == 0u ? 60000u : 1000u, i % 3u == 0u ? FR_PSH : 0u);
		rxq_rig_turn(r, i);
	}
	faulty_quiet(r->faulty, true);
	r->host.fail_at = 0;
	r->host.limited = false;
	if (vnetrx_rxq_state(r->rxq) == VNETRX_RXQ_BROKEN)
		(void)rxq_rig_reset(r);
	(void)vnetrx_rxq_expire(r->rxq, 64u, 100u * MS);
	assert_int_equal(vnetrx_rxq_fill(r->rxq), RXQ_RING);
	vnetrx_rxq_flush(r->rxq);
	r->text[0] = '\0';
	for (unsigned i = 0; i < 8u; i++)
		assert_true(rxq_rig_send(r, i, 700u + i, FR_PSH));
	assert_int_equal(vnetrx_rxq_poll(r->rxq, 64u, 200u * MS), 8);
	rxq_rig_expect(r, "700:passed 701:passed 702:passed 703:passed 704:passed 705:passed 706:passed 707:passed");
}

static void the_nth_call_of_each_device_op_fails_for_every_n(void **state)
{
	(void)state;
	for (unsigned op = 0; op < FAULTY_OPS_NUM; op++) {
		for (unsigned n = 1; n <= 60u; n += stream_step(7)) {
			struct rxq_rig *r = rxq_rig_new(NULL);

			faulty_fail(r->faulty, (enum faulty_op)op, n, false);
			some_traffic(r);
			rxq_rig_free(r);
		}
	}
}

static void the_nth_page_is_refused_for_every_n(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 12u; n++) {
		struct rxq_rig *r = rxq_rig_new(NULL);

		r->host.fail_at = r->host.allocs + n;
		some_traffic(r);
		rxq_rig_free(r);
	}
}

static void a_host_that_takes_k_of_each_offer_gets_everything_in_order(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 4u; k++) {
		struct rxq_rig *r = rxq_rig_new(NULL);

		r->host.limited = true;
		r->host.take_max = k;
		some_traffic(r);
		rxq_rig_free(r);
	}
}

/* ---- statistics ---- */

struct reader {
	struct rxq_rig *rig;
	atomic_bool     stop;
	unsigned        wrong;
	unsigned        seen;
};

/* Sums that hold at the end of every call that publishes must hold in every copy. */
static void *read_stats(void *arg)
{
	struct reader *rd = arg;
	uint64_t last = 0;

	while (!atomic_load(&rd->stop)) {
		struct vnetrx_rxq_stats s = rxq_rig_stats(rd->rig);

		rd->seen++;
		if (s.queue.posted != s.queue.completions + s.pool.bufs_lent || s.merge.pkts != s.gro.pkts ||
		    s.gro.pkts != s.gro.held_new + s.gro.joined + s.gro.passed ||
		    s.gro.out != s.queue.delivered + s.queue.waiting || s.queue.delivered < last)
			rd->wrong++;
		last = s.queue.delivered;
	}
	return NULL;
}

static void another_thread_reads_whole_and_consistent_counters(void **state)
{
	struct reader rd = { .rig = rxq_rig_new(NULL) };
	struct rxq_rig *r = rd.rig;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, read_stats, &rd), 0);
	for (unsigned i = 0; i < 3000u; i++) {
		for (unsigned k = 0; k < 8u; k++)
			(void)rxq_rig_send(r, k, 400u, i % 4u == 0u ? FR_PSH : 0u);
		rxq_rig_turn(r, i);
		r->text[0] = '\0';
	}
	atomic_store(&rd.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(rd.seen > 0u);
	assert_int_equal(rd.wrong, 0);
	assert_int_equal(rxq_rig_stats(r).queue.delivered_segs, 24000);
	rxq_rig_free(r);
}

static unsigned device_takes; /* what post says that it took */

static unsigned boastful_post(void *dev, const struct vnetrx_buf *bufs, unsigned n)
{
	unsigned took = softdev_ops.post(dev, bufs, n);

	return device_takes != 0u ? device_takes : took;
}

/* No kick, no interrupts, no timer, no wake. */
static void a_queue_with_the_required_ops_alone_receives(void **state)
{
	const struct vnetrx_dev_ops dev_ops = { .post = boastful_post, .reap = softdev_ops.reap,
		                                .decode = softdev_ops.decode };
	const struct vnetrx_host_ops host_ops = { .page_alloc = heap_host_ops.page_alloc,
		                                  .page_free = heap_host_ops.page_free,
		                                  .deliver = heap_host_ops.deliver };
	struct softdev *dev = softdev_new(&(struct softdev_config){ .ring_size = 64, .hdr_len = 12 });
	struct heap_host host = { .keep = false };
	struct vnetrx_rxq_config cfg = { .dev_ops = &dev_ops, .dev = dev, .host_ops = &host_ops, .host = &host,
		                         .hash_key = { 1, 2 }, .ring_size = 64, .hdr_len = 12,
		                         .gro_timeout_ns = MS };
	size_t size = vnetrx_rxq_footprint(&cfg, NULL);
	void *mem = heap_memory(size);
	static uint8_t bytes[FRAME_MAX];
	struct vnetrx_rxq *rxq;
	struct frame f;

	(void)state;
	assert_int_equal(vnetrx_rxq_init(&rxq, &cfg, mem, size), VNETRX_OK);
	device_takes = 1000; /* more than it was given: counts as all */
	assert_int_equal(vnetrx_rxq_fill(rxq), 64);
	device_takes = 0;
	frame_init(&f, 0);
	for (unsigned i = 0; i < 10u; i++) {
		assert_int_equal(softdev_send(dev, bytes, (uint32_t)frame_build(&f, bytes), NULL), 0);
		f.seq += f.payload_len;
		f.id++;
	}
	assert_int_equal(vnetrx_rxq_poll(rxq, 64, 0), 10);
	assert_true(vnetrx_rxq_complete(rxq, 0)); /* nobody to turn interrupts on: sleep until the deadline */
	assert_true(vnetrx_rxq_deadline(rxq) == MS);
	assert_int_equal(vnetrx_rxq_expire(rxq, 64, MS), 0);
	assert_int_equal(host.segs, 10);
	softdev_reset(dev);
	assert_int_equal(vnetrx_rxq_reclaim(rxq), 64);
	assert_int_equal(vnetrx_rxq_fini(rxq), VNETRX_OK);
	softdev_free(dev);
	free(mem);
}

static void a_short_ring_near_the_end_of_time_retries_before_never(void **state)
{
	struct rxq_rig *r = rxq_rig_new(NULL);

	(void)state;
	r->host.keep = true;
	r->host.fail_from = r->host.allocs + 1u;
	for (unsigned i = 0; i < RXQ_RING; i++)
		assert_true(rxq_rig_send(r, 0, 1000u, FR_PSH));
	(void)vnetrx_rxq_poll(r->rxq, 64u, VNETRX_NEVER - 5u);
	assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_SHORT);
	assert_true(vnetrx_rxq_deadline(r->rxq) == VNETRX_NEVER - 1u);
	rxq_rig_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_field_is_named),
		cmocka_unit_test(ops_without_a_required_member_are_refused),
		cmocka_unit_test(memory_too_small_or_not_aligned_is_refused),
		cmocka_unit_test(no_page_makes_the_ring_short_and_the_deadline_brings_it_back),
		cmocka_unit_test(a_packet_that_comes_back_wakes_a_short_queue),
		cmocka_unit_test(packets_in_every_place_survive_a_reset),
		cmocka_unit_test(what_is_held_goes_up_on_flush_before_the_end),
		cmocka_unit_test(fini_waits_for_the_device_and_for_the_host),
		cmocka_unit_test(a_broken_device_stops_the_queue_until_it_is_reclaimed),
		cmocka_unit_test(the_nth_call_of_each_device_op_fails_for_every_n),
		cmocka_unit_test(the_nth_page_is_refused_for_every_n),
		cmocka_unit_test(a_host_that_takes_k_of_each_offer_gets_everything_in_order),
		cmocka_unit_test(another_thread_reads_whole_and_consistent_counters),
		cmocka_unit_test(a_queue_with_the_required_ops_alone_receives),
		cmocka_unit_test(a_short_ring_near_the_end_of_time_retries_before_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
