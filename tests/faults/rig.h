/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue with everything that can go wrong around it:
 *
 *   softdev <- faulty <- tracker <- queue -> tracker -> heap host -> freed here, later, or on another thread
 */
#ifndef FAULTS_RIG_H
#define FAULTS_RIG_H

#include "faulty.h"
#include "heap.h"
#include "softdev.h"
#include "stream.h"
#include "tracker.h"

struct rig {
	struct vnetrx_rxq *rxq;
	void              *mem;
	struct softdev    *soft;
	struct faulty     *faulty;
	struct heap_host   host;
	struct tracker     tracker;
	struct stream      stream;
	bool               checking;   /* delivered packets must be the stream's next */
	bool               need_kick;
	bool               gro_off;
	bool               ample;      /* runs_max is so large that the ring can always be full */
	vnetrx_ns          now;
	uint64_t           rng;
	uint32_t           ring_size;
	uint64_t           uncounted;  /* packets delivered with an unknown number of segments, counted as one */
	unsigned           lost;       /* frames in a row that the device had no room for */
	/* packets on their way to being freed by the other thread */
	pthread_t          thread;
	pthread_mutex_t    lock;
	pthread_cond_t     wanted;
	struct vnetrx_pktq remote;
	bool               busy;
	bool               stop;
};

/* A random configuration from `seed`. */
void rig_init(struct rig *r, uint64_t seed);

/* Frees all packets, resets the device, ends the queue; nothing may be left. */
void rig_fini(struct rig *r);

/* Sends up to 64 frames and polls, completes, expires, frees and flushes as it comes. */
void rig_step(struct rig *r);

/* Takes everything out of the device and the engine while the faults go on; then the counters must balance. */
void rig_balance(struct rig *r);

/* Ends all faults, resets the device if that is needed or by chance, and sends n good frames: all must arrive. */
void rig_prove_good(struct rig *r, unsigned n);

/* Device reset, reclaim, fill. */
void rig_reset(struct rig *r);

#endif
