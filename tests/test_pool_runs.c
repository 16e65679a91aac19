/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of pages: where they come from, when they go back, and what happens when there are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buf/pool.h"
#include "support/buf_rig.h"

static void open_rig(struct buf_rig *rig, struct vnetrx_pool_config cfg)
{
	if (cfg.bufs_max == 0u)
		cfg.bufs_max = 64;
	rig_pool(rig, &cfg);
	rig_merge(rig, &(struct vnetrx_merge_config){ .copy_len_max = 0xffff });
}

#define OPEN(rig, ...) open_rig((rig), (struct vnetrx_pool_config){ __VA_ARGS__ })

/* Lends n buffers and lets each become a packet. */
static void receive(struct buf_rig *rig, uint32_t len, struct vnetrx_pkt **pkts, unsigned n)
{
	struct vnetrx_done done[RIG_BUFS];
	unsigned i;

	rig->lent = 0;
	rig_lend(rig, len, n);
	for (i = 0; i < n; i++) {
		(void)rig_hdr(rig, i, 1);
		done[i] = rig_done(rig, i, 200);
	}
	assert_int_equal(rig_add(rig, done, n, pkts), n);
	rig->lent = 0;
}

static void a_run_is_reused_when_nothing_of_it_is_left(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[8];
	unsigned i;

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .run_size = 4096);
	for (i = 0; i < 100; i++) {
		receive(&rig, 1024, pkts, 8);
		vnetrx_pkt_free(pkts, 8);
	}
	assert_int_equal(rig.host.calls, 2);
	rig_close(&rig);
}

static void one_fragment_keeps_its_run(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[8], *more[8];

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .run_size = 4096);
	receive(&rig, 1024, pkts, 8);
	memset(pkts[2]->data, 0x77, 188);
	vnetrx_pkt_free(pkts, 2);
	vnetrx_pkt_free(pkts + 3, 5);
	receive(&rig, 1024, more, 8);
	assert_int_equal(rig.host.pages, 3);
	assert_int_equal(pkts[2]->data[187], 0x77);
	vnetrx_pkt_free(more, 8);
	vnetrx_pkt_free(pkts + 2, 1);
	rig_close(&rig);
}

static void a_buffer_at_the_device_keeps_its_run(void **state)
{
	struct buf_rig rig;
	struct vnetrx_done done;
	struct vnetrx_pkt *pkt;

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .run_size = 4096, .buf_len_max = 2048);
	rig_lend(&rig, 2048, 2);
	(void)rig_hdr(&rig, 0, 1);
	done = rig_done(&rig, 0, 100);
	assert_int_equal(rig_add(&rig, &done, 1, &pkt), 1);
	vnetrx_pkt_free(&pkt, 1);
	rig_lend(&rig, 2048, 2);
	assert_int_equal(rig.host.pages, 2);
	rig_close(&rig);
}

static void the_run_freed_last_is_used_next(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[3], *again[1];
	uint8_t *run;

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .run_size = 4096);
	receive(&rig, 4096, pkts, 3);
	run = pkts[1]->data - RIG_HDR;
	vnetrx_pkt_free(&pkts[0], 1);
	vnetrx_pkt_free(&pkts[2], 1);
	vnetrx_pkt_free(&pkts[1], 1);
	receive(&rig, 4096, again, 1);
	assert_ptr_equal(again[0]->data - RIG_HDR, run);
	vnetrx_pkt_free(again, 1);
	rig_close(&rig);
}

static void pinned_bytes_are_those_of_runs_with_fragments(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[4];

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .run_size = 4096);
	receive(&rig, 2048, pkts, 4);
	assert_int_equal(rig_pool_stats(&rig).pinned_bytes, 8192);
	vnetrx_pkt_free(pkts, 1);
	assert_int_equal(rig_pool_stats(&rig).pinned_bytes, 8192);
	vnetrx_pkt_free(pkts + 1, 1);
	assert_int_equal(rig_pool_stats(&rig).pinned_bytes, 4096);
	vnetrx_pkt_free(pkts + 2, 2);
	assert_int_equal(rig_pool_stats(&rig).pinned_bytes, 0);
	rig_close(&rig);
}

