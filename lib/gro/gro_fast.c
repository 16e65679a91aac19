/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short way of the common packet: a full segment, device-verified, in one piece, that continues a held packet or
 * opens one in a free place.
 *
 * It guesses that the frame has the shape of the one before and lets one masked compare with the held packet's header
 * prove it: same length, same bytes but for id, sequence number and checksums, therefore the same headers at the same
 * offsets, the same flow, options, window and flags. What is left is arithmetic on sequence number and id, and the
 * header checksum: with all other words equal, id + checksum must add up to the same.
 *
 * Whatever does not fit is left to the general way, which decides anew; nothing is written before everything is proved.
 */
#include "csum.h"
#include "engine.h"

/* Run-up of the prefetch: two header lines of the packet so far ahead, the descriptor of the one twice as far. */
#define AHEAD 8u

/* What the loop of one shape knows at compile time. */
struct shape {
	uint32_t l3;
	uint32_t l4;
	uint32_t addrs;   /* offset of the addresses */
	uint32_t key_len; /* addresses and ports     */
	unsigned version;
	unsigned index;
};

static VNRX_INLINE void prefetch(struct vnetrx_pkt *const *pkts, unsigned i, unsigned n)
{
	const uint8_t *data;

	if (i + AHEAD >= n)
		return;
	if (i + 2u * AHEAD < n)
		VNRX_PREFETCH(pkts[i + 2u * AHEAD]);
	data = pkts[i + AHEAD]->data;
	VNRX_PREFETCH(data);
	VNRX_PREFETCH(data + VNRX_CACHE_LINE);
}

static VNRX_INLINE bool same_key(const uint8_t *a, const uint8_t *b, uint32_t len)
{
	uint64_t differs = vnrx_load32(a + len - 4u) ^ vnrx_load32(b + len - 4u);

	for (uint32_t off = 0; off + 8u <= len; off += 8u)
		differs |= vnrx_load64(a + off) ^ vnrx_load64(b + off);
	return differs == 0u;
}

/* Where a frame's hash points. */
struct place {
	uint64_t addrs; /* hash of the addresses               */
	uint32_t hash;
	uint32_t set;
};

static VNRX_INLINE struct place place_of(const struct vnrx_flows *t, const uint8_t *data, const struct shape *shape)
{
	struct place p;

	p.addrs = vnrx_hash_addrs(t, data + shape->l3, shape->version);
	p.hash = vnrx_hash_flow(t, p.addrs, vnrx_load32(data + shape->l4), VNRX_PROTO_TCP);
	p.set = vnrx_hash_set(t, p.hash);
	return p;
}

/* The first record whose tag fits; the compare that follows proves or refutes it. */
static VNRX_INLINE struct vnrx_flow *probe(const struct vnrx_flows *t, const struct place *p)
{
	uint64_t match = vnrx_tag_match(t->tags[p->set], vnrx_hash_tag(p->hash));

	if (match == 0u)
		return NULL;
	return &t->flow[p->set * VNRX_WAYS + vnrx_low_byte(match & (0u - match))];
}

/* EtherTypes, IP version, protocol, lengths: is the frame of the shape that was guessed, and a plain data segment (ACK
 * and nothing else) without padding? Returns its header length, or 0. */
