/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network device over virtio-mmio, version 2 (virtio 1.2, 4.2): what the library leaves to the transport.
 *
 *   find --> negotiate --> queue, queue --> start --> notify ...
 */
#ifndef UNIKERNEL_MMIO_H
#define UNIKERNEL_MMIO_H

#include "vnetrx/virtio_features.h"
#include "vnetrx/virtq.h"

struct mmio {
	volatile uint8_t *regs;
	struct vnetrx_virtio_plan plan;
	uint8_t mac[6];
};

/* The machine's first network device, reset; false = there is none. */
bool mmio_find(struct mmio *dev);

/* Agrees on features: fills in plan and mac. false, and says why, when what is needed is missing. */
bool mmio_negotiate(struct mmio *dev, const struct vnetrx_virtio_wants *wants);

/* Slots that the device has at most for a queue; 0 = it has no such queue. */
uint32_t mmio_queue_max(struct mmio *dev, unsigned index);

/* Tells the device where a ring of `size` slots is. */
void mmio_queue(struct mmio *dev, unsigned index, const struct vnetrx_virtq *vq, uint32_t size);

/* From now on the device works. */
void mmio_start(struct mmio *dev);

/* The doorbell, as vnetrx_virtio_rx_config.notify wants it; dev is a struct mmio. */
void mmio_notify(void *dev, uint32_t data);

#endif
