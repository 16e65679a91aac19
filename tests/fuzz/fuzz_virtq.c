/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes a virtqueue: the input is a configuration, and then calls of the driver, an honest device's turns, and writes
 * of any bytes to any place of the ring's memory. Whatever lies there: no access outside of the memory that was given,
 * every id comes back once, slots and chains add up, and after a reset the ring is as good as new.
 *
 *   byte 0 flags | 1 size | 2 segs_max, then operations: 1 byte and what belongs to it
 */
#define _POSIX_C_SOURCE 200112L
#include <string.h>

#include "fuzz.h"
#include "softring.h"
#include "vnetrx/virtq.h"

#define SIZE_MAX_FUZZ 64u
#define SEGS_MAX      4u
#define RING_DMA      UINT64_C(0x100000000)

struct run {
	struct fuzz_input in;
	struct vnetrx_virtq_config cfg;
	struct vnetrx_virtq *vq;
	void    *mem;
	uint8_t *ring;
	size_t   ring_bytes;
	uint32_t segs[SIZE_MAX_FUZZ]; /* slots that the chain of an id takes; 0 = not lent */
	uint32_t lent;
	uint32_t slots;
	struct softring *dev;
	struct softring_chain held[SIZE_MAX_FUZZ];
	uint32_t held_num;
	bool     dev_lost;            /* it found nonsense in the ring                     */
};

/* ---- the beginning ---- */

/* The device looks into the ring only; segments may all be the same memory. */
static void *map(void *arg, uint64_t dma, uint32_t len)
{
	static uint8_t elsewhere[4096];
	struct run *r = arg;

	if (dma < RING_DMA || dma - RING_DMA >= r->ring_bytes)
		return len <= sizeof(elsewhere) ? elsewhere : NULL;
	return len <= r->ring_bytes - (dma - RING_DMA) ? r->ring + (dma - RING_DMA) : NULL;
}

static void configure(struct run *r)
{
	uint8_t flags = fuzz_u8(&r->in);
	uint8_t size = fuzz_u8(&r->in);

	r->cfg.flags = flags & 0x3fu;
	if ((flags & VNETRX_VIRTQ_PACKED) != 0u)
		r->cfg.flags &= ~VNETRX_VIRTQ_BIG_ENDIAN;
	r->cfg.size = (flags & VNETRX_VIRTQ_PACKED) != 0u ? 1u + size % SIZE_MAX_FUZZ : 1u << size % 7u;
	r->cfg.segs_max = 1u + fuzz_below(&r->in, r->cfg.size < SEGS_MAX ? r->cfg.size : SEGS_MAX);
	r->cfg.ring_align = 16u;
	r->cfg.ring_dma = RING_DMA;
}

static void start(struct run *r)
{
	struct softring_config dev = { .map = map, .map_arg = r };
	struct vnetrx_virtq_areas areas;
	void *ring = NULL;
	size_t bytes;

	configure(r);
	bytes = vnetrx_virtq_footprint(&r->cfg, NULL);
	r->ring_bytes = vnetrx_virtq_ring_bytes(&r->cfg);
	FUZZ_CHECK(bytes != 0u && posix_memalign(&r->mem, 64, bytes) == 0);
	FUZZ_CHECK(posix_memalign(&ring, 16, r->ring_bytes) == 0);
	r->ring = r->cfg.ring = ring;
	memset(ring, 0xa5, r->ring_bytes);
	FUZZ_CHECK(vnetrx_virtq_init(&r->vq, &r->cfg, r->mem, bytes) == VNETRX_OK);
	vnetrx_virtq_read_areas(r->vq, &areas);
	dev.size = r->cfg.size;
	dev.flags = r->cfg.flags & ~VNETRX_VIRTQ_ORDER_PLATFORM;
	dev.desc = areas.desc;
	dev.driver = areas.driver;
	dev.device = areas.device;
	r->dev = softring_new(&dev);
	FUZZ_CHECK(r->dev != NULL);
}

