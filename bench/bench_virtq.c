/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver's side of virtqueues, ns per buffer, and the receive front end over it, ns per packet.
 *
 * First table: 32 buffers are added and the kick decided, the device uses them, they are reaped. Second: polls of 32
 * packets through a whole receive queue without GRO: reap, merge, deliver, free, refill, kick. The device is the
 * examples' on the same thread; it works between the timed pieces, so what it writes is in this core's cache, which it
 * would not be with a device on another one. Ring of 256, event index.
 *
 * DPDK 22.11's mergeable path costs 41-46 ns (split, 64 bytes), 39-44 (packed) and 185-230 (9000 bytes in 5 buffers,
 * split) on a core of 2.6 to 3 GHz, with the device on another core: the limits of --check are 0.65 times its lowest
 * figures, for the same work: "no copy" is without copy-break, which it has not.
 */
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "bench.h"
#include "ring_pair.h"
#include "vnetrx.h"

#define RING       256u
#define BURST      32u
#define BUDGET     64u
#define ROUNDS     256u
#define HDR_LEN    12u
#define BUF_LEN    2048u
#define COST_DPDK  0.65

#define EVENT      VNETRX_VIRTQ_EVENT_IDX
#define PACKED     VNETRX_VIRTQ_PACKED
#define IN_ORDER   VNETRX_VIRTQ_IN_ORDER
#define INDIRECT   VNETRX_VIRTQ_INDIRECT

/* ---- the ring alone ---- */

struct ring_bench {
	struct bench    *b;
	struct ring_pair pair;
	uint32_t         flags;
	unsigned         out, in; /* segments of a chain; out == 0: buffers by add_bufs */
	uint64_t         ticks[2];
	double           stage[2]; /* add, reap: ns per buffer, the lowest seen */
};

static void device_uses(struct ring_bench *r)
{
	struct softring_chain chain[BURST];
	struct softring_seg segs[2];
	unsigned n = 0;

	while (n < BURST && softring_take(r->pair.dev, &chain[n], segs, 2) == 1)
		n++;
	if (n != BURST)
		bench_die("the device found too few buffers");
	if ((r->flags & IN_ORDER) != 0u) {
		softring_put_batch(r->pair.dev, chain, n, 60);
	} else {
		for (unsigned i = 0; i < n; i++)
			softring_put(r->pair.dev, &chain[i], 60);
	}
	(void)softring_interrupt(r->pair.dev);
}

static void add_burst(struct ring_bench *r)
{
	static uint8_t memory[BURST][64];
	struct vnetrx_buf bufs[BURST];
	struct vnetrx_virtq_seg segs[2];
	unsigned i;

	if (r->out == 0u) {
		for (i = 0; i < BURST; i++)
			bufs[i] = (struct vnetrx_buf){ memory[i], (uintptr_t)memory[i], 64, i };
		if (vnetrx_virtq_add_bufs(r->pair.vq, bufs, BURST) != BURST)
			bench_die("no room in the ring");
		return;
	}
	for (i = 0; i < BURST; i++) {
		segs[0] = (struct vnetrx_virtq_seg){ .dma = (uintptr_t)memory[i], .len = 12 };
		segs[1] = (struct vnetrx_virtq_seg){ .dma = (uintptr_t)memory[i] + 12u, .len = 52 };
		if (vnetrx_virtq_add(r->pair.vq, segs, r->out, r->in, i) != VNETRX_OK)
			bench_die("no room in the ring");
	}
}

static double ring_repeat(void *arg)
{
	struct ring_bench *r = arg;
	struct vnetrx_done done[BURST];
	double sum = 0.0;

	r->ticks[0] = r->ticks[1] = 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t t[4];
		int n;

		t[0] = bench_ticks();
		add_burst(r);
		if (vnetrx_virtq_kick_needed(r->pair.vq) && i == UINT32_MAX)
			bench_die("never");
		t[1] = bench_ticks();
		device_uses(r);
		t[2] = bench_ticks();
		n = vnetrx_virtq_reap(r->pair.vq, done, BURST);
		t[3] = bench_ticks();
		if (n != (int)BURST)
			bench_die("buffers were lost");
		r->ticks[0] += t[1] - t[0];
		r->ticks[1] += t[3] - t[2];
	}
	for (unsigned i = 0; i < 2u; i++) {
		double ns = bench_elapsed(r->b, r->ticks[i], ROUNDS) / (ROUNDS * BURST);

		sum += ns;
		if (ns < r->stage[i] || r->stage[i] == 0.0)
			r->stage[i] = ns;
	}
	return sum;
}

