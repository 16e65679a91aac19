/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hash. Two flows collide in a set and tag of b bits with a probability, over the secret key, of at most
 * 2^-32 + 2 * 2^-b: the sum of products (a + k)(b + k'), each factor modulo 2^32, is the NH family of Black, Halevi,
 * Krawczyk, Krovetz and Rogaway (UMAC, CRYPTO 1999), and the multiplication by an odd secret of which the top bits are
 * taken is the multiply-shift family of Dietzfelbinger et al. (1997). Nobody who does not know the key can aim.
 *
 * Both are linear: flows with consecutive addresses and ports would fall into few sets under some keys. So the sum is
 * first multiplied by another odd secret and its upper half added to the lower one without carry. That is a bijection,
 * which leaves the bound as it is, and not linear.
 */
#include "lists.h"

#include "../mem.h"

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

	for (unsigned i = 0; i < 20u; i++)
		t->key[i] = (uint32_t)(expand(&a) ^ expand(&b) / 4294967296u);
	for (unsigned i = 0; i < 3u; i++)
		t->mix[i] = (expand(&a) ^ expand(&b)) | 1u;
}

void vnrx_flows_init(struct vnrx_flows *t, struct vnrx_mem *mem, uint32_t held_max, const uint64_t key[2])
{
	uint32_t sets = vnrx_flows_sets(held_max);
	uint32_t slots = sets * VNRX_WAYS;

	t->flow = vnrx_mem_take(mem, slots, sizeof(struct vnrx_flow));
	t->tags = vnrx_mem_take(mem, sets, sizeof(uint64_t));
	t->links = vnrx_mem_take(mem, slots + VNRX_WAITS, sizeof(struct vnrx_links));
	for (unsigned by = 0; by < 2u; by++)
		t->bucket[by] = vnrx_mem_take(mem, held_max, sizeof(uint32_t));
	if (mem->base == NULL)
		return;
	t->sets = sets;
	t->pairs = held_max;
	t->sentinel = slots;
	t->held_max = held_max;
	memset(t->flow, 0, slots * sizeof(struct vnrx_flow));
	memset(t->tags, 0, sets * sizeof(uint64_t));
	memset(t->links, 0, (slots + (size_t)VNRX_WAITS) * sizeof(struct vnrx_links));
	for (unsigned by = 0; by < 2u; by++)
		memset(t->bucket[by], 0xff, held_max * sizeof(uint32_t));
	vnrx_flows_empty(t);
	expand_key(t, key);
}

void vnrx_flows_hash(const struct vnrx_flows *t, const uint8_t *hdr, const struct vnrx_dissect *d, struct vnrx_hash *h)
{
	const struct vnrx_ip *outermost = vnrx_in_tunnel(d) ? &d->outer : &d->ip;
	uint64_t outer = vnrx_hash_addrs(t, hdr + outermost->l3, outermost->version, VNRX_KEY_OUTER);
	uint64_t addrs = vnrx_hash_addrs(t, hdr + d->ip.l3, d->ip.version, VNRX_KEY_INNER);

	h->outer = vnrx_hash_pair(t, outer);
	if (vnrx_in_tunnel(d))
		addrs += outer;
	h->pair = vnrx_hash_pair(t, addrs);
	if (d->reach == VNRX_REACH_PORTS)
		h->flow = vnrx_hash_flow(t, addrs, vnrx_load32(hdr + d->l4), d->proto);
}

static bool same_addrs(const uint8_t *a, const uint8_t *b, uint32_t version)
{
	uint32_t off = version == 4u ? VNRX_IPV4_SRC : VNRX_IPV6_SRC;

	return memcmp(a + off, b + off, version == 4u ? 8u : 32u) == 0;
}

/* The kind bits that belong to the key. */
static unsigned key_kind(const struct vnrx_dissect *d)
{
	unsigned kind = d->ip.version == 6u ? VNRX_KIND_IPV6 : 0u;

	if (vnrx_is_udp(d))
		kind |= VNRX_KIND_UDP;
	if (vnrx_in_tunnel(d))
		kind |= VNRX_KIND_TUNNEL | (d->outer.version == 6u ? VNRX_KIND_OUTER_IPV6 : 0u);
	return kind;
}

