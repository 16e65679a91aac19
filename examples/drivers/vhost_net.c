/* SPDX-License-Identifier: BSD-3-Clause */
#include "vhost_net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define REGION_DEFAULT (64u << 20)
#define ALIGN          64u         /* the queue's default buf_align */
#define ONE_FRAME      (12u + 18u) /* of a buffer for one frame: device header, Ethernet header and a tag */

/* ---- ops of the transmit queue ---- */

static void sent(void *arg, void *const *cookies, unsigned n, uint32_t flags)
{
	const struct vhost_net *net = ((struct vhost_net_pair *)arg)->net;

	net->cfg.sent(net->cfg.arg, cookies, n, flags);
}

static void resume(void *arg)
{
	((struct vhost_net_pair *)arg)->resumed = true;
}

static void notify(void *arg, uint32_t data)
{
	vhost_ring_notify(((struct vhost_net_pair *)arg)->tx_ring, data);
}

static const struct vnetrx_tx_ops tx_ops = { .done = sent, .resume = resume, .notify = notify };

/* ---- queues ---- */

static int wrong(const char *what, const char *why)
{
	fprintf(stderr, "vhost_net: %s: %s\n", what, why);
	return -EINVAL;
}

static int make_rxq(struct vhost_net_pair *pair)
{
	const struct vhost_net *net = pair->net;
	const struct vnetrx_virtio_plan *plan = &net->vu.plan;
	struct vnetrx_virtio_rx_config dev = {
		.vq = pair->rx_ring->vq,
		.notify = vhost_ring_notify,
		.transport = pair->rx_ring,
		.features = plan->rx_features,
		.hdr_len = (uint16_t)plan->hdr_len,
		.queue = (uint16_t)pair->rx_ring->index,
		.flags = plan->rx_hdr_apart ? VNETRX_VIRTIO_RX_SPLIT_HDR : 0u,
	};
	struct vnetrx_host_ops ops = region_host_ops();
	struct vnetrx_rxq_config cfg = net->cfg.rxq;
	const char *why = NULL;
	size_t size;

	if (vnetrx_virtio_rx_init(&pair->dev, &dev) != VNETRX_OK)
		return wrong("device", "header length or ring");
	if (net->cfg.deliver != NULL)
		ops.deliver = net->cfg.deliver;
	cfg.dev_ops = &vnetrx_virtio_rx_ops;
	cfg.dev = &pair->dev;
	cfg.host_ops = &ops;
	cfg.host = &pair->host;
	cfg.hdr_len = dev.hdr_len;
	cfg.ring_size = pair->dev.bufs_max;
	if (!plan->mergeable) { /* one length, that of the longest frame */
		if (cfg.buf_len_min < plan->buf_len_min)
			cfg.buf_len_min = plan->buf_len_min;
		cfg.buf_len_min = (cfg.buf_len_min + ALIGN - 1u) / ALIGN * ALIGN;
		cfg.buf_len_max = cfg.buf_len_min;
	}
	if (cfg.frame_len_max == 0u)
		cfg.frame_len_max = plan->frame_len_max;
	size = vnetrx_rxq_footprint(&cfg, &why);
	if (size == 0u)
		return wrong("receive queue", why);
	pair->rx_mem = heap_memory(size);
	if (pair->rx_mem == NULL)
		return -ENOMEM;
	return vnetrx_rxq_init(&pair->rxq, &cfg, pair->rx_mem, size) == VNETRX_OK ? 0 : -EINVAL;
}

static int make_txq(struct vhost_net_pair *pair)
{
	const struct vnetrx_virtio_plan *plan = &pair->net->vu.plan;
	struct vnetrx_txq_config cfg = {
		.vq = pair->tx_ring->vq,
		.ops = &tx_ops,
		.host = pair,
		.features = plan->tx_features,
		.flags = plan->tx_hdr_apart ? 0u : VNETRX_TXQ_ANY_LAYOUT,
		.hdr_len = (uint16_t)plan->hdr_len,
		.segs_max = (uint16_t)pair->net->cfg.tx_segs,
		.queue = (uint16_t)pair->tx_ring->index,
	};
	const char *why = NULL;
	size_t size = vnetrx_txq_footprint(&cfg, &why);

	if (size == 0u)
		return wrong("transmit queue", why);
	for (pair->hdrs_size = REGION_PAGE; pair->hdrs_size < vnetrx_txq_hdr_bytes(&cfg);)
		pair->hdrs_size *= 2u;
	pair->hdrs = region_alloc(pair->net->region, pair->hdrs_size, &pair->hdrs_dma);
	pair->tx_mem = heap_memory(size);
	if (pair->hdrs == NULL || pair->tx_mem == NULL)
		return -ENOMEM;
	cfg.hdrs = pair->hdrs;
	cfg.hdrs_dma = pair->hdrs_dma;
	return vnetrx_txq_init(&pair->txq, &cfg, pair->tx_mem, size) == VNETRX_OK ? 0 : -EINVAL;
}

/* The first time makes the queues; later starts those that were reset. */
static int queues_ready(struct vhost_net *net)
{
	unsigned i;
	int err = 0;

	for (i = 0u; i < net->npairs && err == 0; i++) {
		struct vhost_net_pair *pair = &net->pairs[i];

		if (!net->made) {
			err = make_rxq(pair);
			if (err == 0 && net->cfg.sent != NULL)
				err = make_txq(pair);
		} else if (pair->txq != NULL) {
			vnetrx_txq_start(pair->txq);
		}
	}
	net->made = net->made || err == 0;
	for (i = 0u; i < net->npairs && err == 0; i++)
		if (vnetrx_rxq_fill(net->pairs[i].rxq) == 0u)
			err = -ENOMEM;
	return err;
}

