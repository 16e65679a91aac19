/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* memfd_create() */
#include "region.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where r->size bytes of addresses are free, at a multiple of REGION_HUGE_PAGE; NULL = nowhere. They stay reserved. */
static uint8_t *reserve(const struct region *r)
{
	size_t size = r->size + REGION_HUGE_PAGE;
	uint8_t *from = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (from == MAP_FAILED)
		return NULL;
	before = REGION_HUGE_PAGE - (uintptr_t)from % REGION_HUGE_PAGE;
	munmap(from, before);
	if (before < REGION_HUGE_PAGE)
		munmap(from + before + r->size, REGION_HUGE_PAGE - before);
	return from + before;
}

static bool map(struct region *r, unsigned flags)
{
	void *base;

	r->fd = memfd_create("vnetrx", MFD_CLOEXEC | flags);
	if (r->fd < 0)
		return false;
	if (ftruncate(r->fd, (off_t)r->size) == 0) {
		base = mmap(r->base, r->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE | MAP_FIXED, r->fd, 0);
		if (base != MAP_FAILED)
			return true;
	}
	close(r->fd);
	return false;
}

struct region *region_new(size_t size)
{
	struct region *r = calloc(1u, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->size = (size + REGION_HUGE_PAGE - 1u) / REGION_HUGE_PAGE * REGION_HUGE_PAGE;
	r->next = calloc(r->size / REGION_PAGE, sizeof(*r->next));
	r->base = r->next != NULL ? reserve(r) : NULL;
	if (r->base != NULL) {
		r->huge = map(r, MFD_HUGETLB);
		if (r->huge || map(r, 0u))
			return r;
		munmap(r->base, r->size);
	}
	free(r->next);
	free(r);
	return NULL;
}

void region_delete(struct region *r)
{
	if (r == NULL)
		return;
	munmap(r->base, r->size);
	close(r->fd);
	free(r->next);
	free(r);
}

/* The class of a size; REGION_SIZES = there is none. */
static unsigned class_of(size_t size)
{
	unsigned i = 0u;

	while (i < REGION_SIZES && (size_t)REGION_PAGE << i != size)
		i++;
	return i;
}

void *region_alloc(struct region *r, size_t size, uint64_t *dma)
{
	unsigned class = class_of(size);
	size_t at;

	if (class == REGION_SIZES)
		return NULL;
	if (r->free[class] != 0u) {
		uint32_t number = r->free[class] - 1u;

		r->free[class] = r->next[number];
		at = (size_t)number * REGION_PAGE;
	} else {
		at = (r->used + size - 1u) / size * size;
		if (at > r->size || size > r->size - at)
			return NULL;
		r->used = at + size;
	}
	r->out += size;
	*dma = REGION_DMA + at;
	return r->base + at;
}

void region_give(struct region *r, void *page, size_t size)
{
	unsigned class = class_of(size);
	uint32_t number = (uint32_t)((size_t)((uint8_t *)page - r->base) / REGION_PAGE);

	r->next[number] = r->free[class];
	r->free[class] = number + 1u;
	r->out -= size;
}

void *region_keep(struct region *r, size_t size, uint64_t *dma)
{
	size_t at = (r->used + 4095u) / 4096u * 4096u;

	if (size == 0u || at > r->size || size > r->size - at)
		return NULL;
	r->used = at + size;
	*dma = REGION_DMA + at;
	return r->base + at;
}

static void *page_alloc(void *arg, size_t size, uint64_t *dma)
{
	struct region_host *host = arg;

	return region_alloc(host->region, size, dma);
}

static void page_free(void *arg, void *page, size_t size, uint64_t dma)
{
	struct region_host *host = arg;

	(void)dma;
	region_give(host->region, page, size);
}

/* heap is the first member, so that the other ops of heap_host_ops work on the same pointer. */
struct vnetrx_host_ops region_host_ops(void)
{
	struct vnetrx_host_ops ops = heap_host_ops;

	ops.page_alloc = page_alloc;
	ops.page_free = page_free;
	return ops;
}
