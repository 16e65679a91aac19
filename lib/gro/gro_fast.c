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
#include "join.h"
#include "open.h"
#include "prefetch.h"

#define BLOCK VNRX_BLOCK
_Static_assert(BLOCK == VNRX_STEP, "each block is one step of the prefetch");

/* ---- one more segment ---- */

static VNRX_INLINE void link_segment(struct vnrx_flow *f, struct vnetrx_pkt *pkt, uint32_t hdr_len)
{
	uint32_t payload = pkt->frag_len - hdr_len;

	f->next_seq += payload;
	f->truesize += pkt->truesize;
	f->segs++;
	pkt->data += hdr_len;
	pkt->frag_len = payload;
	f->tail->chain = pkt;
	f->tail = pkt;
}

/* Proves that the packet, which has the shape of f, is its next full segment, and joins it. With a lane that is known
 * the header is the usual one. */
static VNRX_INLINE bool join(struct vnetrx_gro *gro, struct vnrx_flow *f, struct vnetrx_pkt *pkt,
                             const struct vnrx_lane *lane)
{
	const uint8_t *data = pkt->data;
	uint32_t slot = (uint32_t)(f - gro->flows.flow);
	uint32_t hdr_len = lane->known ? vnrx_usual_hdr_len(lane) : f->hdr_len;

	if (f->len != pkt->frag_len)
		return false;
	if (lane->known ? !vnrx_same_usual(data, f->hdr, lane, false) :
	                  !vnrx_masked_equal(data, f->hdr, gro->shape[lane->index].mask, hdr_len))
		return false;
	if (!vnrx_l4_continues(f, data, lane))
		return false;
	if (!vnrx_lane_v6(lane) && !vnrx_id_continues(&f->id, data + lane->l3))
		return false;
	if (vnrx_lane_tunnel(lane) && !vnrx_outer_continues(&gro->flows.links[slot], data, lane))
		return false;
	if (f->tick != gro->tick && !vnrx_gro_touch(gro, slot, gro->clock))
		return false;
	if (!vnrx_lane_v6(lane))
		vnrx_id_advance(&f->id, pkt->data + lane->l3, 1u);
	if (vnrx_lane_outer_v4(lane))
		vnrx_id_advance(&gro->flows.links[slot].outer_id, pkt->data + lane->outer_l3, 1u);
	link_segment(f, pkt, hdr_len);
	return true;
}

/* The same for any lane. */
static VNRX_APART bool join_any(struct vnetrx_gro *gro, struct vnrx_flow *f, struct vnetrx_pkt *pkt,
                                   const struct vnrx_lane *known)
{
	struct vnrx_lane lane = *known;

	lane.known = false;
	return join(gro, f, pkt, &lane);
}

/* ---- the loops ---- */

/* What a loop goes over. */
struct batch {
	struct vnetrx_gro         *gro;
	struct vnetrx_pkt *const  *pkts;
	unsigned                   n;
	struct vnetrx_pktq        *q;
	const struct vnrx_lane    *lane;
	unsigned                   ahead; /* so many are looked up in the next block                */
	unsigned                   from;  /* gro->place is that of the packets from this one on,    */
	unsigned                   to;    /* up to here                                             */
	unsigned                   end;   /* this block's; beyond `to`: the packet there is not plain */
	struct vnrx_flow          *same;  /* of which the next packet seems to be too; NULL = none  */
};

/* Looks up the packets from pkts on, up to the first of n that is not plain; returns their number. All at once: what
 * one of them waits for, the others do not. */
static VNRX_INLINE unsigned places_of(const struct vnrx_flows *t, struct vnetrx_pkt *const *pkts, unsigned n,
                                      struct vnrx_place *place, const struct vnrx_lane *lane)
{
	unsigned i;

	for (i = 0; i < n && VNRX_LIKELY(vnrx_plain(pkts[i], lane)); i++)
		place[i] = vnrx_place_of(t, pkts[i]->data, lane);
	return i;
}

/* Joins or holds a packet. Returns its flow; NULL = it takes the general way. */
static VNRX_INLINE struct vnrx_flow *take(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt,
                                          const struct vnrx_place *place, const struct vnrx_lane *lane)
{
	uint64_t match = vnrx_tag_match(gro->flows.tags[place->set], vnrx_hash_tag(place->hash));
	struct vnrx_flow *f;

	if (VNRX_UNLIKELY(match == 0u))
		return lane->opens ? vnrx_open_flow(gro, pkt, place, lane) : NULL;
	/* the first whose tag fits; the compares that follow prove or refute it */
	f = &gro->flows.flow[place->set * VNRX_WAYS + vnrx_low_byte(match)];
	if (f->shape != lane->index)
		return NULL; /* its headers may end before where the key lies: not read */
	if (lane->known && VNRX_UNLIKELY(f->hdr_len != vnrx_usual_hdr_len(lane)))
		return join_any(gro, f, pkt, lane) ? f : NULL;
	return join(gro, f, pkt, lane) ? f : NULL;
}

