/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue under load whose packets are freed on other threads and whose counters are read on yet another.
 *
 * Packets go to the other threads through slots and semaphores, which order nothing on the way back, and what the
 * queue's thread looks at while it waits orders nothing either: all that makes the way back safe is the library's.
 */
#define _POSIX_C_SOURCE 200112L
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "heap.h"
#include "softdev.h"
#include "support/frames.h"
#include "support/stream.h"
#include "vnetrx.h"

#define FREERS   3u
#define SLOTS    64u /* packets under way to each of them */
#define FLOWS    4u
#define BURST    16u
#define PATIENCE 30 /* seconds                           */

struct freer {
	pthread_t thread;
	sem_t filled; /* slots */
	_Atomic(struct vnetrx_pkt *) slot[SLOTS];
	unsigned from; /* the next one to empty                     */
	unsigned at;   /* the queue's thread: the next one to fill  */
	atomic_ulong freed;
};

struct storm {
	struct heap_host host; /* pages and wakes */
	struct softdev *dev;
	struct vnetrx_rxq *rxq;
	void *mem;
	struct freer freer[FREERS];
	unsigned turn;
	pthread_t reader;
	atomic_bool stop;
	unsigned long reads, wrong;
	struct frame flow[FLOWS];
	unsigned long handed;
	unsigned heard;       /* wakes */
	unsigned long sleeps; /* the queue said that it may */
};

/* ---- threads that free ---- */

static struct vnetrx_pkt *take_next(struct freer *f)
{
	struct vnetrx_pkt *pkt = atomic_load_explicit(&f->slot[f->from], memory_order_acquire);

	atomic_store_explicit(&f->slot[f->from], NULL, memory_order_relaxed);
	f->from = (f->from + 1u) % SLOTS;
	return pkt;
}

/* Two at a time when two are there. An empty slot says that it was the last. */
static void *free_all(void *arg)
{
	struct freer *f = arg;
	struct vnetrx_pkt *pkts[2];

	for (;;) {
		unsigned n = 1;

		while (sem_wait(&f->filled) != 0)
			continue;
		pkts[0] = take_next(f);
		if (pkts[0] == NULL)
			return NULL;
		if (sem_trywait(&f->filled) == 0)
			pkts[n++] = take_next(f);
		vnetrx_pkt_free_remote(pkts, n);
		atomic_fetch_add_explicit(&f->freed, n, memory_order_relaxed);
	}
}

static void hand(struct storm *s, struct vnetrx_pkt *pkt)
{
	struct freer *f = &s->freer[s->turn++ % FREERS];

	while (atomic_load_explicit(&f->slot[f->at], memory_order_relaxed) != NULL)
		sched_yield();
	atomic_store_explicit(&f->slot[f->at], pkt, memory_order_release);
	f->at = (f->at + 1u) % SLOTS;
	assert_int_equal(sem_post(&f->filled), 0);
	s->handed++;
}

static unsigned deliver(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		hand(arg, pkts[i]);
	return n;
}

static unsigned long freed(struct storm *s)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < FREERS; i++)
		sum += atomic_load_explicit(&s->freer[i].freed, memory_order_relaxed);
	return sum;
}

/* ---- the thread that reads counters ---- */

/* What holds at the end of every call that publishes holds in every copy. */
static void *read_counters(void *arg)
{
	struct storm *s = arg;
	struct vnetrx_rxq_stats now;
	uint64_t last = 0;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		vnetrx_rxq_read_stats(s->rxq, &now);
		s->reads++;
		if (now.queue.posted != now.queue.completions + now.pool.bufs_lent ||
		    now.gro.pkts != now.gro.held_new + now.gro.joined + now.gro.passed ||
		    now.gro.out != now.queue.delivered + now.queue.waiting || now.queue.delivered < last)
			s->wrong++;
		last = now.queue.delivered;
		if (s->reads % 64u == 0u)
			(void)nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
	}
	return NULL;
}

/* ---- the queue's thread ---- */

static struct storm *storm_begin(const struct vnetrx_rxq_config *differs)
{
	static struct vnetrx_host_ops ops;
	struct storm *s = calloc(1, sizeof(*s));
	struct vnetrx_rxq_config cfg = *differs;
	size_t size;

	assert_non_null(s);
	ops = heap_host_ops;
	ops.deliver = deliver;
	s->dev = softdev_new(&(struct softdev_config){ .ring_size = cfg.ring_size, .hdr_len = 12 });
	cfg.dev_ops = &softdev_ops;
	cfg.dev = s->dev;
	cfg.host_ops = &ops;
	cfg.host = s; /* its first member is the heap's */
	cfg.hdr_len = 12;
	cfg.hash_key[0] = 7;
	cfg.flags = VNETRX_RXQ_REMOTE_FREE;
	size = vnetrx_rxq_footprint(&cfg, NULL);
	s->mem = heap_memory(size);
	assert_int_equal(vnetrx_rxq_init(&s->rxq, &cfg, s->mem, size), VNETRX_OK);
	(void)vnetrx_rxq_fill(s->rxq);
	for (unsigned i = 0; i < FLOWS; i++) {
		frame_init(&s->flow[i], i);
		s->flow[i].payload_len = 200;
	}
	for (unsigned i = 0; i < FREERS; i++) {
		assert_int_equal(sem_init(&s->freer[i].filled, 0, 0), 0);
		assert_int_equal(pthread_create(&s->freer[i].thread, NULL, free_all, &s->freer[i]), 0);
	}
	assert_int_equal(pthread_create(&s->reader, NULL, read_counters, s), 0);
	return s;
}

