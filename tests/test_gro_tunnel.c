/* SPDX-License-Identifier: BSD-3-Clause */
/* One tunnel level: what is inside joins under equal outer headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gro_rig.h"

/* A flow in a tunnel. */
struct inner {
	struct frame        f;
	struct frame_tunnel t;
};

typedef void change(struct inner *in);

static void inner_init(struct inner *in, unsigned kind, bool outer6, bool inner6)
{
	frame_tunnel_init(&in->t, kind, outer6);
	if (inner6)
		frame_init6(&in->f, 0);
	else
		frame_init(&in->f, 0);
	in->f.tunnel = &in->t;
}

static struct gro_rig *rig_new(uint32_t flags)
{
	struct vnetrx_gro_config cfg = { .protos = VNETRX_GRO_TCP | VNETRX_GRO_UDP | VNETRX_GRO_TUNNEL,
					 .flags = flags };

	return gro_rig_new(&cfg);
}

/* Two segments that differ by `after` on the second. */
static void two_by(uint32_t flags, unsigned kind, bool outer6, change *before, change *after, const char *text)
{
	struct gro_rig *rig = rig_new(flags);
	struct inner in;

	inner_init(&in, kind, outer6, false);
	if (before != NULL)
		before(&in);
	gro_rig_next(rig, &in.f);
	if (after != NULL)
		after(&in);
	gro_rig_next(rig, &in.f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, text);
	gro_rig_free(rig);
}

static void two(unsigned kind, bool outer6, change *before, change *after, const char *text)
{
	two_by(0, kind, outer6, before, after, text);
}

static void train_in(unsigned kind, unsigned how, uint32_t flags)
{
	struct gro_rig *rig = rig_new(flags);
	struct inner in;

	inner_init(&in, kind, how % 2u != 0u, how / 2u % 2u != 0u);
	in.t.eth = kind == FR_VXLAN || (kind != FR_IPIP && how / 4u % 2u != 0u);
	in.t.key = how / 8u % 2u != 0u;
	in.t.opts_len = kind == FR_GENEVE ? how / 8u % 2u * 12u : 0u;
	in.t.outer.no_csum = how / 16u % 2u == 0u;
	if (how / 32u != 0u)
		frame_udp(&in.f);
	gro_rig_train(rig, &in.f, 3);
	in.f.payload_len = 33;
	gro_rig_next(rig, &in.f);
	gro_rig_expect(rig, "333:short");
	assert_int_equal(rig->last->segs, 4);
	assert_int_equal(rig->last->gso_size, 100);
	gro_rig_free(rig);
}

/* all kinds over and around both IP versions, with Ethernet inside or not, keys, options, checksums of their own, TCP
 * and UDP */
static void what_is_in_a_tunnel_joins(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < FR_TUNNELS; kind++) {
		for (unsigned how = 0; how < 64u; how++) {
			train_in(kind, how, 0);
			train_in(kind, how, VNETRX_GRO_CSUM_BYTES);
		}
	}
}

static void ttl(struct inner *in)
{
	in->t.outer.ttl--;
}

static void tos(struct inner *in)
{
	in->t.outer.tos ^= 1u;
}

static void df(struct inner *in)
{
	in->t.outer.df = !in->t.outer.df;
}

static void id(struct inner *in)
{
	in->t.outer.id++;
}

static void label(struct inner *in)
{
	in->t.outer.label++;
}

static void mac(struct inner *in)
{
	in->t.outer.smac[5] ^= 8u;
}

static void tag(struct inner *in)
{
	in->t.outer.vlans = 1;
	in->t.outer.vlan_proto[0] = 0x8100;
	in->t.outer.vlan_tci[0] = 9;
}

static void priority(struct inner *in)
{
	tag(in);
	in->t.outer.vlan_tci[0] |= 0x2000u;
}

static void source_port(struct inner *in)
{
	in->t.outer.sport++;
}

static void vni(struct inner *in)
{
	in->t.vni ^= 0x800000u;
}

static void reserved_byte(struct inner *in)
{
	in->t.rsvd ^= 1u;
}

static void reserved_flag(struct inner *in)
{
	in->t.flip ^= 0x8000u;
}

static void critical(struct inner *in)
{
	in->t.flip ^= 0x0040u;
}

static void options(struct inner *in)
{
	in->t.opts_len = 16;
	in->t.opts[3] = 3;
}

static void options_other(struct inner *in)
{
	options(in);
	in->t.opts[15] ^= 1u;
}

static void options_longer(struct inner *in)
{
	in->t.opts_len = 20;
}