/* The next block from pkts[i] on. */
static VNRX_INLINE void look_up(struct batch *b, unsigned i, const struct vnrx_lane *lane)
{
	unsigned left = BLOCK - i % BLOCK;

	vnrx_prefetch_ahead(b->pkts, i, b->n);
	left = b->n - i < left ? b->n - i : left;
	left = left < b->ahead ? left : b->ahead;
	b->from = i;
	b->to = i + places_of(&b->gro->flows, b->pkts + i, left, b->gro->place, lane);
	b->end = i + left;
}

/* Takes packets from pkts[i] on while their flows change. Ends behind all, before one that is not plain or that take
 * refused, and before one that seems to be of the same flow as two before it. */
static VNRX_INLINE unsigned run_mixed(struct batch *b, unsigned i, const struct vnrx_lane *lane)
{
	struct vnetrx_gro *gro = b->gro;
	struct vnetrx_pkt *const *pkts = b->pkts;
	struct vnrx_flow *f = NULL, *before = NULL;

	for (;;) {
		unsigned from = b->from, to = b->to;

		for (; i < to; i++) {
			before = f;
			f = take(gro, pkts[i], &gro->place[i - from], lane);
			if (VNRX_UNLIKELY(f == NULL))
				break;
		}
		if (i < b->end || i == b->n)
			break;
		if (f == before && f != NULL) {
			b->same = f;
			return i;
		}
		look_up(b, i, lane);
		b->ahead = BLOCK;
	}
	b->same = NULL;
	return i;
}

/* The state of a flow while segments join it one after the other. */
struct chain {
	const uint8_t     *hdr;
	struct vnetrx_pkt *tail;
	uint32_t           len;
	uint32_t           hdr_len;
	uint32_t           size;     /* payload so far */
	uint32_t           truesize;
};

/* Is the packet the next full segment of f, to which one was joined in this call? */
static VNRX_INLINE bool goes_on(const struct batch *b, const struct vnrx_flow *f, const struct chain *c,
                                const struct vnetrx_pkt *pkt, const struct vnrx_lane *lane)
{
	const uint8_t *data = pkt->data;

	if (VNRX_UNLIKELY(!vnrx_plain(pkt, lane)) || pkt->frag_len != c->len)
		return false;
	if (lane->known ? !vnrx_same_usual(data, c->hdr, lane, false) :
	                  !vnrx_is_of(f, pkt, lane) ||
	                  !vnrx_masked_equal(data, c->hdr, b->gro->shape[lane->index].mask, c->hdr_len))
		return false;
	if (!vnrx_lane_udp(lane) && vnrx_be32(data + lane->l4 + VNRX_TCP_SEQ) - f->first_seq != c->size)
		return false;
	if (vnrx_lane_udp(lane) && !same_udp_csum(c->hdr, data, lane))
		return false;
	if (c->size > f->fast_max || (!vnrx_lane_v6(lane) && !vnrx_id_continues(&f->id, data + lane->l3)))
		return false;
	return !vnrx_lane_tunnel(lane) ||
	       vnrx_outer_continues(&b->gro->flows.links[f - b->gro->flows.flow], data, lane);
}

/* Takes packets of f, until one is of another flow or takes the general way. */
static VNRX_INLINE unsigned run_same(const struct batch *b, unsigned i, struct vnrx_flow *f,
                                     const struct vnrx_lane *lane)
{
	struct chain c = { f->hdr, f->tail, f->len, f->hdr_len, f->next_seq - f->first_seq, f->truesize };
	struct vnrx_links *l = &b->gro->flows.links[f - b->gro->flows.flow];
	struct vnetrx_pkt *const *pkts = b->pkts;
	unsigned first = i, n = b->n;
	uint32_t payload;

	if (lane->known)
		c.hdr_len = vnrx_usual_hdr_len(lane);
	payload = c.len - c.hdr_len;
	for (; i < n; i++) {
		struct vnetrx_pkt *pkt = pkts[i];

		vnrx_prefetch_ahead(pkts, i, n);
		if (!goes_on(b, f, &c, pkt, lane))
			break;
		if (!vnrx_lane_v6(lane))
			f->id.next = (uint16_t)(f->id.next + f->id.step);
		if (vnrx_lane_outer_v4(lane))
			l->outer_id.next = (uint16_t)(l->outer_id.next + l->outer_id.step);
		c.size += payload;
		c.truesize += pkt->truesize;
		pkt->data += c.hdr_len;
		pkt->frag_len = payload;
		c.tail->chain = pkt;
		c.tail = pkt;
	}
	f->next_seq = f->first_seq + c.size;
	f->truesize = c.truesize;
	f->segs = (uint16_t)(f->segs + (i - first));
	f->tail = c.tail;
	return i;
}

