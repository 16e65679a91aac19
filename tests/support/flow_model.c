/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "gro/lists.h"
#include "mem.h"

#define NONE UINT32_MAX

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort(); \
		} \
	} while (0)

static bool in_tunnel(uint32_t number)
{
	return number % 5u == 4u;
}

/* Headers of a flow: IPv4 and ports, in IPv4 when in a tunnel. */
static void header(uint32_t number, uint8_t *hdr)
{
	uint8_t *ip = hdr + 14;

	memset(hdr, 0, 64);
	if (in_tunnel(number)) {
		ip[0] = 0x45;
		fr_put32(ip + 12, number % 3u);
		fr_put32(ip + 16, 7);
		ip += 20;
	}
	ip[0] = 0x45;
	fr_put32(ip + 12, number / 4u);
	fr_put32(ip + 16, number % 4u);
	fr_put32(ip + 20, number * 2654435761u);
}

static void layout(uint32_t number, struct vnrx_dissect *d)
{
	memset(d, 0, sizeof(*d));
	d->ip.l3 = 14;
	d->ip.version = 4;
	if (in_tunnel(number)) {
		d->outer = d->ip;
		d->outer.l4 = 34;
		d->ip.l3 = 34;
	}
	d->l4 = d->ip.l4 = d->ip.l3 + 20u;
	d->proto = FR_TCP;
	d->reach = VNRX_REACH_PORTS;
}

static void hash(const struct flow_model *m, uint32_t number, struct vnrx_hash *h)
{
	struct vnrx_dissect d;
	uint8_t hdr[64];

	header(number, hdr);
	layout(number, &d);
	vnrx_flows_hash(&m->t, hdr, &d, h);
}

void flow_model_init(struct flow_model *m, uint32_t held_max, const uint64_t key[2])
{
	struct vnrx_mem mem = { .base = NULL };
	struct vnrx_flows measured;

	memset(m, 0, sizeof(*m));
	vnrx_flows_init(&measured, &mem, held_max, key);
	m->mem_size = vnrx_mem_total(&mem);
	MUST(m->mem_size > 0u);
	m->mem = aligned_alloc(64, m->mem_size);
	MUST(m->mem != NULL);
	memset(m->mem, 0xa5, m->mem_size);
	mem = (struct vnrx_mem){ .base = m->mem, .size = m->mem_size };
	vnrx_flows_init(&m->t, &mem, held_max, key);
	MUST(vnrx_mem_total(&mem) == m->mem_size);
	m->entry = calloc(held_max, sizeof(*m->entry));
	m->slot_owner = malloc(m->t.sentinel * sizeof(*m->slot_owner));
	MUST(m->entry != NULL && m->slot_owner != NULL);
	memset(m->slot_owner, 0xff, m->t.sentinel * sizeof(*m->slot_owner));
}

void flow_model_fini(struct flow_model *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free(m->entry[i].hdr);
	free(m->entry);
	free(m->slot_owner);
	free(m->mem);
}

uint32_t flow_model_find(struct flow_model *m, uint32_t number)
{
	struct vnrx_dissect d;
	struct vnrx_hash h;
	uint8_t hdr[64];
	uint32_t slot, index;

	header(number, hdr);
	layout(number, &d);
	hash(m, number, &h);
	slot = vnrx_flows_find(&m->t, hdr, &d, h.flow);
	if (slot == VNRX_FLOW_NONE) {
		for (uint32_t i = 0; i < m->n && m->t.held_max <= 256u; i++)
			MUST(m->entry[i].number != number);
		return NONE;
	}
	MUST(slot < m->t.sentinel);
	index = m->slot_owner[slot];
	MUST(index < m->n && m->entry[index].number == number && m->entry[index].slot == slot);
	return index;
}

static uint32_t entry_of_slot(const struct flow_model *m, uint32_t slot)
{
	MUST(m->slot_owner[slot] < m->n);
	return m->slot_owner[slot];
}

/* The slot that is to be emptied must be the one of its set that was joined longest ago. */
static void check_victim(const struct flow_model *m, uint32_t victim)
{
	uint32_t set = victim - victim % VNRX_WAYS;

	for (uint32_t slot = set; slot < set + VNRX_WAYS; slot++)
		MUST(m->entry[entry_of_slot(m, slot)].seen >= m->entry[entry_of_slot(m, victim)].seen);
}

static void fill_record(struct flow_model *m, struct flow_entry *e)
{
	struct vnrx_flow *f = &m->t.flow[e->slot];
	struct vnrx_dissect d;

	e->hdr = malloc(64);
	MUST(e->hdr != NULL);
	header(e->number, e->hdr);
	layout(e->number, &d);
	memset(f, 0, sizeof(*f));
	f->hdr = e->hdr;
	f->l3 = (uint8_t)d.ip.l3;
	f->l4 = (uint8_t)d.l4;
	f->kind = in_tunnel(e->number) ? VNRX_KIND_TUNNEL : 0;
	m->t.links[e->slot].outer_l3 = (uint8_t)d.outer.l3;
}

