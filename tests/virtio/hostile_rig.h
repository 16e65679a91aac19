/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A receive queue over a virtqueue whose device lies, and may only write to the ring and to buffers that it has:
 *
 *   faulty_ring <- ring memory -> virtq <- virtio_rx ops <- tracker <- queue -> tracker -> heap host
 */
#ifndef TEST_VIRTIO_HOSTILE_RIG_H
#define TEST_VIRTIO_HOSTILE_RIG_H

#include "../faults/tracker.h"
#include "faulty_ring.h"
#include "heap.h"
#include "pair.h"
#include "vnetrx/virtio_rx.h"

#define HOSTILE_HELD 512u

struct hostile_held {
	struct softring_chain chain;
	struct softring_seg   seg;
};

struct hostile_rig {
	struct vnetrx_rxq      *rxq;
	void                   *mem;
	struct ring_pair         ring;
	struct faulty_ring     *faulty;
	struct vnetrx_virtio_rx rx;
	struct tracker          tracker;
	struct heap_host        host;
	struct hostile_held     held[HOSTILE_HELD]; /* taken by the device, oldest first             */
	unsigned  held_num;
	uint32_t  sent;                             /* number of the next frame                      */
	uint32_t  expect;                           /* number of the next that must come up          */
	bool      checking;                         /* each must, and with its bytes                 */
	bool      stuck;                            /* the device found nonsense in the ring         */
	unsigned  starved;                          /* frames in a row for which it had no buffers   */
	uint64_t  resets;
	uint64_t  broken;                           /* of these, because the queue said BROKEN       */
	uint64_t  rng;
	vnetrx_ns now;
};

/* flags: VNETRX_VIRTQ_*. */
void hostile_rig_open(struct hostile_rig *r, uint32_t flags, uint64_t seed);

/* Balances, takes everything back; nothing may be left. */
void hostile_rig_close(struct hostile_rig *r);

/* Some frames, polls and completes; a reset when the ring is broken or nothing gets through any more. */
void hostile_rig_step(struct hostile_rig *r);

/* Counters agree with what the tracker saw: every buffer is in one place, every packet went one way. */
void hostile_rig_balance(struct hostile_rig *r);

/* Without faults, after a reset: n frames, all of which must come up as they were sent. */
void hostile_rig_prove_good(struct hostile_rig *r, unsigned n);

#endif
