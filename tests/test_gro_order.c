/* SPDX-License-Identifier: BSD-3-Clause */
/* What never joins keeps its place: nothing of a flow overtakes, nothing of a flow is overtaken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gro_rig.h"

typedef void change(struct frame *f);

/* Three segments of a flow, the middle one changed. */
static void middle(bool v6, change *how, const char *text)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;
	struct frame odd;

	if (v6)
		frame_init6(&f, 0);
	else
		frame_init(&f, 0);
	gro_rig_next(rig, &f);
	odd = f;
	how(&odd);
	gro_rig_frame(rig, &odd);
	f.seq += 100;
	f.id++;
	gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, text);
	gro_rig_free(rig);
}

static void ip_option(struct frame *f)
{
	f->ip_opts_len = 4;
	memcpy(f->ip_opts, "\x94\x04\x00\x00", 4);
}

static void bad_ip_csum(struct frame *f)
{
	f->bad_ip_csum = true;
}

static void bad_l4_csum(struct frame *f)
{
	f->bad_l4_csum = true;
}

static void first_fragment(struct frame *f)
{
	f->mf = true;
	f->df = false;
}

static void last_fragment(struct frame *f)
{
	f->frag_off = 100;
	f->df = false;
}

static void reserved_flag(struct frame *f)
{
	f->evil = true;
}

static void other_label(struct frame *f)
{
	f->label = 7;
}

static void other_label_push(struct frame *f)
{
	f->label = 7;
	f->flags |= FR_PSH;
}

static void other_priority(struct frame *f)
{
	f->vlans = 1;
	f->vlan_proto[0] = 0x8100;
	f->vlan_tci[0] = 0xe000;
}

static void other_priority_push(struct frame *f)
{
	other_priority(f);
	f->flags |= FR_PSH;
}

static void fragment6(struct frame *f)
{
	f->exts = 1;
	f->ext[0] = (struct frame_ext){ 44, 0, 0 };
	f->mf = true;
}

static void atomic_fragment6(struct frame *f)
{
	fragment6(f);
	f->mf = false;
}

static void esp6(struct frame *f)
{
	f->exts = 1;
	f->ext[0] = (struct frame_ext){ 50, 0, 0x11 };
}

static void ah6(struct frame *f)
{
	f->exts = 1;
	f->ext[0] = (struct frame_ext){ 51, 0, 0x11 };
}

static void icmp(struct frame *f)
{
	f->proto = FR_ICMP;
}

static void gre(struct frame *f)
{
	f->proto = 47;
}

static void esp(struct frame *f)
{
	f->proto = 50;
}

/* G28, G29, G30, G35, G37, G38, A1, A4, A16, A17, B10, F6 */
static void refused_packet_keeps_its_place(void **state)
{
	(void)state;
	middle(false, ip_option, "100:order 100:passed 100:flush");
	middle(false, bad_ip_csum, "100:order 100:passed 100:flush");
	middle(false, bad_l4_csum, "100:order 100:passed 100:flush");
	middle(true, bad_l4_csum, "100:order 100:passed 100:flush");
	middle(false, first_fragment, "100:order -:passed 100:flush");
	middle(false, last_fragment, "100:order -:passed 100:flush");
	middle(false, reserved_flag, "100:order -:passed 100:flush");
	middle(true, fragment6, "100:order -:passed 100:flush");
	middle(true, atomic_fragment6, "100:order -:passed 100:flush");
	middle(true, other_label, "100:next 100:next 100:flush");
	middle(true, other_label_push, "100:next 100:passed 100:flush");
	middle(false, other_priority, "100:next 100:next 100:flush");
	middle(false, other_priority_push, "100:next 100:passed 100:flush");
}

/* F6, and what else hides the ports */
static void packet_without_ports_pushes_out_its_address_pair(void **state)
{
	(void)state;
	middle(false, icmp, "100:order -:passed 100:flush");
	middle(false, gre, "100:order -:passed 100:flush");
	middle(false, esp, "100:order -:passed 100:flush");
	middle(true, esp6, "100:order -:passed 100:flush");
	middle(true, ah6, "100:order -:passed 100:flush");
}

