/* SPDX-License-Identifier: BSD-3-Clause */
/* PPPoE sessions: the length goes with the packet, everything else must be equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/gro_rig.h"

typedef void change(struct frame *f);

static void session_init(struct frame *f, bool v6)
{
	if (v6)
		frame_init6(f, 0);
	else
		frame_init(f, 0);
	f->pppoe = true;
	f->session = 0x1234;
}

static struct gro_rig *rig_new(const struct vnetrx_gro_config *cfg)
{
	NEEDS_PPPOE();
	return gro_rig_new(cfg);
}

static void two(bool v6, change *before, change *after, const char *text)
{
	struct gro_rig *rig = rig_new(NULL);
	struct frame f;

	session_init(&f, v6);
	if (before != NULL)
		before(&f);
	gro_rig_next(rig, &f);
	if (after != NULL)
		after(&f);
	gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, text);
	gro_rig_free(rig);
}

static void tag(struct frame *f)
{
	f->vlans = 1;
	f->vlan_proto[0] = 0x8100;
	f->vlan_tci[0] = 35;
}

static void other_session(struct frame *f)
{
	f->session++;
}

static void no_session(struct frame *f)
{
	f->pppoe = false;
}

static void segments_of_a_session_join(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		two(v6 != 0u, NULL, NULL, "200:flush");
		two(v6 != 0u, tag, NULL, "200:flush");
		two(v6 != 0u, NULL, other_session, "100:next 100:flush");
		two(v6 != 0u, NULL, tag, "100:next 100:flush");
		two(v6 != 0u, NULL, no_session, "100:next 100:flush");
		two(v6 != 0u, no_session, NULL, "200:flush");
	}
}

static void datagrams_of_a_session_join(void **state)
{
	struct vnetrx_gro_config cfg = { .protos = VNETRX_GRO_UDP };
	struct gro_rig *rig = rig_new(&cfg);
	struct frame f;

	(void)state;
	session_init(&f, true);
	frame_udp(&f);
	gro_rig_train(rig, &f, 4);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "400:flush");
	gro_rig_free(rig);
}

static void merged_packet_has_the_length_of_all(void **state)
{
	struct gro_rig *rig = rig_new(NULL);
	struct frame f;

	(void)state;
	session_init(&f, false);
	gro_rig_train(rig, &f, 3);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "300:flush");
	assert_int_equal(fr_get16(rig->bytes + 18), 342); /* and two for the PPP protocol */
	assert_int_equal(fr_get16(rig->bytes + 24), 340);
	assert_int_equal(rig->last->l3_off, 22);
	gro_rig_free(rig);
}

static void length_that_contradicts_ip_passes(void **state)
{
	struct gro_rig *rig = rig_new(NULL);
	struct frame f;

	(void)state;
	session_init(&f, false);
	gro_rig_next(rig, &f);
	f.pppoe_len_delta = 1;
	gro_rig_next(rig, &f);
	f.pppoe_len_delta = -2;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "100:order 100:passed 100:passed");
	assert_int_equal(gro_rig_stats(rig).pass_cut, 2);
	gro_rig_free(rig);
}

static void padding_goes_as_elsewhere(void **state)
{
	struct gro_rig *rig = rig_new(NULL);
	struct frame f;

	(void)state;
	session_init(&f, false);
	gro_rig_next(rig, &f);
	f.payload_len = 9;
	f.pad = true; /* 62 bytes: no room for any */
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "109:short");
	f.pad = false;
	f.payload_len = 100;
	gro_rig_next(rig, &f);
	f.trailer = 1;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "100:order 100:passed");
	gro_rig_free(rig);
}

/* discovery, link control, other versions: no addresses in there */
static void what_is_no_ip_session_passes(void **state)
{
	struct gro_rig *rig = rig_new(NULL);
	struct frame f;

	(void)state;
	session_init(&f, false);
	f.pppoe_code = 9;
	gro_rig_next(rig, &f);
	f.pppoe_code = 0;
	f.ppp = 0xc021;
	gro_rig_next(rig, &f);
	f.ppp = 0x0057; /* IPv6 is announced, but IPv4 comes */
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "-:passed -:passed -:passed");
	assert_int_equal(gro_rig_stats(rig).pass_not_ip, 2);
	assert_int_equal(gro_rig_stats(rig).pass_cut, 1);
	gro_rig_free(rig);
}

/* the length has 16 bits and counts two bytes more than IP's; BIG TCP does not change that */
static void packet_ends_before_its_length_field_does(void **state)
{
	struct vnetrx_gro_config cfg = { .bytes_max = 524280, .segs_max = 1000 };
	struct gro_rig *rig = rig_new(&cfg);
	struct frame f;

	(void)state;
	session_init(&f, false);
	f.payload_len = 1400; /* 40 + 46 * 1400 = 64440, 1093 more fit */
	gro_rig_train(rig, &f, 46);
	f.payload_len = 1093;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "65493:short");
	assert_int_equal(fr_get16(rig->bytes + 18), 65535);
	f.payload_len = 1400;
	gro_rig_train(rig, &f, 46);
	f.payload_len = 1094;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "64400:full");
	gro_rig_free(rig);
}

static void session_around_a_tunnel_joins(void **state)
{
	struct gro_rig *rig = rig_new(NULL);
	struct frame_tunnel t;
	struct frame f;

	(void)state;
	for (unsigned kind = 0; kind < FR_TUNNELS; kind++) {
		frame_tunnel_init(&t, kind, false);
		frame_init(&f, 0);
		f.tunnel = &t;
		t.outer.pppoe = true;
		t.outer.session = 7;
		gro_rig_train(rig, &f, 3);
		gro_rig_flush(rig);
		gro_rig_expect(rig, "300:flush");
	}
	gro_rig_free(rig);
}

#ifdef VNRX_TCP_ONLY
/* -Dgro=tcp: it is read, so that it overtakes nothing of its flow */
static void session_passes_in_order_where_only_tcp_was_built_in(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		session_init(&f, v6 != 0u);
		f.pppoe = false;
		gro_rig_train(rig, &f, 2);
		f.pppoe = true;
		gro_rig_train(rig, &f, 2);
		gro_rig_expect(rig, "200:order 100:passed 100:passed");
	}
	assert_int_equal(gro_rig_stats(rig).pass_off, 4);
	gro_rig_free(rig);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef VNRX_TCP_ONLY
		cmocka_unit_test(session_passes_in_order_where_only_tcp_was_built_in),
#endif
		cmocka_unit_test(segments_of_a_session_join),
		cmocka_unit_test(datagrams_of_a_session_join),
		cmocka_unit_test(merged_packet_has_the_length_of_all),
		cmocka_unit_test(length_that_contradicts_ip_passes),
		cmocka_unit_test(padding_goes_as_elsewhere),
		cmocka_unit_test(what_is_no_ip_session_passes),
		cmocka_unit_test(packet_ends_before_its_length_field_does),
		cmocka_unit_test(session_around_a_tunnel_joins),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
