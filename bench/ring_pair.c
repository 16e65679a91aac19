/* SPDX-License-Identifier: BSD-3-Clause */
#include "ring_pair.h"

#include <stdio.h>
#include <string.h>

void ring_pair_open(struct ring_pair *p, struct bench *b, uint32_t size, uint32_t flags, uint32_t segs_max)
{
	struct vnetrx_virtq_config cfg = { .size = size, .flags = flags, .segs_max = segs_max };
	struct softring_config dev = { .size = size, .flags = flags };
	struct vnetrx_virtq_areas areas;
	const char *why = "";

	p->mem_size = vnetrx_virtq_footprint(&cfg, &why);
	if (p->mem_size == 0u)
		bench_die(why);
	p->ring_size = vnetrx_virtq_ring_bytes(&cfg);
	p->mem = bench_alloc(b, p->mem_size);
	p->ring = bench_alloc(b, p->ring_size);
	cfg.ring = p->ring;
	cfg.ring_dma = (uintptr_t)p->ring;
	if (vnetrx_virtq_init(&p->vq, &cfg, p->mem, p->mem_size) != VNETRX_OK)
		bench_die("vnetrx_virtq_init");
	vnetrx_virtq_read_areas(p->vq, &areas);
	dev.desc = areas.desc;
	dev.driver = areas.driver;
	dev.device = areas.device;
	p->dev = softring_new(&dev);
	if (p->dev == NULL)
		bench_die("softring_new");
}

void ring_pair_close(struct ring_pair *p)
{
	softring_free(p->dev);
	bench_free(p->ring, p->ring_size);
	bench_free(p->mem, p->mem_size);
}

const char *ring_pair_name(uint32_t flags)
{
	static char name[32];

	snprintf(name, sizeof(name), "%s%s%s", (flags & VNETRX_VIRTQ_PACKED) != 0u ? "packed" : "split",
	         (flags & VNETRX_VIRTQ_IN_ORDER) != 0u ? " in-order" : "",
	         (flags & VNETRX_VIRTQ_INDIRECT) != 0u ? " indirect" : "");
	return name;
}
