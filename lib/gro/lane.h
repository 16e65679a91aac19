/* SPDX-License-Identifier: BSD-3-Clause */
/* A lane is what the short way knows about the packets of one shape: where everything is, and where their flows are. */
#ifndef VNRX_LANE_H
#define VNRX_LANE_H

#include "engine.h"

/* What the loop of one shape knows; of the fixed shapes, at compile time. */
struct vnrx_lane {
	uint32_t l3;
	uint32_t l4;
	uint32_t addrs;    /* offset of the bytes that tell a flow from the one before */
	uint32_t key_len;  /* their number, 8 * n + 4                                   */
	uint32_t hdr_min;
	uint32_t outer_l3;
	uint32_t outer_l4;
	unsigned kind;     /* VNRX_KIND_* */
	unsigned index;
	bool     known;    /* at compile time, with all of the header                    */
	bool     opens;    /* a flow that is not in the table is opened here             */
};

static VNRX_INLINE bool vnrx_lane_v6(const struct vnrx_lane *lane)
{
	return (lane->kind & VNRX_KIND_IPV6) != 0u;
}

static VNRX_INLINE bool vnrx_lane_udp(const struct vnrx_lane *lane)
{
	return (lane->kind & VNRX_KIND_UDP) != 0u;
}

static VNRX_INLINE bool vnrx_lane_tunnel(const struct vnrx_lane *lane)
{
	return (lane->kind & VNRX_KIND_TUNNEL) != 0u;
}

static VNRX_INLINE bool vnrx_lane_outer_v4(const struct vnrx_lane *lane)
{
	return vnrx_lane_tunnel(lane) && (lane->kind & VNRX_KIND_OUTER_IPV6) == 0u;
}

/* The lane of a shape. The ports and the end of the address before them tell flows apart; the compare does the rest. */
static VNRX_INLINE struct vnrx_lane vnrx_lane_of(const struct vnetrx_gro *gro, unsigned index)
{
	const struct vnrx_shape *s = &gro->shape[index];

	return (struct vnrx_lane){
		.l3 = s->l3,
		.l4 = s->l4,
		.addrs = s->l4 - 8u,
		.key_len = 12u,
		.hdr_min = s->hdr_min,
		.outer_l3 = s->outer_l3,
		.outer_l4 = s->outer_l4,
		.kind = s->kind,
		.index = index,
		.opens = index < VNRX_SHAPES_FIXED,
	};
}

/* What is worth loops of its own: TCP without VLAN tags, UDP over IPv4, and TCP over IPv4 in VXLAN over IPv4. */
static const struct vnrx_lane vnrx_lane_ipv4 = {
	.l3 = 14u, .l4 = 34u, .addrs = 26u, .key_len = 12u, .hdr_min = 54u, .index = 0u, .known = true, .opens = true,
};
static const struct vnrx_lane vnrx_lane_ipv6 = {
	.l3 = 14u, .l4 = 54u, .addrs = 22u, .key_len = 36u, .hdr_min = 74u, .index = 3u, .kind = VNRX_KIND_IPV6,
	.known = true, .opens = true,
};
static const struct vnrx_lane vnrx_lane_udp4 = {
	.l3 = 14u, .l4 = 34u, .addrs = 26u, .key_len = 12u, .hdr_min = 42u, .index = VNRX_SHAPE_UDP4,
	.kind = VNRX_KIND_UDP, .known = true, .opens = true,
};
static const struct vnrx_lane vnrx_lane_vxlan = {
	.l3 = 64u, .l4 = 84u, .addrs = 76u, .key_len = 12u, .hdr_min = 104u, .index = VNRX_SHAPE_VXLAN,
	.outer_l3 = 14u, .outer_l4 = 34u, .kind = VNRX_KIND_TUNNEL | VNRX_KIND_UDP_TUNNEL, .known = true,
	.opens = true,
};

/* ---- is the packet of the common kind ---- */

static VNRX_COLD bool vnrx_partial_here(const struct vnetrx_pkt *pkt, const struct vnrx_lane *lane)
{
	uint32_t off = vnrx_lane_udp(lane) ? VNRX_UDP_CSUM : VNRX_TCP_CSUM;

	if (pkt->csum_start != lane->l4 || pkt->csum_offset != off || pkt->frag_len <= lane->hdr_min)
		return false;
	return !vnrx_lane_udp(lane) ||
	       vnrx_load16(pkt->data + lane->l4 + off) != 0u; /* 0 would say that there is none */
}

