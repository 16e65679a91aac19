/* SPDX-License-Identifier: BSD-3-Clause */
/* A completion is honest but for the fields that are to be wrong; everything else is written over what is there. */
#include "faulty_ring.h"

#include <stdlib.h>

#include "rng.h"
#include "softring_mem.h"

#define STALE_MAX 64u
#define PPM       1000000u
#define NBUFS_OFF 10u /* of num_buffers in the device header (virtio 1.2, 5.1.6) */
#define HDR_BYTES 12u

struct faulty_ring {
	struct softring *r;
	uint64_t rng;
	uint16_t stale[STALE_MAX]; /* ids that came back lately */
	uint32_t stale_num;
	uint16_t other;            /* id of a chain taken lately */
	uint32_t ppm[FAULTY_RING_KINDS_NUM];
	uint64_t count[FAULTY_RING_KINDS_NUM];
};

static bool hit(struct faulty_ring *f, enum faulty_ring_kind kind)
{
	if (f->ppm[kind] == 0u || rng_below(&f->rng, PPM) >= f->ppm[kind])
		return false;
	f->count[kind]++;
	return true;
}

struct faulty_ring *faulty_ring_new(struct softring *ring, uint64_t seed)
{
	struct faulty_ring *f = calloc(1u, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->r = ring;
	f->rng = seed;
	return f;
}

void faulty_ring_free(struct faulty_ring *f)
{
	free(f);
}

void faulty_ring_set(struct faulty_ring *f, enum faulty_ring_kind kind, uint32_t ppm)
{
	f->ppm[kind] = ppm;
}

void faulty_ring_set_all(struct faulty_ring *f, uint32_t ppm)
{
	for (unsigned kind = 0u; kind < FAULTY_RING_KINDS_NUM; kind++)
		f->ppm[kind] = ppm;
}

void faulty_ring_reset(struct faulty_ring *f)
{
	f->stale_num = 0u;
	f->other = 0u;
}

uint64_t faulty_ring_count(const struct faulty_ring *f, enum faulty_ring_kind kind)
{
	return f->count[kind];
}

const char *faulty_ring_text(unsigned kind)
{
#define FAULTY_RING_TEXT(name, text) text,
	static const char *const texts[] = { FAULTY_RING_KINDS(FAULTY_RING_TEXT) };

	return kind < FAULTY_RING_KINDS_NUM ? texts[kind] : NULL;
}

/* ---- memory that is not the device's to write ---- */

/* Mostly values that mean something. */
static uint16_t word(struct faulty_ring *f, uint16_t now)
{
	switch (rng_below(&f->rng, 5u)) {
	case 0u:
		return 0u;
	case 1u:
		return UINT16_MAX;
	case 2u:
		return (uint16_t)(now ^ 1u << rng_below(&f->rng, 16u));
	case 3u:
		return (uint16_t)(now + 1u);
	default:
		return (uint16_t)rng_next(&f->rng);
	}
}

static void overwrite(struct faulty_ring *f, uint8_t *p)
{
	store16(f->r, p, word(f, load16(f->r, p)));
}

static uint8_t *some_desc(struct faulty_ring *f)
{
	return f->r->desc + rng_below(&f->rng, f->r->size) * DESC_BYTES;
}

static uint32_t desc_flags_off(const struct softring *r)
{
	return r->packed ? PACKED_DESC_FLAGS : SPLIT_DESC_FLAGS;
}

static void spoil_table(struct faulty_ring *f)
{
	const uint8_t *desc = some_desc(f);
	uint32_t len = load32(f->r, desc + DESC_LEN);
	uint8_t *table;

	if ((load16(f->r, desc + desc_flags_off(f->r)) & DESC_INDIRECT) == 0u || len < DESC_BYTES)
		return;
	table = softring_map(f->r, load64(f->r, desc + DESC_ADDR), len);
	if (table != NULL && (uintptr_t)table % 2u == 0u)
		overwrite(f, table + rng_below(&f->rng, len / 2u) * 2u);
}

/* flags and index 4 bytes, entries, event index */
static uint32_t avail_words(const struct softring *r)
{
	return r->packed ? 2u : 3u + r->size;
}

static uint32_t used_words(const struct softring *r)
{
	return r->packed ? 2u : 3u + 4u * r->size;
}

static void spoil_event(struct faulty_ring *f)
{
	const struct softring *r = f->r;
	bool drivers = rng_below(&f->rng, 2u) == 0u;
	uint8_t *area = drivers ? r->driver : r->device;
	uint32_t last = (drivers ? avail_words(r) : used_words(r)) - 1u;

	overwrite(f, area + (rng_below(&f->rng, 2u) == 0u ? 0u : last) * 2u);
}

static void spoil_anywhere(struct faulty_ring *f)
{
	const struct softring *r = f->r;
	uint32_t desc = r->size * DESC_BYTES / 2u;
	uint32_t at = rng_below(&f->rng, desc + avail_words(r) + used_words(r));

	if (at < desc)
		overwrite(f, r->desc + at * 2u);
	else if (at - desc < avail_words(r))
		overwrite(f, r->driver + (at - desc) * 2u);
	else
		overwrite(f, r->device + (at - desc - avail_words(r)) * 2u);
}

void faulty_ring_scribble(struct faulty_ring *f)
{
	if (hit(f, FAULTY_RING_DESC))
		overwrite(f, some_desc(f) + rng_below(&f->rng, DESC_BYTES / 2u) * 2u);
	if (hit(f, FAULTY_RING_DESC_FLAGS))
		overwrite(f, some_desc(f) + desc_flags_off(f->r));
	if (hit(f, FAULTY_RING_TABLE))
		spoil_table(f);
	if (!f->r->packed && hit(f, FAULTY_RING_AVAIL))
		overwrite(f, f->r->driver + rng_below(&f->rng, avail_words(f->r)) * 2u);
	if (hit(f, FAULTY_RING_EVENT))
		spoil_event(f);
	if (hit(f, FAULTY_RING_ANYWHERE))
		spoil_anywhere(f);
}

/* ---- chains ---- */

int faulty_ring_take(struct faulty_ring *f, struct softring_chain *chain, struct softring_seg *segs, unsigned max)
{
	int got;

	faulty_ring_scribble(f);
	got = softring_take(f->r, chain, segs, max);
	if (got > 0 && rng_below(&f->rng, 2u) == 0u)
		f->other = chain->id;
	faulty_ring_scribble(f);
	return got;
}

static void spoil_header(struct faulty_ring *f, const struct softring_seg *segs, uint32_t num)
{
	uint8_t hdr[HDR_BYTES];
	uint32_t nbufs;

	if (softring_read(segs, num, 0u, hdr, HDR_BYTES) != HDR_BYTES)
		return;
	nbufs = hdr[NBUFS_OFF] + 256u * hdr[NBUFS_OFF + 1u];
	if (hit(f, FAULTY_RING_NBUFS_ZERO))
		nbufs = 0u;
	if (hit(f, FAULTY_RING_NBUFS_FEW))
		nbufs--;
	if (hit(f, FAULTY_RING_NBUFS_MANY))
		nbufs += 1u + rng_below(&f->rng, 8u);
	if (hit(f, FAULTY_RING_NBUFS_WILD))
		nbufs = rng_next(&f->rng);
	hdr[NBUFS_OFF] = (uint8_t)nbufs;
	hdr[NBUFS_OFF + 1u] = (uint8_t)(nbufs >> 8);
	if (hit(f, FAULTY_RING_HEADER))
		for (uint32_t i = 0u; i < HDR_BYTES; i++)
			hdr[i] = (uint8_t)rng_next(&f->rng);
	(void)softring_write(segs, num, 0u, hdr, HDR_BYTES);
}

static uint32_t spoiled_id(struct faulty_ring *f, uint32_t id)
{
	uint32_t known = f->stale_num < STALE_MAX ? f->stale_num : STALE_MAX;

	if (hit(f, FAULTY_RING_ID_WILD))
		return rng_below(&f->rng, 2u) == 0u ? f->r->size + rng_below(&f->rng, 4u) : rng_next(&f->rng);
	if (hit(f, FAULTY_RING_ID_NOT_HEAD))
		return (id + 1u + rng_below(&f->rng, 3u)) % f->r->size;
	if (known > 0u && hit(f, FAULTY_RING_ID_TWICE))
		return f->stale[rng_below(&f->rng, known)];
	if (hit(f, FAULTY_RING_ID_OTHER))
		return f->other;
	return id;
}

static uint32_t spoiled_len(struct faulty_ring *f, const struct softring_chain *chain, const struct softring_seg *segs,
                            uint32_t len)
{
	if (hit(f, FAULTY_RING_LEN_ZERO))
		return 0u;
	if (hit(f, FAULTY_RING_LEN_OVER)) {
		for (uint32_t i = 0u; i < chain->in; i++)
			len += segs[chain->out + i].len;
		return len + 1u + rng_below(&f->rng, 64u);
	}
	if (hit(f, FAULTY_RING_LEN_HUGE))
		return UINT32_MAX - rng_below(&f->rng, 64u);
	return len;
}

static void split_put(struct faulty_ring *f, uint32_t id, uint32_t len)
{
	struct softring *r = f->r;
	uint8_t *entry = r->device + RING_ENTRIES + (r->used_pos & (r->size - 1u)) * 8u;

	softring_split_put(r, (uint16_t)id, len, 1u);
	store32(r, entry, id); /* all of its 32 bits */
	if (hit(f, FAULTY_RING_IDX_JUMP))
		r->used_pos = pos_after(r, r->used_pos, 1u + rng_below(&f->rng, 4u));
	if (hit(f, FAULTY_RING_IDX_BACK))
		r->used_pos = pos_after(r, r->used_pos, UINT16_MAX - rng_below(&f->rng, 8u));
	if (hit(f, FAULTY_RING_IDX_WILD))
		r->used_pos = rng_next(&f->rng) & UINT16_MAX;
}

/* Each completion is published at once: then the flags in question are the ring's first. */
static void packed_put(struct faulty_ring *f, uint32_t id, uint32_t len, uint32_t slots)
{
	struct softring *r = f->r;

	softring_publish(r);
	softring_packed_put(r, (uint16_t)id, len, slots);
	if (hit(f, FAULTY_RING_WRAP_WRONG))
		r->first_flags ^= (uint16_t)(rng_below(&f->rng, 2u) == 0u ? DESC_USED : DESC_AVAIL | DESC_USED);
	if (hit(f, FAULTY_RING_IDX_WILD))
		r->first_flags = (uint16_t)rng_next(&f->rng);
	softring_publish(r);
	if (hit(f, FAULTY_RING_IDX_JUMP)) {
		softring_packed_put(r, load16(r, packed_desc(r, r->used_pos) + PACKED_DESC_ID), len, 1u);
		softring_publish(r);
	}
}

void faulty_ring_put(struct faulty_ring *f, const struct softring_chain *chain, const struct softring_seg *segs,
                     uint32_t len)
{
	uint32_t id;

	faulty_ring_scribble(f);
	flip_held(f->r, chain->id);
	if (hit(f, FAULTY_RING_LOST))
		return;
	spoil_header(f, segs + chain->out, chain->in);
	id = spoiled_id(f, chain->id);
	len = spoiled_len(f, chain, segs, len);
	f->stale[f->stale_num++ % STALE_MAX] = (uint16_t)id;
	if (f->r->packed)
		packed_put(f, id, len, chain->slots);
	else
		split_put(f, id, len);
	faulty_ring_scribble(f);
}
