/* SPDX-License-Identifier: BSD-3-Clause */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "view.h"

struct held {
	struct view       view; /* of the first segment */
	struct model_meta meta;
	unsigned *members;
	unsigned  n;
	size_t    payload;      /* bytes of all segments */
	size_t    bytes;        /* IP total length of the whole */
	bool      id_fixed;     /* known from the second segment on */
	uint64_t  first_seen, last_seen;
	uint64_t  joined;       /* when something last joined, in packets */
};

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

/* May it ever be held or joined? */
static bool holdable(const struct view *v, const struct model_meta *meta, uint32_t bytes_max)
{
	if (v->kind != VIEW_PORTS || !v->tcp)
		return false;
	if (meta->gso_size != 0u || (meta->flags & VNETRX_PKT_RSC) != 0u)
		return false;
	if (v->cut || v->fragment || v->ip_options || v->trailer || !v->ip_csum_ok)
		return false;
	if (v->payload_len == 0u || (v->flags & (FR_SYN | FR_RST | FR_URG | FR_ACK)) != FR_ACK)
		return false;
	if (v->ip_end - v->l3 > bytes_max)
		return false;
	if ((meta->flags & VNETRX_PKT_PARTIAL) != 0u)
		return !meta->wrong_start;
	return v->l4_csum_ok || (meta->flags & VNETRX_PKT_CSUM_OK) != 0u;
}

static bool same_link(const struct view *a, const struct view *b, const struct model_meta *ma,
                      const struct model_meta *mb)
{
	return a->l3 == b->l3 && memcmp(a->bytes, b->bytes, a->l3) == 0 &&
	       (ma->flags & VNETRX_PKT_VLAN) == (mb->flags & VNETRX_PKT_VLAN) && ma->vlan_tci == mb->vlan_tci &&
	       ma->vlan_proto == mb->vlan_proto && (ma->flags & VNETRX_PKT_MARK) == (mb->flags & VNETRX_PKT_MARK) &&
	       ma->mark == mb->mark;
}

static bool same_network(const struct view *a, const struct view *b)
{
	const uint8_t *x = a->bytes + a->l3;
	const uint8_t *y = b->bytes + b->l3;

	if (!a->v6)
		return x[1] == y[1] && x[8] == y[8] && x[6] / 64u == y[6] / 64u; /* TOS, TTL, DF and reserved flag */
	if (memcmp(x, y, 4) != 0 || x[7] != y[7])                                /* class and label, hop limit     */
		return false;
	return a->l4 - a->l3 == b->l4 - b->l3 && x[6] == y[6] && memcmp(x + 40, y + 40, a->l4 - a->l3 - 40u) == 0;
}

static bool same_tcp(const struct view *a, const struct view *b)
{
	const uint8_t *x = a->bytes + a->l4;
	const uint8_t *y = b->bytes + b->l4;
	unsigned closing = FR_PSH | FR_FIN;

	if (fr_get32(x + 8) != fr_get32(y + 8))                     /* ack    */
		return false;
	if ((a->flags | closing) != (b->flags | closing))           /* flags, reserved bits */
		return false;
	if (fr_get16(x + 14) != fr_get16(y + 14))                   /* window */
		return false;
	if (fr_get16(x + 18) != fr_get16(y + 18))                   /* urgent pointer */
		return false;
	return a->payload - a->l4 == b->payload - b->l4 &&          /* options */
	       memcmp(x + 20, y + 20, a->payload - a->l4 - 20u) == 0;
}

static bool next_id(const struct held *h, const struct view *v)
{
	uint16_t first = fr_get16(h->view.bytes + h->view.l3 + 4);
	uint16_t id = fr_get16(v->bytes + v->l3 + 4);

	if (v->v6)
		return true;
	if (h->n == 1u)
		return id == first || id == (uint16_t)(first + 1u);
	return id == (h->id_fixed ? first : (uint16_t)(first + h->n));
}

static bool next_in_line(const struct held *h, const struct view *v)
{
	uint32_t seq = fr_get32(h->view.bytes + h->view.l4 + 4);

	return fr_get32(v->bytes + v->l4 + 4) == (uint32_t)(seq + h->payload) && v->payload_len <= h->view.payload_len;
}

