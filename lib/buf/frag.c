/* SPDX-License-Identifier: BSD-3-Clause */
/* The coalescer: buffers that were carved and filled one after the other are one piece of memory. */
#include "pool.h"

bool vnetrx_frag_extend(struct vnetrx_pkt *last, const uint8_t *data, uint32_t len, uint16_t run)
{
	if (!vnrx_frag_adjacent(last, data, run))
		return false;
	last->frag_len += len;
	return true;
}
