/* SPDX-License-Identifier: BSD-3-Clause */
/* The adaptive timer: what each flow waits for, from whatever it can be known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gro/wait.h"
#include "support/gro_rig.h"

#define MS    1000000u
#define PRIOR 65536u /* what a flow waits that nothing is known of */

static struct gro_rig *adaptive_new(vnetrx_ns hold_max_ns)
{
	struct vnetrx_gro_config cfg = { .flags = VNETRX_GRO_ADAPTIVE, .hold_max_ns = hold_max_ns };

	return gro_rig_new(&cfg);
}

/* How long what is held waits from now on; only one packet is. */
static vnetrx_ns wait_now(const struct gro_rig *rig)
{
	assert_int_equal(vnetrx_gro_held(rig->gro), 1);
	return vnetrx_gro_deadline(rig->gro) - rig->now;
}

/* n segments, `gap` apart; the clock is then at the last one. */
static void train(struct gro_rig *rig, struct frame *f, unsigned n, vnetrx_ns gap)
{
	for (unsigned i = 0; i < n; i++) {
		if (i > 0u)
			rig->now += gap;
		gro_rig_next(rig, f);
	}
}

/* Leaves at its deadline and not a moment before. */
static void leave(struct gro_rig *rig)
{
	vnetrx_ns due = vnetrx_gro_deadline(rig->gro);

	gro_rig_expire(rig, due - 1u);
	assert_int_equal(vnetrx_gro_held(rig->gro), 1);
	gro_rig_expire(rig, due);
	assert_int_equal(vnetrx_gro_held(rig->gro), 0);
	rig->now = due;
}

/* Long enough for the next segment, short enough for a tail: 4 gaps and 2000 ns. */
static void assert_fits(vnetrx_ns wait, vnetrx_ns gap)
{
	assert_in_range(wait, gap + gap / 2u, 4u * gap + 2000u);
}

static void unknown_flow_waits_for_the_prior(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	gro_rig_next(rig, &f);
	assert_int_equal(wait_now(rig), PRIOR);
	leave(rig);
	gro_rig_expect(rig, "100:timeout");
	gro_rig_free(rig);
}

static void second_segment_tells_the_gap(void **state)
{
	static const vnetrx_ns gaps[] = { 123, 492, 1230, 2460, 4920, 9840, 12300, 30000, 60000 };

	(void)state;
	for (unsigned i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
		struct gro_rig *rig = adaptive_new(0);
		struct frame f;

		frame_init(&f, 0);
		train(rig, &f, 2, gaps[i]);
		assert_fits(wait_now(rig), gaps[i]);
		gro_rig_free(rig);
	}
}

static void a_segment_before_the_deadline_joins_and_moves_it(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	train(rig, &f, 10, 10000);
	gro_rig_expire(rig, rig->now + 15000u);
	rig->now += 17000u;
	gro_rig_next(rig, &f);
	assert_fits(wait_now(rig), 10700);
	leave(rig);
	gro_rig_expect(rig, "1100:timeout");
	gro_rig_free(rig);
}

static void gap_outlives_the_packet(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	train(rig, &f, 20, 5000);
	leave(rig);
	rig->now += 10u * MS;
	gro_rig_next(rig, &f);
	assert_fits(wait_now(rig), 5000);
	gro_rig_free(rig);
}

static void flows_on_one_queue_keep_their_own_gaps(void **state)
{
	static const vnetrx_ns gaps[] = { 100000, 1000, 20000 };
	struct gro_rig *rig = adaptive_new(0);
	struct frame f[3];

	(void)state;
	for (unsigned round = 0; round < 3u; round++) {
		for (unsigned i = 0; i < 3u; i++) {
			if (round == 0u)
				frame_init(&f[i], i);
			gro_rig_next(rig, &f[i]);
			if (round > 0u)
				assert_fits(wait_now(rig), gaps[i]);
			rig->now += gaps[i];
			train(rig, &f[i], 8, gaps[i]);
			leave(rig);
			rig->now += 2u * MS;
		}
	}
	gro_rig_free(rig);
}

static void pause_between_trains_is_no_gap(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	for (unsigned i = 0; i < 50u; i++) {
		train(rig, &f, 8, 2000);
		assert_fits(wait_now(rig), 2000);
		leave(rig);
		gro_rig_expect(rig, "800:timeout");
		rig->now += 200000u;
	}
	gro_rig_free(rig);
}

