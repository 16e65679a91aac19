/* SPDX-License-Identifier: BSD-3-Clause */
/* How the record of a held packet begins. Inline, because on the short way most of it is known at compile time. */
#ifndef VNRX_RECORD_H
#define VNRX_RECORD_H

#include "engine.h"
#include "wait.h"

/* The first id of a level. */
static VNRX_INLINE struct vnrx_id vnrx_id_open(const struct vnetrx_gro *gro, const uint8_t *l3, uint32_t count)
{
	struct vnrx_id id = { .step = 0, .more = VNRX_ID_OPEN };
	bool df = (l3[VNRX_IPV4_FRAG] & 0x40u) != 0u;

	id.csum = vnrx_sum_add(vnrx_load16(l3 + VNRX_IPV4_ID), vnrx_load16(l3 + VNRX_IPV4_CSUM));
	if ((gro->flags & VNETRX_GRO_RFC6864) != 0u && df) {
		id.more = VNRX_ID_ANY;
	} else if (count > 1u || (gro->flags & VNETRX_GRO_PROFILE_VIRTIO) != 0u) {
		id.step = 1; /* a cut makes them rise */
		id.more = VNRX_ID_SET;
	}
	id.next = (uint16_t)(vnrx_be16(l3 + VNRX_IPV4_ID) + (count - 1u) + id.step);
	return id;
}

/* May this id come next? */
static VNRX_INLINE bool vnrx_id_fits(const struct vnrx_id *id, const uint8_t *l3)
{
	return (((uint32_t)vnrx_be16(l3 + VNRX_IPV4_ID) - id->next) & 0xffffu) <= id->more;
}

/* It came, with count - 1 more behind it. */
static VNRX_INLINE void vnrx_id_advance(struct vnrx_id *id, const uint8_t *l3, uint32_t count)
{
	if (VNRX_UNLIKELY(id->more == VNRX_ID_OPEN)) {
		id->step = (uint16_t)(vnrx_be16(l3 + VNRX_IPV4_ID) - id->next);
		id->next = (uint16_t)(id->next + id->step);
		id->more = VNRX_ID_SET;
	}
	id->next = (uint16_t)(id->next + (count - 1u) + id->step); /* where ids carry no meaning, nor does this */
}

/* VNRX_KIND_* of a packet that may be held. */
static VNRX_INLINE uint8_t vnrx_kind(const struct vnrx_dissect *d)
{
	unsigned kind = d->ip.version == 6u ? VNRX_KIND_IPV6 : 0u;

	if (vnrx_is_udp(d))
		kind |= VNRX_KIND_UDP;
	if (vnrx_in_tunnel(d))
		kind |= VNRX_KIND_TUNNEL | (d->outer.version == 6u ? VNRX_KIND_OUTER_IPV6 : 0u);
	if (vnrx_in_udp_tunnel(d))
		kind |= VNRX_KIND_UDP_TUNNEL;
	if (vnrx_in_pppoe(d))
		kind |= VNRX_KIND_PPPOE;
	return (uint8_t)kind;
}

/* The record of a held packet whose only segment is seg: all below the transport header. */
static VNRX_INLINE void vnrx_record_layers(struct vnetrx_gro *gro, uint32_t slot, const struct vnrx_seg *seg)
{
	struct vnrx_flow *f = &gro->flows.flow[slot];
	struct vnrx_links *l = &gro->flows.links[slot];
	const struct vnrx_dissect *d = &seg->d;
	struct vnetrx_pkt *tail = seg->pkt;

	VNRX_PREFETCH_WRITE(&seg->pkt->seen_first); /* written when it leaves, as is what lies behind it */
	while (tail->chain != NULL)
		tail = tail->chain;
	f->head = seg->pkt;
	f->tail = tail;
	f->truesize = seg->pkt->truesize;
	f->tick = gro->tick;
	f->len = (uint16_t)(d->payload + seg->unit);
	f->segs = (uint16_t)seg->count;
	f->hdr_len = (uint16_t)d->payload;
	f->l3 = (uint8_t)d->ip.l3;
	f->l4 = (uint8_t)d->l4;
	f->kind = vnrx_kind(d);
	if (d->ip.version == 4u)
		f->id = vnrx_id_open(gro, seg->hdr + d->ip.l3, seg->count);
	if (!vnrx_in_tunnel(d))
		return;
	l->outer_l3 = (uint8_t)d->outer.l3;
	l->outer_l4 = (uint8_t)d->outer.l4;
	if (d->outer.version == 4u)
		l->outer_id = vnrx_id_open(gro, seg->hdr + d->outer.l3, seg->count);
}

/* The largest seq - first_seq of a full segment that may join on the short way: the packet stays below both limits. The
 * segment that reaches segs_max takes the general way, which then closes the packet. */
static VNRX_INLINE uint32_t vnrx_fast_max(const struct vnetrx_gro *gro, const struct vnrx_seg *seg, uint32_t segs_max)
{
	uint32_t ip_len = seg->d.payload + seg->unit - vnrx_first_l3(&seg->d);
	uint32_t bytes_max = vnrx_bytes_max(gro, &seg->d);
	uint64_t by_segs = (uint64_t)(segs_max - 2u) * seg->unit;
	uint32_t by_bytes = bytes_max > ip_len ? bytes_max - ip_len : 0u;

	return by_segs < by_bytes ? (uint32_t)by_segs : by_bytes;
}

/* The rest of it. */
static VNRX_INLINE void vnrx_record_tcp(const struct vnetrx_gro *gro, struct vnrx_flow *f, const struct vnrx_seg *seg)
{
	f->first_seq = vnrx_be32(seg->hdr + seg->d.l4 + VNRX_TCP_SEQ);
	f->next_seq = f->first_seq + seg->payload;
	f->fast_max = vnrx_fast_max(gro, seg, gro->segs_max);
}

static VNRX_INLINE void vnrx_record_udp(const struct vnetrx_gro *gro, struct vnrx_flow *f, const struct vnrx_seg *seg)
{
	f->first_seq = 0;
	f->next_seq = seg->payload;
	f->fast_max = vnrx_fast_max(gro, seg, vnrx_segs_max(gro, VNRX_PROTO_UDP));
}

/* Where in the seen lists a packet begins. */
static VNRX_INLINE unsigned vnrx_first_list(struct vnetrx_gro *gro, uint32_t slot, uint32_t hash, vnetrx_ns now)
{
	return (gro->flags & VNETRX_GRO_ADAPTIVE) != 0u ? vnrx_wait_first(gro, slot, hash, now) : 0u;
}

#endif
