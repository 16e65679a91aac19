/* SPDX-License-Identifier: BSD-3-Clause */
#include "flush_wire.h"

#include <stdlib.h>

#include "bench.h"

#define PUSH_ONE_IN 4u /* trains end with PSH */
#define LANES_MAX   64u
#define START_NS    1000000u

static void *grown(void *old, size_t size)
{
	void *mem = realloc(old, size);

	if (mem == NULL)
		bench_die("out of memory");
	return mem;
}

struct lane {
	uint32_t flow;
	uint32_t left;  /* packets of its train */
	uint32_t gap;
	bool     push;
};

struct wire {
	const struct flush_case *c;
	struct arrivals *queues;
	uint32_t rnd;
	uint32_t order[2][FLUSH_FLOWS]; /* flows of each kind, shuffled */
	uint32_t kinds[2];              /* how many there are           */
	uint32_t at[2];                 /* next in order                */
	uint32_t trains_left[2];
	uint32_t sent[FLUSH_FLOWS + 1u];
	bool     active[FLUSH_FLOWS];
	struct lane lane[LANES_MAX];
	vnetrx_ns period_at;            /* of the next request          */
	vnetrx_ns request_at;
};

static uint32_t draw(struct wire *w, uint32_t below)
{
	w->rnd ^= w->rnd << 13;
	w->rnd ^= w->rnd >> 17;
	w->rnd ^= w->rnd << 5;
	return (uint32_t)((uint64_t)w->rnd * below >> 32);
}

static void shuffle(struct wire *w, unsigned kind)
{
	uint32_t *order = w->order[kind];

	for (uint32_t i = w->kinds[kind]; i > 1u; i--) {
		uint32_t j = draw(w, i);
		uint32_t t = order[i - 1u];

		order[i - 1u] = order[j];
		order[j] = t;
	}
}

/* The next flow in order that sends nothing now: a flow's trains follow each other. */
static uint32_t next_flow(struct wire *w, unsigned kind)
{
	uint32_t *order = w->order[kind];
	uint32_t at = w->at[kind]++ % w->kinds[kind];
	uint32_t i, t;

	if (at == 0u && w->c->shuffled)
		shuffle(w, kind);
	for (i = at; i + 1u < w->kinds[kind] && w->active[order[i]]; i++)
		;
	t = order[i];
	order[i] = order[at];
	order[at] = t;
	return t;
}

static void start_train(struct wire *w, struct lane *l, unsigned kind)
{
	l->flow = next_flow(w, kind);
	if (w->active[l->flow])
		bench_die("every flow of a kind is busy");
	w->active[l->flow] = true;
	w->trains_left[kind]--;
	l->left = FLUSH_TRAIN;
	l->push = draw(w, PUSH_ONE_IN) == 0u;
}

/* The next packet of a flow arrives. */
static struct arrival *put(struct wire *w, uint32_t flow, vnetrx_ns at)
{
	struct arrivals *q = &w->queues[flow % FLUSH_QUEUES];
	uint32_t nth = w->sent[flow]++;

	if (q->count == q->size) {
		q->size = q->size * 2u + 1024u;
		q->list = grown(q->list, q->size * sizeof(*q->list));
	}
	if (nth % 1024u == 0u)
		q->of_flow[flow] = grown(q->of_flow[flow], (nth + 1024u) * sizeof(uint32_t));
	q->of_flow[flow][nth] = q->count;
	q->list[q->count] = (struct arrival){ .at = at, .flow = flow, .nth = nth };
	return &q->list[q->count++];
}

static void put_train(struct wire *w, struct lane *l, vnetrx_ns at)
{
	struct arrival *a = put(w, l->flow, at);

	l->left--;
	a->gap = l->gap;
	a->tail = l->left == 0u;
	a->push = l->left == 0u && l->push;
	if (l->left == 0u)
		w->active[l->flow] = false;
}

/* Requests that came before `until`: at random times, no two in one period. */
static void put_requests(struct wire *w, vnetrx_ns until)
{
	while (w->c->rpc_ns != 0u && w->request_at < until) {
		put(w, FLUSH_RPC, w->request_at)->push = true;
		w->period_at += w->c->rpc_ns;
		w->request_at = w->period_at + draw(w, (uint32_t)w->c->rpc_ns);
	}
}

/* Which lane a slot belongs to: all in turn, or the first ones in every second and the slow ones in the others. */
static uint32_t lane_of(const struct flush_case *c, uint64_t slot)
{
	if (c->slow == 0u)
		return (uint32_t)(slot % c->trains);
	return (uint32_t)(slot % 2u == 0u ? slot / 2u % c->trains : c->trains + slot / 2u % c->slow);
}

static void set_kinds(struct wire *w, uint32_t rounds)
{
	const struct flush_case *c = w->c;

	w->kinds[0] = c->slow != 0u ? FLUSH_FLOWS / 2u : FLUSH_FLOWS;
	w->kinds[1] = FLUSH_FLOWS - w->kinds[0];
	for (uint32_t f = 0; f < FLUSH_FLOWS; f++)
		w->order[f >= w->kinds[0]][f % w->kinds[0]] = f;
	w->trains_left[0] = w->kinds[0] * rounds;
	w->trains_left[1] = w->kinds[1] * rounds;
	for (uint32_t i = 0; i < c->trains + c->slow; i++)
		w->lane[i].gap = c->slot_ns * (c->slow == 0u ? c->trains : 2u * (i < c->trains ? c->trains : c->slow));
}

void flush_wire(const struct flush_case *c, uint32_t rounds, struct arrivals *queues)
{
	struct wire w = { .c = c, .queues = queues, .rnd = 2463534242u, .period_at = START_NS, .request_at = START_NS };
	uint32_t lanes = c->trains + c->slow, idle = 0;
	uint64_t slot = 0;

	set_kinds(&w, rounds);
	while (idle < 2u * lanes) {
		uint32_t n = lane_of(c, slot);
		struct lane *l = &w.lane[n];
		vnetrx_ns at = START_NS + slot * c->slot_ns;
		vnetrx_ns late = (vnetrx_ns)draw(&w, c->slot_ns) * c->jitter / 100u;

		if (l->left == 0u && w.trains_left[n >= c->trains] > 0u)
			start_train(&w, l, n >= c->trains);
		idle = l->left == 0u ? idle + 1u : 0u;
		put_requests(&w, at);
		if (l->left != 0u)
			put_train(&w, l, at + late);
		slot++;
	}
}

void flush_wire_free(struct arrivals *queue)
{
	free(queue->list);
	for (unsigned f = 0; f <= FLUSH_FLOWS; f++)
		free(queue->of_flow[f]);
}
