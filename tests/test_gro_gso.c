/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that the device merged: they go on, and are gone on with, as the segments that they are cut into. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/gro_rig.h"

/* A packet merged by the device, of f's flow; moves f on. */
static struct vnetrx_pkt *merged(struct gro_rig *rig, struct frame *f, uint32_t payload, unsigned gso_size,
				 unsigned type)
{
	struct vnetrx_pkt *pkt;
	uint32_t kept = f->payload_len;

	f->payload_len = payload;
	pkt = gro_rig_made(rig, f, 0, VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER);
	pkt->gso_size = pkt->rx_gso_size = (uint16_t)gso_size;
	pkt->gso_type = (uint8_t)type;
	pkt->segs = 0;
	f->seq += payload;
	f->id = (uint16_t)(f->id + (payload + gso_size - 1u) / gso_size);
	f->payload_len = kept;
	return pkt;
}

static void put_merged(struct gro_rig *rig, struct frame *f, uint32_t payload, unsigned gso_size)
{
	unsigned type = f->proto == FR_UDP ? VNETRX_GSO_UDP_L4 : f->v6 ? VNETRX_GSO_TCPV6 : VNETRX_GSO_TCPV4;

	gro_rig_put(rig, merged(rig, f, payload, gso_size, type));
}

static struct gro_rig *rig_new(void)
{
	struct vnetrx_gro_config cfg = { .protos = GRO_KNOWN };

	return gro_rig_new(&cfg);
}

static void flow(struct frame *f, unsigned how)
{
	if (how % 2u != 0u)
		frame_init6(f, 0);
	else
		frame_init(f, 0);
	if (how >= 2u)
		frame_udp(f);
}

/* G41 */
static void merged_packet_continues_a_held_one(void **state)
{
	(void)state;
	for (unsigned how = 0; how < KNOWN_KINDS; how++) {
		struct gro_rig *rig = rig_new();
		struct frame f;

		flow(&f, how);
		gro_rig_train(rig, &f, 2);
		put_merged(rig, &f, 1000, 100);
		gro_rig_next(rig, &f);
		put_merged(rig, &f, 200, 100);
		gro_rig_expect(rig, "");
		gro_rig_flush(rig);
		gro_rig_expect(rig, "1500:flush");
		assert_int_equal(rig->last->segs, 15);
		assert_int_equal(rig->last->gso_size, 100);
		assert_int_equal(rig->last->nfrags, 5);
		assert_int_equal(rig->last->nbufs, 5);
		gro_rig_free(rig);
	}
}

static void merged_packet_opens_a_held_one(void **state)
{
	(void)state;
	for (unsigned how = 0; how < KNOWN_KINDS; how++) {
		struct gro_rig *rig = rig_new();
		struct frame f;

		flow(&f, how);
		put_merged(rig, &f, 500, 100);
		gro_rig_train(rig, &f, 2);
		f.payload_len = 7;
		gro_rig_next(rig, &f);
		gro_rig_expect(rig, "707:short");
		assert_int_equal(rig->last->segs, 8);
		gro_rig_free(rig);
	}
}

static void merged_packet_alone_leaves_as_it_came(void **state)
{
	struct gro_rig *rig = rig_new();
	struct frame f;

	(void)state;
	flow(&f, 0);
	put_merged(rig, &f, 500, 100);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "500:flush");
	assert_int_equal(rig->last->flags & VNETRX_PKT_MERGED, 0);
	assert_int_equal(rig->last->gso_size, 100);
	assert_int_equal(rig->last->segs, 5);
	assert_int_equal(rig->last->nfrags, 1);
	assert_int_equal(rig->last->nbufs, 1);
	gro_rig_free(rig);
}

static void short_tail_of_a_merged_packet_ends_it(void **state)
{
	struct gro_rig *rig = rig_new();
	struct frame f;

	(void)state;
	flow(&f, 0);
	gro_rig_next(rig, &f);
	put_merged(rig, &f, 950, 100);
	gro_rig_expect(rig, "1050:short");
	assert_int_equal(rig->last->segs, 11);
	put_merged(rig, &f, 250, 100); /* nothing could follow it */
	gro_rig_expect(rig, "250:passed");
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "");
	gro_rig_free(rig);
}

static void push_on_a_merged_packet_ends_it(void **state)
{
	struct gro_rig *rig = rig_new();
	struct frame f;

	(void)state;
	flow(&f, 0);
	gro_rig_next(rig, &f);
	f.flags |= FR_PSH;
	put_merged(rig, &f, 1000, 100);
	gro_rig_expect(rig, "1100:push");
	put_merged(rig, &f, 1000, 100);
	gro_rig_expect(rig, "1000:passed");
	gro_rig_free(rig);
}

static void other_segment_size_keeps_packets_apart(void **state)
{
	struct gro_rig *rig = rig_new();
	struct frame f;

	(void)state;
	flow(&f, 0);
	gro_rig_next(rig, &f);
	put_merged(rig, &f, 1000, 50);
	put_merged(rig, &f, 1000, 200);
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "100:next 1000:next 1100:short");
	gro_rig_free(rig);
}

