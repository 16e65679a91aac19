/* SPDX-License-Identifier: BSD-3-Clause */
/* The split ring: heads in the available ring, ids in the used ring, both counted by free-running 16-bit indices. */
#include "softring_mem.h"

#define USED_BYTES 8u /* of an entry: 32-bit id, 32-bit length */

static uint32_t waiting(const struct softring *r)
{
	return (uint16_t)(load16(r, r->driver + RING_IDX) - r->avail_pos);
}

bool softring_split_pending(const struct softring *r)
{
	return waiting(r) != 0u;
}

static int walk_table(const struct softring *r, struct softring_walk *w, const uint8_t *desc)
{
	const uint8_t *table = NULL;
	uint32_t num = 0u, i = 0u, seen;
	int err = softring_table(r, desc, &table, &num);

	for (seen = 0u; err == 0 && seen < num; seen++) {
		const uint8_t *entry = table + i * DESC_BYTES;
		uint16_t flags = peek16(r, entry + SPLIT_DESC_FLAGS);

		if ((flags & DESC_INDIRECT) != 0u)
			return SOFTRING_BAD_TABLE;
		err = softring_seg(r, w, entry, flags);
		if (err != 0 || (flags & DESC_NEXT) == 0u)
			return err;
		i = peek16(r, entry + SPLIT_DESC_NEXT);
		if (i >= num)
			return SOFTRING_BAD_TABLE;
	}
	return err != 0 ? err : SOFTRING_BAD_CHAIN;
}

/* Follows the chain from descriptor i on; 0 or a fault. */
static int walk_ring(const struct softring *r, struct softring_walk *w, uint32_t i)
{
	bool in_order = (r->cfg.flags & SOFTRING_IN_ORDER) != 0u;

	for (uint32_t seen = 0u; seen < r->size; seen++) {
		const uint8_t *desc = r->desc + i * DESC_BYTES;
		uint16_t flags = load16(r, desc + SPLIT_DESC_FLAGS);
		uint32_t next = load16(r, desc + SPLIT_DESC_NEXT);
		int err;

		w->chain->slots++;
		if ((flags & DESC_INDIRECT) != 0u)
			return (flags & DESC_NEXT) != 0u ? SOFTRING_BAD_TABLE : walk_table(r, w, desc);
		err = softring_seg(r, w, desc, flags);
		if (err != 0 || (flags & DESC_NEXT) == 0u)
			return err;
		if (next >= r->size)
			return SOFTRING_BAD_HEAD;
		if (in_order && next != (i + 1u == r->size ? 0u : i + 1u))
			return SOFTRING_BAD_NEXT; /* 2.7.5.1 */
		i = next;
	}
	return SOFTRING_BAD_CHAIN;
}

int softring_split_take(struct softring *r, struct softring_walk *w)
{
	uint32_t slot = r->avail_pos & (r->size - 1u);

	if (waiting(r) > r->size)
		return SOFTRING_BAD_INDEX;
	w->chain->id = load16(r, r->driver + RING_ENTRIES + slot * 2u);
	return w->chain->id >= r->size ? SOFTRING_BAD_HEAD : walk_ring(r, w, w->chain->id);
}

/* One entry at the first position of what it completes; the index moves on by all of it. */
void softring_split_put(struct softring *r, uint16_t id, uint32_t len, uint32_t skip)
{
	uint8_t *entry = r->device + RING_ENTRIES + (r->used_pos & (r->size - 1u)) * USED_BYTES;

	store32(r, entry, id);
	store32(r, entry + 4u, len);
	r->used_pos = pos_after(r, r->used_pos, skip);
}

/* 2.7.7.2: with the event index, when the entry at used_event was among the new ones. */
bool softring_split_wanted(const struct softring *r)
{
	uint32_t event;

	if ((r->cfg.flags & SOFTRING_EVENT_IDX) == 0u)
		return (load16(r, r->driver + RING_FLAGS) & AVAIL_NO_INTERRUPT) == 0u;
	event = load16(r, r->driver + RING_ENTRIES + r->size * 2u);
	return pos_steps(r, r->told_pos, event) < pos_steps(r, r->told_pos, r->published_pos);
}

bool softring_split_sleep(struct softring *r, uint32_t slots)
{
	if ((r->cfg.flags & SOFTRING_EVENT_IDX) != 0u)
		store16(r, r->device + RING_ENTRIES + r->size * USED_BYTES, (uint16_t)(r->avail_pos + slots - 1u));
	else
		store16(r, r->device + RING_FLAGS, 0u);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* the driver publishes, then looks whether a doorbell is wanted */
	return waiting(r) >= slots;
}
