/* SPDX-License-Identifier: BSD-3-Clause */
#include "laws.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "reseg.h"

#define NONE 0xffffffffu
#define HEADS 4096u

/* Room for one segment; not allocated each time, which would take most of a fuzzer's time. */
static uint8_t cut[1u << 20];

struct law_in {
	struct view view;
	unsigned flags;
	uint16_t vlan_tci, vlan_proto;
	unsigned next;  /* of its flow */
	bool     out;
};

struct law_flow {
	unsigned first; /* oldest packet of the flow that has not come out, or NONE */
	unsigned last;
	unsigned any;   /* some packet of the flow */
	unsigned next;  /* in the same head */
};

struct laws {
	struct law_in   *in;
	unsigned         n, cap;
	struct law_flow *flow;
	unsigned         nflows, flow_cap;
	unsigned         head[HEADS];
	unsigned        *portless;       /* numbers of those waiting that reached no ports */
	unsigned         nportless, portless_cap;
	unsigned         missing, joined;
	unsigned         base;           /* all packets below have come out */
	struct view_rules rules;
	bool             rfc6864;
	char             text[256];
};

static void *grow(void *p, unsigned *cap, unsigned n, size_t size)
{
	if (n < *cap)
		return p;
	*cap = *cap == 0u ? 64u : *cap * 2u;
	p = realloc(p, *cap * size);
	if (p == NULL)
		abort();
	return p;
}

struct laws *laws_new(void)
{
	struct laws *laws = calloc(1, sizeof(*laws));

	if (laws == NULL)
		abort();
	memset(laws->head, 0xff, sizeof(laws->head));
	laws->rules = view_usual;
	return laws;
}

/* Flows mean something else now: what came out is forgotten. */
static void start_anew(struct laws *laws)
{
	for (unsigned i = 0; i < laws->n; i++) {
		free((void *)(uintptr_t)laws->in[i].view.bytes);
		laws->in[i].view.bytes = NULL;
	}
	memset(laws->head, 0xff, sizeof(laws->head));
	laws->nflows = 0;
}

void laws_rules(struct laws *laws, const struct view_rules *rules, bool rfc6864)
{
	if (laws->missing > 0u)
		abort();
	start_anew(laws);
	laws->rules = rules != NULL ? *rules : view_usual;
	laws->rfc6864 = rfc6864;
}

void laws_free(struct laws *laws)
{
	for (unsigned i = 0; i < laws->n; i++)
		free((void *)(uintptr_t)laws->in[i].view.bytes);
	free(laws->in);
	free(laws->flow);
	free(laws->portless);
	free(laws);
}

/* Everything that reached no ports and shares an address pair is one flow; so is everything without addresses. */
static bool same_queue(const struct view *a, const struct view *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == VIEW_PORTS)
		return view_same_flow(a, b);
	return a->kind == VIEW_OPAQUE || view_same_pair(a, b);
}

static unsigned hash(const struct view *v)
{
	unsigned h = (unsigned)v->kind;

	if (v->kind == VIEW_OPAQUE)
		return 0;
	for (unsigned i = 0; i < 16u; i++)
		h = h * 31u + v->src[i] * 7u + v->dst[i];
	if (v->tunnel)
		h = h * 31u + v->outer.src[3] * 7u + v->outer.src[15] + v->outer.dst[3];
	if (v->kind == VIEW_PORTS)
		h = h * 31u + v->sport * 13u + v->dport + v->proto;
	return h % HEADS;
}

static struct law_flow *find(struct laws *laws, const struct view *v)
{
	for (unsigned i = laws->head[hash(v)]; i != NONE; i = laws->flow[i].next) {
		if (same_queue(&laws->in[laws->flow[i].any].view, v))
			return &laws->flow[i];
	}
	return NULL;
}

static struct law_flow *add_flow(struct laws *laws, const struct view *v, unsigned number)
{
	struct law_flow *flow;

	laws->flow = grow(laws->flow, &laws->flow_cap, laws->nflows, sizeof(*laws->flow));
	flow = &laws->flow[laws->nflows];
	flow->first = flow->last = NONE;
	flow->any = number;
	flow->next = laws->head[hash(v)];
	laws->head[hash(v)] = laws->nflows++;
	return flow;
}

