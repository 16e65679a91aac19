/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine: decides what is held, joined, closed, evicted and passed; knows no protocol.
 *
 * Order: a packet that is never held first pushes out what is held of its flow, or, where its flow cannot be known, of
 * its address pair. Everything that leaves goes through out() into the caller's one FIFO.
 */
#include "engine.h"

#include "../check.h"
#include "../mem.h"

#define MS_NS 1000000u

/* The pass_ counters and left_ counters as arrays; the order is that of their enums. */
_Static_assert(offsetof(struct vnetrx_gro_stats, pass_big) - offsetof(struct vnetrx_gro_stats, pass_off) ==
               (VNRX_PASS_NUM - 1u) * sizeof(uint64_t), "one pass_ counter per reason, in order");
_Static_assert(offsetof(struct vnetrx_gro_stats, left_flush) - offsetof(struct vnetrx_gro_stats, left_push) ==
               (VNETRX_LEFT_NUM - 2) * sizeof(uint64_t), "one left_ counter per reason, in order");
_Static_assert(offsetof(struct vnetrx_gro_stats, differ_meta) - offsetof(struct vnetrx_gro_stats, differ_seq) ==
               (VNRX_DIFFER_NUM - 1u) * sizeof(uint64_t), "one differ_ counter per reason, in order");

static vnetrx_ns add_ns(vnetrx_ns a, vnetrx_ns b)
{
	vnetrx_ns sum = a + b;

	/* VNETRX_NEVER is no time: the latest deadline is the one before */
	return sum < a || sum == VNETRX_NEVER ? VNETRX_NEVER - 1u : sum;
}

static void out(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt, enum vnetrx_reason reason, struct vnetrx_pktq *q)
{
	pkt->reason = (uint8_t)reason;
	gro->stats.out++;
	vnetrx_pktq_add(q, pkt);
}

/* Gives out what a slot holds; the slot stays in the table. */
static void finish(struct vnetrx_gro *gro, uint32_t slot, enum vnetrx_reason reason, struct vnetrx_pktq *q)
{
	struct vnrx_flow *f = &gro->flows.flow[slot];
	const struct vnrx_links *l = &gro->flows.links[slot];

	(&gro->stats.left_push)[reason - VNETRX_LEFT_PUSH]++;
	f->head->seen_first = l->first;
	f->head->seen_last = l->seen;
	if (f->segs > 1u)
		vnrx_tcp_finish(gro, f);
	out(gro, f->head, reason, q);
}

/* A held packet leaves. */
static void leave(struct vnetrx_gro *gro, uint32_t slot, enum vnetrx_reason reason, struct vnetrx_pktq *q)
{
	finish(gro, slot, reason, q);
	vnrx_flows_del(&gro->flows, slot);
}

static void pass(struct vnetrx_gro *gro, const struct vnrx_seg *seg, unsigned why, struct vnetrx_pktq *q)
{
	gro->stats.passed++;
	(&gro->stats.pass_off)[why]++;
	seg->pkt->seen_first = seg->now;
	seg->pkt->seen_last = seg->now;
	out(gro, seg->pkt, VNETRX_LEFT_PASSED, q);
}

bool vnrx_gro_touch(struct vnetrx_gro *gro, uint32_t slot, vnetrx_ns now)
{
	if (now >= add_ns(gro->flows.links[slot].first, gro->hold_max_ns))
		return false;
	gro->flows.flow[slot].tick = gro->tick;
	vnrx_flows_touch(&gro->flows, slot, now);
	return true;
}

/* The packet cannot be held: what it must not overtake goes first. */
static VNRX_COLD void pass_in_order(struct vnetrx_gro *gro, const struct vnrx_seg *seg, unsigned why,
                                    struct vnetrx_pktq *q)
{
	const struct vnrx_dissect *d = &seg->d;
	uint32_t slot;

	if (d->reach == VNRX_REACH_PORTS && d->proto == VNRX_PROTO_TCP) {
		slot = vnrx_flows_find(&gro->flows, seg->hdr, d, seg->hash.flow);
		if (slot != VNRX_FLOW_NONE)
			leave(gro, slot, VNETRX_LEFT_ORDER, q);
	} else if (d->reach == VNRX_REACH_ADDRS) {
		while ((slot = gro->flows.pair[seg->hash.pair]) != VNRX_FLOW_NONE)
			leave(gro, slot, VNETRX_LEFT_ORDER, q);
	}
	pass(gro, seg, why, q);
}

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

