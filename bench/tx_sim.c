/* SPDX-License-Identifier: BSD-3-Clause */
/* Two clocks, the guest's queue and the device; whichever is behind does its next step. */
#include "tx_sim.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "ring_pair.h"
#include "vnetrx/txq.h"

#define STREAMS_MAX 128u
#define HDR_LEN     12u
#define HEADROOM    64u
#define NEVER       UINT64_MAX

struct sim {
	struct tx_sim_case   c;
	struct tx_sim_result res;
	struct bench         b;
	struct ring_pair     ring;
	struct vnetrx_txq   *txq; /* after */
	void     *mem;
	size_t    mem_size;
	uint8_t   frame[HEADROOM + 1024]; /* one for all: nothing is written to it but the same empty header */
	uint64_t  guest;          /* clocks */
	uint64_t  device;
	uint64_t  irq_at;         /* NEVER = none is pending                        */
	bool      sleeping;       /* device: until a doorbell                       */
	bool      stopped;        /* the queue: until an interrupt                  */
	uint32_t  next;           /* stream whose turn it is                        */
	uint32_t  at_device[STREAMS_MAX]; /* packets of each that it has not sent    */
	uint32_t  owner[TX_SIM_RING];     /* streams of the packets in the ring, oldest first */
	uint64_t  added;
};

/* Work under the queue's lock. */
static void busy(struct sim *s, uint64_t ns)
{
	s->guest += ns;
	s->res.busy_ns += ns;
}

/* Work of one core, beside which the others go on. */
static void busy_beside(struct sim *s, uint64_t ns)
{
	s->guest += ns / (s->c.streams < TX_SIM_CORES ? s->c.streams : TX_SIM_CORES);
	s->res.busy_ns += ns;
}

/* ---- device ---- */

static void ring_doorbell(struct sim *s)
{
	busy(s, TX_SIM_DOORBELL);
	s->res.doorbells++;
	if (s->sleeping) {
		s->sleeping = false;
		s->device = s->guest + TX_SIM_SIGNAL;
		softring_wake(s->ring.dev);
	}
}

static void device_step(struct sim *s)
{
	struct softring_chain chain;
	struct softring_seg segs[2];

	if (softring_take(s->ring.dev, &chain, segs, 2) != 1) {
		s->sleeping = !softring_sleep(s->ring.dev, 1);
		return;
	}
	s->device += TX_SIM_SEND + (uint64_t)TX_SIM_SEND_KB * s->c.bytes / 1024u;
	s->at_device[s->owner[s->res.packets++ % TX_SIM_RING]]--;
	softring_put(s->ring.dev, &chain, 0);
	if (softring_interrupt(s->ring.dev)) {
		s->device += TX_SIM_INJECT;
		if (s->irq_at == NEVER)
			s->irq_at = s->device;
	}
}

/* ---- guest: the two drivers ---- */

static void give_back(void *arg, void *const *cookies, unsigned n, uint32_t flags)
{
	struct sim *s = arg;

	(void)cookies;
	(void)flags;
	busy(s, (uint64_t)TX_SIM_REAP * n);
}

static void notify(void *arg, uint32_t data)
{
	(void)data;
	ring_doorbell(arg);
}

static void before_reap(struct sim *s)
{
	struct vnetrx_done done[TX_SIM_RING];
	int n = vnetrx_virtq_reap(s->ring.vq, done, TX_SIM_RING);

	if (n < 0)
		bench_die("the ring broke");
	busy(s, (uint64_t)TX_SIM_REAP * (unsigned)n);
}

/* false = no room: the queue is stopped. What is finished is freed first, then the next interrupt is asked for. */
static bool before_send(struct sim *s, const struct vnetrx_virtq_seg *seg)
{
	struct vnetrx_virtq_seg joined = { .dma = seg->dma - HDR_LEN, .len = seg->len + HDR_LEN };
	bool sent;

	before_reap(s);
	sent = vnetrx_virtq_add(s->ring.vq, &joined, 1, 0, 0) == VNETRX_OK;
	if (sent) {
		busy(s, TX_SIM_ADD);
		if (vnetrx_virtq_kick_needed(s->ring.vq))
			ring_doorbell(s);
	}
	while (vnetrx_virtq_enable(s->ring.vq)) /* used meanwhile */
		before_reap(s);
	s->stopped = !sent && vnetrx_virtq_free_slots(s->ring.vq) == 0u;
	return sent;
}

