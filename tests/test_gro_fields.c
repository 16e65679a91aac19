/* SPDX-License-Identifier: BSD-3-Clause */
/* Which fields of two packets must agree, one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gro_rig.h"
#include "support/view.h"

typedef void change(struct frame *f);

/* Two segments of a flow that differ by `before` on the first and `after` on the second. */
static void pair(bool v6, change *before, change *after, const char *text)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	if (v6)
		frame_init6(&f, 0);
	else
		frame_init(&f, 0);
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

static void trailer(struct frame *f)
{
	f->trailer = 5;
}

static void no_trailer(struct frame *f)
{
	f->trailer = 0;
}

/* G1 */
static void bytes_behind_a_long_frame_forbid_joining(void **state)
{
	(void)state;
	pair(false, NULL, trailer, "100:order 100:passed");
	pair(true, NULL, trailer, "100:order 100:passed");
	pair(false, trailer, no_trailer, "100:passed 100:flush");
}

static void ext_a(struct frame *f)
{
	f->exts = 1;
	f->ext[0] = (struct frame_ext){ 0, 0, 1 };
}

static void ext_b(struct frame *f)
{
	f->ext[0].fill = 2;
}

static void ext_two(struct frame *f)
{
	f->exts = 2;
	f->ext[0] = (struct frame_ext){ 0, 1, 1 };
	f->ext[1] = (struct frame_ext){ 60, 0, 3 };
}

/* G6 */
static void extension_headers_must_be_identical(void **state)
{
	(void)state;
	pair(true, ext_a, NULL, "200:flush");
	pair(true, ext_two, NULL, "200:flush");
	pair(true, ext_a, ext_b, "100:next 100:flush");
	pair(true, ext_a, ext_two, "100:next 100:flush");
	pair(true, NULL, ext_a, "100:next 100:flush");
}

static void ids(bool df, const unsigned *id, unsigned n, const char *text, bool fixed)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	frame_init(&f, 0);
	f.df = df;
	for (unsigned i = 0; i < n; i++) {
		f.id = (uint16_t)id[i];
		gro_rig_next(rig, &f);
		if (rig->nout == 1u)
			assert_int_equal((rig->last->flags & VNETRX_PKT_ID_FIXED) != 0u, fixed);
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, text);
	gro_rig_free(rig);
}

/* G16, A10, A11, A12 */
static void second_packet_decides_how_ids_go_on(void **state)
{
	static const unsigned rise[] = { 8, 9 }, fixed[] = { 8, 8 }, gap[] = { 8, 10 }, wrap[] = { 65535, 0 };
	static const unsigned rise_fixed[] = { 10, 11, 11 }, fixed_rise[] = { 10, 10, 11 }, back[] = { 8, 7 };
	static const unsigned zero[] = { 0, 0, 0 }, wrap3[] = { 65534, 65535, 0, 1 };

	(void)state;
	for (unsigned df = 0; df < 2u; df++) {
		ids(df != 0u, rise, 2, "200:flush", false);
		ids(df != 0u, fixed, 2, "200:flush", true);
		ids(df != 0u, wrap, 2, "200:flush", false);
		ids(df != 0u, zero, 3, "300:flush", true);
		ids(df != 0u, wrap3, 4, "400:flush", false);
		ids(df != 0u, gap, 2, "100:next 100:flush", false);
		ids(df != 0u, back, 2, "100:next 100:flush", false);
		ids(df != 0u, rise_fixed, 3, "200:next 100:flush", false);
		ids(df != 0u, fixed_rise, 3, "200:next 100:flush", true);
	}
}

static void seq_wrap(struct frame *f)
{
	f->seq = 0xffffffc0u;
}

static void seq_gap(struct frame *f)
{
	f->seq++;
}

static void seq_back(struct frame *f)
{
	f->seq--;
}

/* G39, G35 */
static void sequence_goes_on_across_the_wrap_and_nowhere_else(void **state)
{
	(void)state;
	pair(false, seq_wrap, NULL, "200:flush");
	pair(true, seq_wrap, NULL, "200:flush");
	pair(false, NULL, seq_gap, "100:next 100:flush");
	pair(false, NULL, seq_back, "100:next 100:flush");
}

static void ttl_63(struct frame *f)
{
	f->ttl = 63;
}

static void tos_1(struct frame *f)
{
	f->tos ^= 1u;
}

static void tos_16(struct frame *f)
{
	f->tos ^= 0x10u;
}

static void df_other(struct frame *f)
{
	f->df = !f->df;
}

static void window_other(struct frame *f)
{
	f->window++;
}

static void ack_other(struct frame *f)
{
	f->ack++;
}

static void urg_other(struct frame *f)
{
	f->urg++;
}

static void label_other(struct frame *f)
{
	f->label += 0x10001u;
}

static void smac_other(struct frame *f)
{
	f->smac[5] ^= 0x80u;
}

static void dmac_other(struct frame *f)
{
	f->dmac[0] ^= 0x40u;
}

static void tag(struct frame *f)
{
	f->vlans = 1;
	f->vlan_proto[0] = 0x8100;
	f->vlan_tci[0] = 42;
}

