/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Invariant: free + lent + recycled slots == slots_num, and each run counts exactly its lent and recycled slots and
 * its fragments. Pieces are cut upwards from a run and never overlap; what one run loses at its end is the cost of a
 * buffer.
 */
#include "pool.h"

#include "../mem.h"

/*@ requires \valid_read(run);
    assigns \nothing;
    ensures \result != 0 <==> run->posted == 0 && run->held == 0;
*/
static bool run_empty(const struct vnrx_run *run)
{
	return run->posted == 0u && run->held == 0u;
}

/*@ requires \valid(cut) && \valid_read(run) && \separated(cut, run);
    assigns *cut;
    ensures cut->next == run->base && cut->dma == run->dma && cut->left == run->size && cut->run == i;
*/
static void cut_start(struct vnrx_cut *cut, const struct vnrx_run *run, uint16_t i, uint32_t need)
{
	VNRX_TRACK_UNDEFINED(run->base, run->size);
	cut->next = run->base;
	cut->dma = run->dma;
	cut->run = i;
#ifdef VNRX_POOL_DEBUG
	cut->left = need; /* one buffer per run, and nothing behind it */
	VNRX_TRACK_NOACCESS(run->base + need, run->size - need);
#else
	cut->left = run->size;
	(void)need;
#endif
}

/* Puts `cut` at the start of a run in which `need` bytes can be cut; false = none to be had, and cut stays as it is. */
static bool cut_renew(struct vnetrx_pool *p, struct vnrx_cut *cut, uint32_t *hole, uint32_t need)
{
	struct vnrx_run *runs = p->pages.runs;
	uint16_t         i = cut->run;

	if (i == VNRX_RUN_NONE || !run_empty(&runs[i])) {
		i = vnrx_pages_get(&p->pages, need);
		if (i == VNRX_RUN_NONE)
			return false;
		*hole += cut->left;
	}
	cut_start(cut, &runs[i], i, need);
	return true;
}

/* The ring goes before small packets: it takes over their run when that is empty. */
static VNRX_COLD bool cut_take_over(struct vnetrx_pool *p, uint32_t need)
{
	uint16_t i = p->copy.run;

	if (i == VNRX_RUN_NONE || !run_empty(&p->pages.runs[i]))
		return false;
	p->copy.run = VNRX_RUN_NONE;
	p->copy.left = 0;
	p->hole += p->cut.left;
	cut_start(&p->cut, &p->pages.runs[i], i, need);
	return true;
}

static bool ring_renew(struct vnetrx_pool *p, uint32_t need)
{
	return cut_renew(p, &p->cut, &p->hole, need) || cut_take_over(p, need);
}

/* No run: from here on a thread that frees wakes the host, and what was freed just before is looked for once more. */
static VNRX_COLD bool ring_retry(struct vnetrx_pool *p, uint32_t need)
{
	vnrx_pool_set_wait(p, VNRX_SHORT_RUN);
	return vnetrx_pool_collect(p) != 0u && ring_renew(p, need);
}

/* Lends recycled buffers, oldest first. */
static unsigned lend_again(struct vnetrx_pool *p, struct vnetrx_buf *bufs, unsigned n)
{
	struct vnrx_slot *slots = p->slots;
	uint16_t          id = p->recycled_first;
	unsigned          i;

	if (n > p->recycled)
		n = p->recycled;
	for (i = 0; i < n; i++) {
		struct vnrx_slot *slot = &slots[id];

		slot->state = VNRX_SLOT_LENT;
		bufs[i] = (struct vnetrx_buf){ slot->addr, slot->dma, slot->len, id };
		id = slot->next;
	}
	p->recycled -= n;
	p->recycled_first = id;
	return n;
}

/* The buffer of len bytes at `at`, behind its headroom, is lent; it costs `take`. */
/*@ requires \valid(slot) && \valid_read(at) && \valid(buf) && \separated(slot, at, buf);
    requires \valid(at->next + (0 .. len - 1)); // a buffer does not leave its run
    assigns slot->addr, slot->dma, slot->len, slot->truesize, slot->run, slot->state, *buf;
    ensures slot->run == at->run && slot->state == VNRX_SLOT_LENT && slot->truesize == take;
    ensures slot->addr == at->next && slot->len == len && buf->id == id;
*/
static VNRX_INLINE void carve_one(struct vnrx_slot *slot, const struct vnrx_cut *at, struct vnetrx_buf *buf,
                                  uint32_t id, uint32_t len, uint32_t take)
{
	slot->addr = at->next;
	slot->dma = at->dma;
	slot->len = len;
	slot->truesize = take;
	slot->run = at->run;
	slot->state = VNRX_SLOT_LENT;
	buf->addr = at->next;
	buf->dma = at->dma;
	buf->len = len;
	buf->id = id;
}

