/* SPDX-License-Identifier: BSD-3-Clause */
/* UDP: trains of datagrams of one size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/gro_rig.h"
#include "support/reseg.h"

#define UDP_ON (VNETRX_GRO_TCP | VNETRX_GRO_UDP | VNETRX_GRO_TUNNEL)

typedef void change(struct frame *f);

static void udp_init(struct frame *f, bool v6)
{
	if (v6)
		frame_init6(f, 0);
	else
		frame_init(f, 0);
	frame_udp(f);
}

static struct gro_rig *rig_new(uint32_t flags)
{
	struct vnetrx_gro_config cfg = { .protos = UDP_ON, .flags = flags };

	return gro_rig_new(&cfg);
}

static void sizes(const unsigned *size, unsigned n, const char *text)
{
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		struct gro_rig *rig = rig_new(0);
		struct frame f;

		udp_init(&f, v6 != 0u);
		for (unsigned i = 0; i < n; i++) {
			f.payload_len = size[i];
			gro_rig_next(rig, &f);
		}
		gro_rig_flush(rig);
		gro_rig_expect(rig, text);
		gro_rig_free(rig);
	}
}

/* G11, B13 */
static void equal_datagrams_join_and_a_shorter_one_ends_the_train(void **state)
{
	(void)state;
	sizes((const unsigned[]){ 1000, 1000, 1000 }, 3, "3000:flush");
	sizes((const unsigned[]){ 1000, 1000, 1200 }, 3, "2000:next 1200:flush");
	sizes((const unsigned[]){ 1000, 600, 1000 }, 3, "1600:short 1000:flush");
	sizes((const unsigned[]){ 1000, 600, 600 }, 3, "1600:short 600:flush");
	sizes((const unsigned[]){ 1280, 1280, 100, 1280, 1280 }, 5, "2660:short 2560:flush");
	sizes((const unsigned[]){ 1, 1, 1 }, 3, "3:flush");
}

static void train_describes_itself(void **state)
{
	struct gro_rig *rig = rig_new(0);
	struct frame f;

	(void)state;
	udp_init(&f, false);
	gro_rig_train(rig, &f, 2);
	f.payload_len = 60;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "260:short");
	assert_int_equal(rig->last->segs, 3);
	assert_int_equal(rig->last->gso_size, 100);
	assert_int_equal(rig->last->hdr_len, 42);
	assert_int_equal(rig->last->gso_type, VNETRX_GSO_UDP_L4);
	assert_int_equal(rig->last->flags, VNETRX_PKT_MERGED | VNETRX_PKT_UDP | VNETRX_PKT_PARTIAL);
	assert_int_equal(fr_get16(rig->bytes + 16), 288);
	assert_int_equal(fr_get16(rig->bytes + 38), 268);
	gro_rig_free(rig);
}

static void train_has_checksum_bytes_on_request(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		struct gro_rig *rig = rig_new(VNETRX_GRO_CSUM_BYTES);
		struct frame f;

		udp_init(&f, v6 != 0u);
		f.payload_len = 101;
		gro_rig_train(rig, &f, 2);
		f.payload_len = 33;
		gro_rig_next(rig, &f);
		gro_rig_expect(rig, "235:short");
		assert_int_equal(rig->last->flags & (VNETRX_PKT_PARTIAL | VNETRX_PKT_CSUM_OK), VNETRX_PKT_CSUM_OK);
		gro_rig_free(rig);
	}
}

/* Two datagrams of two bytes, the second's being `word`; returns the checksum of both. */
static uint32_t sum_with(struct gro_rig *rig, uint32_t word)
{
	uint8_t bytes[64];
	struct frame f;

	udp_init(&f, false);
	f.payload_len = 2;
	gro_rig_next(rig, &f);
	(void)frame_build(&f, bytes);
	fr_put16(bytes + 42, word);
	reseg_csum(NULL, bytes, 44);
	gro_rig_put(rig, gro_rig_pkt(rig, bytes, 44, 0, 0));
	gro_rig_flush(rig);
	gro_rig_expect(rig, "4:flush");
	return fr_get16(rig->bytes + 40);
}

/* RFC 768: a sum of zero is written as all ones, for zero says that there is none */
static void checksum_that_comes_out_as_zero_is_written_as_all_ones(void **state)
{
	struct gro_rig *rig = rig_new(VNETRX_GRO_CSUM_BYTES);
	uint32_t word = sum_with(rig, 0);

	(void)state;
	assert_int_equal(sum_with(rig, word), 0xffff);
	gro_rig_free(rig);
}

