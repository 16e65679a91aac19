/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtqueues between a driver and a device that do anything: nothing is lost, nothing comes twice, nobody sleeps for
 * ever, and a device that lies breaks the ring at most until the next reset.
 *
 *   test_virtq_model [--seed S] [--count N]     with N: only the long mix, of N operations
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "virtq/model.h"

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef RUNNING_ON_VALGRIND
#define RUNNING_ON_VALGRIND 0
#endif

#define ROUND_OPS 3000u

static uint64_t seed;
static uint64_t count;

struct totals {
	uint64_t ops;
	uint64_t broken[VNETRX_VIRTQ_BAD_ORDER + 1u]; /* by enum vnetrx_virtq_fault; 0: stopped or stuck */
	uint64_t faults[FAULTY_RING_KINDS_NUM];
};

/* So that the rounds of two seeds are others. */
static uint64_t seed_of(uint64_t round)
{
	return seed * 0x5851f42d4c957f2du + round;
}

static uint64_t scaled(uint64_t n)
{
	return RUNNING_ON_VALGRIND ? n / 30u : n;
}

static void steps(struct vqm *m, unsigned n)
{
	while (n-- > 0u)
		vqm_step(m);
}

/* Any configuration; sometimes shortly before the 16-bit indices wrap. */
static void open_any(struct vqm *m, uint64_t round_seed)
{
	struct vnetrx_virtq_config cfg;
	struct rng rng = { round_seed };

	vqm_configure(&rng, &cfg);
	vqm_open(m, &cfg, rng.state);
	if (rng_once_in(&rng, 8) && !RUNNING_ON_VALGRIND)
		vqm_forward(m, 65536u - rng_below(&rng, 3u * cfg.size));
}

static uint64_t honest_round(uint64_t round_seed)
{
	struct vqm m;
	uint64_t ops;

	open_any(&m, round_seed);
	steps(&m, ROUND_OPS);
	vqm_recover(&m);
	steps(&m, 100);
	ops = m.ops;
	vqm_close(&m);
	return ops;
}

/* Some kinds of faults, rare or frequent. */
static void random_faults(struct vqm *m)
{
	static const uint32_t ppms[] = { 300, 3000, 30000, 300000 };
	uint32_t ppm = ppms[rng_below(&m->rng, 4)];

	faulty_ring_set_all(m->faulty, rng_once_in(&m->rng, 3) ? ppm : 0u);
	for (unsigned kind = 0; kind < FAULTY_RING_KINDS_NUM; kind++)
		if (rng_once_in(&m->rng, 4))
			faulty_ring_set(m->faulty, (enum faulty_ring_kind)kind, ppm);
	m->hostile = true;
}

/* Until the ring breaks, the device gives up or time is over; then all comes back, and good traffic goes on. */
static void attack(struct vqm *m, struct totals *t)
{
	enum vnetrx_virtq_fault fault;

	random_faults(m);
	for (unsigned i = rng_below(&m->rng, 600); i > 0u && vnetrx_virtq_fault(m->vq) == VNETRX_VIRTQ_OK; i--)
		vqm_step(m);
	fault = vnetrx_virtq_fault(m->vq);
	assert_true(fault <= VNETRX_VIRTQ_BAD_ORDER);
	t->broken[fault]++;
	if (fault != VNETRX_VIRTQ_OK)
		steps(m, 20); /* it stays as it is */
	assert_true(fault == VNETRX_VIRTQ_OK || vnetrx_virtq_fault(m->vq) == fault);
	vqm_recover(m);
	steps(m, 60);
}

static void hostile_round(uint64_t round_seed, struct totals *t)
{
	struct vqm m;

	open_any(&m, round_seed);
	while (m.ops < ROUND_OPS)
		attack(&m, t);
	t->ops += m.ops;
	for (unsigned kind = 0; kind < FAULTY_RING_KINDS_NUM; kind++)
		t->faults[kind] += faulty_ring_count(m.faulty, (enum faulty_ring_kind)kind);
	vqm_close(&m);
}

static void print_totals(const struct totals *t)
{
	static const char *const reasons[] = { "not broken, but reset", "broken by a bad index", "broken by a bad id",
		                               "broken by a bad order" };

	printf("# %llu operations with a hostile device\n", (unsigned long long)t->ops);
	for (unsigned fault = 0; fault <= VNETRX_VIRTQ_BAD_ORDER; fault++)
		printf("# %10llu  %s\n", (unsigned long long)t->broken[fault], reasons[fault]);
	for (unsigned kind = 0; kind < FAULTY_RING_KINDS_NUM; kind++)
		printf("# %10llu  %s\n", (unsigned long long)t->faults[kind], faulty_ring_text(kind));
}

