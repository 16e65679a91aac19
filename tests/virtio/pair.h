/* SPDX-License-Identifier: BSD-3-Clause */
/* Both sides of one virtqueue: the library's driver side over the examples' device side, in heap memory. */
#ifndef TEST_VIRTIO_PAIR_H
#define TEST_VIRTIO_PAIR_H

#include "softring.h"
#include "vnetrx/virtq.h"

struct ring_pair {
	struct vnetrx_virtq_config cfg;
	struct vnetrx_virtq *vq;
	struct softring     *dev;
	void                *mem;
	uint8_t             *ring;
	size_t               ring_bytes;
	uint8_t             *copy; /* of the ring memory, by ring_pair_remember() */
};

/* flags: VNETRX_VIRTQ_*. */
void ring_pair_open(struct ring_pair *r, uint32_t size, uint32_t flags, uint32_t segs_max);
void ring_pair_open_delayed(struct ring_pair *r, uint32_t size, uint32_t flags, uint32_t segs_max, uint32_t delay_num,
                           uint32_t delay_den);
void ring_pair_close(struct ring_pair *r);

/* The device was reset; the driver resets its side itself. */
void ring_pair_reset_device(struct ring_pair *r);

/* Takes a copy of the ring memory; later: whether no byte of it has changed. */
void ring_pair_remember(struct ring_pair *r);
bool ring_pair_same(const struct ring_pair *r);

/* The device claims to have used what it never got: the next reap finds the ring broken. */
void ring_pair_break(struct ring_pair *r);

/* Split and packed, with and without event index, in order or not, indirect: name and flags of the i-th; NULL = past
 * the last. */
const char *ring_pair_kind(unsigned i, uint32_t *flags);

#endif
