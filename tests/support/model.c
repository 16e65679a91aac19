/* SPDX-License-Identifier: BSD-3-Clause */
#include "model_rules.h"

#include <stdlib.h>
#include <string.h>

#include "frames.h"

struct model {
	struct model_cfg  cfg;
	struct held      *held;
	unsigned          nheld;
	struct model_out *out, *taken;
	unsigned          nout, ntaken, cap, taken_cap;
	uint64_t          now, clock;
};

static void *must(void *p)
{
	if (p == NULL)
		abort();
	return p;
}

struct model *model_new(const struct model_cfg *cfg)
{
	struct model *m = must(calloc(1, sizeof(*m)));

	m->cfg = *cfg;
	m->held = must(calloc(cfg->flows, sizeof(*m->held)));
	return m;
}

static void free_outs(struct model_out *out, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free(out[i].members);
}

void model_free(struct model *m)
{
	for (unsigned i = 0; i < m->nheld; i++)
		free(m->held[i].members);
	free_outs(m->out, m->nout);
	free_outs(m->taken, m->ntaken);
	free(m->out);
	free(m->taken);
	free(m->held);
	free(m);
}

static void emit(struct model *m, unsigned *members, unsigned n, enum vnetrx_reason reason)
{
	if (m->nout == m->cap) {
		m->cap = m->cap * 2u + 16u;
		m->out = must(realloc(m->out, m->cap * sizeof(*m->out)));
	}
	m->out[m->nout].members = members;
	m->out[m->nout].n = n;
	m->out[m->nout].reason = reason;
	m->nout++;
}

static void leave(struct model *m, unsigned i, enum vnetrx_reason reason)
{
	emit(m, m->held[i].members, m->held[i].n, reason);
	m->nheld--;
	memmove(&m->held[i], &m->held[i + 1u], (m->nheld - i) * sizeof(m->held[0]));
}

static void pass(struct model *m, unsigned number)
{
	unsigned *members = must(malloc(sizeof(*members)));

	members[0] = number;
	emit(m, members, 1, VNETRX_LEFT_PASSED);
}

static uint64_t later(uint64_t t, uint64_t ns)
{
	return t + ns < t || t + ns == VNETRX_NEVER ? VNETRX_NEVER - 1u : t + ns;
}

/* The held packet may grow by s; otherwise *why says why the held packet leaves. */
static bool may_join(const struct model *m, const struct held *h, const struct seg *s, enum vnetrx_reason *why)
{
	*why = VNETRX_LEFT_NEXT;
	if (!model_same(h, s))
		return false;
	*why = VNETRX_LEFT_FULL;
	if (!model_fits(&m->cfg, h, s))
		return false;
	*why = VNETRX_LEFT_HOLD;
	return m->now < later(h->first_seen, m->cfg.hold_max_ns);
}

static void join(struct model *m, unsigned i, const struct seg *s)
{
	const struct view *v = &s->view;
	struct held *h = &m->held[i];

	if (!v->v6)
		model_id_join(&h->id, v->bytes + v->l3, s->count);
	if (v->tunnel && !v->outer.v6)
		model_id_join(&h->outer_id, v->bytes + v->outer.l3, s->count);
	h->members = must(realloc(h->members, (h->n + 1u) * sizeof(*h->members)));
	h->members[h->n++] = s->number;
	h->segs += s->count;
	h->payload += v->payload_len;
	h->bytes += v->payload_len;
	h->last_seen = m->now;
	h->joined = m->clock;
	if (model_closes(v))
		leave(m, i, VNETRX_LEFT_PUSH);
	else if (v->payload_len != s->count * h->mss)
		leave(m, i, VNETRX_LEFT_SHORT);
	else if (h->segs >= model_segs_max(&m->cfg, v))
		leave(m, i, VNETRX_LEFT_FULL);
}

static void make_room(struct model *m)
{
	unsigned oldest = 0;

	for (unsigned i = 1; i < m->nheld; i++) {
		if (m->held[i].joined < m->held[oldest].joined)
			oldest = i;
	}
	if (m->nheld == m->cfg.flows)
		leave(m, oldest, VNETRX_LEFT_EVICTED);
}

static bool is_split(const struct seg *s)
{
	return s->meta.split != 0u && s->meta.split < s->view.payload;
}

static bool room_to_gather(const struct model *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->nheld; i++)
		n += m->held[i].split ? 1u : 0u;
	return n < MODEL_SPLIT_MAX;
}

static void hold(struct model *m, const struct seg *s)
{
	const struct view *v = &s->view;
	struct held *h;

	make_room(m);
	if (is_split(s) && !room_to_gather(m)) {
		pass(m, s->number);
		return;
	}
	h = &m->held[m->nheld++];
	memset(h, 0, sizeof(*h));
	h->view = *v;
	h->meta = s->meta;
	h->members = must(malloc(sizeof(*h->members)));
	h->members[0] = s->number;
	h->n = 1;
	h->segs = s->count;
	h->mss = s->unit;
	h->payload = v->payload_len;
	h->bytes = v->end - model_first_l3(v);
	h->split = is_split(s);
	if (!v->v6)
		h->id = model_ids_open(&m->cfg, v->bytes + v->l3, s->count);
	if (v->tunnel && !v->outer.v6)
		h->outer_id = model_ids_open(&m->cfg, v->bytes + v->outer.l3, s->count);
	h->first_seen = h->last_seen = m->now;
	h->joined = m->clock;
}

