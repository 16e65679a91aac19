/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up of a transmit queue, stop, start, reset, and its counters. */
#include "txq.h"

#include "../mem.h"
#include "virtio_hdr.h"

#define SEGS_DEFAULT 17u
#define SIZE_TOP     32768u

union counters {
	struct vnetrx_txq_stats stats;
	size_t words[VNRX_TXQ_WORDS];
};

_Static_assert(sizeof(union counters) == VNRX_TXQ_WORDS * sizeof(size_t), "whole words");

/* ---- configuration ---- */

static uint32_t segs_max_of(const struct vnetrx_txq_config *cfg)
{
	return cfg->segs_max != 0u ? cfg->segs_max : SEGS_DEFAULT;
}

static bool joins(const struct vnetrx_txq_config *cfg)
{
	return (cfg->flags & VNETRX_TXQ_ANY_LAYOUT) != 0u;
}

/* NULL, or what is wrong. */
static const char *config_wrong(const struct vnetrx_txq_config *cfg)
{
	if (cfg->ops == NULL || cfg->ops->done == NULL)
		return "ops: the table and its done are required";
	if (cfg->vq == NULL || vnetrx_virtq_outstanding(cfg->vq) != 0u)
		return "vq: required, and nothing may be in it";
	if (!vnrx_hdr_known(cfg->hdr_len))
		return "hdr_len: must be 10, 12, 20, 24 or 32";
	if (cfg->segs_max > VNRX_TX_SEGS_MAX)
		return "segs_max: must be 1..64";
	if ((cfg->flags & ~VNETRX_TXQ_ANY_LAYOUT) != 0u)
		return "flags: only VNETRX_TXQ_ANY_LAYOUT";
	if (vnetrx_virtq_slots_needed(cfg->vq, segs_max_of(cfg) + 1u) > vnetrx_virtq_free_slots(cfg->vq))
		return "segs_max: the ring does not hold the largest packet and its header";
	return NULL;
}

static uint32_t stride_of(const struct vnetrx_txq_config *cfg)
{
	return vnrx_align_up(cfg->hdr_len, 16u);
}

/* Cuts the queue out of mem, or measures it. */
static struct vnetrx_txq *layout(struct vnrx_mem *mem, uint32_t size, void ***cookies, uint16_t **ids)
{
	struct vnetrx_txq *q = vnrx_mem_take(mem, 1, sizeof(*q));

	*cookies = vnrx_mem_take(mem, size, sizeof(**cookies));
	*ids = vnrx_mem_take(mem, size, sizeof(**ids));
	return q;
}

size_t vnetrx_txq_footprint(const struct vnetrx_txq_config *cfg, const char **why)
{
	struct vnrx_mem mem = { .base = NULL };
	const char *error = config_wrong(cfg);
	void **cookies;
	uint16_t *ids;

	if (why != NULL)
		*why = error;
	if (error != NULL)
		return 0;
	(void)layout(&mem, vnetrx_virtq_free_slots(cfg->vq), &cookies, &ids);
	return vnrx_mem_total(&mem);
}

size_t vnetrx_txq_hdr_bytes(const struct vnetrx_txq_config *cfg)
{
	return config_wrong(cfg) == NULL ? (size_t)vnetrx_virtq_free_slots(cfg->vq) * stride_of(cfg) : 0u;
}

static void ids_reset(struct vnetrx_txq *q)
{
	for (uint32_t i = 0; i < q->size; i++)
		q->ids[i] = (uint16_t)(q->size - 1u - i); /* id 0 is taken first */
	q->free = q->size;
}

int vnetrx_txq_init(struct vnetrx_txq **txq, const struct vnetrx_txq_config *cfg, void *mem, size_t mem_size)
{
	struct vnrx_mem m = { .base = mem, .size = mem_size };
	struct vnetrx_txq *q;
	void **cookies;
	uint16_t *ids;
	uint32_t size;

	if (config_wrong(cfg) != NULL)
		return VNETRX_ERR_INVALID;
	size = vnetrx_virtq_free_slots(cfg->vq);
	if (!vnrx_mem_usable(mem))
		return VNETRX_ERR_NOMEM;
	q = layout(&m, size, &cookies, &ids);
	if (vnrx_mem_total(&m) == 0u)
		return VNETRX_ERR_NOMEM;
	*q = (struct vnetrx_txq){
		.vq = cfg->vq,
		.ops = *cfg->ops,
		.host = cfg->host,
		.cookies = cookies,
		.ids = ids,
		.hdrs = cfg->hdrs,
		.hdrs_dma = cfg->hdrs_dma,
		.stride = stride_of(cfg),
		.size = size,
		.slots_max = vnetrx_virtq_slots_needed(cfg->vq, segs_max_of(cfg) + 1u),
		.features = cfg->features,
		.hdr_len = cfg->hdr_len,
		.hdr_room = joins(cfg) ? cfg->hdr_len : UINT32_MAX,
		.segs_max = (uint16_t)segs_max_of(cfg),
		.queue = cfg->queue,
	};
	ids_reset(q);
	vnrx_txq_publish(q);
	*txq = q;
	return VNETRX_OK;
}

/* ---- life ---- */

enum vnetrx_txq_state vnetrx_txq_state(const struct vnetrx_txq *q)
{
	if (q->is_broken)
		return VNETRX_TXQ_BROKEN;
	if (q->is_stopped)
		return VNETRX_TXQ_STOPPED;
	return q->is_refused ? VNETRX_TXQ_FULL : VNETRX_TXQ_RUNNING;
}

uint32_t vnetrx_txq_outstanding(const struct vnetrx_txq *q)
{
	return q->size - q->free;
}

void vnetrx_txq_stop(struct vnetrx_txq *q)
{
	q->is_stopped = true;
}

void vnetrx_txq_start(struct vnetrx_txq *q)
{
	q->is_stopped = false;
	if (q->is_refused)
		(void)vnrx_txq_restart(q);
	vnrx_txq_publish(q);
}

/* Takes up to a batch of packets back from the ring that no device looks at any more. */
static unsigned detach_batch(struct vnetrx_txq *q)
{
	void *cookies[VNRX_TX_BATCH];
	unsigned n = 0;
	uint32_t id;

	while (n < VNRX_TX_BATCH && vnetrx_virtq_detach(q->vq, &id))
		cookies[n++] = q->cookies[id];
	if (n > 0u) {
		q->stats.done += n;
		q->stats.lost += n;
		q->stats.reaps++;
		q->ops.done(q->host, cookies, n, VNETRX_TX_LOST);
	}
	return n;
}

unsigned vnetrx_txq_reset(struct vnetrx_txq *q)
{
	unsigned lost = 0, n;

	q->is_stopped = true;
	do {
		n = detach_batch(q);
		lost += n;
	} while (n > 0u);
	vnetrx_virtq_reset(q->vq);
	ids_reset(q);
	q->is_armed = false;
	q->is_broken = false;
	vnrx_txq_publish(q);
	return lost;
}

/* ---- counters ---- */

void vnrx_txq_publish(struct vnetrx_txq *q)
{
	union counters now;

	q->stats.out = q->size - q->free;
	now.stats = q->stats;
	vnrx_shared_write(&q->seq, q->shared, now.words, VNRX_TXQ_WORDS);
}

void vnetrx_txq_read_stats(const struct vnetrx_txq *q, struct vnetrx_txq_stats *stats)
{
	union counters copy;

	vnrx_shared_read(&q->seq, q->shared, copy.words, VNRX_TXQ_WORDS);
	*stats = copy.stats;
}