/* a cut makes the ids of a merged packet rise, so it cannot join fixed ones */
static void ids_of_a_merged_packet_rise(void **state)
{
	struct gro_rig *rig = rig_new();
	struct frame f;

	(void)state;
	flow(&f, 0);
	gro_rig_frame(rig, &f);
	f.seq += 100;
	gro_rig_frame(rig, &f); /* same id: fixed */
	f.seq += 100;
	put_merged(rig, &f, 300, 100);
	gro_rig_expect(rig, "200:next");
	f.id--;
	gro_rig_frame(rig, &f); /* the id of the last segment again */
	gro_rig_expect(rig, "300:next");
	f.seq += 100;
	put_merged(rig, &f, 300, 100); /* and the first: may still be either */
	gro_rig_expect(rig, "100:next");
	gro_rig_flush(rig);
	gro_rig_expect(rig, "300:flush");
	f.id = 65533;
	put_merged(rig, &f, 300, 100);
	gro_rig_next(rig, &f); /* wraps to 0 */
	gro_rig_flush(rig);
	gro_rig_expect(rig, "400:flush");
	gro_rig_free(rig);
}

/* not more payload than one segment: an ordinary packet with an odd header */
static void segment_size_that_is_not_reached_means_nothing(void **state)
{
	struct gro_rig *rig = rig_new();
	struct frame f;

	(void)state;
	flow(&f, 0);
	put_merged(rig, &f, 100, 100);
	put_merged(rig, &f, 100, 1448);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:flush");
	assert_int_equal(rig->last->segs, 2);
	put_merged(rig, &f, 100, 100);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "100:flush");
	assert_int_equal(rig->last->gso_size, 0);
	assert_int_equal(rig->last->gso_type, VNETRX_GSO_NONE);
	assert_int_equal(rig->last->segs, 1);
	gro_rig_free(rig);
}

static void packet_of_unknown_segment_size_leaves_as_it_came(void **state)
{
	struct gro_rig *rig = rig_new();
	struct vnetrx_pkt *pkt;
	struct frame f;

	(void)state;
	flow(&f, 0);
	gro_rig_next(rig, &f);
	f.payload_len = 900;
	pkt = gro_rig_made(rig, &f, 0, VNETRX_PKT_CSUM_OK | VNETRX_PKT_RSC);
	pkt->segs = 9;
	pkt->gso_type = VNETRX_GSO_TCPV4;
	gro_rig_put(rig, pkt);
	f.seq += 900;
	f.payload_len = 100;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "100:order 900:passed");
	assert_int_equal(pkt->segs, 9);
	gro_rig_free(rig);
}

/* the type must be what the headers say, tunnel included */
static void type_that_contradicts_the_headers_passes(void **state)
{
	static const uint8_t types[] = { VNETRX_GSO_NONE, VNETRX_GSO_UDP, VNETRX_GSO_TCPV6, VNETRX_GSO_UDP_L4,
	                                 VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4,
	                                 VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV6 };
	struct gro_rig *rig = rig_new();
	struct frame f;

	(void)state;
	flow(&f, 0);
	for (unsigned i = 0; i < sizeof(types); i++) {
		gro_rig_next(rig, &f);
		gro_rig_put(rig, merged(rig, &f, 300, 100, types[i]));
		gro_rig_expect(rig, "100:order 300:passed");
	}
	assert_int_equal(gro_rig_stats(rig).pass_gso, sizeof(types));
	gro_rig_free(rig);
}

static void merged_packets_in_tunnels_join_when_their_type_says_so(void **state)
{
	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		struct gro_rig *rig = rig_new();
		unsigned right = v6 != 0u ? VNETRX_GSO_TUNNEL_IPV6 : VNETRX_GSO_TUNNEL_IPV4;
		unsigned wrong = right ^ (VNETRX_GSO_TUNNEL_IPV6 | VNETRX_GSO_TUNNEL_IPV4);
		struct frame_tunnel t;
		struct frame f;

		flow(&f, 0);
		frame_tunnel_init(&t, FR_VXLAN, v6 != 0u);
		f.tunnel = &t;
		gro_rig_next(rig, &f);
		gro_rig_put(rig, merged(rig, &f, 300, 100, VNETRX_GSO_TCPV4 | right));
		t.outer.id += 3;
		gro_rig_next(rig, &f);
		gro_rig_flush(rig);
		gro_rig_expect(rig, "500:flush");
		gro_rig_put(rig, merged(rig, &f, 300, 100, VNETRX_GSO_TCPV4));
		gro_rig_put(rig, merged(rig, &f, 300, 100, VNETRX_GSO_TCPV4 | wrong));
		gro_rig_expect(rig, "300:passed 300:passed");
		t.kind = FR_GRE; /* has no type of its own */
		gro_rig_put(rig, merged(rig, &f, 300, 100, VNETRX_GSO_TCPV4));
		gro_rig_put(rig, merged(rig, &f, 300, 100, VNETRX_GSO_TCPV4 | right));
		gro_rig_expect(rig, "300:passed 300:passed");
		gro_rig_free(rig);
	}
}