static void hold(struct vnetrx_gro *gro, const struct vnrx_seg *seg, struct vnetrx_pktq *q)
{
	struct vnrx_flows *t = &gro->flows;
	bool taken;
	uint32_t slot;

	slot = vnrx_flows_place(t, seg->hash.flow, &taken);
	if (taken)
		leave(gro, slot, VNETRX_LEFT_EVICTED, q);
	else if (t->held == t->held_max)
		leave(gro, vnrx_flows_quietest(t), VNETRX_LEFT_EVICTED, q);
	vnrx_tcp_hold(gro, &t->flow[slot], seg);
	vnrx_flows_add(t, slot, seg->hash.flow, seg->hash.pair, seg->now);
	gro->stats.held_new++;
}

/* Joins and closes where the segment or the limit says so. */
static void join(struct vnetrx_gro *gro, uint32_t slot, const struct vnrx_seg *seg, struct vnetrx_pktq *q)
{
	struct vnrx_flow *f = &gro->flows.flow[slot];
	bool is_short = seg->d.end - seg->d.payload < f->len - f->hdr_len;
	bool closes = vnrx_tcp_closes(seg);

	vnrx_tcp_join(f, seg);
	gro->stats.joined++;
	if (closes)
		leave(gro, slot, VNETRX_LEFT_PUSH, q);
	else if (is_short)
		leave(gro, slot, VNETRX_LEFT_SHORT, q);
	else if (f->segs >= gro->segs_max)
		leave(gro, slot, VNETRX_LEFT_FULL, q);
}

/* Tries to join what is held in slot; false: that has left, and the segment starts anew. */
static bool try_join(struct vnetrx_gro *gro, uint32_t slot, const struct vnrx_seg *seg, struct vnetrx_pktq *q)
{
	const struct vnrx_flow *f = &gro->flows.flow[slot];
	enum vnrx_differ differs = vnrx_tcp_differs(gro, f, seg);

	if (differs == VNRX_DIFFER_NOT) {
		if (vnrx_gro_touch(gro, slot, seg->now)) {
			join(gro, slot, seg, q);
			return true;
		}
		leave(gro, slot, VNETRX_LEFT_HOLD, q);
	} else if (differs == VNRX_DIFFER_FULL) {
		leave(gro, slot, VNETRX_LEFT_FULL, q);
	} else {
		(&gro->stats.differ_seq)[differs]++;
		leave(gro, slot, VNETRX_LEFT_NEXT, q);
	}
	return false;
}

/* Headers that lie in several fragments are read from a private copy, to know the flow. */
static VNRX_COLD uint32_t gather(const struct vnetrx_pkt *pkt, uint8_t *scratch)
{
	return vnetrx_pkt_copy(pkt, 0, scratch, VNRX_HDR_MAX);
}

static void hash(const struct vnetrx_gro *gro, struct vnrx_seg *seg)
{
	const struct vnrx_dissect *d = &seg->d;
	uint64_t addrs;

	if (d->reach == VNRX_REACH_NOTHING)
		return;
	addrs = vnrx_hash_addrs(&gro->flows, seg->hdr + d->l3, d->version);
	seg->hash.pair = vnrx_hash_pair(&gro->flows, addrs);
	if (d->reach == VNRX_REACH_PORTS)
		seg->hash.flow = vnrx_hash_flow(&gro->flows, addrs, vnrx_load32(seg->hdr + d->l4), VNRX_PROTO_TCP);
}

/* Reads the headers and says whether the packet may be held or joined. */
static unsigned classify(const struct vnetrx_gro *gro, struct vnrx_seg *seg, uint8_t *scratch)
{
	const struct vnetrx_pkt *pkt = seg->pkt;
	uint32_t avail = pkt->frag_len;
	unsigned why;

	seg->hdr = pkt->data;
	if (VNRX_UNLIKELY(avail < VNRX_HDR_MAX && avail < pkt->len)) {
		avail = gather(pkt, scratch);
		seg->hdr = scratch;
	}
	vnrx_dissect(seg->hdr, avail, pkt->len, &seg->d);
	hash(gro, seg);
	why = seg->d.pass;
	if (why == VNRX_PASS_NOT && (pkt->gso_size != 0u || (pkt->flags & VNETRX_PKT_RSC) != 0u))
		why = VNRX_PASS_GSO;
	if (why == VNRX_PASS_NOT)
		why = vnrx_tcp_check(seg);
	if (why == VNRX_PASS_NOT && seg->d.payload > pkt->frag_len)
		why = VNRX_PASS_HDR_LEN;
	if (why == VNRX_PASS_NOT && seg->d.end - seg->d.l3 > gro->bytes_max)
		why = VNRX_PASS_BIG;
	return why;
}