static unsigned in_one(struct laws *laws, const struct law_pkt *pkt)
{
	uint8_t *copy = malloc(pkt->len + 1u);
	struct law_flow *flow;
	struct law_in *in;
	unsigned number = laws->n;

	if (copy == NULL)
		abort();
	memcpy(copy, pkt->bytes, pkt->len);
	laws->in = grow(laws->in, &laws->cap, number, sizeof(*laws->in));
	in = &laws->in[number];
	memset(in, 0, sizeof(*in));
	view_frame_by(&in->view, &laws->rules, copy, pkt->len);
	in->flags = pkt->flags;
	in->vlan_tci = pkt->vlan_tci;
	in->vlan_proto = pkt->vlan_proto;
	in->next = NONE;
	laws->n++;
	laws->missing++;
	flow = find(laws, &in->view);
	if (flow == NULL)
		flow = add_flow(laws, &in->view, number);
	if (flow->first == NONE)
		flow->first = number;
	else
		laws->in[flow->last].next = number;
	flow->last = number;
	if (in->view.kind == VIEW_PAIR) {
		laws->portless = grow(laws->portless, &laws->portless_cap, laws->nportless, sizeof(unsigned));
		laws->portless[laws->nportless++] = number;
	}
	return number;
}

/* Can it be cut as the device says? Then *r is filled; else it is one segment, whatever the device says. */
static bool device_merged(const struct laws *laws, const struct law_pkt *pkt, struct reseg *r)
{
	struct view v;

	if (pkt->gso_size == 0u)
		return false;
	view_frame_by(&v, &laws->rules, pkt->bytes, pkt->len);
	if ((!v.tcp && !v.udp) || v.bad_tunnel || v.payload_len <= pkt->gso_size)
		return false;
	*r = (struct reseg){ .bytes = pkt->bytes, .gso_size = pkt->gso_size, .rules = &laws->rules };
	r->len = view_trimmed(&v);
	r->udp_len_any = true;
	r->segs = (unsigned)((v.payload_len + pkt->gso_size - 1u) / pkt->gso_size);
	return reseg_check(r) == NULL;
}

unsigned laws_in(struct laws *laws, const struct law_pkt *pkt)
{
	struct reseg r;
	struct law_pkt one = *pkt;
	unsigned first = laws->n;

	if (!device_merged(laws, pkt, &r))
		return in_one(laws, pkt);
	one.bytes = cut;
	one.gso_size = 0;
	for (unsigned i = 0; i < r.segs; i++) {
		one.len = reseg_cut(&r, i, cut);
		(void)in_one(laws, &one);
	}
	return first;
}

static const char *broken(struct laws *laws, const char *what, unsigned number)
{
	if (number == NONE)
		snprintf(laws->text, sizeof(laws->text), "%s", what);
	else
		snprintf(laws->text, sizeof(laws->text), "%s (packet %u of the input)", what, number);
	return laws->text;
}

/* A younger packet of the pair must not come out before packet `number`, which came out now. */
static const char *check_pair(struct laws *laws, unsigned number)
{
	const struct view *v = &laws->in[number].view;

	for (unsigned i = 0; i < laws->nportless; i++) {
		unsigned other = laws->portless[i];

		if (other < number && view_covers(&laws->in[other].view, v))
			return broken(laws, "law 2: overtakes a packet without ports of its addresses", other);
	}
	if (v->kind != VIEW_PAIR)
		return NULL;
	for (unsigned i = laws->base; i < number; i++) {
		if (!laws->in[i].out && view_covers(v, &laws->in[i].view))
			return broken(laws, "law 2: a packet without ports overtakes a packet of its addresses", i);
	}
	return NULL;
}

