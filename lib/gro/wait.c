/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the adaptive timer knows of a flow's gap.
 *
 * It comes from three places. While a packet is held: the time from its first segment to now, and the
 * segments after those that came with the first, in one poll; how far those were apart nobody knows, but that the first
 * came not long before the poll and the last before its end. Before: the memory, a few recent gaps that weigh as much
 * as GAPS_HELD of the packet's own, so that one late poll makes no difference. Between held packets: the pause since
 * the flow's last segment is one gap more if it is of the size of the others, or the only one known; else a pause. A
 * flow that nothing is known of waits for `prior`, which grows where waiting pays and shrinks where it does not.
 *
 * The memory is a table of its own because most packets leave before their flow's next train comes. It goes with the
 * sets of the flow table, forgets the least recent, and holds nothing that could do harm when it is wrong.
 */
#include "wait.h"

#include "../mem.h"
#include "engine.h"
#include "lists.h"

#define WAIT_GAPS_2 7u    /* twice the gaps that a flow waits: 3.5, of which the powers of two leave 1.75 at least */
#define WAIT_EXTRA  500u  /* ns, once per gap waited for */
#define PRIOR_MIN   2048u /* ns */
#define PRIOR_MAX   65536u
#define IRQ_NS      2000u /* before a poll its first packet may have come so long ago */

#define GAPS_KEPT   16u     /* weight of what is remembered   */
#define GAPS_HELD   8u      /* and of that against new gaps   */
#define GAP_MAX     262144u /* ns: longer ones are not waited for; GAPS_KEPT of them fill 16 bits of VNRX_GAP_UNIT */
#define GAPS_POLL   6u      /* and of what one poll says      */
#define PAUSE_GAPS  4u      /* more than so many gaps without a segment are a pause */
#define SPAN_MAX    0x3fffffffu
#define SEGS_MAX    30000u  /* what counts in 16 bits with sign */

_Static_assert(GAPS_KEPT * (GAP_MAX / VNRX_GAP_UNIT) <= 65536u, "a span fits its field");
_Static_assert(VNRX_GAPS * sizeof(struct vnrx_gap) == VNRX_CACHE_LINE, "a line of memory per set");

/* A span of time and the gaps in it. */
struct span {
	uint32_t ns;
	uint32_t gaps; /* 0 = nothing is known */
};

static uint32_t span_between(vnetrx_ns from, vnetrx_ns to)
{
	return to - from < SPAN_MAX ? (uint32_t)(to - from) : SPAN_MAX;
}

/* The same gap, made of at most `most` of them. */
static struct span lighter(struct span s, uint32_t most)
{
	while (s.gaps > most) {
		s.ns /= 2u;
		s.gaps /= 2u;
	}
	return s;
}

/* The list with the longest wait that fits the gap; not far from `list`, if that is where the flow is. */
static unsigned list_for(struct span s, unsigned list)
{
	uint64_t most = (uint64_t)s.ns * WAIT_GAPS_2 + (uint64_t)s.gaps * (WAIT_GAPS_2 * WAIT_EXTRA); /* twice that */
	uint64_t cost = (uint64_t)(2u * VNRX_WAIT_UNIT << list) * s.gaps;

	for (; list > 0u && cost > most; list--)
		cost /= 2u;
	for (; list + 1u < VNRX_WAITS && cost * 2u <= most; list++)
		cost *= 2u;
	return list;
}

/* ---- the wait of a flow that nothing is known of ---- */

static unsigned prior_list(const struct vnetrx_gro *gro)
{
	unsigned list = 0;

	while (list + 1u < VNRX_WAITS && (2u * VNRX_WAIT_UNIT << list) <= gro->prior_ns)
		list++;
	return list;
}

/* Waiting so long would have done, or did. */
static void prior_pays(struct vnetrx_gro *gro, uint32_t ns)
{
	if (ns <= PRIOR_MAX / 2u && ns * 2u > gro->prior_ns)
		gro->prior_ns = ns * 4u < PRIOR_MAX ? ns * 4u : PRIOR_MAX;
}

