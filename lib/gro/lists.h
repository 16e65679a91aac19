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

/*@ requires vnrx_flows_memory(t) && slot < t->sentinel && tag <= 255;
    assigns t->tags[slot / VNRX_WAYS];
*/
static VNRX_INLINE void vnrx_set_tag(struct vnrx_flows *t, uint32_t slot, uint64_t tag)
{
	uint64_t *tags = &t->tags[slot / VNRX_WAYS];
	uint64_t unit = vnrx_way_unit[slot % VNRX_WAYS];

	*tags = (*tags & ~(unit * 0xffu)) | unit * tag;
}

/*@ requires vnrx_flows_memory(t) && vnrx_flows_lists(t) && slot < t->sentinel && wait < VNRX_WAITS;
    assigns t->links[0 .. t->sentinel + VNRX_WAITS - 1].seen_prev, t->links[slot].wait,
            t->links[0 .. t->sentinel + VNRX_WAITS - 1].seen_next;
    ensures vnrx_flows_lists(t) && t->links[slot].wait == wait;
    ensures t->links[t->sentinel + wait].seen_prev == slot && t->links[slot].seen_next == t->sentinel + wait;
*/
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

/*@ requires vnrx_flows_memory(t) && vnrx_flows_lists(t);
    requires \exists integer s; 0 <= s < t->sentinel && l == t->links + s;
    assigns t->links[0 .. t->sentinel + VNRX_WAITS - 1].seen_prev,
            t->links[0 .. t->sentinel + VNRX_WAITS - 1].seen_next;
    ensures vnrx_flows_lists(t);
*/
static VNRX_INLINE void vnrx_seen_remove(struct vnrx_flows *t, const struct vnrx_links *l)
{
	uint32_t prev = l->seen_prev, next = l->seen_next;

	t->links[prev].seen_next = next;
	t->links[next].seen_prev = prev;
}

/*@ requires vnrx_flows_memory(t) && bucket < t->pairs;
    assigns \nothing;
    ensures \result == t->sentinel + VNRX_WAITS + bucket;
*/
static VNRX_INLINE uint32_t vnrx_bucket_ref(const struct vnrx_flows *t, uint32_t bucket)
{
	return t->sentinel + VNRX_WAITS + bucket;
}

/*@ requires vnrx_flows_memory(t) && vnrx_flows_buckets(t) && slot < t->sentinel && bucket < t->pairs && by <= 1;
    assigns t->links[0 .. t->sentinel - 1].hook[by], t->bucket[by][bucket];
    ensures vnrx_flows_buckets(t) && t->bucket[by][bucket] == slot;
*/
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

/*@ requires vnrx_flows_memory(t) && vnrx_flows_buckets(t) && by <= 1;
    requires \exists integer s; 0 <= s < t->sentinel && l == t->links + s;
    assigns t->links[0 .. t->sentinel - 1].hook[by], t->bucket[by][0 .. t->pairs - 1];
    ensures vnrx_flows_buckets(t);
*/
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
/*@ requires vnrx_flows_memory(t) && vnrx_flows_lists(t) && vnrx_flows_buckets(t);
    requires slot < t->sentinel && wait < VNRX_WAITS && t->held < UINT32_MAX;
    requires \valid_read(h) && h->pair < t->pairs && (h->outer == VNRX_FLOW_NONE || h->outer < t->pairs);
    requires \separated(h, t, t->links + (0 .. t->sentinel + VNRX_WAITS - 1));
    requires \separated(h, t->bucket[0] + (0 .. t->pairs - 1), t->bucket[1] + (0 .. t->pairs - 1));
    assigns t->links[0 .. t->sentinel + VNRX_WAITS - 1], t->tags[slot / VNRX_WAYS], t->held,
            t->bucket[0][0 .. t->pairs - 1], t->bucket[1][0 .. t->pairs - 1];
    ensures vnrx_flows_lists(t) && vnrx_flows_buckets(t) && t->held == \old(t->held) + 1;
*/
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
/*@ requires vnrx_flows_memory(t) && vnrx_flows_lists(t) && vnrx_flows_buckets(t);
    requires slot < t->sentinel && t->held > 0;
    assigns t->links[0 .. t->sentinel + VNRX_WAITS - 1], t->tags[slot / VNRX_WAYS], t->held,
            t->bucket[0][0 .. t->pairs - 1], t->bucket[1][0 .. t->pairs - 1];
    ensures vnrx_flows_lists(t) && vnrx_flows_buckets(t) && t->held == \old(t->held) - 1;
*/
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
/*@ requires vnrx_flows_memory(t) && vnrx_flows_lists(t) && slot < t->sentinel && wait < VNRX_WAITS;
    assigns t->links[0 .. t->sentinel + VNRX_WAITS - 1];
    ensures vnrx_flows_lists(t);
*/
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

/*@ requires vnrx_flows_memory(t);
    assigns t->links[t->sentinel .. t->sentinel + VNRX_WAITS - 1], t->held;
*/
static inline void vnrx_flows_empty(struct vnrx_flows *t)
{
	/*@ loop invariant t->sentinel <= s <= t->sentinel + VNRX_WAITS;
	    loop assigns s, t->links[t->sentinel .. t->sentinel + VNRX_WAITS - 1];
	    loop variant t->sentinel + VNRX_WAITS - s;
	*/
	for (uint32_t s = t->sentinel; s < t->sentinel + VNRX_WAITS; s++) {
		t->links[s].seen_prev = t->links[s].seen_next = s;
		t->links[s].first_prev = t->links[s].first_next = s;
	}
	t->held = 0;
}

#endif
