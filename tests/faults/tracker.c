/* SPDX-License-Identifier: BSD-3-Clause */
#include "tracker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rng.h"

#define PPM        1000000u
#define SPOIL_SPAN 96u

#if defined(__GNUC__) || defined(__clang__)
#define NOT_CHECKED __attribute__((no_sanitize("address", "thread"), noinline))
#else
#define NOT_CHECKED
#endif

/* ---- pages ---- */

static struct tracker_page *page_of(struct tracker *t, const uint8_t *addr, size_t len)
{
	uintptr_t at = (uintptr_t)addr;
	unsigned i;

	for (i = 0; i < t->page_num; i++) {
		struct tracker_page *page = &t->pages[i];

		if (at >= (uintptr_t)page->addr && at + len <= (uintptr_t)page->addr + page->size)
			return page;
	}
	return NULL;
}

static void *page_alloc(void *arg, size_t size, uint64_t *dma)
{
	struct tracker *t = arg;
	struct tracker_page page = { .size = size };

	if (t->page_num == TRACKER_PAGES || rng_below(&t->rng, PPM) < t->page_fail_ppm)
		return NULL;
	page.addr = t->host_ops->page_alloc(t->host, size, dma);
	if (page.addr == NULL)
		return NULL;
	if ((uintptr_t)page.addr % size != 0u)
		fail_msg("page_alloc was asked for a size that is no power of two");
	page.lent = calloc(size / TRACKER_PIECE, sizeof(*page.lent));
	assert_non_null(page.lent);
	pthread_mutex_lock(&t->lock);
	t->pages[t->page_num++] = page;
	pthread_mutex_unlock(&t->lock);
	return page.addr;
}

static void page_free(void *arg, void *addr, size_t size, uint64_t dma)
{
	struct tracker *t = arg;
	struct tracker_page *page = page_of(t, addr, size);
	size_t i;

	if (page == NULL || page->addr != addr || page->size != size || dma != (uintptr_t)addr)
		fail_msg("page_free of something that page_alloc did not give");
	for (i = 0; i < size / TRACKER_PIECE; i++)
		if (page->lent[i])
			fail_msg("page_free of a page of which the device has a buffer");
	free(page->lent);
	pthread_mutex_lock(&t->lock);
	*page = t->pages[--t->page_num];
	pthread_mutex_unlock(&t->lock);
	t->host_ops->page_free(t->host, addr, size, dma);
}

/* Whether any byte of it is lent; mark: changes all of it. */
static bool lent(struct tracker *t, const uint8_t *addr, size_t len, const bool *mark)
{
	struct tracker_page *page = page_of(t, addr, len);
	bool any = false;
	size_t i, end;

	if (page == NULL)
		fail_msg("bytes outside every page");
	i = (size_t)(addr - page->addr) / TRACKER_PIECE;
	end = ((size_t)(addr - page->addr) + len + TRACKER_PIECE - 1u) / TRACKER_PIECE;
	for (; i < end; i++) {
		any = any || page->lent[i];
		if (mark != NULL)
			page->lent[i] = *mark;
	}
	return any;
}

/* ---- the device's side ---- */

static void lend(struct tracker *t, const struct vnetrx_buf *buf)
{
	static const bool on = true;
	unsigned i;

	for (i = 0; i < t->out_num; i++)
		if (t->out[i].id == buf->id)
			fail_msg("a buffer id was posted twice");
	if (lent(t, buf->addr, buf->len, &on))
		fail_msg("a posted buffer overlaps another that the device has");
	if (buf->dma != (uintptr_t)buf->addr)
		fail_msg("a posted buffer has the address of another");
	assert_true(t->out_num < TRACKER_BUFS);
	t->out[t->out_num++] = *buf;
	t->recent[t->recent_num++ % TRACKER_RECENT] = buf->addr;
}

static unsigned post(void *arg, const struct vnetrx_buf *bufs, unsigned n)
{
	struct tracker *t = arg;
	unsigned took = t->dev_ops->post(t->dev, bufs, n);
	unsigned i;

	pthread_mutex_lock(&t->lock);
	for (i = 0; i < took; i++)
		lend(t, &bufs[i]);
	pthread_mutex_unlock(&t->lock);
	t->posted += took;
	return took;
}

static void came_back(struct tracker *t, uint32_t id)
{
	static const bool off = false;
	unsigned i;

	for (i = 0; i < t->out_num; i++) {
		if (t->out[i].id != id)
			continue;
		(void)lent(t, t->out[i].addr, t->out[i].len, &off);
		t->out[i] = t->out[--t->out_num];
		return;
	}
	t->bad_ids++;
}

static int reap(void *arg, struct vnetrx_done *done, unsigned max)
{
	struct tracker *t = arg;
	int n = t->dev_ops->reap(t->dev, done, max);
	int i;

	for (i = 0; i < n; i++)
		came_back(t, done[i].id);
	if (n > 0)
		t->completions += (unsigned)n;
	return n;
}

static void kick(void *arg)
{
	struct tracker *t = arg;

	t->dev_ops->kick(t->dev);
}