/* Time only goes forward; each step is a tick, in which a flow is touched once. */
static void set_clock(struct vnetrx_gro *gro, vnetrx_ns now)
{
	if (now > gro->clock) {
		gro->clock = now;
		gro->tick++;
	}
}

static vnetrx_ns seen_at(struct vnetrx_gro *gro, const struct vnetrx_pkt *pkt, vnetrx_ns now)
{
	vnetrx_ns t = now;

	if ((pkt->flags & VNETRX_PKT_TSTAMP) != 0u && pkt->tstamp < now)
		t = pkt->tstamp;
	set_clock(gro, t);
	return gro->clock;
}

/* The general way of one packet. Returns the shape to guess next. */
static unsigned receive_one(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt, vnetrx_ns now, unsigned guess,
                                      struct vnetrx_pktq *q)
{
	uint8_t scratch[VNRX_HDR_MAX];
	struct vnrx_seg seg = { .pkt = pkt, .now = seen_at(gro, pkt, now) };
	unsigned why = classify(gro, &seg, scratch);
	uint32_t slot;

	if (why != VNRX_PASS_NOT) {
		pass_in_order(gro, &seg, why, q);
		return guess;
	}
	if (pkt->len > seg.d.end)
		trim(pkt, seg.d.end);
	slot = vnrx_flows_find(&gro->flows, seg.hdr, &seg.d, seg.hash.flow);
	if (slot != VNRX_FLOW_NONE && try_join(gro, slot, &seg, q))
		return guess;
	if (vnrx_tcp_closes(&seg)) {
		pass(gro, &seg, VNRX_PASS_FLAGS, q);
		return guess;
	}
	hold(gro, &seg, q);
	return (seg.d.l3 - VNRX_ETH_HDR) / VNRX_VLAN_HDR + (seg.d.version == 6u ? 3u : 0u);
}

void vnetrx_gro_receive(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned n, vnetrx_ns now,
                        struct vnetrx_pktq *q)
{
	unsigned shape = gro->shape;

	gro->stats.pkts += n;
	for (unsigned i = 0; i < n; i++) {
		if ((pkts[i]->flags & VNETRX_PKT_TSTAMP) == 0u)
			set_clock(gro, now);
		i = vnrx_fast_run(gro, pkts, i, n, shape);
		if (i < n)
			shape = receive_one(gro, pkts[i], now, shape, q);
	}
	gro->shape = shape;
	VNRX_CHECK(vnrx_flows_valid(&gro->flows));
}

void vnetrx_gro_expire(struct vnetrx_gro *gro, vnetrx_ns now, struct vnetrx_pktq *q)
{
	const struct vnrx_flows *t = &gro->flows;
	uint32_t slot;

	set_clock(gro, now);
	while ((slot = vnrx_flows_oldest(t)) != t->sentinel && add_ns(t->links[slot].first, gro->hold_max_ns) <= gro->clock)
		leave(gro, slot, VNETRX_LEFT_HOLD, q);
	if (gro->timeout_ns == 0u)
		return;
	while ((slot = vnrx_flows_quietest(t)) != t->sentinel && add_ns(t->links[slot].seen, gro->timeout_ns) <= gro->clock)
		leave(gro, slot, VNETRX_LEFT_TIMEOUT, q);
}

void vnetrx_gro_flush(struct vnetrx_gro *gro, struct vnetrx_pktq *q)
{
	struct vnrx_flows *t = &gro->flows;
	uint32_t next;

	for (uint32_t slot = vnrx_flows_oldest(t); slot != t->sentinel; slot = next) {
		next = t->links[slot].first_next;
		VNRX_PREFETCH(&t->flow[next]); /* the sentinel has none: a prefetch of any address is harmless */
		VNRX_PREFETCH(&t->links[next]);
		finish(gro, slot, VNETRX_LEFT_FLUSH, q);
	}
	vnrx_flows_clear(t);
}

