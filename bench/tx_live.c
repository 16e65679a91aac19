/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* clock_gettime() */
#include "tx_live.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "vhost_net.h"

#define HEADROOM      64u
#define REAP          64u
#define CONNECT_TRIES 500u
#define RETRY_US      10000u
#define WARM_NS       100000000u
#define IRQ_MS        100

struct stream {
	uint32_t out; /* bytes at the device */
};

struct slot {
	struct stream *stream;
	uint8_t *frame;
	uint64_t dma;
};

static struct live {
	const struct tx_live_case *c;
	struct vhost_net net;
	struct vhost_net_pair *pair;
	struct stream streams[TX_LIVE_STREAMS];
	struct slot slots[TX_LIVE_RING];
	struct slot *idle[TX_LIVE_RING];
	uint32_t nidle;
	uint8_t *text; /* what is written */
	bool stopped;  /* before: the ring was full, and no interrupt came since */
	uint64_t packets;
	uint64_t full;

	pthread_t irq_thread;
	sem_t irq_sem; /* posted by each interrupt */
	atomic_bool irq_end;
	atomic_bool fired; /* an interrupt came, and the driver did not look yet */
	_Atomic uint64_t interrupts;
} live;

/* ---- interrupts ---- */

static void *irq_main(void *arg)
{
	struct vhost_ring *ring = arg;
	struct pollfd pfd = { .fd = ring->call_fd, .events = POLLIN };

	while (!atomic_load(&live.irq_end)) {
		if (poll(&pfd, 1, IRQ_MS) <= 0)
			continue;
		atomic_fetch_add(&live.interrupts, vhost_ring_called(ring));
		atomic_store(&live.fired, true);
		(void)sem_post(&live.irq_sem);
	}
	return NULL;
}

static bool took_interrupt(void)
{
	return atomic_load_explicit(&live.fired, memory_order_relaxed) && atomic_exchange(&live.fired, false);
}

/* Sleeps until one comes; those already seen are no reason to wake. */
static void await_interrupt(void)
{
	while (!atomic_load(&live.fired))
		while (sem_wait(&live.irq_sem) != 0)
			;
}

/* ---- both drivers ---- */

static void give_back(void *arg, void *const *cookies, unsigned n, uint32_t flags)
{
	unsigned i;

	(void)arg;
	(void)flags;
	for (i = 0; i < n; i++) {
		struct slot *slot = cookies[i];

		slot->stream->out -= live.c->bytes;
		live.idle[live.nidle++] = slot;
	}
}

/* Writes into a slot that is free. */
static struct slot *write_packet(struct stream *stream)
{
	struct slot *slot = live.idle[--live.nidle];

	memcpy(slot->frame, live.text, live.c->bytes);
	slot->stream = stream;
	return slot;
}

static void unwrite(struct slot *slot)
{
	live.idle[live.nidle++] = slot;
	live.full++;
}

/* ---- before ---- */

static void reap_before(struct vnetrx_virtq *vq)
{
	struct vnetrx_done done[REAP];
	void *cookies[REAP];
	int n, i;

	do {
		n = vnetrx_virtq_reap(vq, done, REAP);
		for (i = 0; i < n; i++)
			cookies[i] = &live.slots[done[i].id];
		if (n > 0)
			give_back(NULL, cookies, (unsigned)n, 0);
	} while (n == (int)REAP);
	if (n < 0)
		bench_die("the ring is broken");
}

/* Asks for the next interrupt, and takes back what was finished before it was asked for. */
static void ask_before(struct vnetrx_virtq *vq)
{
	while (vnetrx_virtq_enable(vq))
		reap_before(vq);
	live.stopped = vnetrx_virtq_free_slots(vq) == 0u;
}

static bool send_before(struct stream *stream)
{
	struct vnetrx_virtq *vq = live.pair->tx_ring->vq;
	uint32_t hdr_len = live.net.vu.plan.hdr_len;
	struct vnetrx_virtq_seg seg = { .len = live.c->bytes + hdr_len };
	struct slot *slot;

	reap_before(vq);
	slot = write_packet(stream);
	memset(slot->frame - hdr_len, 0, hdr_len);
	seg.dma = slot->dma - hdr_len;
	if (vnetrx_virtq_add(vq, &seg, 1, 0, (uint32_t)(slot - live.slots)) != VNETRX_OK)
		bench_die("no room in a ring that was not full");
	if (vnetrx_virtq_kick_needed(vq))
		vhost_ring_notify(live.pair->tx_ring, 0);
	ask_before(vq);
	return true;
}

static void interrupt_before(void)
{
	struct vnetrx_virtq *vq = live.pair->tx_ring->vq;

	reap_before(vq);
	ask_before(vq);
}

/* ---- after ---- */

static bool send_after(struct stream *stream)
{
	struct slot *slot = write_packet(stream);
	struct vnetrx_virtq_seg seg = { .dma = slot->dma, .len = live.c->bytes };
	struct vnetrx_tx_pkt pkt = {
		.segs = &seg,
		.nsegs = 1,
		.cookie = slot,
		.head = slot->frame,
		.headroom = HEADROOM,
	};

	if (vnetrx_txq_add(live.pair->txq, &pkt) != VNETRX_OK) {
		unwrite(slot);
		return false;
	}
	vnetrx_txq_kick(live.pair->txq);
	return true;
}

