/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cuts the caller's memory into the arrays of an object. The same calls in the same order, first with base == NULL to
 * measure and then with the memory to place, so that footprint() and init() cannot disagree.
 */
#ifndef VNRX_MEM_H
#define VNRX_MEM_H

#include "compiler.h"

struct vnrx_mem {
	uint8_t *base; /* aligned to VNRX_CACHE_LINE; NULL: only measure */
	size_t   size; /* bytes at base                                  */
	size_t   off;  /* bytes taken; SIZE_MAX: more was asked than there is, or than a size_t counts */
};

/* The next n elements of `size` bytes, aligned to a cache line; NULL when measuring or when they do not fit. The
 * products fit 64 bits because both factors are 32 bits wide. */
/*@ requires \valid(mem);
    assigns mem->off;
    ensures mem->off == SIZE_MAX || mem->off >= \old(mem->off) + (integer)n * size;
    ensures \old(mem->off) == SIZE_MAX ==> mem->off == SIZE_MAX;
    ensures mem->base != \null && mem->off != SIZE_MAX ==> mem->off <= mem->size;
*/
static inline void *vnrx_mem_take(struct vnrx_mem *mem, uint32_t n, uint32_t size)
{
	uint64_t bytes = (uint64_t)n * size + (VNRX_CACHE_LINE - 1u);
	size_t   limit = mem->base != NULL ? mem->size : SIZE_MAX - 1u;
	size_t   at = mem->off;

	bytes -= bytes % VNRX_CACHE_LINE;
	if (at > limit || bytes > (uint64_t)(limit - at)) {
		mem->off = SIZE_MAX;
		return NULL;
	}
	mem->off = at + (size_t)bytes;
	return mem->base != NULL ? mem->base + at : NULL;
}

/* Bytes taken so far; 0 when they could not be counted or did not fit. */
/*@ requires \valid_read(mem);
    assigns \nothing;
*/
static inline size_t vnrx_mem_total(const struct vnrx_mem *mem)
{
	return mem->off != SIZE_MAX ? mem->off : 0u;
}

/* Whether p may hold an object: it is there (the caller's allocator may have failed), aligned to a cache line. */
static inline bool vnrx_mem_usable(const void *p)
{
	return p != NULL && (uintptr_t)p % VNRX_CACHE_LINE == 0u;
}

static inline bool vnrx_is_pow2(uint32_t v)
{
	return v != 0u && (v & (v - 1u)) == 0u;
}

/* v rounded up to a multiple of align, a power of two; v + align must fit. */
static inline uint32_t vnrx_align_up(uint32_t v, uint32_t align)
{
	return (v + align - 1u) & ~(align - 1u);
}

/* The smallest power of two that is at least v; v is at most 2^31. */
/*@ requires v <= 2147483648;
    assigns \nothing;
    ensures \result >= v;
*/
static inline uint32_t vnrx_pow2_up(uint32_t v)
{
	uint32_t p = 1;

	/*@ loop invariant p == 1 || 1 <= p <= 2 * (v - 1);
	    loop assigns p;
	    loop variant v - p;
	*/
	while (p < v)
		p *= 2u;
	return p;
}

/* n / d without a divide instruction, which small targets take from a library; d is not 0. For set-up code only. */
/*@ requires d != 0;
    assigns \nothing;
*/
static inline uint32_t vnrx_div(uint32_t n, uint32_t d)
{
	uint64_t rest = 0;
	uint32_t q = 0;
	unsigned bit;

	/*@ loop invariant bit <= 32 && rest < d;
	    loop assigns bit, rest, n, q;
	    loop variant 32 - bit;
	*/
	for (bit = 0; bit < 32u; bit++) {
		rest = rest * 2u + n / 0x80000000u;
		n *= 2u;
		q *= 2u;
		if (rest >= d) {
			rest -= d;
			q++;
		}
	}
	return q;
}

#endif