static void key(struct inner *in)
{
	in->t.key = true;
}

static void key_other(struct inner *in)
{
	in->t.key = true;
	in->t.vni++;
}

static void checksum(struct inner *in)
{
	in->t.outer.no_csum = !in->t.outer.no_csum;
}

static void inner_ttl(struct inner *in)
{
	in->f.ttl--;
}

static void inner_id(struct inner *in)
{
	in->f.id += 3;
}

static void ethernet(struct inner *in)
{
	in->t.eth = !in->t.eth;
}

static void inner_ethernet(struct inner *in)
{
	in->t.eth = true;
}

static void inner_mac(struct inner *in)
{
	in->t.eth = true;
	in->f.dmac[3] ^= 1u;
}

static void inner_tag(struct inner *in)
{
	in->t.eth = true;
	in->f.vlans = 1;
	in->f.vlan_proto[0] = 0x8100;
	in->f.vlan_tci[0] = 5;
}

static void inner_priority(struct inner *in)
{
	inner_tag(in);
	in->f.vlan_tci[0] |= 0x4000u;
}

static void any_other_outer_field_keeps_packets_apart(void **state)
{
	static change *const always[] = { ttl, tos, mac, tag };

	(void)state;
	for (unsigned kind = 0; kind < FR_TUNNELS; kind++) {
		for (unsigned v6 = 0; v6 < 2u; v6++) {
			two(kind, v6 != 0u, NULL, NULL, "200:flush");
			for (unsigned i = 0; i < 4u; i++) {
				two(kind, v6 != 0u, always[i], NULL, "200:flush");
				two(kind, v6 != 0u, NULL, always[i], "100:next 100:flush");
			}
			two(kind, v6 != 0u, tag, priority, "100:next 100:flush");
		}
		two(kind, false, NULL, df, "100:next 100:flush");
		two(kind, false, NULL, id, "100:next 100:flush");
		two(kind, true, NULL, label, "100:next 100:flush");
		two(kind, false, NULL, inner_ttl, "100:next 100:flush");
		two(kind, false, NULL, inner_id, "100:next 100:flush");
	}
}

static void any_other_tunnel_field_keeps_packets_apart(void **state)
{
	static change *const udp[] = { source_port, vni, reserved_byte, checksum };

	(void)state;
	for (unsigned kind = FR_VXLAN; kind <= FR_GENEVE; kind++) {
		for (unsigned i = 0; i < 4u; i++) {
			two(kind, false, udp[i], NULL, "200:flush");
			two(kind, false, NULL, udp[i], "100:next 100:flush");
		}
	}
	two(FR_VXLAN, false, NULL, reserved_flag, "100:next 100:flush");
	two(FR_VXLAN, false, reserved_flag, NULL, "200:flush");
	two(FR_GENEVE, false, NULL, critical, "100:next 100:flush");
	two(FR_GENEVE, false, critical, NULL, "200:flush");
	two(FR_GENEVE, false, options, options_other, "100:next 100:flush");
	two(FR_GENEVE, false, options, options_longer, "100:next 100:flush");
	two(FR_GENEVE, false, NULL, options, "100:next 100:flush");
	two(FR_GRE, false, key, NULL, "200:flush");
	two(FR_GRE, false, key, key_other, "100:next 100:flush");
	two(FR_GRE, false, NULL, key, "100:next 100:flush");
}

static void inner_ethernet_headers_must_be_equal(void **state)
{
	(void)state;
	for (unsigned kind = FR_VXLAN; kind < FR_IPIP; kind++) {
		two(kind, false, inner_ethernet, NULL, "200:flush");
		two(kind, false, inner_tag, NULL, "200:flush");
		two(kind, false, inner_ethernet, inner_mac, "100:next 100:flush");
		two(kind, false, inner_tag, inner_priority, "100:next 100:flush");
		two(kind, false, inner_ethernet, inner_tag, "100:next 100:flush");
		if (kind != FR_VXLAN)
			two(kind, false, NULL, ethernet, "100:next 100:flush");
	}
}

static void ids(unsigned outer_step, unsigned inner_step, const char *text, bool outer_fixed, bool inner_fixed)
{
	struct gro_rig *rig = rig_new(0);
	struct inner in;

	inner_init(&in, FR_VXLAN, false, false);
	in.f.id = in.t.outer.id = 65535;
	for (unsigned i = 0; i < 4u; i++) {
		gro_rig_frame(rig, &in.f);
		in.f.seq += 100;
		in.f.id = (uint16_t)(in.f.id + inner_step);
		in.t.outer.id = (uint16_t)(in.t.outer.id + outer_step);
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, text);
	assert_int_equal((rig->last->flags & VNETRX_PKT_OUTER_ID_FIXED) != 0u, outer_fixed);
	assert_int_equal((rig->last->flags & VNETRX_PKT_ID_FIXED) != 0u, inner_fixed);
	gro_rig_free(rig);
}