static const char *take(struct laws *laws, struct law_flow *flow)
{
	unsigned number = flow->first;
	struct law_in *in = &laws->in[number];

	flow->first = in->next;
	in->out = true;
	laws->missing--;
	while (laws->base < laws->n && laws->in[laws->base].out)
		laws->base++;
	for (unsigned i = 0; i < laws->nportless; i++) {
		if (laws->portless[i] == number) {
			laws->portless[i] = laws->portless[--laws->nportless];
			break;
		}
	}
	return check_pair(laws, number);
}

/* Had the segment its checksums right, as far as the device did not vouch for them? */
static bool verified(const struct law_in *in)
{
	const struct view *v = &in->view;
	bool inner = v->l4_csum_ok || v->l4_csum_none || (in->flags & LAW_PARTIAL) != 0u;
	bool outer = !v->outer_csum || v->outer_csum_ok || (in->flags & LAW_CSUM_OK) != 0u;
	unsigned vouched = v->udp_tunnel ? LAW_CSUM_INNER : LAW_CSUM_OK;

	return outer && (inner || (in->flags & vouched) != 0u);
}

static void clear_id(uint8_t *ip)
{
	if (ip[0] / 16u == 4u && (ip[6] & 0x40u) != 0u)
		fr_put16(ip + 4, 0);
}

/* A copy of a frame with what a cut recomputes, and what the rules put aside, made the same. */
static uint8_t *normal(const struct laws *laws, const struct view *v, size_t len)
{
	uint8_t *copy = malloc(len + 1u);

	if (copy == NULL)
		abort();
	memcpy(copy, v->bytes, len);
	if (!v->tcp && !v->udp)
		return copy;
	if (laws->rfc6864) {
		clear_id(copy + v->l3);
		if (v->tunnel)
			clear_id(copy + v->outer.l3);
	}
	reseg_csum(&laws->rules, copy, len);
	return copy;
}

static const char *compare(struct laws *laws, const struct law_in *in, unsigned number, const uint8_t *bytes,
			   size_t len, bool merged)
{
	struct view v;
	size_t want = view_trimmed(&in->view);
	size_t from = (in->flags & LAW_SYNTH) != 0u ? in->view.l3 : 0u;
	uint8_t *a, *b;
	bool equal;

	view_frame_by(&v, &laws->rules, bytes, len);
	if (view_trimmed(&v) != want)
		return broken(laws, "law 1: length differs from the segment that came in", number);
	if (!merged)
		return memcmp(in->view.bytes + from, bytes + from, want - from) == 0 ? NULL :
		       broken(laws, "law 1: bytes differ from the packet that came in", number);
	if ((in->view.tcp || in->view.udp) && !verified(in))
		return broken(laws, "law 1: a segment with a wrong checksum was merged", number);
	a = normal(laws, &in->view, want);
	b = normal(laws, &v, want);
	equal = memcmp(a + from, b + from, want - from) == 0;
	free(a);
	free(b);
	return equal ? NULL : broken(laws, "law 1: bytes differ from the segment that came in", number);
}

static const char *check_one(struct laws *laws, const struct law_pkt *pkt, const uint8_t *bytes, size_t len,
			     bool merged)
{
	struct view v;
	struct law_flow *flow;
	struct law_in *in;
	unsigned number;
	const char *why;

	view_frame_by(&v, &laws->rules, bytes, len);
	flow = find(laws, &v);
	if (flow == NULL)
		return broken(laws, "law 1: no packet of this flow ever came in", NONE);
	if (flow->first == NONE)
		return broken(laws, "law 1: more packets of this flow came out than in, see the packet before",
			      flow->last);
	number = flow->first;
	in = &laws->in[number];
	why = compare(laws, in, number, bytes, len, merged);
	if (why == NULL && ((in->flags & LAW_VLAN) != (pkt->flags & LAW_VLAN) || in->vlan_tci != pkt->vlan_tci ||
	                    in->vlan_proto != pkt->vlan_proto))
		why = broken(laws, "law 1: stripped tag differs", number);
	return why != NULL ? why : take(laws, flow);
}

