/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions in, whole packets out.
 *
 * Only the first buffer of a packet has a device header; the rest is payload from byte 0. Whatever goes wrong with a
 * packet, its remaining buffers are drained, it is counted once, and the next completion starts a new packet.
 */
#ifndef VNETRX_MERGE_H
#define VNETRX_MERGE_H

#include "pool.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vnetrx_merge;

struct vnetrx_merge_config { /* zero = default */
	const struct vnetrx_dev_ops *dev_ops; /* required; decode and sync_cpu are used                            */
	void    *dev;
	struct vnetrx_pool *pool;  /* required                                                                  */
	uint32_t nbufs_max;     /* required; most buffers of one packet (ring size), 1..32768                   */
	uint32_t hdr_len;       /* device header before each frame, at most 128; default 0                      */
	uint32_t frame_len_max; /* default 65589 (14 + 40 + 65535)                                              */
	uint32_t copy_len_max;  /* copy-break; default 128, 0xffff = off                                        */
	uint32_t flags;         /* VNETRX_MERGE_*                                                               */
};

#define VNETRX_MERGE_NO_COALESCE 1u /* leave neighbouring buffers as fragments of their own */

/* Bytes that vnetrx_merge_init() needs; 0: the configuration is wrong. *why, if why is not NULL: what is wrong, "field:
 * range" or "field: what it wants", a constant text; NULL when nothing is. */
size_t vnetrx_merge_footprint(const struct vnetrx_merge_config *cfg, const char **why);

/* Sets up the stage in mem (aligned to 64, at least footprint bytes, the caller's as long as it is used). */
VNETRX_MUST_USE int vnetrx_merge_init(struct vnetrx_merge **merge, const struct vnetrx_merge_config *cfg, void *mem,
                                      size_t mem_size);

/* Takes n completions and writes the packets they complete to out (room for n). Returns their number. A packet whose
 * buffers are not all there is kept for the next call. Each packet is one segment, or what the device said. */
unsigned vnetrx_merge_add(struct vnetrx_merge *merge, const struct vnetrx_done *done, unsigned n,
                          struct vnetrx_pkt **out);

/* The device has no more completions now: a packet that waits for buffers is dropped and counted. */
void vnetrx_merge_end(struct vnetrx_merge *merge);

/* The counters, on the queue's thread. */
void vnetrx_merge_read_stats(const struct vnetrx_merge *merge, struct vnetrx_merge_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