/* G12, C2 */
static void empty_and_lying_datagrams_pass(void **state)
{
	struct gro_rig *rig = rig_new(0);
	struct frame f;

	(void)state;
	udp_init(&f, false);
	f.payload_len = 0;
	gro_rig_train(rig, &f, 2);
	gro_rig_expect(rig, "0:passed 0:passed");
	f.payload_len = 100;
	gro_rig_next(rig, &f);
	f.udp_len_delta = -12;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "100:order 100:passed");
	f.udp_len_delta = 1;
	gro_rig_next(rig, &f);
	f.udp_len_delta = -101;
	gro_rig_next(rig, &f);
	f.udp_len_delta = 0;
	f.ip_len_delta = 1;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "100:passed 100:passed 100:passed");
	gro_rig_free(rig);
}

/* C1, C2, G1 */
static void ethernet_padding_never_becomes_payload(void **state)
{
	struct gro_rig *rig = rig_new(0);
	struct frame f;

	(void)state;
	udp_init(&f, false);
	f.pad = true;
	f.payload_len = 3;
	gro_rig_train(rig, &f, 2);
	f.payload_len = 1;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "7:short");
	gro_rig_free(rig);
}

static void two(bool v6, uint32_t flags, change *before, change *after, const char *text)
{
	struct gro_rig *rig = rig_new(flags);
	struct frame f;

	udp_init(&f, v6);
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

static void ttl_63(struct frame *f)
{
	f->ttl = 63;
}

static void tos_ce(struct frame *f)
{
	f->tos = 3;
}

static void df_other(struct frame *f)
{
	f->df = !f->df;
}

static void id_far(struct frame *f)
{
	f->id = 77;
}

static void label_other(struct frame *f)
{
	f->label = 5;
}

static void smac_other(struct frame *f)
{
	f->smac[0] ^= 4u;
}

static void tag(struct frame *f)
{
	f->vlans = 1;
	f->vlan_proto[0] = 0x8100;
	f->vlan_tci[0] = 7;
}

static void no_csum(struct frame *f)
{
	f->no_csum = true;
}

static void with_csum(struct frame *f)
{
	f->no_csum = false;
}

static void bad_csum(struct frame *f)
{
	f->bad_l4_csum = true;
}

static void port_other(struct frame *f)
{
	f->dport++;
}

/* G14, A7 */
static void any_other_header_field_keeps_datagrams_apart(void **state)
{
	static change *const both[] = { ttl_63, tos_ce, smac_other, tag };
	static change *const only4[] = { df_other, id_far };

	(void)state;
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		for (unsigned i = 0; i < 4u; i++) {
			two(v6 != 0u, 0, NULL, both[i], "100:next 100:flush");
			two(v6 != 0u, 0, both[i], NULL, "200:flush");
		}
		two(v6 != 0u, 0, NULL, port_other, "100:flush 100:flush");
	}
	for (unsigned i = 0; i < 2u; i++)
		two(false, 0, NULL, only4[i], "100:next 100:flush");
	two(true, 0, NULL, label_other, "100:next 100:flush");
}

/* A6 */
static void datagrams_without_checksum_join_only_where_asked(void **state)
{
	(void)state;
	two(false, 0, no_csum, NULL, "100:passed 100:passed");
	two(false, VNETRX_GRO_UDP_ZERO, no_csum, NULL, "200:flush");
	two(true, VNETRX_GRO_UDP_ZERO, no_csum, NULL, "100:passed 100:passed");
	two(false, VNETRX_GRO_UDP_ZERO, NULL, no_csum, "100:next 100:flush");
	two(false, VNETRX_GRO_UDP_ZERO, no_csum, with_csum, "100:next 100:flush");
	two(false, 0, NULL, no_csum, "100:order 100:passed");
	two(true, VNETRX_GRO_UDP_ZERO, NULL, no_csum, "100:order 100:passed");
}

static void train_without_checksum_stays_without(void **state)
{
	for (unsigned i = 0; i < 2u; i++) {
		struct gro_rig *rig = rig_new(VNETRX_GRO_UDP_ZERO | (i != 0u ? VNETRX_GRO_CSUM_BYTES : 0u));
		struct frame f;

		(void)state;
		udp_init(&f, false);
		f.no_csum = true;
		gro_rig_train(rig, &f, 3);
		gro_rig_flush(rig);
		gro_rig_expect(rig, "300:flush");
		assert_int_equal(fr_get16(rig->bytes + 40), 0);
		assert_int_equal(rig->last->flags & (VNETRX_PKT_PARTIAL | VNETRX_PKT_CSUM_OK), 0);
		gro_rig_free(rig);
	}
}

static void datagram_with_a_wrong_checksum_keeps_its_place(void **state)
{
	(void)state;
	two(false, 0, NULL, bad_csum, "100:order 100:passed");
	two(true, 0, NULL, bad_csum, "100:order 100:passed");
}

