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

/* Offers n packets, which stand nowhere else: from here on `next` is the host's, and it may free them at once. */
static void offer(struct vnetrx_rxq *q, struct vnetrx_pkt *const *pkts, unsigned n)
{
	unsigned took;

	count_delivered(q, pkts, n, false);
	took = q->host_ops.deliver(q->host, pkts, n);
	if (took < n) {
		count_delivered(q, pkts + took, n - took, true);
		put_back(q, pkts + took, n - took);
		q->stats.stalls++;
		q->is_full = true;
	}
}

/* Offers what is finished. */
static void deliver(struct vnetrx_rxq *q)
{
	while (q->fifo.first != NULL && !q->is_full)
		offer(q, q->batch.pkts, fifo_take(&q->fifo, q->batch.pkts));
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

/* Without GRO: the batch itself is what is finished. */
static void pass_all(struct vnetrx_rxq *q, struct vnetrx_pkt *const *pkts, unsigned n)
{
	vnetrx_ns now = q->clock;

	for (unsigned i = 0; i < n; i++)
		pkts[i]->seen_first = pkts[i]->seen_last = now;
	q->batch.passed = n;
}

/* Offers what passes, before there is anything on the FIFO. */
static void pass(struct vnetrx_rxq *q)
{
	unsigned n = q->batch.passed;

	q->batch.passed = 0;
	if (n != 0u)
		offer(q, q->batch.pkts, n);
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

static void broke(struct vnetrx_rxq *q)
{
	q->is_broken = true;
	q->stats.broken++;
	vnetrx_merge_end(q->merge);
}

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
		broke(q);
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

/* The packet under assembly has every descriptor: no wait helps it. It goes on without another one, or is dropped. */
static bool merge_has_all(const struct vnetrx_rxq *q)
{
	return q->merge->state == VNRX_MERGE_JOIN && q->merge->head->nfrags == q->pool->pkts_num;
}

/* Whether every packet descriptor is in use: the ring fills, the device drops. The next one that is freed wakes the
 * host; what was freed before that was asked for is taken up here. */
static bool starved(struct vnetrx_rxq *q)
{
	bool was = q->is_starved;

	q->is_starved = false;
	if (VNRX_LIKELY(vnetrx_pool_pkts_free(q->pool) > 0u))
		return false;
	if (merge_has_all(q))
		return false;
	vnrx_pool_set_short(q->pool, true);
	if (vnetrx_pool_collect(q->pool) > 0u)
		return false;
	q->is_starved = true;
	if (!was)
		q->stats.starved++;
	return true;
}

/* Most completions that may be taken now, at least one: each may need a packet descriptor. */
static unsigned batch_max(const struct vnetrx_rxq *q, unsigned budget_left)
{
	unsigned max = vnetrx_pool_pkts_free(q->pool);

	if (max == 0u) /* not starved(), nevertheless */
		max = 1;
	if (max > VNRX_BATCH)
		max = VNRX_BATCH;
	return max < budget_left ? max : budget_left;
}

/* Nothing may be taken from the device, but that it is broken it may say. */
static VNRX_COLD void look(struct vnetrx_rxq *q)
{
	if (q->dev_ops.reap(q->dev, q->batch.u.done, 0) < 0)
		broke(q);
}

/* Takes what the device has, up to budget packets, as long as the host takes what comes out. */
static unsigned take(struct vnetrx_rxq *q, unsigned budget)
{
	unsigned taken = 0;

	while (taken < budget && !q->is_broken) {
		unsigned max, pkts, reaped;

		if (q->fifo.first != NULL || starved(q)) {
			look(q);
			break;
		}
		max = batch_max(q, budget - taken);
		reaped = batch(q, max, &pkts);
		taken += pkts;
		vnrx_rxq_refill(q);
		pass(q);
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
		vnrx_rxq_refill(q);
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
	bool sleep;

	begin(q, now);
	if (q->gro != NULL && q->flush_each)
		vnetrx_gro_flush(q->gro, &q->fifo);
	else if (q->gro != NULL)
		end_of_poll(q);
	q->polled_at = VNETRX_NEVER;
	deliver(q);
	if (q->is_short && !q->is_broken)
		vnrx_rxq_refill(q);
	tell_timer(q);
	/* Last, since a refill may have changed what is waited for. */
	sleep = q->is_broken || q->fifo.first != NULL || starved(q);
	vnrx_rxq_publish(q);
	return sleep || q->dev_ops.arm == NULL || !q->dev_ops.arm(q->dev);
}

unsigned vnetrx_rxq_fill(struct vnetrx_rxq *q)
{
	begin(q, q->clock);
	if (!q->is_broken)
		vnrx_rxq_refill(q);
	if (q->is_starved && !starved(q)) /* who waits for a descriptor has to poll */
		vnrx_pool_wake(q->pool);
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
