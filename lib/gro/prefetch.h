/* SPDX-License-Identifier: BSD-3-Clause */
/* The only place of lib/gro that prefetches packets. */
#ifndef VNRX_GRO_PREFETCH_H
#define VNRX_GRO_PREFETCH_H

#include "vnetrx/pkt.h"

#include "../compiler.h"

/* Run-up of the prefetch: two header lines of the packets so far ahead, descriptors twice as far; in steps of VNRX_STEP
 * packets, so that the ends are looked for only once in each. */
#define VNRX_AHEAD 12u
#define VNRX_STEP  8u

static VNRX_INLINE void vnrx_prefetch_headers(const struct vnetrx_pkt *pkt)
{
	VNRX_PREFETCH(pkt->data);
	VNRX_PREFETCH(pkt->data + VNRX_CACHE_LINE);
}

/* The run-up of a call: nothing of its first packets was asked for yet. All descriptors first, so that their misses
 * overlap. */
static inline void vnrx_prefetch_start(struct vnetrx_pkt *const *pkts, unsigned n)
{
	unsigned heads = n < VNRX_AHEAD ? n : VNRX_AHEAD;
	unsigned descs = n < 2u * VNRX_AHEAD ? n : 2u * VNRX_AHEAD;

	VNRX_KEEP();
	for (unsigned i = 0; i < descs; i++)
		VNRX_PREFETCH(pkts[i]);
	for (unsigned i = 0; i < heads; i++)
		vnrx_prefetch_headers(pkts[i]);
}

/* Fewer than VNRX_STEP are left. */
static VNRX_COLD void vnrx_prefetch_end(struct vnetrx_pkt *const *pkts, unsigned n)
{
	VNRX_KEEP();
	for (unsigned i = 0; i < n; i++)
		vnrx_prefetch_headers(pkts[i]);
}

/* While packet i of n is handled: what the ones ahead will need. */
static VNRX_INLINE void vnrx_prefetch_ahead(struct vnetrx_pkt *const *pkts, unsigned i, unsigned n)
{
	struct vnetrx_pkt *const *heads = pkts + i + VNRX_AHEAD;
	struct vnetrx_pkt *const *descs = heads + VNRX_AHEAD;

	if (VNRX_LIKELY(i % VNRX_STEP != 0u) || n - i <= VNRX_AHEAD)
		return;
	if (VNRX_UNLIKELY(n - i < VNRX_AHEAD + VNRX_STEP)) {
		vnrx_prefetch_end(heads, n - i - VNRX_AHEAD);
		return;
	}
	vnrx_prefetch_headers(heads[0]);
	vnrx_prefetch_headers(heads[1]);
	vnrx_prefetch_headers(heads[2]);
	vnrx_prefetch_headers(heads[3]);
	vnrx_prefetch_headers(heads[4]);
	vnrx_prefetch_headers(heads[5]);
	vnrx_prefetch_headers(heads[6]);
	vnrx_prefetch_headers(heads[7]);
	if (n - i < 2u * VNRX_AHEAD + VNRX_STEP)
		return;
	VNRX_PREFETCH(descs[0]);
	VNRX_PREFETCH(descs[1]);
	VNRX_PREFETCH(descs[2]);
	VNRX_PREFETCH(descs[3]);
	VNRX_PREFETCH(descs[4]);
	VNRX_PREFETCH(descs[5]);
	VNRX_PREFETCH(descs[6]);
	VNRX_PREFETCH(descs[7]);
}

#endif