/* Each kind of loop is a function of its own, so that its values stay in registers. */
#define LOOPS(name, lane) \
	static VNRX_APART unsigned mixed_##name(struct batch *b, unsigned i) \
	{ \
		return run_mixed(b, i, lane); \
	} \
	static VNRX_APART unsigned same_##name(const struct batch *b, unsigned i, struct vnrx_flow *f) \
	{ \
		return run_same(b, i, f, lane); \
	} \
	static const struct loops name = { mixed_##name, same_##name }

struct loops {
	unsigned (*mixed)(struct batch *b, unsigned i);
	unsigned (*same)(const struct batch *b, unsigned i, struct vnrx_flow *f);
};

LOOPS(ipv4, &vnrx_lane_ipv4);
#ifndef VNRX_SMALL
LOOPS(ipv6, &vnrx_lane_ipv6);
LOOPS(udp4, &vnrx_lane_udp4);
LOOPS(vxlan, &vnrx_lane_vxlan);
#endif
LOOPS(any, b->lane);

/* A flow whose header is not the usual one. */
static VNRX_COLD unsigned same_other(const struct batch *b, unsigned i, struct vnrx_flow *f)
{
	struct vnrx_lane lane = *b->lane;
	struct batch other = *b;

	lane.known = false;
	other.lane = &lane;
	return same_any(&other, i, f);
}

/* From pkts[i] on, b->same. */
static VNRX_INLINE unsigned go_on(struct batch *b, unsigned i, const struct loops *loops)
{
	unsigned from = i;

	if (b->lane->known && b->same->hdr_len != vnrx_usual_hdr_len(b->lane))
		i = same_other(b, i, b->same);
	else
		i = loops->same(b, i, b->same);
	b->ahead = i - from > 1u ? 2u : BLOCK;
	b->from = b->to = b->end = i;
	return i;
}

/* The loops and what is between them: here, so that the stack of a packet that leaves has no loop's frame in it. */
static VNRX_INLINE unsigned run(struct batch *b, unsigned i, const struct loops *loops)
{
	struct vnetrx_gro *gro = b->gro;
	uint64_t held = gro->stats.held_new;
	unsigned first = i;
	enum vnrx_last last;

	b->ahead = 2u;
	b->from = b->to = b->end = i;
	while (i < b->n) {
		i = loops->mixed(b, i);
		if (b->same != NULL) {
			i = go_on(b, i, loops);
			continue;
		}
		if (i >= b->to)
			break;
		last = vnrx_last_join(gro, b->pkts[i], &gro->place[i - b->from], b->lane, b->q);
		if (last == VNRX_LAST_NOT)
			break;
		i += last == VNRX_LAST_JOINED ? 1u : 0u;
	}
	gro->stats.joined += i - first - (gro->stats.held_new - held);
	return i;
}

unsigned vnrx_fast_run(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned i, unsigned n, unsigned shape,
                       struct vnetrx_pktq *q)
{
	struct batch b = { .gro = gro, .pkts = pkts, .n = n, .q = q };
	struct vnrx_lane lane;

	switch (shape) {
	case 0:
		b.lane = &vnrx_lane_ipv4;
		return run(&b, i, &ipv4);
#ifndef VNRX_SMALL
	case 3:
		b.lane = &vnrx_lane_ipv6;
		return run(&b, i, &ipv6);
	case VNRX_SHAPE_UDP4:
		b.lane = &vnrx_lane_udp4;
		return run(&b, i, &udp4);
	case VNRX_SHAPE_VXLAN:
		b.lane = &vnrx_lane_vxlan;
		return run(&b, i, &vxlan);
#endif
	case VNRX_SHAPE_UDP:
		return vnrx_udp_run(gro, pkts, i, n, q);
	default:
		lane = vnrx_lane_of(gro, shape);
		b.lane = &lane;
		return run(&b, i, &any);
	}
}