/* G16 */
static void ids_of_both_levels_go_on_each_in_its_own_way(void **state)
{
	(void)state;
	ids(1, 1, "400:flush", false, false);
	ids(0, 1, "400:flush", true, false);
	ids(1, 0, "400:flush", false, true);
	ids(0, 0, "400:flush", true, true);
	ids(2, 1, "100:next 100:next 100:next 100:flush", false, false);
	ids(1, 2, "100:next 100:next 100:next 100:flush", false, false);
}

static void a_step_of_ids_that_changes_ends_the_packet(void **state)
{
	struct gro_rig *rig = rig_new(0);
	struct inner in;

	(void)state;
	inner_init(&in, FR_GRE, false, true);
	gro_rig_train(rig, &in.f, 2);
	in.t.outer.id--;
	gro_rig_next(rig, &in.f);
	gro_rig_expect(rig, "200:next");
	in.t.outer.id--;
	gro_rig_next(rig, &in.f); /* equal ids from now on */
	gro_rig_next(rig, &in.f);
	gro_rig_expect(rig, "200:next");
	gro_rig_free(rig);
}

/* RFC 6864 for both levels, each by its own DF */
static void atomic_datagrams_may_have_any_id(void **state)
{
	struct gro_rig *rig = rig_new(VNETRX_GRO_RFC6864);
	struct inner in;

	(void)state;
	inner_init(&in, FR_VXLAN, false, false);
	for (unsigned i = 0; i < 4u; i++) {
		in.f.id = (uint16_t)(i * 777u);
		in.t.outer.id = (uint16_t)(i * 555u);
		gro_rig_next(rig, &in.f);
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, "400:flush");
	in.t.outer.df = false;
	gro_rig_next(rig, &in.f);
	in.t.outer.id += 5;
	gro_rig_next(rig, &in.f);
	gro_rig_expect(rig, "100:next");
	gro_rig_free(rig);
}

static void no_vni_flag(struct inner *in)
{
	in->t.flip = 0x0800;
}

static void no_protocol(struct inner *in)
{
	in->t.flip = 0x0400;
}

static void gpe_version(struct inner *in)
{
	in->t.flip = 0x1000;
}

static void gpe_oam(struct inner *in)
{
	in->t.flip = 0x0100;
}

static void geneve_version(struct inner *in)
{
	in->t.flip = 0x4000;
}

static void geneve_oam(struct inner *in)
{
	in->t.flip = 0x0080;
}

static void gre_checksum(struct inner *in)
{
	in->t.flip = 0x8000;
}

static void gre_sequence(struct inner *in)
{
	in->t.flip = 0x1000;
}

static void gre_version(struct inner *in)
{
	in->t.flip = 0x0001;
}

static void other_content(struct inner *in)
{
	in->t.type = 0x0806;
}

static void arp(struct inner *in)
{
	in->f.eth_type = 0x0806;
}

static void three_tags(struct inner *in)
{
	in->f.vlans = 3;
	in->f.vlan_proto[0] = in->f.vlan_proto[1] = in->f.vlan_proto[2] = 0x8100;
}

static void pppoe_inside(struct inner *in)
{
	in->f.pppoe = true;
}

/* G13: nor is it taken for a UDP train: a tunnel that is not understood is no user's datagram */
static void tunnel_headers_that_are_not_understood_pass(void **state)
{
	static const struct {
		unsigned kind;
		change  *how;
	} cases[] = {
		{ FR_VXLAN, no_vni_flag },     { FR_VXLAN, arp },
		{ FR_VXLAN, three_tags },      { FR_VXLAN, pppoe_inside },
		{ FR_GPE, no_protocol },       { FR_GPE, gpe_version },
		{ FR_GPE, gpe_oam },           { FR_GPE, other_content },
		{ FR_GENEVE, geneve_version }, { FR_GENEVE, geneve_oam },
		{ FR_GENEVE, other_content },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gro_rig *rig = rig_new(VNETRX_GRO_UDP_ZERO);
		struct inner in;

		inner_init(&in, cases[i].kind, false, false);
		cases[i].how(&in);
		gro_rig_train(rig, &in.f, 2);
		assert_int_equal(rig->nout, 2);
		assert_int_equal(gro_rig_stats(rig).pass_tunnel, 2);
		gro_rig_free(rig);
	}
	two(FR_GRE, false, gre_checksum, NULL, "-:passed -:passed");
	two(FR_GRE, false, gre_sequence, NULL, "-:passed -:passed");
	two(FR_GRE, false, gre_version, NULL, "-:passed -:passed");
	two(FR_GRE, false, other_content, NULL, "-:passed -:passed");
}

