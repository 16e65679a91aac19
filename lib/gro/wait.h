/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a held packet waits for its next segment.
 *
 * With a fixed quiet time that is timeout_ns. With the adaptive timer it is a small multiple of the flow's own gap, the
 * mean time from one segment to the next, and at least about what an interrupt takes to become a poll:
 *
 *   WAIT_GAPS * (gap + WAIT_EXTRA) >= wait,   wait one of 1, 2, 4 ... 512 times 1024 ns, the largest that fits
 *
 * A gap is never divided out: it is kept as a span of time and the number of gaps in it, and compared by products.
 */
#ifndef VNRX_WAIT_H
#define VNRX_WAIT_H

#include "vnetrx/gro.h"

struct vnrx_mem;

#define VNRX_WAIT_UNIT 1024u /* ns: what the first seen list waits; each next one twice as long             */
#define VNRX_GAP_UNIT  64u   /* ns: spans are kept in it                                                    */
#define VNRX_LATE_UNIT 256u  /* ns: how long a poll took; more than 255 of them count as 255                */
#define VNRX_GAPS      8u    /* flows remembered per set of the flow table: as many as have a place there   */

/* What is remembered of a flow of which nothing is held. */
struct vnrx_gap {
	uint16_t tag;  /* which flow of the set: 0x80 and 15 bits of its hash, 0 = free      */
	uint16_t seen; /* when its last segment was, in units of 1024 ns                     */
	uint16_t span; /* in units of VNRX_GAP_UNIT                                          */
	uint16_t gaps; /* in the span; 0 = not known                                         */
};

/* Takes the memory of gaps. */
struct vnrx_gap *vnrx_gaps_init(struct vnrx_mem *mem, uint32_t sets);

/* Adaptive: the flow of this hash will be held in slot from `now` on. Returns the list of its wait. */
unsigned vnrx_wait_first(struct vnetrx_gro *gro, uint32_t slot, uint32_t hash, vnetrx_ns now);

/* Adaptive: slot is joined at `now`, later than before. Returns the list of its wait from there on. */
unsigned vnrx_wait_next(struct vnetrx_gro *gro, uint32_t slot, vnetrx_ns now);

/* Adaptive: slot leaves. */
void vnrx_wait_learn(struct vnetrx_gro *gro, uint32_t slot, enum vnetrx_reason reason);

/* Adaptive: the poll that began at `from` ends at `now`: what it took may have come until then. */
void vnrx_wait_rest(struct vnetrx_gro *gro, vnetrx_ns from, vnetrx_ns now);

#endif
