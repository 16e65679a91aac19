/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole receive queue between the examples' in-process device and host, with laws 1 and 2 checked on every packet
 * that the host takes.
 */
#ifndef TEST_RXQ_RIG_H
#define TEST_RXQ_RIG_H

#include "heap.h"
#include "softdev.h"
#include "support/frames.h"
#include "support/laws.h"
#include "vnetrx/rxq.h"

struct freer;

struct rxq_rig {
	struct vnetrx_rxq_config cfg; /* as given to init */
	struct softdev    *dev;
	struct heap_host   host;
	struct vnetrx_rxq *rxq;
	void              *mem;
	struct laws       *laws;
	bool               lawless; /* packets may be lost on the way: do not look at them */
	uint8_t           *scratch;
	struct freer      *freer;   /* the other thread, with VNETRX_RXQ_REMOTE_FREE       */
	uint64_t           sent;    /* packets that the device took                        */
	uint64_t           segs;    /* segments in what the host took                      */
	vnetrx_ns          now;
};

/* Fills in what the configuration leaves open: ops, key, ring_size 64, and as many packets and runs as can be needed.
 */
void rxq_rig_open(struct rxq_rig *rig, const struct vnetrx_rxq_config *cfg, const struct softdev_config *dev);

/* Sends a frame; false: the device had no room, and nothing happened. meta as of softdev_send(). */
bool rxq_rig_send(struct rxq_rig *rig, const uint8_t *bytes, size_t len, const struct vnetrx_meta *meta);

/* Builds and sends flow f, and moves it on. */
bool rxq_rig_next(struct rxq_rig *rig, struct frame *f);

/* Polls until the device has no more or the host takes no more, then completes. */
void rxq_rig_drain(struct rxq_rig *rig);

/* Frees up to n of the packets that the host kept, here or on the other thread. */
void rxq_rig_release(struct rxq_rig *rig, unsigned n);

struct vnetrx_rxq_stats rxq_rig_stats(const struct rxq_rig *rig);

/* Everything comes back: flush, free, device reset, reclaim, fini. Fails when a packet, buffer or page is missing. */
void rxq_rig_close(struct rxq_rig *rig);

#endif