static void ring_row(struct bench *b, uint32_t flags, unsigned out, unsigned in)
{
	struct ring_bench r = { .b = b, .flags = flags, .out = out, .in = in };
	struct bench_stat stat;
	char name[64];

	snprintf(name, sizeof(name), "%s %s", ring_pair_name(flags),
	         out == 0u ? "bufs" : out == 1u ? "1 seg" : "2 segs");
	if (!bench_wanted(b, name) || b->check)
		return;
	ring_pair_open(&r.pair, b, RING, flags, 2);
	bench_run(b, ring_repeat, &r, &stat);
	bench_text(b, name);
	bench_stat_cells(b, &stat);
	bench_number(b, r.stage[0], 1);
	bench_number(b, r.stage[1], 1);
	bench_row_end(b);
	ring_pair_close(&r.pair);
}

static void ring_table(struct bench *b)
{
	static const char *const cols[] = { "ring, ns/buffer", BENCH_STAT_COLS, "add", "reap" };
	static const uint32_t kinds[] = { EVENT, EVENT | IN_ORDER, EVENT | PACKED, EVENT | PACKED | IN_ORDER };

	bench_table(b, cols, sizeof(cols) / sizeof(cols[0]));
	for (unsigned i = 0; i < 4u; i++) {
		ring_row(b, kinds[i], 0, 1);
		ring_row(b, kinds[i], 1, 0);
		ring_row(b, kinds[i], 2, 0);
		ring_row(b, kinds[i] | INDIRECT, 2, 0);
	}
}

/* ---- the front end ---- */

struct front {
	struct bench           *b;
	struct ring_pair        pair;
	struct vnetrx_virtio_rx rx;
	struct vnetrx_rxq      *rxq;
	void                   *mem;
	size_t                  mem_size;
	uint32_t                flags;
	uint32_t                len;      /* of a frame                          */
	bool                    no_copy;  /* small frames stay in their buffers  */
	uint64_t                now;
	uint64_t                ticks[3]; /* poll, complete, free                */
	double                  stage[3];
	struct arena            arena;
	struct vnetrx_pkt      *got[BURST];
	uint32_t                ngot;
};

static void *page_alloc(void *arg, size_t size, uint64_t *dma)
{
	struct front *f = arg;

	return arena_page_alloc(&f->arena, size, dma);
}

static void page_free(void *arg, void *page, size_t size, uint64_t dma)
{
	struct front *f = arg;

	arena_page_free(&f->arena, page, size, dma);
}

static unsigned deliver(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct front *f = arg;

	if (f->ngot + n > BURST)
		bench_die("more packets than were sent");
	memcpy(f->got + f->ngot, pkts, n * sizeof(*pkts));
	f->ngot += n;
	return n;
}

/* One packet into as many buffers as it takes; only its headers are written. */
static void device_sends(struct front *f, struct softring_chain *chains, unsigned *n)
{
	uint32_t left = HDR_LEN + f->len;
	unsigned nbufs = 0;
	uint8_t *first = NULL;

	while (left > 0u) {
		struct softring_seg seg;
		uint32_t take;

		if (softring_take(f->pair.dev, &chains[*n], &seg, 1) != 1)
			bench_die("the ring ran short");
		take = left < seg.len ? left : seg.len;
		if (first == NULL)
			first = seg.addr;
		softring_put(f->pair.dev, &chains[(*n)++], take);
		left -= take;
		nbufs++;
	}
	memset(first, 0, HDR_LEN + 14u);
	first[10] = (uint8_t)nbufs;
}

static void poll_once(struct front *f)
{
	uint64_t t[4];
	unsigned taken;
	bool sleep;

	f->now += 1000;
	t[0] = bench_ticks();
	taken = vnetrx_rxq_poll(f->rxq, BUDGET, f->now);
	t[1] = bench_ticks();
	sleep = vnetrx_rxq_complete(f->rxq, f->now);
	t[2] = bench_ticks();
	vnetrx_pkt_free(f->got, f->ngot);
	t[3] = bench_ticks();
	(void)sleep;
	if (taken != BURST || f->ngot != BURST)
		bench_die("a poll did not take all packets");
	f->ngot = 0;
	for (unsigned i = 0; i < 3u; i++)
		f->ticks[i] += t[i + 1u] - t[i];
}

static double front_repeat(void *arg)
{
	struct front *f = arg;
	double sum = 0.0;

	memset(f->ticks, 0, sizeof(f->ticks));
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct softring_chain chains[RING];
		unsigned n = 0;

		for (unsigned k = 0; k < BURST; k++)
			device_sends(f, chains, &n);
		softring_publish(f->pair.dev);
		poll_once(f);
	}
	for (unsigned i = 0; i < 3u; i++) {
		double ns = bench_elapsed(f->b, f->ticks[i], ROUNDS) / (ROUNDS * BURST);

		sum += ns;
		if (ns < f->stage[i] || f->stage[i] == 0.0)
			f->stage[i] = ns;
	}
	return sum;
}

