/* SPDX-License-Identifier: BSD-3-Clause */
/* A host for unit tests: aligned pages from the C library, failing on demand, every one of them accounted for. */
#ifndef TEST_HOST_H
#define TEST_HOST_H

#include "vnetrx/ops.h"

/* Device addresses differ from the CPU's by this, so that mixing them up shows. */
#define TEST_HOST_DMA UINT64_C(0x100000000)

struct test_host {
	unsigned calls;     /* page_alloc calls so far                                     */
	unsigned fail_at;   /* the call with this number (1 = first) fails; 0 = none       */
	unsigned fail_from; /* calls from this number on fail; 0 = none                    */
	size_t   size_max;  /* larger requests fail; 0 = no limit                          */
	size_t   bytes;     /* given out now                                               */
	unsigned pages;     /* given out now                                               */
	unsigned wakes;
	unsigned errors;    /* page_free with a size or dma that is not what was given out */
};

/* page_alloc, page_free, wake, and a deliver that takes nothing. */
extern const struct vnetrx_host_ops test_host_ops;

/* n bytes aligned to a cache line; free() them. */
void *test_mem(size_t n);

#endif
