/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of pages from the host: one count of buffers and one of fragments each, and a bounded cache of empty ones.
 *
 *   bare (no memory) --page_alloc--> in use --both counts 0--> spare --reuse, last in first out--> in use
 *                                                                 \--cache full: page_free--> bare
 */
#ifndef VNRX_BUF_PAGE_H
#define VNRX_BUF_PAGE_H

#include "../compiler.h"
#include "vnetrx/ops.h"
#include "vnetrx/stats.h"

#define VNRX_RUN_NONE 0xffffu
#define VNRX_RUN_SIZE_STD 32768u /* run_size 0 */

struct vnrx_run {
	uint8_t *base;   /* NULL: no memory                               */
	uint64_t dma;    /* base, as the device addresses it              */
	uint32_t size;   /* bytes, a power of two                         */
	uint32_t held;   /* fragments in it                               */
	uint16_t posted; /* buffers in it that are lent or recycled       */
	uint16_t next;   /* in the spare or the bare list                 */
	uint32_t rsvd;
};

struct vnrx_pages {
	struct vnrx_run *runs;
	uint32_t runs_num;
	uint32_t run_size;     /* what is asked of the host                             */
	uint32_t small_size;   /* what serves when that is not to be had; <= run_size   */
	uint16_t spare;        /* empty runs: those of run_size in front, last in first */
	uint16_t spare_last;
	uint16_t bare;         /* records without memory */
	uint64_t pinned_bytes; /* of runs with held != 0 */
	uint64_t run_bytes;
	uint64_t run_bytes_max;
	uint64_t spare_bytes;
	uint64_t spare_bytes_max;
	uint64_t owned;        /* runs with memory */
	uint64_t run_allocs;
	uint64_t run_frees;
	uint64_t run_fails;
	void    *host;
	void *(*page_alloc)(void *host, size_t size, uint64_t *dma);
	void  (*page_free)(void *host, void *page, size_t size, uint64_t dma);
};

/* Makes all records bare. The sizes, limits and ops are set by the caller. */
void vnrx_pages_init(struct vnrx_pages *pg);

/* A run with at least `need` bytes and both counts 0; VNRX_RUN_NONE = none to be had now. */
uint16_t vnrx_pages_get(struct vnrx_pages *pg, uint32_t need);

/* Takes back a run whose counts are 0: into the cache, or to the host when that is full. */
void vnrx_pages_put(struct vnrx_pages *pg, uint16_t i);

/* Gives all memory back to the host. */
void vnrx_pages_fini(struct vnrx_pages *pg);

#endif