/* every segment alone, until the pauses between them are taken for what they are */
static void gap_longer_than_the_prior_is_learned(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	gro_rig_next(rig, &f);
	gro_rig_expire(rig, PRIOR);
	gro_rig_expect(rig, "100:timeout");
	for (unsigned i = 0; i < 4u; i++) {
		rig->now += 120000u;
		gro_rig_expire(rig, rig->now - 1u);
		gro_rig_next(rig, &f);
		assert_fits(wait_now(rig), 120000);
	}
	gro_rig_expect(rig, "");
	gro_rig_free(rig);
}

static void flow_that_slows_down_is_followed(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;
	unsigned alone = 0;

	(void)state;
	frame_init(&f, 0);
	train(rig, &f, 40, 1000);
	for (unsigned i = 0; i < 20u; i++) {
		rig->now += 50000u;
		gro_rig_expire(rig, rig->now - 1u);
		alone += vnetrx_gro_held(rig->gro) == 0u;
		gro_rig_next(rig, &f);
	}
	assert_in_range(alone, 1, 8);
	assert_fits(wait_now(rig), 50000);
	gro_rig_free(rig);
}

static void flow_that_speeds_up_is_followed(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	train(rig, &f, 6, 100000);
	leave(rig);
	for (unsigned i = 0; i < 4u; i++) {
		train(rig, &f, 44, 1000);
		leave(rig);
		rig->now += 2u * MS;
	}
	train(rig, &f, 44, 1000);
	assert_fits(wait_now(rig), 1000);
	gro_rig_free(rig);
}

static void isolated_segments_wait_ever_less(void **state)
{
	struct gro_rig *rig = adaptive_new(0);

	(void)state;
	for (unsigned i = 0; i < 200u; i++) {
		struct frame f;

		frame_init(&f, i);
		gro_rig_next(rig, &f);
		leave(rig);
		rig->now += MS;
	}
	for (unsigned i = 200; i < 203u; i++) { /* and new flows whose next segment comes bring it back */
		struct frame f;

		frame_init(&f, i);
		gro_rig_next(rig, &f);
		assert_int_equal(wait_now(rig), i == 200u ? 2048 : 32768);
		gro_rig_expire(rig, rig->now + 10000u);
		rig->now += 10000u;
		gro_rig_next(rig, &f);
		rig->now += 10000u;
		gro_rig_next(rig, &f);
		assert_fits(wait_now(rig), 10000);
		leave(rig);
		rig->now += MS;
	}
	gro_rig_free(rig);
}

static void segments_of_one_poll_share_its_time(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	for (unsigned poll = 0; poll < 10u; poll++) {
		rig->now += 8000u;
		for (unsigned i = 0; i < 4u; i++)
			gro_rig_next(rig, &f);
		vnrx_wait_rest(rig->gro, rig->now, rig->now);
	}
	assert_fits(wait_now(rig), 2000);
	gro_rig_free(rig);
}

static void one_long_first_poll_makes_no_difference_to_a_known_flow(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	train(rig, &f, 20, 10000);
	leave(rig);
	rig->now += 5u * MS;
	for (unsigned i = 0; i < 10u; i++)
		gro_rig_next(rig, &f); /* the core was busy for 100 us */
	vnrx_wait_rest(rig->gro, rig->now, rig->now + 4000u);
	assert_in_range(vnetrx_gro_deadline(rig->gro), rig->now + 4000u + 10000u, rig->now + 4000u + 42000u);
	rig->now += 10000u;
	gro_rig_next(rig, &f);
	assert_fits(wait_now(rig), 10000);
	gro_rig_free(rig);
}

static void wait_begins_when_the_poll_ends(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;
	vnetrx_ns due;

	(void)state;
	frame_init(&f, 0);
	rig->now = MS;
	for (unsigned i = 0; i < 22u; i++)
		gro_rig_next(rig, &f);
	vnrx_wait_rest(rig->gro, rig->now, rig->now + 8800u);
	due = vnetrx_gro_deadline(rig->gro);
	assert_in_range(due, MS + 8800u + 1000u, MS + 8800u + 4000u);
	gro_rig_expire(rig, due - 1u);
	gro_rig_expect(rig, "");
	gro_rig_expire(rig, due);
	gro_rig_expect(rig, "2200:timeout");
	assert_true(rig->last->seen_last == MS); /* law 3: the `now` of its poll */
	gro_rig_free(rig);
}

