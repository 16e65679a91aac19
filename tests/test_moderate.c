/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device of these tests collects packets as virtio's notification coalescing does: it interrupts `usecs` after the
 * first packet that was not announced, or at the packet that makes `packets` of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vnetrx/moderate.h"

#define LAZIEST  4u
#define QUICKEST 0u

/* ---- a queue ---- */

struct load {
	uint64_t gap_ns;   /* from one packet to the next; in a closed loop: from the interrupt to the next request */
	uint32_t len;      /* bytes of a packet                                                                  */
	bool     closed;   /* the next packet comes only after the interrupt for the last                        */
	uint32_t noise;    /* gaps differ by up to this many percent                                             */
};

struct queue {
	struct vnetrx_moderate          m;
	struct vnetrx_moderate_counters counters;
	struct vnetrx_moderate_profile  profile; /* in force at the device */
	vnetrx_ns now;
	uint32_t  seed;
	unsigned  asked;
	unsigned  refuse; /* so many applications are refused */
};

static const struct load bulk = { .gap_ns = 1000, .len = 1514 };
static const struct load sparse = { .gap_ns = 1000000, .len = 200 };
static const struct load request = { .gap_ns = 20000, .len = 100, .closed = true };

static struct queue start(uint32_t first)
{
	struct queue q = { .seed = 1 };
	struct vnetrx_moderate_config cfg = { .first = first };

	assert_int_equal(vnetrx_moderate_init(&q.m, &cfg), VNETRX_OK);
	return q;
}

static uint64_t gap_of(struct queue *q, const struct load *load)
{
	uint64_t span = load->gap_ns * load->noise / 100u;

	if (span == 0u)
		return load->gap_ns;
	q->seed = q->seed * 1664525u + 1013904223u;
	return load->gap_ns - span + (q->seed >> 8) % (2u * span);
}

/* Packets until the interrupt. */
static void interrupt(struct queue *q, const struct load *load)
{
	uint32_t max = load->closed || q->profile.usecs == 0u ? 1u : q->profile.packets;
	vnetrx_ns due;
	uint32_t n = 1;

	q->now += gap_of(q, load);
	due = q->now + (vnetrx_ns)q->profile.usecs * 1000u;
	while (n < max) {
		uint64_t gap = gap_of(q, load);

		if (q->now + gap > due)
			break;
		q->now += gap;
		n++;
	}
	if (n < q->profile.packets)
		q->now = due;
	q->counters.packets += n;
	q->counters.bytes += n * load->len;
	q->counters.events++;
}

static bool sample(struct queue *q, struct vnetrx_moderate_profile *profile)
{
	return vnetrx_moderate_sample(&q->m, &q->counters, q->now, profile);
}

/* Interrupts, with a driver that applies what it is asked for at once, unless q->refuse. */
static void run(struct queue *q, const struct load *load, unsigned interrupts)
{
	struct vnetrx_moderate_profile profile;

	while (interrupts-- > 0u) {
		interrupt(q, load);
		if (!sample(q, &profile))
			continue;
		q->asked++;
		if (q->refuse > 0u) {
			q->refuse--;
			vnetrx_moderate_applied(&q->m, false);
			continue;
		}
		q->profile = profile;
		vnetrx_moderate_applied(&q->m, true);
	}
}

/* Measurements of 64 interrupts, each begun by one more when something was applied. */
static void measure(struct queue *q, const struct load *load, unsigned n)
{
	run(q, load, n * (VNETRX_MODERATE_EVENTS + 1u));
}

static void stays_at(struct queue *q, const struct load *load, unsigned index, unsigned measurements)
{
	for (unsigned i = 0; i < measurements; i++) {
		measure(q, load, 1);
		assert_int_equal(q->m.in_force, index);
		assert_int_equal(q->m.tuning.way, VNETRX_MODERATE_ON_TOP);
	}
}

/* ---- where it ends ---- */

static void the_first_profile_is_applied_before_anything_is_measured(void **state)
{
	struct queue q = start(2);

	(void)state;
	assert_int_equal(q.m.in_force, VNETRX_MODERATE_DEFAULTS);
	run(&q, &bulk, 1);
	assert_int_equal(q.asked, 1);
	assert_int_equal(q.profile.usecs, 64);
	assert_int_equal(q.profile.packets, 256);
	assert_int_equal(q.m.in_force, 2);
}

