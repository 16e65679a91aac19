/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/ring_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "virtio/virtq.h"

#define PACKED_AVAIL 0x0080u
#define PACKED_USED  0x8000u

static bool is_packed(const struct ring_rig *rig)
{
	return (rig->cfg.flags & VNETRX_VIRTQ_PACKED) != 0u;
}

static void *memory(size_t align, size_t size)
{
	void *p = aligned_alloc(align, (size + align - 1u) / align * align);

	assert_non_null(p);
	memset(p, 0xa5, size); /* init must not count on zeros */
	return p;
}

void ring_open(struct ring_rig *rig, struct vnetrx_virtq_config cfg)
{
	struct vnetrx_virtq_areas areas;
	const char *why = "";
	size_t      size = vnetrx_virtq_footprint(&cfg, &why);

	assert_null(why);
	memset(rig, 0, sizeof(*rig));
	rig->mem = memory(64, size);
	rig->ring = memory(cfg.ring_align != 0u ? cfg.ring_align : 64u, vnetrx_virtq_ring_bytes(&cfg));
	cfg.ring = rig->ring;
	cfg.ring_dma = RIG_DMA;
	rig->cfg = cfg;
	assert_int_equal(vnetrx_virtq_init(&rig->vq, &cfg, rig->mem, size), VNETRX_OK);
	vnetrx_virtq_read_areas(rig->vq, &areas);
	assert_true(areas.desc == RIG_DMA);
	rig->driver = (uint32_t)(areas.driver - RIG_DMA);
	rig->device = (uint32_t)(areas.device - RIG_DMA);
	ring_restart(rig);
}

void ring_close(struct ring_rig *rig)
{
	free(rig->ring);
	free(rig->mem);
}

void ring_restart(struct ring_rig *rig)
{
	rig->avail = rig->used = 0;
	rig->avail_wrap = rig->used_wrap = 1;
}

void ring_run(struct ring_rig *rig, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		drv_add_bufs(rig, 1, i);
		vnetrx_virtq_publish(rig->vq);
		assert_int_equal(dev_echo(rig, 1), 1);
		drv_expect(rig, i, 1);
	}
}

void ring_jump(struct ring_rig *rig, uint32_t n)
{
	struct vnetrx_virtq *vq = rig->vq;

	assert_false(is_packed(rig));
	assert_int_equal(vq->out, 0);
	vq->avail = vq->used = (uint16_t)n;
	vq->take = vq->give = n % rig->cfg.size;
	rig->avail = rig->used = n % 65536u;
	ring_set(rig, rig->driver + 2u, 2, rig->avail);
	dev_index(rig, rig->used);
}

uint64_t ring_get(const struct ring_rig *rig, uint32_t off, unsigned bytes)
{
	bool     big = (rig->cfg.flags & VNETRX_VIRTQ_BIG_ENDIAN) != 0u;
	uint64_t value = 0;
	unsigned i;

	for (i = 0; i < bytes; i++)
		value = value << 8 | rig->ring[off + (big ? i : bytes - 1u - i)];
	return value;
}

void ring_set(struct ring_rig *rig, uint32_t off, unsigned bytes, uint64_t value)
{
	bool     big = (rig->cfg.flags & VNETRX_VIRTQ_BIG_ENDIAN) != 0u;
	unsigned i;

	for (i = 0; i < bytes; i++) {
		rig->ring[off + (big ? bytes - 1u - i : i)] = (uint8_t)value;
		value >>= 8;
	}
}

static uint32_t get16(const struct ring_rig *rig, uint32_t off)
{
	return (uint32_t)ring_get(rig, off, 2);
}

/* ---- the device ---- */

/* Notes the segment that a descriptor stands for: those to read come first (2.7.4.2). */
static void note_seg(const struct ring_rig *rig, uint32_t off, bool write, struct ring_chain *chain)
{
	unsigned n = chain->out + chain->in;

	assert_true(n < RIG_SEGS_MAX);
	assert_true(write || chain->in == 0u);
	chain->dma[n] = ring_get(rig, off, 8);
	chain->len[n] = (uint32_t)ring_get(rig, off + 8u, 4);
	if (write)
		chain->in++;
	else
		chain->out++;
}

