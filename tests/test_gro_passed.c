/* SPDX-License-Identifier: BSD-3-Clause */
/* Odd frames, and what the device says about a packet beside its bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gro_rig.h"

/* C5: every data offset, also with fewer bytes than it says */
static void impossible_data_offsets_pass(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	for (unsigned doff = 16u; doff <= 20u; doff++) {
		frame_init(&f, 0);
		gro_rig_next(rig, &f);
		f.doff = doff; /* taken modulo 16: 0 to 4 */
		f.payload_len = 60;
		gro_rig_next(rig, &f);
		gro_rig_expect(rig, "100:order -:passed");
	}
	frame_init(&f, 0);
	gro_rig_next(rig, &f);
	f.doff = 15;
	f.payload_len = 39;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "100:order -:passed");
	gro_rig_free(rig);
}

/* every prefix of a frame must be read without touching a byte behind it, and keep its place */
static void frames_cut_at_any_byte_pass_in_order(void **state)
{
	uint8_t *bytes = malloc(FRAME_MAX);
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	assert_non_null(bytes);
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		size_t len;

		if (v6 == 0u)
			frame_init(&f, 0);
		else
			frame_init6(&f, 0);
		frame_timestamp(&f, 5, 6);
		f.vlans = 1;
		f.vlan_proto[0] = 0x8100;
		len = frame_build(&f, bytes);
		for (size_t n = 14; n < len; n++) {
			gro_rig_put(rig, gro_rig_pkt(rig, bytes, len, 0, 0));
			gro_rig_put(rig, gro_rig_pkt(rig, bytes, n, 0, 0));
			assert_int_equal(rig->last->reason, VNETRX_LEFT_PASSED);
		}
	}
	gro_rig_free(rig);
	free(bytes);
}

/* G5, G4: a header in two pieces is as good as one, or passes, but never changes the order */
static void split_headers_lose_nothing(void **state)
{
	uint8_t *bytes = malloc(FRAME_MAX);
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	assert_non_null(bytes);
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		if (v6 == 0u)
			frame_init(&f, 0);
		else
			frame_init6(&f, 0);
		frame_timestamp(&f, 5, 6);
		for (size_t split = 1; split < 120u; split++) {
			size_t len = frame_build(&f, bytes);

			gro_rig_put(rig, gro_rig_pkt(rig, bytes, len, split, 0));
			f.seq += 100;
			f.id++;
			gro_rig_next(rig, &f);
		}
	}
	gro_rig_free(rig);
	free(bytes);
}

/* G2: a third tag hides the addresses; thirty are no harm either */
static void deep_tags_pass(void **state)
{
	uint8_t bytes[14 + 30 * 4 + 60];
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.vlans = 3;
	for (unsigned i = 0; i < 3u; i++)
		f.vlan_proto[i] = 0x8100;
	gro_rig_next(rig, &f);
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "-:passed -:passed");
	memset(bytes, 0, sizeof(bytes));
	for (size_t i = 12; i + 4u <= sizeof(bytes); i += 4)
		fr_put16(bytes + i, 0x88a8);
	gro_rig_put(rig, gro_rig_pkt(rig, bytes, sizeof(bytes), 0, 0));
	gro_rig_expect(rig, "-:passed");
	gro_rig_free(rig);
}

static void frames_that_are_no_ip_pass(void **state)
{
	static const uint16_t types[] = { 0x0806, 0x0026, 0x8847, 0x86dd, 0x0800 };
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	for (unsigned i = 0; i < 5u; i++) {
		frame_init(&f, 0);
		f.v6 = types[i] == 0x0800u; /* the last two lie about the version */
		f.eth_type = types[i];
		gro_rig_frame(rig, &f);
	}
	gro_rig_expect(rig, "-:passed -:passed -:passed -:passed -:passed");
	gro_rig_free(rig);
}

