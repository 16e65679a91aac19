/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hash. Two flows collide in a set and tag of b bits with a probability, over the secret key, of at most
 * 2^-32 + 2 * 2^-b: the sum of products (a + k)(b + k'), each factor modulo 2^32, is the NH family of Black, Halevi,
 * Krawczyk, Krovetz and Rogaway (UMAC, CRYPTO 1999), and the multiplication by an odd secret of which the top bits are
 * taken is the multiply-shift family of Dietzfelbinger et al. (1997). Nobody who does not know the key can aim.
 */
#include "flow.h"

#include "../mem.h"

/* The unit of each way's byte in a word of tags: a multiplication by it needs no shift by a variable, which would be a
 * library call on small machines. */
static const uint64_t way_unit[VNRX_WAYS] = {
	0x0000000000000001u, 0x0000000000000100u, 0x0000000000010000u, 0x0000000001000000u,
	0x0000000100000000u, 0x0000010000000000u, 0x0001000000000000u, 0x0100000000000000u,
};

/* Key expansion: splitmix64 (Steele, Lea, Flood 2014) from both words; only has to spread, the secret is the input. */
static uint64_t expand(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ z / 1073741824u) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z / 134217728u) * 0x94d049bb133111ebu;
	return z ^ z / 2147483648u;
}

static void expand_key(struct vnrx_flows *t, const uint64_t key[2])
{
	uint64_t a = key[0], b = key[1];

	for (unsigned i = 0; i < 12u; i++)
		t->key[i] = (uint32_t)(expand(&a) ^ expand(&b) / 4294967296u);
	for (unsigned i = 0; i < 2u; i++)
		t->mix[i] = (expand(&a) ^ expand(&b)) | 1u;
}

void vnrx_flows_init(struct vnrx_flows *t, struct vnrx_mem *mem, uint32_t held_max, const uint64_t key[2])
{
	uint32_t sets = (held_max + 1u) / 2u; /* four ways for each held packet */
	uint32_t slots = sets * VNRX_WAYS;
	struct vnrx_links *sentinel;

	t->flow = vnrx_mem_take(mem, slots, sizeof(struct vnrx_flow));
	t->tags = vnrx_mem_take(mem, sets, sizeof(uint64_t));
	t->links = vnrx_mem_take(mem, slots + 1u, sizeof(struct vnrx_links));
	t->pair = vnrx_mem_take(mem, held_max, sizeof(uint32_t));
	if (mem->base == NULL)
		return;
	t->sets = sets;
	t->pairs = held_max;
	t->sentinel = slots;
	t->held = 0;
	t->held_max = held_max;
	memset(t->flow, 0, slots * sizeof(struct vnrx_flow));
	memset(t->tags, 0, sets * sizeof(uint64_t));
	memset(t->links, 0, (slots + (size_t)1) * sizeof(struct vnrx_links));
	memset(t->pair, 0xff, held_max * sizeof(uint32_t));
	sentinel = &t->links[slots];
	sentinel->seen_prev = sentinel->seen_next = slots;
	sentinel->first_prev = sentinel->first_next = slots;
	expand_key(t, key);
}

/* Same version, addresses and ports? The protocol is TCP on both sides. */
static bool same_key(const struct vnrx_flow *f, const uint8_t *hdr, const struct vnrx_dissect *d)
{
	uint32_t addrs = d->version == 4u ? VNRX_IPV4_SRC : VNRX_IPV6_SRC;
	uint32_t len = d->version == 4u ? 8u : 32u;

	return f->version == d->version && vnrx_load32(f->hdr + f->l4) == vnrx_load32(hdr + d->l4) &&
	       memcmp(f->hdr + f->l3 + addrs, hdr + d->l3 + addrs, len) == 0;
}

uint32_t vnrx_flows_find(const struct vnrx_flows *t, const uint8_t *hdr, const struct vnrx_dissect *d, uint32_t hash)
{
	uint32_t set = vnrx_hash_set(t, hash);
	uint64_t match = vnrx_tag_match(t->tags[set], vnrx_hash_tag(hash));

	for (; match != 0u; match &= match - 1u) {
		uint32_t slot = set * VNRX_WAYS + vnrx_low_byte(match & (0u - match));
		uint64_t unit = way_unit[slot % VNRX_WAYS];

		if ((t->tags[set] & unit * 0xffu) == unit * vnrx_hash_tag(hash) && same_key(&t->flow[slot], hdr, d))
			return slot;
	}
	return VNRX_FLOW_NONE;
}

uint32_t vnrx_flows_place(const struct vnrx_flows *t, uint32_t hash, bool *taken)
{
	uint32_t set = vnrx_hash_set(t, hash);
	uint32_t first = set * VNRX_WAYS;
	uint64_t free_ways = ~t->tags[set] & VNRX_TAG_TOPS;
	uint32_t oldest = first;

	*taken = free_ways == 0u;
	if (!*taken)
		return first + vnrx_low_byte(free_ways & (0u - free_ways));
	for (uint32_t slot = first + 1u; slot < first + VNRX_WAYS; slot++) {
		if (t->links[slot].seen < t->links[oldest].seen)
			oldest = slot;
	}
	return oldest;
}