#define KEY_KINDS (VNRX_KIND_IPV6 | VNRX_KIND_UDP | VNRX_KIND_TUNNEL | VNRX_KIND_OUTER_IPV6)

/* Same protocol, addresses and ports, and the same outer addresses? */
static bool same_key(const struct vnrx_flows *t, uint32_t slot, const uint8_t *hdr, const struct vnrx_dissect *d)
{
	const struct vnrx_flow *f = &t->flow[slot];

	if (VNRX_TCP_ALONE && d->proto != VNRX_PROTO_TCP)
		return false;
	if ((f->kind & KEY_KINDS) != key_kind(d) || vnrx_load32(f->hdr + f->l4) != vnrx_load32(hdr + d->l4) ||
	    !same_addrs(f->hdr + f->l3, hdr + d->ip.l3, d->ip.version))
		return false;
	return !vnrx_in_tunnel(d) ||
	       same_addrs(f->hdr + t->links[slot].outer_l3, hdr + d->outer.l3, d->outer.version);
}

uint32_t vnrx_flows_find(const struct vnrx_flows *t, const uint8_t *hdr, const struct vnrx_dissect *d, uint32_t hash)
{
	uint32_t set = vnrx_hash_set(t, hash);
	uint64_t match = vnrx_tag_match(t->tags[set], vnrx_hash_tag(hash));

	for (; match != 0u; match &= match - 1u) {
		uint32_t slot = set * VNRX_WAYS + vnrx_low_byte(match & (0u - match));
		uint64_t unit = vnrx_way_unit[slot % VNRX_WAYS];

		if ((t->tags[set] & unit * 0xffu) == unit * vnrx_hash_tag(hash) && same_key(t, slot, hdr, d))
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
	/*@ loop invariant first < slot <= first + VNRX_WAYS && first <= oldest < first + VNRX_WAYS;
	    loop assigns slot, oldest;
	    loop variant first + VNRX_WAYS - slot;
	*/
	for (uint32_t slot = first + 1u; slot < first + VNRX_WAYS; slot++) {
		if (t->links[slot].seen < t->links[oldest].seen)
			oldest = slot;
	}
	return oldest;
}

uint32_t vnrx_flows_tag(const struct vnrx_flows *t, uint32_t slot)
{
	uint64_t top = t->tags[slot / VNRX_WAYS] * vnrx_way_unit[VNRX_WAYS - 1u - slot % VNRX_WAYS];

	return (uint32_t)(top / 0x0100000000000000u);
}

/* Is seen[wait] in order? Counts its records in *n. */
static bool seen_valid(const struct vnrx_flows *t, unsigned wait, uint32_t *n)
{
	vnetrx_ns last = 0;

	for (uint32_t s = vnrx_flows_quietest(t, wait); s < t->sentinel && *n <= t->held; s = t->links[s].seen_next) {
		const struct vnrx_links *l = &t->links[s];

		if (l->seen < last || t->links[l->seen_next].seen_prev != s || l->wait != wait)
			return false;
		last = l->seen;
		++*n;
	}
	return true;
}

/* Every held slot is once in each list, lists are in order, tags agree. */
bool vnrx_flows_valid(const struct vnrx_flows *t)
{
	uint32_t seen = 0, first = 0, pair = 0, tagged = 0;
	vnetrx_ns last = 0;

	for (unsigned wait = 0; wait < VNRX_WAITS; wait++) {
		if (!seen_valid(t, wait, &seen))
			return false;
	}
	for (uint32_t s = vnrx_flows_oldest(t); s != t->sentinel && first <= t->held; s = t->links[s].first_next) {
		if (t->links[s].first < last || t->links[s].seen < t->links[s].first)
			return false;
		last = t->links[s].first;
		first++;
	}
	for (uint32_t b = 0; b < t->pairs; b++) {
		uint32_t s = t->bucket[VNRX_PAIR][b];

		for (; s != VNRX_FLOW_NONE && pair <= t->held; s = t->links[s].hook[VNRX_PAIR].next)
			pair++;
	}
	for (uint32_t s = 0; s < t->sentinel; s++) {
		if ((t->tags[s / VNRX_WAYS] & vnrx_way_unit[s % VNRX_WAYS] * 0x80u) != 0u)
			tagged++;
	}
	return seen == t->held && first == t->held && pair == t->held && tagged == t->held && t->held <= t->held_max;
}
