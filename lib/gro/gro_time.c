/* SPDX-License-Identifier: BSD-3-Clause */
/* When held packets leave: quiet for too long, or held for too long. */
#include "engine.h"

/* The adaptive timer: a flow waits between two and four of its gaps, and as long as an interrupt takes to become a
 * poll. */
#define ADAPT_GAPS  4u
#define ADAPT_EXTRA 2000u /* ns */
#define ADAPT_UNIT  1024u /* ns: what the first seen list waits; each next one twice as long */

static vnetrx_ns add_ns(vnetrx_ns a, vnetrx_ns b)
{
	vnetrx_ns sum = a + b;

	/* VNETRX_NEVER is no time: the latest deadline is the one before */
	return sum < a || sum == VNETRX_NEVER ? VNETRX_NEVER - 1u : sum;
}

/* The longest list that waits at most ADAPT_GAPS of the flow's mean gap, its time since the first segment over its
 * segments; without a division: wait * segs <= ADAPT_GAPS * time + ADAPT_EXTRA * segs. */
static unsigned adapt(const struct vnrx_flow *f, vnetrx_ns held_ns)
{
	vnetrx_ns budget = held_ns * ADAPT_GAPS + (vnetrx_ns)ADAPT_EXTRA * f->segs;
	vnetrx_ns cost = (vnetrx_ns)ADAPT_UNIT * f->segs;
	unsigned wait = 0;

	while (wait + 1u < VNRX_WAITS && cost * 2u <= budget) {
		cost *= 2u;
		wait++;
	}
	return wait;
}

bool vnrx_gro_touch(struct vnetrx_gro *gro, uint32_t slot, vnetrx_ns now)
{
	struct vnrx_flow *f = &gro->flows.flow[slot];
	const struct vnrx_links *l = &gro->flows.links[slot];
	unsigned wait = l->wait;

	if (now >= add_ns(l->first, gro->hold_max_ns))
		return false;
	if ((gro->flags & VNETRX_GRO_ADAPTIVE) != 0u && now > l->seen) {
		wait = adapt(f, now - l->first);
		gro->wait_first = wait;
	}
	f->tick = gro->tick;
	vnrx_flows_touch(&gro->flows, slot, now, wait);
	return true;
}

/* How long seen[wait] waits; VNETRX_NEVER = for a flush. */
static vnetrx_ns wait_ns(const struct vnetrx_gro *gro, unsigned wait)
{
	if ((gro->flags & VNETRX_GRO_ADAPTIVE) != 0u)
		return (uint32_t)ADAPT_UNIT << wait;
	return gro->timeout_ns != 0u ? gro->timeout_ns : VNETRX_NEVER;
}

static unsigned waits(const struct vnetrx_gro *gro)
{
	return (gro->flags & VNETRX_GRO_ADAPTIVE) != 0u ? VNRX_WAITS : gro->timeout_ns != 0u ? 1u : 0u;
}

void vnetrx_gro_expire(struct vnetrx_gro *gro, vnetrx_ns now, struct vnetrx_pktq *q)
{
	const struct vnrx_flows *t = &gro->flows;
	uint32_t slot;

	vnrx_gro_set_clock(gro, now);
	while ((slot = vnrx_flows_oldest(t)) != t->sentinel &&
	       add_ns(t->links[slot].first, gro->hold_max_ns) <= gro->clock)
		vnrx_gro_leave(gro, slot, VNETRX_LEFT_HOLD, q);
	for (unsigned wait = 0; wait < waits(gro); wait++) {
		while ((slot = vnrx_flows_quietest(t, wait)) < t->sentinel &&
		       add_ns(t->links[slot].seen, wait_ns(gro, wait)) <= gro->clock)
			vnrx_gro_leave(gro, slot, VNETRX_LEFT_TIMEOUT, q);
	}
}

vnetrx_ns vnetrx_gro_deadline(const struct vnetrx_gro *gro)
{
	const struct vnrx_flows *t = &gro->flows;
	vnetrx_ns deadline;

	if (t->held == 0u)
		return VNETRX_NEVER;
	deadline = add_ns(t->links[vnrx_flows_oldest(t)].first, gro->hold_max_ns);
	for (unsigned wait = 0; wait < waits(gro); wait++) {
		uint32_t slot = vnrx_flows_quietest(t, wait);
		vnetrx_ns due = slot < t->sentinel ? add_ns(t->links[slot].seen, wait_ns(gro, wait)) : VNETRX_NEVER;

		if (due < deadline)
			deadline = due;
	}
	return deadline;
}
