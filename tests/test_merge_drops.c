/* SPDX-License-Identifier: BSD-3-Clause */
/* A device that errs or lies: every completion is accounted for once, no buffer is lost, the next packet is good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/buf_rig.h"

#define BUF 1536u

static void open_rig(struct buf_rig *rig, unsigned lend)
{
	rig_pool(rig, &(struct vnetrx_pool_config){ .bufs_max = 64 });
	rig_merge(rig, &(struct vnetrx_merge_config){ .nbufs_max = 16, .copy_len_max = 0xffff });
	rig_lend(rig, BUF, lend);
}

/* Gives the completions; then a good packet in buffer `next` must come out after `pkts` others, and nothing be lost. */
static struct vnetrx_merge_stats finish(struct buf_rig *rig, struct vnetrx_done *done, unsigned n, unsigned pkts,
                                        unsigned next)
{
	struct vnetrx_pkt *out[64];
	struct vnetrx_merge_stats s;
	struct vnetrx_pool_stats p;
	unsigned lent = (unsigned)rig_pool_stats(rig).bufs_lent;

	rig_pattern(rig_hdr(rig, next, 1) + RIG_HDR, 777, 9);
	done[n] = rig_done(rig, next, RIG_HDR + 777u);
	assert_int_equal(rig_add(rig, done, n + 1u, out), pkts + 1u);
	assert_int_equal(out[pkts]->len, 777);
	assert_true(rig_has_pattern(out[pkts], 0, 777, 9));
	s = rig_merge_stats(rig);
	assert_int_equal(s.drop_bad_id + s.bufs + s.drained, n + 1u);
	p = rig_pool_stats(rig);
	assert_int_equal(p.bufs_lent, lent - (n + 1u - s.drop_bad_id));
	vnetrx_pkt_free(out, pkts + 1u);
	assert_int_equal(rig_pool_stats(rig).pkts_used, 0);
	rig_close(rig);
	return s;
}

static void an_id_that_is_not_out_is_ignored(void **state)
{
	static const uint32_t ids[] = { 64, 69, 65535, 65536, 0x80000000u, UINT32_MAX };
	struct vnetrx_done done[8];
	struct buf_rig rig;
	unsigned i;

	(void)state;
	open_rig(&rig, 1);
	for (i = 0; i < 6; i++)
		done[i] = (struct vnetrx_done){ .id = ids[i], .len = 0x80000000u, .off = 0xffff };
	done[6] = (struct vnetrx_done){ .id = rig.order[0] == 3u ? 4u : 3u, .len = 100 };
	assert_int_equal(finish(&rig, done, 7, 0, 0).drop_bad_id, 7);
}

static void a_bad_id_in_the_middle_of_a_packet_leaves_the_packet_alone(void **state)
{
	struct vnetrx_done done[4];
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 3);
	(void)rig_hdr(&rig, 0, 2);
	done[0] = rig_done(&rig, 0, BUF);
	done[1] = (struct vnetrx_done){ .id = 9999, .len = BUF };
	done[2] = rig_done(&rig, 1, 200);
	assert_int_equal(finish(&rig, done, 3, 1, 2).drop_bad_id, 1);
}

static void a_buffer_comes_back_once(void **state)
{
	struct vnetrx_done done[6];
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 3);
	(void)rig_hdr(&rig, 0, 2);
	done[0] = rig_done(&rig, 0, BUF);
	done[1] = rig_done(&rig, 0, BUF);
	done[2] = rig_done(&rig, 1, 200);
	done[3] = rig_done(&rig, 1, 200);
	done[4] = rig_done(&rig, 0, 200);
	assert_int_equal(finish(&rig, done, 5, 1, 2).drop_bad_id, 3);
}

static void a_length_of_zero_is_the_devices_error(void **state)
{
	struct vnetrx_done done[3];
	struct vnetrx_merge_stats s;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 3);
	(void)rig_hdr(&rig, 0, 0);
	(void)rig_hdr(&rig, 1, 5); /* not to be believed: nothing was written */
	done[0] = rig_done(&rig, 0, 0);
	done[1] = rig_done(&rig, 1, 0);
	s = finish(&rig, done, 2, 0, 2);
	assert_int_equal(s.drop_error, 2);
	assert_int_equal(s.drained, 2);
}

