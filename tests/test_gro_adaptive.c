/* SPDX-License-Identifier: BSD-3-Clause */
/* The adaptive timer: each flow waits a small multiple of its own gap, whatever that is, and never beyond the bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/gro_rig.h"

#define WAIT_MAX(gap) (4u * (vnetrx_ns)(gap) + 2000u)

static const unsigned gaps[] = { 120, 500, 1230, 5000, 12300, 54000 }; /* ns */
#define GAPS (sizeof(gaps) / sizeof(gaps[0]))

static struct gro_rig *rig_new(vnetrx_ns hold_max_ns)
{
	struct vnetrx_gro_config cfg = { .flags = VNETRX_GRO_ADAPTIVE, .hold_max_ns = hold_max_ns, .segs_max = 4000 };
	struct gro_rig *rig = gro_rig_new(&cfg);

	rig->now = 1000000;
	return rig;
}

/* A segment `gap` after the one before; what is due by then leaves first. */
static void after(struct gro_rig *rig, struct frame *f, unsigned gap)
{
	rig->now += gap;
	gro_rig_expire(rig, rig->now - 1u);
	gro_rig_next(rig, f);
}

static void steady_flow_is_joined_whatever_its_gap(void **state)
{
	(void)state;
	for (unsigned i = 0; i < GAPS; i++) {
		struct gro_rig *rig = rig_new(100000000);
		struct frame f;

		frame_init(&f, 0);
		gro_rig_next(rig, &f);
		for (unsigned n = 0; n < 300u; n++)
			after(rig, &f, gaps[i]);
		assert_true(rig->nout <= 1u); /* before the gap was known */
		gro_rig_free(rig);
	}
}

static void quiet_flow_leaves_after_a_few_of_its_gaps(void **state)
{
	(void)state;
	for (unsigned i = 0; i < GAPS; i++) {
		struct gro_rig *rig = rig_new(100000000);
		vnetrx_ns due;
		struct frame f;

		frame_init(&f, 0);
		gro_rig_next(rig, &f);
		for (unsigned n = 0; n < 50u; n++)
			after(rig, &f, gaps[i]);
		due = vnetrx_gro_deadline(rig->gro);
		assert_true(due > rig->now + gaps[i]);
		assert_true(due <= rig->now + WAIT_MAX(gaps[i]));
		gro_rig_expire(rig, due - 1u);
		assert_int_equal(vnetrx_gro_held(rig->gro), 1);
		gro_rig_expire(rig, due);
		assert_int_equal(vnetrx_gro_held(rig->gro), 0);
		assert_int_equal(rig->last->reason, VNETRX_LEFT_TIMEOUT);
		gro_rig_free(rig);
	}
}

/* a fast and a slow flow at once: each has its own time */
static void flows_of_different_gaps_do_not_disturb_each_other(void **state)
{
	struct gro_rig *rig = rig_new(100000000);
	struct frame fast, slow;
	vnetrx_ns due;

	(void)state;
	frame_init(&fast, 0);
	frame_init(&slow, 1);
	slow.payload_len = 200;
	for (unsigned n = 0; n < 20u; n++) {
		after(rig, &slow, 600);
		for (unsigned k = 0; k < 20u; k++)
			after(rig, &fast, 600);
	}
	assert_int_equal(vnetrx_gro_held(rig->gro), 2);
	due = vnetrx_gro_deadline(rig->gro); /* of the fast one */
	assert_true(due <= rig->now + WAIT_MAX(600));
	gro_rig_expire(rig, due);
	assert_int_equal(vnetrx_gro_held(rig->gro), 1);
	due = vnetrx_gro_deadline(rig->gro);
	assert_true(due > rig->now + 600u);
	assert_true(due <= rig->now + WAIT_MAX(600 * 21));
	gro_rig_free(rig);
}

/* G7 */
static void nothing_is_held_beyond_hold_max(void **state)
{
	struct gro_rig *rig = rig_new(20000);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	gro_rig_next(rig, &f);
	for (unsigned n = 0; n < 100u; n++) {
		after(rig, &f, 1000);
		assert_true(vnetrx_gro_deadline(rig->gro) <= rig->now + 20000u);
		if (rig->nout > 0u && rig->last->reason == VNETRX_LEFT_HOLD)
			assert_true(rig->last->seen_last - rig->last->seen_first < 20000u);
	}
	assert_true(rig->nout >= 4u);
	gro_rig_free(rig);
}

/* many in one instant: no time passes, nothing is learned, nothing is lost */
static void segments_of_one_instant_join(void **state)
{
	struct gro_rig *rig = rig_new(0);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	gro_rig_train(rig, &f, 50);
	assert_int_equal(vnetrx_gro_held(rig->gro), 1);
	assert_true(vnetrx_gro_deadline(rig->gro) > rig->now);
	assert_true(vnetrx_gro_deadline(rig->gro) <= rig->now + 1000000u);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "5000:flush");
	gro_rig_free(rig);
}

static void every_deadline_is_kept_at_the_end_of_time(void **state)
{
	struct gro_rig *rig = rig_new(0);
	struct frame f;

	(void)state;
	rig->now = VNETRX_NEVER - 500u;
	frame_init(&f, 0);
	gro_rig_train(rig, &f, 2);
	rig->now += 100u;
	gro_rig_next(rig, &f);
	assert_true(vnetrx_gro_deadline(rig->gro) > rig->now);
	assert_true(vnetrx_gro_deadline(rig->gro) < VNETRX_NEVER);
	gro_rig_expire(rig, VNETRX_NEVER - 1u);
	assert_int_equal(vnetrx_gro_held(rig->gro), 0);
	gro_rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steady_flow_is_joined_whatever_its_gap),
		cmocka_unit_test(quiet_flow_leaves_after_a_few_of_its_gaps),
		cmocka_unit_test(flows_of_different_gaps_do_not_disturb_each_other),
		cmocka_unit_test(nothing_is_held_beyond_hold_max),
		cmocka_unit_test(segments_of_one_instant_join),
		cmocka_unit_test(every_deadline_is_kept_at_the_end_of_time),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
