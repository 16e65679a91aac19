/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets from outside: wrapping, reading and freeing them.
 *
 * The return list: other threads push chains of heads in front (release), the queue's thread takes the whole list at
 * once (acquire). Nobody ever takes a single element off, so an element that comes back early cannot confuse a push.
 */
#include "pool.h"

void vnetrx_pkt_wrap(struct vnetrx_pkt *pkt, void *data, uint32_t len, uint32_t flags)
{
	memset(pkt, 0, sizeof(*pkt));
	pkt->data = data;
	pkt->frag_len = len;
	pkt->len = len;
	pkt->truesize = len + (uint32_t)sizeof(*pkt);
	pkt->flags = flags;
	pkt->nfrags = 1;
	pkt->nbufs = 1;
	pkt->segs = 1;
}

static VNRX_INLINE void pool_leave(struct vnetrx_pool *pool)
{
	if (pool != NULL && VNRX_UNLIKELY(VNRX_LOAD_RELAXED(&pool->is_short) != VNRX_SHORT_NOT))
		vnrx_pool_wake(pool);
}

/* Frees one packet. `last` is the pool of the link before it; returns that of its own last link. */
static VNRX_INLINE struct vnetrx_pool *chain_free(struct vnetrx_pkt *pkt, struct vnetrx_pool *last)
{
	do {
		struct vnetrx_pkt  *chain = pkt->chain;
		struct vnetrx_pool *pool = pkt->owner;

		if (VNRX_UNLIKELY(pool != last)) {
			pool_leave(last);
			last = pool;
		}
		if (pool != NULL) {
			vnrx_pkt_put(pool, pkt);
			pool->frags_freed++;
		}
		pkt = chain;
	} while (pkt != NULL);
	return last;
}

void vnetrx_pkt_free(struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct vnetrx_pool *last = NULL;
	unsigned            i;

	for (i = 0; i < n; i++)
		last = chain_free(pkts[i], last);
	pool_leave(last);
}

void vnrx_pool_set_wait(struct vnetrx_pool *pool, int what)
{
	pool->run_back = 0;
	VNRX_STORE_RELAXED(&pool->is_short, what);
	/* Before the caller looks at the return list: either it sees what was pushed, or the pusher sees the flag. */
	if (what != VNRX_SHORT_NOT)
		VNRX_FENCE_FULL();
}

void vnrx_pool_set_short(struct vnetrx_pool *pool, bool is_short)
{
	vnrx_pool_set_wait(pool, is_short ? VNRX_SHORT_ANY : VNRX_SHORT_NOT);
}

VNRX_COLD void vnrx_pool_wake(struct vnetrx_pool *pool)
{
	if (VNRX_LOAD_RELAXED(&pool->is_short) == VNRX_SHORT_RUN && pool->run_back == 0u)
		return;
	vnrx_pool_set_wait(pool, VNRX_SHORT_NOT);
	if (pool->wake != NULL)
		pool->wake(pool->host);
}

#ifdef VNRX_SINGLE_THREAD

static void list_push(struct vnetrx_pool *pool, struct vnetrx_pkt *first, struct vnetrx_pkt *last)
{
	last->next = pool->remote;
	pool->remote = first;
}

static struct vnetrx_pkt *list_take(struct vnetrx_pool *pool)
{
	struct vnetrx_pkt *first = pool->remote;

	pool->remote = NULL;
	return first;
}

static bool short_take(struct vnetrx_pool *pool)
{
	bool was = pool->is_short != 0;

	pool->is_short = 0;
	return was;
}

#else

static void list_push(struct vnetrx_pool *pool, struct vnetrx_pkt *first, struct vnetrx_pkt *last)
{
	struct vnetrx_pkt *old = VNRX_LOAD_RELAXED(&pool->remote);

	do
		last->next = old;
	while (!VNRX_CAS_RELEASE(&pool->remote, &old, first));
}

static struct vnetrx_pkt *list_take(struct vnetrx_pool *pool)
{
	if (VNRX_LOAD_RELAXED(&pool->remote) == NULL)
		return NULL;
	return VNRX_EXCHANGE_ACQUIRE(&pool->remote, NULL);
}

/* Of several threads that push at once only one wakes. */
static bool short_take(struct vnetrx_pool *pool)
{
	VNRX_FENCE_FULL(); /* the push, then this look: the other half of vnrx_pool_set_short() */
	return VNRX_LOAD_RELAXED(&pool->is_short) != 0 && VNRX_EXCHANGE_ACQUIRE(&pool->is_short, 0) != 0;
}

#endif

void vnetrx_pkt_free_remote(struct vnetrx_pkt *const *pkts, unsigned n)
{
	unsigned i = 0;

	while (i < n) {
		struct vnetrx_pool *pool = pkts[i]->owner;
		struct vnetrx_pkt  *first = pkts[i], *last = first;

		for (i++; i < n && pkts[i]->owner == pool; i++) {
			last->next = pkts[i];
			last = pkts[i];
		}
		if (pool == NULL)
			continue;
		VNRX_ASSERT(pool->remote_free != 0u);
		list_push(pool, first, last);
		if (short_take(pool) && pool->wake != NULL)
			pool->wake(pool->host);
	}
}

unsigned vnetrx_pool_collect(struct vnetrx_pool *pool)
{
	struct vnetrx_pkt *pkt = list_take(pool);
	unsigned           n = 0;

	while (pkt != NULL) {
		struct vnetrx_pkt *next = pkt->next;

		(void)chain_free(pkt, pool);
		pkt = next;
		n++;
	}
	pool->pkts_remote += n;
	return n;
}

unsigned vnetrx_pkt_iovec(const struct vnetrx_pkt *pkt, struct vnetrx_iov *iov, unsigned max)
{
	unsigned n = 0;

	for (; pkt != NULL; pkt = pkt->chain) {
		if (n < max)
			iov[n] = (struct vnetrx_iov){ pkt->data, pkt->frag_len };
		n++;
	}
	return n;
}

uint32_t vnetrx_pkt_copy(const struct vnetrx_pkt *pkt, uint32_t off, void *dst, uint32_t len)
{
	uint8_t *out = dst;
	uint32_t done = 0;

	for (; pkt != NULL && done < len; pkt = pkt->chain) {
		uint32_t n;

		if (off >= pkt->frag_len) {
			off -= pkt->frag_len;
			continue;
		}
		n = pkt->frag_len - off;
		if (n > len - done)
			n = len - done;
		memcpy(out + done, pkt->data + off, n);
		done += n;
		off = 0;
	}
	return done;
}
