/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool on a test host, and a merge stage on it, for unit tests that play the device themselves. */
#ifndef BUF_RIG_H
#define BUF_RIG_H

#include "support/test_host.h"
#include "vnetrx/merge.h"

#define RIG_BUFS 512u
#define RIG_HDR  12u

struct buf_rig {
	struct test_host     host;
	struct vnetrx_pool  *pool;
	struct vnetrx_merge *merge;
	void                *pool_mem;
	void                *merge_mem;
	struct vnetrx_buf    bufs[RIG_BUFS];   /* lent by rig_lend(), by id                      */
	uint32_t             order[RIG_BUFS];  /* ids in the order in which they were lent       */
	unsigned             lent;
	unsigned             synced_bytes;     /* sync_cpu calls                                 */
	const uint8_t       *synced_from;
	int                  refuse;           /* decode returns this when it is not 0           */
	struct vnetrx_meta  *meta;             /* decode answers this instead of the header's    */
};

/* Sets up a pool with *cfg (host_ops and host are filled in) on a fresh host. */
void rig_pool(struct buf_rig *rig, const struct vnetrx_pool_config *cfg);

/* The same with other ops of the host, which get the same host. */
void rig_pool_of(struct buf_rig *rig, const struct vnetrx_pool_config *cfg, const struct vnetrx_host_ops *ops);

/* Sets up a merge stage behind it with virtio-net headers (dev_ops, dev, pool, nbufs_max, hdr_len are filled in). */
void rig_merge(struct buf_rig *rig, const struct vnetrx_merge_config *cfg);

/* Takes every lent buffer back, checks the pool, its counters and the host, and frees everything. */
void rig_close(struct buf_rig *rig);

/* Lends n buffers of len bytes to the device; all must be had. */
void rig_lend(struct buf_rig *rig, uint32_t len, unsigned n);

/* The k-th lent buffer. */
struct vnetrx_buf *rig_buf(struct buf_rig *rig, unsigned k);

/* Writes a virtio-net header with num_buffers = nbufs, all else zero, at the start of the k-th lent buffer. */
uint8_t *rig_hdr(struct buf_rig *rig, unsigned k, unsigned nbufs);

/* A completion of the k-th lent buffer with len bytes. */
struct vnetrx_done rig_done(struct buf_rig *rig, unsigned k, uint32_t len);

/* Gives n completions to merge and returns the packets in out. */
unsigned rig_add(struct buf_rig *rig, const struct vnetrx_done *done, unsigned n, struct vnetrx_pkt **out);

/* Writes byte i of a test pattern that differs with `seed` to p[0..n). */
void rig_pattern(uint8_t *p, unsigned n, unsigned seed);

/* Whether the packet's bytes from off on are the pattern, n of them, counted across its fragments. */
int rig_has_pattern(const struct vnetrx_pkt *pkt, uint32_t off, unsigned n, unsigned seed);

struct vnetrx_pool_stats  rig_pool_stats(const struct buf_rig *rig);
struct vnetrx_merge_stats rig_merge_stats(const struct buf_rig *rig);

/* Skips the test, visibly, when every buffer has a run of its own. */
void rig_needs_carving(void);

#endif