static int decode(void *arg, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	struct tracker *t = arg;

	return t->dev_ops->decode(t->dev, head, len, meta);
}

static bool arm(void *arg)
{
	struct tracker *t = arg;

	return t->dev_ops->arm(t->dev);
}

const struct vnetrx_dev_ops tracker_dev_ops = {
	.post = post,
	.reap = reap,
	.kick = kick,
	.decode = decode,
	.arm = arm,
};

unsigned tracker_reset(struct tracker *t)
{
	static const bool off = false;
	unsigned had = t->out_num;

	while (t->out_num > 0u) {
		t->out_num--;
		(void)lent(t, t->out[t->out_num].addr, t->out[t->out_num].len, &off);
	}
	return had;
}

/* ---- the host's side ---- */

void tracker_check(struct tracker *t, const struct vnetrx_pkt *pkt)
{
	static volatile uint8_t sink;
	const struct vnetrx_pkt *frag;
	uint32_t len = 0;
	unsigned links = 0;

	for (frag = pkt; frag != NULL; frag = frag->chain) {
		if (frag->frag_len == 0u)
			fail_msg("a fragment without bytes");
		if (lent(t, frag->data, frag->frag_len, NULL))
			fail_msg("a packet was delivered with bytes that the device may write");
		sink = (uint8_t)(sink ^ frag->data[0] ^ frag->data[frag->frag_len - 1u]);
		len += frag->frag_len;
		links++;
	}
	if (pkt->len != len || pkt->nfrags != links)
		fail_msg("a packet of %u bytes in %u fragments says %u bytes, %u fragments", len, links, pkt->len,
		         pkt->nfrags);
	if (pkt->truesize < len || pkt->nbufs == 0u)
		fail_msg("a packet costs less than its bytes: truesize %u, len %u, nbufs %u", pkt->truesize, len,
		         pkt->nbufs);
}

static unsigned deliver(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct tracker *t = arg;
	unsigned i;

	for (i = 0; i < n; i++)
		tracker_check(t, pkts[i]);
	return t->host_ops->deliver(t->host, pkts, n);
}

static void early(void *arg, struct vnetrx_pkt *const *pkts, unsigned n, uint8_t *verdict)
{
	struct tracker *t = arg;
	unsigned i;

	for (i = 0; i < n; i++) {
		tracker_check(t, pkts[i]);
		assert_int_equal(verdict[i], VNETRX_VERDICT_PASS);
		if (rng_below(&t->rng, PPM) >= t->early_ppm)
			continue;
		if (rng_below(&t->rng, 2u) == 0u) {
			verdict[i] = VNETRX_VERDICT_DROP;
			t->early_dropped++;
		} else {
			verdict[i] = VNETRX_VERDICT_TAKEN;
			t->early_taken++;
			t->taken(t->taken_arg, pkts[i]);
		}
	}
}

static void timer_set(void *arg, vnetrx_ns deadline)
{
	struct tracker *t = arg;

	t->host_ops->timer_set(t->host, deadline);
}

static void wake(void *arg)
{
	struct tracker *t = arg;

	t->host_ops->wake(t->host);
}

const struct vnetrx_host_ops tracker_host_ops = {
	.page_alloc = page_alloc,
	.page_free = page_free,
	.deliver = deliver,
	.early = early,
	.timer_set = timer_set,
	.wake = wake,
};

/* ---- the thread that spoils headers ---- */

/* Writes where the library may have forbidden its own code to write: on purpose not seen by the checkers. */
NOT_CHECKED static void spoil_byte(uint8_t *p, uint8_t bits)
{
	*(volatile uint8_t *)p ^= bits;
}

static void *spoiler(void *arg)
{
	struct tracker *t = arg;
	uint64_t rng = 1u;

	while (!atomic_load(&t->stop)) {
		unsigned i;

		pthread_mutex_lock(&t->lock);
		for (i = 0; i < 8u; i++) {
			uint8_t *addr = t->recent[rng_below(&rng, TRACKER_RECENT)];

			if (addr == NULL || page_of(t, addr, SPOIL_SPAN) == NULL)
				continue;
			spoil_byte(addr + rng_below(&rng, SPOIL_SPAN), (uint8_t)rng_next(&rng));
			t->spoiled++;
		}
		pthread_mutex_unlock(&t->lock);
		sched_yield();
	}
	return NULL;
}

void tracker_spoil(struct tracker *t, bool on)
{
	if (on == t->running)
		return;
	atomic_store(&t->stop, !on);
	if (on)
		assert_int_equal(pthread_create(&t->thread, NULL, spoiler, t), 0);
	else
		pthread_join(t->thread, NULL);
	t->running = on;
}

void tracker_init(struct tracker *t, uint64_t seed)
{
	memset(t, 0, sizeof(*t));
	t->rng = seed;
	pthread_mutex_init(&t->lock, NULL);
}

void tracker_fini(struct tracker *t)
{
	tracker_spoil(t, false);
	assert_int_equal(t->page_num, 0);
	assert_int_equal(t->out_num, 0);
	pthread_mutex_destroy(&t->lock);
}
