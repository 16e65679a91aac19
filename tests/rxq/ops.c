/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops.h"

#include <string.h>

/* Counts a call; true: it is the one that fails. */
static bool hit(struct ops *ops, enum op op)
{
	return ++ops->calls[op] == ops->at && ops->op == op;
}

static unsigned post(void *dev, const struct vnetrx_buf *bufs, unsigned n)
{
	struct ops *ops = dev;

	if (hit(ops, OP_POST) && n > ops->most)
		n = ops->most;
	return n > 0u ? softdev_ops.post(ops->rig->dev, bufs, n) : 0u;
}

static int reap(void *dev, struct vnetrx_done *done, unsigned max)
{
	struct ops *ops = dev;

	if (ops->broken)
		return -5;
	return hit(ops, OP_REAP) ? 0 : softdev_ops.reap(ops->rig->dev, done, max);
}

static void kick(void *dev)
{
	struct ops *ops = dev;

	softdev_ops.kick(ops->rig->dev);
}

static int decode(void *dev, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	struct ops *ops = dev;

	return softdev_ops.decode(ops->rig->dev, head, len, meta);
}

static bool arm(void *dev)
{
	struct ops *ops = dev;

	if (ops->late) {
		ops->late = false;
		(void)rxq_rig_next(ops->rig, ops->frame);
	}
	return softdev_ops.arm(ops->rig->dev);
}

static void *page_alloc(void *host, size_t size, uint64_t *dma)
{
	struct ops *ops = host;

	return hit(ops, OP_PAGE_ALLOC) ? NULL : heap_host_ops.page_alloc(&ops->rig->host, size, dma);
}

static void page_free(void *host, void *page, size_t size, uint64_t dma)
{
	struct ops *ops = host;

	heap_host_ops.page_free(&ops->rig->host, page, size, dma);
}

static unsigned deliver(void *host, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct ops *ops = host;

	if (hit(ops, OP_DELIVER) && n > ops->most)
		n = ops->most;
	return n > 0u ? heap_host_ops.deliver(&ops->rig->host, pkts, n) : 0u;
}

static void timer_set(void *host, vnetrx_ns deadline)
{
	struct ops *ops = host;

	heap_host_ops.timer_set(&ops->rig->host, deadline);
}

static void wake(void *host)
{
	struct ops *ops = host;

	heap_host_ops.wake(&ops->rig->host);
}

static void early(void *host, struct vnetrx_pkt *const *pkts, unsigned n, uint8_t *verdict)
{
	struct ops *ops = host;

	for (unsigned i = 0; i < n; i++) {
		if (ops->seen_early++ % 2u == 0u)
			continue;
		verdict[i] = ops->verdict;
		if (ops->verdict == VNETRX_VERDICT_TAKEN)
			vnetrx_pktq_add(&ops->taken, pkts[i]);
	}
}

const struct vnetrx_dev_ops ops_dev = {
	.post = post,
	.reap = reap,
	.kick = kick,
	.decode = decode,
	.arm = arm,
};

const struct vnetrx_host_ops ops_host = {
	.page_alloc = page_alloc,
	.page_free = page_free,
	.deliver = deliver,
	.timer_set = timer_set,
	.wake = wake,
};

const struct vnetrx_host_ops ops_host_early = {
	.page_alloc = page_alloc,
	.page_free = page_free,
	.deliver = deliver,
	.early = early,
	.timer_set = timer_set,
	.wake = wake,
};

void ops_open(struct ops *ops, struct rxq_rig *rig, const struct vnetrx_rxq_config *cfg)
{
	struct vnetrx_rxq_config c = *cfg;

	ops->rig = rig;
	c.dev_ops = &ops_dev;
	c.dev = ops;
	if (c.host_ops == NULL)
		c.host_ops = &ops_host;
	c.host = ops;
	rxq_rig_open(rig, &c, NULL);
}
