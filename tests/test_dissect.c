/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the headers lie, and why a packet is never held; compared with the slow reader of the test support. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gro/dissect.h"
#include "support/frames.h"
#include "support/known.h"
#include "support/view.h"

static const struct vnrx_tunnels known = { .vxlan_port = 4789, .gpe_port = 4790, .geneve_port = 6081, .ip = true };

static const struct view_rules rules = {
	.tunnels = (GRO_KNOWN & VNETRX_GRO_TUNNEL) != 0u, .vxlan = 4789, .gpe = 4790, .geneve = 6081,
};

struct layout {
	struct frame        f;
	struct frame_tunnel t;
};

#define LAYOUTS 400u

/* All combinations: IP versions, tags, PPPoE, extensions, options, TCP and UDP, in and around all tunnels. */
static void layout_init(struct layout *l, unsigned number)
{
	unsigned base = number % 16u, tunnel = number / 16u; /* 0..24 */

	if (base % 2u != 0u)
		frame_init6(&l->f, 0);
	else
		frame_init(&l->f, 0);
	l->f.payload_len = 20;
	l->f.vlans = base / 2u % 2u * (1u + base % 2u);
	l->f.vlan_proto[0] = l->f.vlan_proto[1] = 0x8100;
	l->f.pppoe = base / 4u % 2u != 0u && tunnel == 0u;
	if (base / 8u != 0u) {
		frame_udp(&l->f);
	} else if (base % 2u != 0u) {
		l->f.exts = 2;
		l->f.ext[0] = (struct frame_ext){ 0, 1, 1 };
		l->f.ext[1] = (struct frame_ext){ 60, 0, 2 };
	} else {
		frame_timestamp(&l->f, 1, 2);
	}
	if (tunnel == 0u)
		return;
	frame_tunnel_init(&l->t, (tunnel - 1u) % FR_TUNNELS, tunnel % 2u != 0u);
	l->t.eth = l->t.kind == FR_VXLAN || (l->t.kind != FR_IPIP && tunnel / 6u % 2u != 0u);
	l->t.key = tunnel / 12u != 0u;
	l->t.opts_len = l->t.kind == FR_GENEVE ? tunnel / 12u * 8u : 0u;
	l->t.outer.pppoe = base / 4u % 2u != 0u;
	l->t.outer.vlans = base % 3u;
	l->t.outer.vlan_proto[0] = l->t.outer.vlan_proto[1] = 0x88a8;
	if (!l->t.eth)
		l->f.vlans = 0;
	l->f.tunnel = &l->t;
}

/* Both readers must have come to the same. */
static void compare(const struct vnrx_dissect *d, const struct view *v)
{
	static const uint8_t reach[] = { VNRX_REACH_NOTHING, VNRX_REACH_ADDRS, VNRX_REACH_PORTS };
	bool fine;

	assert_int_equal(d->reach, reach[v->kind]);
	if (v->kind == VIEW_OPAQUE)
		return;
	assert_int_equal(d->ip.l3, v->l3);
	assert_int_equal(d->ip.version, v->v6 ? 6 : 4);
	assert_int_equal(d->outer.version != 0u, v->tunnel);
	if (v->tunnel) {
		assert_int_equal(d->outer.l3, v->outer.l3);
		assert_int_equal(d->outer.l4, v->outer.l4);
		assert_int_equal(d->outer.version, v->outer.v6 ? 6 : 4);
		assert_int_equal(d->udp_tunnel, v->udp_tunnel);
	}
	if (v->kind == VIEW_PORTS) {
		assert_int_equal(d->l4, v->l4);
		assert_int_equal(d->proto, v->proto);
	}
	fine = (v->tcp || v->udp) && !v->cut && !v->fragment && !v->ip_options && v->ip_csum_ok && !v->trailer &&
	       v->pppoe_ok && v->lengths_ok && !v->bad_tunnel && v->payload <= VNRX_HDR_MAX;
	assert_int_equal(d->pass == VNRX_PASS_NOT, fine);
	if (fine) {
		assert_int_equal(d->payload, v->payload);
		assert_int_equal(d->ip.end, v->ip_end);
		assert_int_equal(d->pppoe, v->pppoe);
	}
}

