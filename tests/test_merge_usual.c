/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets whose device header is that of the last plain one: decode is not asked again, and all else is as ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/buf_rig.h"
#include "vnetrx/virtio_net.h"

#define FRAME_MAX 2000u

static unsigned asked; /* calls of decode */
static uint8_t gso_type; /* what it says besides */

static int decode(void *dev, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	(void)dev;
	asked++;
	meta->gso_type = gso_type;
	return vnetrx_virtio_net_decode(head, len, RIG_HDR, VNETRX_VIRTIO_MRG_RXBUF, meta);
}

static void sync_cpu(void *dev, void *addr, uint64_t dma, uint32_t len)
{
	(void)dev, (void)addr, (void)dma, (void)len;
}

static const struct vnetrx_dev_ops pure = { .decode = decode, .flags = VNETRX_DEV_PURE_DECODE };
static const struct vnetrx_dev_ops impure = { .decode = decode };
static const struct vnetrx_dev_ops synced = {
	.decode = decode, .sync_cpu = sync_cpu, .flags = VNETRX_DEV_PURE_DECODE,
};

static void open_rig_of(struct buf_rig *rig, const struct vnetrx_dev_ops *ops, uint32_t pkts_max)
{
	struct vnetrx_merge_config cfg = {
		.dev_ops = ops, .nbufs_max = 8, .hdr_len = RIG_HDR, .frame_len_max = FRAME_MAX,
	};
	size_t n;

	rig_pool(rig, &(struct vnetrx_pool_config){ .bufs_max = 64, .pkts_max = pkts_max });
	cfg.pool = rig->pool;
	cfg.dev = rig;
	n = vnetrx_merge_footprint(&cfg, NULL);
	rig->merge_mem = test_mem(n);
	assert_int_equal(vnetrx_merge_init(&rig->merge, &cfg, rig->merge_mem, n), VNETRX_OK);
	asked = 0;
	gso_type = VNETRX_GSO_NONE;
}

static void open_rig(struct buf_rig *rig, const struct vnetrx_dev_ops *ops)
{
	open_rig_of(rig, ops, 0);
}

/* One buffer in which the device wrote `len` bytes, header and all. `touch` is put in at `at` of the header. */
static struct vnetrx_pkt *receive(struct buf_rig *rig, uint32_t len, unsigned at, uint8_t touch)
{
	struct vnetrx_pkt *pkt = NULL;
	struct vnetrx_done done;
	uint8_t *hdr;

	rig->lent = 0;
	rig_lend(rig, 3000, 1);
	hdr = rig_hdr(rig, 0, 1);
	if (len > RIG_HDR && len <= 3000u)
		rig_pattern(hdr + RIG_HDR, len - RIG_HDR, len);
	hdr[at] = (uint8_t)(hdr[at] | touch);
	done = rig_done(rig, 0, len);
	(void)rig_add(rig, &done, 1, &pkt);
	return pkt;
}

static struct vnetrx_pkt *receive_plain(struct buf_rig *rig, uint32_t len)
{
	return receive(rig, len, 0, 0);
}

static void expect(struct vnetrx_pkt *pkt, uint32_t frame_len, uint32_t flags)
{
	assert_non_null(pkt);
	assert_int_equal(pkt->len, frame_len);
	assert_int_equal(pkt->frag_len, frame_len);
	assert_int_equal(pkt->nfrags, 1);
	assert_int_equal(pkt->nbufs, 1);
	assert_int_equal(pkt->segs, 1);
	assert_int_equal(pkt->gso_size, 0);
	assert_int_equal(pkt->gso_type, VNETRX_GSO_NONE);
	assert_int_equal(pkt->flags & ~VNETRX_PKT_COPIED, flags);
	assert_true(rig_has_pattern(pkt, 0, frame_len, RIG_HDR + frame_len));
	vnetrx_pkt_free(&pkt, 1);
}

static void same_header_is_decoded_once(void **state)
{
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, &pure);
	for (uint32_t len = 60; len <= 1500u; len += 120)
		expect(receive_plain(&rig, RIG_HDR + len), len, 0);
	assert_int_equal(asked, 1);
	rig_close(&rig);
}

