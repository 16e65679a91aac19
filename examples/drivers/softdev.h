/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An in-process virtio-net device with mergeable buffers: what is sent into it comes out of its receive ring.
 *
 *   softdev_send(frame) --> device header + frame over as many posted buffers as it takes --> completions --> reap
 *
 * Buffers but the last of a packet are full, only the first has a header, and all of a packet complete together.
 */
#ifndef EXAMPLES_SOFTDEV_H
#define EXAMPLES_SOFTDEV_H

#include "vnetrx/ops.h"

#define SOFTDEV_NEED_KICK 1u /* posted buffers are seen only after a kick                                    */
#define SOFTDEV_SHUFFLE   2u /* buffers are used, and come back, in random order                             */
#define SOFTDEV_TAP       4u /* num_buffers is written as 0, as a TAP does                                   */

struct softdev_config {
	uint32_t ring_size; /* buffers held at once, at the device or completed; 1..32768                      */
	uint16_t hdr_len;   /* 10 (one buffer per packet), 12 (default) or 20 (with hash)                      */
	uint32_t flags;     /* SOFTDEV_*                                                                       */
	uint64_t seed;      /* of SOFTDEV_SHUFFLE                                                              */
};

struct softdev_stats {
	uint64_t sent;      /* packets put into buffers                                                        */
	uint64_t bufs;      /* buffers that carried them                                                       */
	uint64_t drops;     /* packets lost: posted buffers too few or too short                               */
	uint64_t posted;    /* buffers taken over                                                              */
	uint64_t kicks;
	uint64_t arms;
};

struct softdev;

extern const struct vnetrx_dev_ops softdev_ops;

/* A device without buffers; NULL: no memory, or ring_size or hdr_len out of range. */
struct softdev *softdev_new(const struct softdev_config *cfg);

void softdev_free(struct softdev *dev);

/* Receives a frame. From *meta (NULL = nothing is known) come checksum flags, gso_type, gso_size and, with the 20-byte
 * header, the hash. 0, or -1: the frame did not fit into the posted buffers, and its loss is counted. */
int softdev_send(struct softdev *dev, const void *frame, uint32_t len, const struct vnetrx_meta *meta);

/* Whether the posted buffers hold a frame of that length. */
bool softdev_fits(struct softdev *dev, uint32_t len);

/* Forgets all buffers and completions, as a device reset does; then vnetrx_rxq_reclaim(). */
void softdev_reset(struct softdev *dev);

/* Buffers that wait for packets. */
uint32_t softdev_room(const struct softdev *dev);

/* Completions that wait for reap. */
uint32_t softdev_waiting(const struct softdev *dev);

void softdev_read_stats(const struct softdev *dev, struct softdev_stats *stats);

#endif
