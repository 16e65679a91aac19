/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive buffers of varying length, carved one after the other from page runs, and the packet descriptors.
 *
 *   host --page_alloc--> run --carve--> buffer --post--> device --claim--> fragment --free--> run --when empty--> reuse
 *
 * At each moment a carved buffer is lent (at the device or about to be), recycled (waiting to be lent again), or a
 * fragment of a packet. A run is reused, last in first out, when no buffer and no fragment of it is left.
 */
#ifndef VNETRX_POOL_H
#define VNETRX_POOL_H

#include "pkt.h"
#include "stats.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vnetrx_pool;

struct vnetrx_pool_config { /* zero = default */
	const struct vnetrx_host_ops *host_ops; /* required; page_alloc, page_free and wake are used            */
	void    *host;
	uint32_t bufs_max;      /* required; buffers lent at once, 1..32768                                     */
	uint32_t run_size;      /* bytes asked of page_alloc, 2^n from 1024 to 2^20; default 32768              */
	uint32_t buf_len_max;   /* longest buffer asked for; default 4096; at most run_size; a run's last one is
	                           longer by what is left of the run, less than so much again           */
	uint32_t buf_align;     /* 2^n from 16 to 4096; default 64                                              */
	uint32_t headroom;      /* host's bytes before each buffer; default 0                                   */
	uint32_t runs_max;      /* runs owned at once, 1..65535, smaller ones by their bytes; default: six times
	                           what the ring needs, and twelve                                              */
	uint32_t pkts_max;      /* packet descriptors, 1..16777216; default: 2 * bufs_max + 64                  */
	uint32_t pkt_user_size; /* host's bytes per descriptor, at most 65536; default 0; rounded up to 16      */
	uint32_t flags;         /* VNETRX_POOL_*                                                                */
};

#define VNETRX_POOL_FIXED       1u /* all buffers have one length: the rest of a run is left, not given to the last */
#define VNETRX_POOL_REMOTE_FREE 2u /* vnetrx_pkt_free_remote() may be used                                    */

/* Bytes that vnetrx_pool_init() needs; 0: the configuration is wrong. *why, if why is not NULL: what is wrong, "field:
 * range" or "field: what it wants", a constant text; NULL when nothing is. */
size_t vnetrx_pool_footprint(const struct vnetrx_pool_config *cfg, const char **why);

/* Sets up a pool in mem (aligned to 64, at least footprint bytes, the caller's until fini). Calls no op. */
VNETRX_MUST_USE int vnetrx_pool_init(struct vnetrx_pool **pool, const struct vnetrx_pool_config *cfg, void *mem,
                                     size_t mem_size);

/* Gives all runs back. VNETRX_ERR_BUSY, and nothing done, while a buffer is lent or a packet is out. */
VNETRX_MUST_USE int vnetrx_pool_fini(struct vnetrx_pool *pool);

/* Lends up to n buffers of at least len bytes each (recycled ones first, as they are), in carving order. Returns how
 * many; fewer when the host has no page, or bufs_max are lent. len is at most buf_len_max and is rounded up to
 * buf_align. */
unsigned vnetrx_pool_get(struct vnetrx_pool *pool, uint32_t len, struct vnetrx_buf *bufs, unsigned n);

/* Takes back n lent buffers that carry nothing; they are lent again before new ones are carved. Ids that are not lent
 * are ignored; returns how many were taken. */
unsigned vnetrx_pool_put(struct vnetrx_pool *pool, const uint32_t *ids, unsigned n);

/* Takes back every lent buffer, after the device was reset; returns how many. */
unsigned vnetrx_pool_reclaim(struct vnetrx_pool *pool);

/* Takes up packets freed by other threads; returns how many. On the pool's thread. */
unsigned vnetrx_pool_collect(struct vnetrx_pool *pool);

/* Packet descriptors that are free. */
unsigned vnetrx_pool_pkts_free(const struct vnetrx_pool *pool);

/* The counters, on the pool's thread. */
void vnetrx_pool_read_stats(const struct vnetrx_pool *pool, struct vnetrx_pool_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
