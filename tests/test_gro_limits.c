/* SPDX-License-Identifier: BSD-3-Clause */
/* Time, sizes and numbers: every limit at its edge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gro_rig.h"

#define MS 1000000u

/* G31 */
static void interleaved_flows_pair_up(void **state)
{
	struct vnetrx_gro_config one = { .flows = 1 };
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	for (unsigned round = 0; round < 2u; round++) {
		for (unsigned flow = 0; flow < 64u; flow++) {
			frame_init(&f, flow);
			f.seq += round * 100u;
			f.id = (uint16_t)(f.id + round);
			gro_rig_frame(rig, &f);
		}
	}
	gro_rig_flush(rig);
	assert_int_equal(rig->nout, 64);
	assert_int_equal(gro_rig_stats(rig).joined, 64);
	assert_int_equal(gro_rig_stats(rig).left_evicted, 0);
	gro_rig_free(rig);

	rig = gro_rig_new(&one);
	frame_init(&f, 1);
	gro_rig_next(rig, &f);
	gro_rig_next(rig, &f);
	frame_init(&f, 2);
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "200:evicted");
	gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:flush");
	gro_rig_free(rig);
}

/* the least recently joined makes room */
static void flow_that_was_quiet_longest_is_evicted(void **state)
{
	struct vnetrx_gro_config cfg = { .flows = 2 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame a, b, c;

	(void)state;
	frame_init(&a, 1);
	frame_init(&b, 2);
	frame_init(&c, 3);
	a.payload_len = 110;
	b.payload_len = 120;
	c.payload_len = 130;
	gro_rig_next(rig, &a);
	gro_rig_next(rig, &b);
	gro_rig_next(rig, &a);
	gro_rig_next(rig, &c);
	gro_rig_expect(rig, "120:evicted");
	gro_rig_next(rig, &b);
	gro_rig_expect(rig, "220:evicted");
	gro_rig_free(rig);
}

static void flood_of_flows_costs_evictions_and_nothing_else(void **state)
{
	struct vnetrx_gro_config cfg = { .flows = 16 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	for (unsigned i = 0; i < 3000u; i++) {
		frame_init(&f, i);
		f.dst[3] = (uint8_t)i;
		f.payload_len = 1;
		gro_rig_frame(rig, &f);
		assert_true(vnetrx_gro_held(rig->gro) <= 16u);
	}
	assert_true(gro_rig_stats(rig).left_evicted >= 3000u - 16u);
	gro_rig_free(rig);
}

/* C6 */
static void ipv4_packet_ends_before_its_length_field_does(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 1460;
	for (unsigned i = 0; i < 45u; i++)
		gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "64240:full 1460:flush");
	gro_rig_free(rig);
}

/* G32 */
static void ipv6_packet_fills_up_to_the_last_byte(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	for (unsigned tail = 899; tail <= 900u; tail++) {
		frame_init6(&f, 0);
		f.payload_len = 4036;
		for (unsigned i = 0; i < 16u; i++)
			gro_rig_next(rig, &f);
		f.payload_len = tail;
		gro_rig_next(rig, &f);
		gro_rig_flush(rig);
	}
	gro_rig_expect(rig, "65475:short 64576:full 900:flush");
	gro_rig_free(rig);
}

static void packet_leaves_at_segs_max(void **state)
{
	struct vnetrx_gro_config cfg = { .segs_max = 3 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	for (unsigned i = 0; i < 7u; i++)
		gro_rig_next(rig, &f);
	gro_rig_expect(rig, "300:full 300:full");
	gro_rig_flush(rig);
	gro_rig_expect(rig, "100:flush");
	gro_rig_free(rig);
}

static void default_segs_max_is_128(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 1;
	f.pad = true;
	for (unsigned i = 0; i < 129u; i++)
		gro_rig_next(rig, &f);
	gro_rig_expect(rig, "128:full");
	gro_rig_free(rig);
}

static void bytes_max_counts_the_ip_header(void **state)
{
	struct vnetrx_gro_config cfg = { .bytes_max = 1280 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 620; /* 40 + 2 * 620 = 1280 */
	for (unsigned i = 0; i < 3u; i++)
		gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "1240:full 620:flush");
	frame_init(&f, 1);
	f.payload_len = 621;
	for (unsigned i = 0; i < 2u; i++)
		gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "621:full 621:flush");
	gro_rig_free(rig);
}

static void quiet_packet_is_due_after_the_timeout(void **state)
{
	struct vnetrx_gro_config cfg = { .timeout_ns = 1000 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	assert_true(vnetrx_gro_deadline(rig->gro) == VNETRX_NEVER);
	frame_init(&f, 0);
	rig->now = 5000;
	gro_rig_next(rig, &f);
	assert_true(vnetrx_gro_deadline(rig->gro) == 6000u);
	rig->now = 5900;
	gro_rig_next(rig, &f);
	assert_true(vnetrx_gro_deadline(rig->gro) == 6900u);
	gro_rig_expire(rig, 6899);
	gro_rig_expect(rig, "");
	gro_rig_expire(rig, 6900);
	gro_rig_expect(rig, "200:timeout");
	assert_true(rig->last->seen_first == 5000u);
	assert_true(rig->last->seen_last == 5900u);
	assert_true(vnetrx_gro_deadline(rig->gro) == VNETRX_NEVER);
	gro_rig_free(rig);
}

/* law 3: lateness of the caller never splits a train */
static void late_segment_still_joins_what_is_due(void **state)
{
	struct vnetrx_gro_config cfg = { .timeout_ns = 1000 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	rig->now = 5000;
	gro_rig_next(rig, &f);
	rig->now = 9000;
	gro_rig_next(rig, &f);
	gro_rig_expire(rig, 9000);
	gro_rig_expect(rig, "");
	gro_rig_expire(rig, 10000);
	gro_rig_expect(rig, "200:timeout");
	gro_rig_free(rig);
}

/* G7 */
static void nothing_is_held_longer_than_hold_max(void **state)
{
	struct vnetrx_gro_config cfg = { .timeout_ns = 1000, .hold_max_ns = 2500 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	for (rig->now = 10000; rig->now < 12500u; rig->now += 500)
		gro_rig_next(rig, &f);
	assert_true(vnetrx_gro_deadline(rig->gro) == 12500u);
	gro_rig_expect(rig, "");
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "500:hold");
	gro_rig_expire(rig, 13500);
	gro_rig_expect(rig, "100:timeout");
	rig->now = 20000;
	gro_rig_next(rig, &f);
	rig->now = 22400;
	gro_rig_next(rig, &f);
	gro_rig_expire(rig, 22500);
	gro_rig_expect(rig, "200:hold");
	gro_rig_free(rig);
}

static void hold_max_defaults_to_64_timeouts_and_at_least_a_millisecond(void **state)
{
	static const vnetrx_ns timeout[] = { 0, 1000, 100000 };
	static const vnetrx_ns hold[] = { MS, MS, 6400000 };
	struct frame f;

	(void)state;
	for (unsigned i = 0; i < 3u; i++) {
		struct vnetrx_gro_config cfg = { .timeout_ns = timeout[i] };
		struct gro_rig *rig = gro_rig_new(&cfg);

		frame_init(&f, 0);
		gro_rig_next(rig, &f);
		rig->now = hold[i] - 1u;
		gro_rig_next(rig, &f);
		gro_rig_expect(rig, "");
		assert_true(vnetrx_gro_deadline(rig->gro) == hold[i]);
		rig->now = hold[i];
		gro_rig_next(rig, &f);
		gro_rig_expect(rig, "200:hold");
		gro_rig_free(rig);
	}
}

static void without_a_timeout_only_hold_max_makes_due(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	gro_rig_next(rig, &f);
	gro_rig_expire(rig, MS - 1u);
	gro_rig_expect(rig, "");
	gro_rig_expire(rig, MS);
	gro_rig_expect(rig, "100:hold");
	gro_rig_free(rig);
}

/* "no deadline" and "the end of time" must not be confused */
static void time_near_its_end_saturates(void **state)
{
	struct vnetrx_gro_config cfg = { .timeout_ns = 1000 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	rig->now = UINT64_MAX - 1500u;
	gro_rig_next(rig, &f);
	assert_true(vnetrx_gro_deadline(rig->gro) == UINT64_MAX - 500u);
	rig->now = UINT64_MAX - 600u;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "");
	assert_true(vnetrx_gro_deadline(rig->gro) >= rig->now);
	assert_true(vnetrx_gro_deadline(rig->gro) != VNETRX_NEVER);
	gro_rig_expire(rig, UINT64_MAX - 1u);
	assert_int_equal(rig->nout, 1);
	gro_rig_free(rig);
}

static void time_that_steps_back_counts_as_standing_still(void **state)
{
	struct vnetrx_gro_config cfg = { .timeout_ns = 1000 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	rig->now = 10000;
	gro_rig_next(rig, &f);
	rig->now = 3000;
	gro_rig_next(rig, &f);
	assert_true(vnetrx_gro_deadline(rig->gro) == 11000u);
	gro_rig_expire(rig, 0);
	gro_rig_expect(rig, "");
	gro_rig_expire(rig, 11000);
	gro_rig_expect(rig, "200:timeout");
	assert_true(rig->last->seen_first == 10000u);
	assert_true(rig->last->seen_last == 10000u);
	gro_rig_free(rig);
}

static void only_what_is_due_expires(void **state)
{
	struct vnetrx_gro_config cfg = { .timeout_ns = 1000 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f[4];

	(void)state;
	for (unsigned i = 0; i < 4u; i++) {
		frame_init(&f[i], i);
		f[i].payload_len = 100u + i;
		rig->now = i * 100u;
		gro_rig_next(rig, &f[i]);
	}
	rig->now = 400;
	gro_rig_next(rig, &f[1]);
	assert_true(vnetrx_gro_deadline(rig->gro) == 1000u);
	gro_rig_expire(rig, 1200);
	gro_rig_expect(rig, "100:timeout 102:timeout");
	assert_true(vnetrx_gro_deadline(rig->gro) == 1300u);
	gro_rig_expire(rig, 1399);
	gro_rig_expect(rig, "103:timeout");
	gro_rig_expire(rig, 1400);
	gro_rig_expect(rig, "202:timeout");
	gro_rig_free(rig);
}

static void flush_hands_out_the_oldest_first(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	for (unsigned i = 0; i < 9u; i++) {
		frame_init(&f, i);
		f.payload_len = 100u + i;
		gro_rig_frame(rig, &f);
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, "100:flush 101:flush 102:flush 103:flush 104:flush 105:flush 106:flush 107:flush 108:flush");
	gro_rig_free(rig);
}

/* several in one call are as good as one by one */
static void batch_joins_like_single_packets(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct vnetrx_pkt *pkts[40];
	struct vnetrx_pktq out = { NULL, NULL, 0 };
	struct frame f;
	uint8_t bytes[512];

	(void)state;
	frame_init(&f, 0);
	for (unsigned i = 0; i < 40u; i++) {
		size_t len = frame_build(&f, bytes);

		pkts[i] = gro_rig_pkt(rig, bytes, len, 0, 0);
		f.seq += 100;
		f.id++;
	}
	vnetrx_gro_receive(rig->gro, pkts, 40, 0, &out);
	assert_int_equal(out.count, 0);
	vnetrx_gro_flush(rig->gro, &out);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.first->segs, 40);
	assert_int_equal(out.first->len, 54 + 4000);
	assert_int_equal(out.first->nfrags, 40);
	gro_rig_free(rig);
}

static void bad_configurations_are_refused(void **state)
{
	static const struct vnetrx_gro_config bad[] = {
		{ .flows = 64 },                                       /* no key */
		{ .hash_key = { 1, 2 }, .flows = 65537 },
		{ .hash_key = { 1, 2 }, .bytes_max = 1279 },
		{ .hash_key = { 1, 2 }, .bytes_max = 524281 },
		{ .hash_key = { 1, 2 }, .segs_max = 1 },
		{ .hash_key = { 1, 2 }, .segs_max = 65536 },
		{ .hash_key = { 1, 2 }, .flags = 0x80000000u },
	};
	struct vnetrx_gro_config good = { .hash_key = { 0, 1 } };
	size_t size = vnetrx_gro_footprint(&good, NULL);
	void *mem = aligned_alloc(64, (size + 63u) / 64u * 64u + 64u);
	struct vnetrx_gro *gro;

	(void)state;
	assert_non_null(mem);
	assert_true(size > 0u);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *why = NULL;

		assert_int_equal(vnetrx_gro_footprint(&bad[i], &why), 0);
		assert_non_null(why);
		assert_int_equal(vnetrx_gro_init(&gro, &bad[i], mem, size), VNETRX_ERR_INVALID);
	}
	assert_int_equal(vnetrx_gro_init(&gro, &good, mem, size - 1u), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_gro_init(&gro, &good, (uint8_t *)mem + 8, size), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_gro_init(&gro, &good, mem, size), VNETRX_OK);
	free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interleaved_flows_pair_up),
		cmocka_unit_test(flow_that_was_quiet_longest_is_evicted),
		cmocka_unit_test(flood_of_flows_costs_evictions_and_nothing_else),
		cmocka_unit_test(ipv4_packet_ends_before_its_length_field_does),
		cmocka_unit_test(ipv6_packet_fills_up_to_the_last_byte),
		cmocka_unit_test(packet_leaves_at_segs_max),
		cmocka_unit_test(default_segs_max_is_128),
		cmocka_unit_test(bytes_max_counts_the_ip_header),
		cmocka_unit_test(quiet_packet_is_due_after_the_timeout),
		cmocka_unit_test(late_segment_still_joins_what_is_due),
		cmocka_unit_test(nothing_is_held_longer_than_hold_max),
		cmocka_unit_test(hold_max_defaults_to_64_timeouts_and_at_least_a_millisecond),
		cmocka_unit_test(without_a_timeout_only_hold_max_makes_due),
		cmocka_unit_test(time_near_its_end_saturates),
		cmocka_unit_test(time_that_steps_back_counts_as_standing_still),
		cmocka_unit_test(only_what_is_due_expires),
		cmocka_unit_test(flush_hands_out_the_oldest_first),
		cmocka_unit_test(batch_joins_like_single_packets),
		cmocka_unit_test(bad_configurations_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
