/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of all stages as one, and their copy for other threads. */
#include "queue.h"

union counters {
	struct vnetrx_rxq_stats stats;
	size_t words[VNRX_STATS_WORDS];
};

_Static_assert(sizeof(union counters) == VNRX_STATS_WORDS * sizeof(size_t), "whole words");

void vnrx_rxq_publish(struct vnetrx_rxq *q)
{
	struct vnrx_shared_stats *s = &q->shared;
	union counters now;

	q->stats.waiting = q->fifo.count;
	now.stats.queue = q->stats;
	vnetrx_pool_read_stats(q->pool, &now.stats.pool);
	vnetrx_merge_read_stats(q->merge, &now.stats.merge);
	if (q->gro != NULL)
		vnetrx_gro_read_stats(q->gro, &now.stats.gro);
	else
		memset(&now.stats.gro, 0, sizeof(now.stats.gro));
	vnrx_shared_write(&s->seq, s->words, now.words, VNRX_STATS_WORDS);
}

void vnetrx_rxq_read_stats(const struct vnetrx_rxq *q, struct vnetrx_rxq_stats *stats)
{
	union counters copy;

	vnrx_shared_read(&q->shared.seq, q->shared.words, copy.words, VNRX_STATS_WORDS);
	*stats = copy.stats;
}