static void prior_in_vain(struct vnetrx_gro *gro)
{
	gro->prior_ns -= gro->prior_ns / 8u;
	if (gro->prior_ns < PRIOR_MIN)
		gro->prior_ns = PRIOR_MIN;
}

/* ---- the memory ---- */

struct vnrx_gap *vnrx_gaps_init(struct vnrx_mem *mem, uint32_t sets)
{
	struct vnrx_gap *gaps = vnrx_mem_take(mem, sets * VNRX_GAPS, sizeof(struct vnrx_gap));

	if (gaps != NULL)
		memset(gaps, 0, (size_t)sets * VNRX_GAPS * sizeof(struct vnrx_gap));
	return gaps;
}

static uint16_t coarse(vnetrx_ns now)
{
	return (uint16_t)(now / VNRX_WAIT_UNIT);
}

/* The entry of a flow; when it has none, one that is free or the least recent, with `tag` 0. */
static struct vnrx_gap *remembered(const struct vnetrx_gro *gro, uint32_t set, uint32_t tag, vnetrx_ns now)
{
	struct vnrx_gap *line = gro->gaps + (size_t)set * VNRX_GAPS;
	struct vnrx_gap *oldest = line;
	unsigned age, most = 0;

	for (struct vnrx_gap *e = line; e < line + VNRX_GAPS; e++) {
		if (e->tag == tag)
			return e;
		age = e->tag == 0u ? UINT16_MAX + 1u : (uint16_t)(coarse(now) - e->seen);
		if (age > most) {
			most = age;
			oldest = e;
		}
	}
	oldest->tag = 0;
	return oldest;
}

/* Nothing but the pause since its last segment is known, or gaps and the pause. */
static struct span recall(struct vnetrx_gro *gro, const struct vnrx_gap *e, vnetrx_ns now)
{
	uint32_t gap_max = gro->hold_max_ns / 4u < GAP_MAX ? (uint32_t)(gro->hold_max_ns / 4u) : GAP_MAX;
	uint32_t pause = (uint32_t)(uint16_t)(coarse(now) - e->seen) * VNRX_WAIT_UNIT;
	struct span s = lighter((struct span){ e->span * VNRX_GAP_UNIT, e->gaps }, GAPS_HELD);

	if (pause > gap_max || (s.gaps != 0u && (uint64_t)pause * s.gaps > (uint64_t)s.ns * PAUSE_GAPS))
		return s;
	if (s.gaps == 0u)
		prior_pays(gro, pause);
	s.ns += pause;
	s.gaps++;
	return s;
}

static void set_span(struct vnrx_links *l, struct span s)
{
	l->span = (uint16_t)(s.ns / VNRX_GAP_UNIT < UINT16_MAX ? s.ns / VNRX_GAP_UNIT : UINT16_MAX);
	l->gaps = (int16_t)s.gaps;
}

unsigned vnrx_wait_first(struct vnetrx_gro *gro, uint32_t slot, uint32_t hash, vnetrx_ns now)
{
	struct vnrx_links *l = &gro->flows.links[slot];
	struct span s = { 0, 0 };
	const struct vnrx_gap *e;
	uint32_t more = hash / 128u % 256u;

	gro->flows.flow[slot].tag = (uint8_t)more;
	l->late = 0;
	e = remembered(gro, vnrx_hash_set(&gro->flows, hash), (uint32_t)vnrx_hash_tag(hash) + more * 256u, now);
	if (e->tag != 0u)
		s = recall(gro, e, now);
	set_span(l, s);
	return s.gaps != 0u ? list_for(s, 0) : prior_list(gro);
}

/* All that is known of a flow between polls. */
static struct span known(const struct vnetrx_gro *gro, uint32_t slot)
{
	const struct vnrx_links *l = &gro->flows.links[slot];
	uint32_t segs = gro->flows.flow[slot].segs;
	uint32_t ns = l->span * VNRX_GAP_UNIT;
	struct span poll;

