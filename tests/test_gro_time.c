/* SPDX-License-Identifier: BSD-3-Clause */
/* When held packets leave: arithmetic on time, at its edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gro_rig.h"

#define MS 1000000u

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
	gro_rig_expect(rig, "100:flush 101:flush 102:flush 103:flush 104:flush 105:flush 106:flush 107:flush "
	                    "108:flush");
	gro_rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quiet_packet_is_due_after_the_timeout),
		cmocka_unit_test(late_segment_still_joins_what_is_due),
		cmocka_unit_test(nothing_is_held_longer_than_hold_max),
		cmocka_unit_test(hold_max_defaults_to_64_timeouts_and_at_least_a_millisecond),
		cmocka_unit_test(without_a_timeout_only_hold_max_makes_due),
		cmocka_unit_test(time_near_its_end_saturates),
		cmocka_unit_test(time_that_steps_back_counts_as_standing_still),
		cmocka_unit_test(only_what_is_due_expires),
		cmocka_unit_test(flush_hands_out_the_oldest_first),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