/* law 2: the pair means all its flows, in this direction, and nothing else */
static void fragment_spares_other_addresses(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	for (unsigned flow = 0; flow < 3u; flow++) {
		frame_init(&f, flow);
		gro_rig_frame(rig, &f);
	}
	f.dst[3] = 9;
	gro_rig_frame(rig, &f);
	frame_init(&f, 0);
	memcpy(f.src, f.dst, 4);
	f.dst[3] = 1;
	gro_rig_frame(rig, &f);
	gro_rig_expect(rig, "");
	frame_init(&f, 7);
	f.frag_off = 3;
	f.df = false;
	gro_rig_frame(rig, &f);
	gro_rig_expect(rig, "100:order 100:order 100:order -:passed");
	assert_int_equal(vnetrx_gro_held(rig->gro), 2);
	gro_rig_free(rig);
}

static void other_flows_stay_when_one_is_pushed_out(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame a, b;

	(void)state;
	frame_init(&a, 1);
	frame_init(&b, 2);
	gro_rig_next(rig, &a);
	gro_rig_next(rig, &b);
	a.flags |= FR_RST;
	gro_rig_next(rig, &a);
	gro_rig_expect(rig, "100:order 100:passed");
	gro_rig_next(rig, &b);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:flush");
	gro_rig_free(rig);
}

static void udp_of_the_same_ports_pushes_nothing_out(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	gro_rig_next(rig, &f);
	f.proto = FR_UDP;
	gro_rig_frame(rig, &f);
	gro_rig_expect(rig, "-:passed");
	f.proto = FR_TCP;
	gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:flush");
	gro_rig_free(rig);
}

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
		pkt = gro_rig_pkt(rig, bytes, frame_build(&f, bytes), 0, in_frame ? 0u : VNETRX_PKT_VLAN);
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

/* G41 */
static void packet_merged_by_the_device_passes_in_order(void **state)
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
	gro_rig_expect(rig, "100:order 1000:passed");
	assert_int_equal(rig->last->gso_size, 100);
	assert_int_equal(rig->last->segs, 10);
	assert_int_equal(rig->last->flags & VNETRX_PKT_MERGED, 0);
	gro_rig_free(rig);
	free(bytes);
}

/* G35, A18 */
static void options_are_compared_byte_by_byte(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	frame_timestamp(&f, 1000, 1);
	gro_rig_next(rig, &f);
	gro_rig_next(rig, &f);
	frame_timestamp(&f, 1100, 1);
	gro_rig_next(rig, &f);
	memmove(f.opts, f.opts + 2, 10);
	f.opts[10] = f.opts[11] = 1;
	gro_rig_next(rig, &f);
	f.opts_len = 4;
	memcpy(f.opts, "\x03\x03\x07\x01", 4);
	gro_rig_next(rig, &f);
	f.opts_len = 0;
	gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:next 100:next 100:next 100:next 100:flush");
	gro_rig_free(rig);
}

/* G8, B5: one FIFO */
static void passed_packet_of_the_flow_leaves_before_what_came_later(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 0;
	gro_rig_frame(rig, &f);
	f.payload_len = 100;
	gro_rig_next(rig, &f);
	f.flags |= FR_PSH;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "0:passed 200:push");
	gro_rig_free(rig);
}

/* G23, C8: nothing of an earlier packet sticks to the merged one */
static void merged_packet_keeps_what_the_device_said_of_its_first_segment(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	uint8_t bytes[512];
	struct frame f;

	(void)state;
	frame_init(&f, 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_packet_keeps_its_place),
		cmocka_unit_test(packet_without_ports_pushes_out_its_address_pair),
		cmocka_unit_test(fragment_spares_other_addresses),
		cmocka_unit_test(other_flows_stay_when_one_is_pushed_out),
		cmocka_unit_test(udp_of_the_same_ports_pushes_nothing_out),
		cmocka_unit_test(impossible_data_offsets_pass),
		cmocka_unit_test(frames_cut_at_any_byte_pass_in_order),
		cmocka_unit_test(split_headers_lose_nothing),
		cmocka_unit_test(deep_tags_pass),
		cmocka_unit_test(frames_that_are_no_ip_pass),
		cmocka_unit_test(device_verified_checksum_is_not_looked_at_again),
		cmocka_unit_test(half_done_checksum_counts_as_verified),
		cmocka_unit_test(stripped_tag_differs_from_one_in_the_frame),
		cmocka_unit_test(packet_merged_by_the_device_passes_in_order),
		cmocka_unit_test(options_are_compared_byte_by_byte),
		cmocka_unit_test(passed_packet_of_the_flow_leaves_before_what_came_later),
		cmocka_unit_test(merged_packet_keeps_what_the_device_said_of_its_first_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
