/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive queue's state, shared by the pipeline (rxq.c), its refill (rxq_fill.c), its set-up (rxq_config.c)
 * and what it says about itself (rxq_stats.c). */
#ifndef VNRX_QUEUE_H
#define VNRX_QUEUE_H

#include "vnetrx/rxq.h"

#include "shared.h"

/* Completions taken, packets handed up and buffers posted at once. */
#define VNRX_BATCH 64u

#define VNRX_STATS_WORDS VNRX_WORDS(struct vnetrx_rxq_stats)

/* The copy of the counters that other threads read: seq is odd while it is written. */
struct vnrx_shared_stats {
	uint32_t seq;
	size_t   words[VNRX_STATS_WORDS];
};

/* What a call works on: too much for the stack of a small machine. No op may call back into the queue, so none of it is
 * in use twice: completions are merged before buffers are posted, packets are in GRO before any is handed up, and
 * counters are gathered at the end. */
struct vnrx_batch {
	struct vnetrx_pkt *pkts[VNRX_BATCH];
	unsigned passed; /* so many of pkts go to the host as they are, without GRO */
	union {
		struct vnetrx_done done[VNRX_BATCH];
		struct vnetrx_buf  bufs[VNRX_BATCH];
		struct vnetrx_rxq_stats stats;
		size_t words[VNRX_STATS_WORDS]; /* the same */
	} u;
};

struct vnetrx_rxq {
	struct vnetrx_dev_ops  dev_ops;
	struct vnetrx_host_ops host_ops;
	void                  *dev;
	void                  *host;
	struct vnetrx_pool    *pool;
	struct vnetrx_merge   *merge;
	struct vnetrx_gro     *gro;  /* NULL: VNETRX_RXQ_GRO_OFF                                */
	struct vnetrx_sizer    sizer;
	uint32_t               weigh_next; /* how many packets come before the next that is weighed */
	struct vnetrx_pktq     fifo; /* finished packets the host has not taken yet             */
	uint32_t  ring_size;
	bool      is_short;          /* fewer than ring_size buffers posted                     */
	bool      is_broken;
	bool      is_starved;        /* no packet descriptor was free when one was wanted last  */
	bool      is_full;           /* the host took less than was offered: it is not asked again in this call */
	bool      flush_each;        /* gro_timeout_ns 0: complete() empties GRO                */
	vnetrx_ns retry_ns;
	vnetrx_ns retry_at;          /* when a short ring tries again                           */
	vnetrx_ns timer;             /* the deadline the host was told last                     */
	vnetrx_ns clock;             /* the latest `now`                                        */
	vnetrx_ns polled_at;         /* `now` of the poll that complete() ends; NEVER = none    */
	struct vnetrx_queue_stats stats;
	struct vnrx_shared_stats  shared;
	struct vnrx_batch         batch;
};

/* Copies the counters to where other threads read them. At the end of each call that changed them. */
void vnrx_rxq_publish(struct vnetrx_rxq *q);

/* Brings the ring to ring_size as far as memory and device allow. */
void vnrx_rxq_refill(struct vnetrx_rxq *q);

#endif
