/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool from inside: what merge, rxq and the descriptors' free path do with it for every packet.
 *
 * Ids of buffers are slot numbers. A slot is free, lent or recycled; free ones are on a stack, recycled ones in a
 * FIFO so that neighbours that came back together go out together. Free descriptors are on a stack too: what was freed
 * last is still in the cache, and the ones to come can be prefetched.
 */
#ifndef VNRX_BUF_POOL_H
#define VNRX_BUF_POOL_H

#include "../check.h"
#include "../track.h"
#include "page.h"
#include "vnetrx/pool.h"

#define VNRX_SLOT_FREE     0u
#define VNRX_SLOT_LENT     1u
#define VNRX_SLOT_RECYCLED 2u
#define VNRX_SLOT_NONE     0xffffu

/* What a queue that cannot go on waits for. */
#define VNRX_SHORT_NOT 0
#define VNRX_SHORT_RUN 1 /* a run: no buffer can be carved                      */
#define VNRX_SHORT_ANY 2 /* whatever comes back, for instance a packet descriptor */

struct vnrx_slot {
	uint8_t *addr;     /* as posted                                  */
	uint64_t dma;
	uint32_t len;      /* as posted                                  */
	uint32_t truesize; /* bytes carved: headroom, buffer and hole    */
	uint16_t run;
	uint16_t next;     /* in the FIFO of recycled ones               */
	uint32_t state;
};

/* Where the next piece is cut. left == 0 and run == VNRX_RUN_NONE: nowhere. */
struct vnrx_cut {
	uint8_t *next;
	uint64_t dma;
	uint32_t left;
	uint16_t run;
};

struct vnetrx_pool {
	struct vnrx_slot   *slots;
	uint16_t           *ids;       /* stack of free slots       */
	struct vnetrx_pkt **pkts;      /* stack of free descriptors */
	uint32_t            ids_free;
	uint32_t            pkts_free;
	uint32_t            slots_num;
	uint32_t            headroom;  /* rounded up to align       */
	uint32_t            pkt_cost;  /* bytes of one descriptor   */
	uint32_t            fixed;
	struct vnrx_cut     cut;       /* ring buffers              */
	struct vnrx_cut     copy;      /* small packets             */
	struct vnrx_pages   pages;

	uint32_t            hole;      /* left over in a run that was given up; the next buffer's cost      */
	uint32_t            copy_hole; /* the same for small packets                                        */
	uint32_t            run_back;  /* a run came back while the ring was short                          */
	uint16_t            recycled_first;
	uint16_t            recycled_last;
	uint32_t            recycled;
	uint32_t            align;
	uint32_t            len_max;   /* longest buffer that may be asked for                              */
	uint32_t            pkts_num;
	uint32_t            pkt_stride;
	uint8_t            *pkt_mem;
	size_t              mem_size;
	uint32_t            remote_free;
	uint64_t            pinned_high; /* three quarters of all that may be owned */
	uint64_t            carved;
	uint64_t            carved_bytes;
	uint64_t            put_back;
	uint64_t            copies;
	uint64_t            copy_fails;
	uint64_t            frags_freed;
	uint64_t            pkts_remote;
	void               *host;
	void              (*wake)(void *host);

	uint8_t             line[VNRX_CACHE_LINE]; /* what follows is written by other threads */
	struct vnetrx_pkt  *remote;    /* heads freed elsewhere, newest first, linked by next */
	int                 is_short;  /* VNRX_SHORT_*                                        */
};

/*@ predicate vnrx_pool_slots{L}(struct vnetrx_pool *p) =
      \valid(p) && p->slots_num < VNRX_SLOT_NONE && \valid(p->slots + (0 .. p->slots_num - 1)) &&
      \valid(p->ids + (0 .. p->slots_num - 1)) && \separated(p, p->slots + (0 .. p->slots_num - 1)) &&
      \separated(p, p->ids + (0 .. p->slots_num - 1)) &&
      \separated(p->slots + (0 .. p->slots_num - 1), p->ids + (0 .. p->slots_num - 1));

    predicate vnrx_pool_free{L}(struct vnetrx_pool *p) =
      p->ids_free <= p->slots_num && \forall integer i; 0 <= i < p->ids_free ==> p->ids[i] < p->slots_num;

    predicate vnrx_pool_runs{L}(struct vnetrx_pool *p) =
      p->pages.runs_num <= VNRX_RUN_NONE && \valid(p->pages.runs + (0 .. p->pages.runs_num - 1)) &&
      \separated(p->pages.runs + (0 .. p->pages.runs_num - 1), p) &&
      \separated(p->pages.runs + (0 .. p->pages.runs_num - 1), p->slots + (0 .. p->slots_num - 1)) &&
      \separated(p->pages.runs + (0 .. p->pages.runs_num - 1), p->ids + (0 .. p->slots_num - 1)) &&
      \forall integer i; 0 <= i < p->slots_num ==> p->slots[i].run < p->pages.runs_num;
*/

/* Says whether the queue waits for something to come back: the next packet that is freed then wakes the host, once.
 * When vnetrx_pool_get() lacks a run it says so itself, and then only a free that empties a run wakes. After setting
 * it, look at the return list once more: vnetrx_pool_collect(). */
void vnrx_pool_set_short(struct vnetrx_pool *pool, bool is_short);

/* The same with one of VNRX_SHORT_*. */
void vnrx_pool_set_wait(struct vnetrx_pool *pool, int what);

/* Room for a copy of len bytes; NULL = no run. The caller owns one fragment of *run. */
uint8_t *vnrx_pool_copy_room(struct vnetrx_pool *pool, uint32_t len, uint16_t *run, uint32_t *truesize);

