/* SPDX-License-Identifier: BSD-3-Clause */
/* What may join, and what it becomes. Each delivered packet is also cut again and compared with what came in. */
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

static void two_segments_become_one(void **state)
{
	(void)state;
	pair(false, NULL, NULL, "200:flush");
	pair(true, NULL, NULL, "200:flush");
}

/* the descriptor of a merged packet: C8, F2 */
static void merged_packet_describes_itself(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	frame_timestamp(&f, 1, 2);
	gro_rig_next(rig, &f);
	gro_rig_next(rig, &f);
	f.payload_len = 50;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "250:short");
	assert_int_equal(rig->last->segs, 3);
	assert_int_equal(rig->last->gso_size, 100);
	assert_int_equal(rig->last->hdr_len, 66);
	assert_int_equal(rig->last->l3_off, 14);
	assert_int_equal(rig->last->l4_off, 34);
	assert_int_equal(rig->last->rx_gso_size, 0);
	assert_int_equal(rig->last->gso_type, VNETRX_GSO_TCPV4);
	assert_int_equal(rig->last->flags, VNETRX_PKT_MERGED | VNETRX_PKT_PARTIAL);
	assert_int_equal(fr_get16(rig->bytes + 16), 302);
	gro_rig_free(rig);
}

/* G19, G22 */
static void truesize_of_a_merged_packet_is_the_sum(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct vnetrx_pkt *pkt;
	uint32_t sum = 0;
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	for (uint32_t i = 0; i < 4u; i++) {
		if (i == 3u)
			f.flags |= FR_PSH; /* leaves by the general way */
		pkt = gro_rig_made(rig, &f, i == 1u ? 40 : 0, gro_rig_verified ? VNETRX_PKT_CSUM_OK : 0u);
		pkt->truesize = 1000u + i * i;
		sum += pkt->truesize;
		gro_rig_put(rig, pkt);
		f.seq += 100;
		f.id++;
	}
	gro_rig_expect(rig, "400:push");
	assert_int_equal(rig->last->truesize, sum);
	assert_int_equal(rig->last->nbufs, 4);
	assert_int_equal(rig->last->nfrags, 5);
	gro_rig_free(rig);
}

/* F2: who needs the bytes gets them */
static void merged_packet_has_checksum_bytes_on_request(void **state)
{
	struct vnetrx_gro_config cfg = { .flags = VNETRX_GRO_CSUM_BYTES };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	for (unsigned i = 0; i < 2u; i++) {
		if (i == 0u)
			frame_init(&f, 0);
		else
			frame_init6(&f, 0);
		f.payload_len = 101;
		gro_rig_next(rig, &f);
		gro_rig_next(rig, &f);
		f.payload_len = 33;
		gro_rig_next(rig, &f);
		assert_int_equal(rig->last->flags & (VNETRX_PKT_PARTIAL | VNETRX_PKT_CSUM_OK), VNETRX_PKT_CSUM_OK);
	}
	gro_rig_expect(rig, "235:short 235:short");
	gro_rig_free(rig);
}

static void single_packet_leaves_as_it_came(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	gro_rig_frame(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "100:flush");
	assert_int_equal(rig->last->flags & ~VNETRX_PKT_CSUM_OK, 0);
	assert_int_equal(rig->last->gso_size, 0);
	assert_int_equal(rig->last->segs, 1);
	gro_rig_free(rig);
}

static void payload_sizes(bool v6, const unsigned *sizes, unsigned n, const char *text)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	if (v6)
		frame_init6(&f, 0);
	else
		frame_init(&f, 0);
	for (unsigned i = 0; i < n; i++) {
		f.payload_len = sizes[i];
		gro_rig_next(rig, &f);
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, text);
	gro_rig_free(rig);
}

/* G36, A19 */
static void shorter_segment_joins_and_ends_the_packet(void **state)
{
	static const unsigned even[] = { 100, 100 }, tail[] = { 100, 50 }, rise[] = { 50, 100 };
	static const unsigned tail3[] = { 100, 100, 50 }, again[] = { 100, 50, 100 };

	(void)state;
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		payload_sizes(v6 != 0u, even, 2, "200:flush");
		payload_sizes(v6 != 0u, tail, 2, "150:short");
		payload_sizes(v6 != 0u, rise, 2, "50:next 100:flush");
		payload_sizes(v6 != 0u, tail3, 3, "250:short");
		payload_sizes(v6 != 0u, again, 3, "150:short 100:flush");
	}
}

/* G34, A9: an acknowledgement is never held, and never joined */
static void pure_acks_pass_one_by_one(void **state)
{
	static const unsigned acks[] = { 0, 0, 0 }, mixed[] = { 100, 0, 100 };

	(void)state;
	payload_sizes(false, acks, 3, "0:passed 0:passed 0:passed");
	payload_sizes(false, mixed, 3, "100:order 0:passed 100:flush");
}

