/* SPDX-License-Identifier: BSD-3-Clause */
/* When held packets leave: quiet for too long, or held for too long. */
#include "touch.h"

static bool is_adaptive(const struct vnetrx_gro *gro)
{
	return (gro->flags & VNETRX_GRO_ADAPTIVE) != 0u;
}

bool vnrx_gro_touch_adaptive(struct vnetrx_gro *gro, uint32_t slot, vnetrx_ns now)
{
	const struct vnrx_links *l = &gro->flows.links[slot];
	unsigned wait = l->wait;

	if (now >= vnrx_add_ns(l->first, gro->hold_max_ns))
		return false;
	if (now > l->seen)
		wait = vnrx_wait_next(gro, slot, now);
	gro->flows.flow[slot].tick = gro->tick;
	vnrx_flows_touch(&gro->flows, slot, now, wait);
	return true;
}

static unsigned waits(const struct vnetrx_gro *gro)
{
	return is_adaptive(gro) ? VNRX_WAITS : gro->timeout_ns != 0u ? 1u : 0u;
}

/* When slot, in seen[wait], will have been quiet for too long. */
static vnetrx_ns quiet_due(const struct vnetrx_gro *gro, unsigned wait, uint32_t slot)
{
	const struct vnrx_links *l = &gro->flows.links[slot];

	if (is_adaptive(gro))
		return vnrx_add_ns(l->seen, ((uint32_t)VNRX_WAIT_UNIT << wait) + l->late * VNRX_LATE_UNIT);
	return vnrx_add_ns(l->seen, gro->timeout_ns);
}

void vnetrx_gro_expire(struct vnetrx_gro *gro, vnetrx_ns now, struct vnetrx_pktq *q)
{
	const struct vnrx_flows *t = &gro->flows;
	uint32_t slot;

	vnrx_gro_set_clock(gro, now);
	while ((slot = vnrx_flows_oldest(t)) != t->sentinel &&
	       vnrx_add_ns(t->links[slot].first, gro->hold_max_ns) <= gro->clock)
		vnrx_gro_leave(gro, slot, VNETRX_LEFT_HOLD, q);
	for (unsigned wait = 0; wait < waits(gro); wait++) {
		while ((slot = vnrx_flows_quietest(t, wait)) < t->sentinel && quiet_due(gro, wait, slot) <= gro->clock)
			vnrx_gro_leave(gro, slot, VNETRX_LEFT_TIMEOUT, q);
	}
}

vnetrx_ns vnetrx_gro_deadline(const struct vnetrx_gro *gro)
{
	const struct vnrx_flows *t = &gro->flows;
	vnetrx_ns deadline;

	if (t->held == 0u)
		return VNETRX_NEVER;
	deadline = vnrx_add_ns(t->links[vnrx_flows_oldest(t)].first, gro->hold_max_ns);
	for (unsigned wait = 0; wait < waits(gro); wait++) {
		uint32_t slot = vnrx_flows_quietest(t, wait);
		vnetrx_ns due = slot < t->sentinel ? quiet_due(gro, wait, slot) : VNETRX_NEVER;

		if (due < deadline)
			deadline = due;
	}
	return deadline;
}