/* G3 */
static void tunnel_in_a_tunnel_passes(void **state)
{
	static const uint8_t proto[] = { 4, 41, 47 };
	struct gro_rig *rig = rig_new(VNETRX_GRO_UDP_ZERO);
	struct inner in;

	(void)state;
	for (unsigned kind = 0; kind < FR_TUNNELS; kind++) {
		inner_init(&in, kind, false, false);
		for (unsigned i = 0; i < 3u; i++) {
			in.f.proto = proto[i];
			gro_rig_train(rig, &in.f, 2);
		}
		frame_udp(&in.f);
		in.f.dport = 4789;
		gro_rig_train(rig, &in.f, 2);
	}
	assert_int_equal(rig->nout, FR_TUNNELS * 8u);
	assert_int_equal(gro_rig_stats(rig).pass_tunnel, FR_TUNNELS * 8u);
	gro_rig_free(rig);
}

/* bytes behind the inner packet, and lengths that contradict each other */
static void lengths_that_do_not_agree_pass(void **state)
{
	struct gro_rig *rig = rig_new(0);
	struct inner in;

	(void)state;
	for (unsigned kind = 0; kind < FR_TUNNELS; kind++) {
		inner_init(&in, kind, false, false);
		gro_rig_next(rig, &in.f);
		in.f.ip_len_delta = -1;
		gro_rig_next(rig, &in.f);
		in.f.ip_len_delta = 1;
		gro_rig_next(rig, &in.f);
		in.f.ip_len_delta = 0;
		in.t.outer.ip_len_delta = -1;
		gro_rig_next(rig, &in.f);
		in.t.outer.ip_len_delta = 1;
		gro_rig_next(rig, &in.f);
		in.t.outer.ip_len_delta = 0;
		in.f.trailer = 5;
		gro_rig_next(rig, &in.f);
		in.f.trailer = 0;
		assert_int_equal(rig->nout, 6);
		gro_rig_expect(rig, "100:order 99:passed 100:passed 99:passed 100:passed 100:passed");
		if (kind > FR_GENEVE)
			continue;
		in.t.outer.udp_len_delta = 1;
		gro_rig_next(rig, &in.f);
		in.t.outer.udp_len_delta = -1;
		gro_rig_next(rig, &in.f);
		gro_rig_expect(rig, "100:passed 100:passed");
	}
	gro_rig_free(rig);
}

static void bad_outer_csum(struct inner *in)
{
	in->t.outer.no_csum = false;
	in->t.outer.bad_l4_csum = true;
}

static void bad_inner_csum(struct inner *in)
{
	in->f.bad_l4_csum = true;
}

static void outer_csum(struct inner *in)
{
	in->t.outer.no_csum = false;
}

static void bad_outer_ip(struct inner *in)
{
	in->t.outer.bad_ip_csum = true;
}

static void bad_inner_ip(struct inner *in)
{
	in->f.bad_ip_csum = true;
}

static void outer_options(struct inner *in)
{
	in->t.outer.ip_opts_len = 4;
}

static void inner_options(struct inner *in)
{
	in->f.ip_opts_len = 4;
}

static void wrong_checksums_and_options_keep_their_place(void **state)
{
	static change *const cases[] = { bad_inner_csum, bad_outer_ip, bad_inner_ip, outer_options, inner_options };

	(void)state;
	for (unsigned kind = 0; kind < FR_TUNNELS; kind++) {
		for (unsigned i = 0; i < 5u; i++)
			two(kind, false, NULL, cases[i], "100:order 100:passed");
	}
	two(FR_VXLAN, false, outer_csum, bad_outer_csum, "100:order 100:passed");
	two(FR_VXLAN, true, outer_csum, bad_outer_csum, "100:order 100:passed");
}

static void put_as(struct gro_rig *rig, struct inner *in, uint32_t flags, uint16_t csum_start)
{
	struct vnetrx_pkt *pkt = gro_rig_made(rig, &in->f, 0, flags);

	pkt->csum_start = csum_start;
	pkt->csum_offset = 16;
	gro_rig_put(rig, pkt);
	in->f.seq += in->f.payload_len;
	in->f.id++;
	in->t.outer.id++;
}

