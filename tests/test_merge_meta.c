/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device says about a packet, copy-break, and the configuration of the stage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buf/pool.h"
#include "support/buf_rig.h"

static void open_rig(struct buf_rig *rig, uint32_t copy_len_max)
{
	rig_pool(rig, &(struct vnetrx_pool_config){ .bufs_max = 64 });
	rig_merge(rig, &(struct vnetrx_merge_config){ .copy_len_max = copy_len_max });
}

/* One packet of frame_len bytes in one buffer. */
static struct vnetrx_pkt *receive(struct buf_rig *rig, uint32_t frame_len)
{
	struct vnetrx_pkt *pkt = NULL;
	struct vnetrx_done done;

	rig->lent = 0;
	rig_lend(rig, 1536, 1);
	rig_pattern(rig_hdr(rig, 0, 1) + RIG_HDR, frame_len, frame_len);
	done = rig_done(rig, 0, RIG_HDR + frame_len);
	(void)rig_add(rig, &done, 1, &pkt);
	return pkt;
}

static struct vnetrx_meta full_meta(void)
{
	return (struct vnetrx_meta){
		.flags = 0xff, .skip = RIG_HDR, .nbufs = 1, .gso_size = 1400, .segs = 5, .csum_start = 34,
		.csum_offset = 16, .vlan_tci = 0x6123, .vlan_proto = 0x88a8, .gso_type = VNETRX_GSO_TCPV4,
		.hash_type = 9, .hash = 0xabcdef01, .mark = 77, .tstamp = 123456789012345,
	};
}

static void the_devices_words_arrive_in_the_packet(void **state)
{
	struct vnetrx_meta meta = full_meta();
	struct vnetrx_pkt *pkt;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 0);
	rig.meta = &meta;
	pkt = receive(&rig, 1000);
	assert_non_null(pkt);
	assert_int_equal(pkt->flags, 0xff);
	assert_int_equal(pkt->gso_size, 1400);
	assert_int_equal(pkt->rx_gso_size, 1400);
	assert_int_equal(pkt->segs, 5);
	assert_int_equal(pkt->gso_type, VNETRX_GSO_TCPV4);
	assert_int_equal(pkt->csum_start, 34);
	assert_int_equal(pkt->csum_offset, 16);
	assert_int_equal(pkt->vlan_tci, 0x6123);
	assert_int_equal(pkt->vlan_proto, 0x88a8);
	assert_int_equal(pkt->hash, 0xabcdef01);
	assert_int_equal(pkt->hash_type, 9);
	assert_int_equal(pkt->mark, 77);
	assert_true(pkt->tstamp == 123456789012345u);
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void a_used_descriptor_forgets_the_packet_before(void **state)
{
	struct vnetrx_meta meta = full_meta();
	struct vnetrx_pkt *pkt, *again;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 0);
	rig.meta = &meta;
	pkt = receive(&rig, 1000);
	pkt->l3_off = 1;
	pkt->l4_off = 2;
	pkt->hdr_len = 3;
	pkt->reason = VNETRX_LEFT_HOLD;
	pkt->next = pkt;
	vnetrx_pkt_free(&pkt, 1);
	rig.meta = NULL;
	again = receive(&rig, 1000);
	assert_ptr_equal(again, pkt);
	assert_int_equal(again->flags, 0);
	assert_int_equal(again->gso_size, 0);
	assert_int_equal(again->rx_gso_size, 0);
	assert_int_equal(again->gso_type, 0);
	assert_int_equal(again->segs, 1);
	assert_int_equal(again->l3_off + again->l4_off + again->hdr_len, 0);
	assert_int_equal(again->reason, VNETRX_LEFT_PASSED);
	assert_null(again->next);
	assert_null(again->chain);
	vnetrx_pkt_free(&again, 1);
	rig_close(&rig);
}

