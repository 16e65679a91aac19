/* SPDX-License-Identifier: BSD-3-Clause */
/* The GRO engine at work on a case: one repeat for bench_run() and its relatives. */
#ifndef GRO_WORK_H
#define GRO_WORK_H

#include "supply.h"
#include "vnetrx/gro.h"

#define GRO_WORK_MEM ((size_t)4 << 20)

struct bench;

struct gro_work {
	struct bench          *b;
	struct supply         *s;
	const struct gro_case *c;
	struct vnetrx_gro     *gro;
	void                  *mem;    /* GRO_WORK_MEM bytes                                     */
	struct traffic         traffic;
	vnetrx_ns              now;
	bool                   hash;   /* the device gives every packet the same hash            */
	uint64_t               pkts;   /* that went in                                           */
	uint64_t               out;    /* that came out                                          */
};

/* An engine for c that merges `protos` (VNETRX_GRO_TCP ...), with as many places as a window has packets, at least
 * 64. `key` 0 = one of its own. */
void gro_work_init(struct gro_work *w, const struct gro_case *c, uint32_t protos, uint64_t key);

/* ns per packet; arg is a struct gro_work. Every packet that comes out is checked. */
double gro_work_repeat(void *arg);

/* Segments per packet that came out, so far. */
double gro_work_segs(const struct gro_work *w);

#endif