/* G15: "verified" is about the outermost transport header; a wrong checksum inside must not be made good */
static void devices_word_counts_for_the_outer_checksum_only(void **state)
{
	struct inner in;

	(void)state;
	for (unsigned csum = 0; csum < 2u; csum++) {
		struct gro_rig *rig = rig_new(0);

		inner_init(&in, FR_VXLAN, false, false);
		in.t.outer.no_csum = csum == 0u;
		put_as(rig, &in, VNETRX_PKT_CSUM_OK, 0);
		put_as(rig, &in, VNETRX_PKT_CSUM_OK, 0);
		in.f.bad_l4_csum = true;
		put_as(rig, &in, VNETRX_PKT_CSUM_OK, 0);
		gro_rig_expect(rig, "200:order 100:passed");
		put_as(rig, &in, VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER, 0);
		put_as(rig, &in, VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER, 0);
		gro_rig_flush(rig);
		gro_rig_expect(rig, "200:flush");
		gro_rig_free(rig);
	}
}

/* GRE and IP in IP have no transport header of their own */
static void devices_word_counts_where_there_is_but_one_checksum(void **state)
{
	struct inner in;

	(void)state;
	for (unsigned kind = FR_GRE; kind <= FR_IPIP; kind++) {
		struct gro_rig *rig = rig_new(0);

		inner_init(&in, kind, false, false);
		in.f.bad_l4_csum = true;
		put_as(rig, &in, VNETRX_PKT_CSUM_OK, 0);
		put_as(rig, &in, VNETRX_PKT_CSUM_OK, 0);
		gro_rig_flush(rig);
		gro_rig_expect(rig, "200:flush");
		gro_rig_free(rig);
	}
}

static void half_done_inner_checksum_joins_where_the_outer_has_none(void **state)
{
	struct inner in;

	(void)state;
	for (unsigned csum = 0; csum < 2u; csum++) {
		struct gro_rig *rig = rig_new(0);

		inner_init(&in, FR_VXLAN, false, false);
		in.f.partial = true;
		in.t.outer.no_csum = csum == 0u;
		put_as(rig, &in, VNETRX_PKT_PARTIAL, 14 + 20 + 8 + 8 + 14 + 20);
		put_as(rig, &in, VNETRX_PKT_PARTIAL, 14 + 20 + 8 + 8 + 14 + 20);
		gro_rig_flush(rig);
		gro_rig_expect(rig, csum == 0u ? "200:flush" : "100:passed 100:passed");
		gro_rig_free(rig);
	}
}

static void descriptor_says_where_the_layers_are(void **state)
{
	struct gro_rig *rig = rig_new(0);
	struct inner in;

	(void)state;
	inner_init(&in, FR_VXLAN, false, true);
	gro_rig_train(rig, &in.f, 2);
	gro_rig_flush(rig);
	assert_int_equal(rig->last->outer_l3_off, 14);
	assert_int_equal(rig->last->outer_l4_off, 34);
	assert_int_equal(rig->last->l3_off, 64);
	assert_int_equal(rig->last->l4_off, 104);
	assert_int_equal(rig->last->hdr_len, 124);
	assert_int_equal(rig->last->csum_start, 104);
	assert_int_equal(fr_get16(rig->bytes + 16), 310);       /* outer IPv4 */
	assert_int_equal(fr_get16(rig->bytes + 38), 290);       /* outer UDP  */
	assert_int_equal(fr_get16(rig->bytes + 68), 220);       /* inner IPv6 */
	gro_rig_free(rig);
}

static void ports_are_what_the_configuration_says(void **state)
{
	static const uint16_t want[3] = { 8472, 250, 6082 };
	static const uint16_t unknown[4] = { 4789, 6081, 65535, 0 };
	struct vnetrx_gro_config cfg = { .vxlan_port = 8472, .vxlan_gpe_port = 250, .geneve_port = 6082 };
	struct vnetrx_gro_config off = { .vxlan_port = VNETRX_PORT_OFF, .vxlan_gpe_port = VNETRX_PORT_OFF,
	                                 .geneve_port = VNETRX_PORT_OFF };
	struct inner in;

	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	for (unsigned kind = 0; kind < 3u; kind++) {
		struct gro_rig *rig = gro_rig_new(&cfg);

		inner_init(&in, kind, false, false);
		gro_rig_train(rig, &in.f, 2);
		assert_int_equal(rig->nout, 2);
		assert_int_equal(gro_rig_stats(rig).pass_off, 2);
		in.t.outer.dport = want[kind];
		gro_rig_train(rig, &in.f, 2);
		assert_int_equal(rig->nout, 2);
		gro_rig_free(rig);
		rig = gro_rig_new(&off);
		for (unsigned i = 0; i < 4u; i++) {
			in.t.outer.dport = unknown[i];
			gro_rig_train(rig, &in.f, 2);
		}
		assert_int_equal(gro_rig_stats(rig).pass_off, 8);
		gro_rig_free(rig);
	}
}

