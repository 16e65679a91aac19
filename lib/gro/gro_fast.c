/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short way of the common packet: a full segment, verified, in one piece, that continues a held packet or opens
 * one in a free place.
 *
 * It guesses that the frame has the shape of the one before and lets one masked compare with the held packet's header
 * prove it: same length, same bytes but for ids, sequence number and checksums, therefore the same headers at the same
 * offsets, the same flow, options, window and flags. What is left is arithmetic on sequence number and ids, and the
 * IPv4 header checksums: with all other words equal, id + checksum must add up to the same.
 *
 * Whatever does not fit is left to the general way, which decides anew; nothing is written before everything is proved.
 */
#include "engine.h"
#include "lane.h"
#include "prefetch.h"
#include "record.h"

/* ---- a flow that is not in the table ---- */

/* EtherTypes, IP version, protocol, lengths: is the frame of the shape that was guessed, and a plain data segment (ACK
 * and nothing else) without padding? Returns its header length, or 0. */
static VNRX_INLINE uint32_t plain_segment(const uint8_t *data, uint32_t len, const struct vnrx_lane *lane)
{
	const uint8_t *l3 = data + lane->l3;
	uint32_t hdr_len = lane->l4 + data[lane->l4 + VNRX_TCP_DOFF] / 16u * 4u;

	for (uint32_t off = VNRX_ETH_TYPE; off < lane->l3 - 2u; off += VNRX_VLAN_HDR) {
		if (vnrx_be16(data + off) != VNRX_TYPE_8021Q && vnrx_be16(data + off) != VNRX_TYPE_8021AD)
			return 0;
	}
	if (!vnrx_lane_v6(lane)) {
		if (vnrx_be16(l3 - 2) != VNRX_TYPE_IPV4 || l3[0] != 0x45u || l3[VNRX_IPV4_PROTO] != VNRX_PROTO_TCP ||
		    vnrx_be16(l3 + VNRX_IPV4_LEN) != len - lane->l3 ||
		    (vnrx_be16(l3 + VNRX_IPV4_FRAG) & 0xbfffu) != 0u || vnrx_sum_ipv4(l3) != 0xffffu)
			return 0;
	} else if (vnrx_be16(l3 - 2) != VNRX_TYPE_IPV6 || l3[0] / 16u != 6u || l3[VNRX_IPV6_NEXT] != VNRX_PROTO_TCP ||
	           vnrx_be16(l3 + VNRX_IPV6_LEN) != len - lane->l4) {
		return 0;
	}
	if (data[lane->l4 + VNRX_TCP_FLAGS] != VNRX_TCP_ACKF || hdr_len < lane->l4 + VNRX_TCP_HDR || hdr_len >= len)
		return 0;
	return hdr_len;
}

/* Does the engine hold such a packet? */
static VNRX_INLINE bool wanted(const struct vnetrx_gro *gro, uint32_t len, uint32_t l3, uint32_t payload)
{
	return gro->flows.held < gro->flows.held_max && len <= VNRX_FRAME_MAX && len - l3 <= gro->bytes_max &&
	       payload >= gro->payload_min && (gro->protos & VNETRX_GRO_TCP) != 0u;
}

/* Holds a packet whose flow is not in the table, where a place is free. */
static VNRX_INLINE struct vnrx_flow *open_flow(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt,
                                               const struct vnrx_place *p, const struct vnrx_lane *lane)
{
	struct vnrx_flows *t = &gro->flows;
	uint64_t free_ways = ~t->tags[p->set] & VNRX_TAG_TOPS;
	uint32_t len = pkt->frag_len;
	uint32_t hdr_len = plain_segment(pkt->data, len, lane);
	struct vnrx_hash hash = { p->hash, vnrx_hash_pair(t, p->addrs), VNRX_FLOW_NONE };
	uint32_t payload = len - hdr_len;
	struct vnrx_seg seg = { .pkt = pkt, .hdr = pkt->data, .payload = payload, .unit = payload, .count = 1 };
	struct vnrx_flow *f;
	uint32_t slot;

	if (hdr_len == 0u || free_ways == 0u || !wanted(gro, len, lane->l3, payload))
		return NULL;
	slot = p->set * VNRX_WAYS + vnrx_low_byte(free_ways & (0u - free_ways));
	f = &t->flow[slot];
	seg.d.ip.l3 = lane->l3;
	seg.d.ip.version = vnrx_lane_v6(lane) ? 6u : 4u;
	seg.d.l4 = lane->l4;
	seg.d.payload = hdr_len;
	seg.d.proto = VNRX_PROTO_TCP;
	f->hdr = pkt->data;
	f->scratch = VNRX_SCRATCH_NONE;
	f->shape = (uint8_t)lane->index;
	gro->shape[lane->index].refs++;
	vnrx_record_layers(gro, slot, &seg);
	vnrx_record_tcp(gro, f, &seg);
	vnrx_flows_add(t, slot, &hash, gro->clock, vnrx_first_list(gro, slot, hash.flow, gro->clock));
	return f;
}