/* a device that owes the checksum has the pseudo-header's sum in the field, which is never zero */
static void half_done_checksum_of_zero_is_refused(void **state)
{
	for (unsigned zero = 0; zero < 2u; zero++) {
		struct gro_rig *rig = rig_new(VNETRX_GRO_UDP_ZERO);
		struct frame f;

		(void)state;
		udp_init(&f, false);
		f.partial = zero == 0u;
		f.no_csum = zero != 0u;
		for (unsigned i = 0; i < 2u; i++) {
			struct vnetrx_pkt *pkt = gro_rig_made(rig, &f, 0, VNETRX_PKT_PARTIAL);

			pkt->csum_start = 34;
			pkt->csum_offset = 6;
			gro_rig_put(rig, pkt);
			f.seq += 100;
			f.id++;
		}
		gro_rig_flush(rig);
		gro_rig_expect(rig, zero == 0u ? "200:flush" : "100:passed 100:passed");
		gro_rig_free(rig);
	}
}

/* C10 to C14: whoever cuts again needs room for 64 at most, and always gets whole ones */
static void train_has_at_most_64_datagrams(void **state)
{
	struct vnetrx_gro_config cfg = { .protos = UDP_ON, .segs_max = 1000 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	udp_init(&f, false);
	f.payload_len = 10;
	gro_rig_train(rig, &f, 65);
	gro_rig_expect(rig, "640:full");
	assert_int_equal(rig->last->segs, 64);
	gro_rig_free(rig);
}

static void train_ends_before_its_length_field_does(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		struct vnetrx_gro_config cfg = { .protos = UDP_ON, .bytes_max = 524280 };
		struct gro_rig *rig = gro_rig_new(&cfg);
		struct frame f;

		udp_init(&f, v6 != 0u);
		f.payload_len = v6 != 0u ? 3118 : 3119; /* 21 times: 65527 and 65535 with the headers */
		gro_rig_train(rig, &f, 22);
		gro_rig_expect(rig, v6 != 0u ? "65478:full" : "65499:full");
		gro_rig_free(rig);
	}
}

/* second datagram decides, as for TCP: G16 */
static void ids_go_on_as_they_began(void **state)
{
	struct gro_rig *rig = rig_new(0);
	struct frame f;

	(void)state;
	udp_init(&f, false);
	gro_rig_train(rig, &f, 3);
	gro_rig_flush(rig);
	assert_int_equal(rig->last->flags & VNETRX_PKT_ID_FIXED, 0);
	for (unsigned i = 0; i < 3u; i++)
		gro_rig_frame(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "300:flush 300:flush");
	assert_true((rig->last->flags & VNETRX_PKT_ID_FIXED) != 0u);
	gro_rig_free(rig);
}

static void without_being_asked_nothing_of_udp_is_held(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f, t;

	(void)state;
	udp_init(&f, false);
	frame_init(&t, 0);
	gro_rig_next(rig, &t);
	gro_rig_train(rig, &f, 3);
	gro_rig_next(rig, &t);
	gro_rig_expect(rig, "100:passed 100:passed 100:passed");
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:flush");
	assert_int_equal(gro_rig_stats(rig).pass_off, 3);
	gro_rig_free(rig);
}

/* TCP and UDP between the same ports are two flows */
static void udp_and_tcp_of_the_same_ports_are_held_side_by_side(void **state)
{
	struct gro_rig *rig = rig_new(0);
	struct frame f, t;

	(void)state;
	udp_init(&f, false);
	frame_init(&t, 0);
	for (unsigned i = 0; i < 3u; i++) {
		gro_rig_next(rig, &t);
		gro_rig_next(rig, &f);
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, "300:flush 300:flush");
	gro_rig_free(rig);
}

static void fragments_push_the_train_out(void **state)
{
	struct gro_rig *rig = rig_new(0);
	struct frame f;

	(void)state;
	udp_init(&f, false);
	gro_rig_train(rig, &f, 2);
	f.mf = true;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "200:order -:passed");
	gro_rig_free(rig);
}

static void version_5(uint8_t *bytes)
{
	bytes[14] = (uint8_t)(bytes[14] % 16u + 0x50u);
}

static void next_tcp(uint8_t *bytes)
{
	bytes[20] = 6;
}

static void len_7(uint8_t *bytes)
{
	fr_put16(bytes + 18, 7);
}

static void type_arp(uint8_t *bytes)
{
	fr_put16(bytes + 12, 0x0806);
}