static void a_device_sets_only_its_own_flags(void **state)
{
	struct vnetrx_meta meta = { .flags = ~UINT32_C(0) & ~VNETRX_PKT_PARTIAL, .skip = RIG_HDR, .nbufs = 1 };
	struct vnetrx_pkt *pkt;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 0);
	rig.meta = &meta;
	pkt = receive(&rig, 1000);
	assert_int_equal(pkt->flags, 0xff & ~VNETRX_PKT_PARTIAL);
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void segments_are_one_or_what_the_device_says(void **state)
{
	static const struct {
		uint32_t flags;
		uint16_t gso_size, segs, want;
	} rows[] = {
		{ 0, 0, 0, 1 }, { 0, 0, 9, 1 }, { 0, 1400, 0, 0 }, { 0, 1400, 9, 9 },
		{ VNETRX_PKT_RSC, 0, 9, 9 }, { VNETRX_PKT_RSC, 0, 0, 0 },
	};
	struct buf_rig rig;
	unsigned i;

	(void)state;
	open_rig(&rig, 0);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct vnetrx_meta meta = { .flags = rows[i].flags, .skip = RIG_HDR, .nbufs = 1,
			                    .gso_size = rows[i].gso_size, .segs = rows[i].segs };
		struct vnetrx_pkt *pkt;

		rig.meta = &meta;
		pkt = receive(&rig, 1000);
		assert_int_equal(pkt->segs, rows[i].want);
		assert_int_equal(pkt->gso_size, rows[i].gso_size);
		vnetrx_pkt_free(&pkt, 1);
	}
	rig_close(&rig);
}

static void a_driver_may_skip_more_or_less_than_the_header(void **state)
{
	static const uint16_t skips[] = { 0, 2, 12, 20, 500, 998 };
	struct buf_rig rig;
	unsigned i;

	(void)state;
	open_rig(&rig, 0xffff);
	for (i = 0; i < sizeof(skips) / sizeof(skips[0]); i++) {
		struct vnetrx_meta meta = { .skip = skips[i], .nbufs = 1 };
		struct vnetrx_pkt *pkt;

		rig.meta = &meta;
		pkt = receive(&rig, 1000);
		assert_non_null(pkt);
		assert_int_equal(pkt->len, RIG_HDR + 1000u - skips[i]);
		assert_ptr_equal(pkt->data, (uint8_t *)rig_buf(&rig, 0)->addr + skips[i]);
		vnetrx_pkt_free(&pkt, 1);
	}
	rig_close(&rig);
}

/* A merge stage with a driver that is not rig_merge()'s. */
static void open_with(struct buf_rig *rig, const struct vnetrx_dev_ops *ops, uint16_t hdr_len)
{
	struct vnetrx_merge_config cfg = { .dev_ops = ops, .dev = rig, .nbufs_max = 8, .hdr_len = hdr_len };
	size_t n;

	rig_pool(rig, &(struct vnetrx_pool_config){ .bufs_max = 8 });
	cfg.pool = rig->pool;
	n = vnetrx_merge_footprint(&cfg, NULL);
	rig->merge_mem = test_mem(n);
	assert_int_equal(vnetrx_merge_init(&rig->merge, &cfg, rig->merge_mem, n), VNETRX_OK);
}