	if (l->seen != l->first) /* gaps is less by the segments that came with the first, see vnrx_wait_next() */
		return (struct span){ ns + span_between(l->first, l->seen), (uint32_t)((int32_t)segs + l->gaps - 1) };
	if (segs == 1u)
		return (struct span){ ns, (uint32_t)l->gaps };
	/* all came in one poll: the first hardly long before it, the last before its end */
	poll = lighter((struct span){ IRQ_NS + l->late * VNRX_LATE_UNIT, segs }, GAPS_POLL);
	return (struct span){ ns + poll.ns, (uint32_t)l->gaps + poll.gaps };
}

void vnrx_wait_learn(struct vnetrx_gro *gro, uint32_t slot, enum vnetrx_reason reason)
{
	vnetrx_ns seen = gro->flows.links[slot].seen;
	uint32_t tag = vnrx_flows_tag(&gro->flows, slot) + gro->flows.flow[slot].tag * 256u;
	struct vnrx_gap *e = remembered(gro, slot / VNRX_WAYS, tag, seen);
	struct span s = known(gro, slot);

	if (reason == VNETRX_LEFT_TIMEOUT && gro->flows.flow[slot].segs == 1u) {
		if (s.gaps == 0u)
			prior_in_vain(gro);
		s = lighter(s, s.gaps / 2u); /* what was known did not help: believe less of it */
	}
	s = lighter(s, GAPS_KEPT);
	e->tag = (uint16_t)tag;
	e->seen = coarse(seen);
	e->span = (uint16_t)(s.ns / VNRX_GAP_UNIT < UINT16_MAX ? s.ns / VNRX_GAP_UNIT : UINT16_MAX);
	e->gaps = (uint16_t)s.gaps;
}

/* ---- while it is held ---- */

unsigned vnrx_wait_next(struct vnetrx_gro *gro, uint32_t slot, vnetrx_ns now)
{
	struct vnrx_links *l = &gro->flows.links[slot];
	uint32_t segs = gro->flows.flow[slot].segs;
	uint32_t held = span_between(l->first, now);
	struct span s;

	if (l->seen == l->first) { /* all so far came with the first: from here on, only what comes counts */
		if (l->gaps == 0)
			prior_pays(gro, held);
		l->gaps = (int16_t)(l->gaps + 1 - (int32_t)(segs < SEGS_MAX ? segs : SEGS_MAX));
	}
	s.ns = l->span * VNRX_GAP_UNIT + held;
	s.gaps = (uint32_t)((int32_t)segs + l->gaps);
	l->late = 0;
	return list_for(s, l->wait);
}

/* The flow was seen by the poll that ends at `now`. Returns the list where it belongs. */
static unsigned rest(struct vnetrx_gro *gro, uint32_t slot, vnetrx_ns now)
{
	struct vnrx_links *l = &gro->flows.links[slot];
	uint32_t late = span_between(l->seen, now) / VNRX_LATE_UNIT;
	struct span s;

	l->late = (uint8_t)(late < UINT8_MAX ? late : UINT8_MAX);
	s = known(gro, slot);
	return s.gaps != 0u ? list_for(s, l->wait) : l->wait;
}

void vnrx_wait_rest(struct vnetrx_gro *gro, vnetrx_ns from, vnetrx_ns now)
{
	struct vnrx_flows *t = &gro->flows;

	if ((gro->flags & VNETRX_GRO_ADAPTIVE) == 0u || from > now)
		return;
	for (unsigned wait = 0; wait < VNRX_WAITS; wait++) {
		uint32_t slot = t->links[t->sentinel + wait].seen_prev, prev;

		for (; slot < t->sentinel && t->links[slot].seen == from; slot = prev) {
			unsigned to = rest(gro, slot, now);

			prev = t->links[slot].seen_prev;
			if (to != wait)
				vnrx_flows_touch(t, slot, from, to);
		}
	}
}