/* switched off, a tunnel is just a packet: UDP of its ports, or no ports at all */
static void tunnels_that_are_off_are_not_looked_into(void **state)
{
	struct vnetrx_gro_config cfg = { .protos = VNETRX_GRO_TCP };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct inner in;

	(void)state;
	for (unsigned kind = 0; kind < FR_TUNNELS; kind++) {
		inner_init(&in, kind, false, false);
		gro_rig_train(rig, &in.f, 2);
	}
	assert_int_equal(rig->nout, 10);
	assert_int_equal(gro_rig_stats(rig).pass_off, 6);
	assert_int_equal(gro_rig_stats(rig).pass_proto, 4);
	gro_rig_free(rig);
}

/* C6 for tunnels: the outer length counts, and BIG TCP does not reach into tunnels */
static void packet_ends_before_its_outer_length_field_does(void **state)
{
	struct vnetrx_gro_config cfg = {
		.bytes_max = 524280, .segs_max = 1000, .protos = VNETRX_GRO_TCP | VNETRX_GRO_TUNNEL,
	};
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct inner in;

	(void)state;
	inner_init(&in, FR_IPIP, false, false);
	in.f.payload_len = 655; /* 60 + 99 * 655 = 64905, + 655 = 65560 */
	gro_rig_train(rig, &in.f, 100);
	gro_rig_expect(rig, "64845:full");
	in.f.payload_len = 1475; /* 60 + 44 * 1475 = 64960; + 575 = 65535 */
	gro_rig_flush(rig);
	gro_rig_train(rig, &in.f, 44);
	in.f.payload_len = 575;
	gro_rig_next(rig, &in.f);
	gro_rig_expect(rig, "655:flush 65475:short");
	gro_rig_free(rig);
}

/* GENEVE options fill the headers up to what can be compared, and beyond */
static void headers_longer_than_256_bytes_pass(void **state)
{
	struct gro_rig *rig = rig_new(0);
	struct inner in;

	(void)state;
	inner_init(&in, FR_GENEVE, false, false);
	in.t.opts_len = 256u - (14u + 20u + 8u + 8u + 20u + 20u) - 2u; /* and 2 are lost to alignment */
	gro_rig_train(rig, &in.f, 2);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:flush");
	assert_int_equal(rig->last->hdr_len, 254);
	gro_rig_next(rig, &in.f);
	in.t.opts_len += 4;
	gro_rig_next(rig, &in.f);
	gro_rig_expect(rig, "100:order 100:passed");
	assert_int_equal(gro_rig_stats(rig).pass_hdr_len, 1);
	gro_rig_free(rig);
}

/* A tag of seven bits often fits a record of another shape, whose headers, and whose whole packet, may end before the
 * place where the key of this one lies. AddressSanitizer sees a read behind it. */