/* Behind one that is plain, in one call: what cannot take the shortest way up. */
static void behind_a_plain_one(struct gro_rig *rig, const struct frame *f, struct vnetrx_pkt *pkt)
{
	struct vnetrx_pktq out = { NULL, NULL, 0 };
	struct vnetrx_pkt *pkts[2] = { gro_rig_made(rig, f, 0, 0), pkt };

	vnetrx_gro_receive(rig->gro, pkts, 2, 0, &out);
	assert_int_equal(out.count, 2);
	assert_ptr_equal(out.first, pkts[0]);
	assert_ptr_equal(out.last, pkt);
}

static void udp_that_is_not_plain_passes_as_well_where_none_is_merged(void **state)
{
	static void (*const spoil[])(uint8_t *) = { version_5, next_tcp, len_7, type_arp };
	struct gro_rig *rig = gro_rig_new(NULL);
	uint8_t bytes[512];
	struct frame f, part;

	(void)state;
	udp_init(&f, true);
	for (unsigned i = 0; i < sizeof(spoil) / sizeof(spoil[0]); i++) {
		size_t len = frame_build(&f, bytes);

		spoil[i](bytes);
		behind_a_plain_one(rig, &f, gro_rig_pkt(rig, bytes, len, 0, 0));
	}
	udp_init(&f, false);
	part = f;
	part.ip_len_delta = -103; /* 25 bytes: no room for a UDP header */
	behind_a_plain_one(rig, &f, gro_rig_made(rig, &part, 0, 0));
	part = f;
	part.mf = true; /* a first fragment has its ports, and is none of a flow */
	behind_a_plain_one(rig, &f, gro_rig_made(rig, &part, 0, 0));
	part.mf = false;
	part.frag_off = 1;
	behind_a_plain_one(rig, &f, gro_rig_made(rig, &part, 0, 0));
	gro_rig_free(rig);
}

/* In one call, so that the train is recognised as going on. */
static void datagram_without_checksum_ends_a_train_within_a_batch(void **state)
{
	struct gro_rig *rig = rig_new(VNETRX_GRO_UDP_ZERO);
	struct vnetrx_pktq out = { NULL, NULL, 0 };
	struct vnetrx_pkt *pkts[40];
	struct frame f;

	(void)state;
	udp_init(&f, false);
	for (unsigned i = 0; i < 40u; i++) {
		f.no_csum = i == 39u;
		pkts[i] = gro_rig_made(rig, &f, 0, VNETRX_PKT_CSUM_OK);
		f.seq += f.payload_len;
		f.id++;
	}
	vnetrx_gro_receive(rig->gro, pkts, 40, 0, &out);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.first->segs, 39);
	vnetrx_gro_flush(rig->gro, &out);
	assert_int_equal(out.count, 2);
	assert_int_equal(out.last->segs, 1);
	gro_rig_free(rig);
}

static void longer(struct frame *f)
{
	f->exts = 1;
	f->ext[0] = (struct frame_ext){ .type = 60, .len8 = 0, .fill = 0 };
}

static void session(struct frame *f)
{
	f->pppoe = true;
}

static void extension_headers_and_sessions_that_appear_end_the_train(void **state)
{
	(void)state;
	two(true, 0, NULL, longer, "100:next 100:flush");
	two(true, 0, longer, NULL, "200:flush");
	two(false, 0, NULL, session, "100:next 100:flush");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_datagrams_join_and_a_shorter_one_ends_the_train),
		cmocka_unit_test(train_describes_itself),
		cmocka_unit_test(train_has_checksum_bytes_on_request),
		cmocka_unit_test(checksum_that_comes_out_as_zero_is_written_as_all_ones),
		cmocka_unit_test(empty_and_lying_datagrams_pass),
		cmocka_unit_test(ethernet_padding_never_becomes_payload),
		cmocka_unit_test(any_other_header_field_keeps_datagrams_apart),
		cmocka_unit_test(datagrams_without_checksum_join_only_where_asked),
		cmocka_unit_test(train_without_checksum_stays_without),
		cmocka_unit_test(datagram_with_a_wrong_checksum_keeps_its_place),
		cmocka_unit_test(half_done_checksum_of_zero_is_refused),
		cmocka_unit_test(train_has_at_most_64_datagrams),
		cmocka_unit_test(train_ends_before_its_length_field_does),
		cmocka_unit_test(ids_go_on_as_they_began),
		cmocka_unit_test(without_being_asked_nothing_of_udp_is_held),
		cmocka_unit_test(udp_and_tcp_of_the_same_ports_are_held_side_by_side),
		cmocka_unit_test(fragments_push_the_train_out),
		cmocka_unit_test(udp_that_is_not_plain_passes_as_well_where_none_is_merged),
		cmocka_unit_test(datagram_without_checksum_ends_a_train_within_a_batch),
		cmocka_unit_test(extension_headers_and_sessions_that_appear_end_the_train),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