static void another_poll_does_not_move_a_wait(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;
	vnetrx_ns due;

	(void)state;
	frame_init(&f, 0);
	train(rig, &f, 10, 2000);
	due = vnetrx_gro_deadline(rig->gro);
	vnrx_wait_rest(rig->gro, rig->now + 1000u, rig->now + 9000u);
	assert_true(vnetrx_gro_deadline(rig->gro) == due);
	gro_rig_free(rig);
}

static void put_stamped(struct gro_rig *rig, struct frame *f, vnetrx_ns tstamp)
{
	uint32_t flags = VNETRX_PKT_TSTAMP | (gro_rig_verified ? VNETRX_PKT_CSUM_OK : 0u);
	uint8_t *bytes = malloc(FRAME_MAX);
	struct vnetrx_pkt *pkt;

	assert_non_null(bytes);
	pkt = gro_rig_pkt(rig, bytes, frame_build(f, bytes), 0, flags);
	pkt->tstamp = tstamp;
	gro_rig_put(rig, pkt);
	free(bytes);
	f->seq += f->payload_len;
	f->id++;
}

static void timestamps_tell_the_gap_within_one_poll(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	rig->now = MS + 100000u;
	for (unsigned i = 0; i < 10u; i++)
		put_stamped(rig, &f, MS + i * 3000u);
	vnrx_wait_rest(rig->gro, rig->now, rig->now + 4000u); /* a stamped segment came when its stamp says */
	assert_fits(vnetrx_gro_deadline(rig->gro) - (MS + 27000u), 3000);
	gro_rig_free(rig);
}

static void hold_max_bounds_slow_flows_too(void **state)
{
	struct gro_rig *rig = adaptive_new(100000);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	rig->now = MS;
	train(rig, &f, 5, 20000);
	assert_true(vnetrx_gro_deadline(rig->gro) == MS + 100000u);
	rig->now = MS + 99999u;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "");
	rig->now = MS + 100000u;
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "600:hold");
	gro_rig_free(rig);
}

/* what no bound lets come in time is not waited for */
static void gaps_that_hold_max_does_not_allow_are_not_learned(void **state)
{
	struct gro_rig *rig = adaptive_new(200000);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	for (unsigned i = 0; i < 40u; i++) {
		gro_rig_next(rig, &f);
		leave(rig);
		rig->now += 90000u;
	}
	gro_rig_next(rig, &f);
	assert_in_range(wait_now(rig), 1024, 4096);
	gro_rig_free(rig);
}

static void time_near_its_end_saturates(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	rig->now = UINT64_MAX - 1500u;
	gro_rig_next(rig, &f);
	rig->now = UINT64_MAX - 600u;
	gro_rig_next(rig, &f);
	assert_true(vnetrx_gro_deadline(rig->gro) == UINT64_MAX - 1u);
	gro_rig_expire(rig, UINT64_MAX);
	assert_int_equal(rig->nout, 1);
	gro_rig_free(rig);
}

static unsigned draw(uint32_t *rnd, unsigned below)
{
	*rnd ^= *rnd << 13;
	*rnd ^= *rnd >> 17;
	*rnd ^= *rnd << 5;
	return *rnd % below;
}

/* Whatever comes: before the deadline nothing leaves by time, at the deadline something does. */
static void deadline_is_exact_for_any_traffic(void **state)
{
	struct gro_rig *rig = adaptive_new(300000);
	struct frame f[100];
	uint32_t rnd = 2463534242u;

	(void)state;
	for (unsigned i = 0; i < 100u; i++)
		frame_init(&f[i], i);
	for (unsigned step = 0; step < 4000u; step++) {
		vnetrx_ns from = rig->now, due = vnetrx_gro_deadline(rig->gro);
		unsigned held = vnetrx_gro_held(rig->gro);

		if (draw(&rnd, 4) == 0u && due != VNETRX_NEVER) {
			if (due > from) {
				gro_rig_expire(rig, due - 1u);
				assert_int_equal(vnetrx_gro_held(rig->gro), held);
				rig->now = due;
			}
			gro_rig_expire(rig, due);
			assert_in_range(vnetrx_gro_held(rig->gro), 0, held - 1u);
			continue;
		}
		rig->now += draw(&rnd, 10) == 0u ? draw(&rnd, 100000) : draw(&rnd, 3000);
		from = rig->now;
		for (unsigned n = draw(&rnd, 12); n > 0u; n--)
			gro_rig_next(rig, &f[draw(&rnd, 3) == 0u ? draw(&rnd, 100) : draw(&rnd, 4)]);
		rig->now += draw(&rnd, 2) * draw(&rnd, 20000);
		vnrx_wait_rest(rig->gro, from, rig->now);
	}
	gro_rig_free(rig);
}

