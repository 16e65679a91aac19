/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that a device in another process may map: one file in memory, and a page allocator on it.
 *
 * The device addresses it from REGION_DMA on, which is no pointer of this process: who takes one for the other finds
 * out. What the allocator knows lies outside, where the device cannot write.
 *
 * struct region_host is the host of heap.h with its pages from a region.
 */
#ifndef EXAMPLES_REGION_H
#define EXAMPLES_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap.h"

#define REGION_DMA       0x100000000u /* the device's address of the first byte                  */
#define REGION_PAGE      1024u        /* the smallest piece                                      */
#define REGION_SIZES     12u          /* pieces of REGION_PAGE << 0 to << 11, which is 2 MiB     */
#define REGION_HUGE_PAGE 0x200000u    /* the region starts and ends at a multiple of it          */

struct region {
	int       fd;   /* of the file; offset 0 is the first byte */
	uint8_t  *base;
	size_t    size;
	size_t    used;   /* from here on nothing was ever given out                      */
	size_t    out;    /* bytes given out now: 0 in the end, or somebody leaks         */
	bool      huge;   /* in huge pages                                                */
	uint32_t *next;   /* of each piece that is free: number + 1 of the next one       */
	uint32_t  free[REGION_SIZES]; /* number + 1 of the first free one, 0 = none       */
};

/* At least `size` bytes, in huge pages when enough of them are free. NULL = no memory. */
struct region *region_new(size_t size);
void region_delete(struct region *r);

/* `size` bytes (a power of two from REGION_PAGE to REGION_HUGE_PAGE, aligned to itself) and the device's address of
 * the first; NULL = none is left. What is given back is reused for the same size. */
void *region_alloc(struct region *r, size_t size, uint64_t *dma);
void region_give(struct region *r, void *page, size_t size);

/* `size` bytes at a page's beginning that stay with the caller as long as the region; NULL = too many, or none. */
void *region_keep(struct region *r, size_t size, uint64_t *dma);

/* This process's address of what the device calls `dma`; dma lies in the region. */
static inline void *region_at(const struct region *r, uint64_t dma)
{
	return r->base + (dma - REGION_DMA);
}

struct region_host {
	struct heap_host heap;   /* its counts of pages stay 0: see region->out */
	struct region   *region;
};

/* The ops of a struct region_host. */
struct vnetrx_host_ops region_host_ops(void);

#endif
