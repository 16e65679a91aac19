/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine: decides what is held, joined, closed, evicted and passed.
 */
#include "engine.h"
#include "prefetch.h"
#include "record.h"
#include "touch.h"

#include "../check.h"
#include "../mem.h"

/* What the 16-bit counts of a packet can say. */
#define FRAGS_MAX 65535u

static vnetrx_ns seen_at(struct vnetrx_gro *gro, const struct vnetrx_pkt *pkt, vnetrx_ns now)
{
	vnetrx_ns t = now;

	if ((pkt->flags & VNETRX_PKT_TSTAMP) != 0u && pkt->tstamp < now)
		t = pkt->tstamp;
	vnrx_gro_set_clock(gro, t);
	return gro->clock;
}

/* ---- hold and join ---- */

/* Bytes behind the IP packet are Ethernet padding and go. */
static void trim(struct vnetrx_pkt *pkt, uint32_t len)
{
	uint32_t left = len;

	pkt->len = len;
	for (; pkt != NULL; pkt = pkt->chain) {
		if (pkt->frag_len > left)
			pkt->frag_len = left;
		left -= pkt->frag_len;
	}
}

/* The first len bytes of a packet go. */
static void skip(struct vnetrx_pkt *pkt, uint32_t len)
{
	for (; pkt != NULL && len > 0u; pkt = pkt->chain) {
		uint32_t n = pkt->frag_len < len ? pkt->frag_len : len;

		pkt->data += n;
		pkt->frag_len -= n;
		len -= n;
	}
}

/* Where the headers of a packet to be held are: in it, or, when they lie in several fragments, in a scratch. */
static bool place_headers(struct vnetrx_gro *gro, struct vnrx_flow *f, const struct vnrx_seg *seg)
{
	f->hdr = seg->pkt->data;
	f->scratch = VNRX_SCRATCH_NONE;
	if (seg->pkt->frag_len >= seg->d.payload)
		return true;
	for (unsigned i = 0; i < VNRX_SCRATCHES; i++) {
		if ((gro->scratch_used & 1u << i) == 0u) {
			gro->scratch_used |= 1u << i;
			memcpy(gro->scratch[i], seg->hdr, seg->d.payload);
			f->hdr = gro->scratch[i];
			f->scratch = (uint8_t)i;
			return true;
		}
	}
	return false;
}

/* The short way compares bytes only: where the device said more about the packet than that its checksum is right, and
 * where the headers are not those of one full segment in one piece, the general way must look at each. */
static unsigned held_shape(struct vnetrx_gro *gro, const struct vnrx_flow *f, const struct vnrx_seg *seg)
{
	uint32_t flags = seg->pkt->flags & ~(VNETRX_PKT_HASH | VNETRX_PKT_COPIED | VNETRX_PKT_CSUM_INNER);

	if ((flags != VNETRX_PKT_CSUM_OK && flags != VNETRX_PKT_PARTIAL) || seg->count != 1u ||
	    f->scratch != VNRX_SCRATCH_NONE)
		return VNRX_SHAPE_NONE;
	return vnrx_shape_find(gro, &seg->d);
}

/* The held packet that was joined longest ago. */
static uint32_t least_recent(const struct vnrx_flows *t)
{
	uint32_t oldest = vnrx_flows_quietest(t, 0);

	for (unsigned wait = 1; wait < VNRX_WAITS; wait++) {
		uint32_t slot = vnrx_flows_quietest(t, wait);

		if (slot < t->sentinel && (oldest >= t->sentinel || t->links[slot].seen < t->links[oldest].seen))
			oldest = slot;
	}
	return oldest;
}

/* Returns the shape to guess next. */
static unsigned hold(struct vnetrx_gro *gro, const struct vnrx_seg *seg, struct vnetrx_pktq *q)
{
	struct vnrx_flows *t = &gro->flows;
	struct vnrx_hash hash = seg->hash;
	struct vnrx_flow *f;
	bool taken;
	uint32_t slot;

	slot = vnrx_flows_place(t, hash.flow, &taken);
	if (taken)
		vnrx_gro_leave(gro, slot, VNETRX_LEFT_EVICTED, q);
	else if (t->held == t->held_max)
		vnrx_gro_leave(gro, least_recent(t), VNETRX_LEFT_EVICTED, q);
	f = &t->flow[slot];
	if (!place_headers(gro, f, seg)) {
		vnrx_gro_pass(gro, seg->pkt, seg->now, VNRX_PASS_HDR_LEN, q);
		return gro->guess;
	}
	vnrx_record_layers(gro, slot, seg);
	if (vnrx_is_udp(&seg->d))
		vnrx_record_udp(gro, f, seg);
	else
		vnrx_record_tcp(gro, f, seg);
	/* finish_counts() counts one per segment */
	seg->pkt->nfrags = (uint16_t)(seg->pkt->nfrags - (seg->count - 1u));
	seg->pkt->nbufs = (uint16_t)(seg->pkt->nbufs - (seg->count - 1u));
	f->shape = (uint8_t)held_shape(gro, f, seg);
	if (f->shape < VNRX_SHAPES)
		gro->shape[f->shape].refs++;
	if (!vnrx_in_tunnel(&seg->d))
		hash.outer = VNRX_FLOW_NONE;
	vnrx_flows_add(t, slot, &hash, seg->now, vnrx_first_list(gro, slot, hash.flow, seg->now));
	gro->stats.held_new++;
	return f->shape < VNRX_SHAPES ? f->shape : gro->guess;
}