/* The packet cannot be held: whatever it must not overtake leaves first. */
static void push_out(struct model *m, const struct view *v)
{
	for (unsigned i = 0; i < m->nheld;) {
		if (view_same_flow(&m->held[i].view, v) || (v->kind == VIEW_PAIR && view_covers(v, &m->held[i].view)))
			leave(m, i, VNETRX_LEFT_ORDER);
		else
			i++;
	}
}

void model_receive(struct model *m, unsigned number, const uint8_t *bytes, size_t len, const struct model_meta *meta,
                   uint64_t now)
{
	struct seg s = { .meta = *meta, .number = number };
	enum vnetrx_reason why = VNETRX_LEFT_NEXT;
	unsigned i = 0;

	if (meta->stamped && meta->stamp < now)
		now = meta->stamp;
	m->now = now > m->now ? now : m->now;
	m->clock++;
	view_frame_by(&s.view, &m->cfg.rules, bytes, len);
	model_measure(&s);
	if (!model_holdable(&m->cfg, &s)) {
		push_out(m, &s.view);
		pass(m, number);
		return;
	}
	while (i < m->nheld && !view_same_flow(&m->held[i].view, &s.view))
		i++;
	if (i < m->nheld && may_join(m, &m->held[i], &s, &why)) {
		join(m, i, &s);
		return;
	}
	if (i < m->nheld)
		leave(m, i, why);
	if (model_closes(&s.view) || s.view.payload_len < m->cfg.payload_min ||
	    s.view.payload_len != s.count * s.unit)
		pass(m, number);
	else
		hold(m, &s);
}

static uint64_t due(const struct model *m, const struct held *h)
{
	uint64_t hold = later(h->first_seen, m->cfg.hold_max_ns);
	uint64_t quiet = later(h->last_seen, m->cfg.timeout_ns);

	return m->cfg.timeout_ns != 0u && quiet < hold ? quiet : hold;
}

void model_expire(struct model *m, uint64_t now)
{
	m->now = now > m->now ? now : m->now;
	for (unsigned i = 0; i < m->nheld;) {
		uint64_t hold = later(m->held[i].first_seen, m->cfg.hold_max_ns);

		if (due(m, &m->held[i]) <= m->now)
			leave(m, i, m->now >= hold ? VNETRX_LEFT_HOLD : VNETRX_LEFT_TIMEOUT);
		else
			i++;
	}
}

void model_flush(struct model *m)
{
	while (m->nheld > 0u)
		leave(m, 0, VNETRX_LEFT_FLUSH);
}

void model_protos(struct model *m, uint32_t protos)
{
	model_flush(m);
	m->cfg.protos = protos;
	m->cfg.rules.tunnels = (protos & VNETRX_GRO_TUNNEL) != 0u;
}

uint64_t model_deadline(const struct model *m)
{
	uint64_t min = VNETRX_NEVER;

	for (unsigned i = 0; i < m->nheld; i++) {
		if (due(m, &m->held[i]) < min)
			min = due(m, &m->held[i]);
	}
	return min;
}

unsigned model_held(const struct model *m)
{
	return m->nheld;
}

static unsigned index_of(const struct model *m, unsigned first)
{
	unsigned i = 0;

	while (i < m->nheld && m->held[i].members[0] != first)
		i++;
	return i;
}

bool model_holds(const struct model *m, unsigned number)
{
	return index_of(m, number) < m->nheld;
}

bool model_force(struct model *m, unsigned first, enum vnetrx_reason reason, bool any)
{
	unsigned i = index_of(m, first);

	if (i == m->nheld)
		return false;
	for (unsigned k = 0; k < m->nheld && !any; k++) {
		if (m->held[k].last_seen < m->held[i].last_seen)
			return false;
	}
	leave(m, i, reason);
	return true;
}

static int by_first(const void *a, const void *b)
{
	unsigned x = ((const struct model_out *)a)->members[0];
	unsigned y = ((const struct model_out *)b)->members[0];

	return x < y ? -1 : x > y ? 1 : 0;
}

unsigned model_take(struct model *m, const struct model_out **out)
{
	struct model_out *spare = m->taken;
	unsigned spare_cap = m->taken_cap;

	free_outs(m->taken, m->ntaken);
	m->taken = m->out;
	m->ntaken = m->nout;
	m->taken_cap = m->cap;
	m->out = spare;
	m->cap = spare_cap;
	m->nout = 0;
	if (m->ntaken > 1u)
		qsort(m->taken, m->ntaken, sizeof(*m->taken), by_first);
	*out = m->taken;
	return m->ntaken;
}
