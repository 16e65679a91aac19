/* SPDX-License-Identifier: BSD-3-Clause */
/* Order where there are two levels of addresses: who pushes out whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gro_rig.h"

struct inner {
	struct frame        f;
	struct frame_tunnel t;
};

static void inner_init(struct inner *in, unsigned kind)
{
	frame_tunnel_init(&in->t, kind, false);
	frame_init(&in->f, 0);
	in->f.tunnel = &in->t;
}

/* Held: a flow in the tunnel, another inner pair in it, a plain flow between the tunnel's ends, and the same inner flow
 * in a tunnel between others; told apart by their sizes: 100, 110, 120, 130. */
static void hold_four(struct gro_rig *rig, unsigned kind)
{
	struct inner in;
	struct frame plain;

	inner_init(&in, kind);
	gro_rig_frame(rig, &in.f);
	in.f.src[3] = 77;
	in.f.payload_len = 110;
	gro_rig_frame(rig, &in.f);
	plain = in.t.outer;
	plain.payload_len = 120;
	gro_rig_frame(rig, &plain);
	inner_init(&in, kind);
	in.t.outer.dst[3] = 9;
	in.f.payload_len = 130;
	gro_rig_frame(rig, &in.f);
	gro_rig_expect(rig, "");
}

/* Enough flows that no two address pairs share a bucket by chance: the key is fixed, so this is certain or never. */
static struct gro_rig *rig_new(void)
{
	struct vnetrx_gro_config cfg = { .flows = 4096, .protos = VNETRX_GRO_TCP | VNETRX_GRO_UDP | VNETRX_GRO_TUNNEL };

	return gro_rig_new(&cfg);
}

static void outer_fragment_pushes_out_everything_between_its_addresses(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < FR_TUNNELS; kind++) {
		struct gro_rig *rig = rig_new();
		struct inner in;

		hold_four(rig, kind);
		inner_init(&in, kind);
		in.t.outer.mf = true;
		gro_rig_frame(rig, &in.f);
		assert_int_equal(rig->nout, 4);
		assert_int_equal(rig->last->reason, VNETRX_LEFT_PASSED);
		gro_rig_flush(rig);
		assert_non_null(strstr(rig->text, "passed 130:flush"));
		gro_rig_free(rig);
	}
}

static void inner_fragment_pushes_out_its_own_pair_only(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < FR_TUNNELS; kind++) {
		struct gro_rig *rig = rig_new();
		struct inner in;

		hold_four(rig, kind);
		inner_init(&in, kind);
		in.f.frag_off = 20;
		gro_rig_frame(rig, &in.f);
		gro_rig_expect(rig, "100:order -:passed");
		gro_rig_flush(rig);
		gro_rig_expect(rig, "110:flush 120:flush 130:flush");
		gro_rig_free(rig);
	}
}

static void icmp_inside_does_as_an_inner_fragment(void **state)
{
	struct gro_rig *rig = rig_new();
	struct inner in;

	(void)state;
	hold_four(rig, FR_GRE);
	inner_init(&in, FR_GRE);
	in.f.proto = FR_ICMP;
	gro_rig_frame(rig, &in.f);
	gro_rig_expect(rig, "100:order -:passed");
	gro_rig_free(rig);
}

/* it has ports: those of the tunnel's UDP header */
static void arp_in_a_udp_tunnel_pushes_nothing_out(void **state)
{
	(void)state;
	for (unsigned kind = FR_VXLAN; kind <= FR_GENEVE; kind++) {
		struct gro_rig *rig = rig_new();
		struct inner in;

		hold_four(rig, kind);
		inner_init(&in, kind);
		in.t.eth = true;
		in.f.eth_type = 0x0806;
		gro_rig_frame(rig, &in.f);
		assert_int_equal(rig->nout, 1);
		gro_rig_flush(rig);
		assert_non_null(strstr(rig->text, ":passed 100:flush 110:flush 120:flush 130:flush"));
		gro_rig_free(rig);
	}
}

