/* SPDX-License-Identifier: BSD-3-Clause */
/* Good completions. What goes wrong: test_merge_drops.c; copy-break and device words: test_merge_meta.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buf/pool.h"
#include "support/buf_rig.h"

#define MTU_BUF 1536u

static void open_rig(struct buf_rig *rig, uint32_t merge_flags, uint32_t headroom)
{
	rig_pool(rig, &(struct vnetrx_pool_config){ .bufs_max = 256, .headroom = headroom });
	rig_merge(rig, &(struct vnetrx_merge_config){ .flags = merge_flags });
}

/* Fills lent buffers k.. with a packet of frame_len pattern bytes, each full but the last; returns how many it took. */
static unsigned fill(struct buf_rig *rig, unsigned k, uint32_t frame_len, unsigned seed, struct vnetrx_done *done)
{
	uint8_t *frame = malloc(frame_len);
	uint32_t at = 0;
	unsigned n = 0;

	assert_non_null(frame);
	rig_pattern(frame, frame_len, seed);
	while (at < frame_len || n == 0u) {
		struct vnetrx_buf *buf = rig_buf(rig, k + n);
		uint32_t hdr = n == 0u ? RIG_HDR : 0u;
		uint32_t part = frame_len - at < buf->len - hdr ? frame_len - at : buf->len - hdr;

		memcpy((uint8_t *)buf->addr + hdr, frame + at, part);
		done[n] = rig_done(rig, k + n, hdr + part);
		at += part;
		n++;
	}
	(void)rig_hdr(rig, k, n);
	free(frame);
	return n;
}

