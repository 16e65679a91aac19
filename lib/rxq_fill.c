/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers to the device. */
#include "queue.h"

#include "buf/pool.h"

/* A device with less than this part of its ring is low. */
#define LOW_DIV 4u

/* Posts n buffers; what the device does not take goes back to the pool. Returns how many it took. */
static unsigned post(struct vnetrx_rxq *q, const struct vnetrx_buf *bufs, unsigned n)
{
	unsigned took;

	if (q->dev_ops.sync_dev != NULL) {
		for (unsigned i = 0; i < n; i++)
			q->dev_ops.sync_dev(q->dev, bufs[i].addr, bufs[i].dma, bufs[i].len);
	}
	took = q->dev_ops.post(q->dev, bufs, n);
	if (took > n)
		took = n;
	q->stats.posted += took;
	for (unsigned i = took; i < n; i++)
		(void)vnetrx_pool_put(q->pool, &bufs[i].id, 1);
	return took;
}

static void kick(struct vnetrx_rxq *q)
{
	if (q->dev_ops.kick != NULL) {
		q->stats.kicks++;
		q->dev_ops.kick(q->dev);
	}
}

/* A device that may have run low hears of the first buffers at once, not when the last are posted. */
void vnrx_rxq_refill(struct vnetrx_rxq *q)
{
	struct vnetrx_buf *bufs = q->batch.u.bufs;
	uint32_t len = vnetrx_sizer_len(&q->sizer);
	uint32_t lent = vnrx_pool_lent(q->pool);
	uint32_t want = q->ring_size - lent;
	bool low = lent < q->ring_size / LOW_DIV;
	bool posted = false;

	while (want > 0u) {
		unsigned ask = want < VNRX_BATCH ? want : VNRX_BATCH;
		unsigned got = vnetrx_pool_get(q->pool, len, bufs, ask);
		unsigned took = got > 0u ? post(q, bufs, got) : 0u;

		posted = posted || took > 0u;
		want -= took;
		if (took < ask)
			break;
		if (low && want > 0u) {
			kick(q);
			low = posted = false;
		}
	}
	q->is_short = want > 0u;
	if (q->is_short) {
		q->stats.short_refills++;
		q->retry_at = q->clock < VNETRX_NEVER - 1u - q->retry_ns ? q->clock + q->retry_ns : VNETRX_NEVER - 1u;
	}
	if (posted)
		kick(q);
}
