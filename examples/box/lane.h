/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One way of one queue through the box: what is received on `in` is joined and written to `out`.
 *
 *   in --rxq--> deliver --write--> out        full: the queue waits until out takes more; nothing is lost by that
 *
 * Each packet that comes out of the queue is counted once, as written or as dropped with a reason.
 */
#ifndef EXAMPLES_BOX_LANE_H
#define EXAMPLES_BOX_LANE_H

#include "port.h"
#include "vnetrx/rxq.h"

#define LANE_COUNTERS(X) \
	X(written,       "packets written") \
	X(written_bytes, "bytes in them") \
	X(drop_nobufs,   "packets dropped: the kernel had no memory for them") \
	X(drop_refused,  "packets dropped: the kernel refused them") \
	X(drop_unsaid,   "packets dropped: a virtio-net header cannot describe them") \
	X(drop_gone,     "packets dropped: the interface is down or gone") \
	X(drop_end,      "packets dropped at the end: there was no room for them") \
	X(dropped_bytes, "bytes in dropped packets") \
	X(blocks,        "times the other side had no room")

#define LANE_FIELD(name, text) uint64_t name;

struct lane_counters {
	LANE_COUNTERS(LANE_FIELD)
};

struct lane {
	struct region_host host; /* first: the queue's host */
	struct vnetrx_rxq *rxq;
	void              *mem;
	struct port_queue  in;
	struct port_queue  out;
	struct lane_counters count;
	vnetrx_ns now;         /* of the last turn                                                 */
	vnetrx_ns nobufs_from; /* since when there is no memory for any packet; 0 = there is       */
	bool     ready;   /* there may be more to receive                                           */
	bool     blocked; /* waits for room at out                                                 */
	bool     ending;  /* what cannot be written is dropped                                     */
	int      err;     /* why it cannot go on, a negative errno; 0 = it can                     */
	bool     in_broken; /* with err: it is the input, else the output                          */
};

/* Makes the queue, with `cfg` but for what belongs to the lane; complains and is false when that fails. */
bool lane_new(struct lane *lane, const struct vnetrx_rxq_config *cfg, struct port_queue in, struct port_queue out);

/* One turn; afterwards `ready` says whether another is wanted at once. Returns the time. */
vnetrx_ns lane_turn(struct lane *lane, vnetrx_ns now);

/* Writes what is held; what there is no room for is dropped. Nothing may be received after it. */
void lane_flush(struct lane *lane);

/* Then: takes the buffers back from the driver. The lane the other way cannot write to it any more. */
void lane_end(struct lane *lane);

/* What does not add up in the counters of a lane that ended; NULL = all does. */
const char *lane_wrong(const struct lane *lane, const struct vnetrx_rxq_stats *stats);

/* Frees the queue; false: a buffer did not come back. */
bool lane_delete(struct lane *lane);

/* Packets dropped on the way out. */
uint64_t lane_dropped(const struct lane_counters *count);

#endif
