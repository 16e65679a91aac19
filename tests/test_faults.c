/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices that lie in every field and hosts that fail, refuse and free late: nothing is lost, nothing is touched that
 * is not the library's, and good traffic goes on afterwards.
 *
 *   test_faults [--seed S] [--count N]     with N: only the long mix, of N packets
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "faults/rig.h"
#include "rng.h"

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef RUNNING_ON_VALGRIND
#define RUNNING_ON_VALGRIND 0
#endif

#define STEP_PACKETS  32u /* on average */
#define PROGRESS      100000u
#define NTH_MAX       24u

static uint64_t seed = 1u;
static uint64_t count = 0u;

/* Under Valgrind everything takes fifty times as long. */
static unsigned scaled(unsigned n)
{
	return RUNNING_ON_VALGRIND ? (n + 19u) / 20u : n;
}

/* The spoiling thread writes where only the checkers of this process can be told not to look. */
static bool may_spoil(void)
{
	return !RUNNING_ON_VALGRIND;
}

static struct rig *rig_new(uint64_t rig_seed)
{
	struct rig *r = calloc(1u, sizeof(*r));

	assert_non_null(r);
	rig_init(r, rig_seed);
	return r;
}

static void rig_end(struct rig *r)
{
	rig_prove_good(r, scaled(100u));
	rig_fini(r);
	free(r);
}

/* Some kinds of faults, rare or frequent; sometimes all of them. */
static void random_faults(struct rig *r)
{
	static const uint32_t ppms[] = { 300, 3000, 20000, 150000 };
	uint32_t ppm = ppms[rng_below(&r->rng, 4u)];
	unsigned kind;

	faulty_set_all(r->faulty, rng_below(&r->rng, 3u) == 0u ? ppm : 0u);
	for (kind = 0; kind < FAULTY_KINDS_NUM; kind++)
		if (rng_below(&r->rng, 4u) == 0u)
			faulty_set(r->faulty, (enum faulty_kind)kind, kind == FAULTY_REAP_BROKEN ? 1000u : ppm);
	r->tracker.page_fail_ppm = rng_below(&r->rng, 3u) == 0u ? 0u : 1000u << rng_below(&r->rng, 10u);
	r->tracker.early_ppm = rng_below(&r->rng, 2u) * 20000u;
}

/* One queue of a random configuration through changing faults; returns how many frames were sent. */
static uint64_t mixed_run(uint64_t run_seed, unsigned steps)
{
	struct rig *r = rig_new(run_seed);
	struct softdev_stats stats;
	unsigned i;

	tracker_spoil(&r->tracker, may_spoil());
	for (i = 0; i < steps; i++) {
		if (i % 50u == 0u)
			random_faults(r);
		rig_step(r);
		if (i % 100u == 99u)
			rig_balance(r);
		if (i % 200u == 199u)
			rig_prove_good(r, 50u);
	}
	softdev_read_stats(r->soft, &stats);
	rig_end(r);
	return stats.sent + stats.drops;
}

static void mixed_faults_lose_nothing_and_good_traffic_goes_on(void **state)
{
	uint64_t want = count != 0u ? count : scaled(30000u);
	uint64_t sent = 0;
	uint64_t shown = 0;
	uint64_t rng = seed;

	(void)state;
	while (sent < want) {
		uint64_t run_seed = (uint64_t)rng_next(&rng) << 32 | rng_next(&rng);

		if (count == 0u)
			printf("# seed %llu, run %llx\n", (unsigned long long)seed, (unsigned long long)run_seed);
		sent += mixed_run(run_seed, scaled(400u));
		if (sent - shown >= PROGRESS) {
			shown = sent;
			printf("# %llu packets\n", (unsigned long long)sent);
			fflush(stdout);
		}
	}
	if (count != 0u)
		printf("# seed %llu: %llu packets, counters balanced after every run\n", (unsigned long long)seed,
		       (unsigned long long)sent);
}

static void each_kind_of_fault_alone_leaves_the_path_working(void **state)
{
	unsigned kind, i;

	(void)state;
	for (kind = 0; kind < FAULTY_KINDS_NUM; kind++) {
		struct rig *r = rig_new(seed + kind);

		faulty_set(r->faulty, (enum faulty_kind)kind, 250000u);
		for (i = 0; i < scaled(100u) + 10u; i++)
			rig_step(r);
		if (faulty_count(r->faulty, (enum faulty_kind)kind) == 0u && !RUNNING_ON_VALGRIND)
			fail_msg("it never happened: %s", faulty_text(kind));
		rig_balance(r);
		rig_end(r);
	}
}