static void short_packets_of_other_shapes_are_not_read_past(void **state)
{
	struct vnetrx_gro_config cfg = { .flows = 256 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct inner in;
	struct frame f;

	(void)state;
	for (unsigned i = 0; i < 256u; i++) {
		frame_init(&f, i);
		f.payload_len = 1;
		gro_rig_put(rig, gro_rig_made(rig, &f, 0, VNETRX_PKT_CSUM_OK));
	}
	for (unsigned i = 0; i < 3000u; i++) {
		inner_init(&in, FR_VXLAN, true, true);
		in.f.sport = (uint16_t)(i * 7u);
		in.f.flags |= i % 2u != 0u ? FR_PSH : 0u; /* few of these stay, so that the short ones do */
		gro_rig_put(rig, gro_rig_made(rig, &in.f, 0, VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER));
		if (i % 16u == 0u) {
			frame_init(&f, i % 256u);
			f.payload_len = 1;
			f.seq = i;
			gro_rig_put(rig, gro_rig_made(rig, &f, 0, VNETRX_PKT_CSUM_OK));
		}
	}
	gro_rig_free(rig);
}

/* The outer checksum of two segments in VXLAN, `word` being the end of the inner source address. */
static uint32_t outer_sum_with(uint32_t word)
{
	struct gro_rig *rig = rig_new(0);
	struct inner in;
	uint32_t sum;

	inner_init(&in, FR_VXLAN, false, false);
	in.t.outer.no_csum = false;
	fr_put16(in.f.smac + 4, word);
	gro_rig_train(rig, &in.f, 2);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:flush");
	sum = fr_get16(rig->bytes + 40);
	gro_rig_free(rig);
	return sum;
}

static void outer_checksum_that_comes_out_as_zero_is_written_as_all_ones(void **state)
{
	uint32_t sum;

	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	sum = outer_sum_with(0);
	assert_int_not_equal(sum, 0xffff);
	assert_int_equal(outer_sum_with(sum), 0xffff);
}

static void inner_udp(struct inner *in)
{
	frame_udp(&in->f);
}

static void longer_outer(struct inner *in)
{
	in->t.outer.exts = 1;
	in->t.outer.ext[0] = (struct frame_ext){ .type = 60, .len8 = 0, .fill = 0 };
}

static void longer_options(struct inner *in)
{
	in->t.opts_len = 8;
}

static void tag_before(struct inner *in)
{
	in->t.outer.vlans = 1;
	in->t.outer.vlan_proto[0] = 0x8100;
}

static void outer_headers_of_another_length_end_the_packet(void **state)
{
	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	two(FR_VXLAN, true, NULL, longer_outer, "100:next 100:flush");
	two(FR_GENEVE, true, NULL, longer_options, "100:next 100:flush");
	two(FR_GENEVE, false, longer_options, NULL, "200:flush");
	two(FR_VXLAN, false, NULL, tag_before, "100:next 100:flush");
	two(FR_VXLAN, true, inner_udp, longer_outer, "100:next 100:flush");
	two(FR_GENEVE, true, inner_udp, longer_options, "100:next 100:flush");
	two(FR_VXLAN, true, inner_udp, NULL, "200:flush");
}

static void outer_ids_that_jump_end_the_packet_within_a_batch(void **state)
{
	struct gro_rig *rig;
	struct vnetrx_pktq out = { NULL, NULL, 0 };
	struct vnetrx_pkt *pkts[40];
	struct inner in;

	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	rig = rig_new(0);
	inner_init(&in, FR_VXLAN, false, false);
	for (unsigned i = 0; i < 40u; i++) {
		in.t.outer.id = (uint16_t)(500u + i + (i == 39u ? 7u : 0u));
		pkts[i] = gro_rig_made(rig, &in.f, 0, VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER);
		in.f.seq += in.f.payload_len;
		in.f.id++;
	}
	vnetrx_gro_receive(rig->gro, pkts, 40, 0, &out);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.first->segs, 39);
	vnetrx_gro_flush(rig->gro, &out);
	assert_int_equal(out.count, 2);
	gro_rig_free(rig);
}

static void port_0_is_no_tunnel_where_it_is_off(void **state)
{
	struct vnetrx_gro_config off = { .vxlan_port = VNETRX_PORT_OFF, .vxlan_gpe_port = VNETRX_PORT_OFF,
	                                 .geneve_port = VNETRX_PORT_OFF };
	struct gro_rig *rig;
	struct inner in;

	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	rig = gro_rig_new(&off);
	inner_init(&in, FR_VXLAN, false, false);
	in.t.outer.dport = 0;
	for (unsigned i = 0; i < 3u; i++)
		put_as(rig, &in, VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER, 0);
	assert_int_equal(rig->nout, 3);
	assert_int_equal(gro_rig_stats(rig).pass_off, 3);
	gro_rig_free(rig);
}

static void vxlan_without_its_flag_is_not_held_on_the_short_way(void **state)
{
	struct gro_rig *rig;
	struct inner in;

	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	rig = rig_new(0);
	inner_init(&in, FR_VXLAN, false, false);
	put_as(rig, &in, VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER, 0);
	in.t.flip = 0x0800;
	in.f.sport++; /* a flow that is not held yet */
	put_as(rig, &in, VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER, 0);
	assert_int_equal(rig->nout, 1);
	assert_int_equal(gro_rig_stats(rig).held_new, 1);
	gro_rig_free(rig);
}

