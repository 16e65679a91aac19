/* SPDX-License-Identifier: BSD-3-Clause */
/* Ring memory as the device sees it (virtio 1.2, 2.7 and 2.8): offsets, byte order, and what another thread may see. */
#ifndef EXAMPLES_SOFTRING_MEM_H
#define EXAMPLES_SOFTRING_MEM_H

#include <string.h>

#include "softring.h"

/* One descriptor of 16 bytes: 64-bit address, 32-bit length, then by kind. */
#define DESC_BYTES        16u
#define DESC_ADDR         0u
#define DESC_LEN          8u
#define SPLIT_DESC_FLAGS  12u
#define SPLIT_DESC_NEXT   14u
#define PACKED_DESC_ID    12u
#define PACKED_DESC_FLAGS 14u

#define DESC_NEXT     0x0001u
#define DESC_WRITE    0x0002u
#define DESC_INDIRECT 0x0004u
#define DESC_AVAIL    0x0080u /* packed only */
#define DESC_USED     0x8000u

/* Available and used ring: 16-bit flags, 16-bit index, entries, then the event index of the other side. */
#define RING_FLAGS    0u
#define RING_IDX      2u
#define RING_ENTRIES  4u
#define AVAIL_NO_INTERRUPT 1u
#define USED_NO_NOTIFY     1u

/* Event suppression of packed rings. */
#define EVENT_OFF_WRAP 0u
#define EVENT_FLAGS    2u
#define EVENT_ENABLE   0u
#define EVENT_DISABLE  1u
#define EVENT_DESC     2u

struct softring {
	uint8_t *desc;
	uint8_t *driver;
	uint8_t *device;
	uint32_t size;
	bool     packed;
	bool     swap;          /* the ring's byte order is not the machine's                               */
	uint32_t lap;           /* after so many steps a position comes again: split 65536, packed 2 * size */
	uint32_t avail_pos;     /* next chain to take                                                       */
	uint32_t used_pos;      /* next completion to write                                                 */
	uint32_t published_pos; /* end of what the driver may see                                           */
	uint32_t told_pos;      /* end of what was there when an interrupt was last decided on              */
	uint16_t first_flags;   /* packed: flags of the entry at published_pos, held back                   */
	uint64_t held[65536u / 64u]; /* one bit per id                                                      */
	struct softring_config cfg;
};

static inline uint16_t order16(const struct softring *r, uint16_t v)
{
	return r->swap ? (uint16_t)(v << 8 | v >> 8) : v;
}

static inline uint16_t load16(const struct softring *r, const uint8_t *p)
{
	return order16(r, __atomic_load_n((const uint16_t *)(const void *)p, __ATOMIC_ACQUIRE));
}

static inline void store16(const struct softring *r, uint8_t *p, uint16_t v)
{
	__atomic_store_n((uint16_t *)(void *)p, order16(r, v), __ATOMIC_RELEASE);
}

/* At any address, for indirect tables; nobody writes there meanwhile. */
static inline uint16_t peek16(const struct softring *r, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return order16(r, v);
}

static inline uint32_t order32(const struct softring *r, uint32_t v)
{
	return r->swap ? v << 24 | (v & 0xff00u) << 8 | (v >> 8 & 0xff00u) | v >> 24 : v;
}

static inline uint32_t load32(const struct softring *r, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return order32(r, v);
}

static inline void store32(const struct softring *r, uint8_t *p, uint32_t v)
{
	__atomic_store_n((uint32_t *)(void *)p, order32(r, v), __ATOMIC_RELAXED); /* the driver may look meanwhile */
}

static inline uint64_t load64(const struct softring *r, const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return r->swap ? (uint64_t)order32(r, (uint32_t)v) << 32 | order32(r, (uint32_t)(v >> 32)) : v;
}

/* Slot and wrap counter of a position in a packed ring: it is 1 in the first lap. */
static inline uint32_t packed_off(const struct softring *r, uint32_t pos)
{
	return pos < r->size ? pos : pos - r->size;
}

static inline bool packed_wrap(const struct softring *r, uint32_t pos)
{
	return pos < r->size;
}

static inline uint16_t packed_off_wrap(const struct softring *r, uint32_t pos)
{
	return (uint16_t)(packed_off(r, pos) | (packed_wrap(r, pos) ? 0x8000u : 0u));
}

static inline uint8_t *packed_desc(const struct softring *r, uint32_t pos)
{
	return r->desc + packed_off(r, pos) * DESC_BYTES;
}

/* A position moved on by at most a lap; steps from one to a later one. */
static inline uint32_t pos_after(const struct softring *r, uint32_t pos, uint32_t steps)
{
	uint32_t next = pos + steps;

	return next >= r->lap ? next - r->lap : next;
}

static inline uint32_t pos_steps(const struct softring *r, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + r->lap - from;
}

static inline bool is_held(const struct softring *r, uint16_t id)
{
	return (r->held[id / 64u] >> id % 64u & 1u) != 0u;
}

static inline void flip_held(struct softring *r, uint16_t id)
{
	r->held[id / 64u] ^= UINT64_C(1) << id % 64u;
}

/* Segments of a chain while it is walked. */
struct softring_walk {
	struct softring_seg   *segs;
	unsigned               max;
	struct softring_chain *chain;
};

static inline void *softring_map(const struct softring *r, uint64_t dma, uint32_t len)
{
	return r->cfg.map != NULL ? r->cfg.map(r->cfg.map_arg, dma, len) : (void *)(uintptr_t)dma;
}

/* Adds the segment that a descriptor describes; flags as in it. 0 or a fault. */
int softring_seg(const struct softring *r, struct softring_walk *w, const uint8_t *desc, uint16_t flags);

/* The table of an indirect descriptor: its address and number of entries. 0 or a fault. */
int softring_table(const struct softring *r, const uint8_t *desc, const uint8_t **table, uint32_t *num);

/* ---- softring_split.c ---- */
int  softring_split_take(struct softring *r, struct softring_walk *w);
bool softring_split_pending(const struct softring *r);
void softring_split_put(struct softring *r, uint16_t id, uint32_t len, uint32_t skip);
bool softring_split_wanted(const struct softring *r);
bool softring_split_sleep(struct softring *r, uint32_t slots);

/* ---- softring_packed.c ---- */
int  softring_packed_take(struct softring *r, struct softring_walk *w);
bool softring_packed_pending(const struct softring *r, uint32_t pos);
void softring_packed_put(struct softring *r, uint16_t id, uint32_t len, uint32_t skip);
bool softring_packed_wanted(const struct softring *r);
bool softring_packed_sleep(struct softring *r, uint32_t slots);

#endif