/* What the ring needs stays: 16 runs of one buffer each, and four. */
static void runs_of_a_peak_go_back_to_the_host(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[48];
	unsigned i;

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .bufs_max = 16, .run_size = 4096, .pkts_max = 64);
	for (i = 0; i < 48; i += 16)
		receive(&rig, 4096, pkts + i, 16);
	assert_int_equal(rig.host.pages, 48);
	vnetrx_pkt_free(pkts, 48);
	assert_int_equal(rig.host.pages, 20);
	assert_int_equal(rig_pool_stats(&rig).run_frees, 28);
	rig_close(&rig);
}

static void no_more_than_runs_max_are_owned(void **state)
{
	struct buf_rig rig;
	struct vnetrx_buf bufs[64];

	(void)state;
	OPEN(&rig, .run_size = 4096, .runs_max = 3);
	assert_int_equal(vnetrx_pool_get(rig.pool, 4096, bufs, 64), 3);
	assert_int_equal(rig.host.pages, 3);
	assert_int_equal(rig_pool_stats(&rig).run_fails, 1);
	rig_close(&rig);
}

static void without_large_runs_the_smallest_that_hold_a_buffer_serve(void **state)
{
	struct buf_rig rig;
	struct vnetrx_buf bufs[64];

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .buf_len_max = 5000, .headroom = 128);
	rig.host.size_max = 8192;
	assert_int_equal(vnetrx_pool_get(rig.pool, 1536, bufs, 64), 64);
	assert_int_equal(rig.host.bytes, 8192u * rig.host.pages);
	assert_int_equal(rig_pool_stats(&rig).run_fails, 0);
	rig_close(&rig);
}

static void small_runs_give_way_to_large_ones(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[64];
	unsigned i;

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .run_size = 16384);
	rig.host.size_max = 4096;
	receive(&rig, 4096, pkts, 32);
	assert_int_equal(rig.host.pages, 32);
	vnetrx_pkt_free(pkts, 32);
	assert_int_equal(rig.host.pages, 32);
	receive(&rig, 4096, pkts, 8); /* small ones serve as long as there is nothing better */
	assert_int_equal(rig.host.bytes, 32 * 4096);
	vnetrx_pkt_free(pkts, 8);
	rig.host.size_max = 0;
	for (i = 0; i < 4; i++)
		receive(&rig, 4096, pkts + 16u * i, 16);
	assert_int_equal(rig.host.bytes, 16 * 16384 + 16 * 4096);
	vnetrx_pkt_free(pkts, 64);
	rig_close(&rig);
}

/* Receives in rounds while the n-th page_alloc fails: nothing is lost, and what is missing comes with the next call. */
static unsigned rounds_with_a_failure(unsigned fail_at)
{
	struct buf_rig rig;
	struct vnetrx_buf bufs[64];
	struct vnetrx_pkt *pkts[64];
	unsigned round, calls;

	OPEN(&rig, .run_size = 4096, .runs_max = 1000);
	rig.host.fail_at = fail_at;
	for (round = 0; round < 4; round++) {
		unsigned got = vnetrx_pool_get(rig.pool, 1536, bufs, 40);

		assert_true(vnrx_pool_valid(rig.pool));
		if (got < 40u)
			assert_int_equal(vnetrx_pool_get(rig.pool, 1536, bufs + got, 40u - got), 40u - got);
		assert_int_equal(vnetrx_pool_reclaim(rig.pool), 40);
		receive(&rig, 1536, pkts, 40);
		vnetrx_pkt_free(pkts, 40);
	}
	assert_int_equal(rig_pool_stats(&rig).run_fails, fail_at != 0u ? 1 : 0);
	calls = rig.host.calls;
	rig_close(&rig);
	return calls;
}

static void every_single_failure_of_the_host_is_survived(void **state)
{
	unsigned calls = rounds_with_a_failure(0), n;

	(void)state;
	assert_true(calls >= 20u);
	for (n = 1; n <= calls; n++)
		(void)rounds_with_a_failure(n);
}

