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
	gro_rig_expect(rig, "100:passed");
	f.proto = FR_TCP;
	gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:flush");
	gro_rig_free(rig);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_packet_keeps_its_place),
		cmocka_unit_test(packet_without_ports_pushes_out_its_address_pair),
		cmocka_unit_test(fragment_spares_other_addresses),
		cmocka_unit_test(other_flows_stay_when_one_is_pushed_out),
		cmocka_unit_test(udp_of_the_same_ports_pushes_nothing_out),
		cmocka_unit_test(options_are_compared_byte_by_byte),
		cmocka_unit_test(passed_packet_of_the_flow_leaves_before_what_came_later),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