static VNRX_INLINE uint32_t plain_segment(const uint8_t *data, uint32_t len, const struct shape *shape)
{
	const uint8_t *l3 = data + shape->l3;
	uint32_t hdr_len = shape->l4 + data[shape->l4 + VNRX_TCP_DOFF] / 16u * 4u;

	for (uint32_t off = VNRX_ETH_TYPE; off < shape->l3 - 2u; off += VNRX_VLAN_HDR) {
		if (vnrx_be16(data + off) != VNRX_TYPE_8021Q && vnrx_be16(data + off) != VNRX_TYPE_8021AD)
			return 0;
	}
	if (shape->version == 4u) {
		if (vnrx_be16(l3 - 2) != VNRX_TYPE_IPV4 || l3[0] != 0x45u || l3[VNRX_IPV4_PROTO] != VNRX_PROTO_TCP ||
		    vnrx_be16(l3 + VNRX_IPV4_LEN) != len - shape->l3 ||
		    (vnrx_be16(l3 + VNRX_IPV4_FRAG) & 0xbfffu) != 0u || vnrx_sum_ipv4(l3) != 0xffffu)
			return 0;
	} else if (vnrx_be16(l3 - 2) != VNRX_TYPE_IPV6 || l3[0] / 16u != 6u || l3[VNRX_IPV6_NEXT] != VNRX_PROTO_TCP ||
	           vnrx_be16(l3 + VNRX_IPV6_LEN) != len - shape->l4) {
		return 0;
	}
	if (data[shape->l4 + VNRX_TCP_FLAGS] != VNRX_TCP_ACKF || hdr_len < shape->l4 + VNRX_TCP_HDR || hdr_len >= len)
		return 0;
	return hdr_len;
}

/* Holds a packet whose flow is not in the table, where a place is free. */
static VNRX_INLINE struct vnrx_flow *open_flow(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt, const struct place *p,
                                               const struct shape *shape)
{
	struct vnrx_flows *t = &gro->flows;
	uint64_t free_ways = ~t->tags[p->set] & VNRX_TAG_TOPS;
	uint32_t hdr_len = plain_segment(pkt->data, pkt->frag_len, shape);
	struct vnrx_seg seg;
	uint32_t slot;

	if (hdr_len == 0u || free_ways == 0u || t->held == t->held_max || pkt->frag_len - shape->l3 > gro->bytes_max)
		return NULL;
	slot = p->set * VNRX_WAYS + vnrx_low_byte(free_ways & (0u - free_ways));
	seg.pkt = pkt;
	seg.hdr = pkt->data;
	seg.d.l3 = shape->l3;
	seg.d.l4 = shape->l4;
	seg.d.payload = hdr_len;
	seg.d.end = pkt->frag_len;
	seg.d.version = (uint8_t)shape->version;
	vnrx_tcp_hold(gro, &t->flow[slot], &seg);
	vnrx_flows_add(t, slot, p->hash, vnrx_hash_pair(t, p->addrs), gro->clock);
	return &t->flow[slot];
}

/* IPv4 id and header checksum of a segment whose other header words are equal. */
static VNRX_INLINE bool id_continues(const struct vnrx_flow *f, const uint8_t *l3, uint32_t *id)
{
	uint32_t step;

	*id = vnrx_be16(l3 + VNRX_IPV4_ID);
	step = (uint16_t)(*id - f->last_id);
	if (f->id_mode != VNRX_ID_ANY && (step < f->id_step || step > (uint32_t)f->id_step + f->id_mode))
		return false;
	return vnrx_sum_add(vnrx_load16(l3 + VNRX_IPV4_ID), vnrx_load16(l3 + VNRX_IPV4_CSUM)) == f->id_csum;
}

static VNRX_INLINE void id_advance(struct vnrx_flow *f, uint32_t id)
{
	if (f->id_mode == VNRX_ID_OPEN) {
		f->id_step = (uint8_t)((uint16_t)(id - f->last_id));
		f->id_mode = VNRX_ID_SET;
	}
	f->last_id = (uint16_t)id;
}

static VNRX_INLINE bool plain(const struct vnetrx_pkt *pkt, const struct shape *shape)
{
	return (pkt->flags & ~VNETRX_PKT_HASH) == VNETRX_PKT_CSUM_OK && pkt->nfrags == 1u && pkt->gso_size == 0u &&
	       pkt->frag_len > shape->l4 + VNRX_TCP_HDR;
}

static VNRX_INLINE void link_segment(struct vnrx_flow *f, struct vnetrx_pkt *pkt)
{
	uint32_t hdr_len = f->hdr_len;

	f->next_seq += f->len - hdr_len;
	f->truesize += pkt->truesize;
	f->segs++;
	pkt->data += hdr_len;
	pkt->frag_len -= hdr_len;
	f->tail->chain = pkt;
	f->tail = pkt;
}

