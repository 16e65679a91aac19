/* SPDX-License-Identifier: BSD-3-Clause */
/* What a queue says about itself: its state, and the counters of all stages as one, with a copy for other threads. */
#include "queue.h"

#include "buf/pool.h"

_Static_assert(sizeof(struct vnetrx_rxq_stats) == VNRX_STATS_WORDS * sizeof(size_t), "whole words");
_Static_assert(offsetof(struct vnetrx_rxq_stats, gro) + sizeof(struct vnetrx_gro_stats) ==
                       sizeof(struct vnetrx_rxq_stats), "the last, so that a queue without GRO may leave them out");

void vnrx_rxq_publish(struct vnetrx_rxq *q)
{
	struct vnrx_shared_stats *s = &q->shared;
	struct vnetrx_rxq_stats *now = &q->batch.u.stats;
	size_t words = VNRX_STATS_WORDS;

	q->stats.waiting = q->fifo.count;
	now->queue = q->stats;
	vnetrx_pool_read_stats(q->pool, &now->pool);
	vnetrx_merge_read_stats(q->merge, &now->merge);
	if (q->gro != NULL)
		vnetrx_gro_read_stats(q->gro, &now->gro);
	else
		words -= VNRX_WORDS(struct vnetrx_gro_stats); /* they stay 0 */
	vnrx_shared_write(&s->seq, s->words, q->batch.u.words, words);
}

void vnetrx_rxq_read_stats(const struct vnetrx_rxq *q, struct vnetrx_rxq_stats *stats)
{
	union {
		struct vnetrx_rxq_stats stats;
		size_t words[VNRX_STATS_WORDS];
	} copy;

	vnrx_shared_read(&q->shared.seq, q->shared.words, copy.words, VNRX_STATS_WORDS);
	*stats = copy.stats;
}

enum vnetrx_rxq_state vnetrx_rxq_state(const struct vnetrx_rxq *q)
{
	if (q->is_broken)
		return VNETRX_RXQ_BROKEN;
	if (q->fifo.first != NULL)
		return VNETRX_RXQ_STALLED;
	if (vnetrx_pool_pkts_free(q->pool) == 0u)
		return VNETRX_RXQ_STARVED;
	return vnrx_pool_lent(q->pool) < q->ring_size ? VNETRX_RXQ_SHORT : VNETRX_RXQ_RUNNING;
}

uint32_t vnetrx_rxq_buf_len(const struct vnetrx_rxq *q)
{
	return vnetrx_sizer_len(&q->sizer);
}