static void other_bytes_are_decoded_anew(void **state)
{
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, &pure);
	expect(receive_plain(&rig, 1012), 1000, 0);
	for (unsigned at = 2; at < 10u; at++) { /* gso_size, checksum fields: without meaning here, but other bytes */
		expect(receive(&rig, 1012, at, 1), 1000, 0);
		assert_int_equal(asked, at);
	}
	rig_close(&rig);
}

static void a_verified_checksum_is_remembered_and_forgotten_with_its_header(void **state)
{
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, &pure);
	expect(receive(&rig, 1012, 0, 2), 1000, VNETRX_PKT_CSUM_OK);
	expect(receive(&rig, 512, 0, 2), 500, VNETRX_PKT_CSUM_OK);
	assert_int_equal(asked, 1);
	expect(receive_plain(&rig, 512), 500, 0);
	expect(receive_plain(&rig, 512), 500, 0);
	assert_int_equal(asked, 2);
	rig_close(&rig);
}

static void headers_that_say_more_are_not_remembered(void **state)
{
	struct vnetrx_pkt *pkt;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, &pure);
	for (unsigned i = 1; i <= 3u; i++) {
		struct vnetrx_done done;
		uint8_t *hdr;

		rig.lent = 0;
		rig_lend(&rig, 3000, 1);
		hdr = rig_hdr(&rig, 0, 1);
		memset(hdr + RIG_HDR, 0, 1000);
		hdr[0] = 1; /* checksum still to be filled in */
		hdr[6] = 34;
		hdr[8] = 16;
		done = rig_done(&rig, 0, 1012);
		assert_int_equal(rig_add(&rig, &done, 1, &pkt), 1);
		assert_int_equal(pkt->flags, VNETRX_PKT_PARTIAL);
		assert_int_equal(pkt->csum_start, 34);
		assert_int_equal(asked, i);
		vnetrx_pkt_free(&pkt, 1);
	}
	rig_close(&rig);
}

static void decode_is_asked_each_time_without_the_promise(void **state)
{
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, &impure);
	for (unsigned i = 1; i <= 3u; i++) {
		expect(receive_plain(&rig, 1012), 1000, 0);
		assert_int_equal(asked, i);
	}
	rig_close(&rig);
}

static void decode_is_asked_each_time_when_bytes_must_be_synchronised_first(void **state)
{
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, &synced);
	expect(receive_plain(&rig, 1012), 1000, 0);
	expect(receive_plain(&rig, 1012), 1000, 0);
	assert_int_equal(asked, 2);
	rig_close(&rig);
}

static void lengths_are_checked_as_before(void **state)
{
	static const uint32_t bad[] = { 0, 1, 15, RIG_HDR + 13, RIG_HDR + FRAME_MAX + 1, 1u << 30, UINT32_MAX };
	struct vnetrx_merge_stats stats;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, &pure);
	expect(receive_plain(&rig, 1012), 1000, 0);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(receive_plain(&rig, bad[i]));
	stats = rig_merge_stats(&rig);
	assert_true(stats.drop_error == 1u && stats.drop_short == 3u && stats.drop_frame_long == 1u);
	assert_true(stats.drop_long == 2u);
	expect(receive_plain(&rig, RIG_HDR + 14), 14, 0);
	expect(receive_plain(&rig, RIG_HDR + FRAME_MAX), FRAME_MAX, 0);
	assert_int_equal(asked, 6); /* the five bad ones with a header were asked about: how many buffers follow? */
	rig_close(&rig);
}

