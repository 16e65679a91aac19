/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters for other threads: a sequence lock. The writer never waits; a reader that met a write reads again. Words are
 * stored and loaded whole, so that a 64-bit counter cannot tear where a word is narrower: seq covers its halves.
 */
#include "queue.h"

_Static_assert(sizeof(struct vnetrx_rxq_stats) == VNRX_STATS_WORDS * sizeof(size_t), "whole words");

void vnrx_rxq_publish(struct vnetrx_rxq *q)
{
	struct vnrx_shared_stats *s = &q->shared;
	struct vnetrx_rxq_stats *now = &q->batch.u.stats;

	q->stats.waiting = q->fifo.count;
	now->queue = q->stats;
	vnetrx_pool_read_stats(q->pool, &now->pool);
	vnetrx_merge_read_stats(q->merge, &now->merge);
	if (q->gro != NULL)
		vnetrx_gro_read_stats(q->gro, &now->gro);
	else
		memset(&now->gro, 0, sizeof(now->gro));

	VNRX_STORE_RELAXED(&s->seq, s->seq + 1u);
	VNRX_FENCE_RELEASE(); /* a reader that sees one of the words below sees the odd number */
	for (size_t i = 0; i < VNRX_STATS_WORDS; i++)
		VNRX_STORE_RELAXED(&s->words[i], q->batch.u.words[i]);
	VNRX_STORE_RELEASE(&s->seq, s->seq + 1u);
}

void vnetrx_rxq_read_stats(const struct vnetrx_rxq *q, struct vnetrx_rxq_stats *stats)
{
	const struct vnrx_shared_stats *s = &q->shared;
	uint8_t *copy = (uint8_t *)stats;
	uint32_t before, after;

	do {
		before = VNRX_LOAD_ACQUIRE(&s->seq);
		for (size_t i = 0; i < VNRX_STATS_WORDS; i++) {
			size_t word = VNRX_LOAD_RELAXED(&s->words[i]);

			memcpy(copy + i * sizeof(word), &word, sizeof(word));
		}
		VNRX_FENCE_ACQUIRE(); /* the words were read before seq is looked at again */
		after = VNRX_LOAD_RELAXED(&s->seq);
	} while (before != after || before % 2u != 0u);
}