static void pages_running_out_at_any_call_and_coming_back_lose_nothing(void **state)
{
	unsigned from;

	(void)state;
	for (from = 1; from <= 20u; from++) {
		struct buf_rig rig;
		struct vnetrx_buf bufs[40];
		unsigned got;

		OPEN(&rig, .run_size = 4096, .runs_max = 1000);
		rig.host.fail_from = from;
		got = vnetrx_pool_get(rig.pool, 1536, bufs, 40);
		assert_in_range(got, from - 1u, 2u * (from - 1u));
		assert_true(vnrx_pool_valid(rig.pool));
		assert_int_equal(vnetrx_pool_get(rig.pool, 1536, bufs, 40), 0);
		rig.host.fail_from = 0;
		assert_int_equal(vnetrx_pool_get(rig.pool, 1536, bufs, 40u - got), 40u - got);
		rig_close(&rig);
	}
}

static void a_free_that_empties_a_run_wakes_a_short_ring_once(void **state)
{
	struct buf_rig rig;
	struct vnetrx_buf bufs[2];
	struct vnetrx_pkt *pkts[8];

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .run_size = 4096, .runs_max = 4);
	receive(&rig, 2048, pkts, 8);
	vnetrx_pkt_free(&pkts[0], 1);
	assert_int_equal(vnetrx_pool_get(rig.pool, 2048, bufs, 2), 0);
	vnetrx_pkt_free(&pkts[2], 1); /* its run still has a fragment: nothing to carve yet */
	assert_int_equal(rig.host.wakes, 0);
	vnetrx_pkt_free(&pkts[1], 1);
	assert_int_equal(rig.host.wakes, 1);
	vnetrx_pkt_free(&pkts[3], 5);
	assert_int_equal(rig.host.wakes, 1);
	assert_int_equal(vnetrx_pool_get(rig.pool, 2048, bufs, 2), 2);
	rig_close(&rig);
}

static void a_ring_that_got_what_it_asked_for_is_not_woken(void **state)
{
	struct buf_rig rig;
	struct vnetrx_buf bufs[4];
	struct vnetrx_pkt *pkts[8];

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .run_size = 4096, .runs_max = 4);
	receive(&rig, 2048, pkts, 6);
	assert_int_equal(vnetrx_pool_get(rig.pool, 2048, bufs, 4), 2);
	assert_int_equal(vnetrx_pool_reclaim(rig.pool), 2);
	assert_int_equal(vnetrx_pool_get(rig.pool, 2048, bufs, 2), 2);
	vnetrx_pkt_free(pkts, 6);
	assert_int_equal(rig.host.wakes, 0);
	rig_close(&rig);
}

static void a_queue_that_waits_for_anything_is_woken_by_any_free(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[8];

	(void)state;
	OPEN(&rig, .run_size = 4096);
	receive(&rig, 1024, pkts, 8);
	vnrx_pool_set_short(rig.pool, true);
	vnetrx_pkt_free(&pkts[1], 2);
	assert_int_equal(rig.host.wakes, 1);
	vnetrx_pkt_free(&pkts[3], 5);
	assert_int_equal(rig.host.wakes, 1);
	vnrx_pool_set_short(rig.pool, true);
	vnrx_pool_set_short(rig.pool, false);
	vnetrx_pkt_free(&pkts[0], 1);
	assert_int_equal(rig.host.wakes, 1);
	rig_close(&rig);
}

/* The thread that frees sees no short ring yet, the ring sees no freed packet yet: one of them has to look again. */
static void what_was_freed_elsewhere_is_found_before_a_ring_stays_short(void **state)
{
	struct buf_rig rig;
	struct vnetrx_buf bufs[2];
	struct vnetrx_pkt *pkts[8];

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .run_size = 4096, .runs_max = 4, .flags = VNETRX_POOL_REMOTE_FREE);
	receive(&rig, 2048, pkts, 8);
	vnetrx_pkt_free_remote(pkts, 2);
	assert_int_equal(vnetrx_pool_get(rig.pool, 2048, bufs, 2), 2);
	assert_int_equal(rig_pool_stats(&rig).pkts_remote, 2);
	vnetrx_pkt_free(pkts + 2, 6);
	rig_close(&rig);
}

