/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters for other threads: a sequence lock. The writer never waits; a reader that met a write reads again. Words are
 * stored and loaded whole, so that a 64-bit counter cannot tear where a word is narrower: seq covers its halves.
 */
#ifndef VNRX_SHARED_H
#define VNRX_SHARED_H

#include "compiler.h"

/* Words of a struct of counters: what any machine loads and stores in one piece. */
#define VNRX_WORDS(type) (sizeof(type) / sizeof(size_t))

/* Makes n words what readers see; *seq is odd meanwhile. */
static inline void vnrx_shared_write(uint32_t *seq, size_t *shared, const size_t *from, size_t n)
{
	VNRX_STORE_RELAXED(seq, *seq + 1u);
	VNRX_FENCE_RELEASE(); /* a reader that sees one of the words below sees the odd number */
	for (size_t i = 0; i < n; i++)
		VNRX_STORE_RELAXED(&shared[i], from[i]);
	VNRX_STORE_RELEASE(seq, *seq + 1u);
}

/* n words of one and the same write. */
static inline void vnrx_shared_read(const uint32_t *seq, const size_t *shared, size_t *to, size_t n)
{
	uint32_t before, after;

	do {
		before = VNRX_LOAD_ACQUIRE(seq);
		for (size_t i = 0; i < n; i++)
			to[i] = VNRX_LOAD_RELAXED(&shared[i]);
		VNRX_FENCE_ACQUIRE(); /* the words were read before seq is looked at again */
		after = VNRX_LOAD_RELAXED(seq);
	} while (before != after || before % 2u != 0u);
}

#endif