static void set_up(struct front *f)
{
	static const struct vnetrx_host_ops host_ops = {
		.page_alloc = page_alloc, .page_free = page_free, .deliver = deliver
	};
	struct vnetrx_virtio_rx_config rx = { .hdr_len = HDR_LEN, .features = VNETRX_VIRTIO_MRG_RXBUF };
	const struct vnetrx_rxq_config cfg = {
		.dev_ops = &vnetrx_virtio_rx_ops,
		.host_ops = &host_ops,
		.dev = &f->rx,
		.host = f,
		.ring_size = RING,
		.hdr_len = HDR_LEN,
		.frame_len_max = 9018,
		.buf_len_min = BUF_LEN,
		.buf_len_max = BUF_LEN,
		.copy_len_max = f->no_copy ? 0xffffu : 0u,
		.flags = VNETRX_RXQ_GRO_OFF,
	};
	const char *why = "";

	ring_pair_open(&f->pair, f->b, RING, f->flags, 1);
	rx.vq = f->pair.vq;
	if (vnetrx_virtio_rx_init(&f->rx, &rx) != VNETRX_OK)
		bench_die("vnetrx_virtio_rx_init");
	arena_init(&f->arena, f->b);
	f->mem_size = vnetrx_rxq_footprint(&cfg, &why);
	if (f->mem_size == 0)
		bench_die(why);
	f->mem = bench_alloc(f->b, f->mem_size);
	if (vnetrx_rxq_init(&f->rxq, &cfg, f->mem, f->mem_size) != VNETRX_OK)
		bench_die("vnetrx_rxq_init");
	if (vnetrx_rxq_fill(f->rxq) != RING)
		bench_die("the ring could not be filled");
}

static void tear_down(struct front *f)
{
	(void)vnetrx_rxq_reclaim(f->rxq);
	if (vnetrx_rxq_fini(f->rxq) != VNETRX_OK || f->arena.nfree != ARENA_RUNS)
		bench_die("memory was not given back");
	bench_free(f->mem, f->mem_size);
	ring_pair_close(&f->pair);
}

static void front_row(struct bench *b, uint32_t flags, uint32_t len, bool no_copy, double dpdk_ns)
{
	static struct front f; /* its arena is kept */
	struct bench_stat stat;
	char name[64];

	f.b = b;
	f.flags = flags;
	f.len = len;
	f.no_copy = no_copy;
	f.ngot = 0;
	memset(f.stage, 0, sizeof(f.stage));
	snprintf(name, sizeof(name), "%s %u%s", ring_pair_name(flags), len, no_copy ? " no copy" : "");
	if (!bench_wanted(b, name))
		return;
	set_up(&f);
	bench_run(b, front_repeat, &f, &stat);
	bench_text(b, name);
	bench_stat_cells(b, &stat);
	for (unsigned i = 0; i < 3u; i++)
		bench_number(b, f.stage[i], 1);
	bench_row_end(b);
	if (dpdk_ns > 0.0)
		bench_limit(b, name, &stat, COST_DPDK * dpdk_ns);
	tear_down(&f);
}

static void front_table(struct bench *b)
{
	static const char *const cols[] = { "front end, ns/packet", BENCH_STAT_COLS, "poll", "complete", "free" };

	bench_table(b, cols, sizeof(cols) / sizeof(cols[0]));
	front_row(b, EVENT, 64, false, 0.0);
	front_row(b, EVENT, 64, true, 41.0);
	front_row(b, EVENT, 1500, false, 0.0);
	front_row(b, EVENT, 9000, false, 185.0);
	front_row(b, EVENT | IN_ORDER, 64, false, 0.0);
	front_row(b, EVENT | PACKED, 64, false, 0.0);
	front_row(b, EVENT | PACKED, 64, true, 39.0);
	front_row(b, EVENT | PACKED, 1500, false, 0.0);
	front_row(b, EVENT | PACKED, 9000, false, 0.0);
	front_row(b, EVENT | PACKED | IN_ORDER, 64, false, 0.0);
}

int main(int argc, char **argv)
{
	struct bench b;

	bench_init(&b, argc, argv, "bench_virtq", "virtqueues and the receive front end: ns per buffer, ns per packet");
	ring_table(&b);
	front_table(&b);
	return bench_fini(&b);
}
