/* SPDX-License-Identifier: BSD-3-Clause */
/* What the consumer wants: sizes, protocols, the virtio profile, BIG TCP, checksum by reference on the short way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/gro_rig.h"

static struct gro_rig *profile_rig(void)
{
	struct vnetrx_gro_config cfg = { .protos = GRO_KNOWN,
		                         .flags = VNETRX_GRO_PROFILE_VIRTIO | VNETRX_GRO_UDP_ZERO };

	return gro_rig_new(&cfg);
}

static void virtio_profile_joins_what_its_header_can_say(void **state)
{
	struct gro_rig *rig = profile_rig();
	struct frame f;

	(void)state;
	for (unsigned i = 0; i < KNOWN_KINDS; i++) {
		if (i % 2u != 0u)
			frame_init6(&f, 0);
		else
			frame_init(&f, 0);
		if (i >= 2u)
			frame_udp(&f);
		gro_rig_train(rig, &f, 3);
		gro_rig_flush(rig);
		gro_rig_expect(rig, "300:flush");
	}
	gro_rig_free(rig);
}

static void virtio_profile_keeps_fixed_ids_apart(void **state)
{
	struct gro_rig *rig = profile_rig();
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	for (unsigned i = 0; i < 3u; i++) {
		gro_rig_frame(rig, &f);
		f.seq += 100;
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, "100:next 100:next 100:flush");
	gro_rig_free(rig);
}

static void virtio_profile_does_not_hold_what_its_header_cannot_say(void **state)
{
	struct gro_rig *rig = profile_rig();
	struct frame_tunnel t;
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.flags |= FR_CWR;
	gro_rig_train(rig, &f, 2);
	gro_rig_expect(rig, "100:passed 100:passed");
	frame_init(&f, 0);
	f.pppoe = true;
	gro_rig_train(rig, &f, 2);
	gro_rig_expect(rig, "100:passed 100:passed");
	frame_init(&f, 0);
	frame_udp(&f);
	f.no_csum = true; /* virtio wants the checksum to be completed */
	gro_rig_train(rig, &f, 2);
	gro_rig_expect(rig, "100:passed 100:passed");
	for (unsigned kind = 0; kind < FR_TUNNELS && (GRO_KNOWN & VNETRX_GRO_TUNNEL) != 0u; kind++) {
		frame_tunnel_init(&t, kind, false);
		t.outer.no_csum = false;
		frame_init(&f, 0);
		f.tunnel = &t;
		gro_rig_train(rig, &f, 2);
		gro_rig_expect(rig, "100:passed 100:passed");
	}
	gro_rig_free(rig);
}

/* the header has their offsets, and nothing for a checksum of their own */
static void virtio_profile_joins_in_udp_tunnels_without_a_checksum(void **state)
{
	struct frame_tunnel t;
	struct gro_rig *rig;
	struct frame f;

	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	rig = profile_rig();
	for (unsigned kind = FR_VXLAN; kind <= FR_GENEVE; kind++) {
		frame_tunnel_init(&t, kind, kind == FR_GPE);
		frame_init(&f, 0);
		f.tunnel = &t;
		gro_rig_train(rig, &f, 2);
		gro_rig_flush(rig);
		gro_rig_expect(rig, "200:flush");
	}
	gro_rig_free(rig);
}

/* in order also for these */
static void virtio_profile_pushes_out_before_what_it_cannot_say(void **state)
{
	struct gro_rig *rig = profile_rig();
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	gro_rig_train(rig, &f, 2);
	f.flags |= FR_CWR;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "200:order 100:passed");
	gro_rig_free(rig);
}