static void check(const struct run *r)
{
	FUZZ_CHECK(vnetrx_virtq_outstanding(r->vq) == r->lent);
	FUZZ_CHECK(vnetrx_virtq_free_slots(r->vq) == r->cfg.size - r->slots);
}

static bool broken(const struct run *r)
{
	return vnetrx_virtq_fault(r->vq) != VNETRX_VIRTQ_OK;
}

/* ---- the driver ---- */

static uint32_t free_id(const struct run *r)
{
	uint32_t id = 0;

	while (id < r->cfg.size && r->segs[id] != 0u)
		id++;
	return id;
}

static void lend(struct run *r, uint32_t id, uint32_t slots)
{
	r->segs[id] = slots;
	r->slots += slots;
	r->lent++;
}

static void unlend(struct run *r, uint32_t id)
{
	FUZZ_CHECK(id < r->cfg.size && r->segs[id] != 0u);
	r->slots -= r->segs[id];
	r->segs[id] = 0u;
	r->lent--;
}

static void add(struct run *r)
{
	struct vnetrx_virtq_seg segs[SEGS_MAX] = { { .dma = 0 } };
	unsigned n = fuzz_below(&r->in, SEGS_MAX + 1u);
	unsigned out = n > 0u ? fuzz_below(&r->in, n + 1u) : 0u;
	uint32_t need = vnetrx_virtq_slots_needed(r->vq, n);
	uint32_t id = free_id(r);
	int err;

	for (unsigned i = 0; i < n; i++) {
		segs[i].dma = fuzz_u8(&r->in);
		segs[i].len = 1u + fuzz_u8(&r->in);
	}
	err = vnetrx_virtq_add(r->vq, segs, out, n - out, id);
	if (n == 0u || n > r->cfg.segs_max)
		FUZZ_CHECK(err == VNETRX_ERR_INVALID);
	else if (broken(r))
		FUZZ_CHECK(err == VNETRX_ERR_BAD);
	else
		FUZZ_CHECK(err == (need > r->cfg.size - r->slots ? VNETRX_ERR_BUSY : VNETRX_OK));
	if (err == VNETRX_OK)
		lend(r, id, need);
}

static void add_bufs(struct run *r)
{
	unsigned n = fuzz_below(&r->in, SIZE_MAX_FUZZ);
	unsigned room = broken(r) ? 0u : r->cfg.size - r->slots;

	for (unsigned i = 0; i < n; i++) {
		struct vnetrx_buf buf = { .dma = i, .len = 1u + i, .id = free_id(r) };
		unsigned got = vnetrx_virtq_add_bufs(r->vq, &buf, 1);

		FUZZ_CHECK(got == (i < room ? 1u : 0u));
		if (got == 1u)
			lend(r, buf.id, 1u);
	}
}

static void reap(struct run *r)
{
	struct vnetrx_done done[SIZE_MAX_FUZZ];
	unsigned max = fuzz_below(&r->in, SIZE_MAX_FUZZ + 1u);
	int got = vnetrx_virtq_reap(r->vq, done, max);

	FUZZ_CHECK(got <= (int)max);
	FUZZ_CHECK(got >= 0 || (got == VNETRX_ERR_BAD && broken(r)));
	for (int i = 0; i < got; i++) {
		FUZZ_CHECK(done[i].off == 0u && done[i].flags == 0u && done[i].rsvd == 0u);
		unlend(r, done[i].id);
	}
}

/* Who asks for an interrupt is told when something waits, and on a broken ring always. */
static void callbacks(struct run *r)
{
	bool more = true;

	switch (fuzz_below(&r->in, 4)) {
	case 0:
		more = vnetrx_virtq_enable(r->vq);
		break;
	case 1:
		more = vnetrx_virtq_poll(r->vq, vnetrx_virtq_enable_prepare(r->vq));
		break;
	case 2:
		more = vnetrx_virtq_enable_delayed(r->vq) || !broken(r);
		break;
	default:
		vnetrx_virtq_disable(r->vq);
		break;
	}
	FUZZ_CHECK(more || !vnetrx_virtq_pending(r->vq));
}