/* Offset and number of entries of the table that a descriptor points to. */
static uint32_t indirect_table(const struct ring_rig *rig, uint32_t off, uint32_t *n)
{
	uint64_t at = ring_get(rig, off, 8) - RIG_DMA;
	uint32_t len = (uint32_t)ring_get(rig, off + 8u, 4);

	assert_true((rig->cfg.flags & VNETRX_VIRTQ_INDIRECT) != 0u);
	assert_true(len != 0u && len % 16u == 0u);
	assert_true(at + len <= vnetrx_virtq_ring_bytes(&rig->cfg));
	*n = len / 16u;
	return (uint32_t)at;
}

/* Follows a chain from entry `at` of the table at `base` with `size` entries. */
static void split_follow(const struct ring_rig *rig, uint32_t base, uint32_t size, uint32_t at,
                         struct ring_chain *chain)
{
	for (;;) {
		uint32_t off = base + 16u * at;
		uint32_t flags = get16(rig, off + 12u);
		uint32_t n;

		assert_true(at < size);
		if ((flags & 4u) != 0u) {
			assert_int_equal(flags, 4);
			off = indirect_table(rig, off, &n);
			split_follow(rig, off, n, 0, chain);
			assert_int_equal(chain->out + chain->in, n);
			chain->descs = 1;
			return;
		}
		note_seg(rig, off, (flags & 2u) != 0u, chain);
		chain->descs++;
		if ((flags & 1u) == 0u)
			return;
		if ((rig->cfg.flags & VNETRX_VIRTQ_IN_ORDER) != 0u) /* 2.7.9 */
			assert_int_equal(get16(rig, off + 14u), (at + 1u) % size);
		at = get16(rig, off + 14u);
	}
}

static bool split_take(struct ring_rig *rig, struct ring_chain *chain)
{
	uint32_t at = rig->avail % rig->cfg.size;

	if (get16(rig, rig->driver + 2u) == rig->avail)
		return false;
	chain->id = get16(rig, rig->driver + 4u + 2u * at);
	split_follow(rig, 0, rig->cfg.size, chain->id, chain);
	rig->avail = (rig->avail + 1u) % 65536u;
	return true;
}

static void packed_indirect(const struct ring_rig *rig, uint32_t off, struct ring_chain *chain)
{
	uint32_t i, n;

	off = indirect_table(rig, off, &n);
	for (i = 0; i < n; i++) {
		uint32_t flags = get16(rig, off + 16u * i + 14u);

		assert_true((flags & ~2u) == 0u);
		note_seg(rig, off + 16u * i, flags != 0u, chain);
	}
}

static bool packed_take(struct ring_rig *rig, struct ring_chain *chain)
{
	uint32_t flags;

	do {
		uint32_t off = 16u * rig->avail;
		bool     offered;

		flags = get16(rig, off + 14u);
		offered = ((flags & PACKED_AVAIL) != 0u) == (rig->avail_wrap != 0u) &&
		          ((flags & PACKED_USED) != 0u) != (rig->avail_wrap != 0u);
		if (!offered) {
			assert_int_equal(chain->descs, 0); /* all of a chain, or none of it */
			return false;
		}
		if ((flags & 4u) != 0u)
			packed_indirect(rig, off, chain);
		else
			note_seg(rig, off, (flags & 2u) != 0u, chain);
		chain->id = get16(rig, off + 12u);
		chain->descs++;
		rig->avail = (rig->avail + 1u) % rig->cfg.size;
		if (rig->avail == 0u)
			rig->avail_wrap ^= 1u;
	} while ((flags & 1u) != 0u);
	return true;
}