/* GRE without ports of its own, so that nothing tells it from a fragment */
static void unknown_content_of_gre_pushes_out_its_outer_pair(void **state)
{
	struct gro_rig *rig = rig_new();
	struct inner in;

	(void)state;
	hold_four(rig, FR_GRE);
	inner_init(&in, FR_GRE);
	in.t.type = 0x88be;
	gro_rig_frame(rig, &in.f);
	assert_int_equal(rig->nout, 4);
	gro_rig_free(rig);
}

/* what is inside cannot be known, so it may be of any flow in there */
static void tunnel_that_is_cut_pushes_out_its_outer_pair(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < FR_TUNNELS; kind++) {
		struct gro_rig *rig = rig_new();
		struct inner in;

		hold_four(rig, kind);
		inner_init(&in, kind);
		in.t.cut = 120u + (kind == FR_VXLAN ? 14u : 0u) + 10u; /* within the inner IP header */
		gro_rig_frame(rig, &in.f);
		gro_rig_expect(rig, "120:order 110:order 100:order -:passed");
		gro_rig_free(rig);
	}
}

/* the headers reach past what is gathered of several fragments: law 2 holds all the same */
static void long_options_over_fragments_do_not_overtake(void **state)
{
	struct vnetrx_pkt *pkt;
	struct gro_rig *rig = rig_new();
	struct inner in;

	(void)state;
	inner_init(&in, FR_GENEVE);
	gro_rig_next(rig, &in.f);
	in.t.opts_len = 252;
	pkt = gro_rig_made(rig, &in.f, 60, 0);
	gro_rig_put(rig, pkt);
	gro_rig_expect(rig, "100:order 100:passed");
	gro_rig_free(rig);
}

static void push_inside_leaves_with_what_was_held(void **state)
{
	struct gro_rig *rig = rig_new();
	struct inner in;

	(void)state;
	inner_init(&in, FR_VXLAN);
	gro_rig_train(rig, &in.f, 2);
	in.f.flags |= FR_PSH;
	gro_rig_next(rig, &in.f);
	gro_rig_expect(rig, "300:push");
	gro_rig_free(rig);
}

static void other_vni_or_outer_ttl_ends_what_is_held_of_the_flow(void **state)
{
	struct gro_rig *rig = rig_new();
	struct inner in;

	(void)state;
	inner_init(&in, FR_VXLAN);
	gro_rig_next(rig, &in.f);
	in.t.vni++;
	in.f.flags |= FR_PSH;
	gro_rig_next(rig, &in.f);
	gro_rig_expect(rig, "100:next 100:passed");
	gro_rig_free(rig);
}

/* one inner flow through tunnels of two kinds */
static void flow_that_changes_its_tunnel_keeps_its_order(void **state)
{
	struct gro_rig *rig = rig_new();
	struct inner in;

	(void)state;
	inner_init(&in, FR_GRE);
	gro_rig_next(rig, &in.f);
	in.t.kind = FR_IPIP;
	gro_rig_next(rig, &in.f);
	gro_rig_next(rig, &in.f);
	in.t.kind = FR_GRE;
	in.f.payload_len = 0;
	gro_rig_next(rig, &in.f);
	gro_rig_expect(rig, "100:next 200:order 0:passed");
	gro_rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outer_fragment_pushes_out_everything_between_its_addresses),
		cmocka_unit_test(inner_fragment_pushes_out_its_own_pair_only),
		cmocka_unit_test(icmp_inside_does_as_an_inner_fragment),
		cmocka_unit_test(arp_in_a_udp_tunnel_pushes_nothing_out),
		cmocka_unit_test(unknown_content_of_gre_pushes_out_its_outer_pair),
		cmocka_unit_test(tunnel_that_is_cut_pushes_out_its_outer_pair),
		cmocka_unit_test(long_options_over_fragments_do_not_overtake),
		cmocka_unit_test(push_inside_leaves_with_what_was_held),
		cmocka_unit_test(other_vni_or_outer_ttl_ends_what_is_held_of_the_flow),
		cmocka_unit_test(flow_that_changes_its_tunnel_keeps_its_order),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