/* The bytes lie at the end of an allocation, so that a read behind them is seen. */
static void check(const uint8_t *bytes, size_t avail, size_t len)
{
	uint8_t *exact = malloc(avail + (avail == 0u));
	struct vnrx_frame frame = { exact, (uint32_t)avail, (uint32_t)len };
	struct vnrx_dissect d;
	struct view v;

	assert_non_null(exact);
	memcpy(exact, bytes, avail);
	memset(&d, 0xa5, sizeof(d));
	vnrx_dissect(&frame, &known, &d);
	if (avail == len) {
		view_frame_by(&v, &rules, exact, len);
		compare(&d, &v);
	} else if (d.pass == VNRX_PASS_NOT) {
		assert_true(d.payload <= avail && d.ip.end <= len);
	}
	free(exact);
}

static void every_layout_is_read_and_so_is_every_beginning_of_it(void **state)
{
	uint8_t *bytes = malloc(FRAME_MAX);
	struct layout l;

	(void)state;
	assert_non_null(bytes);
	for (unsigned i = 0; i < LAYOUTS; i++) {
		size_t len;

		layout_init(&l, i);
		len = frame_build(&l.f, bytes);
		for (size_t n = 0; n <= len; n++) {
			check(bytes, n, n);
			check(bytes, n, len);
		}
	}
	free(bytes);
}

/* one byte after the other takes some other values */
static void any_byte_may_be_anything(void **state)
{
	static const uint8_t flips[] = { 0x01, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff, 0x0f };
	uint8_t *bytes = malloc(FRAME_MAX);
	struct layout l;

	(void)state;
	assert_non_null(bytes);
	for (unsigned i = 0; i < LAYOUTS; i += 3) {
		size_t len;

		layout_init(&l, i);
		len = frame_build(&l.f, bytes);
		for (size_t at = 0; at < len; at++) {
			for (unsigned k = 0; k < sizeof(flips); k++) {
				bytes[at] ^= flips[k];
				check(bytes, len, len);
				bytes[at] ^= flips[k];
			}
		}
	}
	free(bytes);
}

static void random_bytes_behind_a_beginning(void **state)
{
	uint8_t *bytes = malloc(FRAME_MAX);
	uint32_t seed = 4711;
	struct layout l;

	(void)state;
	assert_non_null(bytes);
	for (unsigned i = 0; i < 40000u; i++) {
		size_t len, from;

		layout_init(&l, i % LAYOUTS);
		len = frame_build(&l.f, bytes);
		seed = seed * 1664525u + 1013904223u;
		from = 12u + (seed >> 16) % (len - 12u);
		for (size_t at = from; at < len; at++) {
			seed = seed * 1664525u + 1013904223u;
			if ((seed >> 28) < 4u)
				bytes[at] = (uint8_t)(seed >> 16);
		}
		check(bytes, len, len);
	}
	free(bytes);
}

static unsigned pass_of(const struct frame *f)
{
	static uint8_t bytes[FRAME_MAX];
	struct vnrx_frame frame = { bytes, 0, 0 };
	struct vnrx_dissect d;

	frame.avail = frame.len = (uint32_t)frame_build(f, bytes);
	vnrx_dissect(&frame, &known, &d);
	return d.pass;
}