vnetrx_ns vnetrx_gro_deadline(const struct vnetrx_gro *gro)
{
	const struct vnrx_flows *t = &gro->flows;
	vnetrx_ns hold, quiet;

	if (t->held == 0u)
		return VNETRX_NEVER;
	hold = add_ns(t->links[vnrx_flows_oldest(t)].first, gro->hold_max_ns);
	if (gro->timeout_ns == 0u)
		return hold;
	quiet = add_ns(t->links[vnrx_flows_quietest(t)].seen, gro->timeout_ns);
	return quiet < hold ? quiet : hold;
}

unsigned vnetrx_gro_held(const struct vnetrx_gro *gro)
{
	return gro->flows.held;
}

void vnetrx_gro_read_stats(const struct vnetrx_gro *gro, struct vnetrx_gro_stats *stats)
{
	*stats = gro->stats;
	stats->held = gro->flows.held;
}

/* ---- set-up ---- */

/* The configuration with its defaults filled in. */
static const char *complete(const struct vnetrx_gro_config *cfg, struct vnetrx_gro_config *full)
{
	*full = *cfg;
	if (full->flows == 0u)
		full->flows = 64u;
	if (full->bytes_max == 0u)
		full->bytes_max = 65535u;
	if (full->segs_max == 0u)
		full->segs_max = 128u;
	if (full->hold_max_ns == 0u)
		full->hold_max_ns = full->timeout_ns > MS_NS / 64u ? full->timeout_ns * 64u : MS_NS;
	if (cfg->hash_key[0] == 0u && cfg->hash_key[1] == 0u)
		return "hash_key: must be random, both words are zero";
	if (full->flows > VNRX_FLOWS_MAX)
		return "flows: must be 1..65536";
	if (full->bytes_max < 1280u || full->bytes_max > 524280u)
		return "bytes_max: must be 1280..524280";
	if (full->segs_max < 2u || full->segs_max > 65535u)
		return "segs_max: must be 2..65535";
	if ((full->flags & ~(VNETRX_GRO_RFC6864 | VNETRX_GRO_CSUM_BYTES)) != 0u)
		return "flags: unknown bits set";
	if (full->timeout_ns > VNETRX_NEVER / 64u || full->hold_max_ns == VNETRX_NEVER)
		return "timeout_ns, hold_max_ns: out of range";
	return NULL;
}

/* Places everything in mem; with mem->base == NULL only measures. */
static struct vnetrx_gro *place(const struct vnetrx_gro_config *cfg, struct vnrx_mem *mem)
{
	struct vnrx_flows flows;
	struct vnetrx_gro *gro = vnrx_mem_take(mem, 1, sizeof(*gro));

	vnrx_flows_init(&flows, mem, cfg->flows, cfg->hash_key);
	if (mem->base == NULL)
		return NULL;
	memset(gro, 0, sizeof(*gro));
	gro->flows = flows;
	return gro;
}

size_t vnetrx_gro_footprint(const struct vnetrx_gro_config *cfg, const char **why)
{
	struct vnetrx_gro_config full;
	struct vnrx_mem mem = { .base = NULL };
	const char *error = complete(cfg, &full);

	if (why != NULL)
		*why = error;
	if (error != NULL)
		return 0;
	(void)place(&full, &mem);
	return vnrx_mem_total(&mem);
}

int vnetrx_gro_init(struct vnetrx_gro **gro_out, const struct vnetrx_gro_config *cfg, void *mem, size_t mem_size)
{
	struct vnetrx_gro_config full;
	struct vnrx_mem m = { .base = mem, .size = mem_size };
	size_t need = vnetrx_gro_footprint(cfg, NULL);
	struct vnetrx_gro *gro;

	if (need == 0u)
		return VNETRX_ERR_INVALID;
	if (mem_size < need || !vnrx_mem_aligned(mem))
		return VNETRX_ERR_NOMEM;
	(void)complete(cfg, &full);
	gro = place(&full, &m);
	gro->bytes_max = full.bytes_max;
	gro->segs_max = full.segs_max;
	gro->flags = full.flags;
	gro->timeout_ns = full.timeout_ns;
	gro->hold_max_ns = full.hold_max_ns;
	vnrx_fast_init(gro);
	*gro_out = gro;
	return VNETRX_OK;
}