static void an_offset_counts(void **state)
{
	struct vnetrx_pkt *pkt;
	struct vnetrx_done done;
	struct buf_rig rig;
	uint8_t *at;

	(void)state;
	open_rig(&rig, &pure);
	expect(receive_plain(&rig, 1012), 1000, 0);
	rig.lent = 0;
	rig_lend(&rig, 3000, 1);
	at = (uint8_t *)rig_buf(&rig, 0)->addr + 100;
	memset(at - 100, 0xff, 100);
	memset(at, 0, RIG_HDR);
	at[10] = 1; /* num_buffers */
	rig_pattern(at + RIG_HDR, 1000, 1012);
	done = rig_done(&rig, 0, 1012);
	done.off = 100;
	assert_int_equal(rig_add(&rig, &done, 1, &pkt), 1);
	expect(pkt, 1000, 0);
	assert_int_equal(asked, 1);
	rig_lend(&rig, 3000, 1);
	done = rig_done(&rig, 1, 1012);
	done.off = 2000; /* ends behind the buffer */
	assert_int_equal(rig_add(&rig, &done, 1, &pkt), 0);
	assert_true(rig_merge_stats(&rig).drop_long == 1u);
	rig_close(&rig);
}

static void a_packet_in_several_buffers_is_no_usual_one(void **state)
{
	struct vnetrx_done done[2];
	struct vnetrx_pkt *pkt;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, &pure);
	expect(receive_plain(&rig, 1012), 1000, 0);
	rig.lent = 0;
	rig_lend(&rig, 1000, 2);
	rig_pattern(rig_hdr(&rig, 0, 2) + RIG_HDR, 988, 7);
	memset(rig_buf(&rig, 1)->addr, 0, 500);
	done[0] = rig_done(&rig, 0, 1000);
	done[1] = rig_done(&rig, 1, 500);
	assert_int_equal(rig_add(&rig, done, 2, &pkt), 1);
	assert_int_equal(pkt->nbufs, 2);
	assert_int_equal(pkt->len, 1488);
	vnetrx_pkt_free(&pkt, 1);
	assert_int_equal(asked, 2);
	expect(receive_plain(&rig, 1012), 1000, 0);
	assert_int_equal(asked, 2);
	rig_close(&rig);
}

static void a_header_that_says_a_type_without_a_size_is_not_remembered(void **state)
{
	struct vnetrx_pkt *pkt;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, &pure);
	gso_type = VNETRX_GSO_TCPV4;
	for (unsigned i = 1; i <= 3u; i++) {
		pkt = receive_plain(&rig, 1012);
		assert_non_null(pkt);
		assert_int_equal(pkt->gso_type, VNETRX_GSO_TCPV4);
		assert_int_equal(asked, i);
		vnetrx_pkt_free(&pkt, 1);
	}
	rig_close(&rig);
}

static void without_a_descriptor_a_packet_is_dropped_and_its_buffer_serves_again(void **state)
{
	struct vnetrx_pkt *held;
	struct buf_rig rig;

	(void)state;
	open_rig_of(&rig, &pure, 1);
	held = receive_plain(&rig, 1012);
	assert_non_null(held);
	assert_null(receive_plain(&rig, 1012));       /* the short way */
	assert_null(receive(&rig, 1012, 2, 1));       /* decoded       */
	assert_int_equal(rig_merge_stats(&rig).drop_no_pkt, 2);
	assert_int_equal(rig_merge_stats(&rig).drained, 2);
	assert_int_equal(rig_pool_stats(&rig).bufs_recycled, 1);
	vnetrx_pkt_free(&held, 1);
	expect(receive_plain(&rig, 1012), 1000, 0);
	rig_close(&rig);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_header_is_decoded_once),
		cmocka_unit_test(other_bytes_are_decoded_anew),
		cmocka_unit_test(a_verified_checksum_is_remembered_and_forgotten_with_its_header),
		cmocka_unit_test(headers_that_say_more_are_not_remembered),
		cmocka_unit_test(decode_is_asked_each_time_without_the_promise),
		cmocka_unit_test(decode_is_asked_each_time_when_bytes_must_be_synchronised_first),
		cmocka_unit_test(lengths_are_checked_as_before),
		cmocka_unit_test(an_offset_counts),
		cmocka_unit_test(a_packet_in_several_buffers_is_no_usual_one),
		cmocka_unit_test(a_header_that_says_a_type_without_a_size_is_not_remembered),
		cmocka_unit_test(without_a_descriptor_a_packet_is_dropped_and_its_buffer_serves_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