static void a_driver_without_decode_has_plain_frames(void **state)
{
	static const struct vnetrx_dev_ops no_decode = { .decode = NULL };
	struct buf_rig rig;
	struct vnetrx_done done;
	struct vnetrx_pkt *pkt;

	(void)state;
	open_with(&rig, &no_decode, 0);
	rig_lend(&rig, 1536, 1);
	rig_pattern(rig_buf(&rig, 0)->addr, 1514, 4);
	done = rig_done(&rig, 0, 1514);
	assert_int_equal(rig_add(&rig, &done, 1, &pkt), 1);
	assert_true(pkt->len == 1514u && rig_has_pattern(pkt, 0, 1514, 4));
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void without_decode_the_more_flag_joins_buffers_behind_one_header(void **state)
{
	static const struct vnetrx_dev_ops no_decode = { .decode = NULL };
	struct buf_rig rig;
	struct vnetrx_done done[2];
	struct vnetrx_pkt *pkt;

	(void)state;
	open_with(&rig, &no_decode, 8);
	rig_lend(&rig, 1536, 2);
	rig_pattern((uint8_t *)rig_buf(&rig, 0)->addr + 8, 1000, 4);
	rig_pattern(rig_buf(&rig, 1)->addr, 500, 5);
	done[0] = rig_done(&rig, 0, 1008);
	done[0].flags = VNETRX_DONE_MORE;
	done[1] = rig_done(&rig, 1, 500);
	assert_int_equal(rig_add(&rig, done, 2, &pkt), 1);
	assert_int_equal(pkt->len, 1500);
	assert_int_equal(pkt->nbufs, 2);
	assert_true(rig_has_pattern(pkt, 0, 1000, 4));
	assert_int_equal(pkt->flags, 0);
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

#define LONG_HDR 100u

static int sum_header(void *dev, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	const uint8_t *bytes = head;

	(void)dev;
	for (uint32_t i = 0; i < len; i++)
		meta->hash += bytes[i];
	meta->flags = VNETRX_PKT_HASH;
	return len == LONG_HDR ? VNETRX_OK : VNETRX_ERR_BAD;
}

static void all_of_a_long_header_is_shown_to_decode(void **state)
{
	static const struct vnetrx_dev_ops ops = { .decode = sum_header };
	struct buf_rig rig;
	struct vnetrx_done done;
	struct vnetrx_pkt *pkt;

	(void)state;
	open_with(&rig, &ops, LONG_HDR);
	rig_lend(&rig, 1536, 1);
	memset(rig_buf(&rig, 0)->addr, 3, LONG_HDR);
	rig_pattern((uint8_t *)rig_buf(&rig, 0)->addr + LONG_HDR, 60, 9);
	done = rig_done(&rig, 0, LONG_HDR + 60u);
	assert_int_equal(rig_add(&rig, &done, 1, &pkt), 1);
	assert_int_equal(pkt->hash, 3u * LONG_HDR);
	assert_true(pkt->len == 60u && rig_has_pattern(pkt, 0, 60, 9));
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void a_small_packet_moves_and_its_buffer_goes_back(void **state)
{
	struct vnetrx_pkt *pkt;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 0);
	pkt = receive(&rig, 128);
	assert_int_equal(pkt->flags, VNETRX_PKT_COPIED);
	assert_true(rig_has_pattern(pkt, 0, 128, 128));
	assert_int_equal(pkt->truesize, 128 + sizeof(struct vnetrx_pkt));
	assert_int_equal(rig_pool_stats(&rig).bufs_recycled, 1);
	assert_int_equal(rig_pool_stats(&rig).copies, 1);
	memset(rig_buf(&rig, 0)->addr, 0, 1536);
	assert_true(rig_has_pattern(pkt, 0, 128, 128));
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void a_packet_above_the_limit_stays_where_it_is(void **state)
{
	struct vnetrx_pkt *pkt;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 0);
	pkt = receive(&rig, 129);
	assert_int_equal(pkt->flags, 0);
	assert_ptr_equal(pkt->data, (uint8_t *)rig_buf(&rig, 0)->addr + RIG_HDR);
	assert_int_equal(rig_pool_stats(&rig).copies, 0);
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void copying_can_be_turned_off(void **state)
{
	struct vnetrx_pkt *pkt;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 0xffff);
	pkt = receive(&rig, 14);
	assert_int_equal(pkt->flags, 0);
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void small_packets_share_a_run_and_keep_headroom(void **state)
{
	struct vnetrx_pkt *pkts[20];
	struct buf_rig rig;
	unsigned i;

	(void)state;
	rig_needs_carving();
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64, .headroom = 64 });
	rig_merge(&rig, &(struct vnetrx_merge_config){ .copy_len_max = 200 });
	for (i = 0; i < 20; i++) {
		pkts[i] = receive(&rig, 60 + i);
		memset(pkts[i]->data - 64, 0xee, 64);
		assert_int_equal(pkts[i]->truesize - sizeof(struct vnetrx_pkt), i < 5u ? 128 : 192);
	}
	for (i = 0; i < 20; i++)
		assert_true(rig_has_pattern(pkts[i], 0, 60 + i, 60 + i));
	assert_int_equal(rig_pool_stats(&rig).carved, 1);
	assert_int_equal(rig.host.pages, 2);
	assert_int_equal(rig_pool_stats(&rig).pinned_bytes, 32768);
	vnetrx_pkt_free(pkts, 20);
	rig_close(&rig);
}

static void a_run_for_small_packets_starts_again_when_it_is_empty(void **state)
{
	struct vnetrx_pkt *pkt, *again;
	struct buf_rig rig;

	(void)state;
	rig_needs_carving();
	open_rig(&rig, 0);
	pkt = receive(&rig, 60);
	vnetrx_pkt_free(&pkt, 1);
	again = receive(&rig, 60);
	assert_ptr_equal(again->data - again->len, pkt->data - again->len);
	vnetrx_pkt_free(&again, 1);
	rig_close(&rig);
}

static void without_a_run_for_it_a_small_packet_goes_up_uncopied(void **state)
{
	struct vnetrx_pkt *pkt;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, 0);
	rig.host.fail_from = 2;
	pkt = receive(&rig, 60);
	assert_non_null(pkt);
	assert_int_equal(pkt->flags, 0);
	assert_true(rig_has_pattern(pkt, 0, 60, 60));
	assert_int_equal(rig_pool_stats(&rig).copy_fails, 1);
	vnetrx_pkt_free(&pkt, 1);
	rig_close(&rig);
}