static void nth_call_fails(enum faulty_op op, unsigned nth, bool on)
{
	struct rig *r = rig_new(seed + nth);
	unsigned i;

	faulty_fail(r->faulty, op, nth, on);
	for (i = 0; i < 20u; i++)
		rig_step(r);
	faulty_fail(r->faulty, op, 0, false);
	rig_balance(r);
	rig_end(r);
}

static void the_nth_call_of_each_device_op_may_fail_for_every_n(void **state)
{
	unsigned op, nth;

	(void)state;
	for (op = 0; op < FAULTY_OPS_NUM; op++) {
		for (nth = 1; nth <= scaled(NTH_MAX); nth++) {
			nth_call_fails((enum faulty_op)op, nth, false);
			nth_call_fails((enum faulty_op)op, nth, true);
		}
	}
}

static void the_nth_page_may_be_refused_for_every_n_once_or_for_good(void **state)
{
	unsigned nth, i, on;

	(void)state;
	for (nth = 1; nth <= scaled(NTH_MAX); nth++) {
		for (on = 0; on < 2u; on++) {
			struct rig *r = rig_new(seed + nth);

			r->host.fail_at = r->host.allocs + nth;
			r->host.fail_from = on != 0u ? r->host.fail_at : 0u;
			for (i = 0; i < 20u; i++)
				rig_step(r);
			rig_balance(r);
			r->host.fail_from = 0;
			rig_end(r);
		}
	}
}

/* Faults that lose whole packets and leave no doubt where the next begins. */
static void packets_behind_a_dropped_one_arrive_whole_and_in_order(void **state)
{
	static const enum faulty_kind kinds[] = {
		FAULTY_POST_NONE, FAULTY_POST_SHORT, FAULTY_KICK_LOST, FAULTY_ARM_LIES, FAULTY_LEN_LONG, FAULTY_LEN_HUGE
	};
	unsigned run, i;

	(void)state;
	for (run = 0; run < scaled(40u); run++) {
		struct rig *r = rig_new(seed + run);

		for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			faulty_set(r->faulty, kinds[i], 20000u);
		r->stream.big = true;
		r->stream.gaps = true;
		r->checking = true;
		for (i = 0; i < 100u; i++)
			rig_step(r);
		rig_balance(r);
		r->stream.gaps = false;
		r->stream.big = r->ample;
		rig_end(r);
	}
}

static void a_host_that_takes_nothing_for_a_while_loses_nothing_it_was_offered(void **state)
{
	struct rig *r = rig_new(seed);
	unsigned i;

	(void)state;
	for (i = 0; i < 30u; i++) {
		unsigned k;

		r->host.limited = true;
		r->host.take_max = i % 3u;
		for (k = 0; k < 20u; k++) {
			stream_next(&r->stream);
			(void)softdev_send(r->soft, r->stream.frame, r->stream.len, &r->stream.meta);
			(void)vnetrx_rxq_poll(r->rxq, 64u, r->now);
		}
		rig_balance(r);
		(void)heap_release(&r->host, r->host.kept.count);
	}
	rig_end(r);
}

/* false: not an option of ours, or its number is none. */
static bool options(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i += 2) {
		char *end;
		uint64_t *to = strcmp(argv[i], "--seed") == 0 ? &seed : strcmp(argv[i], "--count") == 0 ? &count : NULL;

		if (to == NULL || i + 1 == argc)
			return false;
		*to = strtoull(argv[i + 1], &end, 10);
		if (*end != '\0' || end == argv[i + 1])
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest long_mix[] = {
		cmocka_unit_test(mixed_faults_lose_nothing_and_good_traffic_goes_on),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_fault_alone_leaves_the_path_working),
		cmocka_unit_test(the_nth_call_of_each_device_op_may_fail_for_every_n),
		cmocka_unit_test(the_nth_page_may_be_refused_for_every_n_once_or_for_good),
		cmocka_unit_test(packets_behind_a_dropped_one_arrive_whole_and_in_order),
		cmocka_unit_test(a_host_that_takes_nothing_for_a_while_loses_nothing_it_was_offered),
		cmocka_unit_test(mixed_faults_lose_nothing_and_good_traffic_goes_on),
	};

	if (!options(argc, argv)) {
		fprintf(stderr, "usage: %s [--seed S] [--count N]\n", argv[0]);
		return 1;
	}
	if (count != 0u)
		return cmocka_run_group_tests(long_mix, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