static enum vnrx_differ differs(const struct vnetrx_gro *gro, uint32_t slot, const struct vnrx_seg *seg)
{
	const struct vnrx_flow *f = &gro->flows.flow[slot];
	bool udp = (f->kind & VNRX_KIND_UDP) != 0u;
	enum vnrx_differ why = udp ? vnrx_udp_differs(f, seg) : vnrx_tcp_differs(f, seg);
	uint32_t mss = (uint32_t)f->len - f->hdr_len;
	uint32_t total = f->next_seq - f->first_seq + seg->payload;

	if (why == VNRX_DIFFER_NOT)
		why = vnrx_layers_differs(gro, slot, seg);
	if (why != VNRX_DIFFER_NOT)
		return why;
	if (seg->count > 1u ? seg->unit != mss : seg->payload > mss)
		return VNRX_DIFFER_SIZE;
	if (f->hdr_len - vnrx_first_l3(&seg->d) + total > vnrx_bytes_max(gro, &seg->d) ||
	    f->segs + seg->count > vnrx_segs_max(gro, seg->d.proto))
		return VNRX_DIFFER_FULL;
	if ((uint16_t)(f->head->nfrags + (f->segs - 1u)) + (uint32_t)seg->pkt->nfrags > FRAGS_MAX ||
	    (uint16_t)(f->head->nbufs + (f->segs - 1u)) + (uint32_t)seg->pkt->nbufs > FRAGS_MAX)
		return VNRX_DIFFER_FULL;
	return VNRX_DIFFER_NOT;
}

/* Links the segment's payload behind the held packet's. */
static void link_payload(struct vnrx_flow *f, const struct vnrx_seg *seg)
{
	struct vnetrx_pkt *pkt = seg->pkt;
	struct vnetrx_pkt *tail = pkt;

	while (tail->chain != NULL)
		tail = tail->chain;
	skip(pkt, f->hdr_len);
	f->tail->chain = pkt;
	f->tail = tail;
	f->next_seq += seg->payload;
	f->truesize += pkt->truesize;
	f->segs = (uint16_t)(f->segs + seg->count);
	f->head->nfrags = (uint16_t)(f->head->nfrags + (pkt->nfrags - seg->count));
	f->head->nbufs = (uint16_t)(f->head->nbufs + (pkt->nbufs - seg->count));
}

/* Joins and closes where the segment or the limit says so. */
static void join(struct vnetrx_gro *gro, uint32_t slot, const struct vnrx_seg *seg, struct vnetrx_pktq *q)
{
	struct vnrx_flow *f = &gro->flows.flow[slot];
	uint32_t mss = (uint32_t)f->len - f->hdr_len;
	bool is_short = seg->payload != seg->count * mss;
	bool closes = seg->d.proto == VNRX_PROTO_TCP && vnrx_tcp_closes(seg);

	if (closes)
		f->hdr[f->l4 + VNRX_TCP_FLAGS] |= seg->hdr[seg->d.l4 + VNRX_TCP_FLAGS] & (VNRX_TCP_PSH | VNRX_TCP_FIN);
	vnrx_layers_join(gro, slot, seg);
	link_payload(f, seg);
	gro->stats.joined++;
	if (closes)
		vnrx_gro_leave(gro, slot, VNETRX_LEFT_PUSH, q);
	else if (is_short)
		vnrx_gro_leave(gro, slot, VNETRX_LEFT_SHORT, q);
	else if (f->segs >= vnrx_segs_max(gro, seg->d.proto))
		vnrx_gro_leave(gro, slot, VNETRX_LEFT_FULL, q);
}

/* Tries to join what is held in slot; false: that has left, and the segment starts anew. */
static bool try_join(struct vnetrx_gro *gro, uint32_t slot, const struct vnrx_seg *seg, struct vnetrx_pktq *q)
{
	enum vnrx_differ why = differs(gro, slot, seg);

	if (why == VNRX_DIFFER_NOT) {
		if (vnrx_gro_touch(gro, slot, seg->now)) {
			join(gro, slot, seg, q);
			return true;
		}
		vnrx_gro_leave(gro, slot, VNETRX_LEFT_HOLD, q);
	} else if (why == VNRX_DIFFER_FULL) {
		vnrx_gro_leave(gro, slot, VNETRX_LEFT_FULL, q);
	} else {
		(&gro->stats.differ_seq)[why]++;
		vnrx_gro_leave(gro, slot, VNETRX_LEFT_NEXT, q);
	}
	return false;
}

/* ---- one packet ---- */