static bool after_send(struct sim *s, const struct vnetrx_virtq_seg *seg)
{
	const struct vnetrx_tx_pkt pkt = {
		.segs = seg, .nsegs = 1, .head = s->frame + HEADROOM, .headroom = HEADROOM, .cookie = s
	};
	int err = vnetrx_txq_add(s->txq, &pkt);

	if (err == VNETRX_OK) {
		busy(s, TX_SIM_ADD);
		vnetrx_txq_kick(s->txq);
		return true;
	}
	if (err != VNETRX_ERR_BUSY)
		bench_die(vnetrx_strerror(err));
	s->stopped = vnetrx_txq_complete(s->txq);
	return false;
}

static void interrupt(struct sim *s)
{
	s->irq_at = NEVER;
	s->res.irqs++;
	busy_beside(s, TX_SIM_IRQ);
	if (s->c.before) {
		vnetrx_virtq_disable(s->ring.vq);
		before_reap(s);
	} else {
		(void)vnetrx_txq_poll(s->txq, TX_SIM_RING);
	}
	if (s->stopped) {
		s->stopped = false;
		busy_beside(s, TX_SIM_WAKE);
	}
}

/* ---- guest: streams ---- */

/* The next stream that may write; STREAMS_MAX = none. */
static uint32_t pick(struct sim *s)
{
	uint32_t window = TX_SIM_WINDOW / s->c.bytes;

	for (uint32_t i = 0; i < s->c.streams; i++) {
		uint32_t k = (s->next + i) % s->c.streams;

		if (s->at_device[k] < window)
			return k;
	}
	return STREAMS_MAX;
}

/* A write. A packet that finds no room waits above the driver, and is offered again before anything else is written. */
static void write_one(struct sim *s, uint32_t stream, bool *waiting)
{
	struct vnetrx_virtq_seg seg = { .dma = (uintptr_t)(s->frame + HEADROOM), .len = 64 };
	bool sent;

	if (!*waiting)
		busy_beside(s, TX_SIM_WRITE + (uint64_t)TX_SIM_COPY_KB * s->c.bytes / 1024u);
	s->owner[s->added % TX_SIM_RING] = stream; /* the device may be told of it within the call */
	s->at_device[stream]++;
	sent = s->c.before ? before_send(s, &seg) : after_send(s, &seg);
	if (sent) {
		s->added++;
		s->next = (stream + 1u) % s->c.streams;
	} else {
		s->at_device[stream]--;
		s->res.full += *waiting ? 0u : 1u;
	}
	*waiting = !sent;
}

static void guest_step(struct sim *s, bool *waiting)
{
	uint32_t stream = STREAMS_MAX;

	if (s->irq_at <= s->guest) {
		interrupt(s);
		return;
	}
	if (!s->stopped && s->added < s->c.packets)
		stream = pick(s);
	if (stream < STREAMS_MAX) {
		write_one(s, stream, waiting);
		return;
	}
	/* Idle until an interrupt, or until the device has sent something. */
	s->guest = s->irq_at != NEVER ? s->irq_at : s->device + 1u;
}

/* ---- the whole ---- */

static void open_sim(struct sim *s)
{
	static const struct vnetrx_tx_ops ops = { .done = give_back, .notify = notify };
	struct vnetrx_txq_config cfg = { .ops = &ops, .host = s, .hdr_len = HDR_LEN, .segs_max = 1,
		                         .flags = VNETRX_TXQ_ANY_LAYOUT };

	ring_pair_open(&s->ring, &s->b, TX_SIM_RING, VNETRX_VIRTQ_EVENT_IDX, 2);
	cfg.vq = s->ring.vq;
	s->mem_size = vnetrx_txq_footprint(&cfg, NULL);
	s->mem = bench_alloc(&s->b, s->mem_size);
	if (vnetrx_txq_init(&s->txq, &cfg, s->mem, s->mem_size) != VNETRX_OK)
		bench_die("vnetrx_txq_init");
	s->irq_at = NEVER;
	s->sleeping = !softring_sleep(s->ring.dev, 1);
}

void tx_sim(const struct tx_sim_case *c, struct tx_sim_result *result)
{
	static struct sim s;
	bool waiting = false;
	uint64_t steps = 0;

	memset(&s, 0, sizeof(s));
	s.c = *c;
	open_sim(&s);
	while (s.res.packets < c->packets) {
		if (++steps > 100u * (uint64_t)c->packets)
			bench_die("nothing goes on any more");
		if (s.sleeping || s.guest <= s.device)
			guest_step(&s, &waiting);
		else
			device_step(&s);
	}
	s.res.ns = s.device > s.guest ? s.device : s.guest;
	*result = s.res;
	bench_free(s.mem, s.mem_size);
	ring_pair_close(&s.ring);
}