/* ---- streams ---- */

/* One packet of each stream that may send one; false = none could. */
static bool round_of_streams(void)
{
	const struct tx_live_case *c = live.c;
	bool some = false;
	uint32_t i;

	for (i = 0; i < c->streams; i++) {
		struct stream *stream = &live.streams[i];

		if (stream->out + c->bytes > TX_LIVE_WINDOW)
			continue;
		if (c->before && took_interrupt())
			interrupt_before();
		if (live.nidle == 0u || (c->before && live.stopped)) { /* the queue is stopped: the packet waits */
			live.full++;
			break;
		}
		stream->out += c->bytes;
		if (!(c->before ? send_before(stream) : send_after(stream))) {
			stream->out -= c->bytes;
			break;
		}
		live.packets++;
		some = true;
	}
	return some;
}

/* Nothing can be sent: until the device has finished something. */
static void rest(void)
{
	uint32_t idle;

	if (live.c->before) {
		await_interrupt();
		(void)took_interrupt();
		interrupt_before();
		return;
	}
	idle = live.nidle;
	if (vnetrx_txq_complete(live.pair->txq) && live.nidle == idle) { /* nothing came back meanwhile */
		await_interrupt();
		(void)took_interrupt();
		(void)vnetrx_txq_poll(live.pair->txq, UINT32_MAX);
	}
}

static void send_until(uint64_t end)
{
	while (bench_ns() < end) {
		unsigned i;

		for (i = 0; i < 16u; i++)
			if (!round_of_streams())
				rest();
	}
}

/* Waits until the device has taken everything. */
static void drain(void)
{
	uint64_t end = bench_ns() + 5000000000u;

	while (live.nidle < TX_LIVE_RING && bench_ns() < end) {
		if (live.c->before)
			reap_before(live.pair->tx_ring->vq);
		else
			(void)vnetrx_txq_poll(live.pair->txq, UINT32_MAX);
	}
	if (live.nidle < TX_LIVE_RING)
		bench_die("packets did not come back");
}

/* ---- life ---- */

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void connect_back_end(void)
{
	size_t slot = (HEADROOM + live.c->bytes + 63u) / 64u * 64u;
	struct vhost_net_config cfg = {
		.path = live.c->path,
		.wants = vhost_net_wants(VHOST_NET_MRG, 1500u),
		.rx_size = 64u,
		.tx_size = TX_LIVE_RING,
		.region_size = 8u << 20,
		.user_size = TX_LIVE_RING * slot,
		.rxq = { .flags = VNETRX_RXQ_GRO_OFF },
		.sent = live.c->before ? NULL : give_back,
	};
	unsigned tries = 0, i;
	int err = vhost_net_new(&live.net, &cfg);

	while (err == 0 && (err = vhost_net_connect(&live.net, 0u)) == -EAGAIN && tries++ < CONNECT_TRIES) {
		usleep(RETRY_US);
		err = 0;
	}
	if (err != 0)
		bench_die(vhost_user_strerror(err));
	live.pair = &live.net.pairs[0];
	for (i = 0; i < TX_LIVE_RING; i++) {
		size_t at = i * slot + HEADROOM;

		live.slots[i] = (struct slot){ NULL, live.net.user + at, live.net.user_dma + at };
		live.idle[live.nidle++] = &live.slots[i];
	}
}

static void measure(struct tx_live_result *r)
{
	uint64_t from, cpu, packets, interrupts, kicks, full;

	send_until(bench_ns() + WARM_NS);
	from = bench_ns();
	cpu = cpu_ns();
	packets = live.packets;
	full = live.full;
	interrupts = atomic_load(&live.interrupts);
	kicks = live.pair->tx_ring->kicks;
	send_until(from + live.c->time_ns);
	*r = (struct tx_live_result){
		.packets = live.packets - packets,
		.ns = bench_ns() - from,
		.cpu_ns = cpu_ns() - cpu,
		.interrupts = atomic_load(&live.interrupts) - interrupts,
		.doorbells = live.pair->tx_ring->kicks - kicks,
		.full = live.full - full,
	};
}

void tx_live(const struct tx_live_case *c, struct tx_live_result *result)
{
	memset(&live, 0, sizeof(live));
	live.c = c;
	live.text = malloc(c->bytes);
	if (live.text == NULL || sem_init(&live.irq_sem, 0, 0) != 0)
		bench_die("no memory");
	memset(live.text, 0x55, c->bytes);
	connect_back_end();
	if (pthread_create(&live.irq_thread, NULL, irq_main, live.pair->tx_ring) != 0)
		bench_die("no thread");
	measure(result);
	drain();
	result->all = live.packets;
	atomic_store(&live.irq_end, true);
	pthread_join(live.irq_thread, NULL);
	if (!vhost_net_delete(&live.net, 0u))
		bench_die("memory was lost");
	(void)sem_destroy(&live.irq_sem);
	free(live.text);
}
