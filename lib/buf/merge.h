/* SPDX-License-Identifier: BSD-3-Clause */
/* The merge stage from inside. */
#ifndef VNRX_BUF_MERGE_H
#define VNRX_BUF_MERGE_H

#include "pool.h"
#include "vnetrx/merge.h"

#define VNRX_MERGE_HDR_MAX 128u
#define VNRX_COPY_LEN_STD  128u    /* copy_len_max 0 */
#define VNRX_COPY_LEN_OFF  0xffffu /* copy_len_max: never */

enum vnrx_merge_state {
	VNRX_MERGE_IDLE,  /* the next completion starts a packet          */
	VNRX_MERGE_JOIN,  /* head waits for buffers                       */
	VNRX_MERGE_DRAIN, /* buffers of a dropped packet are still to come */
};

/* The last plain device header: see usual.h. */
struct vnrx_usual {
	uint64_t word[2];
	uint64_t mask[2];   /* its bytes                                        */
	uint32_t len_min;   /* of what the device wrote                         */
	uint32_t len_range; /* more than that are allowed                       */
	uint32_t skip;
	uint32_t flags;
};

struct vnetrx_merge {
	struct vnetrx_pool *pool;
	void    *dev;
	int    (*decode)(void *dev, const void *head, uint32_t len, struct vnetrx_meta *meta);
	void   (*sync_cpu)(void *dev, void *addr, uint64_t dma, uint32_t len);
	uint32_t state;
	uint32_t left;          /* buffers still to come; 0 = until one without VNETRX_DONE_MORE   */
	uint32_t hdr_len;
	uint32_t frame_len_max;
	uint32_t copy_len_max;  /* frames up to this are copied; 0 = none                          */
	uint32_t copy_len_high; /* the same while much is pinned                                   */
	uint32_t nbufs_max;
	uint32_t no_coalesce;
	uint32_t look_at;       /* offset in a buffer of the second place that is prefetched       */
	bool     learns;        /* the header of a plain packet tells the next one                 */
	struct vnrx_usual usual;
	struct vnetrx_pkt *head; /* in VNRX_MERGE_JOIN only */
	struct vnetrx_pkt *tail;
	struct vnetrx_merge_stats stats;
};

/* No stage behind it reads headers. A line that nobody here reads stays with the device, which writes it next. */
void vnrx_merge_ends_path(struct vnetrx_merge *merge);

/* Packets dropped so far, whatever the reason. */
static inline uint64_t vnrx_merge_drops(const struct vnetrx_merge *merge)
{
	const struct vnetrx_merge_stats *s = &merge->stats;

	return s->drop_error + s->drop_short + s->drop_long + s->drop_nbufs + s->drop_missing + s->drop_decode +
	       s->drop_meta + s->drop_frame_long + s->drop_no_pkt;
}

#endif