static void bulk_load_goes_to_the_laziest_profile_from_any(void **state)
{
	(void)state;
	for (unsigned first = 0; first <= LAZIEST; first++) {
		struct queue q = start(first);

		measure(&q, &bulk, 9);
		stays_at(&q, &bulk, LAZIEST, 100);
	}
}

static void sparse_load_goes_to_the_quickest_profile_from_any(void **state)
{
	(void)state;
	for (unsigned first = 0; first <= LAZIEST; first++) {
		struct queue q = start(first);

		measure(&q, &sparse, 9);
		stays_at(&q, &sparse, QUICKEST, 100);
	}
}

/* One request at a time: each microsecond of waiting costs throughput. */
static void requests_and_answers_go_to_the_quickest_profile_from_any(void **state)
{
	(void)state;
	for (unsigned first = 0; first <= LAZIEST; first++) {
		struct queue q = start(first);

		measure(&q, &request, 9);
		stays_at(&q, &request, QUICKEST, 100);
	}
}

/* At 10 million packets a second the last three profiles all interrupt after 256 packets: more waiting buys nothing. */
static void of_profiles_that_differ_in_nothing_one_of_the_quicker_is_kept(void **state)
{
	struct load fast = { .gap_ns = 100, .len = 64 };
	struct queue q = start(0);

	(void)state;
	measure(&q, &fast, 20);
	assert_int_equal(q.m.tuning.way, VNETRX_MODERATE_ON_TOP);
	stays_at(&q, &fast, 2, 50);
}

static void a_change_of_load_is_followed_within_eight_measurements(void **state)
{
	static const struct {
		const struct load *load;
		unsigned index;
	} phases[] = { { &bulk, LAZIEST },   { &sparse, QUICKEST },  { &bulk, LAZIEST },
		       { &request, QUICKEST }, { &bulk, LAZIEST }, { &sparse, QUICKEST } };
	struct queue q = start(0);

	(void)state;
	for (unsigned i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		measure(&q, phases[i].load, 8);
		stays_at(&q, phases[i].load, phases[i].index, 20);
	}
}

static void gaps_that_vary_by_half_do_not_mislead_it(void **state)
{
	struct load noisy = bulk;
	struct queue q = start(0);

	(void)state;
	noisy.noise = 50;
	measure(&q, &noisy, 9);
	stays_at(&q, &noisy, LAZIEST, 200);
	noisy = sparse;
	noisy.noise = 50;
	measure(&q, &noisy, 40);
	for (unsigned i = 0, at = 0; i < 200u; i++) { /* 64 packets do vary by a tenth now and then */
		measure(&q, &noisy, 1);
		at += q.m.in_force <= 1u;
		assert_true(at * 10u >= (i + 1u) * 9u);
	}
}

static void a_steady_load_is_left_alone(void **state)
{
	struct queue q = start(0);
	unsigned asked;

	(void)state;
	measure(&q, &bulk, 20);
	asked = q.asked;
	measure(&q, &bulk, 1000);
	assert_int_equal(q.asked, asked);
}

/* ---- measurements ---- */

/* Counters as they are given, one call. */
static bool feed(struct vnetrx_moderate *m, uint32_t packets, uint32_t bytes, uint32_t events, vnetrx_ns now)
{
	struct vnetrx_moderate_counters counters = { packets, bytes, events };
	struct vnetrx_moderate_profile profile;
	bool apply = vnetrx_moderate_sample(m, &counters, now, &profile);

	if (apply)
		vnetrx_moderate_applied(m, true);
	return apply;
}

static struct vnetrx_moderate begun(uint32_t first, uint32_t events_min)
{
	struct vnetrx_moderate_config cfg = { .first = first, .events_min = events_min };
	struct vnetrx_moderate m;

	assert_int_equal(vnetrx_moderate_init(&m, &cfg), VNETRX_OK);
	assert_true(feed(&m, 0, 0, 0, 0));
	assert_false(feed(&m, 0, 0, 0, 0));
	assert_int_equal(m.state, VNETRX_MODERATE_MEASURING);
	return m;
}