/* ---- life ---- */

struct vnetrx_virtio_wants vhost_net_wants(unsigned kinds, uint16_t mtu)
{
	struct vnetrx_virtio_wants wants = { .want = vnetrx_features_usual(), .mtu = mtu };

	vnetrx_features_drop(&wants.want, VNETRX_NET_F_MTU);
	if ((kinds & VHOST_NET_PACKED) == 0u)
		vnetrx_features_drop(&wants.want, VNETRX_F_RING_PACKED);
	if ((kinds & VHOST_NET_IN_ORDER) == 0u)
		vnetrx_features_drop(&wants.want, VNETRX_F_IN_ORDER);
	if ((kinds & VHOST_NET_MRG) == 0u) {
		vnetrx_features_drop(&wants.want, VNETRX_NET_F_MRG_RXBUF);
		wants.buf_len_max = (uint32_t)mtu + ONE_FRAME;
	}
	return wants;
}

static int make_region(struct vhost_net *net)
{
	net->region = region_new(net->cfg.region_size + net->cfg.user_size);
	if (net->region == NULL)
		return -ENOMEM;
	net->user = region_keep(net->region, net->cfg.user_size, &net->user_dma);
	return 0;
}

int vhost_net_new(struct vhost_net *net, const struct vhost_net_config *cfg)
{
	struct vhost_user_config vu = {
		.path = cfg->path,
		.listen = cfg->listen,
		.wants = cfg->wants,
		.pairs = cfg->pairs,
		.rx_size = cfg->rx_size,
		.tx_size = cfg->tx_size,
		.rx_segs = 2u, /* a header of its own, for devices that want it */
		.tx_segs = (cfg->tx_segs != 0u ? cfg->tx_segs : 1u) + 1u,
		.delay_num = cfg->delay_num,
		.delay_den = cfg->delay_den,
	};
	unsigned i;
	int err;

	*net = (struct vhost_net){ .cfg = *cfg };
	net->cfg.tx_segs = vu.tx_segs - 1u;
	if (cfg->region_size == 0u)
		net->cfg.region_size = REGION_DEFAULT;
	err = make_region(net);
	if (err != 0)
		return err;
	vu.region = net->region;
	err = vhost_user_new(&net->vu, &vu);
	if (err != 0) {
		region_delete(net->region);
		net->region = NULL;
		return err;
	}
	net->npairs = net->vu.cfg.pairs;
	for (i = 0u; i < net->npairs; i++) {
		net->pairs[i] = (struct vhost_net_pair){
			.net = net,
			.host = { .heap = { .show = cfg->show, .arg = cfg->arg }, .region = net->region },
			.rx_ring = &net->vu.rings[2u * i],
			.tx_ring = &net->vu.rings[2u * i + 1u],
		};
	}
	return 0;
}

int vhost_net_connect(struct vhost_net *net, vnetrx_ns now)
{
	int err = vhost_user_open(&net->vu);

	if (err != 0)
		return err;
	err = queues_ready(net);
	if (err == 0)
		err = vhost_user_start(&net->vu);
	if (err != 0) {
		vhost_net_disconnect(net, now);
		return err;
	}
	net->connects++;
	return 0;
}

bool vhost_net_up(const struct vhost_net *net)
{
	unsigned i;

	for (i = 0u; i < net->npairs; i++)
		if (net->pairs[i].rxq != NULL && vnetrx_rxq_state(net->pairs[i].rxq) == VNETRX_RXQ_BROKEN)
			return false;
	return vhost_user_up(&net->vu);
}

/* With the device stopped. */
static void take_back(struct vhost_net_pair *pair, vnetrx_ns now)
{
	if (pair->rxq != NULL) {
		(void)vnetrx_rxq_poll(pair->rxq, pair->dev.bufs_max, now);
		(void)vnetrx_rxq_reclaim(pair->rxq);
		vnetrx_rxq_flush(pair->rxq);
	}
	if (pair->txq != NULL) {
		(void)vnetrx_txq_poll(pair->txq, UINT32_MAX);
		(void)vnetrx_txq_reset(pair->txq);
	}
}

void vhost_net_disconnect(struct vhost_net *net, vnetrx_ns now)
{
	unsigned i;

	if (net->region == NULL)
		return;
	vhost_user_stop(&net->vu);
	for (i = 0u; i < net->npairs; i++)
		take_back(&net->pairs[i], now);
}

static bool pair_delete(struct vhost_net *net, struct vhost_net_pair *pair)
{
	bool clean = true;

	if (pair->rxq != NULL)
		clean = vnetrx_rxq_fini(pair->rxq) == VNETRX_OK;
	free(pair->rx_mem);
	free(pair->tx_mem);
	if (pair->hdrs != NULL)
		region_give(net->region, pair->hdrs, pair->hdrs_size);
	return clean;
}

bool vhost_net_delete(struct vhost_net *net, vnetrx_ns now)
{
	bool clean = true;
	unsigned i;

	if (net->region == NULL)
		return true;
	vhost_net_disconnect(net, now);
	for (i = 0u; i < net->npairs; i++)
		clean = pair_delete(net, &net->pairs[i]) && clean;
	vhost_user_delete(&net->vu);
	clean = clean && net->region->out == 0u;
	region_delete(net->region);
	net->region = NULL;
	return clean;
}
