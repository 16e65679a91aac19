/* SPDX-License-Identifier: BSD-3-Clause */
/* The ops keep nothing about buffers: ids and lengths are the ring's to remember and the pool's to check. */
#include "vnetrx/virtio_rx.h"

#include "virtio_hdr.h"

#define FLAGS_KNOWN VNETRX_VIRTIO_RX_SPLIT_HDR

/* Header and rest of each buffer as two segments. */
static VNRX_COLD unsigned add_split(struct vnetrx_virtio_rx *rx, const struct vnetrx_buf *bufs, unsigned n)
{
	unsigned i;

	for (i = 0; i < n && bufs[i].len > rx->hdr_len; i++) {
		struct vnetrx_virtq_seg segs[2] = {
			{ .dma = bufs[i].dma, .len = rx->hdr_len },
			{ .dma = bufs[i].dma + rx->hdr_len, .len = bufs[i].len - rx->hdr_len },
		};

		if (vnetrx_virtq_add(rx->vq, segs, 0, 2, bufs[i].id) != VNETRX_OK)
			break;
	}
	return i;
}

/* Publishes at once: a device that polls need not wait for the end of a long refill. */
static unsigned post(void *dev, const struct vnetrx_buf *bufs, unsigned n)
{
	struct vnetrx_virtio_rx *rx = dev;
	unsigned took = rx->split_hdr ? add_split(rx, bufs, n) : vnetrx_virtq_add_bufs(rx->vq, bufs, n);

	vnetrx_virtq_publish(rx->vq);
	return took;
}

static int reap(void *dev, struct vnetrx_done *done, unsigned max)
{
	struct vnetrx_virtio_rx *rx = dev;

	if (rx->armed) {
		rx->armed = false;
		vnetrx_virtq_disable(rx->vq);
	}
	return vnetrx_virtq_reap(rx->vq, done, max);
}

static void kick(void *dev)
{
	struct vnetrx_virtio_rx *rx = dev;

	if (vnetrx_virtq_kick_needed(rx->vq) && rx->notify != NULL) {
		rx->doorbells++;
		rx->notify(rx->transport, vnetrx_virtq_notification_data(rx->vq, rx->queue));
	}
}

static int decode(void *dev, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	const struct vnetrx_virtio_rx *rx = dev;

	return vnetrx_virtio_net_decode(head, len, rx->hdr_len, rx->features, meta);
}

static bool arm(void *dev)
{
	struct vnetrx_virtio_rx *rx = dev;

	rx->armed = true;
	return vnetrx_virtq_enable(rx->vq);
}

const struct vnetrx_dev_ops vnetrx_virtio_rx_ops = {
	.post = post,
	.reap = reap,
	.kick = kick,
	.decode = decode,
	.flags = VNETRX_DEV_PURE_DECODE,
	.arm = arm,
};

int vnetrx_virtio_rx_init(struct vnetrx_virtio_rx *rx, const struct vnetrx_virtio_rx_config *cfg)
{
	bool split = (cfg->flags & VNETRX_VIRTIO_RX_SPLIT_HDR) != 0u;

	if (cfg->vq == NULL || !vnrx_hdr_known(cfg->hdr_len) || (cfg->flags & ~FLAGS_KNOWN) != 0u ||
	    vnetrx_virtq_outstanding(cfg->vq) != 0u)
		return VNETRX_ERR_INVALID;
	*rx = (struct vnetrx_virtio_rx){
		.vq = cfg->vq,
		.notify = cfg->notify,
		.transport = cfg->transport,
		.features = cfg->features,
		.hdr_len = cfg->hdr_len,
		.bufs_max = vnetrx_virtq_free_slots(cfg->vq),
		.queue = cfg->queue,
		.split_hdr = split,
	};
	if (split && vnetrx_virtq_slots_needed(cfg->vq, 2) > 1u)
		rx->bufs_max /= 2u;
	return rx->bufs_max > 0u ? VNETRX_OK : VNETRX_ERR_INVALID;
}
