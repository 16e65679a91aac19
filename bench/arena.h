/* SPDX-License-Identifier: BSD-3-Clause */
/* Page runs for benchmarks: one large allocation, handed out in a fixed random order, last in first out. */
#ifndef ARENA_H
#define ARENA_H

#include <stddef.h>
#include <stdint.h>

#define ARENA_RUN  32768u
#define ARENA_RUNS 2048u

struct bench;

struct arena {
	uint8_t *mem;
	uint32_t free_runs[ARENA_RUNS];
	uint32_t nfree;
};

/* Allocates when arena->mem is NULL, and makes all runs free. */
void arena_init(struct arena *arena, struct bench *b);

/* All runs are free: from now on in the order of this number. */
void arena_shuffle(struct arena *arena, uint32_t seed);

/* page_alloc and page_free of struct vnetrx_host_ops, with the arena as host. */
void *arena_page_alloc(void *arena, size_t size, uint64_t *dma);
void  arena_page_free(void *arena, void *page, size_t size, uint64_t dma);

#endif
