/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Driver for AF_XDP sockets of Linux, one for each queue of an interface, in copy mode: works on every driver.
 *
 *   NIC --XDP program--> rx ring --reap--> rxq (xdp_ops) --deliver--> host
 *   chunks of the UMEM <--fill ring-- post
 *
 * Receive buffers are chunks of the UMEM: the queue wants buf_len_min = buf_len_max = buf_align = the chunk, and pages
 * from the queue's region. A frame longer than a chunk comes in several descriptors (XDP_USE_SG, Linux 6.6), which
 * VNETRX_DONE_MORE joins; each begins XDP_PACKET_HEADROOM bytes into its chunk. Nothing is known about checksums: the
 * engine computes them, so that a sender on the same machine must complete them (`ethtool -K ... tx off`).
 *
 * A queue's file is for poll() and epoll, level-triggered. One queue, one thread. Functions return 0 or a negative
 * errno.
 */
#ifndef EXAMPLES_AF_XDP_H
#define EXAMPLES_AF_XDP_H

#include <linux/if_xdp.h>

#include "link.h"
#include "region.h"
#include "vnetrx/pkt.h"

#define XDP_QUEUES_MAX 16u
#define XDP_TX_CHUNKS  256u

struct xdp_config { /* zero = default */
	const char *name;    /* required; an interface that is there                                */
	const char *netns;   /* the namespace it is in, of `ip netns`; default: ours                */
	unsigned    queues;  /* the first so many of the interface; default 1                       */
	uint32_t    chunk;   /* 2048 or 4096; default 2048                                          */
	uint32_t    ring;    /* entries of each ring, 2^n; default 2048                             */
	size_t      memory;  /* bytes for each queue; default 64 MiB                                */
	bool        generic; /* in the kernel's generic hook, with any driver; default: the driver's */
};

/* A ring shared with the kernel: of us producing (fill, tx) or consuming (completion, rx). */
struct xdp_ring {
	uint32_t *producer;
	uint32_t *consumer;
	void     *entries;
	uint32_t  mask;
	uint32_t  mine;  /* our end of it: the kernel's copy may lag behind */
	void     *map;
	size_t    map_size;
};

/* One queue; the `dev` of its rxq. */
struct xdp_queue {
	int            fd; /* -1 = it was reset */
	uint32_t       chunk;
	struct region *region;
	uint32_t      *ids; /* of the buffer in each chunk                       */
	bool           open; /* the last descriptor said that its frame goes on */
	struct xdp_ring fill;
	struct xdp_ring completion;
	struct xdp_ring rx;
	struct xdp_ring tx;
	uint64_t       tx_free[XDP_TX_CHUNKS]; /* chunks to send from, by their place in the UMEM */
	unsigned       tx_free_num;
	struct link_stats stats;
};

struct xdp {
	struct link link;
	unsigned    nqueues;
	uint32_t    frame_len_max; /* longest frame, for the rxq */
	int         map_fd;
	int         prog_fd;
	int         attach_fd;
	struct xdp_queue *queue[XDP_QUEUES_MAX];
};

/* Puts the interface up and takes all that its queues receive. */
int xdp_open(struct xdp *xdp, const struct xdp_config *cfg);

/* Gives the interface back to the kernel's stack. No queue may be used afterwards, and nothing of its region. */
void xdp_close(struct xdp *xdp);

/* Ops for a queue: `dev` is a struct xdp_queue; no device header. */
extern const struct vnetrx_dev_ops xdp_ops;

/* Sends a packet as it is; it stays the caller's. -EAGAIN: not now, wait for POLLOUT; -EMSGSIZE: it was merged, or
 * owes its checksum, or is too long; -EBADFD: the queue was reset. */
int xdp_write(struct xdp_queue *queue, const struct vnetrx_pkt *pkt);

/* Closes the socket: the kernel holds no buffer any more, and has said what it lost. Then vnetrx_rxq_reclaim(). */
void xdp_queue_reset(struct xdp_queue *queue);

#endif