static VNRX_INLINE unsigned run(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned i, unsigned n,
                                const struct shape shape)
{
	const uint8_t *mask = gro->mask[shape.index].bits;
	struct vnrx_flow *f = NULL;
	unsigned first = i, opened = 0;

	for (; i < n; i++) {
		struct vnetrx_pkt *pkt = pkts[i];
		const uint8_t *data = pkt->data;
		uint32_t seq, id = 0;

		prefetch(pkts, i, n);
		if (VNRX_UNLIKELY(!plain(pkt, &shape)))
			break;
		if (f == NULL || !same_key(data + shape.addrs, f->hdr + shape.addrs, shape.key_len)) {
			struct place p = place_of(&gro->flows, data, &shape);

			f = probe(&gro->flows, &p);
			if (f == NULL) {
				f = open_flow(gro, pkt, &p, &shape);
				if (f == NULL)
					break;
				opened++;
				continue;
			}
		}
		if (f->len != pkt->frag_len || f->shape != shape.index ||
		    !vnrx_masked_equal(data, f->hdr, mask, f->hdr_len))
			break;
		seq = vnrx_be32(data + shape.l4 + VNRX_TCP_SEQ);
		if (seq != f->next_seq || seq - f->first_seq > f->fast_max)
			break;
		if (shape.version == 4u && !id_continues(f, data + shape.l3, &id))
			break;
		if (f->tick != gro->tick && !vnrx_gro_touch(gro, (uint32_t)(f - gro->flows.flow), gro->clock))
			break;
		if (shape.version == 4u)
			id_advance(f, id);
		link_segment(f, pkt);
	}
	gro->stats.joined += i - first - opened;
	gro->stats.held_new += opened;
	return i;
}

#define IPV4_SHAPE(tags) \
	((struct shape){ .l3 = 14u + 4u * (tags), .l4 = 34u + 4u * (tags), .addrs = 26u + 4u * (tags), .key_len = 12u, \
	                 .version = 4u, .index = (tags) })
#define IPV6_SHAPE(tags) \
	((struct shape){ .l3 = 14u + 4u * (tags), .l4 = 54u + 4u * (tags), .addrs = 22u + 4u * (tags), .key_len = 36u, \
	                 .version = 6u, .index = 3u + (tags) })

unsigned vnrx_fast_run(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned i, unsigned n, unsigned shape)
{
	switch (shape) {
	case 0:
		return run(gro, pkts, i, n, IPV4_SHAPE(0u));
	case 1:
		return run(gro, pkts, i, n, IPV4_SHAPE(1u));
	case 2:
		return run(gro, pkts, i, n, IPV4_SHAPE(2u));
	case 3:
		return run(gro, pkts, i, n, IPV6_SHAPE(0u));
	case 4:
		return run(gro, pkts, i, n, IPV6_SHAPE(1u));
	default:
		return run(gro, pkts, i, n, IPV6_SHAPE(2u));
	}
}

void vnrx_fast_init(struct vnetrx_gro *gro)
{
	for (uint32_t shape = 0; shape < VNRX_SHAPES; shape++) {
		uint8_t *bits = gro->mask[shape].bits;
		uint32_t l3 = VNRX_ETH_HDR + shape % 3u * VNRX_VLAN_HDR;
		uint32_t l4 = l3 + (shape < 3u ? VNRX_IPV4_HDR : VNRX_IPV6_HDR);

		memset(bits, 0xff, VNRX_HDR_MAX);
		if (shape < 3u) {
			memset(bits + l3 + VNRX_IPV4_ID, 0, 2u);
			memset(bits + l3 + VNRX_IPV4_CSUM, 0, 2u);
		}
		memset(bits + l4 + VNRX_TCP_SEQ, 0, 4u);
		memset(bits + l4 + VNRX_TCP_CSUM, 0, 2u);
	}
}
