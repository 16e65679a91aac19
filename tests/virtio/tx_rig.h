/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A vnetrx_txq over a virtqueue, a host with numbered packets, and a device that checks every byte of what it is sent:
 * frames must come in the order in which they were taken, and every packet must come back once.
 */
#ifndef TEST_VIRTIO_TX_RIG_H
#define TEST_VIRTIO_TX_RIG_H

#include "pair.h"
#include "vnetrx/txq.h"

#define TX_PKTS     1024u /* packets of the host         */
#define TX_HEADROOM 32u
#define TX_LEN_MAX  2048u
#define TX_SEGS_MAX 64u

struct tx_options {
	uint32_t size;
	uint32_t flags;     /* VNETRX_VIRTQ_*                        */
	uint32_t tx_flags;  /* VNETRX_TXQ_*                          */
	uint32_t hdr_len;   /* 0 = 12                                */
	uint32_t features;
	uint32_t segs_max;  /* 0 = 4                                 */
	uint32_t delay_num; /* of the ring; 0 = its default          */
	uint32_t delay_den;
	bool     no_hdrs;   /* no header memory                      */
};

struct tx_host_pkt {
	bool     out;
	uint32_t number; /* of its frame */
	uint8_t  mem[TX_HEADROOM + TX_LEN_MAX];
};

struct tx_rig {
	struct tx_options  opt;
	struct ring_pair    ring;
	struct vnetrx_txq *txq;
	void              *mem;
	uint8_t           *hdrs;
	size_t             hdr_bytes;
	struct tx_host_pkt pkts[TX_PKTS];
	uint32_t           taken;     /* by the queue                                      */
	uint32_t           lost;      /* came back with VNETRX_TX_LOST                     */
	uint32_t           back;      /* came back, the lost included                      */
	unsigned           done_calls;
	unsigned           done_most; /* packets in one call                               */
	unsigned           resumes;
	unsigned           rings;     /* doorbells                                         */
	uint32_t           ring_data;
	/* device */
	struct softring_chain held[TX_PKTS]; /* taken and not put, from `put` to `got`     */
	uint32_t           got;
	uint32_t           put;
	uint32_t           next;      /* number of the frame that must come next           */
	unsigned           irqs;
	uint8_t            hdr[32];   /* of the last frame                                 */
	uint32_t           len;       /* of the last frame                                 */
	uint32_t           segs_seen; /* segments of its chain, and the length of the first */
	uint32_t           first_seen;
};

struct tx_rig *tx_rig_new(const struct tx_options *opt);

/* Everything back, nothing left. */
void tx_rig_free(struct tx_rig *r);

/* What a frame looks like to the queue. */
struct tx_shape {
	uint32_t len;
	unsigned nsegs;    /* pieces of about the same length */
	unsigned headroom; /* 0 = none                        */
	struct vnetrx_tx_pkt ask; /* offloads: flags, csum_*, gso_*, hdr_len, offsets */
};

/* Adds the next frame; what vnetrx_txq_add() returned. */
int tx_rig_add(struct tx_rig *r, const struct tx_shape *shape);

/* Adds and kicks small frames of that many pieces until one is refused with BUSY; returns how many went in. */
unsigned tx_rig_fill(struct tx_rig *r, const struct tx_shape *shape);

/* The device takes up to n chains and checks them; returns how many there were. */
unsigned tx_rig_take(struct tx_rig *r, unsigned n);

/* It completes up to n of those it took, each with a publish and an interrupt of its own if one is wanted. */
unsigned tx_rig_finish(struct tx_rig *r, unsigned n);

/* Both. */
unsigned tx_rig_run(struct tx_rig *r, unsigned n);

/* The device was reset, and with it the queue; it is stopped then. Returns how many packets were lost. */
unsigned tx_rig_reset(struct tx_rig *r);

struct vnetrx_txq_stats tx_rig_stats(const struct tx_rig *r);

#endif
