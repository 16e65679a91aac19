/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>

#include <cmocka.h>

#include "buf/pool.h"
#include "support/buf_rig.h"

static uint8_t bytes[300];

/* Three wrapped fragments of 100, 1 and 199 bytes that hold the pattern. */
static void make_chain(struct vnetrx_pkt pkts[3])
{
	static const uint32_t from[] = { 0, 100, 101 }, len[] = { 100, 1, 199 };
	unsigned i;

	rig_pattern(bytes, sizeof(bytes), 1);
	for (i = 0; i < 3; i++)
		vnetrx_pkt_wrap(&pkts[i], bytes + from[i], len[i], 0);
	pkts[0].chain = &pkts[1];
	pkts[1].chain = &pkts[2];
	pkts[0].len = 300;
	pkts[0].nfrags = 3;
}

/* n packets of one 1514-byte frame each from the rig's pool. */
static void receive(struct buf_rig *rig, struct vnetrx_pkt **pkts, unsigned n)
{
	struct vnetrx_done done[RIG_BUFS];
	unsigned i, first = rig->lent;

	rig_lend(rig, 1536, n);
	for (i = 0; i < n; i++) {
		(void)rig_hdr(rig, first + i, 1);
		done[i] = rig_done(rig, first + i, RIG_HDR + 1514u);
	}
	assert_int_equal(rig_add(rig, done, n, pkts), n);
	rig->lent = 0;
}

static void open_rig(struct buf_rig *rig, uint32_t pool_flags, uint32_t user_size)
{
	rig_pool(rig, &(struct vnetrx_pool_config){ .bufs_max = 64, .flags = pool_flags, .pkt_user_size = user_size });
	rig_merge(rig, &(struct vnetrx_merge_config){ .nbufs_max = 64 });
}

static void wrapping_makes_one_fragment_of_the_hosts_own(void **state)
{
	struct vnetrx_pkt pkt;

	(void)state;
	memset(&pkt, 0xff, sizeof(pkt));
	vnetrx_pkt_wrap(&pkt, bytes, 60, VNETRX_PKT_CSUM_OK);
	assert_null(pkt.owner);
	assert_null(pkt.chain);
	assert_ptr_equal(pkt.data, bytes);
	assert_int_equal(pkt.len, 60);
	assert_int_equal(pkt.frag_len, 60);
	assert_int_equal(pkt.flags, VNETRX_PKT_CSUM_OK);
	assert_int_equal(pkt.nfrags, 1);
	assert_int_equal(pkt.nbufs, 1);
	assert_int_equal(pkt.segs, 1);
	assert_int_equal(pkt.gso_size, 0);
	assert_int_equal(pkt.rx_gso_size, 0);
}

static void freeing_a_wrapped_packet_leaves_it_untouched(void **state)
{
	struct vnetrx_pkt pkts[3], before[3], *head = &pkts[0];

	(void)state;
	make_chain(pkts);
	memcpy(before, pkts, sizeof(pkts));
	vnetrx_pkt_free(&head, 1);
	assert_memory_equal(before, pkts, sizeof(pkts));
	vnetrx_pkt_free_remote(&head, 1);
	assert_memory_equal(before, pkts, sizeof(pkts));
}

static void iovec_lists_every_fragment_and_says_how_many_there_are(void **state)
{
	struct vnetrx_iov iov[4] = { { NULL, 0 } };
	struct vnetrx_pkt pkts[3];

	(void)state;
	make_chain(pkts);
	assert_int_equal(vnetrx_pkt_iovec(pkts, iov, 4), 3);
	assert_ptr_equal(iov[0].base, bytes);
	assert_int_equal(iov[0].len, 100);
	assert_int_equal(iov[1].len, 1);
	assert_ptr_equal(iov[2].base, bytes + 101);
	assert_int_equal(iov[2].len, 199);
	assert_null(iov[3].base);
}