static void fini_waits_for_packets(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkt;

	(void)state;
	OPEN(&rig, .run_size = 4096);
	receive(&rig, 2048, &pkt, 1);
	assert_int_equal(vnetrx_pool_reclaim(rig.pool), 0);
	assert_int_equal(vnetrx_pool_fini(rig.pool), VNETRX_ERR_BUSY);
	memset(pkt->data, 1, pkt->len);
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void a_run_that_came_back_while_it_was_cut_is_cut_from_its_start(void **state)
{
	struct buf_rig rig;
	struct vnetrx_buf first, second;
	struct vnetrx_pkt *pkt;

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .run_size = 4096);
	receive(&rig, 1024, &pkt, 1);
	first = rig.bufs[rig.order[0]];
	vnetrx_pkt_free(&pkt, 1);
	assert_int_equal(vnetrx_pool_get(rig.pool, 4096, &second, 1), 1); /* 3072 are left */
	assert_ptr_equal(second.addr, first.addr);
	assert_int_equal(second.len, 4096);
	assert_int_equal(rig.host.pages, 1);
	rig_close(&rig);
}

/* Of two packets in a run one comes back on another thread: that wakes, but there is nothing to carve yet. */
static void a_run_that_is_not_empty_yet_leaves_the_ring_short_whoever_freed(void **state)
{
	struct buf_rig rig;
	struct vnetrx_buf bufs[2];
	struct vnetrx_pkt *pkts[8];

	(void)state;
	rig_needs_carving();
	OPEN(&rig, .run_size = 4096, .runs_max = 4, .flags = VNETRX_POOL_REMOTE_FREE);
	receive(&rig, 2048, pkts, 8);
	vnetrx_pkt_free_remote(pkts, 1);
	assert_int_equal(vnetrx_pool_get(rig.pool, 2048, bufs, 2), 0);
	assert_int_equal(rig_pool_stats(&rig).pkts_remote, 1);
	vnetrx_pkt_free_remote(pkts + 1, 1);
	assert_int_equal(rig.host.wakes, 1);
	assert_int_equal(vnetrx_pool_get(rig.pool, 2048, bufs, 2), 2);
	vnetrx_pkt_free(pkts + 2, 6);
	rig_close(&rig);
}

static void a_queue_that_asks_for_more_than_there_are_ids_goes_on_waiting(void **state)
{
	struct buf_rig rig;
	struct vnetrx_buf bufs[16];
	struct vnetrx_pkt *pkts[4];

	(void)state;
	OPEN(&rig, .bufs_max = 8);
	receive(&rig, 1024, pkts, 4);
	vnrx_pool_set_short(rig.pool, true);
	assert_int_equal(vnetrx_pool_get(rig.pool, 1024, bufs, 16), 8);
	vnetrx_pkt_free(pkts, 4);
	assert_int_equal(rig.host.wakes, 1);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_is_reused_when_nothing_of_it_is_left),
		cmocka_unit_test(one_fragment_keeps_its_run),
		cmocka_unit_test(a_buffer_at_the_device_keeps_its_run),
		cmocka_unit_test(the_run_freed_last_is_used_next),
		cmocka_unit_test(pinned_bytes_are_those_of_runs_with_fragments),
		cmocka_unit_test(runs_of_a_peak_go_back_to_the_host),
		cmocka_unit_test(no_more_than_runs_max_are_owned),
		cmocka_unit_test(without_large_runs_the_smallest_that_hold_a_buffer_serve),
		cmocka_unit_test(small_runs_give_way_to_large_ones),
		cmocka_unit_test(every_single_failure_of_the_host_is_survived),
		cmocka_unit_test(pages_running_out_at_any_call_and_coming_back_lose_nothing),
		cmocka_unit_test(a_free_that_empties_a_run_wakes_a_short_ring_once),
		cmocka_unit_test(a_ring_that_got_what_it_asked_for_is_not_woken),
		cmocka_unit_test(a_queue_that_waits_for_anything_is_woken_by_any_free),
		cmocka_unit_test(what_was_freed_elsewhere_is_found_before_a_ring_stays_short),
		cmocka_unit_test(fini_waits_for_packets),
		cmocka_unit_test(a_run_that_came_back_while_it_was_cut_is_cut_from_its_start),
		cmocka_unit_test(a_run_that_is_not_empty_yet_leaves_the_ring_short_whoever_freed),
		cmocka_unit_test(a_queue_that_asks_for_more_than_there_are_ids_goes_on_waiting),
	};

	return cmocka_run_group_tests_name("pool_runs", tests, NULL, NULL);
}