/* ---- one more segment ---- */

/* IPv4 id and header checksum of a segment whose other header words are equal. Whether their sum is folded differs
 * from flow to flow, so that nothing may branch on it. */
static VNRX_INLINE bool id_continues(const struct vnrx_id *held, const uint8_t *l3)
{
	uint16_t sum = vnrx_sum_add(vnrx_load16(l3 + VNRX_IPV4_ID), vnrx_load16(l3 + VNRX_IPV4_CSUM));

	return vnrx_id_fits(held, l3) && sum == held->csum;
}

/* And the outer headers? A UDP tunnel with a checksum of its own takes the general way. */
static VNRX_INLINE bool outer_continues(const struct vnrx_links *l, const uint8_t *data, const struct vnrx_lane *lane)
{
	if ((lane->kind & VNRX_KIND_UDP_TUNNEL) != 0u && vnrx_load16(data + lane->outer_l4 + VNRX_UDP_CSUM) != 0u)
		return false;
	return !vnrx_lane_outer_v4(lane) || id_continues(&l->outer_id, data + lane->outer_l3);
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

static VNRX_INLINE uint64_t differ64(const uint8_t *a, const uint8_t *b, uint32_t off)
{
	return vnrx_load64(a + off) ^ vnrx_load64(b + off);
}

/* What the mask of a fixed shape leaves, beside the key, of a header that ends with timestamps: in words whose places
 * are known at compile time. The words overlap. */
static VNRX_INLINE bool same_usual_header(const uint8_t *a, const uint8_t *b, const struct vnrx_lane *lane)
{
	static const uint8_t no_id[8] = { 0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff };
	uint32_t end = vnrx_lane_v6(lane) ? lane->l3 + VNRX_IPV6_SRC : lane->l3 + VNRX_IPV4_LEN;
	uint64_t differs = differ64(a, b, 0) | differ64(a, b, 8) | differ64(a, b, end - 8u);

	if (end >= 24u)
		differs |= differ64(a, b, 16u);
	if (!vnrx_lane_v6(lane)) /* length, id, fragment, time to live, protocol */
		differs |= differ64(a, b, end) & vnrx_load64(no_id);
	differs |= differ64(a, b, lane->l4 + VNRX_TCP_ACK); /* acknowledgement, flags, window */
	differs |= differ64(a, b, lane->l4 + VNRX_TCP_URGENT);
	return (differs | differ64(a, b, lane->l4 + VNRX_TCP_HDR + VNRX_TCP_TIMESTAMPS - 8u)) == 0u;
}

/* The key of both is the same: is everything else of the header that does not rise or fall? */
static VNRX_INLINE bool same_header(const struct vnrx_flow *f, const uint8_t *data, const uint8_t *mask,
                                    const struct vnrx_lane *lane)
{
	if (lane->known && VNRX_LIKELY(f->hdr_len == lane->hdr_min + VNRX_TCP_TIMESTAMPS))
		return same_usual_header(data, f->hdr, lane);
	return vnrx_masked_equal(data, f->hdr, mask, f->hdr_len);
}

/* Proves that the packet, which has the shape and the key of f, is its next full segment, and joins it. */
static VNRX_INLINE bool join(struct vnetrx_gro *gro, struct vnrx_flow *f, struct vnetrx_pkt *pkt,
                             const struct vnrx_lane *lane)
{
	const uint8_t *data = pkt->data;
	uint32_t slot = (uint32_t)(f - gro->flows.flow);
	struct vnrx_links *l = &gro->flows.links[slot];

	if (f->len != pkt->frag_len || !same_header(f, data, gro->shape[lane->index].mask, lane) ||
	    !vnrx_l4_continues(f, data, lane))
		return false;
	if (!vnrx_lane_v6(lane) && !id_continues(&f->id, data + lane->l3))
		return false;
	if (vnrx_lane_tunnel(lane) && !outer_continues(l, data, lane))
		return false;
	if (f->tick != gro->tick && !vnrx_gro_touch(gro, slot, gro->clock))
		return false;
	if (!vnrx_lane_v6(lane))
		vnrx_id_advance(&f->id, data + lane->l3, 1u);
	if (vnrx_lane_outer_v4(lane))
		vnrx_id_advance(&l->outer_id, data + lane->outer_l3, 1u);
	link_segment(f, pkt);
	return true;
}

/* The guess was nowhere: the packet before may have opened the flow, or this one does. NULL = it takes the general
 * way. */
static VNRX_INLINE struct vnrx_flow *find_or_open(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt,
                                                  const struct vnrx_lane *lane, bool *opened)
{
	struct vnrx_place p = vnrx_place_of(&gro->flows, pkt->data, lane);
	struct vnrx_flow *f = vnrx_find(&gro->flows, &p);

	if (f == NULL && lane->opens) {
		f = open_flow(gro, pkt, &p, lane);
		*opened = f != NULL;
	}
	return f;
}

/* Takes packets while their flows change: the place of the next one is looked for before this one is joined, so that
 * neither waits for the other. What is found is a guess that the join proves. *same: the flow of which the next packet
 * seems to be too, NULL = the end. */
static VNRX_INLINE unsigned run_mixed(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned i, unsigned n,
                                      struct vnrx_flow **same, const struct vnrx_lane *lane)
{
	struct vnrx_flow *f, *next;
	bool more;

	*same = NULL;
	vnrx_prefetch_ahead(pkts, i, n);
	if (VNRX_UNLIKELY(!vnrx_plain(pkts[i], lane)))
		return i;
	f = vnrx_guess(&gro->flows, pkts[i], lane);
	do {
		bool opened = false;

		next = NULL;
		more = false;
		if (VNRX_LIKELY(i + 1u < n)) {
			vnrx_prefetch_ahead(pkts, i + 1u, n);
			more = vnrx_plain(pkts[i + 1u], lane);
		}
		if (VNRX_LIKELY(more))
			next = vnrx_guess(&gro->flows, pkts[i + 1u], lane);
		if (VNRX_UNLIKELY(f == NULL))
			f = find_or_open(gro, pkts[i], lane, &opened);
		if (VNRX_UNLIKELY(opened)) {
			if (more && vnrx_is_of(f, pkts[i + 1u], lane))
				next = f;
		} else if (VNRX_UNLIKELY(f == NULL) || f->shape != lane->index || !vnrx_is_of(f, pkts[i], lane) ||
		           !join(gro, f, pkts[i], lane)) {
			return i; /* of another shape, its headers may end before where the key lies: not read */
		}
		i++;
		if (f == next) {
			*same = f;
			return i;
		}
		f = next;
	} while (more);
	return i;
}

/* Takes packets of *f, until one is of another flow; *f is NULL then when one takes the general way. */
static VNRX_INLINE unsigned run_same(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned i, unsigned n,
                                     struct vnrx_flow **f, const struct vnrx_lane *lane)
{
	for (; i < n; i++) {
		struct vnetrx_pkt *pkt = pkts[i];
		bool is_plain;

		vnrx_prefetch_ahead(pkts, i, n);
		is_plain = vnrx_plain(pkt, lane);
		if (VNRX_LIKELY(is_plain) && !vnrx_is_of(*f, pkt, lane))
			break;
		if (VNRX_UNLIKELY(!is_plain) || !join(gro, *f, pkt, lane)) {
			*f = NULL;
			break;
		}
	}
	return i;
}

static VNRX_INLINE unsigned run(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned i, unsigned n,
                                const struct vnrx_lane *lane)
{
	uint32_t held = gro->flows.held;
	struct vnrx_flow *f;
	unsigned first = i;

	do {
		i = run_mixed(gro, pkts, i, n, &f, lane);
		if (f != NULL)
			i = run_same(gro, pkts, i, n, &f, lane);
	} while (f != NULL && i < n);
	gro->stats.joined += i - first - (gro->flows.held - held);
	gro->stats.held_new += gro->flows.held - held;
	return i;
}

/* ---- the loops ---- */

/* TCP without VLAN tags, which is worth a loop of its own. */
static const struct vnrx_lane ipv4_lane = {
	.l3 = 14u, .l4 = 34u, .addrs = 26u, .key_len = 12u, .hdr_min = 54u, .index = 0u, .known = true, .opens = true,
};
static const struct vnrx_lane ipv6_lane = {
	.l3 = 14u, .l4 = 54u, .addrs = 22u, .key_len = 36u, .hdr_min = 74u, .index = 3u, .kind = VNRX_KIND_IPV6,
	.known = true, .opens = true,
};

/* Any other shape. */
static unsigned run_shape(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned i, unsigned n,
                          unsigned index)
{
	const struct vnrx_lane lane = vnrx_lane_of(gro, index);

	return run(gro, pkts, i, n, &lane);
}

unsigned vnrx_fast_run(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned i, unsigned n, unsigned shape,
                       struct vnetrx_pktq *q)
{
	switch (shape) {
	case 0:
		return run(gro, pkts, i, n, &ipv4_lane);
	case 3:
		return run(gro, pkts, i, n, &ipv6_lane);
	case VNRX_SHAPE_UDP:
		return vnrx_udp_run(gro, pkts, i, n, q);
	default:
		return run_shape(gro, pkts, i, n, shape);
	}
}