static void a_length_of_zero_later_in_a_packet_drops_it(void **state)
{
	struct vnetrx_done done[5];
	struct vnetrx_merge_stats s;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 5);
	(void)rig_hdr(&rig, 0, 4);
	done[0] = rig_done(&rig, 0, BUF);
	done[1] = rig_done(&rig, 1, BUF);
	done[2] = rig_done(&rig, 2, 0);
	done[3] = rig_done(&rig, 3, BUF);
	s = finish(&rig, done, 4, 0, 4);
	assert_int_equal(s.drop_error, 1);
	assert_int_equal(s.drained, 4);
}

static void shorter_than_header_and_ethernet_header_is_dropped_once(void **state)
{
	static const uint32_t lens[] = { 1, 8, 11, 12, 25 };
	struct vnetrx_done done[6];
	struct buf_rig rig;
	unsigned i;

	(void)state;
	open_rig(&rig, 6);
	for (i = 0; i < 5; i++) {
		(void)rig_hdr(&rig, i, 1);
		done[i] = rig_done(&rig, i, lens[i]);
	}
	assert_int_equal(finish(&rig, done, 5, 0, 5).drop_short, 5);
}

/* The Linux driver takes these continuation buffers for packets of their own. */
static void a_short_head_with_a_header_is_drained(void **state)
{
	struct vnetrx_done done[4];
	struct vnetrx_merge_stats s;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 4);
	(void)rig_hdr(&rig, 0, 3);
	done[0] = rig_done(&rig, 0, RIG_HDR + 13u);
	done[1] = rig_done(&rig, 1, BUF);
	done[2] = rig_done(&rig, 2, BUF);
	s = finish(&rig, done, 3, 0, 3);
	assert_int_equal(s.drop_short, 1);
	assert_int_equal(s.drained, 3);
}

static void more_than_was_posted_is_dropped_and_drained(void **state)
{
	static const struct {
		uint32_t len;
		uint16_t off;
	} rows[] = { { BUF + 1u, 0 }, { BUF, 1 }, { BUF - 99u, 100 }, { 0x80000000u, 0 }, { UINT32_MAX, 1 } };
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct vnetrx_done done[4];
		struct vnetrx_merge_stats s;
		struct buf_rig rig;

		open_rig(&rig, 4);
		memset(rig_buf(&rig, 0)->addr, 0, BUF);
		((uint8_t *)rig_buf(&rig, 0)->addr)[rows[i].off + 10u] = 3;
		done[0] = rig_done(&rig, 0, rows[i].len);
		done[0].off = rows[i].off;
		done[1] = rig_done(&rig, 1, BUF);
		done[2] = rig_done(&rig, 2, BUF);
		s = finish(&rig, done, 3, 0, 3);
		assert_int_equal(s.drop_long, 1);
		assert_int_equal(s.drained, 3);
	}
}

static void an_offset_past_the_buffer_reads_nothing(void **state)
{
	static const uint16_t offs[] = { BUF, BUF - 1u, BUF - 11u, 0xffff };
	struct vnetrx_done done[5];
	struct buf_rig rig;
	unsigned i;

	(void)state;
	open_rig(&rig, 5);
	for (i = 0; i < 4; i++) {
		done[i] = rig_done(&rig, i, 100);
		done[i].off = offs[i];
	}
	assert_int_equal(finish(&rig, done, 4, 0, 4).drop_long, 4);
}

static void more_than_was_posted_later_in_a_packet_drops_it(void **state)
{
	static const struct {
		uint32_t len;
		uint16_t off;
	} rows[] = { { 5000, 0 }, { BUF, 1 }, { 1, BUF }, { UINT32_MAX, 0xffff } };
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct vnetrx_done done[3];
		struct vnetrx_merge_stats s;
		struct buf_rig rig;

		open_rig(&rig, 3);
		(void)rig_hdr(&rig, 0, 2);
		done[0] = rig_done(&rig, 0, BUF);
		done[1] = rig_done(&rig, 1, rows[i].len);
		done[1].off = rows[i].off;
		s = finish(&rig, done, 2, 0, 2);
		assert_int_equal(s.drop_long, 1);
		assert_int_equal(s.drained, 2);
	}
}

static void a_count_out_of_range_costs_one_buffer(void **state)
{
	static const unsigned counts[] = { 17, 255, 32768, 65535 };
	struct vnetrx_done done[5];
	struct buf_rig rig;
	unsigned i;

	(void)state;
	open_rig(&rig, 5);
	for (i = 0; i < 4; i++) {
		(void)rig_hdr(&rig, i, counts[i]);
		done[i] = rig_done(&rig, i, BUF);
	}
	assert_int_equal(finish(&rig, done, 4, 0, 4).drop_nbufs, 4);
}

