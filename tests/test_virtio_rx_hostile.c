/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole receive queue on a virtqueue whose device lies in everything that it can write: nothing is touched that is
 * not the library's, every buffer and packet is counted, and after a reset traffic goes on with all buffers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rng.h"
#include "virtio/hostile_rig.h"

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef RUNNING_ON_VALGRIND
#define RUNNING_ON_VALGRIND 0
#endif

static unsigned scaled(unsigned n)
{
	return RUNNING_ON_VALGRIND ? (n + 19u) / 20u : n;
}

static struct hostile_rig *rig_new(uint32_t flags, uint64_t seed)
{
	struct hostile_rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	hostile_rig_open(r, flags, seed);
	return r;
}

static void rig_end(struct hostile_rig *r)
{
	hostile_rig_balance(r);
	hostile_rig_prove_good(r, scaled(200));
	hostile_rig_close(r);
	free(r);
}

/* Kinds of faults that a ring of that format knows. */
static bool happens(enum faulty_ring_kind kind, uint32_t flags)
{
	bool packed = (flags & VNETRX_VIRTQ_PACKED) != 0u;

	switch (kind) {
	case FAULTY_RING_IDX_BACK:
	case FAULTY_RING_AVAIL:
		return !packed;
	case FAULTY_RING_WRAP_WRONG:
		return packed;
	default:
		return true;
	}
}

static void each_lie_alone_leaves_the_queue_working(void **state)
{
	uint32_t flags = 0;

	(void)state;
	for (unsigned ring = 0; ring_pair_kind(ring, &flags) != NULL; ring++) {
		for (unsigned kind = 0; kind < FAULTY_RING_KINDS_NUM; kind++) {
			struct hostile_rig *r = rig_new(flags, 100u * ring + kind);

			faulty_ring_set(r->faulty, (enum faulty_ring_kind)kind, 100000);
			for (unsigned i = 0; i < scaled(60); i++)
				hostile_rig_step(r);
			if (happens((enum faulty_ring_kind)kind, flags) && !RUNNING_ON_VALGRIND)
				assert_true(faulty_ring_count(r->faulty, (enum faulty_ring_kind)kind) > 0u);
			rig_end(r);
		}
	}
}

/* Some kinds, rare or frequent. */
static void random_faults(struct hostile_rig *r)
{
	static const uint32_t ppms[] = { 100, 1000, 10000, 100000 };
	uint32_t ppm = ppms[rng_below(&r->rng, 4)];

	faulty_ring_set_all(r->faulty, rng_below(&r->rng, 3) == 0u ? ppm : 0u);
	for (unsigned kind = 0; kind < FAULTY_RING_KINDS_NUM; kind++)
		if (rng_below(&r->rng, 4) == 0u)
			faulty_ring_set(r->faulty, (enum faulty_ring_kind)kind, ppm);
}

static void mixed_lies_lose_no_buffer_and_good_traffic_goes_on(void **state)
{
	uint64_t resets = 0, broken = 0, sent = 0;
	uint32_t flags = 0;

	(void)state;
	for (unsigned ring = 0; ring_pair_kind(ring, &flags) != NULL; ring++) {
		struct hostile_rig *r = rig_new(flags, ring);

		tracker_spoil(&r->tracker, !RUNNING_ON_VALGRIND); /* headers change after they were read, too */
		for (unsigned i = 0; i < scaled(1500); i++) {
			if (i % 50u == 0u)
				random_faults(r);
			hostile_rig_step(r);
			if (i % 100u == 99u)
				hostile_rig_balance(r);
			if (i % 200u == 199u)
				hostile_rig_prove_good(r, 50);
		}
		resets += r->resets;
		broken += r->broken;
		sent += r->sent;
		rig_end(r);
	}
	printf("# %llu frames, %llu resets, %llu of them of a broken ring\n", (unsigned long long)sent,
	       (unsigned long long)resets, (unsigned long long)broken);
	assert_true(broken > 0u || RUNNING_ON_VALGRIND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_lie_alone_leaves_the_queue_working),
		cmocka_unit_test(mixed_lies_lose_no_buffer_and_good_traffic_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