/* Where two measurements of 64 interrupts lead, the first of 1000 bytes and 1000 packets in 10 seconds. The first is
 * always an improvement: from 2 to 1, or from 0 to 1. */
static unsigned second_leads_to(uint32_t first, uint32_t packets, uint32_t bytes, uint32_t seconds)
{
	struct vnetrx_moderate m = begun(first, 0);

	assert_true(feed(&m, 1000, 1000, 64, 10000000000u));
	assert_int_equal(m.in_force, 1);
	assert_false(feed(&m, 1000, 1000, 64, 10000000000u));
	assert_true(feed(&m, 1000 + packets, 1000 + bytes, 128, 10000000000u + seconds * (vnetrx_ns)1000000000u));
	return m.in_force;
}

/* On the way from 2 to 0 only what is worse turns, on the way up all that is not better. */
static void a_difference_of_up_to_a_tenth_is_none(void **state)
{
	(void)state;
	assert_int_equal(second_leads_to(2, 900, 900, 10), 0);
	assert_int_equal(second_leads_to(2, 900, 899, 10), 2);
	assert_int_equal(second_leads_to(0, 1100, 1100, 10), 0);
	assert_int_equal(second_leads_to(0, 1100, 1101, 10), 2);
}

static void bytes_count_before_packets_and_packets_before_interrupts(void **state)
{
	(void)state;
	assert_int_equal(second_leads_to(2, 2000, 500, 10), 2);
	assert_int_equal(second_leads_to(0, 500, 2000, 10), 2);
	assert_int_equal(second_leads_to(2, 500, 1000, 10), 2);
	assert_int_equal(second_leads_to(0, 2000, 1000, 10), 2);
}

static void rates_of_measurements_of_different_length_are_compared(void **state)
{
	(void)state;
	assert_int_equal(second_leads_to(2, 2000, 2000, 20), 0);
	assert_int_equal(second_leads_to(2, 1000, 1000, 20), 2);
	assert_int_equal(second_leads_to(0, 1000, 1000, 5), 2);
}

/* Measurements until it parks, with a load of which profile `best` makes the most. */
static unsigned until_parked(uint32_t first, unsigned best)
{
	struct vnetrx_moderate m = begun(first, 0);
	uint32_t bytes = 0, i = 0;

	do {
		unsigned off = m.in_force > best ? m.in_force - best : best - m.in_force;

		bytes += 1000000u / (1u + off);
		i++;
		if (feed(&m, 0, bytes, 64u * i, 1000000u * i))
			assert_false(feed(&m, 0, bytes, 64u * i, 1000000u * i));
	} while (m.tuning.way != VNETRX_MODERATE_ON_TOP && i < 100u);
	assert_int_equal(m.in_force, best);
	return i;
}

static void the_best_is_found_wherever_it_lies_and_from_wherever(void **state)
{
	(void)state;
	for (uint32_t first = 0; first <= LAZIEST; first++)
		for (unsigned best = 0; best <= LAZIEST; best++)
			assert_true(until_parked(first, best) <= 9u);
	assert_int_equal(until_parked(0, 2), 5);
	assert_int_equal(until_parked(4, 2), 5);
	assert_int_equal(until_parked(3, 3), 5);
}

/* Each measurement worse than the one before, whatever was tried: ten steps, then rest for ten measurements. */
static void a_load_that_leads_nowhere_tires_it(void **state)
{
	struct vnetrx_moderate m = begun(0, 0);
	uint32_t bytes = 0, level = 1u << 30;

	(void)state;
	for (uint32_t i = 1; i <= 22u; i++) {
		bytes += level;
		level = level / 5u * 4u;
		assert_int_equal(feed(&m, 0, bytes, 64u * i, 1000000u * i), i <= 10u || i > 20u);
		assert_int_equal(m.tuning.way == VNETRX_MODERATE_TIRED, i > 10u && i <= 20u);
		if (m.state == VNETRX_MODERATE_STARTING)
			assert_false(feed(&m, 0, bytes, 64u * i, 1000000u * i));
	}
}