/* 16 bits of IP length, whatever bytes_max says */
static void virtio_profile_stays_below_64_kib(void **state)
{
	struct vnetrx_gro_config cfg = { .flags = VNETRX_GRO_PROFILE_VIRTIO, .bytes_max = 524280, .segs_max = 1000 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		if (v6 != 0u)
			frame_init6(&f, 0);
		else
			frame_init(&f, 0);
		f.payload_len = 1448;
		gro_rig_train(rig, &f, 46);
		gro_rig_flush(rig);
		gro_rig_expect(rig, "65160:full 1448:flush");
	}
	gro_rig_free(rig);
}

/* C12: longer than 64 KiB only where asked; the IP length is 0 then */
static void big_tcp_grows_beyond_64_kib(void **state)
{
	struct vnetrx_gro_config cfg = { .bytes_max = 200000, .segs_max = 1000 };

	(void)state;
	for (unsigned how = 0; how < KNOWN_KINDS; how++) {
		struct gro_rig *rig;
		struct frame f;

		cfg.flags = how >= 2u ? VNETRX_GRO_CSUM_BYTES : 0u;
		rig = gro_rig_new(&cfg);
		if (how % 2u != 0u)
			frame_init6(&f, 0);
		else
			frame_init(&f, 0);
		f.payload_len = 1448;
		gro_rig_train(rig, &f, 100);
		gro_rig_flush(rig);
		gro_rig_expect(rig, "144800:flush");
		assert_int_equal(fr_get16(rig->bytes + (how % 2u != 0u ? 18 : 16)), 0);
		assert_int_equal(rig->last->segs, 100);
		gro_rig_train(rig, &f, 139);
		gro_rig_expect(rig, "199824:full");
		gro_rig_free(rig);
	}
}

/* IPv6 counts from behind its header: 65575 bytes in all still have a length */
static void length_is_written_as_long_as_the_field_can_say_it(void **state)
{
	struct vnetrx_gro_config cfg = { .bytes_max = 200000, .segs_max = 1000 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	frame_init6(&f, 0);
	f.payload_len = 1365; /* 48 * 1365 = 65520; 65540 with the TCP header */
	gro_rig_train(rig, &f, 47);
	f.payload_len = 1360; /* just 65535 */
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "65515:short");
	assert_int_equal(fr_get16(rig->bytes + 18), 65535);
	f.payload_len = 1365;
	gro_rig_train(rig, &f, 48);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "65520:flush");
	assert_int_equal(fr_get16(rig->bytes + 18), 0);
	gro_rig_free(rig);
}

static void small_packets_are_not_held_but_join(void **state)
{
	struct vnetrx_gro_config cfg = { .payload_min = 100 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 99;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "99:passed");
	f.payload_len = 100;
	gro_rig_next(rig, &f);
	f.payload_len = 99;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "199:short");
	assert_int_equal(gro_rig_stats(rig).pass_small, 1);
	f.payload_len = 100;
	gro_rig_next(rig, &f);
	f.seq++; /* a gap: what was held goes first */
	f.payload_len = 50;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "100:next 50:passed");
	gro_rig_free(rig);
}

/* A20: what is merged can be changed while packets come; what is held by the old rule leaves */
static void protocols_are_switched_while_packets_come(void **state)
{
	struct vnetrx_gro_config cfg = { .protos = GRO_KNOWN };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame_tunnel t;
	struct frame tcp, udp, in;

	(void)state;
	frame_init(&tcp, 0);
	frame_init(&udp, 1);
	frame_udp(&udp);
	frame_init(&in, 2);
	frame_tunnel_init(&t, FR_VXLAN, false);
	in.tunnel = &t;
	for (uint32_t protos = 8; protos-- > 0u;) {
		unsigned known = protos & GRO_KNOWN; /* what was not built in counts as nothing too */
		unsigned tcp_on = known % 2u, udp_on = known / 2u % 2u;
		unsigned in_on = known >= 4u ? tcp_on : 0u; /* TCP in a tunnel; else UDP without a checksum */

		gro_rig_protos(rig, protos);
		assert_int_equal(vnetrx_gro_held(rig->gro), 0);
		rig->nout = 0;
		for (unsigned i = 0; i < 2u; i++) {
			gro_rig_next(rig, &tcp);
			gro_rig_next(rig, &udp);
			gro_rig_next(rig, &in);
		}
		assert_int_equal(vnetrx_gro_held(rig->gro), tcp_on + udp_on + in_on);
		assert_int_equal(rig->nout, 6u - 2u * (tcp_on + udp_on + in_on));
	}
	gro_rig_protos(rig, 0xffffffffu); /* bits that are not known count as nothing */
	gro_rig_train(rig, &tcp, 2);
	assert_int_equal(vnetrx_gro_held(rig->gro), 1);
	gro_rig_free(rig);
}