/* VXLAN behind 8 bytes of IPv6 options and GENEVE with 8 bytes of its own: what is inside lies in the same place. */
static void tunnels_whose_layers_lie_alike_but_for_one_keep_apart(void **state)
{
	struct gro_rig *rig;
	struct inner in[2];

	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	rig = rig_new(0);
	inner_init(&in[0], FR_VXLAN, true, false);
	inner_init(&in[1], FR_GENEVE, true, false);
	longer_outer(&in[0]);
	longer_options(&in[1]);
	in[1].t.eth = true;
	in[1].f.sport++;
	for (unsigned i = 0; i < 4u; i++)
		put_as(rig, &in[i % 2u], VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER, 0);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:flush 200:flush");
	gro_rig_free(rig);
}

/* So many that some have the same tag in the table. */
static void one_flow_in_many_tunnels_stays_apart(void **state)
{
	struct vnetrx_gro_config cfg = { .flows = 8 };
	struct gro_rig *rig;
	struct inner in;

	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	rig = gro_rig_new(&cfg);
	inner_init(&in, FR_VXLAN, false, false);
	for (uint32_t i = 0; i < 2000u; i++) {
		fr_put16(in.t.outer.dst + 2, i);
		gro_rig_next(rig, &in.f);
		if (i % 100u == 0u)
			rig->text[0] = '\0'; /* it would not hold all of them */
	}
	rig->text[0] = '\0';
	assert_int_equal(gro_rig_stats(rig).joined, 0);
	assert_int_equal(gro_rig_stats(rig).held_new, 2000);
	gro_rig_free(rig);
}

/* GPE with Ethernet inside has the layers of VXLAN, which is off. */
static void port_0_is_no_vxlan_where_other_tunnels_lie_alike(void **state)
{
	struct vnetrx_gro_config cfg = { .vxlan_port = VNETRX_PORT_OFF };
	struct gro_rig *rig;
	struct inner in;

	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	rig = gro_rig_new(&cfg);
	inner_init(&in, FR_GPE, false, false);
	in.t.eth = true;
	for (unsigned i = 0; i < 3u; i++)
		put_as(rig, &in, VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER, 0);
	inner_init(&in, FR_VXLAN, false, false);
	in.t.outer.dport = 0;
	in.f.sport++;
	put_as(rig, &in, VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER, 0);
	assert_int_equal(rig->nout, 1);
	assert_int_equal(gro_rig_stats(rig).pass_off, 1);
	gro_rig_flush(rig);
	assert_int_equal(gro_rig_stats(rig).joined, 2);
	gro_rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_a_tunnel_joins),
		cmocka_unit_test(any_other_outer_field_keeps_packets_apart),
		cmocka_unit_test(any_other_tunnel_field_keeps_packets_apart),
		cmocka_unit_test(inner_ethernet_headers_must_be_equal),
		cmocka_unit_test(ids_of_both_levels_go_on_each_in_its_own_way),
		cmocka_unit_test(a_step_of_ids_that_changes_ends_the_packet),
		cmocka_unit_test(atomic_datagrams_may_have_any_id),
		cmocka_unit_test(tunnel_headers_that_are_not_understood_pass),
		cmocka_unit_test(tunnel_in_a_tunnel_passes),
		cmocka_unit_test(lengths_that_do_not_agree_pass),
		cmocka_unit_test(wrong_checksums_and_options_keep_their_place),
		cmocka_unit_test(devices_word_counts_for_the_outer_checksum_only),
		cmocka_unit_test(devices_word_counts_where_there_is_but_one_checksum),
		cmocka_unit_test(half_done_inner_checksum_joins_where_the_outer_has_none),
		cmocka_unit_test(descriptor_says_where_the_layers_are),
		cmocka_unit_test(ports_are_what_the_configuration_says),
		cmocka_unit_test(tunnels_that_are_off_are_not_looked_into),
		cmocka_unit_test(packet_ends_before_its_outer_length_field_does),
		cmocka_unit_test(headers_longer_than_256_bytes_pass),
		cmocka_unit_test(short_packets_of_other_shapes_are_not_read_past),
		cmocka_unit_test(outer_checksum_that_comes_out_as_zero_is_written_as_all_ones),
		cmocka_unit_test(outer_headers_of_another_length_end_the_packet),
		cmocka_unit_test(outer_ids_that_jump_end_the_packet_within_a_batch),
		cmocka_unit_test(port_0_is_no_tunnel_where_it_is_off),
		cmocka_unit_test(vxlan_without_its_flag_is_not_held_on_the_short_way),
		cmocka_unit_test(tunnels_whose_layers_lie_alike_but_for_one_keep_apart),
		cmocka_unit_test(one_flow_in_many_tunnels_stays_apart),
		cmocka_unit_test(port_0_is_no_vxlan_where_other_tunnels_lie_alike),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