static void a_measurement_lasts_64_interrupts_unless_told_otherwise(void **state)
{
	struct vnetrx_moderate m = begun(0, 0);

	(void)state;
	assert_false(feed(&m, 63, 6300, 63, 1000000));
	assert_true(feed(&m, 64, 6400, 64, 1000000));
	m = begun(0, 3);
	assert_false(feed(&m, 2, 200, 2, 1000000));
	assert_true(feed(&m, 3, 300, 3, 1000000));
}

static void counters_that_wrap_are_harmless(void **state)
{
	struct queue q = start(0), r = start(0);

	(void)state;
	q.counters = (struct vnetrx_moderate_counters){ UINT32_MAX - 70, UINT32_MAX - 5000, UINT32_MAX - 66 };
	for (unsigned i = 0; i < 20u; i++) { /* as it goes from 0 */
		measure(&q, &bulk, 1);
		measure(&r, &bulk, 1);
		assert_int_equal(q.m.in_force, r.m.in_force);
		assert_memory_equal(&q.m.tuning, &r.m.tuning, sizeof(q.m.tuning));
	}
	assert_true(q.counters.events < 2000u);
}

static void a_clock_that_stands_still_only_makes_a_measurement_longer(void **state)
{
	struct vnetrx_moderate m = begun(0, 0);

	(void)state;
	for (uint32_t n = 64; n < 5000u; n++)
		assert_false(feed(&m, n, n * 100u, n, 0));
	assert_false(feed(&m, 5000, 500000, 5000, 1023)); /* less than one unit of time */
	assert_true(feed(&m, 5001, 500100, 5001, 1024));
}

static void a_clock_that_goes_back_counts_as_one_that_stands(void **state)
{
	struct vnetrx_moderate m = begun(0, 0);

	(void)state;
	assert_true(feed(&m, 64, 6400, 64, 5000000));
	assert_false(feed(&m, 64, 6400, 64, 5000000));
	assert_false(feed(&m, 500, 50000, 500, 1000000));
	assert_false(feed(&m, 500, 50000, 500, 0));
	assert_int_equal(m.state, VNETRX_MODERATE_MEASURING);
	assert_true(feed(&m, 600, 60000, 600, 9000000));
}

/* Interrupts without a packet: nothing to be better or worse by but their own number. */
static void interrupts_without_packets_change_nothing(void **state)
{
	struct vnetrx_moderate m = begun(0, 0);

	(void)state;
	for (uint32_t i = 1; i < 200u; i++)
		assert_false(feed(&m, 0, 0, 64u * i, 1000000u * i));
	assert_int_equal(m.in_force, QUICKEST);
}

static void the_greatest_counts_and_times_do_not_overflow(void **state)
{
	struct vnetrx_moderate m = begun(0, 0);
	uint32_t packets = 0, bytes = 0, events = 0;

	(void)state;
	for (unsigned i = 1; i < 100u; i++) {
		packets += UINT32_MAX;
		bytes += UINT32_MAX - i % 2u * 1000u; /* the same but for a millionth: no difference */
		events += UINT32_MAX;
		(void)feed(&m, packets, bytes, events, UINT64_MAX / 128u * i);
		(void)feed(&m, packets, bytes, events, UINT64_MAX / 128u * i);
	}
	assert_int_equal(m.tuning.way, VNETRX_MODERATE_ON_TOP);
	assert_int_equal(m.in_force, QUICKEST);
	(void)feed(&m, packets + 1u, bytes + 1u, events + 64u, UINT64_MAX);
	assert_true(m.in_force <= LAZIEST);
}

