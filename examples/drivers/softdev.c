/* SPDX-License-Identifier: BSD-3-Clause */
/* Two rings with free-running counters: buf_head <= buf_seen <= buf_tail, done_head <= done_tail, and what is posted
 * plus what is completed never exceeds ring_size. */
#include "softdev.h"

#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "vnetrx/virtio_net.h"

#define HDR_NEEDS_CSUM 1u
#define HDR_DATA_VALID 2u
#define HDR_RSC_INFO   4u

struct softdev {
	struct vnetrx_buf  *bufs;
	struct vnetrx_done *dones;
	uint32_t mask;
	uint32_t buf_head;  /* oldest buffer that waits for a packet */
	uint32_t buf_seen;  /* end of those the device knows of      */
	uint32_t buf_tail;  /* end of those posted                   */
	uint32_t done_head;
	uint32_t done_tail;
	uint32_t features;
	uint64_t rng;
	struct softdev_config cfg;
	struct softdev_stats  stats;
};

static void put_le16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static void put_le32(uint8_t *p, uint32_t v)
{
	put_le16(p, v);
	put_le16(p + 2, v >> 16);
}

struct softdev *softdev_new(const struct softdev_config *cfg)
{
	struct softdev *dev = calloc(1u, sizeof(*dev));
	uint32_t size = 1u;

	if (dev == NULL)
		return NULL;
	dev->cfg = *cfg;
	if (cfg->hdr_len == 0u)
		dev->cfg.hdr_len = 12u;
	while (size < cfg->ring_size && size < 32768u)
		size *= 2u;
	dev->mask = size - 1u;
	dev->bufs = calloc(size, sizeof(*dev->bufs));
	dev->dones = calloc(size, sizeof(*dev->dones));
	dev->rng = cfg->seed;
	dev->features = dev->cfg.hdr_len == 10u ? 0u : VNETRX_VIRTIO_MRG_RXBUF | VNETRX_VIRTIO_RSC_EXT;
	if (dev->cfg.hdr_len == 20u)
		dev->features |= VNETRX_VIRTIO_HASH_REPORT;
	if ((cfg->flags & SOFTDEV_TAP) != 0u)
		dev->features |= VNETRX_VIRTIO_TAP;
	if (dev->bufs == NULL || dev->dones == NULL || cfg->ring_size == 0u || cfg->ring_size > 32768u ||
	    (dev->cfg.hdr_len != 10u && dev->cfg.hdr_len != 12u && dev->cfg.hdr_len != 20u)) {
		softdev_free(dev);
		return NULL;
	}
	return dev;
}

void softdev_free(struct softdev *dev)
{
	free(dev->bufs);
	free(dev->dones);
	free(dev);
}

void softdev_reset(struct softdev *dev)
{
	dev->buf_head = dev->buf_seen = dev->buf_tail = 0u;
	dev->done_head = dev->done_tail = 0u;
}

uint32_t softdev_room(const struct softdev *dev)
{
	return dev->buf_seen - dev->buf_head;
}

uint32_t softdev_waiting(const struct softdev *dev)
{
	return dev->done_tail - dev->done_head;
}

void softdev_read_stats(const struct softdev *dev, struct softdev_stats *stats)
{
	*stats = dev->stats;
}

/* Brings a random one of the waiting buffers to position i. */
static void shuffle(struct softdev *dev, uint32_t i)
{
	uint32_t j = i + rng_below(&dev->rng, dev->buf_seen - i);
	struct vnetrx_buf buf = dev->bufs[i & dev->mask];

	dev->bufs[i & dev->mask] = dev->bufs[j & dev->mask];
	dev->bufs[j & dev->mask] = buf;
}

/* How many of the waiting buffers hold `len` bytes; 0 = all of them are not enough. */
static uint32_t bufs_for(struct softdev *dev, uint32_t len)
{
	uint32_t max = dev->cfg.hdr_len == 10u ? 1u : UINT16_MAX;
	uint32_t sum = 0u;
	uint32_t i;

	for (i = dev->buf_head; i != dev->buf_seen && i - dev->buf_head < max; i++) {
		if ((dev->cfg.flags & SOFTDEV_SHUFFLE) != 0u)
			shuffle(dev, i);
		sum += dev->bufs[i & dev->mask].len;
		if (sum >= len)
			return i - dev->buf_head + 1u;
	}
	return 0u;
}

