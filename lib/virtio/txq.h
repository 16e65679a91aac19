/* SPDX-License-Identifier: BSD-3-Clause */
/* The transmit queue from inside. */
#ifndef VNRX_VIRTIO_TXQ_H
#define VNRX_VIRTIO_TXQ_H

#include "vnetrx/txq.h"

#include "../shared.h"
#include "virtq.h"

#define VNRX_TX_BATCH    64u /* packets given back at once */
#define VNRX_TX_SEGS_MAX 64u

#define VNRX_TXQ_WORDS VNRX_WORDS(struct vnetrx_txq_stats)

struct vnetrx_txq {
	struct vnetrx_virtq *vq;
	struct vnetrx_tx_ops ops;
	void     *host;
	void    **cookies;    /* by id                                                          */
	uint16_t *ids;        /* a stack: ids[0 .. free) are of no packet that is out           */
	uint8_t  *hdrs;       /* a header of `stride` bytes by id; NULL = none                  */
	uint64_t  hdrs_dma;
	uint32_t  stride;
	uint32_t  free;
	uint32_t  size;       /* slots of the ring, and ids                                     */
	uint32_t  slots_max;  /* what the largest packet takes                                  */
	uint32_t  features;
	uint32_t  hdr_len;
	uint32_t  hdr_room;   /* headroom from which on the header joins the data; UINT32_MAX = never */
	uint16_t  segs_max;
	uint16_t  queue;
	bool      is_refused; /* since then there was no room for the largest packet            */
	bool      is_stopped;
	bool      is_broken;
	bool      is_armed;   /* an interrupt was asked for, and nothing was sent or polled since */
	struct vnetrx_txq_stats stats;
	uint32_t  seq;        /* of the copy below */
	size_t    shared[VNRX_TXQ_WORDS];
	struct vnetrx_done reaped[VNRX_TX_BATCH]; /* what a call works on: too much for the stack of a small machine */
	void     *taken[VNRX_TX_BATCH];
	struct vnetrx_virtq_seg segs[VNRX_TX_SEGS_MAX + 1u];
};

/* Whether a packet of `len` bytes may ask for what it does. VNETRX_ERR_CANNOT: the device offers no such thing;
 * VNETRX_ERR_INVALID: it contradicts itself. */
int vnrx_tx_hdr_check(const struct vnetrx_tx_pkt *pkt, uint32_t len, uint32_t features, uint32_t hdr_len);

/* Writes the header of a packet that asks for something. */
void vnrx_tx_hdr_write(const struct vnetrx_tx_pkt *pkt, uint8_t *hdr, uint32_t hdr_len);

/* For a queue that refused: is there room for the largest packet now? Then it says so to the host. */
VNRX_COLD bool vnrx_txq_restart(struct vnetrx_txq *q);

/* Copies the counters to where other threads read them. */
void vnrx_txq_publish(struct vnetrx_txq *q);

#endif