/* Any counters and times: it stays within its profiles and never stops to measure. */
static void nonsense_is_survived(void **state)
{
	struct vnetrx_moderate_config cfg = { 0 };
	struct vnetrx_moderate_counters counters;
	struct vnetrx_moderate_profile profile;
	struct vnetrx_moderate m;
	uint64_t seed = 1;
	unsigned asked = 0;

	(void)state;
	assert_int_equal(vnetrx_moderate_init(&m, &cfg), VNETRX_OK);
	for (unsigned i = 0; i < 100000u; i++) {
		uint32_t word[4];

		for (unsigned j = 0; j < 4; j++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			word[j] = (uint32_t)(seed >> 32) >> (seed >> 20) % 32u;
		}
		counters = (struct vnetrx_moderate_counters){ word[0], word[1], word[2] };
		if (vnetrx_moderate_sample(&m, &counters, (vnetrx_ns)word[3] << i % 33u, &profile)) {
			asked++;
			vnetrx_moderate_applied(&m, seed >> 63 != 0u);
		}
		assert_true(m.tuning.index <= LAZIEST && m.in_force <= LAZIEST + 1u);
	}
	assert_true(asked > 100u);
}

/* ---- application ---- */

static void counters_are_ignored_while_a_profile_is_being_applied(void **state)
{
	struct queue q = start(0);
	struct vnetrx_moderate_profile profile;

	(void)state;
	interrupt(&q, &bulk);
	assert_true(sample(&q, &profile));
	for (unsigned i = 0; i < 1000u; i++) {
		interrupt(&q, &bulk);
		assert_false(sample(&q, &profile));
	}
	assert_int_equal(q.m.state, VNETRX_MODERATE_APPLYING);
	vnetrx_moderate_applied(&q.m, true);
	run(&q, &bulk, VNETRX_MODERATE_EVENTS); /* one begins, 63 are not enough */
	assert_int_equal(q.asked, 0);
	run(&q, &bulk, 1);
	assert_int_equal(q.asked, 1);
	assert_int_equal(q.m.in_force, 1);
}

static void it_measures_again_when_applying_failed(void **state)
{
	struct queue q = start(0);

	(void)state;
	measure(&q, &bulk, 2);
	q.refuse = 1;
	while (q.refuse > 0u)
		run(&q, &bulk, 1);
	assert_int_equal(q.m.state, VNETRX_MODERATE_STARTING);
	assert_int_equal(q.m.tuning.index, q.m.in_force);
	run(&q, &bulk, 1);
	assert_int_equal(q.m.state, VNETRX_MODERATE_MEASURING);
	measure(&q, &bulk, 12);
	stays_at(&q, &bulk, LAZIEST, 10);
}

static void a_step_that_could_not_be_applied_is_tried_again(void **state)
{
	struct queue q = start(0);
	uint8_t in_force;

	(void)state;
	measure(&q, &bulk, 2);
	in_force = q.m.in_force;
	q.refuse = 4;
	while (q.refuse > 0u)
		run(&q, &bulk, 1);
	assert_int_equal(q.m.in_force, in_force);
	measure(&q, &bulk, 40);
	stays_at(&q, &bulk, LAZIEST, 10);
}

static void a_device_that_always_refuses_is_asked_more_and_more_seldom(void **state)
{
	struct queue q = start(0);

	(void)state;
	q.refuse = UINT32_MAX;
	run(&q, &bulk, 64u * (2u + 4u + 8u + 16u + 32u) + 100u);
	assert_int_equal(q.asked, 6);
	run(&q, &bulk, 64u * 64u * 10u);
	assert_in_range(q.asked, 14, 16);
	assert_int_equal(q.m.in_force, VNETRX_MODERATE_DEFAULTS); /* still not known */
	q.refuse = 0;
	run(&q, &bulk, 64u * 65u);
	assert_true(q.m.in_force <= LAZIEST);
	measure(&q, &bulk, 10);
	stays_at(&q, &bulk, LAZIEST, 10);
}

static void a_first_profile_that_was_refused_is_asked_for_again(void **state)
{
	struct queue q = start(3);
	struct vnetrx_moderate_profile profile;

	(void)state;
	interrupt(&q, &bulk);
	assert_true(sample(&q, &profile));
	assert_int_equal(profile.usecs, 128);
	vnetrx_moderate_applied(&q.m, false);
	for (unsigned i = 0; i < 2u * VNETRX_MODERATE_EVENTS; i++) {
		interrupt(&q, &bulk);
		assert_false(sample(&q, &profile));
	}
	interrupt(&q, &bulk);
	assert_true(sample(&q, &profile));
	assert_int_equal(profile.usecs, 128);
}