static void a_ring_without_memory_takes_the_idle_run_of_small_packets(void **state)
{
	struct vnetrx_buf bufs[40];
	struct vnetrx_pkt *pkt;
	struct buf_rig rig;

	(void)state;
	rig_needs_carving();
	open_rig(&rig, 0);
	pkt = receive(&rig, 60);
	vnetrx_pkt_free(&pkt, 1);
	rig.host.fail_from = rig.host.calls + 1u;
	assert_int_equal(vnetrx_pool_get(rig.pool, 4096, bufs, 20), 1 + 7 + 8);
	rig_close(&rig);
}

/* More than six of eight runs pinned: the one of small packets and six with two buffers each. */
static void when_much_is_pinned_longer_packets_move_too(void **state)
{
	struct vnetrx_pkt *pkts[13];
	struct buf_rig rig;
	unsigned i;

	(void)state;
	rig_needs_carving();
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 8, .run_size = 4096, .runs_max = 8 });
	rig_merge(&rig, &(struct vnetrx_merge_config){ .nbufs_max = 8 });
	pkts[0] = receive(&rig, 60);
	for (i = 1; i < 12; i++) {
		pkts[i] = receive(&rig, 1000);
		assert_int_equal(pkts[i]->flags, 0);
	}
	assert_int_equal(rig_pool_stats(&rig).pinned_bytes, 7 * 4096);
	pkts[12] = receive(&rig, 1000);
	assert_int_equal(pkts[12]->flags, VNETRX_PKT_COPIED);
	assert_true(rig_has_pattern(pkts[12], 0, 1000, 1000));
	vnetrx_pkt_free(pkts, 13);
	rig_close(&rig);
}