static void tag_pcp(struct frame *f)
{
	f->vlan_tci[0] ^= 0x2000u;
}

static void two_tags(struct frame *f)
{
	f->vlans = 2;
	f->vlan_proto[0] = 0x88a8;
	f->vlan_tci[0] = 10;
	f->vlan_proto[1] = 0x8100;
	f->vlan_tci[1] = 20;
}

static void tag_proto(struct frame *f)
{
	f->vlan_proto[0] = 0x8100;
}

/* G37, G40, A2, A3, A7 and every other field that must agree */
static void any_other_header_field_keeps_packets_apart(void **state)
{
	static change *const both[] = { ttl_63,    tos_1,      tos_16,     window_other, ack_other,
					urg_other, smac_other, dmac_other, tag };

	(void)state;
	for (unsigned i = 0; i < sizeof(both) / sizeof(both[0]); i++) {
		pair(false, NULL, both[i], "100:next 100:flush");
		pair(true, NULL, both[i], "100:next 100:flush");
	}
	pair(false, NULL, df_other, "100:next 100:flush");
	pair(true, NULL, label_other, "100:next 100:flush");
	pair(false, tag, tag_pcp, "100:next 100:flush");
	pair(false, two_tags, tag_proto, "100:next 100:flush");
}

static void tagged_segments_join_under_equal_tags(void **state)
{
	(void)state;
	pair(false, tag, NULL, "200:flush");
	pair(true, tag, NULL, "200:flush");
	pair(false, two_tags, NULL, "200:flush");
	pair(true, two_tags, NULL, "200:flush");
}

static void urg_pointer(struct frame *f)
{
	f->urg = 9;
}

static void equal_fields_of_any_value_join(void **state)
{
	static change *const same[] = { ttl_63, tos_1, window_other, urg_pointer, df_other };

	(void)state;
	for (unsigned i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		pair(false, same[i], NULL, "200:flush");
	pair(true, label_other, NULL, "200:flush");
}

/* Headers of one length but of other layers: a tag more and options less, and the other way. Nothing behind the packet,
 * which ends one byte after its headers, may be read (AddressSanitizer sees it). */
static void equal_header_lengths_of_other_layers_stay_apart(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		for (unsigned first = 0; first < 2u; first++) {
			for (unsigned i = 0; i < 2u; i++) {
				if (v6 != 0u)
					frame_init6(&f, 0);
				else
					frame_init(&f, 0);
				f.payload_len = 2u - i;
				f.seq += i * 2u;
				f.id += (uint16_t)i;
				memset(f.opts, 1, sizeof(f.opts));
				f.opts_len = i == first ? 40 : 32;
				f.vlans = i == first ? 0 : 2;
				f.vlan_proto[0] = f.vlan_proto[1] = 0x8100;
				gro_rig_frame(rig, &f);
			}
			gro_rig_flush(rig);
			gro_rig_expect(rig, "2:next 1:flush");
		}
	}
	gro_rig_free(rig);
}

/* law 5: the device makes the held header say what the next packet's says; offsets still come from the record */
static void held_header_that_changes_moves_no_offset(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct vnetrx_pktq out = { NULL, NULL, 0 };
	struct vnetrx_pkt *first, *second;
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.opts_len = 40;
	memset(f.opts, 1, sizeof(f.opts));
	f.payload_len = 2;
	first = gro_rig_made(rig, &f, 0, VNETRX_PKT_CSUM_OK);
	vnetrx_gro_receive(rig->gro, &first, 1, 0, &out);
	first->data[14 + 20 + 12] = 0xd0; /* 32 bytes of options */
	f.opts_len = 32;
	f.seq += 2;
	f.id++;
	f.payload_len = 1;
	f.vlans = 2;
	f.vlan_proto[0] = f.vlan_proto[1] = 0x8100;
	second = gro_rig_made(rig, &f, 0, VNETRX_PKT_CSUM_OK);
	vnetrx_gro_receive(rig->gro, &second, 1, 0, &out);
	vnetrx_gro_flush(rig->gro, &out);
	assert_int_equal(out.count, 2);
	gro_rig_free(rig);
}

static void extension_headers_that_appear_end_the_packet(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init6(&f, 0);
	gro_rig_train(rig, &f, 2);
	f.exts = 1;
	f.ext[0] = (struct frame_ext){ .type = 60, .len8 = 0, .fill = 0 };
	gro_rig_train(rig, &f, 2);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:next 200:flush");
	gro_rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_behind_a_long_frame_forbid_joining),
		cmocka_unit_test(extension_headers_must_be_identical),
		cmocka_unit_test(second_packet_decides_how_ids_go_on),
		cmocka_unit_test(sequence_goes_on_across_the_wrap_and_nowhere_else),
		cmocka_unit_test(any_other_header_field_keeps_packets_apart),
		cmocka_unit_test(tagged_segments_join_under_equal_tags),
		cmocka_unit_test(equal_fields_of_any_value_join),
		cmocka_unit_test(equal_header_lengths_of_other_layers_stay_apart),
		cmocka_unit_test(held_header_that_changes_moves_no_offset),
		cmocka_unit_test(extension_headers_that_appear_end_the_packet),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