static void a_failure_is_forgotten_when_nothing_needs_to_be_applied(void **state)
{
	struct vnetrx_moderate m = begun(0, 0);
	struct vnetrx_moderate_counters counters = { 64, 6400, 64 };
	struct vnetrx_moderate_profile profile;

	(void)state;
	assert_true(vnetrx_moderate_sample(&m, &counters, 1000000, &profile));
	vnetrx_moderate_applied(&m, false);
	assert_false(feed(&m, 64, 6400, 64, 1000000));
	assert_false(feed(&m, 64, 6400, 64 + 128, 2000000)); /* without a packet: as before all packets */
	assert_false(feed(&m, 128, 12800, 64 + 128 + 63, 3000000));
	assert_true(feed(&m, 128, 12800, 64 + 128 + 64, 3000000));
}

static void an_application_under_way_is_forgotten_at_a_restart(void **state)
{
	struct queue q = start(1);
	struct vnetrx_moderate_profile profile;

	(void)state;
	interrupt(&q, &bulk);
	assert_true(sample(&q, &profile));
	vnetrx_moderate_restart(&q.m);
	assert_true(sample(&q, &profile));
	assert_int_equal(profile.usecs, 8);
}

static void an_application_nobody_asked_for_has_no_effect(void **state)
{
	struct queue q = start(0);
	struct vnetrx_moderate before;

	(void)state;
	measure(&q, &bulk, 3);
	before = q.m;
	vnetrx_moderate_applied(&q.m, false);
	vnetrx_moderate_applied(&q.m, true);
	assert_memory_equal(&q.m, &before, sizeof(before));
}

static void after_a_restart_the_first_profile_is_applied_again(void **state)
{
	struct queue q = start(1), fresh = start(1);
	struct vnetrx_moderate_profile profile;

	(void)state;
	measure(&q, &bulk, 10);
	while (!sample(&q, &profile))
		interrupt(&q, &sparse);
	vnetrx_moderate_applied(&q.m, false);
	assert_int_equal(q.m.failures, 1);
	vnetrx_moderate_restart(&q.m);
	assert_memory_equal(&q.m.tuning, &fresh.m.tuning, sizeof(q.m.tuning));
	q.profile = (struct vnetrx_moderate_profile){ 0, 0 };
	q.asked = 0;
	run(&q, &bulk, 1);
	assert_int_equal(q.asked, 1);
	assert_int_equal(q.profile.usecs, 8);
	measure(&q, &bulk, 9);
	stays_at(&q, &bulk, LAZIEST, 10);
}

/* ---- configuration ---- */

static void profiles_of_ones_own_are_used(void **state)
{
	static const struct vnetrx_moderate_profile own[3] = { { 0, 0 }, { 20, 32 }, { 50, 64 } };
	struct vnetrx_moderate_config cfg = { .profiles = own, .profiles_num = 3 };
	struct queue q = { .seed = 1 };

	(void)state;
	assert_int_equal(vnetrx_moderate_init(&q.m, &cfg), VNETRX_OK);
	measure(&q, &bulk, 6);
	stays_at(&q, &bulk, 2, 10);
	assert_int_equal(q.profile.usecs, 50);
	assert_int_equal(q.profile.packets, 64);
	cfg.profiles_num = 1;
	q = (struct queue){ .seed = 1 };
	assert_int_equal(vnetrx_moderate_init(&q.m, &cfg), VNETRX_OK);
	stays_at(&q, &bulk, 0, 10);
	assert_int_equal(q.asked, 1);
}

static void a_configuration_out_of_range_is_refused(void **state)
{
	static const struct vnetrx_moderate_profile falling[2] = { { 8, 1 }, { 7, 1 } };
	struct vnetrx_moderate_config cfg = { .first = 5 };
	struct vnetrx_moderate m;

	(void)state;
	assert_int_equal(vnetrx_moderate_init(&m, &cfg), VNETRX_ERR_INVALID);
	cfg = (struct vnetrx_moderate_config){ .events_min = 65537 };
	assert_int_equal(vnetrx_moderate_init(&m, &cfg), VNETRX_ERR_INVALID);
	cfg = (struct vnetrx_moderate_config){ .profiles = falling, .profiles_num = 2 };
	assert_int_equal(vnetrx_moderate_init(&m, &cfg), VNETRX_ERR_INVALID);
	cfg.profiles_num = 0;
	assert_int_equal(vnetrx_moderate_init(&m, &cfg), VNETRX_ERR_INVALID);
	cfg.profiles_num = VNETRX_MODERATE_PROFILES_MAX + 1u;
	assert_int_equal(vnetrx_moderate_init(&m, &cfg), VNETRX_ERR_INVALID);
}