static void the_largest_count_is_a_packet(void **state)
{
	struct vnetrx_done done[17];
	struct buf_rig rig;
	unsigned i;

	(void)state;
	open_rig(&rig, 17);
	(void)rig_hdr(&rig, 0, 16);
	for (i = 0; i < 16; i++)
		done[i] = rig_done(&rig, i, 1000);
	assert_int_equal(finish(&rig, done, 16, 1, 16).bufs, 17);
}

/* The Linux driver takes everything that is there for such a packet. */
static void a_count_of_zero_costs_one_buffer(void **state)
{
	struct vnetrx_done done[3];
	struct vnetrx_merge_stats s;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 3);
	(void)rig_hdr(&rig, 0, 0);
	(void)rig_hdr(&rig, 1, 1);
	done[0] = rig_done(&rig, 0, BUF);
	done[1] = rig_done(&rig, 1, BUF);
	s = finish(&rig, done, 2, 1, 2);
	assert_int_equal(s.drop_decode, 1);
	assert_int_equal(s.drained, 1);
}

static void buffers_that_never_come_drop_the_packet_at_the_end(void **state)
{
	struct vnetrx_done done[3];
	struct vnetrx_pkt *out[3];
	struct vnetrx_merge_stats s;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 3);
	(void)rig_hdr(&rig, 0, 3);
	done[0] = rig_done(&rig, 0, BUF);
	done[1] = rig_done(&rig, 1, BUF);
	assert_int_equal(rig_add(&rig, done, 2, out), 0);
	vnetrx_merge_end(rig.merge);
	s = rig_merge_stats(&rig);
	assert_int_equal(s.drop_missing, 1);
	assert_int_equal(s.drained, 2);
	assert_int_equal(rig_pool_stats(&rig).pkts_used, 0);
	(void)rig_hdr(&rig, 2, 1);
	done[2] = rig_done(&rig, 2, 500);
	assert_int_equal(rig_add(&rig, done + 2, 1, out), 1);
	vnetrx_pkt_free(out, 1);
	rig_close(&rig);
}

static void the_end_ends_draining_without_counting_twice(void **state)
{
	struct vnetrx_done done[2];
	struct vnetrx_pkt *out[1];
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 2);
	(void)rig_hdr(&rig, 0, 3);
	done[0] = rig_done(&rig, 0, 20);
	assert_int_equal(rig_add(&rig, done, 1, out), 0);
	vnetrx_merge_end(rig.merge);
	(void)rig_hdr(&rig, 1, 1);
	done[1] = rig_done(&rig, 1, 500);
	assert_int_equal(rig_add(&rig, done + 1, 1, out), 1);
	assert_int_equal(rig_merge_stats(&rig).drop_short, 1);
	assert_int_equal(rig_merge_stats(&rig).drop_missing, 0);
	vnetrx_pkt_free(out, 1);
	rig_close(&rig);
}

static void the_end_does_nothing_when_nothing_waits(void **state)
{
	struct vnetrx_merge_stats s;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 1);
	vnetrx_merge_end(rig.merge);
	vnetrx_merge_end(rig.merge);
	s = rig_merge_stats(&rig);
	assert_int_equal(s.drop_missing + s.drained, 0);
	rig_close(&rig);
}

static void a_refused_header_drains_what_it_announced(void **state)
{
	struct vnetrx_done done[4];
	struct vnetrx_merge_stats s;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 4);
	rig_hdr(&rig, 0, 3)[1] = 2; /* no such gso_type */
	done[0] = rig_done(&rig, 0, BUF);
	done[1] = rig_done(&rig, 1, BUF);
	done[2] = rig_done(&rig, 2, BUF);
	s = finish(&rig, done, 3, 0, 3);
	assert_int_equal(s.drop_decode, 1);
	assert_int_equal(s.drained, 3);
}

/* One packet of two buffers with the answer `meta` of decode; which counter rises tells the caller. */
static struct vnetrx_merge_stats with_meta(struct vnetrx_meta meta, uint32_t second_len)
{
	struct vnetrx_done done[2];
	struct vnetrx_pkt *out[2];
	struct vnetrx_merge_stats s;
	struct buf_rig rig;
	unsigned n = second_len != 0u ? 2 : 1, got;