static void iovec_writes_no_more_than_there_is_room(void **state)
{
	struct vnetrx_iov iov[3] = { { NULL, 7 }, { NULL, 7 }, { NULL, 7 } };
	struct vnetrx_pkt pkts[3];

	(void)state;
	make_chain(pkts);
	assert_int_equal(vnetrx_pkt_iovec(pkts, iov, 2), 3);
	assert_int_equal(iov[1].len, 1);
	assert_int_equal(iov[2].len, 7);
	assert_int_equal(vnetrx_pkt_iovec(pkts, NULL, 0), 3);
}

static void copy_reads_any_part_across_fragments(void **state)
{
	struct vnetrx_pkt pkts[3];
	uint32_t off, len;

	(void)state;
	make_chain(pkts);
	for (off = 0; off <= 301u; off += 7u) {
		for (len = 0; len <= 310u; len += 31u) {
			uint8_t  out[320];
			uint32_t there = off < 300u ? 300u - off : 0u;
			uint32_t want = len < there ? len : there;

			memset(out, 0xee, sizeof(out));
			assert_int_equal(vnetrx_pkt_copy(pkts, off, out, len), want);
			if (want > 0u)
				assert_memory_equal(out, bytes + off, want);
			assert_int_equal(out[want], 0xee);
		}
	}
}

static void the_queue_is_first_in_first_out(void **state)
{
	struct vnetrx_pktq q = { 0 };
	struct vnetrx_pkt  pkts[3];

	(void)state;
	assert_null(vnetrx_pktq_take(&q));
	vnetrx_pktq_add(&q, &pkts[0]);
	vnetrx_pktq_add(&q, &pkts[1]);
	assert_int_equal(q.count, 2);
	assert_ptr_equal(vnetrx_pktq_take(&q), &pkts[0]);
	vnetrx_pktq_add(&q, &pkts[2]);
	assert_ptr_equal(vnetrx_pktq_take(&q), &pkts[1]);
	assert_ptr_equal(vnetrx_pktq_take(&q), &pkts[2]);
	assert_null(vnetrx_pktq_take(&q));
	assert_int_equal(q.count, 0);
	vnetrx_pktq_add(&q, &pkts[0]);
	assert_ptr_equal(vnetrx_pktq_take(&q), &pkts[0]);
}

static void freeing_gives_descriptor_and_memory_back(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[40];

	(void)state;
	open_rig(&rig, 0, 0);
	receive(&rig, pkts, 40);
	assert_int_equal(vnetrx_pool_pkts_free(rig.pool), 2 * 64 + 64 - 40);
	vnetrx_pkt_free(pkts, 40);
	assert_int_equal(vnetrx_pool_pkts_free(rig.pool), 2 * 64 + 64);
	assert_int_equal(rig_pool_stats(&rig).frags_freed, 40);
	assert_int_equal(rig_pool_stats(&rig).pinned_bytes, 0);
	rig_close(&rig);
}

static void a_chain_is_freed_with_its_head(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[3];

	(void)state;
	open_rig(&rig, 0, 0);
	receive(&rig, pkts, 3);
	pkts[0]->chain = pkts[1];
	pkts[1]->chain = pkts[2];
	vnetrx_pkt_free(pkts, 1);
	assert_int_equal(rig_pool_stats(&rig).pkts_used, 0);
	rig_close(&rig);
}

static void packets_of_two_queues_go_back_to_their_own(void **state)
{
	struct buf_rig a, b;
	struct vnetrx_pkt *pkts_a[8], *pkts_b[8], *mixed[16];
	unsigned i;

	(void)state;
	open_rig(&a, 0, 0);
	open_rig(&b, 0, 0);
	receive(&a, pkts_a, 8);
	receive(&b, pkts_b, 8);
	for (i = 0; i < 8; i++) {
		mixed[2u * i] = pkts_a[i];
		mixed[2u * i + 1u] = pkts_b[i];
	}
	vnetrx_pkt_free(mixed, 16);
	assert_int_equal(rig_pool_stats(&a).frags_freed, 8);
	assert_int_equal(rig_pool_stats(&b).frags_freed, 8);
	rig_close(&a);
	rig_close(&b);
}