static void memory_for_each_flow_is_bounded(void **state)
{
	struct vnetrx_gro_config cfg = { .hash_key = { 1, 2 }, .flags = VNETRX_GRO_ADAPTIVE, .flows = 32768 };
	size_t half = vnetrx_gro_footprint(&cfg, NULL), all;

	(void)state;
	cfg.flows = 65536;
	all = vnetrx_gro_footprint(&cfg, NULL);
	assert_in_range((all - half) / 32768u, 1, 512);
}

/* Spans are kept in 30 bits: longer ones count as about a second, and nothing wraps. */
static void times_beyond_a_second_saturate(void **state)
{
	struct vnetrx_gro_config cfg = { .flags = VNETRX_GRO_ADAPTIVE, .hold_max_ns = 100000000000u };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	gro_rig_next(rig, &f);
	for (unsigned i = 1; i < 5u; i++) { /* nobody expired it meanwhile */
		rig->now = i * 5000000000u;
		gro_rig_next(rig, &f);
		assert_true(vnetrx_gro_deadline(rig->gro) > rig->now);
		assert_true(vnetrx_gro_deadline(rig->gro) <= rig->now + 10000000u);
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, "500:flush");
	gro_rig_next(rig, &f); /* what is remembered of the flow is no longer than any */
	assert_true(vnetrx_gro_deadline(rig->gro) <= rig->now + 10000000u);
	gro_rig_free(rig);
}

/* How late the last segment may have come is noted in 8 bits. */
static void long_poll_counts_as_one_of_what_can_be_noted(void **state)
{
	vnetrx_ns due[2];

	(void)state;
	for (unsigned i = 0; i < 2u; i++) {
		struct gro_rig *rig = adaptive_new(0);
		struct frame f;

		frame_init(&f, 0);
		rig->now = MS;
		for (unsigned k = 0; k < 6u; k++)
			gro_rig_next(rig, &f);
		vnrx_wait_rest(rig->gro, rig->now, rig->now + (i == 0u ? 255u * VNRX_LATE_UNIT : 100u * MS));
		due[i] = vnetrx_gro_deadline(rig->gro);
		gro_rig_free(rig);
	}
	assert_true(due[1] == due[0]);
}

static void poll_that_ends_before_it_began_moves_no_wait(void **state)
{
	struct gro_rig *rig = adaptive_new(0);
	struct frame f;
	vnetrx_ns due;

	(void)state;
	frame_init(&f, 0);
	rig->now = MS;
	train(rig, &f, 5, 2000);
	due = vnetrx_gro_deadline(rig->gro);
	vnrx_wait_rest(rig->gro, rig->now, rig->now - 1u);
	assert_true(vnetrx_gro_deadline(rig->gro) == due);
	gro_rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_flow_waits_for_the_prior),
		cmocka_unit_test(second_segment_tells_the_gap),
		cmocka_unit_test(a_segment_before_the_deadline_joins_and_moves_it),
		cmocka_unit_test(gap_outlives_the_packet),
		cmocka_unit_test(flows_on_one_queue_keep_their_own_gaps),
		cmocka_unit_test(pause_between_trains_is_no_gap),
		cmocka_unit_test(gap_longer_than_the_prior_is_learned),
		cmocka_unit_test(flow_that_slows_down_is_followed),
		cmocka_unit_test(flow_that_speeds_up_is_followed),
		cmocka_unit_test(isolated_segments_wait_ever_less),
		cmocka_unit_test(segments_of_one_poll_share_its_time),
		cmocka_unit_test(one_long_first_poll_makes_no_difference_to_a_known_flow),
		cmocka_unit_test(wait_begins_when_the_poll_ends),
		cmocka_unit_test(another_poll_does_not_move_a_wait),
		cmocka_unit_test(timestamps_tell_the_gap_within_one_poll),
		cmocka_unit_test(hold_max_bounds_slow_flows_too),
		cmocka_unit_test(gaps_that_hold_max_does_not_allow_are_not_learned),
		cmocka_unit_test(time_near_its_end_saturates),
		cmocka_unit_test(deadline_is_exact_for_any_traffic),
		cmocka_unit_test(memory_for_each_flow_is_bounded),
		cmocka_unit_test(times_beyond_a_second_saturate),
		cmocka_unit_test(long_poll_counts_as_one_of_what_can_be_noted),
		cmocka_unit_test(poll_that_ends_before_it_began_moves_no_wait),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
