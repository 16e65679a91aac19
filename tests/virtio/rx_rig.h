/* SPDX-License-Identifier: BSD-3-Clause */
/* A vnetrx_rxq over a virtqueue, a device that puts frames into it, and a host that checks every byte that comes up. */
#ifndef TEST_VIRTIO_RX_RIG_H
#define TEST_VIRTIO_RX_RIG_H

#include "heap.h"
#include "pair.h"
#include "vnetrx/rxq.h"
#include "vnetrx/virtio_rx.h"

struct rx_options {
	uint32_t size;     /* slots of the ring                                  */
	uint32_t flags;    /* VNETRX_VIRTQ_*                                     */
	uint32_t hdr_len;
	uint32_t features; /* VNETRX_VIRTIO_*                                    */
	uint32_t rx_flags; /* VNETRX_VIRTIO_RX_*                                 */
	uint32_t buf_len;  /* of every buffer; 0 = 2048                          */
	uint32_t frame_len_max; /* 0 = 1514                                      */
	bool     polled;   /* no notify                                          */
};

struct rx_rig {
	struct rx_options opt;
	struct ring_pair ring;
	struct vnetrx_virtio_rx rx;
	struct vnetrx_rxq *rxq;
	struct heap_host host;
	void      *mem;
	uint32_t   sent;       /* frames put into buffers                                           */
	uint32_t   came;       /* frames that came up, each checked to be the next one              */
	unsigned   rings;      /* doorbells                                                         */
	uint32_t   ring_data;  /* of the last one                                                   */
	unsigned   irqs;       /* interrupts                                                        */
	uint32_t   seen_first; /* chains that the device found at the first doorbell                */
	uint16_t   segs_seen;  /* segments of the last chain, and the length of its first           */
	uint32_t   first_seen;
	vnetrx_ns  now;
};

void rx_rig_open(struct rx_rig *r, const struct rx_options *opt);

/* Everything back, nothing left. */
void rx_rig_close(struct rx_rig *r);

/* The device receives the next frame, `len` bytes; false = too few buffers, and it is lost. */
bool rx_rig_send(struct rx_rig *r, uint32_t len);

/* Polls and completes until the queue may sleep. */
void rx_rig_drain(struct rx_rig *r);

#endif