static void ring_agrees_with_the_model_whatever_both_sides_do(void **state)
{
	uint64_t ops = 0, want = scaled(count != 0u ? count / 2u : 300000u);

	(void)state;
	for (uint64_t i = 0; ops < want; i++)
		ops += honest_round(seed_of(i));
	printf("# %llu operations, seed %llu\n", (unsigned long long)ops, (unsigned long long)seed);
}

/* What may be negotiated beside the format. */
static const uint32_t kinds[] = { 0, VNETRX_VIRTQ_EVENT_IDX, VNETRX_VIRTQ_EVENT_IDX | VNETRX_VIRTQ_IN_ORDER,
	                          VNETRX_VIRTQ_EVENT_IDX | VNETRX_VIRTQ_INDIRECT };

static void split_ring_wakes_both_sides_at_every_index_around_the_wrap(void **state)
{
	struct vqm m;

	(void)state;
	for (unsigned kind = RUNNING_ON_VALGRIND ? 3 : 0; kind < 4u; kind++) { /* small rings take long to get there */
		struct vnetrx_virtq_config cfg = { .size = 1u << 2u * kind, .flags = kinds[kind], .segs_max = 1 };

		cfg.ring_dma = VQM_RING_DMA;
		vqm_open(&m, &cfg, seed_of(kind));
		vqm_forward(&m, 65536u - 100u);
		while (m.reap_pos < 65536u + 100u)
			vqm_single(&m, 1);
		steps(&m, 1000);
		vqm_close(&m);
	}
}

static void packed_ring_of_every_size_to_300_wakes_both_sides_at_every_slot(void **state)
{
	struct vqm m;

	(void)state;
	for (uint32_t size = 1; size <= scaled(300); size++) {
		struct vnetrx_virtq_config cfg = { .size = size, .flags = kinds[size % 4u] | VNETRX_VIRTQ_PACKED };

		cfg.ring_dma = VQM_RING_DMA;
		cfg.segs_max = size < 3u ? size : 3u;
		vqm_open(&m, &cfg, seed_of(size));
		while (m.reap_pos < 4u * size + 2u)
			vqm_single(&m, 1u + rng_below(&m.rng, cfg.segs_max));
		vqm_forward(&m, 7u * size);
		steps(&m, 500);
		vqm_close(&m);
	}
}

static void hostile_device_breaks_the_ring_at_most_until_reset(void **state)
{
	uint64_t want = scaled(count != 0u ? count - count / 2u : 300000u);
	struct totals t;

	(void)state;
	memset(&t, 0, sizeof(t));
	for (uint64_t i = 0; t.ops < want; i++)
		hostile_round(seed_of(UINT32_MAX + i), &t);
	print_totals(&t);
	for (unsigned fault = 0; fault <= VNETRX_VIRTQ_BAD_ORDER && !RUNNING_ON_VALGRIND; fault++)
		assert_true(t.broken[fault] > 0u);
	for (unsigned kind = 0; kind < FAULTY_RING_KINDS_NUM && !RUNNING_ON_VALGRIND; kind++)
		assert_true(t.faults[kind] > 0u);
}

static bool option(const char *name, const char *value)
{
	uint64_t *to = strcmp(name, "--seed") == 0 ? &seed : strcmp(name, "--count") == 0 ? &count : NULL;

	if (to == NULL || value == NULL)
		return false;
	*to = strtoull(value, NULL, 0);
	return true;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_agrees_with_the_model_whatever_both_sides_do),
		cmocka_unit_test(hostile_device_breaks_the_ring_at_most_until_reset),
		cmocka_unit_test(split_ring_wakes_both_sides_at_every_index_around_the_wrap),
		cmocka_unit_test(packed_ring_of_every_size_to_300_wakes_both_sides_at_every_slot),
	};

	seed = stream_seed();
	for (int i = 1; i < argc; i += 2) {
		if (!option(argv[i], argv[i + 1])) {
			fprintf(stderr, "usage: test_virtq_model [--seed S] [--count N]\n");
			return 2;
		}
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
