/* SPDX-License-Identifier: BSD-3-Clause */
#include "flows.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS  65536u
#define KEY_SIZE 72u

/* All zero but for what is known: kinds and versions, protocol, ports, outer addresses, innermost addresses. */
struct key {
	uint8_t byte[KEY_SIZE];
};

#define KEY_PAIR 1u /* byte 0: the key of an address pair, not of a flow */

struct entry {
	struct key key;
	struct entry *chain;
	size_t first;         /* of a flow: the packets that have not left   */
	size_t last;
	size_t any_left;      /* of a pair: 1 + the newest that left, 0 = none */
	size_t portless_left; /* and of those without ports                  */
};

struct flows {
	struct entry *bucket[BUCKETS];
	size_t num;
	size_t next[]; /* of the same flow */
};

static void put_addrs(uint8_t *to, const struct ip *ip, const uint8_t *data)
{
	uint32_t size;
	uint32_t at = layout_addrs(ip, &size);

	if (ip->version != 0u)
		memcpy(to, data + at, size);
}

static struct key pair_key(const struct layout *lay, const uint8_t *data)
{
	struct key key = { { KEY_PAIR, (uint8_t)lay->inner.version } };

	put_addrs(key.byte + 40, &lay->inner, data);
	if (lay->tunnel) {
		key.byte[2] = (uint8_t)lay->first.version;
		put_addrs(key.byte + 8, &lay->first, data);
	}
	return key;
}

/* The pair of the outer addresses, as a packet without a tunnel has it. */
static struct key outer_key(const struct layout *lay, const uint8_t *data)
{
	struct layout outer = { .inner = lay->first };

	return pair_key(&outer, data);
}

static struct key flow_key(const struct layout *lay, const uint8_t *data)
{
	struct key key = pair_key(lay, data);

	key.byte[0] = 0;
	if (lay->ports) {
		key.byte[3] = (uint8_t)lay->inner.proto;
		memcpy(key.byte + 4, data + lay->inner.l4, 4u);
	}
	return key;
}

/* Of the entry, made when there is none; NULL: out of memory. */
static struct entry *find(struct flows *flows, const struct key *key)
{
	uint32_t hash = 2166136261u; /* FNV-1a */
	struct entry *e;

	for (size_t i = 0; i < KEY_SIZE; i++)
		hash = (hash ^ key->byte[i]) * 16777619u;
	hash = (hash ^ hash / BUCKETS) % BUCKETS;
	for (e = flows->bucket[hash]; e != NULL; e = e->chain)
		if (memcmp(&e->key, key, sizeof(*key)) == 0)
			return e;
	e = calloc(1u, sizeof(*e));
	if (e == NULL)
		return NULL;
	e->key = *key;
	e->first = FLOWS_NONE;
	e->chain = flows->bucket[hash];
	flows->bucket[hash] = e;
	return e;
}

struct flows *flows_new(size_t num)
{
	struct flows *flows = calloc(1u, sizeof(*flows) + num * sizeof(flows->next[0]));

	if (flows != NULL)
		flows->num = num;
	return flows;
}

void flows_free(struct flows *flows)
{
	for (size_t i = 0; flows != NULL && i < BUCKETS; i++) {
		while (flows->bucket[i] != NULL) {
			struct entry *e = flows->bucket[i];

			flows->bucket[i] = e->chain;
			free(e);
		}
	}
	free(flows);
}

bool flows_come(struct flows *flows, const struct layout *lay, const uint8_t *data, size_t index)
{
	struct key flow = flow_key(lay, data), pair = pair_key(lay, data), outer = outer_key(lay, data);
	struct entry *e = find(flows, &flow);

	if (e == NULL || find(flows, &pair) == NULL || find(flows, &outer) == NULL)
		return false;
	flows->next[index] = FLOWS_NONE;
	if (e->first == FLOWS_NONE)
		e->first = index;
	else
		flows->next[e->last] = index;
	e->last = index;
	return true;
}

size_t flows_next(struct flows *flows, const struct layout *lay, const uint8_t *data)
{
	struct key flow = flow_key(lay, data);
	struct entry *e = find(flows, &flow);

	return e != NULL ? e->first : FLOWS_NONE;
}

/* One address pair that the packet belongs to. */
static size_t leave_pair(struct entry *e, bool portless, size_t index)
{
	size_t newest = portless ? e->any_left : e->portless_left;

	if (newest > index + 1u)
		return newest - 1u;
	if (e->any_left < index + 1u)
		e->any_left = index + 1u;
	if (portless)
		e->portless_left = index + 1u;
	return FLOWS_NONE;
}

size_t flows_leave(struct flows *flows, const struct layout *lay, const uint8_t *data, size_t index)
{
	struct key flow = flow_key(lay, data), pair = pair_key(lay, data), outer = outer_key(lay, data);
	bool portless = lay->inner.version != 0u && !lay->ports;
	size_t other;

	find(flows, &flow)->first = flows->next[index];
	if (lay->inner.version == 0u)
		return FLOWS_NONE;
	other = leave_pair(find(flows, &pair), portless, index);
	if (other == FLOWS_NONE && lay->tunnel)
		other = leave_pair(find(flows, &outer), false, index);
	return other;
}

size_t flows_left(const struct flows *flows)
{
	size_t left = FLOWS_NONE;

	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct entry *e = flows->bucket[i]; e != NULL; e = e->chain)
			if (e->first < left)
				left = e->first;
	return left;
}