/* The last fragment of a run is gone. */
void vnrx_pool_run_idle(struct vnetrx_pool *pool, uint16_t run);

/* Something came back while the ring was short: wakes the host if that is what it waits for. */
void vnrx_pool_wake(struct vnetrx_pool *pool);

/* Every count, list and sum agrees with every other. Between calls only; walks everything. */
bool vnrx_pool_valid(const struct vnetrx_pool *pool);

/* ---- inline bodies ---- */

/* The slot of an id that came from the device; NULL = that id is not out. */
/*@ requires vnrx_pool_slots(pool);
    assigns \nothing;
    ensures \result == \null || (id < pool->slots_num && \result == pool->slots + id &&
                                \result->state == VNRX_SLOT_LENT);
*/
static VNRX_INLINE struct vnrx_slot *vnrx_slot_lent(struct vnetrx_pool *pool, uint32_t id)
{
	struct vnrx_slot *slot;

	if (VNRX_UNLIKELY(id >= pool->slots_num))
		return NULL;
	slot = &pool->slots[id];
	return VNRX_LIKELY(slot->state == VNRX_SLOT_LENT) ? slot : NULL;
}

/* The buffer stops being one; its bytes belong to whoever holds the run. */
/*@ requires vnrx_pool_slots(pool) && vnrx_pool_free(pool) && vnrx_pool_runs(pool);
    requires id < pool->slots_num && slot == pool->slots + id && pool->ids_free < pool->slots_num;
    requires pool->pages.runs[slot->run].posted > 0;
    assigns slot->state, pool->ids[pool->ids_free], pool->ids_free, pool->pages.runs[slot->run].posted;
    ensures vnrx_pool_free(pool) && pool->ids_free == \old(pool->ids_free) + 1 && slot->state == VNRX_SLOT_FREE;
*/
static VNRX_INLINE void vnrx_slot_claim(struct vnetrx_pool *pool, struct vnrx_slot *slot, uint32_t id)
{
	slot->state = VNRX_SLOT_FREE;
	pool->ids[pool->ids_free++] = (uint16_t)id;
	pool->pages.runs[slot->run].posted--;
}

/* The buffer comes back unused: it is lent again before new ones are carved. */
/*@ requires vnrx_pool_slots(pool) && id < pool->slots_num && slot == pool->slots + id;
    requires pool->recycled < pool->slots_num && pool->put_back < UINT64_MAX;
    requires pool->recycled != 0 ==> pool->recycled_last < pool->slots_num;
    assigns slot->state, pool->slots[0 .. pool->slots_num - 1].next, pool->recycled, pool->recycled_first,
            pool->recycled_last, pool->put_back;
    ensures pool->recycled == \old(pool->recycled) + 1 && pool->recycled_last == id;
    ensures slot->state == VNRX_SLOT_RECYCLED;
*/
static VNRX_INLINE void vnrx_slot_put(struct vnetrx_pool *pool, struct vnrx_slot *slot, uint32_t id)
{
	slot->state = VNRX_SLOT_RECYCLED;
	slot->next = VNRX_SLOT_NONE;
	if (pool->recycled++ == 0u)
		pool->recycled_first = (uint16_t)id;
	else
		pool->slots[pool->recycled_last].next = (uint16_t)id;
	pool->recycled_last = (uint16_t)id;
	pool->put_back++;
}

/* One more fragment in a run. */
static VNRX_INLINE void vnrx_run_hold(struct vnetrx_pool *pool, uint16_t i)
{
	struct vnrx_run *run = &pool->pages.runs[i];

	if (run->held++ == 0u)
		pool->pages.pinned_bytes += run->size;
}

/* One fragment less. */
static VNRX_INLINE void vnrx_run_drop(struct vnetrx_pool *pool, uint16_t i)
{
	VNRX_ASSERT(pool->pages.runs[i].held != 0u);
	if (--pool->pages.runs[i].held == 0u)
		vnrx_pool_run_idle(pool, i);
}

/* Buffers that are out: at the device, or about to be posted. */
static VNRX_INLINE uint32_t vnrx_pool_lent(const struct vnetrx_pool *pool)
{
	return pool->slots_num - pool->ids_free - pool->recycled;
}

/* A descriptor with owner set and everything else as it was left; NULL = none free. */
static VNRX_INLINE struct vnetrx_pkt *vnrx_pkt_get(struct vnetrx_pool *pool)
{
	struct vnetrx_pkt *pkt;

	if (VNRX_UNLIKELY(pool->pkts_free == 0u))
		return NULL;
	pkt = pool->pkts[--pool->pkts_free];
	VNRX_TRACK_DEFINED(pkt, pool->pkt_stride);
	return pkt;
}

/* Gives back one link of a packet and the fragment in it. */
static VNRX_INLINE void vnrx_pkt_put(struct vnetrx_pool *pool, struct vnetrx_pkt *pkt)
{
	uint16_t run = pkt->run;

	VNRX_TRACK_NOACCESS(pkt->data, pkt->frag_len);
	VNRX_TRACK_NOACCESS(pkt, pool->pkt_stride);
	pool->pkts[pool->pkts_free++] = pkt;
	vnrx_run_drop(pool, run);
}

/* Whether [data, ...) in `run` goes on where fragment `last` ends. */
static VNRX_INLINE bool vnrx_frag_adjacent(const struct vnetrx_pkt *last, const uint8_t *data, uint16_t run)
{
	return last->run == run && last->data + last->frag_len == data;
}

#endif
