/* SPDX-License-Identifier: BSD-3-Clause */
/* From the written part of a buffer to a packet descriptor. Reused descriptors keep nothing that no flag guards. */
#ifndef VNRX_BUF_PIECE_H
#define VNRX_BUF_PIECE_H

#include "pool.h"

#define VNRX_META_FLAGS 0xffu /* the VNETRX_PKT_* that a device may set */
#define VNRX_META_CSUM  (VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER)

/* The written part of a buffer. */
struct vnrx_piece {
	struct vnrx_slot *slot;
	uint8_t          *data;
	uint32_t          len;
	uint32_t          id;
};

/* The buffer becomes a fragment of its own. */
static VNRX_INLINE void vnrx_piece_claim(struct vnetrx_pool *pool, const struct vnrx_piece *pc)
{
	vnrx_slot_claim(pool, pc->slot, pc->id);
	vnrx_run_hold(pool, pc->slot->run);
}

static VNRX_INLINE void vnrx_link_fill(struct vnetrx_pkt *pkt, const struct vnrx_piece *pc)
{
	pkt->next = NULL;
	pkt->chain = NULL;
	pkt->data = pc->data;
	pkt->frag_len = pc->len;
	pkt->run = pc->slot->run;
}

/* Moves a small frame out of its buffer, which goes back to the ring; 0 = no room, nothing done, else its truesize. */
uint32_t vnrx_copy_break(struct vnetrx_pool *pool, struct vnetrx_pkt *pkt, const struct vnrx_piece *pc);

/* What few packets have. */
static inline void vnrx_head_fill_meta(struct vnetrx_pkt *pkt, const struct vnetrx_meta *meta)
{
	bool joined = meta->gso_size != 0u || (meta->flags & VNETRX_PKT_RSC) != 0u;

	pkt->segs = joined ? meta->segs : 1u;
	pkt->gso_size = meta->gso_size;
	pkt->rx_gso_size = meta->gso_size;
	pkt->gso_type = meta->gso_type;
	pkt->tstamp = meta->tstamp;
	pkt->hash = meta->hash;
	pkt->mark = meta->mark;
	pkt->vlan_tci = meta->vlan_tci;
	pkt->vlan_proto = meta->vlan_proto;
	pkt->csum_start = meta->csum_start;
	pkt->csum_offset = meta->csum_offset;
	pkt->hash_type = meta->hash_type;
}

/* All of a head that a flag does not guard, of a packet of which the device says nothing else. */
static VNRX_INLINE void vnrx_head_fill_plain(struct vnetrx_pkt *pkt, uint32_t flags, uint32_t len, uint32_t truesize)
{
	pkt->len = len;
	pkt->truesize = truesize;
	pkt->flags = flags;
	pkt->nfrags = 1;
	pkt->nbufs = 1;
	pkt->segs = 1;
	pkt->gso_size = 0;
	pkt->l3_off = 0;
	pkt->l4_off = 0;
	pkt->hdr_len = 0;
	pkt->rx_gso_size = 0;
	pkt->gso_type = VNETRX_GSO_NONE;
	pkt->hash_type = 0;
	pkt->reason = VNETRX_LEFT_PASSED;
}

static VNRX_INLINE void vnrx_head_fill(struct vnetrx_pkt *pkt, const struct vnetrx_meta *meta, uint32_t len,
                                       uint32_t truesize)
{
	uint32_t flags = meta->flags & VNRX_META_FLAGS;

	vnrx_head_fill_plain(pkt, flags, len, truesize);
	if (((flags & ~VNRX_META_CSUM) | meta->gso_size | meta->gso_type) != 0u)
		vnrx_head_fill_meta(pkt, meta);
}

/* The first line of a buffer, and the one at `second`: device header and all headers of a usual frame. */
static VNRX_INLINE void vnrx_look_ahead(const struct vnetrx_pool *pool, const struct vnetrx_done *done, uint32_t second)
{
	if (done->id < pool->slots_num) {
		uintptr_t at = (uintptr_t)pool->slots[done->id].addr + done->off;

		VNRX_PREFETCH((const void *)at);
		VNRX_PREFETCH((const void *)(at + second));
	}
}

/* And the descriptor that so many packets later will be taken. */
static VNRX_INLINE void vnrx_look_ahead_pkt(const struct vnetrx_pool *pool, uint32_t ahead)
{
	if (pool->pkts_free > ahead) {
		struct vnetrx_pkt *pkt = pool->pkts[pool->pkts_free - 1u - ahead];

		VNRX_PREFETCH_WRITE(pkt);
		VNRX_PREFETCH_WRITE(&pkt->seen_first);
	}
}

#endif
