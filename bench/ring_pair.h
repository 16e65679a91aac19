/* SPDX-License-Identifier: BSD-3-Clause */
/* One virtqueue for benchmarks: the library's driver side and the examples' device side, on one thread. */
#ifndef RING_PAIR_H
#define RING_PAIR_H

#include "bench.h"
#include "softring.h"
#include "vnetrx/virtq.h"

struct ring_pair {
	struct vnetrx_virtq *vq;
	struct softring     *dev;
	void                *mem;
	void                *ring;
	size_t               mem_size;
	size_t               ring_size;
};

/* flags: VNETRX_VIRTQ_*. Ends the process when that is no configuration. */
void ring_pair_open(struct ring_pair *p, struct bench *b, uint32_t size, uint32_t flags, uint32_t segs_max);
void ring_pair_close(struct ring_pair *p);

/* "split", "packed", with " in-order" and " indirect" behind. */
const char *ring_pair_name(uint32_t flags);

#endif
