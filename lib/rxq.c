/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pipeline: reap -> merge -> (early) -> GRO -> FIFO -> deliver, and refill beside it.
 *
 * Invariants: nothing is reaped while a finished packet waits for the host, so what waits is bounded; a buffer is
 * lent by the pool exactly while the device has it; every call that lets packets out ends with deliver().
 */
#include "queue.h"

#include "buf/merge.h"
#include "buf/pool.h"
#include "gro/wait.h"

/* A device with less than this part of its ring is low. */
#define LOW_DIV 4u

/* ---- buffers to the device ---- */

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

/* Brings the ring to ring_size as far as memory and device allow. A device that may have run low hears of the first
 * buffers at once, not when the last are posted. */
static void refill(struct vnetrx_rxq *q)
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

/* ---- packets to the host ---- */

static void count_delivered(struct vnetrx_rxq *q, struct vnetrx_pkt *const *pkts, unsigned n, bool undo)
{
	uint64_t segs = 0, bytes = 0;

	for (unsigned i = 0; i < n; i++) {
		segs += pkts[i]->segs != 0u ? pkts[i]->segs : 1u;
		bytes += pkts[i]->len;
	}
	q->stats.delivered += undo ? 0u - (uint64_t)n : n;
	q->stats.delivered_segs += undo ? 0u - segs : segs;
	q->stats.delivered_bytes += undo ? 0u - bytes : bytes;
}

/* Puts packets that the host did not take back to the front of the FIFO, in their order. */
static void put_back(struct vnetrx_rxq *q, struct vnetrx_pkt *const *pkts, unsigned n)
{
	for (unsigned i = n; i-- > 0u;) {
		pkts[i]->next = q->fifo.first;
		if (q->fifo.first == NULL)
			q->fifo.last = pkts[i];
		q->fifo.first = pkts[i];
		q->fifo.count++;
	}
}

/* Takes up to a batch of packets off the FIFO. */
static unsigned fifo_take(struct vnetrx_pktq *fifo, struct vnetrx_pkt **pkts)
{
	struct vnetrx_pkt *pkt = fifo->first;
	unsigned n;

	for (n = 0; n < VNRX_BATCH && pkt != NULL; n++) {
		pkts[n] = pkt;
		pkt = pkt->next;
	}
	fifo->first = pkt;
	fifo->count -= n;
	return n;
}

/* Offers what is finished. Packets leave the FIFO before the host sees them: from then on `next` is its own, and it may
 * free them at once. */
static void deliver(struct vnetrx_rxq *q)
{
	struct vnetrx_pkt **pkts = q->batch.pkts;
	unsigned n, took;

	while (q->fifo.first != NULL && !q->is_full) {
		n = fifo_take(&q->fifo, pkts);
		count_delivered(q, pkts, n, false);
		took = q->host_ops.deliver(q->host, pkts, n);
		if (took < n) {
			count_delivered(q, pkts + took, n - took, true);
			put_back(q, pkts + took, n - took);
			q->stats.stalls++;
			q->is_full = true;
		}
	}
}

/* Lets the host look at packets before GRO; returns how many go on, moved together. */
static VNRX_COLD unsigned early(struct vnetrx_rxq *q, struct vnetrx_pkt **pkts, unsigned n)
{
	uint8_t verdict[VNRX_BATCH];
	unsigned kept = 0;

	memset(verdict, VNETRX_VERDICT_PASS, n);
	for (unsigned i = 0; i < n; i++)
		pkts[i]->seen_first = pkts[i]->seen_last = q->clock;
	q->host_ops.early(q->host, pkts, n, verdict);
	for (unsigned i = 0; i < n; i++) {
		if (verdict[i] == VNETRX_VERDICT_DROP) {
			q->stats.early_dropped++;
			vnetrx_pkt_free(&pkts[i], 1);
		} else if (verdict[i] == VNETRX_VERDICT_TAKEN) {
			q->stats.early_taken++;
		} else {
			pkts[kept++] = pkts[i];
		}
	}
	return kept;
}