bool softdev_fits(struct softdev *dev, uint32_t len)
{
	return bufs_for(dev, len + dev->cfg.hdr_len) != 0u;
}

static void write_header(const struct softdev *dev, uint8_t *hdr, const struct vnetrx_meta *meta, uint32_t nbufs)
{
	memset(hdr, 0, dev->cfg.hdr_len);
	if (dev->cfg.hdr_len >= 12u)
		put_le16(hdr + 10, (dev->cfg.flags & SOFTDEV_TAP) != 0u ? 0u : nbufs);
	if (meta == NULL)
		return;
	if ((meta->flags & VNETRX_PKT_CSUM_OK) != 0u)
		hdr[0] = HDR_DATA_VALID;
	hdr[1] = meta->gso_type;
	put_le16(hdr + 4, meta->gso_size);
	if ((meta->flags & VNETRX_PKT_PARTIAL) != 0u) {
		hdr[0] |= HDR_NEEDS_CSUM;
		put_le16(hdr + 6, meta->csum_start);
		put_le16(hdr + 8, meta->csum_offset);
	} else if ((meta->flags & VNETRX_PKT_RSC) != 0u) {
		hdr[0] |= HDR_RSC_INFO;
		put_le16(hdr + 6, meta->segs);
	}
	if (dev->cfg.hdr_len == 20u && (meta->flags & VNETRX_PKT_HASH) != 0u) {
		put_le32(hdr + 12, meta->hash);
		put_le16(hdr + 16, meta->hash_type);
	}
}

static void complete(struct softdev *dev, uint32_t id, uint32_t len)
{
	dev->dones[dev->done_tail++ & dev->mask] = (struct vnetrx_done){ .id = id, .len = len };
}

int softdev_send(struct softdev *dev, const void *frame, uint32_t len, const struct vnetrx_meta *meta)
{
	const uint8_t *from = frame;
	uint32_t skip = dev->cfg.hdr_len;
	uint32_t nbufs = bufs_for(dev, len + skip);
	uint32_t i;

	if (nbufs == 0u || dev->bufs[dev->buf_head & dev->mask].len < skip) {
		dev->stats.drops++;
		return -1;
	}
	write_header(dev, dev->bufs[dev->buf_head & dev->mask].addr, meta, nbufs);
	for (i = 0u; i < nbufs; i++) {
		const struct vnetrx_buf *buf = &dev->bufs[dev->buf_head++ & dev->mask];
		uint32_t room = buf->len - skip;
		uint32_t take = len < room ? len : room;

		memcpy((uint8_t *)buf->addr + skip, from, take);
		complete(dev, buf->id, skip + take);
		from += take;
		len -= take;
		skip = 0u;
	}
	dev->stats.sent++;
	dev->stats.bufs += nbufs;
	return 0;
}

static unsigned post(void *arg, const struct vnetrx_buf *bufs, unsigned n)
{
	struct softdev *dev = arg;
	uint32_t held = dev->buf_tail - dev->buf_head + softdev_waiting(dev);
	unsigned i;

	if (n > dev->cfg.ring_size - held)
		n = dev->cfg.ring_size - held;
	for (i = 0u; i < n; i++)
		dev->bufs[dev->buf_tail++ & dev->mask] = bufs[i];
	if ((dev->cfg.flags & SOFTDEV_NEED_KICK) == 0u)
		dev->buf_seen = dev->buf_tail;
	dev->stats.posted += n;
	return n;
}

static int reap(void *arg, struct vnetrx_done *done, unsigned max)
{
	struct softdev *dev = arg;
	uint32_t n = softdev_waiting(dev);
	uint32_t i;

	if (n > max)
		n = max;
	for (i = 0u; i < n; i++)
		done[i] = dev->dones[dev->done_head++ & dev->mask];
	return (int)n;
}

static void kick(void *arg)
{
	struct softdev *dev = arg;

	dev->buf_seen = dev->buf_tail;
	dev->stats.kicks++;
}

static int decode(void *arg, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	const struct softdev *dev = arg;

	return vnetrx_virtio_net_decode(head, len, dev->cfg.hdr_len, dev->features, meta);
}

static bool arm(void *arg)
{
	struct softdev *dev = arg;

	dev->stats.arms++;
	return softdev_waiting(dev) != 0u;
}

const struct vnetrx_dev_ops softdev_ops = {
	.post = post,
	.reap = reap,
	.kick = kick,
	.decode = decode,
	.flags = VNETRX_DEV_PURE_DECODE,
	.arm = arm,
};
