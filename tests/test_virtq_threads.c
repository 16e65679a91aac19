/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Driver and device on threads of their own, each asleep whenever it finds nothing to do: a doorbell or an interrupt
 * that is left out once, because a store and a load changed places, leaves both asleep for ever.
 */
#define _POSIX_C_SOURCE 200112L
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "support/stream.h"
#include "virtio/pair.h"

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef RUNNING_ON_VALGRIND
#define RUNNING_ON_VALGRIND 0
#endif

#define SIZE      16u
#define PATIENCE  20  /* seconds after which nobody comes any more */
#define SPINS     300 /* then the other thread may need the core   */

struct pair {
	struct ring_pair rig;
	atomic_uint doorbell;  /* how often it was rung */
	atomic_uint interrupt;
	uint32_t chains;    /* to go through */
	uint32_t reaped;
	unsigned heard;        /* interrupts */
	uint32_t sleeps;
	bool     delayed;      /* the driver waits for a share of what is out */
	bool     dev_failed;
};

static void ring_it(atomic_uint *bell)
{
	atomic_fetch_add_explicit(bell, 1, memory_order_relaxed);
}

/* Waits until it was rung more than `heard` times; false = nobody does. It does not really sleep: that takes so long
 * that the two threads would hardly ever meet. */
static bool wait_for(atomic_uint *bell, unsigned *heard)
{
	time_t until = time(NULL) + PATIENCE;

	for (unsigned i = 1; atomic_load_explicit(bell, memory_order_relaxed) == *heard; i++) {
		if (i % SPINS != 0u)
			continue;
		sched_yield();
		if (i % (1024u * SPINS) == 0u && time(NULL) > until)
			return false;
	}
	*heard = atomic_load_explicit(bell, memory_order_relaxed);
	return true;
}

/* ---- the device ---- */

/* Gives back all that is there, some with every interrupt. */
static uint32_t serve(struct pair *p)
{
	struct softring_chain chain;
	struct softring_seg seg;
	uint32_t n = 0;

	while (softring_take(p->rig.dev, &chain, &seg, 1) > 0) {
		softring_put(p->rig.dev, &chain, seg.len);
		if (++n % 3u == 0u && softring_interrupt(p->rig.dev))
			ring_it(&p->interrupt);
	}
	if (softring_interrupt(p->rig.dev))
		ring_it(&p->interrupt);
	return n;
}

static void *device(void *arg)
{
	struct pair *p = arg;
	uint32_t served = 0;
	unsigned heard = 0;

	while (served < p->chains && !p->dev_failed) {
		softring_wake(p->rig.dev);
		served += serve(p);
		if (served < p->chains && !softring_sleep(p->rig.dev, 1))
			p->dev_failed = !wait_for(&p->doorbell, &heard);
	}
	return NULL;
}

/* ---- the driver ---- */

static uint32_t offer(struct pair *p, uint32_t added)
{
	static uint8_t bytes[64];
	struct vnetrx_virtq_seg seg = { .dma = (uintptr_t)bytes, .len = sizeof(bytes) };
	uint32_t batch = 1u + added % 5u;

	while (batch-- > 0u && added < p->chains && vnetrx_virtq_add(p->rig.vq, &seg, 0, 1, added) == VNETRX_OK)
		added++;
	if (vnetrx_virtq_kick_needed(p->rig.vq))
		ring_it(&p->doorbell);
	return added;
}

static void reap(struct pair *p)
{
	struct vnetrx_done done[SIZE];
	int n = vnetrx_virtq_reap(p->rig.vq, done, SIZE);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(done[i].id, p->reaped + (uint32_t)i); /* the device keeps order */
	p->reaped += (uint32_t)n;
}

/* Nothing can be added or reaped: asks for an interrupt, and sleeps unless something came. */
static void wait_for_device(struct pair *p)
{
	bool more = p->delayed ? vnetrx_virtq_enable_delayed(p->rig.vq) : vnetrx_virtq_enable(p->rig.vq);

	if (!more) {
		p->sleeps++;
		assert_true(wait_for(&p->interrupt, &p->heard));
	}
	vnetrx_virtq_disable(p->rig.vq);
}

static void run_pair(uint32_t flags, bool delayed)
{
	struct pair *p = calloc(1, sizeof(*p));
	uint32_t added = 0;
	pthread_t thread;

	assert_non_null(p);
	p->chains = RUNNING_ON_VALGRIND ? 300u : 2500u * stream_count(20);
	p->delayed = delayed;
	ring_pair_open(&p->rig, SIZE, flags, 1);
	assert_int_equal(pthread_create(&thread, NULL, device, p), 0);
	while (p->reaped < p->chains) {
		uint32_t before = added + p->reaped;

		added = offer(p, added);
		reap(p);
		if (added + p->reaped == before)
			wait_for_device(p);
	}
	pthread_join(thread, NULL);
	assert_false(p->dev_failed);
	assert_true(p->doorbell > 0u && p->sleeps > 0u);
	ring_pair_close(&p->rig);
	free(p);
}

static void neither_side_sleeps_through_what_the_other_did(void **state)
{
	uint32_t flags = 0;

	(void)state;
	for (unsigned i = 0; ring_pair_kind(i, &flags) != NULL; i++)
		run_pair(flags, false);
}

static void a_delayed_interrupt_comes_while_the_device_works(void **state)
{
	uint32_t flags = 0;

	(void)state;
	for (unsigned i = 0; ring_pair_kind(i, &flags) != NULL; i++)
		run_pair(flags, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neither_side_sleeps_through_what_the_other_did),
		cmocka_unit_test(a_delayed_interrupt_comes_while_the_device_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