/* Without GRO: all at once onto the FIFO, which is empty. */
static void pass_all(struct vnetrx_rxq *q, struct vnetrx_pkt *const *pkts, unsigned n)
{
	vnetrx_ns now = q->clock;

	for (unsigned i = 0; i < n; i++) {
		pkts[i]->next = i + 1u < n ? pkts[i + 1u] : NULL;
		pkts[i]->seen_first = pkts[i]->seen_last = now;
	}
	if (n > 0u)
		q->fifo = (struct vnetrx_pktq){ pkts[0], pkts[n - 1u], n };
}

/* By cost: some packets tell enough. */
static VNRX_APART void weigh(struct vnetrx_rxq *q, struct vnetrx_pkt *const *pkts, unsigned n)
{
	uint32_t i = q->weigh_next;

	while (i < n)
		i += vnetrx_sizer_weigh(&q->sizer, pkts[i]->len);
	q->weigh_next = i - n;
}

static void learn(struct vnetrx_rxq *q, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct vnetrx_sizer sizer = { .avg = q->sizer.avg, .avg_max = q->sizer.avg_max };
	uint32_t longest = q->sizer.len_max - q->sizer.hdr_len;
	unsigned i = 0;

	while (sizer.avg == sizer.avg_max && i < n && pkts[i]->len >= longest)
		i++; /* large packets, and the average is at its top already */
	for (; i < n; i++)
		vnetrx_sizer_add(&sizer, pkts[i]->len);
	q->sizer.avg = sizer.avg;
}

/* ---- one batch ---- */

/* Takes up to max completions from the device through all stages. Returns how many there were; *pkts = how many packets
 * they made or lost. */
static unsigned batch(struct vnetrx_rxq *q, unsigned max, unsigned *pkts_out)
{
	struct vnetrx_done *done = q->batch.u.done;
	struct vnetrx_pkt **pkts = q->batch.pkts;
	uint64_t drops = vnrx_merge_drops(q->merge);
	int reaped = q->dev_ops.reap(q->dev, done, max);
	unsigned n;

	*pkts_out = 0;
	if (reaped < 0) {
		q->is_broken = true;
		q->stats.broken++;
		vnetrx_merge_end(q->merge);
		return 0;
	}
	reaped = (unsigned)reaped < max ? reaped : (int)max;
	q->stats.completions += (unsigned)reaped;
	n = vnetrx_merge_add(q->merge, done, (unsigned)reaped, pkts);
	if ((unsigned)reaped < max)
		vnetrx_merge_end(q->merge);
	*pkts_out = n + (unsigned)(vnrx_merge_drops(q->merge) - drops);
	if (q->sizer.by_cost)
		weigh(q, pkts, n);
	else if (q->sizer.len_min != q->sizer.len_max)
		learn(q, pkts, n);
	if (q->host_ops.early != NULL && n > 0u)
		n = early(q, pkts, n);
	if (q->gro != NULL)
		vnetrx_gro_receive(q->gro, pkts, n, q->clock, &q->fifo);
	else
		pass_all(q, pkts, n);
	return (unsigned)reaped;
}

/* Most completions that may be taken now: each may need a packet descriptor. */
static unsigned batch_max(const struct vnetrx_rxq *q, unsigned budget_left)
{
	unsigned max = vnetrx_pool_pkts_free(q->pool);

	if (max > VNRX_BATCH)
		max = VNRX_BATCH;
	return max < budget_left ? max : budget_left;
}

/* Takes what the device has, up to budget packets, as long as the host takes what comes out. */
static unsigned take(struct vnetrx_rxq *q, unsigned budget)
{
	unsigned taken = 0;

	while (taken < budget && q->fifo.first == NULL && !q->is_broken) {
		unsigned max = batch_max(q, budget - taken);
		unsigned pkts, reaped;

		if (max == 0u) { /* every descriptor is at the host: the ring fills, the device drops, wake tells */
			vnrx_pool_set_short(q->pool, true);
			if (vnetrx_pool_collect(q->pool) > 0u) /* freed before wake was asked for */
				continue;
			break;
		}
		reaped = batch(q, max, &pkts);
		taken += pkts;
		refill(q);
		deliver(q);
		if (reaped < max)
			break;
	}
	return taken;
}

