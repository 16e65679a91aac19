/* SPDX-License-Identifier: BSD-3-Clause */
/* Into the table, through its lists, and out of it. Inline, because the short way does it for many packets. */
#ifndef VNRX_LISTS_H
#define VNRX_LISTS_H

#include "flow.h"

/* ---- the parts ---- */

/* The unit of each way's byte in a word of tags: a multiplication by it needs no shift by a variable, which would be a
 * library call on small machines. */
static const uint64_t vnrx_way_unit[VNRX_WAYS] = {
	0x0000000000000001u, 0x0000000000000100u, 0x0000000000010000u, 0x0000000001000000u,
	0x0000000100000000u, 0x0000010000000000u, 0x0001000000000000u, 0x0100000000000000u,
};

static VNRX_INLINE void vnrx_set_tag(struct vnrx_flows *t, uint32_t slot, uint64_t tag)
{
	uint64_t *tags = &t->tags[slot / VNRX_WAYS];
	uint64_t unit = vnrx_way_unit[slot % VNRX_WAYS];

	*tags = (*tags & ~(unit * 0xffu)) | unit * tag;
}

static VNRX_INLINE void vnrx_seen_append(struct vnrx_flows *t, uint32_t slot, unsigned wait)
{
	uint32_t sentinel = t->sentinel + wait;
	struct vnrx_links *end = &t->links[sentinel];
	struct vnrx_links *l = &t->links[slot];
	uint32_t prev = end->seen_prev;

	l->wait = (uint8_t)wait;
	l->seen_prev = prev;
	l->seen_next = sentinel;
	t->links[prev].seen_next = slot;
	end->seen_prev = slot;
}

static VNRX_INLINE void vnrx_seen_remove(struct vnrx_flows *t, const struct vnrx_links *l)
{
	uint32_t prev = l->seen_prev, next = l->seen_next;

	t->links[prev].seen_next = next;
	t->links[next].seen_prev = prev;
}

static VNRX_INLINE uint32_t vnrx_bucket_ref(const struct vnrx_flows *t, uint32_t bucket)
{
	return t->sentinel + VNRX_WAITS + bucket;
}

static VNRX_INLINE void vnrx_hook_push(struct vnrx_flows *t, uint32_t slot, unsigned by, uint32_t bucket)
{
	struct vnrx_hook *hook = &t->links[slot].hook[by];
	uint32_t *first = &t->bucket[by][bucket];
	uint32_t next = *first;

	hook->prev = vnrx_bucket_ref(t, bucket);
	hook->next = next;
	*first = slot;
	if (next != VNRX_FLOW_NONE)
		t->links[next].hook[by].prev = slot;
}

static VNRX_INLINE void vnrx_hook_remove(struct vnrx_flows *t, const struct vnrx_links *l, unsigned by)
{
	uint32_t prev = l->hook[by].prev, next = l->hook[by].next;

	if (prev == VNRX_FLOW_NONE)
		return;
	if (prev >= vnrx_bucket_ref(t, 0))
		t->bucket[by][prev - vnrx_bucket_ref(t, 0)] = next;
	else
		t->links[prev].hook[by].next = next;
	if (next != VNRX_FLOW_NONE)
		t->links[next].hook[by].prev = prev;
}

/* When all records go: a bucket is emptied by its first. */
static VNRX_INLINE void vnrx_hook_forget(struct vnrx_flows *t, const struct vnrx_links *l, unsigned by)
{
	uint32_t prev = l->hook[by].prev;

	if (prev != VNRX_FLOW_NONE && prev >= vnrx_bucket_ref(t, 0))
		t->bucket[by][prev - vnrx_bucket_ref(t, 0)] = VNRX_FLOW_NONE;
}

/* ---- what is done with a slot ---- */

/* Enters slot, whose record the caller fills, at the young end of the lists. h->outer VNRX_FLOW_NONE: no tunnel. */
static VNRX_INLINE void vnrx_flows_add(struct vnrx_flows *t, uint32_t slot, const struct vnrx_hash *h, vnetrx_ns now,
                                       unsigned wait)
{
	struct vnrx_links *l = &t->links[slot];
	struct vnrx_links *end = &t->links[t->sentinel];
	uint32_t prev = end->first_prev;

	vnrx_set_tag(t, slot, vnrx_hash_tag(h->flow));
	l->first = now;
	l->seen = now;
	vnrx_seen_append(t, slot, wait);
	l->first_prev = prev;
	l->first_next = t->sentinel;
	t->links[prev].first_next = slot;
	end->first_prev = slot;
	vnrx_hook_push(t, slot, VNRX_PAIR, h->pair);
	l->hook[VNRX_OUTER].prev = VNRX_FLOW_NONE;
	if (h->outer != VNRX_FLOW_NONE)
		vnrx_hook_push(t, slot, VNRX_OUTER, h->outer);
	t->held++;
}

/* Takes slot out of the table. */
static VNRX_INLINE void vnrx_flows_del(struct vnrx_flows *t, uint32_t slot)
{
	const struct vnrx_links *l = &t->links[slot];
	uint32_t prev = l->first_prev, next = l->first_next;

	vnrx_set_tag(t, slot, 0);
	vnrx_seen_remove(t, l);
	t->links[prev].first_next = next;
	t->links[next].first_prev = prev;
	vnrx_hook_remove(t, l, VNRX_PAIR);
	vnrx_hook_remove(t, l, VNRX_OUTER);
	t->held--;
}

/* Slot was joined at `now`: it becomes the youngest of seen[wait]. */
static VNRX_INLINE void vnrx_flows_touch(struct vnrx_flows *t, uint32_t slot, vnetrx_ns now, unsigned wait)
{
	struct vnrx_links *l = &t->links[slot];

	l->seen = now;
	if (l->seen_next == t->sentinel + wait)
		return;
	vnrx_seen_remove(t, l);
	vnrx_seen_append(t, slot, wait);
}

/* All slots go, in two steps: each is forgotten, which leaves the lists as they are, so that the caller may walk along
 * them; then they are emptied. */
static VNRX_INLINE void vnrx_flows_forget(struct vnrx_flows *t, uint32_t slot)
{
	const struct vnrx_links *l = &t->links[slot];

	t->tags[slot / VNRX_WAYS] = 0;
	vnrx_hook_forget(t, l, VNRX_PAIR);
	vnrx_hook_forget(t, l, VNRX_OUTER);
}

static inline void vnrx_flows_empty(struct vnrx_flows *t)
{
	for (uint32_t s = t->sentinel; s < t->sentinel + VNRX_WAITS; s++) {
		t->links[s].seen_prev = t->links[s].seen_next = s;
		t->links[s].first_prev = t->links[s].first_next = s;
	}
	t->held = 0;
}

#endif
