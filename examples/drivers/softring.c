/* SPDX-License-Identifier: BSD-3-Clause */
/* Positions count slots (packed) or chains (split) and come again after `lap`, so that both kinds share their sums:
 * told_pos, published_pos, used_pos, avail_pos follow each other within one turn of the ring. */
#include "softring.h"

#include <stdlib.h>

#include "softring_mem.h"

static bool host_is_big(void)
{
	const uint16_t one = 1u;
	uint8_t first;

	memcpy(&first, &one, sizeof(first));
	return first == 0u;
}

static bool map_areas(struct softring *r)
{
	const struct softring_config *cfg = &r->cfg;

	if (r->packed) {
		r->desc = softring_map(r, cfg->desc, cfg->size * DESC_BYTES);
		r->driver = softring_map(r, cfg->driver, 4u);
		r->device = softring_map(r, cfg->device, 4u);
	} else {
		r->desc = softring_map(r, cfg->desc, cfg->size * DESC_BYTES);
		r->driver = softring_map(r, cfg->driver, 6u + cfg->size * 2u);
		r->device = softring_map(r, cfg->device, 6u + cfg->size * 8u);
	}
	return r->desc != NULL && r->driver != NULL && r->device != NULL;
}

struct softring *softring_new(const struct softring_config *cfg)
{
	bool packed = (cfg->flags & SOFTRING_PACKED) != 0u;
	struct softring *r;

	if (cfg->size == 0u || cfg->size > 32768u || (!packed && (cfg->size & (cfg->size - 1u)) != 0u))
		return NULL;
	if (packed ? (cfg->start & 0x7fffu) >= cfg->size : cfg->start > UINT16_MAX)
		return NULL;
	r = calloc(1u, sizeof(*r));
	if (r == NULL)
		return NULL;
	r->cfg = *cfg;
	r->size = cfg->size;
	r->packed = packed;
	r->swap = ((cfg->flags & SOFTRING_BIG_ENDIAN) != 0u) != host_is_big();
	r->lap = packed ? 2u * cfg->size : 65536u;
	if (!map_areas(r)) {
		softring_free(r);
		return NULL;
	}
	softring_reset(r);
	return r;
}

void softring_free(struct softring *r)
{
	free(r);
}

void softring_reset(struct softring *r)
{
	uint32_t start = r->cfg.start;

	if (r->packed)
		start = (start & 0x7fffu) + ((start & 0x8000u) != 0u ? r->size : 0u);
	r->avail_pos = r->used_pos = r->published_pos = r->told_pos = start;
	memset(r->held, 0, sizeof(r->held));
}

/* ---- chains ---- */

int softring_seg(const struct softring *r, struct softring_walk *w, const uint8_t *desc, uint16_t flags)
{
	uint32_t n = w->chain->out + w->chain->in;
	struct softring_seg *seg;

	if (n == w->max)
		return SOFTRING_BAD_CHAIN;
	seg = &w->segs[n];
	seg->len = load32(r, desc + DESC_LEN);
	seg->write = (flags & DESC_WRITE) != 0u;
	if (!seg->write && w->chain->in > 0u)
		return SOFTRING_BAD_ORDER;
	if (seg->len == 0u)
		return SOFTRING_BAD_LEN;
	seg->addr = softring_map(r, load64(r, desc + DESC_ADDR), seg->len);
	if (seg->addr == NULL)
		return SOFTRING_BAD_ADDR;
	if (seg->write)
		w->chain->in++;
	else
		w->chain->out++;
	return 0;
}

int softring_table(const struct softring *r, const uint8_t *desc, const uint8_t **table, uint32_t *num)
{
	uint32_t len = load32(r, desc + DESC_LEN);

	if ((r->cfg.flags & SOFTRING_INDIRECT) == 0u || len == 0u || len % DESC_BYTES != 0u)
		return SOFTRING_BAD_TABLE;
	*table = softring_map(r, load64(r, desc + DESC_ADDR), len);
	*num = len / DESC_BYTES;
	return *table == NULL ? SOFTRING_BAD_ADDR : 0;
}

bool softring_pending(const struct softring *r)
{
	return r->packed ? softring_packed_pending(r, r->avail_pos) : softring_split_pending(r);
}