/* Begins a call: time goes on, what other threads freed is taken up, and the host is asked anew. */
static void begin(struct vnetrx_rxq *q, vnetrx_ns now)
{
	if (now > q->clock)
		q->clock = now;
	q->is_full = false;
	(void)vnetrx_pool_collect(q->pool);
}

static void tell_timer(struct vnetrx_rxq *q)
{
	vnetrx_ns deadline = vnetrx_rxq_deadline(q);

	if (q->host_ops.timer_set != NULL && deadline != q->timer)
		q->host_ops.timer_set(q->host, deadline);
	q->timer = deadline;
}

/* Hands up what is due. From poll, and again from complete, between which time has passed. */
static void end_of_poll(struct vnetrx_rxq *q)
{
	vnrx_wait_rest(q->gro, q->polled_at, q->clock);
	vnetrx_gro_expire(q->gro, q->clock, &q->fifo);
}

static unsigned poll(struct vnetrx_rxq *q, unsigned budget, vnetrx_ns now)
{
	unsigned taken;

	begin(q, now);
	q->polled_at = q->clock;
	q->stats.polls++;
	if (q->is_short && !q->is_broken)
		refill(q);
	deliver(q);
	taken = take(q, budget);
	if (q->gro != NULL) {
		end_of_poll(q);
		deliver(q);
	}
	return taken;
}

/* ---- public ---- */

unsigned vnetrx_rxq_poll(struct vnetrx_rxq *q, unsigned budget, vnetrx_ns now)
{
	unsigned taken = poll(q, budget, now);

	if (taken == 0u || taken >= budget) /* else complete() follows */
		vnrx_rxq_publish(q);
	return taken;
}

unsigned vnetrx_rxq_expire(struct vnetrx_rxq *q, unsigned budget, vnetrx_ns now)
{
	unsigned taken = poll(q, budget, now);

	tell_timer(q);
	vnrx_rxq_publish(q);
	return taken;
}

bool vnetrx_rxq_complete(struct vnetrx_rxq *q, vnetrx_ns now)
{
	begin(q, now);
	if (q->gro != NULL && q->flush_each)
		vnetrx_gro_flush(q->gro, &q->fifo);
	else if (q->gro != NULL)
		end_of_poll(q);
	q->polled_at = VNETRX_NEVER;
	deliver(q);
	if (q->is_short && !q->is_broken)
		refill(q);
	tell_timer(q);
	vnrx_rxq_publish(q);
	if (q->is_broken || q->fifo.first != NULL || q->dev_ops.arm == NULL)
		return true;
	return !q->dev_ops.arm(q->dev);
}

unsigned vnetrx_rxq_fill(struct vnetrx_rxq *q)
{
	begin(q, q->clock);
	if (!q->is_broken)
		refill(q);
	vnrx_rxq_publish(q);
	return vnrx_pool_lent(q->pool);
}

void vnetrx_rxq_flush(struct vnetrx_rxq *q)
{
	begin(q, q->clock);
	if (q->gro != NULL)
		vnetrx_gro_flush(q->gro, &q->fifo);
	deliver(q);
	vnrx_rxq_publish(q);
}

void vnetrx_rxq_set_gro_protos(struct vnetrx_rxq *q, uint32_t protos)
{
	begin(q, q->clock);
	if (q->gro != NULL)
		vnetrx_gro_set_protos(q->gro, protos, &q->fifo);
	deliver(q);
	vnrx_rxq_publish(q);
}

unsigned vnetrx_rxq_reclaim(struct vnetrx_rxq *q)
{
	unsigned n;

	vnetrx_merge_end(q->merge);
	n = vnetrx_pool_reclaim(q->pool);
	q->stats.reclaimed += n;
	q->is_broken = false;
	vnrx_rxq_publish(q);
	return n;
}

vnetrx_ns vnetrx_rxq_deadline(const struct vnetrx_rxq *q)
{
	vnetrx_ns deadline = q->gro != NULL ? vnetrx_gro_deadline(q->gro) : VNETRX_NEVER;

	if (q->is_short && !q->is_broken && q->retry_at < deadline)
		deadline = q->retry_at;
	return deadline;
}