static void the_descriptor_freed_last_is_used_next(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[2], *again[2];

	(void)state;
	open_rig(&rig, 0, 0);
	receive(&rig, pkts, 2);
	vnetrx_pkt_free(&pkts[1], 1);
	vnetrx_pkt_free(&pkts[0], 1);
	receive(&rig, again, 2);
	assert_ptr_equal(again[0], pkts[0]);
	assert_ptr_equal(again[1], pkts[1]);
	vnetrx_pkt_free(again, 2);
	rig_close(&rig);
}

static void the_hosts_bytes_are_aligned_and_its_own(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[20], *again[20];
	unsigned i;

	(void)state;
	open_rig(&rig, 0, 100);
	receive(&rig, pkts, 20);
	for (i = 0; i < 20; i++) {
		assert_int_equal((uintptr_t)vnetrx_pkt_user(pkts[i]) % 16u, 0);
		memset(vnetrx_pkt_user(pkts[i]), (int)i + 1, 100);
	}
	vnetrx_pkt_free(pkts, 20);
	receive(&rig, again, 20);
	for (i = 0; i < 20; i++)
		assert_int_equal(*(uint8_t *)vnetrx_pkt_user(again[19u - i]), i + 1u);
	vnetrx_pkt_free(again, 20);
	rig_close(&rig);
}

static void remote_frees_are_taken_up_by_collect(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[10];

	(void)state;
	open_rig(&rig, VNETRX_POOL_REMOTE_FREE, 0);
	receive(&rig, pkts, 10);
	pkts[0]->chain = pkts[9];
	vnetrx_pkt_free_remote(pkts, 5);
	vnetrx_pkt_free_remote(pkts + 5, 4);
	assert_int_equal(rig_pool_stats(&rig).pkts_used, 10);
	assert_int_equal(vnetrx_pool_collect(rig.pool), 9);
	assert_int_equal(rig_pool_stats(&rig).pkts_used, 0);
	assert_int_equal(rig_pool_stats(&rig).pkts_remote, 9);
	assert_int_equal(vnetrx_pool_collect(rig.pool), 0);
	rig_close(&rig);
}

static void remote_frees_of_two_queues_go_to_their_own(void **state)
{
	struct buf_rig a, b;
	struct vnetrx_pkt *pkts[4], *of_b[2];

	(void)state;
	open_rig(&a, VNETRX_POOL_REMOTE_FREE, 0);
	open_rig(&b, VNETRX_POOL_REMOTE_FREE, 0);
	receive(&a, pkts, 2);
	receive(&b, of_b, 2);
	pkts[2] = of_b[0];
	pkts[3] = pkts[1];
	pkts[1] = of_b[1];
	vnetrx_pkt_free_remote(pkts, 4);
	assert_int_equal(vnetrx_pool_collect(a.pool), 2);
	assert_int_equal(vnetrx_pool_collect(b.pool), 2);
	rig_close(&a);
	rig_close(&b);
}

static void a_remote_free_wakes_a_waiting_queue_once(void **state)
{
	struct buf_rig rig;
	struct vnetrx_pkt *pkts[4];

	(void)state;
	open_rig(&rig, VNETRX_POOL_REMOTE_FREE, 0);
	receive(&rig, pkts, 4);
	vnetrx_pkt_free_remote(pkts, 1);
	assert_int_equal(rig.host.wakes, 0);
	vnrx_pool_set_short(rig.pool, true);
	vnetrx_pkt_free_remote(pkts + 1, 2);
	assert_int_equal(rig.host.wakes, 1);
	vnetrx_pkt_free_remote(pkts + 3, 1);
	assert_int_equal(rig.host.wakes, 1);
	rig_close(&rig);
}