int softring_take(struct softring *r, struct softring_chain *chain, struct softring_seg *segs, unsigned max)
{
	struct softring_walk w = { segs, max, chain };
	int err;

	if (!softring_pending(r))
		return 0;
	chain->slots = 0u;
	chain->out = chain->in = 0u;
	err = r->packed ? softring_packed_take(r, &w) : softring_split_take(r, &w);
	if (err != 0)
		return err;
	if (is_held(r, chain->id))
		return SOFTRING_BAD_TWICE;
	flip_held(r, chain->id);
	r->avail_pos = pos_after(r, r->avail_pos, r->packed ? chain->slots : 1u);
	return 1;
}

uint16_t softring_next(const struct softring *r)
{
	return r->packed ? packed_off_wrap(r, r->avail_pos) : (uint16_t)r->avail_pos;
}

/* ---- bytes ---- */

uint32_t softring_read(const struct softring_seg *segs, unsigned n, uint32_t off, void *buf, uint32_t len)
{
	uint8_t *to = buf;
	uint32_t done = 0u;

	for (unsigned i = 0u; i < n && done < len; i++) {
		uint32_t skip = off < segs[i].len ? off : segs[i].len;
		uint32_t part = segs[i].len - skip < len - done ? segs[i].len - skip : len - done;

		memcpy(to + done, (const uint8_t *)segs[i].addr + skip, part);
		done += part;
		off -= skip;
	}
	return done;
}

uint32_t softring_write(const struct softring_seg *segs, unsigned n, uint32_t off, const void *buf, uint32_t len)
{
	const uint8_t *from = buf;
	uint32_t done = 0u;

	for (unsigned i = 0u; i < n && done < len; i++) {
		uint32_t skip = off < segs[i].len ? off : segs[i].len;
		uint32_t part = segs[i].len - skip < len - done ? segs[i].len - skip : len - done;

		memcpy((uint8_t *)segs[i].addr + skip, from + done, part);
		done += part;
		off -= skip;
	}
	return done;
}

/* ---- completions ---- */

static void put(struct softring *r, uint16_t id, uint32_t len, uint32_t skip)
{
	if (r->packed)
		softring_packed_put(r, id, len, skip);
	else
		softring_split_put(r, id, len, skip);
}

void softring_put(struct softring *r, const struct softring_chain *chain, uint32_t len)
{
	flip_held(r, chain->id);
	put(r, chain->id, len, r->packed ? chain->slots : 1u);
}

void softring_put_batch(struct softring *r, const struct softring_chain *chains, unsigned n, uint32_t len_last)
{
	uint32_t slots = 0u;

	for (unsigned i = 0u; i < n; i++) {
		flip_held(r, chains[i].id);
		slots += chains[i].slots;
	}
	put(r, chains[n - 1u].id, len_last, r->packed ? slots : n);
}

void softring_publish(struct softring *r)
{
	if (r->published_pos == r->used_pos)
		return;
	if (r->packed)
		store16(r, packed_desc(r, r->published_pos) + PACKED_DESC_FLAGS, r->first_flags);
	else
		store16(r, r->device + RING_IDX, (uint16_t)r->used_pos);
	r->published_pos = r->used_pos;
}

bool softring_interrupt(struct softring *r)
{
	bool wanted;

	softring_publish(r);
	/* The driver asks, then looks for completions; here the other way round: one of the two must see the other. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	wanted = r->told_pos != r->published_pos &&
	         (r->packed ? softring_packed_wanted(r) : softring_split_wanted(r));
	r->told_pos = r->published_pos;
	return wanted;
}

/* ---- doorbells ---- */

bool softring_sleep(struct softring *r, uint32_t slots)
{
	if ((r->cfg.flags & SOFTRING_EVENT_IDX) == 0u)
		slots = 1u;
	return r->packed ? softring_packed_sleep(r, slots) : softring_split_sleep(r, slots);
}

void softring_wake(struct softring *r)
{
	if (r->packed)
		store16(r, r->device + EVENT_FLAGS, EVENT_DISABLE);
	else if ((r->cfg.flags & SOFTRING_EVENT_IDX) == 0u)
		store16(r, r->device + RING_FLAGS, USED_NO_NOTIFY);
}
