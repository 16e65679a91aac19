/* SPDX-License-Identifier: BSD-3-Clause */
#include "laws.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "reseg.h"
#include "view.h"

#define NONE 0xffffffffu
#define HEADS 4096u

/* Room for one segment; not allocated each time, which would take most of a fuzzer's time. */
static uint8_t cut[1u << 20];
static uint8_t right[1u << 20];

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
	return laws;
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
		h = h * 31u + v->ip.src[i] * 7u + v->ip.dst[i] + v->outer.src[i] + v->outer.dst[i];
	if (v->kind == VIEW_PORTS)
		h = h * 31u + v->sport * 13u + v->dport + v->ip.proto;
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
	view_frame(&in->view, copy, pkt->len);
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

/* Segments of a packet that the device merged; 1 = it did not. */
static unsigned segments(const struct law_pkt *pkt)
{
	struct view v;

	if (pkt->gso_size == 0u)
		return 1;
	view_frame(&v, pkt->bytes, pkt->len);
	return (v.tcp || v.udp) && v.payload_len > pkt->gso_size ? (unsigned)((v.payload_len + pkt->gso_size - 1u) / pkt->gso_size) : 1u;
}

unsigned laws_in(struct laws *laws, const struct law_pkt *pkt)
{
	struct reseg r = { pkt->bytes, pkt->len, pkt->gso_size, segments(pkt), false, false };
	struct law_pkt one = *pkt;
	unsigned first = laws->n;

	if (r.segs == 1u)
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
		snprintf(laws->text, sizeof(laws->text), "%s (packet %u of the input)", what, number + 1u);
	return laws->text;
}

/* A younger packet of the pair must not come out before packet `number`, which came out now. */
static const char *check_pair(struct laws *laws, unsigned number)
{
	const struct view *v = &laws->in[number].view;

	for (unsigned i = 0; i < laws->nportless; i++) {
		unsigned other = laws->portless[i];

		if (other < number && view_pair_covers(&laws->in[other].view, v))
			return broken(laws, "law 2: overtakes a packet without ports of its addresses", other);
	}
	if (v->kind != VIEW_PAIR)
		return NULL;
	for (unsigned i = laws->base; i < number; i++) {
		if (!laws->in[i].out && view_pair_covers(v, &laws->in[i].view))
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

/* A merged segment's checksums were verified, or the device said so; then the cut has written right ones. */
static const char *verified(struct laws *laws, const struct law_in *in, unsigned number)
{
	const struct view *v = &in->view;
	bool none = v->udp && fr_get16(v->bytes + v->l4 + 6) == 0u;

	if (!v->ip.csum_ok || !view_first(v)->csum_ok)
		return broken(laws, "law 1: a segment with a wrong IPv4 header checksum was merged", number);
	if (!v->l4_csum_ok && !none && (in->flags & (LAW_CSUM_OK | LAW_PARTIAL)) == 0u)
		return broken(laws, "law 1: a segment with a wrong checksum was merged", number);
	return NULL;
}

static const char *compare(struct laws *laws, const struct law_in *in, unsigned number, const uint8_t *bytes, size_t len,
                           bool merged)
{
	struct view v;
	size_t want = view_trimmed(&in->view);
	size_t from = (in->flags & LAW_SYNTH) != 0u ? view_first(&in->view)->l3 : 0u;
	const char *why = merged ? verified(laws, in, number) : NULL;

	view_frame(&v, bytes, len);
	if (why != NULL)
		return why;
	if (view_trimmed(&v) != want)
		return broken(laws, "law 1: length differs from the segment that came in", number);
	memcpy(right, in->view.bytes, want);
	if (merged && (in->flags & (LAW_CSUM_OK | LAW_PARTIAL)) != 0u)
		reseg_csum(right, want);
	if (memcmp(right + from, bytes + from, want - from) != 0)
		return broken(laws, "law 1: bytes differ from the segment that came in", number);
	return NULL;
}

static const char *check_one(struct laws *laws, const struct law_pkt *pkt, const uint8_t *bytes, size_t len, bool merged)
{
	struct view v;
	struct law_flow *flow;
	struct law_in *in;
	unsigned number;
	const char *why;

	view_frame(&v, bytes, len);
	flow = find(laws, &v);
	if (flow == NULL)
		return broken(laws, "law 1: no packet of this flow ever came in", NONE);
	if (flow->first == NONE)
		return broken(laws, "law 1: more packets of this flow came out than in, see the packet before", flow->last);
	number = flow->first;
	in = &laws->in[number];
	why = compare(laws, in, number, bytes, len, merged);
	if (why == NULL && ((in->flags & LAW_VLAN) != (pkt->flags & LAW_VLAN) || in->vlan_tci != pkt->vlan_tci ||
	                    in->vlan_proto != pkt->vlan_proto))
		why = broken(laws, "law 1: stripped tag differs", number);
	return why != NULL ? why : take(laws, flow);
}

/* The checksum fields of a merged packet: the pseudo-header sum with PARTIAL, else right; the one of a tunnel's UDP header
 * is right once the inner one is. */
static const char *check_csum(struct laws *laws, const struct law_pkt *pkt)
{
	struct view v;
	size_t at;

	if ((pkt->flags & LAW_CSUM_ANY) != 0u)
		return NULL;
	view_frame(&v, pkt->bytes, pkt->len);
	at = v.l4 + (v.tcp ? 16u : 6u);
	memcpy(right, pkt->bytes, pkt->len);
	reseg_csum(right, pkt->len);
	if ((pkt->flags & LAW_PARTIAL) != 0u)
		fr_put16(right + at, fr_pseudo(v.bytes + v.ip.l3, v.ip.proto, (uint32_t)(v.ip.end - v.l4)));
	if (memcmp(right, pkt->bytes, v.payload) != 0)
		return broken(laws, "law 1: a checksum field of a merged packet is wrong", NONE);
	return NULL;
}

const char *laws_out(struct laws *laws, const struct law_pkt *pkt, unsigned *first)
{
	struct reseg r = { pkt->bytes, pkt->len, pkt->gso_size, pkt->segs, (pkt->flags & LAW_ID_FIXED) != 0u,
	                   (pkt->flags & LAW_OUTER_ID_FIXED) != 0u };
	struct law_flow *flow;
	struct view v;
	const char *why;

	view_frame(&v, pkt->bytes, pkt->len);
	flow = find(laws, &v);
	if (first != NULL)
		*first = flow != NULL ? flow->first : NONE;
	if ((pkt->flags & LAW_MERGED) == 0u && segments(pkt) == 1u)
		return check_one(laws, pkt, pkt->bytes, pkt->len, false);
	why = reseg_check(&r);
	if (why != NULL)
		return broken(laws, why, first != NULL ? *first : NONE);
	why = (pkt->flags & LAW_MERGED) != 0u ? check_csum(laws, pkt) : NULL;
	for (unsigned i = 0; why == NULL && i < pkt->segs; i++) {
		size_t len = reseg_cut(&r, i, cut);

		why = check_one(laws, pkt, cut, len, true);
		laws->joined += i > 0u ? 1u : 0u;
	}
	return why;
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
