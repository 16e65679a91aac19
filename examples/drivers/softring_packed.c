/* SPDX-License-Identifier: BSD-3-Clause */
/* The packed ring: one table, in which each side goes around; what a slot is tells its pair of flags against the wrap
 * counter of the lap: available = (wrap, !wrap), used = (wrap, wrap). */
#include "softring_mem.h"

static bool available(const struct softring *r, uint32_t pos, uint16_t flags)
{
	bool wrap = packed_wrap(r, pos);

	return ((flags & DESC_AVAIL) != 0u) == wrap && ((flags & DESC_USED) != 0u) != wrap;
}

bool softring_packed_pending(const struct softring *r, uint32_t pos)
{
	return available(r, pos, load16(r, packed_desc(r, pos) + PACKED_DESC_FLAGS));
}

/* Entries follow each other; of their flags only WRITE counts, and they have no id (2.8.7). */
static int walk_table(const struct softring *r, struct softring_walk *w, const uint8_t *desc)
{
	const uint8_t *table = NULL;
	uint32_t num = 0u;
	int err = softring_table(r, desc, &table, &num);

	for (uint32_t i = 0u; err == 0 && i < num; i++) {
		const uint8_t *entry = table + i * DESC_BYTES;
		uint16_t flags = peek16(r, entry + PACKED_DESC_FLAGS);

		err = (flags & DESC_INDIRECT) != 0u ? SOFTRING_BAD_TABLE : softring_seg(r, w, entry, flags);
	}
	return err;
}

int softring_packed_take(struct softring *r, struct softring_walk *w)
{
	for (uint32_t seen = 0u; seen < r->size; seen++) {
		uint32_t pos = pos_after(r, r->avail_pos, seen);
		const uint8_t *desc = packed_desc(r, pos);
		uint16_t flags = load16(r, desc + PACKED_DESC_FLAGS);
		int err;

		if (!available(r, pos, flags))
			return SOFTRING_BAD_FLAGS;
		w->chain->slots++;
		w->chain->id = load16(r, desc + PACKED_DESC_ID); /* that of the last one counts */
		if ((flags & DESC_INDIRECT) != 0u) /* alone in its chain (2.8.19) */
			return (flags & DESC_NEXT) != 0u || seen != 0u ? SOFTRING_BAD_TABLE : walk_table(r, w, desc);
		err = softring_seg(r, w, desc, flags);
		if (err != 0 || (flags & DESC_NEXT) == 0u)
			return err;
	}
	return SOFTRING_BAD_CHAIN;
}

/* One descriptor at the first slot of what it completes. The flags of the first since the last publish wait for it:
 * then the driver sees all of them or none. */
void softring_packed_put(struct softring *r, uint16_t id, uint32_t len, uint32_t skip)
{
	uint8_t *desc = packed_desc(r, r->used_pos);
	uint16_t flags = packed_wrap(r, r->used_pos) ? DESC_AVAIL | DESC_USED : 0u;

	if (len != 0u)
		flags |= DESC_WRITE;
	store32(r, desc + DESC_LEN, len);
	store16(r, desc + PACKED_DESC_ID, id);
	if (r->used_pos == r->published_pos)
		r->first_flags = flags;
	else
		store16(r, desc + PACKED_DESC_FLAGS, flags);
	r->used_pos = pos_after(r, r->used_pos, skip);
}

/* 2.8.10: by flags, or when the slot at the driver's offset, in the lap of its wrap counter, was among the new ones. */
bool softring_packed_wanted(const struct softring *r)
{
	uint16_t flags = load16(r, r->driver + EVENT_FLAGS) & 3u;
	uint16_t at;
	uint32_t event;

	if (flags != EVENT_DESC || (r->cfg.flags & SOFTRING_EVENT_IDX) == 0u)
		return flags != EVENT_DISABLE;
	at = load16(r, r->driver + EVENT_OFF_WRAP);
	event = (at & 0x7fffu) % r->size + ((at & 0x8000u) != 0u ? 0u : r->size);
	return pos_steps(r, r->told_pos, event) < pos_steps(r, r->told_pos, r->published_pos);
}

bool softring_packed_sleep(struct softring *r, uint32_t slots)
{
	uint32_t event = pos_after(r, r->avail_pos, slots - 1u);

	if ((r->cfg.flags & SOFTRING_EVENT_IDX) != 0u) {
		store16(r, r->device + EVENT_OFF_WRAP, packed_off_wrap(r, event));
		store16(r, r->device + EVENT_FLAGS, EVENT_DESC);
	} else {
		store16(r, r->device + EVENT_FLAGS, EVENT_ENABLE);
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* the driver publishes, then looks whether a doorbell is wanted */
	for (uint32_t i = 0u; i < slots; i++) /* the last may be there before the first: then nothing is published */
		if (!softring_packed_pending(r, pos_after(r, r->avail_pos, i)))
			return false;
	return true;
}