/* Will the tunnel's checksum be right once the inner one is completed? */
static bool completed_ok(const struct view *v)
{
	uint8_t *field = cut + v->l4 + (v->tcp ? 16 : 6);
	size_t len = v->outer.end - v->outer.l4;

	memcpy(cut, v->bytes, v->len);
	fr_put16(field, 0xffffu - fr_sum(0, cut + v->l4, v->ip_end - v->l4));
	return fr_sum(fr_pseudo(cut + v->outer.l3, FR_UDP, (uint32_t)len), cut + v->outer.l4, len) == 0xffffu;
}

/* The checksum fields of a merged packet: the pseudo-header sum with PARTIAL, else right; that of a tunnel right. */
static const char *check_csum(struct laws *laws, const struct law_pkt *pkt, const struct view *v)
{
	if ((pkt->flags & LAW_CSUM_ANY) != 0u)
		return NULL;
	if (v->outer_csum && (pkt->flags & LAW_PARTIAL) == 0u && !v->outer_csum_ok)
		return broken(laws, "law 1: the tunnel's checksum is wrong", NONE);
	if (v->outer_csum && (pkt->flags & LAW_PARTIAL) != 0u && !completed_ok(v))
		return broken(laws, "law 1: the tunnel's checksum will be wrong", NONE);
	if ((pkt->flags & LAW_PARTIAL) != 0u) {
		uint16_t sum = fr_pseudo(v->bytes + v->l3, v->proto, (uint32_t)(v->ip_end - v->l4));

		return fr_get16(v->bytes + v->l4 + (v->tcp ? 16 : 6)) == sum ? NULL :
		       broken(laws, "law 1: checksum field of a merged packet is not its pseudo-header sum", NONE);
	}
	return v->l4_csum_ok || v->l4_csum_none ? NULL
						: broken(laws, "law 1: checksum of a merged packet is wrong", NONE);
}

static const char *out_merged(struct laws *laws, const struct law_pkt *pkt, const struct reseg *r, unsigned first)
{
	struct view_rules rules = laws->rules;
	const char *why = reseg_check(r);
	struct view v;

	if (why != NULL)
		return broken(laws, why, first);
	rules.big = pkt->len > 65535u;
	view_frame_by(&v, &rules, pkt->bytes, pkt->len);
	why = (pkt->flags & LAW_MERGED) != 0u ? check_csum(laws, pkt, &v) : NULL;
	for (unsigned i = 0; why == NULL && i < r->segs; i++) {
		size_t len = reseg_cut(r, i, cut);

		why = check_one(laws, pkt, cut, len, true);
		laws->joined += i > 0u ? 1u : 0u;
	}
	return why;
}

const char *laws_out(struct laws *laws, const struct law_pkt *pkt, unsigned *first)
{
	struct view_rules rules = laws->rules;
	struct law_flow *flow;
	struct reseg r;
	struct view v;

	rules.big = (pkt->flags & LAW_MERGED) != 0u && pkt->len > 65535u;
	view_frame_by(&v, &rules, pkt->bytes, pkt->len);
	flow = find(laws, &v);
	if (first != NULL)
		*first = flow != NULL ? flow->first : NONE;
	if ((pkt->flags & LAW_MERGED) != 0u) {
		r = (struct reseg){ pkt->bytes, pkt->len, pkt->gso_size, pkt->segs, (pkt->flags & LAW_ID_FIXED) != 0u,
			            (pkt->flags & LAW_OUTER_ID_FIXED) != 0u, &laws->rules, false };
	} else if (!device_merged(laws, pkt, &r)) {
		return check_one(laws, pkt, pkt->bytes, pkt->len, false);
	}
	return out_merged(laws, pkt, &r, flow != NULL ? flow->first : NONE);
}

unsigned laws_missing(const struct laws *laws)
{
	return laws->missing;
}

unsigned laws_oldest(const struct laws *laws)
{
	return laws->base;
}

void laws_forget(struct laws *laws)
{
	for (unsigned i = 0; i < laws->n; i++)
		laws->in[i].out = true;
	for (unsigned i = 0; i < laws->nflows; i++)
		laws->flow[i].first = NONE;
	laws->nportless = 0;
	laws->missing = 0;
	laws->base = laws->n;
}

unsigned laws_joined(const struct laws *laws)
{
	return laws->joined;
}