/* The short way joins packets whose checksum the device left half done, and packets of both kinds. */
static void half_done_checksums_join_on_the_short_way(void **state)
{
	struct vnetrx_gro_config cfg = { .protos = GRO_KNOWN };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct vnetrx_pkt *pkt;
	struct frame f;

	(void)state;
	for (unsigned how = 0; how < KNOWN_KINDS; how++) {
		if (how % 2u != 0u)
			frame_init6(&f, how);
		else
			frame_init(&f, how);
		if (how >= 2u)
			frame_udp(&f);
		for (unsigned i = 0; i < 6u; i++) {
			f.partial = i % 3u != 2u;
			pkt = gro_rig_made(rig, &f, 0, f.partial ? VNETRX_PKT_PARTIAL : VNETRX_PKT_CSUM_OK);
			pkt->csum_start = how % 2u != 0u ? 54 : 34;
			pkt->csum_offset = how >= 2u ? 6 : 16;
			gro_rig_put(rig, pkt);
			f.seq += 100;
			f.id++;
		}
		gro_rig_flush(rig);
		gro_rig_expect(rig, "600:flush");
	}
	gro_rig_free(rig);
}

/* csum_start and csum_offset that are of something else: the packet is not touched */
static void half_done_checksum_of_another_field_keeps_its_place(void **state)
{
	static const uint16_t at[][2] = { { 33, 16 }, { 34, 6 }, { 14, 16 }, { 34, 18 }, { 38, 16 } };
	struct gro_rig *rig = gro_rig_new(NULL);
	struct vnetrx_pkt *pkt;
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.partial = true;
	for (unsigned i = 0; i < 5u; i++) {
		for (unsigned wrong = 0; wrong < 2u; wrong++) {
			pkt = gro_rig_made(rig, &f, 0, VNETRX_PKT_PARTIAL);
			pkt->csum_start = wrong != 0u ? at[i][0] : 34;
			pkt->csum_offset = wrong != 0u ? at[i][1] : 16;
			gro_rig_put(rig, pkt);
			f.seq += 100;
			f.id++;
		}
		gro_rig_expect(rig, "100:order 100:passed");
		assert_int_equal(pkt->csum_start, at[i][0]);
	}
	gro_rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(virtio_profile_joins_what_its_header_can_say),
		cmocka_unit_test(virtio_profile_keeps_fixed_ids_apart),
		cmocka_unit_test(virtio_profile_does_not_hold_what_its_header_cannot_say),
		cmocka_unit_test(virtio_profile_joins_in_udp_tunnels_without_a_checksum),
		cmocka_unit_test(virtio_profile_pushes_out_before_what_it_cannot_say),
		cmocka_unit_test(virtio_profile_stays_below_64_kib),
		cmocka_unit_test(big_tcp_grows_beyond_64_kib),
		cmocka_unit_test(length_is_written_as_long_as_the_field_can_say_it),
		cmocka_unit_test(small_packets_are_not_held_but_join),
		cmocka_unit_test(protocols_are_switched_while_packets_come),
		cmocka_unit_test(half_done_checksums_join_on_the_short_way),
		cmocka_unit_test(half_done_checksum_of_another_field_keeps_its_place),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