	open_rig(&rig, 3);
	meta.nbufs = (uint16_t)n;
	rig.meta = &meta;
	memset(rig_buf(&rig, 0)->addr, 0, BUF);
	done[0] = rig_done(&rig, 0, n == 2u ? BUF : 100);
	done[1] = rig_done(&rig, 1, second_len);
	got = rig_add(&rig, done, n, out);
	vnetrx_pkt_free(out, got);
	s = rig_merge_stats(&rig);
	assert_int_equal(s.pkts, got);
	assert_int_equal(s.bufs + s.drained, n);
	rig_close(&rig);
	return s;
}

static void a_skip_that_leaves_no_ethernet_header_is_dropped(void **state)
{
	(void)state;
	assert_int_equal(with_meta((struct vnetrx_meta){ .skip = 86 }, 0).pkts, 1);
	assert_int_equal(with_meta((struct vnetrx_meta){ .skip = 87 }, 0).drop_meta, 1);
	assert_int_equal(with_meta((struct vnetrx_meta){ .skip = 0xffff }, 0).drop_meta, 1);
	assert_int_equal(with_meta((struct vnetrx_meta){ .skip = BUF - 13u }, 100).drop_meta, 1);
}

static void a_checksum_field_outside_the_packet_is_dropped(void **state)
{
	struct vnetrx_meta meta = { .flags = VNETRX_PKT_PARTIAL, .skip = 0, .csum_start = 34, .csum_offset = 64 };

	(void)state;
	assert_int_equal(with_meta(meta, 0).pkts, 1);
	meta.csum_offset = 65;
	assert_int_equal(with_meta(meta, 0).drop_meta, 1);
	meta.csum_offset = 16;
	meta.csum_start = 33;
	assert_int_equal(with_meta(meta, 0).drop_meta, 1);
	meta.csum_start = 0xffff;
	meta.csum_offset = 0xffff;
	assert_int_equal(with_meta(meta, 0).drop_meta, 1);
}

static void over_several_buffers_the_whole_packet_counts_for_the_checksum(void **state)
{
	struct vnetrx_meta meta = { .flags = VNETRX_PKT_PARTIAL, .csum_start = BUF, .csum_offset = 98 };

	(void)state;
	assert_int_equal(with_meta(meta, 100).pkts, 1);
	meta.csum_offset = 99;
	assert_int_equal(with_meta(meta, 100).drop_meta, 1);
	assert_int_equal(with_meta(meta, 100).drained, 2);
}

static void frames_above_the_limit_are_dropped(void **state)
{
	struct vnetrx_done done[6];
	struct vnetrx_merge_stats s;
	struct buf_rig rig;

	(void)state;
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64 });
	rig_merge(&rig, &(struct vnetrx_merge_config){ .nbufs_max = 16, .frame_len_max = 1000, .copy_len_max = 500 });
	rig_lend(&rig, BUF, 6);
	(void)rig_hdr(&rig, 0, 1);
	done[0] = rig_done(&rig, 0, RIG_HDR + 1001u);
	(void)rig_hdr(&rig, 1, 1);
	done[1] = rig_done(&rig, 1, RIG_HDR + 1000u);
	(void)rig_hdr(&rig, 2, 3);
	done[2] = rig_done(&rig, 2, RIG_HDR + 500u);
	done[3] = rig_done(&rig, 3, 501);
	done[4] = rig_done(&rig, 4, 100);
	s = finish(&rig, done, 5, 1, 5);
	assert_int_equal(s.drop_frame_long, 2);
	assert_int_equal(s.drained, 4);
}

/* Two descriptors: the ring gets every buffer back although no packet could be made. */
static void without_a_descriptor_buffers_go_back_to_the_ring(void **state)
{
	struct vnetrx_done done[7];
	struct vnetrx_pkt *held[2], *out[4];
	struct buf_rig rig;
	unsigned k;

	(void)state;
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64, .pkts_max = 2 });
	rig_merge(&rig, &(struct vnetrx_merge_config){ .nbufs_max = 16, .flags = VNETRX_MERGE_NO_COALESCE });
	rig_lend(&rig, BUF, 7);
	for (k = 0; k < 7; k++) {
		(void)rig_hdr(&rig, k, k == 2u || k == 4u ? 2 : 1);
		done[k] = rig_done(&rig, k, BUF);
	}
	assert_int_equal(rig_add(&rig, done, 1, held), 1);
	assert_int_equal(rig_add(&rig, done + 1, 1, held + 1), 1);
	assert_int_equal(rig_add(&rig, done + 2, 2, out), 0);
	vnetrx_pkt_free(held, 1);
	assert_int_equal(rig_add(&rig, done + 4, 2, out), 0); /* a head, but no second fragment */
	assert_int_equal(rig_merge_stats(&rig).drop_no_pkt, 2);
	assert_int_equal(rig_merge_stats(&rig).drained, 4);
	assert_int_equal(rig_add(&rig, done + 6, 1, out), 1);
	vnetrx_pkt_free(out, 1);
	vnetrx_pkt_free(held + 1, 1);
	rig_close(&rig);
}

