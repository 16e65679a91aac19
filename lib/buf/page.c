/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Invariant: a run is in the spare list if and only if it has memory, both counts are 0 and nobody carves from it.
 * Runs of run_size stand before smaller ones there, so that those are used up only while the host has nothing better;
 * for each large run that can be had again, a small one goes back.
 */
#include "page.h"

#include "../check.h"
#include "../mem.h"
#include "../track.h"

void vnrx_pages_init(struct vnrx_pages *pg)
{
	uint32_t i;

	for (i = 0; i < pg->runs_num; i++) {
		pg->runs[i] = (struct vnrx_run){ .next = (uint16_t)(i + 1u) };
	}
	pg->runs[pg->runs_num - 1u].next = VNRX_RUN_NONE;
	pg->bare = 0;
	pg->spare = VNRX_RUN_NONE;
	pg->spare_last = VNRX_RUN_NONE;
}

static uint16_t page_new(struct vnrx_pages *pg, uint32_t size)
{
	uint16_t         i = pg->bare;
	struct vnrx_run *run;
	uint64_t         dma = 0;

	if (i == VNRX_RUN_NONE || pg->run_bytes + size > pg->run_bytes_max)
		return VNRX_RUN_NONE;
	run = &pg->runs[i];
	run->base = pg->page_alloc(pg->host, size, &dma);
	if (run->base == NULL)
		return VNRX_RUN_NONE;
	VNRX_ASSERT((uintptr_t)run->base % size == 0u);
	run->dma = dma;
	run->size = size;
	pg->bare = run->next;
	pg->run_bytes += size;
	pg->owned++;
	pg->run_allocs++;
	return i;
}

static void page_drop(struct vnrx_pages *pg, uint16_t i)
{
	struct vnrx_run *run = &pg->runs[i];
	uint8_t         *base = run->base;

	VNRX_TRACK_UNDEFINED(base, run->size);
	run->base = NULL;
	run->next = pg->bare;
	pg->bare = i;
	pg->run_bytes -= run->size;
	pg->owned--;
	pg->run_frees++;
	pg->page_free(pg->host, base, run->size, run->dma);
}

static uint16_t spare_take(struct vnrx_pages *pg)
{
	uint16_t         i = pg->spare;
	struct vnrx_run *run = &pg->runs[i];

	pg->spare = run->next;
	if (pg->spare == VNRX_RUN_NONE)
		pg->spare_last = VNRX_RUN_NONE;
	pg->spare_bytes -= run->size;
	VNRX_TRACK_UNDEFINED(run->base, run->size);
	return i;
}

/* No spare run of full size. */
static VNRX_COLD uint16_t pages_get_new(struct vnrx_pages *pg)
{
	uint16_t i = page_new(pg, pg->run_size);

	if (i != VNRX_RUN_NONE) {
		if (pg->spare != VNRX_RUN_NONE)
			page_drop(pg, spare_take(pg));
		return i;
	}
	if (pg->spare != VNRX_RUN_NONE)
		return spare_take(pg);
	if (pg->small_size < pg->run_size)
		i = page_new(pg, pg->small_size);
	if (i == VNRX_RUN_NONE)
		pg->run_fails++;
	return i;
}

#ifdef VNRX_POOL_DEBUG
uint16_t vnrx_pages_get(struct vnrx_pages *pg, uint32_t need)
{
	uint16_t i = page_new(pg, vnrx_pow2_up(need > 1024u ? need : 1024u));

	(void)pages_get_new;
	if (i == VNRX_RUN_NONE)
		pg->run_fails++;
	return i;
}
#else
uint16_t vnrx_pages_get(struct vnrx_pages *pg, uint32_t need)
{
	(void)need;
	VNRX_ASSERT(need <= pg->small_size);
	if (pg->spare != VNRX_RUN_NONE && pg->runs[pg->spare].size == pg->run_size)
		return spare_take(pg);
	return pages_get_new(pg);
}
#endif

void vnrx_pages_put(struct vnrx_pages *pg, uint16_t i)
{
	struct vnrx_run *run = &pg->runs[i];

	VNRX_ASSERT(run->base != NULL && run->posted == 0u && run->held == 0u);
	if (pg->spare_bytes + run->size > pg->spare_bytes_max) {
		page_drop(pg, i);
		return;
	}
	VNRX_TRACK_NOACCESS(run->base, run->size);
	pg->spare_bytes += run->size;
	if (run->size == pg->run_size || pg->spare == VNRX_RUN_NONE) {
		run->next = pg->spare;
		pg->spare = i;
	} else {
		run->next = VNRX_RUN_NONE;
		pg->runs[pg->spare_last].next = i;
	}
	if (run->next == VNRX_RUN_NONE)
		pg->spare_last = i;
}

void vnrx_pages_fini(struct vnrx_pages *pg)
{
	uint32_t i;

	for (i = 0; i < pg->runs_num; i++) {
		if (pg->runs[i].base != NULL)
			page_drop(pg, (uint16_t)i);
	}
}