static void one_full_buffer_is_one_packet_without_a_copy(void **state)
{
	struct buf_rig rig;
	struct vnetrx_done done;
	struct vnetrx_pkt *pkt;

	(void)state;
	open_rig(&rig, 0, 0);
	rig_lend(&rig, MTU_BUF, 4);
	assert_int_equal(fill(&rig, 0, 1514, 1, &done), 1);
	assert_int_equal(rig_add(&rig, &done, 1, &pkt), 1);
	assert_ptr_equal(pkt->data, (uint8_t *)rig_buf(&rig, 0)->addr + RIG_HDR);
	assert_int_equal(pkt->len, 1514);
	assert_int_equal(pkt->truesize, MTU_BUF + sizeof(struct vnetrx_pkt));
	assert_int_equal(pkt->nfrags, 1);
	assert_int_equal(pkt->nbufs, 1);
	assert_int_equal(pkt->segs, 1);
	assert_int_equal(pkt->flags, 0);
	assert_ptr_equal(pkt->owner, rig.pool);
	assert_true(rig_has_pattern(pkt, 0, 1514, 1));
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void the_written_bytes_are_synced_before_they_are_read(void **state)
{
	struct buf_rig rig;
	struct vnetrx_done done[2];
	struct vnetrx_pkt *pkt;
	unsigned len;

	(void)state;
	open_rig(&rig, 0, 0);
	rig_lend(&rig, MTU_BUF, 2);
	len = rig_buf(&rig, 0)->len + 300u;
	assert_int_equal(fill(&rig, 0, len, 1, done), 2);
	assert_int_equal(rig_add(&rig, done, 1, &pkt), 0);
	assert_int_equal(rig.synced_bytes, done[0].len);
	assert_ptr_equal(rig.synced_from, rig_buf(&rig, 0)->addr);
	assert_int_equal(rig_add(&rig, done + 1, 1, &pkt), 1);
	assert_int_equal(rig.synced_bytes, done[0].len + done[1].len);
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

/* Frame of 65589 bytes over MTU-size buffers; returns its fragments. */
static unsigned frags_of_a_longest_frame(uint32_t merge_flags, uint32_t headroom)
{
	struct buf_rig rig;
	struct vnetrx_done done[64];
	struct vnetrx_pkt *pkt;
	unsigned n, frags;

	open_rig(&rig, merge_flags, headroom);
	rig_lend(&rig, MTU_BUF, 64);
	n = fill(&rig, 0, 65589, 7, done);
	assert_in_range(n, 40, 43);
	assert_int_equal(rig_add(&rig, done, n, &pkt), 1);
	assert_int_equal(pkt->len, 65589);
	assert_int_equal(pkt->nbufs, n);
	assert_true(rig_has_pattern(pkt, 0, 65589, 7));
	assert_int_equal(rig_merge_stats(&rig).joined_bufs, n - pkt->nfrags);
	assert_int_equal(rig_merge_stats(&rig).not_full, 0);
	assert_in_range(pkt->truesize, n * MTU_BUF + pkt->nfrags * sizeof(struct vnetrx_pkt),
	                n * (MTU_BUF + headroom) + 3u * 1024u + pkt->nfrags * sizeof(struct vnetrx_pkt));
	frags = pkt->nfrags;
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
	return frags == n ? 0 : frags;
}

static void a_longest_frame_is_two_or_three_fragments(void **state)
{
	(void)state;
	rig_needs_carving();
	assert_in_range(frags_of_a_longest_frame(0, 0), 2, 3);
}

static void without_the_coalescer_it_is_one_per_buffer(void **state)
{
	(void)state;
	assert_int_equal(frags_of_a_longest_frame(VNETRX_MERGE_NO_COALESCE, 0), 0);
}

static void headroom_keeps_buffers_apart(void **state)
{
	(void)state;
	assert_int_equal(frags_of_a_longest_frame(0, 64), 0);
}

static void only_the_first_buffer_has_a_header(void **state)
{
	struct buf_rig rig;
	struct vnetrx_done done[3];
	struct vnetrx_pkt *pkt;

	(void)state;
	open_rig(&rig, 0, 0);
	rig_lend(&rig, MTU_BUF, 3);
	assert_int_equal(fill(&rig, 0, 2u * MTU_BUF + 13u, 3, done), 3);
	assert_int_equal(rig_add(&rig, done, 3, &pkt), 1);
	assert_true(rig_has_pattern(pkt, 0, 2u * MTU_BUF + 13u, 3));
	assert_int_equal(rig_merge_stats(&rig).bytes, 2u * MTU_BUF + 13u);
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void a_packet_goes_on_in_the_next_call(void **state)
{
	struct buf_rig rig;
	struct vnetrx_done done[4];
	struct vnetrx_pkt *pkts[2];

	(void)state;
	open_rig(&rig, 0, 0);
	rig_lend(&rig, MTU_BUF, 4);
	assert_int_equal(fill(&rig, 0, 4000, 1, done), 3);
	assert_int_equal(fill(&rig, 3, 1000, 2, done + 3), 1);
	assert_int_equal(rig_add(&rig, done, 2, pkts), 0);
	assert_int_equal(rig_add(&rig, done + 2, 2, pkts), 2);
	assert_true(pkts[0]->len == 4000u && rig_has_pattern(pkts[0], 0, 4000, 1));
	assert_true(pkts[1]->len == 1000u && rig_has_pattern(pkts[1], 0, 1000, 2));
	vnetrx_pkt_free(pkts, 2);
	rig_close(&rig);
}

static void bytes_begin_at_the_completions_offset(void **state)
{
	struct buf_rig rig;
	struct vnetrx_done done[2];
	struct vnetrx_pkt *pkt;
	uint8_t *first, *second;

	(void)state;
	open_rig(&rig, 0, 0);
	rig_lend(&rig, MTU_BUF, 2);
	first = rig_buf(&rig, 0)->addr;
	second = rig_buf(&rig, 1)->addr;
	memset(first, 0xff, 100);
	memset(first + 100, 0, RIG_HDR);
	first[110] = 2;
	rig_pattern(first + 112, 1000, 1);
	rig_pattern(second + 33, 500, 2);
	done[0] = rig_done(&rig, 0, 1012);
	done[0].off = 100;
	done[1] = rig_done(&rig, 1, 500);
	done[1].off = 33;
	assert_int_equal(rig_add(&rig, done, 2, &pkt), 1);
	assert_int_equal(pkt->len, 1500);
	assert_true(rig_has_pattern(pkt, 0, 1000, 1));
	assert_true(rig_has_pattern(pkt, 1000, 500, 2));
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void buffers_come_back_in_any_order(void **state)
{
	static const unsigned order[] = { 2, 0, 3, 1 };
	struct buf_rig rig;
	struct vnetrx_done done[4];
	struct vnetrx_pkt *pkts[4];
	unsigned i;

	(void)state;
	open_rig(&rig, 0, 0);
	rig_lend(&rig, MTU_BUF, 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(fill(&rig, order[i], 600 + order[i], order[i], done + i), 1);
	assert_int_equal(rig_add(&rig, done, 4, pkts), 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(pkts[i]->len, 600 + order[i]);
		assert_true(rig_has_pattern(pkts[i], 0, 600 + order[i], order[i]));
	}
	vnetrx_pkt_free(pkts, 4);
	rig_close(&rig);
}

static void buffers_used_against_their_order_are_not_coalesced(void **state)
{
	struct buf_rig rig;
	struct vnetrx_done done[3];
	struct vnetrx_pkt *pkt;
	unsigned k;

	(void)state;
	open_rig(&rig, 0, 0);
	rig_lend(&rig, MTU_BUF, 3);
	for (k = 0; k < 3; k++) {
		memset(rig_buf(&rig, 2u - k)->addr, (int)(0x10u + k), MTU_BUF);
		done[k] = rig_done(&rig, 2u - k, MTU_BUF);
	}
	(void)rig_hdr(&rig, 2, 3);
	assert_int_equal(rig_add(&rig, done, 3, &pkt), 1);
	assert_int_equal(pkt->nfrags, 3);
	assert_int_equal(pkt->chain->data[0], 0x11);
	assert_int_equal(pkt->chain->chain->data[0], 0x12);
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void a_buffer_that_is_not_full_is_accepted_and_counted(void **state)
{
	struct buf_rig rig;
	struct vnetrx_done done[3];
	struct vnetrx_pkt *pkt;
	unsigned k;

	(void)state;
	open_rig(&rig, 0, 0);
	rig_lend(&rig, MTU_BUF, 3);
	for (k = 0; k < 3; k++) {
		rig_pattern(rig_buf(&rig, k)->addr, 1000, k);
		done[k] = rig_done(&rig, k, 1000);
	}
	(void)rig_hdr(&rig, 0, 3);
	assert_int_equal(rig_add(&rig, done, 3, &pkt), 1);
	assert_int_equal(pkt->len, 3000 - RIG_HDR);
	assert_int_equal(pkt->nfrags, 3);
	assert_true(rig_has_pattern(pkt, 1000 - RIG_HDR, 1000, 1));
	assert_true(rig_has_pattern(pkt, 2000 - RIG_HDR, 1000, 2));
	assert_int_equal(rig_merge_stats(&rig).not_full, 2);
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void all_completions_of_a_long_batch_are_taken(void **state)
{
	struct buf_rig rig;
	struct vnetrx_done done[200];
	struct vnetrx_pkt *pkts[200];
	struct vnetrx_merge_stats s;
	unsigned i;

	(void)state;
	open_rig(&rig, 0, 0);
	rig_lend(&rig, MTU_BUF, 200);
	for (i = 0; i < 200; i++)
		assert_int_equal(fill(&rig, i, 200 + i, i, done + i), 1);
	assert_int_equal(rig_add(&rig, done, 200, pkts), 200);
	for (i = 0; i < 200; i++)
		assert_true(pkts[i]->len == 200u + i && rig_has_pattern(pkts[i], 0, 200 + i, i));
	s = rig_merge_stats(&rig);
	assert_int_equal(s.pkts, 200);
	assert_int_equal(s.bufs, 200);
	assert_int_equal(s.frags, 200);
	assert_int_equal(s.bytes, 200 * 200 + 199 * 100);
	vnetrx_pkt_free(pkts, 200);
	rig_close(&rig);
}

/* The device header gives no count: the completions' flag does. */
static void without_a_count_the_more_flag_tells(void **state)
{
	struct vnetrx_meta meta = { .skip = RIG_HDR };
	struct buf_rig rig;
	struct vnetrx_done done[4];
	struct vnetrx_pkt *pkts[2];
	unsigned k;

	(void)state;
	open_rig(&rig, 0, 0);
	rig.meta = &meta;
	rig_lend(&rig, MTU_BUF, 4);
	for (k = 0; k < 4; k++) {
		done[k] = rig_done(&rig, k, MTU_BUF);
		done[k].flags = k < 2u ? VNETRX_DONE_MORE : 0u;
		memset(rig_buf(&rig, k)->addr, (int)k, MTU_BUF);
	}
	assert_int_equal(rig_add(&rig, done, 4, pkts), 2);
	assert_int_equal(pkts[0]->len, 3u * MTU_BUF - RIG_HDR);
	assert_int_equal(pkts[0]->nbufs, 3);
	assert_int_equal(pkts[1]->len, MTU_BUF - RIG_HDR);
	vnetrx_pkt_free(pkts, 2);
	rig_close(&rig);
}

static void a_count_goes_before_the_more_flag(void **state)
{
	struct buf_rig rig;
	struct vnetrx_done done[2];
	struct vnetrx_pkt *pkts[2];

	(void)state;
	open_rig(&rig, 0, 0);
	rig_lend(&rig, MTU_BUF, 2);
	(void)fill(&rig, 0, 1000, 0, done);
	(void)fill(&rig, 1, 1000, 1, done + 1);
	done[0].flags = VNETRX_DONE_MORE;
	assert_int_equal(rig_add(&rig, done, 2, pkts), 2);
	vnetrx_pkt_free(pkts, 2);
	rig_close(&rig);
}

static void a_frame_of_an_ethernet_header_alone_is_a_packet(void **state)
{
	struct buf_rig rig;
	struct vnetrx_done done;
	struct vnetrx_pkt *pkt;

	(void)state;
	open_rig(&rig, 0, 0);
	rig_lend(&rig, MTU_BUF, 1);
	assert_int_equal(fill(&rig, 0, 14, 1, &done), 1);
	assert_int_equal(rig_add(&rig, &done, 1, &pkt), 1);
	assert_int_equal(pkt->len, 14);
	assert_true(rig_has_pattern(pkt, 0, 14, 1));
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void buffers_on_both_sides_of_a_hole_stay_apart(void **state)
{
	struct buf_rig rig;
	struct vnetrx_done done[42];
	struct vnetrx_pkt *pkt;
	unsigned n;

	(void)state;
	rig_needs_carving();
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64, .flags = VNETRX_POOL_FIXED });
	rig_merge(&rig, &(struct vnetrx_merge_config){ .nbufs_max = 64 });
	rig_lend(&rig, MTU_BUF, 42);
	n = fill(&rig, 0, 40u * MTU_BUF, 5, done);
	assert_int_equal(rig_add(&rig, done, n, &pkt), 1);
	assert_int_equal(pkt->nfrags, 2);
	assert_int_equal(pkt->frag_len, 21u * MTU_BUF - RIG_HDR);
	assert_true(rig_has_pattern(pkt, 0, 40u * MTU_BUF, 5));
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_full_buffer_is_one_packet_without_a_copy),
		cmocka_unit_test(the_written_bytes_are_synced_before_they_are_read),
		cmocka_unit_test(a_longest_frame_is_two_or_three_fragments),
		cmocka_unit_test(without_the_coalescer_it_is_one_per_buffer),
		cmocka_unit_test(headroom_keeps_buffers_apart),
		cmocka_unit_test(only_the_first_buffer_has_a_header),
		cmocka_unit_test(a_packet_goes_on_in_the_next_call),
		cmocka_unit_test(bytes_begin_at_the_completions_offset),
		cmocka_unit_test(buffers_come_back_in_any_order),
		cmocka_unit_test(buffers_used_against_their_order_are_not_coalesced),
		cmocka_unit_test(a_buffer_that_is_not_full_is_accepted_and_counted),
		cmocka_unit_test(all_completions_of_a_long_batch_are_taken),
		cmocka_unit_test(without_a_count_the_more_flag_tells),
		cmocka_unit_test(a_count_goes_before_the_more_flag),
		cmocka_unit_test(a_frame_of_an_ethernet_header_alone_is_a_packet),
		cmocka_unit_test(buffers_on_both_sides_of_a_hole_stay_apart),
	};

	return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