/* G13: it was cut from datagrams of a tunnel, each with headers of its own inside */
static void udp_train_to_a_tunnel_port_leaves_as_it_came(void **state)
{
	struct gro_rig *rig = rig_new();
	struct frame_tunnel t;
	struct vnetrx_pkt *pkt;
	struct frame f;

	(void)state;
	flow(&f, 0);
	frame_tunnel_init(&t, FR_VXLAN, false);
	f.tunnel = &t;
	for (unsigned inner_ends_early = 0; inner_ends_early < 2u; inner_ends_early++) {
		f.ip_len_delta = inner_ends_early != 0u ? -700 : 0;
		pkt = merged(rig, &f, 1000, 150, VNETRX_GSO_UDP_L4);
		gro_rig_put(rig, pkt);
		assert_int_equal(rig->nout, inner_ends_early + 1u);
		assert_int_equal(pkt->reason, VNETRX_LEFT_PASSED);
		assert_int_equal(pkt->gso_size, 150);
	}
	f.eth_type = 0x0806;
	gro_rig_put(rig, merged(rig, &f, 1000, 150, VNETRX_GSO_UDP_L4));
	assert_int_equal(rig->nout, 3);
	gro_rig_free(rig);
}

/* in a packet that a device merged, CWR means the first segment's only */
static void merged_packet_with_cwr_passes(void **state)
{
	struct gro_rig *rig = rig_new();
	struct vnetrx_pkt *pkt;
	struct frame f;

	(void)state;
	flow(&f, 0);
	f.flags |= FR_CWR;
	gro_rig_next(rig, &f);
	pkt = merged(rig, &f, 300, 100, VNETRX_GSO_TCPV4 | VNETRX_GSO_ECN);
	gro_rig_put(rig, pkt);
	gro_rig_expect(rig, "100:order 300:passed");
	f.flags &= (uint16_t)~FR_CWR;
	gro_rig_put(rig, merged(rig, &f, 300, 100, VNETRX_GSO_TCPV4 | VNETRX_GSO_ECN));
	gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "400:flush");
	gro_rig_free(rig);
}

static void merged_packet_with_a_wrong_checksum_passes(void **state)
{
	struct gro_rig *rig = rig_new();
	struct vnetrx_pkt *pkt;
	struct frame f;

	(void)state;
	flow(&f, 0);
	gro_rig_next(rig, &f);
	f.bad_l4_csum = true;
	pkt = merged(rig, &f, 300, 100, VNETRX_GSO_TCPV4);
	pkt->flags = 0;
	gro_rig_put(rig, pkt);
	gro_rig_expect(rig, "100:order 300:passed");
	gro_rig_free(rig);
}

static void merged_packet_of_as_many_segments_as_allowed_passes(void **state)
{
	struct vnetrx_gro_config cfg = { .segs_max = 10 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	flow(&f, 0);
	put_merged(rig, &f, 1000, 100);
	put_merged(rig, &f, 900, 100);
	gro_rig_expect(rig, "1000:passed");
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "1000:full");
	gro_rig_train(rig, &f, 8);
	put_merged(rig, &f, 300, 100);
	gro_rig_expect(rig, "800:full");
	gro_rig_free(rig);
}

/* what the device says of their number is not believed */
static void segments_are_counted_here(void **state)
{
	struct gro_rig *rig = rig_new();
	struct vnetrx_pkt *pkt;
	struct frame f;

	(void)state;
	flow(&f, 0);
	pkt = merged(rig, &f, 500, 100, VNETRX_GSO_TCPV4);
	pkt->segs = 40000;
	gro_rig_put(rig, pkt);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "500:flush");
	assert_int_equal(rig->last->segs, 5);
	gro_rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_packet_continues_a_held_one),
		cmocka_unit_test(merged_packet_opens_a_held_one),
		cmocka_unit_test(merged_packet_alone_leaves_as_it_came),
		cmocka_unit_test(short_tail_of_a_merged_packet_ends_it),
		cmocka_unit_test(push_on_a_merged_packet_ends_it),
		cmocka_unit_test(other_segment_size_keeps_packets_apart),
		cmocka_unit_test(ids_of_a_merged_packet_rise),
		cmocka_unit_test(segment_size_that_is_not_reached_means_nothing),
		cmocka_unit_test(packet_of_unknown_segment_size_leaves_as_it_came),
		cmocka_unit_test(type_that_contradicts_the_headers_passes),
		cmocka_unit_test(merged_packets_in_tunnels_join_when_their_type_says_so),
		cmocka_unit_test(udp_train_to_a_tunnel_port_leaves_as_it_came),
		cmocka_unit_test(merged_packet_with_cwr_passes),
		cmocka_unit_test(merged_packet_with_a_wrong_checksum_passes),
		cmocka_unit_test(merged_packet_of_as_many_segments_as_allowed_passes),
		cmocka_unit_test(segments_are_counted_here),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
