/* SPDX-License-Identifier: BSD-3-Clause */
/* The first join of a tick: once per flow and call. */
#ifndef VNRX_TOUCH_H
#define VNRX_TOUCH_H

#include "engine.h"
#include "lists.h"
#include "wait.h"

/*@ assigns \nothing;
    ensures \result == (a + b < VNETRX_NEVER ? a + b : VNETRX_NEVER - 1);
*/
static VNRX_INLINE vnetrx_ns vnrx_add_ns(vnetrx_ns a, vnetrx_ns b)
{
	/* VNETRX_NEVER is no time: the latest deadline is the one before */
	return b < VNETRX_NEVER - a ? a + b : VNETRX_NEVER - 1u;
}

/* With the adaptive timer. */
bool vnrx_gro_touch_adaptive(struct vnetrx_gro *gro, uint32_t slot, vnetrx_ns now);

/* False when the packet has been held for too long to take more. */
static VNRX_INLINE bool vnrx_gro_touch(struct vnetrx_gro *gro, uint32_t slot, vnetrx_ns now)
{
	if (VNRX_UNLIKELY((gro->flags & VNETRX_GRO_ADAPTIVE) != 0u))
		return vnrx_gro_touch_adaptive(gro, slot, now);
	if (now >= vnrx_add_ns(gro->flows.links[slot].first, gro->hold_max_ns))
		return false;
	gro->flows.flow[slot].tick = gro->tick;
	vnrx_flows_touch(&gro->flows, slot, now, 0);
	return true;
}

#endif