/* the checksum state of the device: verified, half done, or nothing */
static void device_verified_checksum_is_not_looked_at_again(void **state)
{
	uint8_t *bytes = malloc(FRAME_MAX);
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	assert_non_null(bytes);
	frame_init(&f, 0);
	f.bad_l4_csum = true;
	for (unsigned i = 0; i < 2u; i++) {
		gro_rig_put(rig, gro_rig_pkt(rig, bytes, frame_build(&f, bytes), 0, VNETRX_PKT_CSUM_OK));
		f.seq += 100;
		f.id++;
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:flush");
	gro_rig_free(rig);
	free(bytes);
}

/* F1: NEEDS_CSUM counts as verified */
static void half_done_checksum_counts_as_verified(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		if (v6 == 0u)
			frame_init(&f, 0);
		else
			frame_init6(&f, 0);
		f.partial = true;
		for (unsigned i = 0; i < 3u; i++) {
			uint8_t bytes[512];
			size_t len = frame_build(&f, bytes);
			struct vnetrx_pkt *pkt = gro_rig_pkt(rig, bytes, len, 0, VNETRX_PKT_PARTIAL);

			pkt->csum_start = v6 == 0u ? 34 : 54;
			pkt->csum_offset = 16;
			gro_rig_put(rig, pkt);
			f.seq += 100;
			f.id++;
		}
		gro_rig_flush(rig);
	}
	gro_rig_expect(rig, "300:flush 300:flush");
	gro_rig_free(rig);
}

/* F1: a DHCP answer whose checksum nobody has completed is not handed up as if it were whole */
static void packet_that_owes_its_checksum_says_so(void **state)
{
	static const uint8_t server[4] = { 192, 168, 10, 1 }, client[4] = { 192, 168, 10, 215 };
	struct gro_rig *rig = gro_rig_new(NULL);
	struct vnetrx_pkt *pkt;
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	frame_udp(&f);
	memcpy(f.src, server, 4);
	memcpy(f.dst, client, 4);
	f.sport = 67;
	f.dport = 68;
	f.payload_len = 321;
	f.partial = true;
	pkt = gro_rig_made(rig, &f, 0, VNETRX_PKT_PARTIAL);
	pkt->csum_start = 34;
	pkt->csum_offset = 6;
	gro_rig_put(rig, pkt);
	gro_rig_expect(rig, "321:passed");
	assert_int_equal(fr_get16(rig->bytes + 40), 0x9783);
	assert_int_equal(pkt->flags, VNETRX_PKT_PARTIAL);
	assert_int_equal(pkt->csum_start, 34);
	assert_int_equal(pkt->csum_offset, 6);
	gro_rig_free(rig);
}

