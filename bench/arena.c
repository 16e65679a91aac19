/* SPDX-License-Identifier: BSD-3-Clause */
#include "arena.h"

#include "bench.h"

void arena_init(struct arena *arena, struct bench *b)
{
	if (arena->mem == NULL)
		arena->mem = bench_alloc(b, (size_t)ARENA_RUNS * ARENA_RUN);
	arena_shuffle(arena, 0u);
}

void arena_shuffle(struct arena *arena, uint32_t seed)
{
	uint32_t rnd = 88172645u ^ seed * 2654435769u;
	uint32_t i;

	arena->nfree = ARENA_RUNS;
	for (i = 0; i < ARENA_RUNS; i++)
		arena->free_runs[i] = i;
	for (i = ARENA_RUNS - 1; i > 0; i--) {
		uint32_t other, swap;

		rnd ^= rnd << 13;
		rnd ^= rnd >> 17;
		rnd ^= rnd << 5;
		other = rnd % (i + 1);
		swap = arena->free_runs[i];
		arena->free_runs[i] = arena->free_runs[other];
		arena->free_runs[other] = swap;
	}
}

void *arena_page_alloc(void *arg, size_t size, uint64_t *dma)
{
	struct arena *arena = arg;
	uint8_t *page;

	if (size != ARENA_RUN || arena->nfree == 0)
		return NULL;
	page = arena->mem + (size_t)arena->free_runs[--arena->nfree] * ARENA_RUN;
	*dma = (uintptr_t)page;
	return page;
}

void arena_page_free(void *arg, void *page, size_t size, uint64_t dma)
{
	struct arena *arena = arg;

	(void)size;
	(void)dma;
	arena->free_runs[arena->nfree++] = (uint32_t)((size_t)((uint8_t *)page - arena->mem) / ARENA_RUN);
}
