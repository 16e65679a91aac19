/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap.h"
#include "pair.h"

_Static_assert(SOFTRING_PACKED == VNETRX_VIRTQ_PACKED && SOFTRING_EVENT_IDX == VNETRX_VIRTQ_EVENT_IDX &&
                       SOFTRING_INDIRECT == VNETRX_VIRTQ_INDIRECT && SOFTRING_IN_ORDER == VNETRX_VIRTQ_IN_ORDER &&
                       SOFTRING_BIG_ENDIAN == VNETRX_VIRTQ_BIG_ENDIAN,
               "both sides name what was negotiated alike");

void ring_pair_open(struct ring_pair *r, uint32_t size, uint32_t flags, uint32_t segs_max)
{
	ring_pair_open_delayed(r, size, flags, segs_max, 0, 0);
}

void ring_pair_open_delayed(struct ring_pair *r, uint32_t size, uint32_t flags, uint32_t segs_max, uint32_t delay_num,
                           uint32_t delay_den)
{
	struct softring_config dev = { .size = size, .flags = flags };
	struct vnetrx_virtq_areas areas;
	const char *why = "";
	size_t need;

	memset(r, 0, sizeof(*r));
	r->cfg = (struct vnetrx_virtq_config){ .size = size, .flags = flags, .segs_max = segs_max };
	r->cfg.delay_num = delay_num;
	r->cfg.delay_den = delay_den;
	need = vnetrx_virtq_footprint(&r->cfg, &why);
	if (need == 0u)
		fail_msg("configuration: %s", why);
	r->ring_bytes = vnetrx_virtq_ring_bytes(&r->cfg);
	r->mem = heap_memory(need);
	r->ring = heap_memory(r->ring_bytes);
	r->copy = malloc(r->ring_bytes);
	assert_non_null(r->mem);
	assert_non_null(r->ring);
	assert_non_null(r->copy);
	memset(r->ring, 0xa5, r->ring_bytes);
	r->cfg.ring = r->ring;
	r->cfg.ring_dma = (uintptr_t)r->ring;
	assert_int_equal(vnetrx_virtq_init(&r->vq, &r->cfg, r->mem, need), VNETRX_OK);
	vnetrx_virtq_read_areas(r->vq, &areas);
	dev.desc = areas.desc;
	dev.driver = areas.driver;
	dev.device = areas.device;
	r->dev = softring_new(&dev);
	assert_non_null(r->dev);
}

void ring_pair_close(struct ring_pair *r)
{
	softring_free(r->dev);
	free(r->copy);
	free(r->ring);
	free(r->mem);
}

void ring_pair_reset_device(struct ring_pair *r)
{
	softring_reset(r->dev);
}

void ring_pair_remember(struct ring_pair *r)
{
	memcpy(r->copy, r->ring, r->ring_bytes);
}

bool ring_pair_same(const struct ring_pair *r)
{
	return memcmp(r->copy, r->ring, r->ring_bytes) == 0;
}

void ring_pair_break(struct ring_pair *r)
{
	struct vnetrx_virtq_areas areas;
	uint8_t *at;

	vnetrx_virtq_read_areas(r->vq, &areas);
	if ((r->cfg.flags & VNETRX_VIRTQ_PACKED) == 0u) {
		at = r->ring + (areas.device - r->cfg.ring_dma) + 2u; /* the used index: half the numbers further */
		at[1] = (uint8_t)(at[1] ^ 0x80u);
		return;
	}
	for (uint32_t i = 0; i < r->cfg.size * 2u; i++) { /* the next descriptor: used, with an id that there is not */
		uint8_t saved[16];

		at = r->ring + (areas.desc - r->cfg.ring_dma) + i / 2u * 16u;
		memcpy(saved, at, sizeof(saved));
		at[12] = at[13] = 0xffu;
		at[14] = at[15] = i % 2u == 0u ? 0x80u : 0x00u;
		if (vnetrx_virtq_pending(r->vq))
			return;
		memcpy(at, saved, sizeof(saved));
	}
	fail_msg("no descriptor could be marked as used");
}

const char *ring_pair_kind(unsigned i, uint32_t *flags)
{
	static const struct {
		const char *name;
		uint32_t    flags;
	} kinds[] = {
		{ "split", 0 },
		{ "split, events", VNETRX_VIRTQ_EVENT_IDX },
		{ "split, in order", VNETRX_VIRTQ_EVENT_IDX | VNETRX_VIRTQ_IN_ORDER },
		{ "split, indirect", VNETRX_VIRTQ_EVENT_IDX | VNETRX_VIRTQ_INDIRECT },
		{ "packed", VNETRX_VIRTQ_PACKED },
		{ "packed, events", VNETRX_VIRTQ_PACKED | VNETRX_VIRTQ_EVENT_IDX },
		{ "packed, in order", VNETRX_VIRTQ_PACKED | VNETRX_VIRTQ_EVENT_IDX | VNETRX_VIRTQ_IN_ORDER },
		{ "packed, indirect", VNETRX_VIRTQ_PACKED | VNETRX_VIRTQ_EVENT_IDX | VNETRX_VIRTQ_INDIRECT },
	};

	if (i >= sizeof(kinds) / sizeof(kinds[0]))
		return NULL;
	*flags = kinds[i].flags;
	return kinds[i].name;
}