static VNRX_INLINE bool vnrx_plain(const struct vnetrx_pkt *pkt, const struct vnrx_lane *lane)
{
	uint32_t flags = pkt->flags & ~(VNETRX_PKT_HASH | VNETRX_PKT_COPIED | VNETRX_PKT_CSUM_INNER);

	if (VNRX_UNLIKELY(flags != VNETRX_PKT_CSUM_OK) &&
	    (flags != VNETRX_PKT_PARTIAL || !vnrx_partial_here(pkt, lane)))
		return false;
	if ((lane->kind & VNRX_KIND_UDP_TUNNEL) != 0u &&
	    (pkt->flags & (VNETRX_PKT_CSUM_INNER | VNETRX_PKT_PARTIAL)) == 0u)
		return false; /* only the tunnel's own checksum was verified */
	return pkt->nfrags == 1u && pkt->gso_size == 0u && pkt->frag_len > lane->hdr_min;
}

/* ---- which flow ---- */

static VNRX_INLINE bool vnrx_same_key(const uint8_t *a, const uint8_t *b, uint32_t len)
{
	uint32_t off = 0;

	for (; off + 8u <= len; off += 8u) {
		if (vnrx_load64(a + off) != vnrx_load64(b + off))
			return false;
	}
	return vnrx_load32(a + off) == vnrx_load32(b + off);
}

/* Hash of a frame's addresses. */
static VNRX_INLINE uint64_t vnrx_addrs_of(const struct vnrx_flows *t, const uint8_t *data, const struct vnrx_lane *lane)
{
	uint64_t addrs = vnrx_hash_addrs(t, data + lane->l3, vnrx_lane_v6(lane) ? 6u : 4u, VNRX_KEY_INNER);

	if (vnrx_lane_tunnel(lane))
		addrs += vnrx_hash_addrs(t, data + lane->outer_l3, vnrx_lane_outer_v4(lane) ? 4u : 6u, VNRX_KEY_OUTER);
	return addrs;
}

static VNRX_INLINE struct vnrx_place vnrx_place_of(const struct vnrx_flows *t, const uint8_t *data,
                                                   const struct vnrx_lane *lane)
{
	struct vnrx_place p;

	p.hash = vnrx_hash_flow(t, vnrx_addrs_of(t, data, lane), vnrx_load32(data + lane->l4),
	                        vnrx_lane_udp(lane) ? VNRX_PROTO_UDP : VNRX_PROTO_TCP);
	p.set = vnrx_hash_set(t, p.hash);
	return p;
}

/* The first record whose tag fits; the compares that follow prove or refute it. NULL = none. */
static VNRX_INLINE struct vnrx_flow *vnrx_find(const struct vnrx_flows *t, const struct vnrx_place *p)
{
	uint64_t match = vnrx_tag_match(t->tags[p->set], vnrx_hash_tag(p->hash));

	if (match == 0u)
		return NULL;
	return &t->flow[p->set * VNRX_WAYS + vnrx_low_byte(match)];
}

/* Is the packet of f's flow, as far as its key says? */
static VNRX_INLINE bool vnrx_is_of(const struct vnrx_flow *f, const struct vnetrx_pkt *pkt,
                                   const struct vnrx_lane *lane)
{
	return vnrx_same_key(pkt->data + lane->addrs, f->hdr + lane->addrs, lane->key_len);
}

/* ---- does it go on ---- */

/* Both with a UDP checksum, or both without. */
static VNRX_INLINE bool same_udp_csum(const uint8_t *a, const uint8_t *b, const struct vnrx_lane *lane)
{
	uint32_t off = lane->l4 + VNRX_UDP_CSUM;

	return (vnrx_load16(a + off) == 0u) == (vnrx_load16(b + off) == 0u);
}

/* What the compare leaves open: does the transport header go on? */
static VNRX_INLINE bool vnrx_l4_next(const struct vnrx_flow *f, const uint8_t *data, const struct vnrx_lane *lane)
{
	if (vnrx_lane_udp(lane))
		return same_udp_csum(f->hdr, data, lane);
	return vnrx_be32(data + lane->l4 + VNRX_TCP_SEQ) == f->next_seq;
}

/* And is there room? */
static VNRX_INLINE bool vnrx_l4_continues(const struct vnrx_flow *f, const uint8_t *data, const struct vnrx_lane *lane)
{
	return vnrx_l4_next(f, data, lane) && f->next_seq - f->first_seq <= f->fast_max;
}

#endif