bool dev_take(struct ring_rig *rig, struct ring_chain *chain)
{
	memset(chain, 0, sizeof(*chain));
	return is_packed(rig) ? packed_take(rig, chain) : split_take(rig, chain);
}

unsigned dev_take_all(struct ring_rig *rig)
{
	struct ring_chain chain;
	unsigned n = 0;

	while (dev_take(rig, &chain))
		n++;
	return n;
}

void dev_entry(struct ring_rig *rig, uint32_t index, uint32_t id, uint32_t len)
{
	uint32_t off = rig->device + 4u + 8u * (index % rig->cfg.size);

	ring_set(rig, off, 4, id);
	ring_set(rig, off + 4u, 4, len);
}

void dev_index(struct ring_rig *rig, uint32_t index)
{
	ring_set(rig, rig->device + 2u, 2, index % 65536u);
}

static void packed_use(struct ring_rig *rig, uint32_t id, uint32_t len, uint32_t descs)
{
	uint32_t off = 16u * rig->used;

	ring_set(rig, off + 8u, 4, len);
	ring_set(rig, off + 12u, 2, id);
	ring_set(rig, off + 14u, 2, rig->used_wrap != 0u ? PACKED_AVAIL | PACKED_USED : 0u);
	rig->used += descs;
	if (rig->used >= rig->cfg.size) {
		rig->used -= rig->cfg.size;
		rig->used_wrap ^= 1u;
	}
}

void dev_use(struct ring_rig *rig, uint32_t id, uint32_t len, uint32_t entries)
{
	if (is_packed(rig)) {
		packed_use(rig, id, len, entries);
		return;
	}
	dev_entry(rig, rig->used, id, len);
	rig->used = (rig->used + entries) % 65536u;
	dev_index(rig, rig->used);
}

unsigned dev_echo(struct ring_rig *rig, uint32_t len)
{
	struct ring_chain chain;
	unsigned n = 0;

	while (dev_take(rig, &chain)) {
		dev_use(rig, chain.id, len, is_packed(rig) ? chain.descs : 1u);
		n++;
	}
	return n;
}

void dev_set_event(struct ring_rig *rig, uint32_t index)
{
	ring_set(rig, rig->device + 4u + 8u * rig->cfg.size, 2, index % 65536u);
}

void dev_set_flags(struct ring_rig *rig, uint32_t flags)
{
	ring_set(rig, rig->device, 2, flags);
}

void dev_set_wish(struct ring_rig *rig, uint32_t wish)
{
	ring_set(rig, rig->device, 4, wish);
}

uint32_t dev_event(const struct ring_rig *rig)
{
	return get16(rig, rig->driver + 4u + 2u * rig->cfg.size);
}

uint32_t dev_flags(const struct ring_rig *rig)
{
	return get16(rig, rig->driver);
}

uint32_t dev_wish(const struct ring_rig *rig)
{
	return (uint32_t)ring_get(rig, rig->driver, 4);
}

/* ---- the driver ---- */

void drv_add(struct ring_rig *rig, unsigned out, unsigned in, uint32_t id)
{
	struct vnetrx_virtq_seg segs[RIG_SEGS_MAX];
	uint32_t free_slots = vnetrx_virtq_free_slots(rig->vq);
	uint32_t lent = vnetrx_virtq_outstanding(rig->vq);
	unsigned i;

	for (i = 0; i < out + in; i++)
		segs[i] = (struct vnetrx_virtq_seg){ 4096u * (i + 1u), 100u + i, 0 };
	assert_int_equal(vnetrx_virtq_add(rig->vq, segs, out, in, id), VNETRX_OK);
	free_slots -= vnetrx_virtq_slots_needed(rig->vq, out + in);
	assert_int_equal(vnetrx_virtq_free_slots(rig->vq), free_slots);
	assert_int_equal(vnetrx_virtq_outstanding(rig->vq), lent + 1u);
}