/* How many segments the packet is, and of what size. */
static void measure(struct vnrx_seg *seg)
{
	struct vnetrx_pkt *pkt = seg->pkt;

	seg->payload = seg->d.ip.end - seg->d.payload;
	seg->unit = seg->payload;
	seg->count = 1;
	if (pkt->gso_size == 0u)
		return;
	if (seg->payload > pkt->gso_size) {
		seg->unit = pkt->gso_size;
		seg->count = vnrx_div(seg->payload + seg->unit - 1u, seg->unit);
		pkt->segs = (uint16_t)seg->count; /* what the device counted is not believed */
		return;
	}
	pkt->gso_size = 0; /* no more than one segment: an ordinary packet */
	pkt->gso_type = VNETRX_GSO_NONE;
	pkt->segs = 1;
}

/* May the packet be held or joined, once dissect finds nothing against it? */
static unsigned check(const struct vnetrx_gro *gro, struct vnrx_seg *seg)
{
	enum vnrx_pass why;

	if ((seg->pkt->flags & VNETRX_PKT_RSC) != 0u)
		return VNRX_PASS_GSO;
	if (VNRX_TCP_ALONE && seg->d.pppoe != 0u)
		return VNRX_PASS_OFF;
	measure(seg);
	if (seg->d.proto == VNRX_PROTO_UDP)
		why = vnrx_udp_check(gro, seg);
	else
		why = (gro->protos & VNETRX_GRO_TCP) != 0u ? vnrx_tcp_check(seg) : VNRX_PASS_OFF;
	return why == VNRX_PASS_NOT ? vnrx_layers_check(gro, seg) : why;
}

/* Reads the headers and says whether the packet may be held or joined. */
static unsigned classify(struct vnetrx_gro *gro, struct vnrx_seg *seg)
{
	const struct vnetrx_pkt *pkt = seg->pkt;
	struct vnrx_frame frame = { pkt->data, pkt->frag_len, pkt->len };

	if (frame.avail < VNRX_HDR_MAX && frame.avail < pkt->len) { /* headers may lie in several fragments */
		frame.hdr = gro->gathered;
		frame.avail = vnetrx_pkt_copy(pkt, 0, gro->gathered, VNRX_HDR_MAX);
	}
	seg->hdr = frame.hdr;
	vnrx_dissect(&frame, &gro->tunnels, &seg->d);
	if (seg->d.reach != VNRX_REACH_NOTHING)
		vnrx_flows_hash(&gro->flows, seg->hdr, &seg->d, &seg->hash);
	return seg->d.pass == VNRX_PASS_NOT ? check(gro, seg) : seg->d.pass;
}

/* A packet that only passes: what is its like to be guessed next? */
static unsigned passed_like(const struct vnetrx_gro *gro, const struct vnrx_seg *seg, unsigned why)
{
	return why == VNRX_PASS_OFF && seg->d.proto == VNRX_PROTO_UDP ? VNRX_SHAPE_UDP : gro->guess;
}

/* The general way of one packet. Returns the shape to guess next. */
static VNRX_APART unsigned receive_one(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt, vnetrx_ns now,
                                       struct vnetrx_pktq *q)
{
	struct vnrx_seg seg;
	unsigned why;
	uint32_t slot;

	seg.pkt = pkt;
	seg.now = seen_at(gro, pkt, now);
	why = classify(gro, &seg);
	if (why != VNRX_PASS_NOT) {
		vnrx_gro_pass_in_order(gro, &seg, why, q);
		return passed_like(gro, &seg, why);
	}
	if (pkt->len > vnrx_outer_end(&seg.d))
		trim(pkt, vnrx_outer_end(&seg.d));
	slot = vnrx_flows_find(&gro->flows, seg.hdr, &seg.d, seg.hash.flow);
	if (slot != VNRX_FLOW_NONE && try_join(gro, slot, &seg, q))
		return gro->guess;
	if (seg.d.proto == VNRX_PROTO_TCP && vnrx_tcp_closes(&seg))
		why = VNRX_PASS_FLAGS;
	else if (seg.payload < gro->payload_min)
		why = VNRX_PASS_SMALL;
	else if (seg.payload != seg.count * seg.unit)
		why = VNRX_PASS_GSO; /* its last segment is short: nothing can follow it */
	if (why == VNRX_PASS_NOT)
		return hold(gro, &seg, q);
	vnrx_gro_pass(gro, pkt, seg.now, why, q);
	return gro->guess;
}

void vnetrx_gro_receive(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned n, vnetrx_ns now,
                        struct vnetrx_pktq *q)
{
	gro->stats.pkts += n;
	vnrx_prefetch_start(pkts, n);
	for (unsigned i = 0; i < n; i++) {
		if ((pkts[i]->flags & VNETRX_PKT_TSTAMP) == 0u)
			vnrx_gro_set_clock(gro, now);
		i = vnrx_fast_run(gro, pkts, i, n, gro->guess, q);
		if (i < n)
			gro->guess = receive_one(gro, pkts[i], now, q);
	}
	VNRX_CHECK(vnrx_flows_valid(&gro->flows));
}