static void a_packet_that_never_ends_is_cut_off_at_the_largest_count(void **state)
{
	struct vnetrx_meta meta = { .skip = RIG_HDR };
	struct vnetrx_done done[41];
	struct vnetrx_pkt *out[41];
	struct vnetrx_merge_stats s;
	struct buf_rig rig;
	unsigned k;

	(void)state;
	open_rig(&rig, 41);
	rig.meta = &meta;
	for (k = 0; k < 41; k++) {
		done[k] = rig_done(&rig, k, 100);
		done[k].flags = k < 39u ? VNETRX_DONE_MORE : 0u;
	}
	assert_int_equal(rig_add(&rig, done, 41, out), 1);
	s = rig_merge_stats(&rig);
	assert_int_equal(s.drop_nbufs, 1);
	assert_int_equal(s.drained, 40);
	vnetrx_pkt_free(out, 1);
	rig_close(&rig);
}

static void with_the_more_flag_a_failed_packet_is_drained_to_its_end(void **state)
{
	struct vnetrx_meta meta = { .skip = RIG_HDR };
	struct vnetrx_done done[7];
	struct vnetrx_pkt *out[7];
	struct vnetrx_merge_stats s;
	struct buf_rig rig;
	unsigned k;

	(void)state;
	open_rig(&rig, 7);
	rig.meta = &meta;
	for (k = 0; k < 7; k++) {
		done[k] = rig_done(&rig, k, k == 0u || k == 4u ? 0 : 100);
		done[k].flags = k != 2u && k != 5u && k != 6u ? VNETRX_DONE_MORE : 0u;
	}
	assert_int_equal(rig_add(&rig, done, 7, out), 1);
	s = rig_merge_stats(&rig);
	assert_int_equal(s.drop_error, 2);
	assert_int_equal(s.drained, 6);
	vnetrx_pkt_free(out, 1);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_that_is_not_out_is_ignored),
		cmocka_unit_test(a_bad_id_in_the_middle_of_a_packet_leaves_the_packet_alone),
		cmocka_unit_test(a_buffer_comes_back_once),
		cmocka_unit_test(a_length_of_zero_is_the_devices_error),
		cmocka_unit_test(a_length_of_zero_later_in_a_packet_drops_it),
		cmocka_unit_test(shorter_than_header_and_ethernet_header_is_dropped_once),
		cmocka_unit_test(a_short_head_with_a_header_is_drained),
		cmocka_unit_test(more_than_was_posted_is_dropped_and_drained),
		cmocka_unit_test(an_offset_past_the_buffer_reads_nothing),
		cmocka_unit_test(more_than_was_posted_later_in_a_packet_drops_it),
		cmocka_unit_test(a_count_out_of_range_costs_one_buffer),
		cmocka_unit_test(the_largest_count_is_a_packet),
		cmocka_unit_test(a_count_of_zero_costs_one_buffer),
		cmocka_unit_test(buffers_that_never_come_drop_the_packet_at_the_end),
		cmocka_unit_test(the_end_ends_draining_without_counting_twice),
		cmocka_unit_test(the_end_does_nothing_when_nothing_waits),
		cmocka_unit_test(a_refused_header_drains_what_it_announced),
		cmocka_unit_test(a_skip_that_leaves_no_ethernet_header_is_dropped),
		cmocka_unit_test(a_checksum_field_outside_the_packet_is_dropped),
		cmocka_unit_test(over_several_buffers_the_whole_packet_counts_for_the_checksum),
		cmocka_unit_test(frames_above_the_limit_are_dropped),
		cmocka_unit_test(without_a_descriptor_buffers_go_back_to_the_ring),
		cmocka_unit_test(a_packet_that_never_ends_is_cut_off_at_the_largest_count),
		cmocka_unit_test(with_the_more_flag_a_failed_packet_is_drained_to_its_end),
	};

	return cmocka_run_group_tests_name("merge_drops", tests, NULL, NULL);
}