/* A chain goes round: the ring works. */
static void prove(struct run *r)
{
	struct vnetrx_virtq_seg seg = { .dma = 0, .len = 100 };
	struct softring_chain chain;
	struct softring_seg got;
	struct vnetrx_done done;

	FUZZ_CHECK(vnetrx_virtq_add(r->vq, &seg, 0, 1, 9) == VNETRX_OK);
	FUZZ_CHECK(vnetrx_virtq_kick_needed(r->vq));
	FUZZ_CHECK(softring_take(r->dev, &chain, &got, 1) == 1 && got.len == 100u);
	softring_put(r->dev, &chain, 99);
	softring_publish(r->dev);
	FUZZ_CHECK(vnetrx_virtq_pending(r->vq));
	FUZZ_CHECK(vnetrx_virtq_reap(r->vq, &done, 1) == 1 && done.id == 9u && done.len == 99u);
}

/* Takes everything back and begins anew. */
static void reset(struct run *r)
{
	uint32_t id;

	while (vnetrx_virtq_detach(r->vq, &id)) {
		unlend(r, id);
		check(r);
	}
	FUZZ_CHECK(r->lent == 0u);
	vnetrx_virtq_reset(r->vq);
	softring_reset(r->dev);
	r->held_num = 0u;
	r->dev_lost = false;
	FUZZ_CHECK(!broken(r) && !vnetrx_virtq_pending(r->vq));
	prove(r);
}

/* ---- the device ---- */

static void take(struct run *r)
{
	struct softring_seg segs[SEGS_MAX];
	int got = 1;

	while (!r->dev_lost && got > 0 && r->held_num < r->cfg.size) {
		got = softring_take(r->dev, &r->held[r->held_num], segs, SEGS_MAX);
		if (got > 0)
			r->held_num++;
		r->dev_lost = got < 0;
	}
}

static void put(struct run *r)
{
	uint32_t i = r->held_num > 0u ? fuzz_below(&r->in, r->held_num) : 0u;

	if (r->held_num == 0u || r->dev_lost)
		return;
	if ((r->cfg.flags & VNETRX_VIRTQ_IN_ORDER) != 0u)
		i = 0u;
	softring_put(r->dev, &r->held[i], fuzz_u8(&r->in));
	r->held_num--;
	memmove(&r->held[i], &r->held[i + 1u], (r->held_num - i) * sizeof(r->held[0]));
}

/* Up to 8 bytes at any place. */
static void write_anywhere(struct run *r)
{
	size_t at = fuzz_u16(&r->in) % r->ring_bytes;

	for (unsigned n = 1u + fuzz_below(&r->in, 8); n > 0u && at < r->ring_bytes; n--)
		r->ring[at++] = fuzz_u8(&r->in);
}

static void step(struct run *r)
{
	switch (fuzz_below(&r->in, 14)) {
	case 0: case 1:
		add(r);
		break;
	case 2:
		add_bufs(r);
		break;
	case 3:
		vnetrx_virtq_publish(r->vq);
		break;
	case 4:
		FUZZ_CHECK(!vnetrx_virtq_kick_needed(r->vq) || !broken(r));
		break;
	case 5: case 6:
		reap(r);
		break;
	case 7:
		callbacks(r);
		break;
	case 8:
		take(r);
		break;
	case 9:
		put(r);
		break;
	case 10:
		(void)softring_interrupt(r->dev);
		break;
	case 11: case 12:
		write_anywhere(r);
		break;
	default:
		reset(r);
		break;
	}
	check(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run r = { .in = { data, size } };

	start(&r);
	while (r.in.left > 0u)
		step(&r);
	reset(&r);
	softring_free(r.dev);
	free(r.mem);
	free(r.ring);
	return 0;
}
