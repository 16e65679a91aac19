/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A virtio-net receive queue as the device below a vnetrx_rxq: the ops over a virtqueue, for any transport that can
 * give ring memory and a doorbell.
 *
 *   vnetrx_rxq --post--> add, publish      --kick--> doorbell, if the device wants one
 *              <--reap-- used buffers      <--arm--- interrupts on, and a second look
 *
 * Without ANY_LAYOUT and VERSION_1 a device wants its header in a descriptor of its own (virtio 1.2, 2.7.4.3, 5.1.6.1).
 * VNETRX_VIRTIO_RX_SPLIT_HDR gives each buffer two descriptors, the first over the hdr_len bytes at its beginning, the
 * second over the rest: the bytes land where they land without it, in further buffers of a merged packet too.
 */
#ifndef VNETRX_VIRTIO_RX_H
#define VNETRX_VIRTIO_RX_H

#include "virtio_net.h"
#include "virtq.h"

#ifdef __cplusplus
extern "C" {
#endif

/* flags of struct vnetrx_virtio_rx_config */
#define VNETRX_VIRTIO_RX_SPLIT_HDR 1u /* neither VERSION_1 nor ANY_LAYOUT nor MRG_RXBUF: two segments for each buffer */

struct vnetrx_virtio_rx_config { /* zero = default; "required" has none */
	struct vnetrx_virtq *vq; /* required; empty, and used by nothing else; segs_max 2 with SPLIT_HDR             */
	void    (*notify)(void *transport, uint32_t data); /* doorbell; data as of vnetrx_virtq_notification_data():
	                            bits 0..15 are the queue index; NULL = the device polls                           */
	void     *transport;     /* argument of notify                                                              */
	uint32_t  features;      /* VNETRX_VIRTIO_* as of vnetrx_virtio_net_decode()                                */
	uint16_t  hdr_len;       /* required; 10, 12, 20, 24 or 32; the same as in vnetrx_rxq_config                */
	uint16_t  queue;         /* index of the virtqueue, for notify                                              */
	uint32_t  flags;         /* VNETRX_VIRTIO_RX_*                                                              */
};

/* The device. Its fields are read by whoever wraps the ops, and written by init and the ops only. */
struct vnetrx_virtio_rx {
	struct vnetrx_virtq *vq;
	void    (*notify)(void *transport, uint32_t data);
	void     *transport;
	uint32_t  features;
	uint32_t  hdr_len;
	uint32_t  bufs_max;  /* buffers that the ring holds: the largest ring_size for a vnetrx_rxq        */
	uint16_t  queue;
	bool      split_hdr;
	bool      armed;     /* interrupts were asked for, and nothing was reaped since                    */
	uint64_t  doorbells; /* notify was called; vnetrx_queue_stats.kicks counts how often it was thought of */
};

/* post, reap, kick, decode and arm; `dev` is a struct vnetrx_virtio_rx. A platform that needs its buffers synchronised
 * copies the table and adds sync_cpu and sync_dev, which get the same `dev`. reap turns interrupts off again and is < 0
 * once the ring is broken; then: device reset (or this queue by RING_RESET), vnetrx_virtq_reset(),
 * vnetrx_rxq_reclaim(), device started, vnetrx_rxq_fill(). */
extern const struct vnetrx_dev_ops vnetrx_virtio_rx_ops;

/* Sets up *rx; touches no ring memory. VNETRX_ERR_INVALID: a field is out of its range, or the ring is in use. */
VNETRX_MUST_USE int vnetrx_virtio_rx_init(struct vnetrx_virtio_rx *rx, const struct vnetrx_virtio_rx_config *cfg);

#ifdef __cplusplus
}
#endif

#endif