/* G1, C1, C2 */
static void ethernet_padding_never_becomes_payload(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 1459;
	gro_rig_next(rig, &f);
	f.payload_len = 1;
	f.pad = true;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "1460:short");
	assert_int_equal(fr_get16(rig->bytes + 16), 1500);
	assert_int_equal(rig->bytes_len, 1514);
	gro_rig_next(rig, &f);
	gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "2:flush");
	gro_rig_free(rig);
}

static void five(const unsigned *flags, const char *text)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	frame_init(&f, 0);
	for (unsigned i = 0; i < 5u; i++) {
		f.flags = (uint16_t)(FR_ACK | flags[i]);
		gro_rig_next(rig, &f);
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, text);
	gro_rig_free(rig);
}

/* G17, A8 */
static void runs_of_equal_congestion_bits_join(void **state)
{
	static const unsigned bits[] = { FR_CWR, FR_ECE, FR_AE, 0x200, 0x800, FR_CWR | FR_ECE | FR_AE };

	(void)state;
	for (unsigned i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		const unsigned middle[5] = { 0, bits[i], bits[i], 0, 0 };
		const unsigned all[5] = { bits[i], bits[i], bits[i], bits[i], bits[i] };

		five(middle, "100:next 200:next 200:flush");
		five(all, "500:flush");
	}
}

/* G33 */
static void closing_flags_end_the_packet(void **state)
{
	static const unsigned psh[5] = { 0, 0, FR_PSH, 0, 0 }, fin[5] = { 0, 0, FR_FIN, 0, 0 };
	static const unsigned first[5] = { FR_PSH, 0, 0, 0, 0 }, all[5] = { FR_PSH, FR_PSH, FR_PSH, FR_PSH, FR_PSH };

	(void)state;
	five(psh, "300:push 200:flush");
	five(fin, "300:push 200:flush");
	five(first, "100:passed 400:flush");
	five(all, "100:passed 100:passed 100:passed 100:passed 100:passed");
}

/* G33, with payload */
static void other_flags_are_never_held(void **state)
{
	static const unsigned bits[] = { FR_SYN, FR_RST, FR_URG };

	(void)state;
	for (unsigned i = 0; i < 3u; i++) {
		const unsigned flags[5] = { 0, 0, bits[i], 0, 0 };

		five(flags, "200:order 100:passed 200:flush");
	}
}

/* B1, B11, G44 */
static void closing_segment_leaves_with_what_was_held(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 1460;
	gro_rig_next(rig, &f);
	gro_rig_next(rig, &f);
	f.payload_len = 500;
	f.flags |= FR_PSH;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "3420:push");
	assert_int_equal(rig->bytes[14 + 20 + 13], FR_ACK | FR_PSH);
	f.flags = FR_ACK;
	f.payload_len = 100;
	gro_rig_next(rig, &f);
	f.flags |= FR_FIN;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "200:push");
	f.flags = FR_ACK;
	gro_rig_next(rig, &f);
	f.flags |= FR_FIN;
	f.payload_len = 0;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "100:order 0:passed");
	gro_rig_free(rig);
}

/* Timestamps and nothing else: headers that most segments have. */
static void closing_segment_of_usual_headers_ends_the_packet(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		struct gro_rig *rig = gro_rig_new(NULL);
		struct frame f;

		if (v6 != 0u)
			frame_init6(&f, 0);
		else
			frame_init(&f, 0);
		frame_timestamp(&f, 5, 6);
		for (unsigned i = 0; i < 4u; i++) {
			f.flags = i == 3u ? FR_ACK | FR_PSH : FR_ACK;
			f.payload_len = i == 3u ? 33 : 100;
			gro_rig_put(rig, gro_rig_made(rig, &f, 0, VNETRX_PKT_CSUM_OK));
			f.seq += f.payload_len;
			f.id++;
		}
		gro_rig_expect(rig, "333:push");
		gro_rig_free(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_segments_become_one),
		cmocka_unit_test(merged_packet_describes_itself),
		cmocka_unit_test(truesize_of_a_merged_packet_is_the_sum),
		cmocka_unit_test(merged_packet_has_checksum_bytes_on_request),
		cmocka_unit_test(single_packet_leaves_as_it_came),
		cmocka_unit_test(shorter_segment_joins_and_ends_the_packet),
		cmocka_unit_test(pure_acks_pass_one_by_one),
		cmocka_unit_test(ethernet_padding_never_becomes_payload),
		cmocka_unit_test(runs_of_equal_congestion_bits_join),
		cmocka_unit_test(closing_flags_end_the_packet),
		cmocka_unit_test(other_flags_are_never_held),
		cmocka_unit_test(closing_segment_leaves_with_what_was_held),
		cmocka_unit_test(closing_segment_of_usual_headers_ends_the_packet),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