void drv_add_bufs(struct ring_rig *rig, unsigned n, uint32_t id)
{
	unsigned i;

	for (i = 0; i < n;) {
		struct vnetrx_buf bufs[32];
		unsigned k, some = n - i < 32u ? n - i : 32u;

		for (k = 0; k < some; k++)
			bufs[k] =
				(struct vnetrx_buf){ NULL, 65536u + 2048u * (uint64_t)(id + i + k), 1536, id + i + k };
		assert_int_equal(vnetrx_virtq_add_bufs(rig->vq, bufs, some), some);
		i += some;
	}
}

void drv_expect(struct ring_rig *rig, uint32_t id, uint32_t len)
{
	struct vnetrx_done done = { 0 };

	assert_true(vnetrx_virtq_pending(rig->vq));
	assert_int_equal(vnetrx_virtq_reap(rig->vq, &done, 1), 1);
	assert_int_equal(done.id, id);
	assert_int_equal(done.len, len);
	assert_int_equal(done.off | done.flags | done.rsvd, 0);
}

void drv_expect_run(struct ring_rig *rig, unsigned n, uint32_t id)
{
	struct vnetrx_done done[64];
	unsigned i = 0;
	int      got, k;

	while (i < n) {
		got = vnetrx_virtq_reap(rig->vq, done, n - i < 64u ? n - i : 64u);
		assert_true(got > 0);
		for (k = 0; k < got; k++)
			assert_int_equal(done[k].id, id + i + (unsigned)k);
		i += (unsigned)got;
	}
}

void drv_expect_none(struct ring_rig *rig)
{
	struct vnetrx_done done[4];

	assert_false(vnetrx_virtq_pending(rig->vq));
	assert_int_equal(vnetrx_virtq_reap(rig->vq, done, 4), 0);
	assert_int_equal(vnetrx_virtq_fault(rig->vq), VNETRX_VIRTQ_OK);
}

bool drv_kick(struct ring_rig *rig)
{
	return vnetrx_virtq_kick_needed(rig->vq);
}

void drv_expect_broken(struct ring_rig *rig, enum vnetrx_virtq_fault fault)
{
	struct vnetrx_virtq_seg seg = { 4096, 64, 0 };
	struct vnetrx_buf       buf = { NULL, 4096, 64, 1 };
	struct vnetrx_done      done[4];
	uint32_t                id, lent = vnetrx_virtq_outstanding(rig->vq);

	assert_int_equal(vnetrx_virtq_reap(rig->vq, done, 4), VNETRX_ERR_BAD);
	assert_int_equal(vnetrx_virtq_fault(rig->vq), fault);
	assert_true(vnetrx_virtq_pending(rig->vq));
	assert_true(vnetrx_virtq_enable(rig->vq));
	assert_true(vnetrx_virtq_enable_delayed(rig->vq));
	assert_true(vnetrx_virtq_poll(rig->vq, vnetrx_virtq_enable_prepare(rig->vq)));
	assert_int_equal(vnetrx_virtq_add(rig->vq, &seg, 0, 1, 1), VNETRX_ERR_BAD);
	assert_int_equal(vnetrx_virtq_add_bufs(rig->vq, &buf, 1), 0);
	assert_false(vnetrx_virtq_kick_needed(rig->vq));
	assert_int_equal(vnetrx_virtq_reap(rig->vq, done, 4), VNETRX_ERR_BAD);
	assert_int_equal(vnetrx_virtq_outstanding(rig->vq), lent);
	for (; lent != 0u; lent--)
		assert_true(vnetrx_virtq_detach(rig->vq, &id));
	assert_false(vnetrx_virtq_detach(rig->vq, &id));
	assert_int_equal(vnetrx_virtq_outstanding(rig->vq), 0);
	assert_int_equal(vnetrx_virtq_free_slots(rig->vq), rig->cfg.size);
	vnetrx_virtq_reset(rig->vq);
	ring_restart(rig);
	assert_int_equal(vnetrx_virtq_fault(rig->vq), VNETRX_VIRTQ_OK);
	ring_run(rig, 2u * rig->cfg.size + 1u);
}