/* Cuts up to n (> 0) buffers of len bytes from the run at hand, which has room for at least one. What is left when no
 * other of the same length fits goes to the last: to the device with it, or only on its bill. */
/*@ requires vnrx_pool_slots(p) && vnrx_pool_free(p) && vnrx_pool_runs(p);
    requires 0 < n <= p->ids_free && \valid(bufs + (0 .. n - 1)) && 0 < len;
    requires p->cut.run < p->pages.runs_num && p->headroom + len <= p->cut.left <= 0x7fffffff;
    requires \valid(p->cut.next + (0 .. p->cut.left - 1)) && p->cut.dma <= 0x7fffffffffffffff;
    requires p->carved <= 0x7fffffffffffffff && p->carved_bytes <= 0x7fffffffffffffff && p->hole <= 0x7fffffff;
    requires \separated(bufs + (0 .. n - 1), p, p->slots + (0 .. p->slots_num - 1), p->ids + (0 .. p->slots_num - 1));
    requires \separated(bufs + (0 .. n - 1), p->pages.runs + (0 .. p->pages.runs_num - 1));
    assigns bufs[0 .. n - 1], p->slots[0 .. p->slots_num - 1], p->cut, p->hole, p->ids_free, p->carved,
            p->carved_bytes, p->pages.runs[0 .. p->pages.runs_num - 1].posted;
    ensures 0 < \result <= n && p->ids_free == \old(p->ids_free) - \result;
    ensures p->cut.next == \old(p->cut.next) + (\old(p->cut.left) - p->cut.left);
    ensures p->cut.left <= \old(p->cut.left) - \result * (p->headroom + len);
*/
static unsigned carve(struct vnetrx_pool *p, uint32_t len, struct vnetrx_buf *bufs, unsigned n)
{
	struct vnrx_slot *slots = p->slots;
	const uint16_t   *ids = p->ids + p->ids_free;
	struct vnrx_cut   at = { p->cut.next + p->headroom, p->cut.dma + p->headroom, p->cut.left, p->cut.run };
	uint32_t          whole = p->headroom + len;
	unsigned          i = 0;

	/*@ loop invariant i <= n && ids == p->ids + p->ids_free - i;
	    loop invariant at.left == p->cut.left - i * whole && (i > 0 ==> at.left >= whole) && at.left <= p->cut.left;
	    loop invariant at.next == p->cut.next + p->headroom + i * whole && at.run == p->cut.run;
	    loop invariant at.dma == p->cut.dma + p->headroom + i * whole;
	    loop invariant \forall integer k; 0 <= k < p->slots_num ==> slots[k].run < p->pages.runs_num;
	    loop invariant i > 0 ==> bufs[0].id < p->slots_num && slots[bufs[0].id].truesize <= 0x7fffffff;
	    loop assigns i, ids, at, bufs[0 .. n - 1], slots[0 .. p->slots_num - 1];
	    loop variant n - i;
	*/
	for (; i < n && at.left / 2u >= whole; i++) {
		uint32_t id = *--ids;

		carve_one(&slots[id], &at, &bufs[i], id, len, whole);
		at.next += whole;
		at.dma += whole;
		at.left -= whole;
	}
	if (i < n) {
		uint32_t id = *--ids;

		carve_one(&slots[id], &at, &bufs[i], id, p->fixed != 0u ? len : at.left - p->headroom, at.left);
		at.left = 0;
		i++;
	}
	slots[bufs[0].id].truesize += p->hole;
	p->carved_bytes += p->hole + (p->cut.left - at.left);
	p->carved += i;
	p->pages.runs[at.run].posted = (uint16_t)(p->pages.runs[at.run].posted + i);
	p->ids_free -= i;
	p->hole = 0;
	p->cut.next += p->cut.left - at.left;
	p->cut.dma += p->cut.left - at.left;
	p->cut.left = at.left;
	if (at.left == 0u)
		p->cut.run = VNRX_RUN_NONE;
	return i;
}

