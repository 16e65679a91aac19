/* SPDX-License-Identifier: BSD-3-Clause */
/* Copy-break: small frames leave the large buffers they came in. */
#include "piece.h"

uint32_t vnrx_copy_break(struct vnetrx_pool *pool, struct vnetrx_pkt *pkt, const struct vnrx_piece *pc)
{
	uint32_t truesize;
	uint16_t run;
	uint8_t *room = vnrx_pool_copy_room(pool, pc->len, &run, &truesize);

	if (room == NULL) {
		pool->copy_fails++;
		return 0;
	}
	memcpy(room, pc->data, pc->len);
	vnrx_link_fill(pkt, pc);
	pkt->data = room;
	pkt->run = run;
	vnrx_slot_put(pool, pc->slot, pc->id);
	pool->copies++;
	return truesize;
}
