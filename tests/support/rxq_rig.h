/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole receive queue: faulty(softdev) below, heap above, frames of numbered flows through it. */
#ifndef TEST_RXQ_RIG_H
#define TEST_RXQ_RIG_H

#include "faulty.h"
#include "frames.h"
#include "heap.h"
#include "softdev.h"
#include "vnetrx.h"

#define RXQ_RING 64u

struct rxq_rig {
	struct vnetrx_rxq_config cfg;
	struct heap_host   host;
	struct softdev    *soft;
	struct faulty     *faulty;
	struct vnetrx_rxq *rxq;
	void              *mem;
	struct frame       flow[8];
	vnetrx_ns          now;
	char               text[4096]; /* what was delivered: "200:push 100:passed", payload and reason */
};

/* cfg: what differs from a ring of RXQ_RING with 12 bytes of header; NULL = nothing. Filled and ready. */
struct rxq_rig *rxq_rig_new(const struct vnetrx_rxq_config *cfg);

/* Takes everything back, checks that nothing is left anywhere, frees all. */
void rxq_rig_free(struct rxq_rig *r);

/* The next segment of a flow goes into the device; false = the device had no room. */
bool rxq_rig_send(struct rxq_rig *r, unsigned flow, uint32_t payload, uint16_t flags);

/* A poll and its complete; again when that says so. */
void rxq_rig_turn(struct rxq_rig *r, vnetrx_ns now);

/* A frame of `len` bytes that is no IP. */
bool rxq_rig_send_other(struct rxq_rig *r, uint32_t len);

/* What was delivered since the last time must be just this. */
void rxq_rig_expect(struct rxq_rig *r, const char *text);

/* The device loses all it has; the queue takes its buffers back. Returns how many. */
unsigned rxq_rig_reset(struct rxq_rig *r);

struct vnetrx_rxq_stats rxq_rig_stats(const struct rxq_rig *r);

#endif