static void seen_append(struct vnrx_flows *t, uint32_t slot)
{
	struct vnrx_links *end = &t->links[t->sentinel];

	t->links[slot].seen_prev = end->seen_prev;
	t->links[slot].seen_next = t->sentinel;
	t->links[end->seen_prev].seen_next = slot;
	end->seen_prev = slot;
}

static void seen_remove(struct vnrx_flows *t, const struct vnrx_links *l)
{
	t->links[l->seen_prev].seen_next = l->seen_next;
	t->links[l->seen_next].seen_prev = l->seen_prev;
}

static void pair_push(struct vnrx_flows *t, uint32_t slot, uint32_t pair)
{
	struct vnrx_links *l = &t->links[slot];

	l->pair_prev = t->sentinel + 1u + pair;
	l->pair_next = t->pair[pair];
	if (l->pair_next != VNRX_FLOW_NONE)
		t->links[l->pair_next].pair_prev = slot;
	t->pair[pair] = slot;
}

static void pair_remove(struct vnrx_flows *t, const struct vnrx_links *l)
{
	if (l->pair_prev > t->sentinel)
		t->pair[l->pair_prev - t->sentinel - 1u] = l->pair_next;
	else
		t->links[l->pair_prev].pair_next = l->pair_next;
	if (l->pair_next != VNRX_FLOW_NONE)
		t->links[l->pair_next].pair_prev = l->pair_prev;
}

static void set_tag(struct vnrx_flows *t, uint32_t slot, uint64_t tag)
{
	uint64_t *tags = &t->tags[slot / VNRX_WAYS];
	uint64_t unit = way_unit[slot % VNRX_WAYS];

	*tags = (*tags & ~(unit * 0xffu)) | unit * tag;
}

void vnrx_flows_add(struct vnrx_flows *t, uint32_t slot, uint32_t hash, uint32_t pair, vnetrx_ns now)
{
	struct vnrx_links *l = &t->links[slot];
	struct vnrx_links *end = &t->links[t->sentinel];

	set_tag(t, slot, vnrx_hash_tag(hash));
	l->first = now;
	l->seen = now;
	seen_append(t, slot);
	l->first_prev = end->first_prev;
	l->first_next = t->sentinel;
	t->links[end->first_prev].first_next = slot;
	end->first_prev = slot;
	pair_push(t, slot, pair);
	t->held++;
}

void vnrx_flows_del(struct vnrx_flows *t, uint32_t slot)
{
	const struct vnrx_links *l = &t->links[slot];

	set_tag(t, slot, 0);
	seen_remove(t, l);
	t->links[l->first_prev].first_next = l->first_next;
	t->links[l->first_next].first_prev = l->first_prev;
	pair_remove(t, l);
	t->held--;
}

void vnrx_flows_clear(struct vnrx_flows *t)
{
	struct vnrx_links *end = &t->links[t->sentinel];

	for (uint32_t slot = end->first_next; slot != t->sentinel; slot = t->links[slot].first_next) {
		const struct vnrx_links *l = &t->links[slot];

		t->tags[slot / VNRX_WAYS] = 0;
		if (l->pair_prev > t->sentinel)
			t->pair[l->pair_prev - t->sentinel - 1u] = VNRX_FLOW_NONE;
	}
	end->seen_prev = end->seen_next = t->sentinel;
	end->first_prev = end->first_next = t->sentinel;
	t->held = 0;
}

void vnrx_flows_touch(struct vnrx_flows *t, uint32_t slot, vnetrx_ns now)
{
	struct vnrx_links *l = &t->links[slot];

	l->seen = now;
	if (l->seen_next == t->sentinel)
		return;
	seen_remove(t, l);
	seen_append(t, slot);
}

/* Every held slot is once in each list, lists are in order, tags agree. */
bool vnrx_flows_valid(const struct vnrx_flows *t)
{
	uint32_t seen = 0, first = 0, pair = 0, tagged = 0;
	vnetrx_ns last = 0;

	for (uint32_t s = vnrx_flows_quietest(t); s != t->sentinel && seen <= t->held; s = t->links[s].seen_next, seen++) {
		if (t->links[s].seen < last || t->links[t->links[s].seen_next].seen_prev != s)
			return false;
		last = t->links[s].seen;
	}
	last = 0;
	for (uint32_t s = vnrx_flows_oldest(t); s != t->sentinel && first <= t->held; s = t->links[s].first_next, first++) {
		if (t->links[s].first < last || t->links[s].seen < t->links[s].first)
			return false;
		last = t->links[s].first;
	}
	for (uint32_t b = 0; b < t->pairs; b++) {
		for (uint32_t s = t->pair[b]; s != VNRX_FLOW_NONE && pair <= t->held; s = t->links[s].pair_next)
			pair++;
	}
	for (uint32_t s = 0; s < t->sentinel; s++) {
		if ((t->tags[s / VNRX_WAYS] & way_unit[s % VNRX_WAYS] * 0x80u) != 0u)
			tagged++;
	}
	return seen == t->held && first == t->held && pair == t->held && tagged == t->held && t->held <= t->held_max;
}