/* Until every packet is back. */
static void await_all(struct storm *s)
{
	time_t until = time(NULL) + PATIENCE;

	while (freed(s) < s->handed && time(NULL) < until)
		sched_yield();
	assert_true(freed(s) == s->handed);
}

static void storm_end(struct storm *s)
{
	struct vnetrx_rxq_stats now;

	assert_true(s->sleeps > 0u);
	vnetrx_rxq_flush(s->rxq);
	await_all(s);
	for (unsigned i = 0; i < FREERS; i++) {
		assert_int_equal(sem_post(&s->freer[i].filled), 0);
		assert_int_equal(pthread_join(s->freer[i].thread, NULL), 0);
		sem_destroy(&s->freer[i].filled);
	}
	atomic_store_explicit(&s->stop, true, memory_order_relaxed);
	assert_int_equal(pthread_join(s->reader, NULL), 0);
	assert_true(s->reads > 0u && s->wrong == 0u);
	(void)vnetrx_rxq_poll(s->rxq, 0, 0); /* takes up what was freed */
	softdev_reset(s->dev);
	(void)vnetrx_rxq_reclaim(s->rxq);
	vnetrx_rxq_read_stats(s->rxq, &now);
	assert_true(now.pool.pkts_used == 0u && now.pool.pinned_bytes == 0u);
	assert_true(now.queue.delivered == s->handed);
	assert_int_equal(vnetrx_rxq_fini(s->rxq), VNETRX_OK);
	assert_true(s->host.pages_out == 0u);
	softdev_free(s->dev);
	free(s->mem);
	free(s);
}

/* Sends until the device has no room; returns how many. */
static unsigned long send_some(struct storm *s, unsigned long left)
{
	static uint8_t bytes[FRAME_MAX];
	unsigned long n = 0;

	for (; n < left && n < BURST; n++) {
		struct frame *f = &s->flow[n % FLOWS];

		f->flags = n % 5u == 0u ? FR_ACK | FR_PSH : FR_ACK;
		if (softdev_room(s->dev) == 0u ||
		    softdev_send(s->dev, bytes, (uint32_t)frame_build(f, bytes), NULL) != 0)
			break;
		f->seq += f->payload_len;
		f->id++;
	}
	return n;
}

/* Every packet descriptor was out when the queue looked: whoever frees the first one wakes. */
static void await_wake(struct storm *s)
{
	time_t until = time(NULL) + PATIENCE;

	while (atomic_load_explicit(&s->host.wakes, memory_order_relaxed) == s->heard && time(NULL) < until)
		sched_yield();
	assert_true(atomic_load_explicit(&s->host.wakes, memory_order_relaxed) != s->heard);
	s->sleeps++;
}

static unsigned long packets(void)
{
	return 1000u * (unsigned long)stream_count(20);
}

static void packets_freed_on_other_threads_all_come_back_while_others_come(void **state)
{
	struct storm *s = storm_begin(&(struct vnetrx_rxq_config){ .ring_size = 64,
								   .run_size = 4096,
								   .runs_max = 48,
								   .buf_len_min = 2048,
								   .buf_len_max = 2048,
								   .copy_len_max = 0xffff,
								   .frame_len_max = 1514 });
	unsigned long sent = 0, count = packets();

	(void)state;
	while (sent < count) {
		sent += send_some(s, count - sent);
		if (vnetrx_rxq_poll(s->rxq, 64, 0) < 64u && vnetrx_rxq_complete(s->rxq, 0))
			s->sleeps++;
	}
	storm_end(s);
}

static void starved_queue_is_woken_by_whoever_frees_first(void **state)
{
	struct storm *s = storm_begin(&(struct vnetrx_rxq_config){ .ring_size = 64, .pkts_max = 24 });
	unsigned long sent = 0, count = packets();

	(void)state;
	while (sent < count) {
		sent += send_some(s, count - sent);
		s->heard = atomic_load_explicit(&s->host.wakes, memory_order_relaxed);
		if (vnetrx_rxq_poll(s->rxq, 64, 0) < 64u && vnetrx_rxq_complete(s->rxq, 0) &&
		    vnetrx_rxq_state(s->rxq) == VNETRX_RXQ_STARVED)
			await_wake(s);
	}
	storm_end(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_freed_on_other_threads_all_come_back_while_others_come),
		cmocka_unit_test(starved_queue_is_woken_by_whoever_frees_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