static void every_reason_has_its_packet(void **state)
{
	struct frame_tunnel t;
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	assert_int_equal(pass_of(&f), VNRX_PASS_NOT);
	f.eth_type = 0x0806;
	assert_int_equal(pass_of(&f), VNRX_PASS_NOT_IP);
	frame_init(&f, 0);
	f.vlans = 3;
	f.vlan_proto[0] = f.vlan_proto[1] = f.vlan_proto[2] = 0x8100;
	assert_int_equal(pass_of(&f), VNRX_PASS_NOT_IP);
	frame_init(&f, 0);
	f.ip_len_delta = 1;
	assert_int_equal(pass_of(&f), VNRX_PASS_CUT);
	frame_init(&f, 0);
	f.doff = 4;
	assert_int_equal(pass_of(&f), VNRX_PASS_CUT);
	frame_init(&f, 0);
	f.ip_opts_len = 4;
	assert_int_equal(pass_of(&f), VNRX_PASS_IP_OPTIONS);
	frame_init(&f, 0);
	f.bad_ip_csum = true;
	assert_int_equal(pass_of(&f), VNRX_PASS_IP_CSUM);
	frame_init(&f, 0);
	f.mf = true;
	assert_int_equal(pass_of(&f), VNRX_PASS_FRAGMENT);
	frame_init(&f, 0);
	f.proto = 50;
	assert_int_equal(pass_of(&f), VNRX_PASS_PROTO);
	frame_init6(&f, 0);
	f.exts = 1;
	f.ext[0] = (struct frame_ext){ 0, 25, 0 };
	assert_int_equal(pass_of(&f), VNRX_PASS_HDR_LEN);
	frame_init(&f, 0);
	f.trailer = 1;
	assert_int_equal(pass_of(&f), VNRX_PASS_TRAILER);
	frame_init(&f, 0);
	frame_tunnel_init(&t, FR_VXLAN, false);
	t.flip = 0x0800;
	f.tunnel = &t;
	assert_int_equal(pass_of(&f), rules.tunnels ? VNRX_PASS_TUNNEL : VNRX_PASS_NOT);
}

/* as many extension headers as are walked, and one more */
static void extension_headers_are_walked_so_far(void **state)
{
	static uint8_t bytes[FRAME_MAX];
	struct frame f;

	(void)state;
	for (uint8_t exts = 7; exts < 11u; exts++) {
		struct vnrx_frame frame = { bytes, 0, 0 };
		struct vnrx_dissect d;

		frame_init6(&f, 0);
		f.exts = 1;
		f.ext[0] = (struct frame_ext){ 60, (uint8_t)(exts - 1u), 0 }; /* room for them */
		frame.avail = frame.len = (uint32_t)frame_build(&f, bytes);
		for (unsigned i = 0; i < exts; i++) {
			bytes[54 + 8u * i] = i + 1u < exts ? 60 : 6;
			bytes[55 + 8u * i] = 0;
		}
		vnrx_dissect(&frame, &known, &d);
		assert_int_equal(d.pass, exts <= VNRX_EXT_MAX ? VNRX_PASS_NOT : VNRX_PASS_EXT);
		assert_int_equal(d.reach, exts <= VNRX_EXT_MAX ? VNRX_REACH_PORTS : VNRX_REACH_ADDRS);
		check(bytes, frame.len, frame.len);
	}
}

/* F8: as short as a frame can be */
static void frame_of_14_bytes_is_no_ip(void **state)
{
	static const uint16_t types[] = { 0x0800, 0x86dd, 0x8100, 0x88a8, 0x8864, 0x0806 };
	uint8_t bytes[14] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 6u; i++) {
		fr_put16(bytes + 12, types[i]);
		for (size_t n = 0; n <= 14u; n++)
			check(bytes, n, n);
	}
}

/* longer than any IP packet: what lies beyond 64 KiB is not looked at */
static void very_long_frames_are_read_like_others(void **state)
{
	size_t len = 300000;
	uint8_t *bytes = calloc(1, len);
	struct vnrx_frame frame = { bytes, (uint32_t)len, (uint32_t)len };
	struct vnrx_dissect d;
	struct frame f;

	(void)state;
	assert_non_null(bytes);
	frame_init6(&f, 0);
	f.payload_len = 65535u - 20u;
	(void)frame_build(&f, bytes);
	vnrx_dissect(&frame, &known, &d);
	assert_int_equal(d.reach, VNRX_REACH_PORTS);
	assert_int_equal(d.pass, VNRX_PASS_TRAILER);
	frame.len = 14u + 40u + 65535u;
	vnrx_dissect(&frame, &known, &d);
	assert_int_equal(d.pass, VNRX_PASS_NOT);
	assert_int_equal(d.ip.end, frame.len);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout_is_read_and_so_is_every_beginning_of_it),
		cmocka_unit_test(any_byte_may_be_anything),
		cmocka_unit_test(random_bytes_behind_a_beginning),
		cmocka_unit_test(every_reason_has_its_packet),
		cmocka_unit_test(extension_headers_are_walked_so_far),
		cmocka_unit_test(frame_of_14_bytes_is_no_ip),
		cmocka_unit_test(very_long_frames_are_read_like_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
