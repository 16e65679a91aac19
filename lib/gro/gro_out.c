/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way out: everything that leaves goes through out() into the caller's one FIFO.
 *
 * Order: a packet that is never held first pushes out what is held of its flow, or, where its flow cannot be known, of
 * its address pair.
 */
#include "engine.h"
#include "lists.h"
#include "wait.h"

/* The counters as arrays; the order is that of their enums. */
_Static_assert(offsetof(struct vnetrx_gro_stats, pass_tunnel) - offsetof(struct vnetrx_gro_stats, pass_off) ==
               (VNRX_PASS_NUM - 1u) * sizeof(uint64_t), "one pass_ counter per reason, in order");
_Static_assert(offsetof(struct vnetrx_gro_stats, left_flush) - offsetof(struct vnetrx_gro_stats, left_push) ==
               (VNETRX_LEFT_NUM - 2) * sizeof(uint64_t), "one left_ counter per reason, in order");
_Static_assert(offsetof(struct vnetrx_gro_stats, differ_tunnel) - offsetof(struct vnetrx_gro_stats, differ_seq) ==
               (VNRX_DIFFER_NUM - 1u) * sizeof(uint64_t), "one differ_ counter per reason, in order");

static void out(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt, enum vnetrx_reason reason, struct vnetrx_pktq *q)
{
	pkt->reason = (uint8_t)reason;
	gro->stats.out++;
	vnetrx_pktq_add(q, pkt);
}

void vnrx_gro_pass(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt, vnetrx_ns now, unsigned why, struct vnetrx_pktq *q)
{
	gro->stats.passed++;
	(&gro->stats.pass_off)[why]++;
	pkt->seen_first = now;
	pkt->seen_last = now;
	out(gro, pkt, VNETRX_LEFT_PASSED, q);
}

/* Writes headers that were kept in a scratch back to where they came from. */
static VNRX_COLD void scatter(struct vnetrx_pkt *pkt, const uint8_t *hdr, uint32_t len)
{
	for (; pkt != NULL && len > 0u; pkt = pkt->chain) {
		uint32_t n = pkt->frag_len < len ? pkt->frag_len : len;

		memcpy(pkt->data, hdr, n);
		hdr += n;
		len -= n;
	}
}

/* Counts of a packet that more than its first one joined. Joining counted each packet's surplus over its segments. */
static void finish_counts(struct vnetrx_pkt *head, unsigned segs)
{
	head->nfrags = (uint16_t)(head->nfrags + (segs - 1u));
	head->nbufs = (uint16_t)(head->nbufs + (segs - 1u));
}

/* Gives out what a slot holds; the slot stays in the table. */
static void finish(struct vnetrx_gro *gro, uint32_t slot, enum vnetrx_reason reason, struct vnetrx_pktq *q)
{
	struct vnrx_flow *f = &gro->flows.flow[slot];
	const struct vnrx_links *l = &gro->flows.links[slot];
	struct vnetrx_pkt *head = f->head;
	uint32_t payload = f->next_seq - f->first_seq;
	bool several = payload != head->len - f->hdr_len; /* else it was held alone and leaves as it came */

	(&gro->stats.left_push)[reason - VNETRX_LEFT_PUSH]++;
	head->seen_first = l->first;
	head->seen_last = l->seen;
	if ((gro->flags & VNETRX_GRO_ADAPTIVE) != 0u)
		vnrx_wait_learn(gro, slot, reason);
	if (f->segs > 1u)
		finish_counts(head, f->segs);
	if (several)
		vnrx_headers_finish(gro, slot, payload);
	if (VNRX_UNLIKELY(f->scratch != VNRX_SCRATCH_NONE)) {
		if (several)
			scatter(head, f->hdr, f->hdr_len);
		gro->scratch_used &= ~(1u << f->scratch);
	}
	if (f->shape < VNRX_SHAPES)
		gro->shape[f->shape].refs--;
	out(gro, head, reason, q);
}

void vnrx_gro_leave(struct vnetrx_gro *gro, uint32_t slot, enum vnetrx_reason reason, struct vnetrx_pktq *q)
{
	finish(gro, slot, reason, q);
	vnrx_flows_del(&gro->flows, slot);
}

static void push_out(struct vnetrx_gro *gro, unsigned by, uint32_t bucket, struct vnetrx_pktq *q)
{
	uint32_t slot;

	while ((slot = gro->flows.bucket[by][bucket]) != VNRX_FLOW_NONE)
		vnrx_gro_leave(gro, slot, VNETRX_LEFT_ORDER, q);
}

void vnrx_gro_pass_in_order(struct vnetrx_gro *gro, const struct vnrx_seg *seg, unsigned why, struct vnetrx_pktq *q)
{
	const struct vnrx_dissect *d = &seg->d;
	uint32_t slot;

	if (d->reach == VNRX_REACH_PORTS) {
		slot = vnrx_flows_find(&gro->flows, seg->hdr, d, seg->hash.flow);
		if (slot != VNRX_FLOW_NONE)
			vnrx_gro_leave(gro, slot, VNETRX_LEFT_ORDER, q);
	} else if (d->reach == VNRX_REACH_ADDRS) {
		push_out(gro, VNRX_PAIR, seg->hash.pair, q);
		if (d->outer.version == 0u)
			push_out(gro, VNRX_OUTER, seg->hash.outer, q);
	}
	vnrx_gro_pass(gro, seg->pkt, seg->now, why, q);
}

void vnetrx_gro_flush(struct vnetrx_gro *gro, struct vnetrx_pktq *q)
{
	struct vnrx_flows *t = &gro->flows;
	uint32_t next;

	for (uint32_t slot = vnrx_flows_oldest(t); slot != t->sentinel; slot = next) {
		next = t->links[slot].first_next;
		VNRX_PREFETCH(&t->flow[next < t->sentinel ? next : slot]);
		VNRX_PREFETCH(&t->links[next]);
		finish(gro, slot, VNETRX_LEFT_FLUSH, q);
		vnrx_flows_forget(t, slot);
	}
	vnrx_flows_empty(t);
}
