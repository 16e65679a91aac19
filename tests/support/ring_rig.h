/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A virtqueue and the device on its other side, for tests. The device knows the queue only by its memory: it follows
 * the rings byte by byte as virtio 1.2, 2.7 and 2.8 describe them, and asserts what a driver must keep to.
 */
#ifndef RING_RIG_H
#define RING_RIG_H

#include "vnetrx/virtq.h"

#define RIG_DMA      0x7700000000u /* where the device finds the ring */
#define RIG_SEGS_MAX 64u

struct ring_rig {
	struct vnetrx_virtq_config cfg;
	struct vnetrx_virtq       *vq;
	void                      *mem;
	uint8_t                   *ring;
	uint32_t                   driver; /* offsets of the areas in the ring */
	uint32_t                   device;
	uint32_t                   avail;  /* the device's: next index or descriptor to look at, next to use */
	uint32_t                   used;
	uint32_t                   avail_wrap;
	uint32_t                   used_wrap;
};

/* A chain as the device found it. */
struct ring_chain {
	uint32_t id;    /* head, or buffer id       */
	uint32_t descs; /* it takes in the ring     */
	unsigned out;   /* segments read, written   */
	unsigned in;
	uint64_t dma[RIG_SEGS_MAX];
	uint32_t len[RIG_SEGS_MAX];
};

/* Sets up the queue (ring and ring_dma are filled in), its ring memory no larger than asked for. */
void ring_open(struct ring_rig *rig, struct vnetrx_virtq_config cfg);
void ring_close(struct ring_rig *rig);

/* Starts the device anew, after vnetrx_virtq_reset(). */
void ring_restart(struct ring_rig *rig);

/* Brings an empty queue and its device to the point where n chains of one segment went through. */
void ring_run(struct ring_rig *rig, uint32_t n);

/* The same, at once, for a split queue whose slots come back in order. */
void ring_jump(struct ring_rig *rig, uint32_t n);

/* Bytes of the ring in the queue's byte order. */
uint64_t ring_get(const struct ring_rig *rig, uint32_t off, unsigned bytes);
void     ring_set(struct ring_rig *rig, uint32_t off, unsigned bytes, uint64_t value);

/* ---- the device ---- */

/* Takes the next chain that was offered; false = none. */
bool dev_take(struct ring_rig *rig, struct ring_chain *chain);

/* Takes all that were offered; how many. */
unsigned dev_take_all(struct ring_rig *rig);

/* Says that buffer `id`, or in order a batch that ends with it, was used. `entries` is how far the used index goes
 * on, or in a packed ring how many descriptors. */
void dev_use(struct ring_rig *rig, uint32_t id, uint32_t len, uint32_t entries);

/* Takes all and uses each, in order, with its length. */
unsigned dev_echo(struct ring_rig *rig, uint32_t len);

/* Split: the used ring, piece by piece. */
void dev_entry(struct ring_rig *rig, uint32_t index, uint32_t id, uint32_t len);
void dev_index(struct ring_rig *rig, uint32_t index);

/* What the device asks for: split: avail_event or flags; packed: offset with wrap counter, and flags above. */
void dev_set_event(struct ring_rig *rig, uint32_t index);
void dev_set_flags(struct ring_rig *rig, uint32_t flags);
void dev_set_wish(struct ring_rig *rig, uint32_t wish);

/* What the driver asks for. */
uint32_t dev_event(const struct ring_rig *rig);
uint32_t dev_flags(const struct ring_rig *rig);
uint32_t dev_wish(const struct ring_rig *rig);

/* ---- the driver, with assertions ---- */

/* Adds a chain whose segment i has address i + 1 pages and length 100 + i. */
void drv_add(struct ring_rig *rig, unsigned out, unsigned in, uint32_t id);

/* Adds n buffers of 1536 bytes with ids from `id` on; all must have room. */
void drv_add_bufs(struct ring_rig *rig, unsigned n, uint32_t id);

/* Reaps exactly one buffer and checks it. */
void drv_expect(struct ring_rig *rig, uint32_t id, uint32_t len);

/* Reaps exactly n buffers, one after the other numbered from `id`. */
void drv_expect_run(struct ring_rig *rig, unsigned n, uint32_t id);

/* Nothing waits, and reap agrees. */
void drv_expect_none(struct ring_rig *rig);

/* Whether a kick is needed for what was added so far, which is then settled. */
bool drv_kick(struct ring_rig *rig);

/* The ring is broken by `fault`, everything refuses, all is taken back, and after a reset it works. */
void drv_expect_broken(struct ring_rig *rig, enum vnetrx_virtq_fault fault);

#endif