static void a_wrong_configuration_is_refused_with_the_fields_name(void **state)
{
	static const struct vnetrx_dev_ops ops = { .decode = NULL };
	struct buf_rig rig;
	struct vnetrx_merge *merge = NULL;
	struct vnetrx_merge_config good = { .dev_ops = &ops, .nbufs_max = 8 };
	struct vnetrx_merge_config bad[9];
	static const char *const fields[] = { "dev_ops", "pool", "nbufs_max", "nbufs_max", "hdr_len", "frame_len_max",
		                              "copy_len_max", "flags", "frame_len_max" };
	unsigned i;

	(void)state;
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 8 });
	good.pool = rig.pool;
	for (i = 0; i < 9; i++)
		bad[i] = good;
	bad[0].dev_ops = NULL;
	bad[1].pool = NULL;
	bad[2].nbufs_max = 0;
	bad[3].nbufs_max = 32769;
	bad[4].hdr_len = 129;
	bad[5].frame_len_max = 59;
	bad[6].copy_len_max = 65536;
	bad[7].flags = 2;
	bad[8].frame_len_max = 1048577;
	rig.merge_mem = test_mem(vnetrx_merge_footprint(&good, NULL));
	for (i = 0; i < 9; i++) {
		const char *why = NULL;

		assert_int_equal(vnetrx_merge_footprint(&bad[i], &why), 0);
		assert_non_null(why);
		assert_int_equal(strncmp(why, fields[i], strlen(fields[i])), 0);
		assert_int_equal(vnetrx_merge_init(&merge, &bad[i], rig.merge_mem, 4096), VNETRX_ERR_INVALID);
	}
	assert_int_equal(vnetrx_merge_init(&merge, &good, rig.merge_mem, 64), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_merge_init(&merge, &good, (uint8_t *)rig.merge_mem + 8, 4096), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_merge_init(&merge, &good, NULL, 4096), VNETRX_ERR_NOMEM);
	assert_null(merge);
	rig_close(&rig);
}

static void an_offset_past_the_buffer_without_a_header_reads_nothing(void **state)
{
	static const struct vnetrx_dev_ops ops = { .decode = sum_header };
	struct buf_rig rig;
	struct vnetrx_done done;
	struct vnetrx_pkt *pkt;

	(void)state;
	open_with(&rig, &ops, 0);
	rig_lend(&rig, 1536, 1);
	done = rig_done(&rig, 0, 100);
	done.off = 60000;
	assert_int_equal(rig_add(&rig, &done, 1, &pkt), 0);
	assert_int_equal(rig_merge_stats(&rig).drop_long, 1);
	assert_int_equal(rig_merge_stats(&rig).drained, 1);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_devices_words_arrive_in_the_packet),
		cmocka_unit_test(a_used_descriptor_forgets_the_packet_before),
		cmocka_unit_test(a_device_sets_only_its_own_flags),
		cmocka_unit_test(segments_are_one_or_what_the_device_says),
		cmocka_unit_test(a_driver_may_skip_more_or_less_than_the_header),
		cmocka_unit_test(a_driver_without_decode_has_plain_frames),
		cmocka_unit_test(without_decode_the_more_flag_joins_buffers_behind_one_header),
		cmocka_unit_test(all_of_a_long_header_is_shown_to_decode),
		cmocka_unit_test(a_small_packet_moves_and_its_buffer_goes_back),
		cmocka_unit_test(a_packet_above_the_limit_stays_where_it_is),
		cmocka_unit_test(copying_can_be_turned_off),
		cmocka_unit_test(small_packets_share_a_run_and_keep_headroom),
		cmocka_unit_test(a_run_for_small_packets_starts_again_when_it_is_empty),
		cmocka_unit_test(without_a_run_for_it_a_small_packet_goes_up_uncopied),
		cmocka_unit_test(a_ring_without_memory_takes_the_idle_run_of_small_packets),
		cmocka_unit_test(when_much_is_pinned_longer_packets_move_too),
		cmocka_unit_test(a_wrong_configuration_is_refused_with_the_fields_name),
		cmocka_unit_test(an_offset_past_the_buffer_without_a_header_reads_nothing),
	};

	return cmocka_run_group_tests_name("merge_meta", tests, NULL, NULL);
}