static void there_are_profiles_for_receiving_and_for_sending(void **state)
{
	static const struct vnetrx_moderate_profile rx[] = {
		{ 1, 256 }, { 8, 256 }, { 64, 256 }, { 128, 256 }, { 256, 256 },
	};
	static const struct vnetrx_moderate_profile tx[] = {
		{ 1, 128 }, { 8, 128 }, { 32, 128 }, { 64, 128 }, { 128, 128 },
	};
	struct vnetrx_moderate_config cfg = { .profiles = vnetrx_moderate_tx_profiles(), .profiles_num = 5 };
	struct vnetrx_moderate m;

	(void)state;
	assert_memory_equal(vnetrx_moderate_rx_profiles(), rx, sizeof(rx));
	assert_memory_equal(vnetrx_moderate_tx_profiles(), tx, sizeof(tx));
	assert_int_equal(vnetrx_moderate_init(&m, &cfg), VNETRX_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_profile_is_applied_before_anything_is_measured),
		cmocka_unit_test(bulk_load_goes_to_the_laziest_profile_from_any),
		cmocka_unit_test(sparse_load_goes_to_the_quickest_profile_from_any),
		cmocka_unit_test(requests_and_answers_go_to_the_quickest_profile_from_any),
		cmocka_unit_test(of_profiles_that_differ_in_nothing_one_of_the_quicker_is_kept),
		cmocka_unit_test(a_change_of_load_is_followed_within_eight_measurements),
		cmocka_unit_test(gaps_that_vary_by_half_do_not_mislead_it),
		cmocka_unit_test(a_steady_load_is_left_alone),
		cmocka_unit_test(a_load_that_leads_nowhere_tires_it),
		cmocka_unit_test(a_measurement_lasts_64_interrupts_unless_told_otherwise),
		cmocka_unit_test(counters_that_wrap_are_harmless),
		cmocka_unit_test(a_difference_of_up_to_a_tenth_is_none),
		cmocka_unit_test(bytes_count_before_packets_and_packets_before_interrupts),
		cmocka_unit_test(rates_of_measurements_of_different_length_are_compared),
		cmocka_unit_test(the_best_is_found_wherever_it_lies_and_from_wherever),
		cmocka_unit_test(a_clock_that_stands_still_only_makes_a_measurement_longer),
		cmocka_unit_test(a_clock_that_goes_back_counts_as_one_that_stands),
		cmocka_unit_test(interrupts_without_packets_change_nothing),
		cmocka_unit_test(the_greatest_counts_and_times_do_not_overflow),
		cmocka_unit_test(nonsense_is_survived),
		cmocka_unit_test(counters_are_ignored_while_a_profile_is_being_applied),
		cmocka_unit_test(it_measures_again_when_applying_failed),
		cmocka_unit_test(a_step_that_could_not_be_applied_is_tried_again),
		cmocka_unit_test(a_device_that_always_refuses_is_asked_more_and_more_seldom),
		cmocka_unit_test(a_first_profile_that_was_refused_is_asked_for_again),
		cmocka_unit_test(a_failure_is_forgotten_when_nothing_needs_to_be_applied),
		cmocka_unit_test(an_application_under_way_is_forgotten_at_a_restart),
		cmocka_unit_test(an_application_nobody_asked_for_has_no_effect),
		cmocka_unit_test(after_a_restart_the_first_profile_is_applied_again),
		cmocka_unit_test(profiles_of_ones_own_are_used),
		cmocka_unit_test(a_configuration_out_of_range_is_refused),
		cmocka_unit_test(there_are_profiles_for_receiving_and_for_sending),
	};

	return cmocka_run_group_tests_name("moderate", tests, NULL, NULL);
}