#ifndef VNRX_SINGLE_THREAD

#define THREADS    4u
#define PER_THREAD 16u
#define ROUNDS     200u

struct freer {
	pthread_t thread;
	struct vnetrx_pkt *pkts[PER_THREAD];
};

static void *free_all(void *arg)
{
	struct freer *f = arg;
	unsigned i;

	for (i = 0; i < PER_THREAD; i += 4u)
		vnetrx_pkt_free_remote(f->pkts + i, 4);
	return NULL;
}

static void packets_freed_by_many_threads_all_come_back(void **state)
{
	static struct freer freers[THREADS];
	struct buf_rig rig;
	unsigned round, i, back;

	(void)state;
	open_rig(&rig, VNETRX_POOL_REMOTE_FREE, 0);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < THREADS; i++)
			receive(&rig, freers[i].pkts, PER_THREAD);
		for (i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&freers[i].thread, NULL, free_all, &freers[i]), 0);
		back = vnetrx_pool_collect(rig.pool);
		for (i = 0; i < THREADS; i++)
			assert_int_equal(pthread_join(freers[i].thread, NULL), 0);
		back += vnetrx_pool_collect(rig.pool);
		assert_int_equal(back, THREADS * PER_THREAD);
	}
	assert_int_equal(rig_pool_stats(&rig).pkts_remote, ROUNDS * THREADS * PER_THREAD);
	rig_close(&rig);
}

#endif

static void a_host_without_wake_is_not_woken(void **state)
{
	struct vnetrx_host_ops ops = test_host_ops;
	struct vnetrx_pkt *pkts[4];
	struct buf_rig rig;

	(void)state;
	ops.wake = NULL;
	rig_pool_of(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64, .flags = VNETRX_POOL_REMOTE_FREE }, &ops);
	rig_merge(&rig, &(struct vnetrx_merge_config){ .copy_len_max = 0xffff });
	receive(&rig, pkts, 4);
	vnrx_pool_set_short(rig.pool, true);
	vnetrx_pkt_free(pkts, 1);
	assert_int_equal(rig.pool->is_short, VNRX_SHORT_NOT);
	vnrx_pool_set_short(rig.pool, true);
	vnetrx_pkt_free_remote(pkts + 1, 3);
	assert_int_equal(rig.pool->is_short, VNRX_SHORT_NOT);
	assert_int_equal(vnetrx_pool_collect(rig.pool), 3);
	assert_int_equal(rig.host.wakes, 0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrapping_makes_one_fragment_of_the_hosts_own),
		cmocka_unit_test(freeing_a_wrapped_packet_leaves_it_untouched),
		cmocka_unit_test(iovec_lists_every_fragment_and_says_how_many_there_are),
		cmocka_unit_test(iovec_writes_no_more_than_there_is_room),
		cmocka_unit_test(copy_reads_any_part_across_fragments),
		cmocka_unit_test(the_queue_is_first_in_first_out),
		cmocka_unit_test(freeing_gives_descriptor_and_memory_back),
		cmocka_unit_test(a_chain_is_freed_with_its_head),
		cmocka_unit_test(packets_of_two_queues_go_back_to_their_own),
		cmocka_unit_test(the_descriptor_freed_last_is_used_next),
		cmocka_unit_test(the_hosts_bytes_are_aligned_and_its_own),
		cmocka_unit_test(remote_frees_are_taken_up_by_collect),
		cmocka_unit_test(remote_frees_of_two_queues_go_to_their_own),
		cmocka_unit_test(a_remote_free_wakes_a_waiting_queue_once),
#ifndef VNRX_SINGLE_THREAD
		cmocka_unit_test(packets_freed_by_many_threads_all_come_back),
#endif
		cmocka_unit_test(a_host_without_wake_is_not_woken),
	};

	return cmocka_run_group_tests_name("pkt", tests, NULL, NULL);
}