static void add(struct flow_model *m, uint32_t number, unsigned wait)
{
	struct flow_entry *e;
	struct vnrx_hash h;
	uint32_t slot;
	bool taken;

	hash(m, number, &h);
	slot = vnrx_flows_place(&m->t, h.flow, &taken);
	MUST(slot / VNRX_WAYS == vnrx_hash_set(&m->t, h.flow));
	MUST(taken == (m->slot_owner[slot] != NONE));
	if (taken) {
		check_victim(m, slot);
		flow_model_del(m, entry_of_slot(m, slot));
		m->evicted++;
	} else if (m->n == m->t.held_max) {
		flow_model_del(m, (uint32_t)(m->ops % m->n));
	}
	e = &m->entry[m->n];
	*e = (struct flow_entry){
		.number = number, .slot = slot, .wait = wait, .touched = m->ops, .added = m->ops, .seen = m->now
	};
	m->slot_owner[slot] = m->n++;
	fill_record(m, e);
	if (!in_tunnel(number))
		h.outer = VNRX_FLOW_NONE;
	vnrx_flows_add(&m->t, slot, &h, m->now, wait);
}

void flow_model_put(struct flow_model *m, uint32_t number, unsigned wait)
{
	uint32_t index = flow_model_find(m, number);
	struct flow_entry *e;

	m->ops++;
	if (index == NONE) {
		add(m, number, wait);
		return;
	}
	e = &m->entry[index];
	e->touched = m->ops;
	e->seen = m->now;
	e->wait = wait;
	vnrx_flows_touch(&m->t, e->slot, m->now, wait);
}

void flow_model_del(struct flow_model *m, uint32_t index)
{
	struct flow_entry *e = &m->entry[index];

	vnrx_flows_del(&m->t, e->slot);
	m->slot_owner[e->slot] = NONE;
	memset(&m->t.flow[e->slot], 0x5a, sizeof(m->t.flow[0])); /* what is free may be anything */
	free(e->hdr);
	*e = m->entry[--m->n];
	if (index < m->n)
		m->slot_owner[e->slot] = index;
}

void flow_model_clear(struct flow_model *m)
{
	for (uint32_t s = vnrx_flows_oldest(&m->t); s != m->t.sentinel; s = m->t.links[s].first_next)
		vnrx_flows_forget(&m->t, s);
	vnrx_flows_empty(&m->t);
	for (uint32_t i = 0; i < m->n; i++) {
		m->slot_owner[m->entry[i].slot] = NONE;
		free(m->entry[i].hdr);
	}
	m->n = 0;
}

/* ---- the walk ---- */

static const char *check_seen(const struct flow_model *m)
{
	uint32_t n = 0;

	for (unsigned wait = 0; wait < VNRX_WAITS; wait++) {
		uint64_t last = 0;

		for (uint32_t s = vnrx_flows_quietest(&m->t, wait); s < m->t.sentinel;
		     s = m->t.links[s].seen_next, n++) {
			const struct flow_entry *e = m->slot_owner[s] < m->n ? &m->entry[m->slot_owner[s]] : NULL;

			if (e == NULL || n >= m->n)
				return "a slot that is not held is in a seen list";
			if (e->wait != wait || e->touched < last || m->t.links[s].seen != e->seen)
				return "a seen list is not in order";
			last = e->touched;
		}
	}
	return n == m->n ? NULL : "a held slot is in no seen list";
}

static const char *check_first(const struct flow_model *m)
{
	uint64_t last = 0;
	uint32_t n = 0;

	for (uint32_t s = vnrx_flows_oldest(&m->t); s != m->t.sentinel; s = m->t.links[s].first_next, n++) {
		const struct flow_entry *e = m->slot_owner[s] < m->n ? &m->entry[m->slot_owner[s]] : NULL;

		if (e == NULL || n >= m->n)
			return "a slot that is not held is in the list of first segments";
		if (e->added < last)
			return "the list of first segments is not in order";
		last = e->added;
	}
	return n == m->n ? NULL : "a held slot is not in the list of first segments";
}

static const char *check_buckets(const struct flow_model *m, unsigned by)
{
	uint32_t n = 0, want = 0;
	struct vnrx_hash h;

	for (uint32_t b = 0; b < m->t.pairs; b++) {
		for (uint32_t s = m->t.bucket[by][b]; s != VNRX_FLOW_NONE; s = m->t.links[s].hook[by].next, n++) {
			if (s >= m->t.sentinel || m->slot_owner[s] >= m->n || n >= m->n)
				return "a slot that is not held is in a bucket";
			hash(m, m->entry[m->slot_owner[s]].number, &h);
			if ((by == VNRX_PAIR ? h.pair : h.outer) != b)
				return "a slot is in another's bucket";
		}
	}
	for (uint32_t i = 0; i < m->n; i++)
		want += by == VNRX_PAIR || in_tunnel(m->entry[i].number) ? 1u : 0u;
	return n == want ? NULL : "a held slot is in no bucket";
}

static const char *check_tags(const struct flow_model *m)
{
	struct vnrx_hash h;

	for (uint32_t s = 0; s < m->t.sentinel; s++) {
		unsigned tag = (unsigned)(m->t.tags[s / VNRX_WAYS] >> s % VNRX_WAYS * 8u & 0xffu);

		if (m->slot_owner[s] == NONE) {
			if (tag != 0u)
				return "a free slot has a tag";
			continue;
		}
		hash(m, m->entry[m->slot_owner[s]].number, &h);
		if (tag != vnrx_hash_tag(h.flow))
			return "a tag is not that of its flow";
	}
	return NULL;
}

const char *flow_model_check(const struct flow_model *m)
{
	const char *why = m->t.held == m->n ? NULL : "the number held differs";

	if (why == NULL && !vnrx_flows_valid(&m->t))
		why = "the table's own walk fails";
	if (why == NULL)
		why = check_tags(m);
	if (why == NULL)
		why = check_seen(m);
	if (why == NULL)
		why = check_first(m);
	for (unsigned by = 0; by < 2u && why == NULL; by++)
		why = check_buckets(m, by);
	return why;
}
