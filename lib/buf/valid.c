/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The walker of the pool. Sets are compared by their sizes and a sum over scrambled members, so that it needs no memory
 * of its own and one pass; two different sets agree by accident once in 2^64.
 */
#include "pool.h"

static uint64_t scramble(uint64_t v)
{
	v = (v + 1u) * 0x9e3779b97f4a7c15u;
	return v ^ (v >> 29);
}

static bool slots_valid(const struct vnetrx_pool *p)
{
	uint64_t stacked = 0, is_free = 0;
	uint32_t id, n = 0;

	if (p->ids_free > p->slots_num)
		return false;
	for (id = 0; id < p->ids_free; id++)
		stacked += scramble(p->ids[id]);
	for (id = 0; id < p->slots_num; id++) {
		if (p->slots[id].state != VNRX_SLOT_FREE)
			continue;
		is_free += scramble(id);
		n++;
	}
	return n == p->ids_free && is_free == stacked;
}

static bool recycled_valid(const struct vnetrx_pool *p)
{
	uint32_t id = p->recycled_first, n = 0, k;

	for (k = 0; k < p->slots_num; k++)
		n += p->slots[k].state == VNRX_SLOT_RECYCLED ? 1u : 0u;
	if (n != p->recycled)
		return false;
	for (k = 0; k < n; k++) {
		if (id >= p->slots_num || p->slots[id].state != VNRX_SLOT_RECYCLED)
			return false;
		if (k + 1u == n)
			return id == p->recycled_last;
		id = p->slots[id].next;
	}
	return true;
}

/* Each buffer lies in its run; the runs' counts are those of the slots and of the descriptors. */
static bool counts_valid(const struct vnetrx_pool *p)
{
	uint64_t by_slots = 0, by_runs = 0, posted = 0, held = 0;
	uint32_t i;

	for (i = 0; i < p->slots_num; i++) {
		const struct vnrx_slot *s = &p->slots[i];
		const struct vnrx_run  *r = &p->pages.runs[s->run];

		if (s->state == VNRX_SLOT_FREE)
			continue;
		if (s->run >= p->pages.runs_num || s->addr < r->base || s->addr + s->len > r->base + r->size)
			return false;
		by_slots += scramble(s->run);
	}
	for (i = 0; i < p->pages.runs_num; i++) {
		posted += p->pages.runs[i].posted;
		held += p->pages.runs[i].held;
		by_runs += p->pages.runs[i].posted * scramble(i);
	}
	return by_slots == by_runs && posted == p->slots_num - p->ids_free && held == p->pkts_num - p->pkts_free;
}

/* Length of the spare list; more than there are runs = it is no list. */
static uint32_t spare_walk(const struct vnrx_pages *pg, uint64_t *bytes)
{
	uint32_t i = pg->spare, n = 0;

	*bytes = 0;
	while (i != VNRX_RUN_NONE && n <= pg->runs_num) {
		if (i >= pg->runs_num || pg->runs[i].base == NULL)
			return UINT32_MAX;
		*bytes += pg->runs[i].size;
		n++;
		i = pg->runs[i].next;
	}
	return n;
}

/* No run is lost: whatever has memory is in use, being cut, or spare. */
static bool runs_valid(const struct vnetrx_pool *p)
{
	const struct vnrx_pages *pg = &p->pages;
	uint64_t bytes = 0, pinned = 0, spare_bytes, owned = 0;
	uint32_t i, idle = 0;

	for (i = 0; i < pg->runs_num; i++) {
		const struct vnrx_run *r = &pg->runs[i];

		if (r->base == NULL) {
			if (r->posted != 0u || r->held != 0u)
				return false;
			continue;
		}
		owned++;
		bytes += r->size;
		pinned += r->held != 0u ? r->size : 0u;
		idle += r->posted == 0u && r->held == 0u && i != p->cut.run && i != p->copy.run ? 1u : 0u;
	}
	return idle == spare_walk(pg, &spare_bytes) && spare_bytes == pg->spare_bytes && owned == pg->owned &&
	       bytes == pg->run_bytes && bytes <= pg->run_bytes_max && pinned == pg->pinned_bytes &&
	       spare_bytes <= pg->spare_bytes_max;
}

static bool cut_valid(const struct vnetrx_pool *p, const struct vnrx_cut *cut)
{
	const struct vnrx_run *r;

	if (cut->run == VNRX_RUN_NONE)
		return cut->left == 0u;
	if (cut->run >= p->pages.runs_num)
		return false;
	r = &p->pages.runs[cut->run];
	return r->base != NULL && cut->left != 0u && cut->next + cut->left <= r->base + r->size && cut->next >= r->base;
}

bool vnrx_pool_valid(const struct vnetrx_pool *pool)
{
	return slots_valid(pool) && recycled_valid(pool) && counts_valid(pool) && runs_valid(pool) &&
	       cut_valid(pool, &pool->cut) && cut_valid(pool, &pool->copy) && pool->pkts_free <= pool->pkts_num;
}