/* G43 */
static void stripped_tag_differs_from_one_in_the_frame(void **state)
{
	static const uint16_t tci[4] = { 42, 42, 0x2000 + 42, 42 };
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;
	uint8_t bytes[512];

	(void)state;
	frame_init(&f, 0);
	for (unsigned i = 0; i < 4u; i++) {
		bool in_frame = i == 3u;
		struct vnetrx_pkt *pkt;

		f.vlans = in_frame ? 1 : 0;
		f.vlan_proto[0] = 0x8100;
		f.vlan_tci[0] = tci[i];
		pkt = gro_rig_pkt(rig, bytes, frame_build(&f, bytes), 0,
		                  (in_frame ? 0u : VNETRX_PKT_VLAN) | (gro_rig_verified ? VNETRX_PKT_CSUM_OK : 0u));
		pkt->vlan_tci = in_frame ? 0 : tci[i];
		pkt->vlan_proto = in_frame ? 0 : 0x8100;
		gro_rig_put(rig, pkt);
		f.seq += 100;
		f.id++;
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:next 100:next 100:flush");
	gro_rig_free(rig);
}

/* law 1: what the device took off or noted is part of the packet, though the bytes are equal */
static void equal_bytes_with_other_device_words_stay_apart(void **state)
{
	static const uint32_t flags[] = { VNETRX_PKT_VLAN, 0, VNETRX_PKT_MARK, 0, VNETRX_PKT_MARK, VNETRX_PKT_MARK,
	                                  VNETRX_PKT_VLAN | VNETRX_PKT_MARK, VNETRX_PKT_RSC, 0 };
	static const uint32_t mark[] = { 0, 0, 7, 0, 7, 8, 8, 0, 0 };
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;
	uint8_t bytes[512];

	(void)state;
	frame_init(&f, 0);
	for (unsigned i = 0; i < sizeof(mark) / sizeof(mark[0]); i++) {
		uint32_t verified = gro_rig_verified ? VNETRX_PKT_CSUM_OK : 0u;
		struct vnetrx_pkt *pkt = gro_rig_pkt(rig, bytes, frame_build(&f, bytes), 0, flags[i] | verified);

		if ((flags[i] & VNETRX_PKT_VLAN) != 0u) {
			pkt->vlan_tci = 42;
			pkt->vlan_proto = 0x8100;
		}
		pkt->mark = mark[i];
		gro_rig_put(rig, pkt);
		f.seq += 100;
		f.id++;
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, "100:next 100:next 100:next 100:next 100:next 100:next 100:order 100:passed 100:flush");
	gro_rig_free(rig);
}

/* G41 */
static void packet_merged_by_the_device_goes_on_as_its_segments_would(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	uint8_t *bytes = malloc(FRAME_MAX);
	struct vnetrx_pkt *pkt;
	struct frame f;

	(void)state;
	assert_non_null(bytes);
	frame_init(&f, 0);
	gro_rig_next(rig, &f);
	f.payload_len = 1000;
	pkt = gro_rig_pkt(rig, bytes, frame_build(&f, bytes), 0, VNETRX_PKT_CSUM_OK);
	pkt->gso_size = pkt->rx_gso_size = 100;
	pkt->gso_type = VNETRX_GSO_TCPV4;
	pkt->segs = 10;
	gro_rig_put(rig, pkt);
	gro_rig_expect(rig, "");
	gro_rig_flush(rig);
	gro_rig_expect(rig, "1100:flush");
	assert_int_equal(rig->last->gso_size, 100);
	assert_int_equal(rig->last->segs, 11);
	assert_int_equal(rig->last->nfrags, 2);
	gro_rig_free(rig);
	free(bytes);
}

/* G23, C8: nothing of an earlier packet sticks to the merged one */
static void merged_packet_keeps_what_the_device_said_of_its_first_segment(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	uint8_t bytes[512];
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	rig->now = 100;
	for (unsigned i = 0; i < 2u; i++) {
		struct vnetrx_pkt *pkt = gro_rig_pkt(rig, bytes, frame_build(&f, bytes), 0,
		                                     VNETRX_PKT_HASH | VNETRX_PKT_TSTAMP);

		pkt->hash = 0x1234u + i;
		pkt->tstamp = 50u + i;
		gro_rig_put(rig, pkt);
		f.seq += 100;
		f.id++;
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:flush");
	assert_int_equal(rig->last->hash, 0x1234);
	assert_int_equal(rig->last->tstamp, 50);
	assert_int_equal(rig->last->seen_first, 50);
	assert_int_equal(rig->last->seen_last, 51);
	gro_rig_free(rig);
}

static void stripped_tags_and_marks_join_when_all_of_them_is_equal(void **state)
{
	static const uint16_t protos[] = { 0x8100, 0x8100, 0x88a8, 0x88a8 };
	static const uint32_t marks[] = { 7, 7, 7, 7 };
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;
	uint8_t bytes[512];

	(void)state;
	frame_init(&f, 0);
	for (unsigned i = 0; i < 4u; i++) {
		uint32_t flags = VNETRX_PKT_VLAN | VNETRX_PKT_MARK | (gro_rig_verified ? VNETRX_PKT_CSUM_OK : 0u);
		struct vnetrx_pkt *pkt = gro_rig_pkt(rig, bytes, frame_build(&f, bytes), 0, flags);

		pkt->vlan_tci = 42;
		pkt->vlan_proto = protos[i];
		pkt->mark = marks[i];
		gro_rig_put(rig, pkt);
		f.seq += 100;
		f.id++;
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:next 200:flush");
	gro_rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impossible_data_offsets_pass),
		cmocka_unit_test(frames_cut_at_any_byte_pass_in_order),
		cmocka_unit_test(split_headers_lose_nothing),
		cmocka_unit_test(deep_tags_pass),
		cmocka_unit_test(frames_that_are_no_ip_pass),
		cmocka_unit_test(device_verified_checksum_is_not_looked_at_again),
		cmocka_unit_test(half_done_checksum_counts_as_verified),
		cmocka_unit_test(packet_that_owes_its_checksum_says_so),
		cmocka_unit_test(stripped_tag_differs_from_one_in_the_frame),
		cmocka_unit_test(equal_bytes_with_other_device_words_stay_apart),
		cmocka_unit_test(packet_merged_by_the_device_goes_on_as_its_segments_would),
		cmocka_unit_test(merged_packet_keeps_what_the_device_said_of_its_first_segment),
		cmocka_unit_test(stripped_tags_and_marks_join_when_all_of_them_is_equal),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