static uint64_t later(uint64_t t, uint64_t ns)
{
	return t + ns < t || t + ns == VNETRX_NEVER ? VNETRX_NEVER - 1u : t + ns;
}

static bool closes(const struct view *v)
{
	return (v->flags & (FR_PSH | FR_FIN)) != 0u;
}

/* The held packet may grow by v; otherwise *why says why the held packet leaves. */
static bool may_join(const struct model *m, const struct held *h, const struct view *v, const struct model_meta *meta,
                     enum vnetrx_reason *why)
{
	*why = VNETRX_LEFT_NEXT;
	if (!same_link(&h->view, v, &h->meta, meta) || !same_network(&h->view, v) || !same_tcp(&h->view, v) ||
	    !next_id(h, v) || !next_in_line(h, v))
		return false;
	*why = VNETRX_LEFT_FULL;
	if (h->bytes + v->payload_len > m->cfg.bytes_max)
		return false;
	*why = VNETRX_LEFT_HOLD;
	return m->now < later(h->first_seen, m->cfg.hold_max_ns);
}

static void join(struct model *m, unsigned i, unsigned number, const struct view *v)
{
	struct held *h = &m->held[i];

	if (h->n == 1u && !v->v6)
		h->id_fixed = fr_get16(v->bytes + v->l3 + 4) == fr_get16(h->view.bytes + h->view.l3 + 4);
	h->members = must(realloc(h->members, (h->n + 1u) * sizeof(*h->members)));
	h->members[h->n++] = number;
	h->payload += v->payload_len;
	h->bytes += v->payload_len;
	h->last_seen = m->now;
	h->joined = m->clock;
	if (closes(v))
		leave(m, i, VNETRX_LEFT_PUSH);
	else if (v->payload_len < h->view.payload_len)
		leave(m, i, VNETRX_LEFT_SHORT);
	else if (h->n == m->cfg.segs_max)
		leave(m, i, VNETRX_LEFT_FULL);
}

static void hold(struct model *m, unsigned number, const struct view *v, const struct model_meta *meta)
{
	struct held *h;
	unsigned oldest = 0;

	for (unsigned i = 1; i < m->nheld; i++) {
		if (m->held[i].joined < m->held[oldest].joined)
			oldest = i;
	}
	if (m->nheld == m->cfg.flows)
		leave(m, oldest, VNETRX_LEFT_EVICTED);
	h = &m->held[m->nheld++];
	memset(h, 0, sizeof(*h));
	h->view = *v;
	h->meta = *meta;
	h->members = must(malloc(sizeof(*h->members)));
	h->members[0] = number;
	h->n = 1;
	h->payload = v->payload_len;
	h->bytes = v->ip_end - v->l3;
	h->first_seen = h->last_seen = m->now;
	h->joined = m->clock;
}

/* The packet cannot be held: whatever it must not overtake leaves first. */
static void push_out(struct model *m, const struct view *v)
{
	for (unsigned i = 0; i < m->nheld;) {
		if (view_same_flow(&m->held[i].view, v) ||
		    (v->kind == VIEW_PAIR && view_same_pair(&m->held[i].view, v)))
			leave(m, i, VNETRX_LEFT_ORDER);
		else
			i++;
	}
}

void model_receive(struct model *m, unsigned number, const uint8_t *bytes, size_t len, const struct model_meta *meta,
                   uint64_t now)
{
	struct view v;
	unsigned i = 0;
	enum vnetrx_reason why;

	if (meta->stamped && meta->stamp < now)
		now = meta->stamp;
	m->now = now > m->now ? now : m->now;
	m->clock++;
	view_frame(&v, bytes, len);
	if (!holdable(&v, meta, m->cfg.bytes_max)) {
		push_out(m, &v);
		pass(m, number);
		return;
	}
	while (i < m->nheld && !view_same_flow(&m->held[i].view, &v))
		i++;
	if (i < m->nheld && may_join(m, &m->held[i], &v, meta, &why)) {
		join(m, i, number, &v);
		return;
	}
	if (i < m->nheld)
		leave(m, i, why);
	if (closes(&v))
		pass(m, number);
	else
		hold(m, number, &v, meta);
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