unsigned vnetrx_pool_get(struct vnetrx_pool *pool, uint32_t len, struct vnetrx_buf *bufs, unsigned n)
{
	uint32_t want, whole;
	unsigned i, end;

	VNRX_ASSERT(len != 0u && len <= pool->len_max);
	want = len != 0u && len < pool->len_max ? vnrx_align_up(len, pool->align) : pool->len_max;
	whole = pool->headroom + want;
	i = lend_again(pool, bufs, n);
	end = n - i < pool->ids_free ? n : i + pool->ids_free;
	while (i < end) {
		if (pool->cut.left < whole && !ring_renew(pool, whole) && !ring_retry(pool, whole))
			return i;
		i += carve(pool, want, bufs + i, end - i);
	}
	if (VNRX_LOAD_RELAXED(&pool->is_short) != VNRX_SHORT_NOT && i == n)
		vnrx_pool_set_short(pool, false);
	return i;
}

unsigned vnetrx_pool_put(struct vnetrx_pool *pool, const uint32_t *ids, unsigned n)
{
	unsigned i, taken = 0;

	for (i = 0; i < n; i++) {
		struct vnrx_slot *slot = vnrx_slot_lent(pool, ids[i]);

		if (slot == NULL)
			continue;
		vnrx_slot_put(pool, slot, ids[i]);
		taken++;
	}
	return taken;
}

unsigned vnetrx_pool_reclaim(struct vnetrx_pool *pool)
{
	unsigned taken = 0;
	uint32_t id;

	for (id = 0; id < pool->slots_num; id++)
		taken += vnetrx_pool_put(pool, &id, 1);
	return taken;
}

uint8_t *vnrx_pool_copy_room(struct vnetrx_pool *pool, uint32_t len, uint16_t *run, uint32_t *truesize)
{
	uint32_t whole = vnrx_align_up(pool->headroom + len, VNRX_CACHE_LINE);
	uint8_t *room;

	if (pool->copy.left < whole && !cut_renew(pool, &pool->copy, &pool->copy_hole, whole))
		return NULL;
	room = pool->copy.next;
	*run = pool->copy.run;
	*truesize = whole + pool->copy_hole;
	pool->copy_hole = 0;
	pool->copy.next += whole;
	pool->copy.left -= whole;
	if (pool->copy.left == 0u)
		pool->copy.run = VNRX_RUN_NONE;
	vnrx_run_hold(pool, *run);
	VNRX_TRACK_UNDEFINED(room, whole);
	return room + pool->headroom;
}

void vnrx_pool_run_idle(struct vnetrx_pool *pool, uint16_t run)
{
	struct vnrx_run *r = &pool->pages.runs[run];

	pool->pages.pinned_bytes -= r->size;
	if (r->posted != 0u)
		return;
	if (run == pool->copy.run) {
		cut_start(&pool->copy, r, run, r->size); /* from its start again: those bytes are in the cache */
		VNRX_TRACK_NOACCESS(r->base, r->size);
	} else if (run != pool->cut.run) {
		vnrx_pages_put(&pool->pages, run);
	}
	if (VNRX_LOAD_RELAXED(&pool->is_short) != VNRX_SHORT_NOT)
		pool->run_back = 1;
}

unsigned vnetrx_pool_pkts_free(const struct vnetrx_pool *pool)
{
	return pool->pkts_free;
}

void vnetrx_pool_read_stats(const struct vnetrx_pool *pool, struct vnetrx_pool_stats *stats)
{
	const struct vnrx_pages *pg = &pool->pages;

	stats->runs = pg->owned;
	stats->run_bytes = pg->run_bytes;
	stats->pinned_bytes = pg->pinned_bytes;
	stats->bufs_lent = vnrx_pool_lent(pool);
	stats->bufs_recycled = pool->recycled;
	stats->pkts_used = pool->pkts_num - pool->pkts_free;
	stats->run_allocs = pg->run_allocs;
	stats->run_frees = pg->run_frees;
	stats->run_fails = pg->run_fails;
	stats->carved = pool->carved;
	stats->carved_bytes = pool->carved_bytes;
	stats->claimed = pool->carved - stats->bufs_lent - stats->bufs_recycled; /* the rest of what was carved */
	stats->put_back = pool->put_back;
	stats->copies = pool->copies;
	stats->copy_fails = pool->copy_fails;
	stats->frags_freed = pool->frags_freed;
	stats->pkts_remote = pool->pkts_remote;
}
