/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run: interrupts are moderated, so that a poll takes what came within irq_ns, and happens at the time of its last
 * packet. Only the time in poll, complete and expire counts (with deliver and free in them), not that of the device.
 */
#include <stdlib.h>
#include <time.h>

#include "heap.h"
#include "softdev.h"
#include "stages.h"
#include "vnetrx.h"

#define RING      256u
#define HDR_LEN   12u
#define BUDGET    64u  /* most packets of a poll */
#define FRAME_MAX 262144u
#define REPEATS_MAX 101u

#define SINGLE_BUFS (VNETRX_RXQ_GRO_OFF | VNETRX_RXQ_NO_COALESCE)

const struct row rows[] = {
	{ "fixed MTU buffers", 1536u, SINGLE_BUFS, false },
	{ "fixed largest buffers", 4096u, SINGLE_BUFS, false },
	{ "auto-sized", 0u, SINGLE_BUFS, false },
	{ "+ coalescing", 0u, VNETRX_RXQ_GRO_OFF, false },
	{ "+ GRO", 0u, 0u, false },
	{ "+ timer", 0u, 0u, true },
};
const unsigned rows_num = sizeof(rows) / sizeof(rows[0]);

struct run {
	struct heap_host   host;
	struct softdev    *dev;
	struct vnetrx_rxq *rxq;
	void              *mem;
	struct result     *result;
	vnetrx_ns clock;
	double    busy;       /* ns in the queue, clock readings included */
	uint64_t  stretches;  /* timed stretches of it                    */
};

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* What two readings of the clock cost when nothing lies between them. */
static double clock_cost(void)
{
	double least = 1e9;
	unsigned i;

	for (i = 0u; i < 1000u; i++) {
		double start = now_ns();
		double took = now_ns() - start;

		if (took < least)
			least = took;
	}
	return least;
}

/* Segments in a packet; a GSO packet of a device that does not say is cut in thought. */
static uint64_t segments(const struct vnetrx_pkt *pkt)
{
	uint32_t hdrs;

	if (pkt->rx_gso_size == 0u || (pkt->flags & VNETRX_PKT_PARTIAL) == 0u || pkt->frag_len < pkt->csum_start + 20u)
		return pkt->segs != 0u ? pkt->segs : 1u;
	hdrs = pkt->csum_start + (pkt->data[pkt->csum_start + 12u] >> 4) * 4u;
	return pkt->len <= hdrs ? 1u : (pkt->len - hdrs + pkt->rx_gso_size - 1u) / pkt->rx_gso_size;
}

static void count(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct run *run = arg;
	struct result *r = run->result;
	unsigned i;

	for (i = 0u; i < n; i++) {
		vnetrx_ns held = run->clock - pkts[i]->seen_first;

		r->delivered++;
		r->segs += segments(pkts[i]);
		r->frags += pkts[i]->nfrags;
		r->bufs += pkts[i]->nbufs;
		r->bytes += pkts[i]->len;
		r->truesize += pkts[i]->truesize;
		if (held > r->hold_max)
			r->hold_max = held;
	}
}

static const char *run_open(struct run *run, const struct row *row, const struct settings *set)
{
	struct vnetrx_rxq_config cfg = {
		.dev_ops = &softdev_ops,
		.host_ops = &heap_host_ops,
		.host = &run->host,
		.hash_key = { 0x243f6a8885a308d3u, 0x13198a2e03707344u },
		.ring_size = RING,
		.frame_len_max = FRAME_MAX,
		.buf_len_min = row->buf_len,
		.buf_len_max = row->buf_len,
		.hdr_len = HDR_LEN,
		.runs_max = 4096u,
		.pkts_max = 16384u,
		.flags = row->flags,
		.gro_timeout_ns = row->timer ? set->timeout_ns : 0u,
		.gro_hold_max_ns = row->timer ? set->hold_max_ns : 0u,
	};
	const char *why = NULL;
	size_t size;

	run->dev = softdev_new(&(struct softdev_config){ .ring_size = RING, .hdr_len = HDR_LEN });
	if (run->dev == NULL)
		return "out of memory";
	cfg.dev = run->dev;
	size = vnetrx_rxq_footprint(&cfg, &why);
	if (size == 0u)
		return why;
	run->mem = heap_memory(size);
	if (run->mem == NULL || vnetrx_rxq_init(&run->rxq, &cfg, run->mem, size) != VNETRX_OK)
		return "out of memory";
	vnetrx_rxq_fill(run->rxq);
	return NULL;
}

/* Whether every packet that was sent came through. */
static bool complete(const struct run *run)
{
	struct vnetrx_rxq_stats queue;
	struct softdev_stats dev;

	vnetrx_rxq_read_stats(run->rxq, &queue);
	softdev_read_stats(run->dev, &dev);
	return dev.drops == 0u && dev.sent == queue.merge.pkts && queue.queue.delivered == run->host.pkts;
}

/* NULL, or what is wrong at the end. */
static const char *run_close(struct run *run)
{
	const char *why = NULL;

	if (run->rxq != NULL) {
		if (!complete(run))
			why = "packets were lost on the way";
		softdev_reset(run->dev);
		vnetrx_rxq_reclaim(run->rxq);
		if (vnetrx_rxq_fini(run->rxq) != VNETRX_OK || run->host.pages_out != 0u)
			why = "the queue kept memory";
	}
	free(run->mem);
	if (run->dev != NULL)
		softdev_free(run->dev);
	return why;
}

static void drain(struct run *run, bool end)
{
	double start = now_ns();

	do {
		while (softdev_waiting(run->dev) > 0u)
			vnetrx_rxq_poll(run->rxq, BUDGET, run->clock);
	} while (end && !vnetrx_rxq_complete(run->rxq, run->clock));
	run->busy += now_ns() - start;
	run->stretches++;
}

/* Time goes on to `ns`, with a stop at each deadline before it. */
static void advance(struct run *run, vnetrx_ns ns)
{
	vnetrx_ns due;

	while ((due = vnetrx_rxq_deadline(run->rxq)) < ns) {
		double start = now_ns();

		if (due > run->clock)
			run->clock = due;
		vnetrx_rxq_expire(run->rxq, BUDGET, run->clock);
		run->busy += now_ns() - start;
		run->stretches++;
	}
	if (ns != VNETRX_NEVER && ns > run->clock)
		run->clock = ns;
}

/* How many frames from the i-th on come in one poll. */
static size_t burst_len(const struct capture *cap, size_t i, vnetrx_ns irq_ns)
{
	const struct burst_frame *f = cap->frames.frames;
	size_t n = 1u;

	while (n < BUDGET && i + n < cap->frames.num && f[i + n].ns - f[i].ns <= irq_ns)
		n++;
	return n;
}

static void play(struct run *run, const struct capture *cap, const struct settings *set)
{
	const struct burst_frame *f = cap->frames.frames;
	size_t i = 0u;

	run->clock = f[0].ns;
	while (i < cap->frames.num) {
		size_t end = i + burst_len(cap, i, set->irq_ns);

		advance(run, f[end - 1u].ns);
		for (; i < end; i++) {
			if (!softdev_fits(run->dev, f[i].len))
				drain(run, false);
			softdev_send(run->dev, cap->frames.bytes + f[i].at, f[i].len, &cap->meta[i]);
		}
		drain(run, true);
	}
	advance(run, VNETRX_NEVER);
	vnetrx_rxq_flush(run->rxq);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* One run; with `result` what the host got is counted, else the time is taken. */
static const char *run_once(const struct capture *cap, const struct row *row, const struct settings *set,
                            struct result *result, double *ns)
{
	struct run run = { .result = result };
	const char *why = run_open(&run, row, set);
	const char *end;

	run.host.arg = &run;
	run.host.show = result != NULL ? count : NULL;
	if (why == NULL) {
		play(&run, cap, set);
		*ns = run.busy - (double)run.stretches * clock_cost();
	}
	end = run_close(&run);
	return why != NULL ? why : end;
}

const char *measure(const struct capture *cap, const struct row *row, const struct settings *set,
                    struct result *result)
{
	double times[REPEATS_MAX];
	unsigned n = set->repeats < REPEATS_MAX ? set->repeats : REPEATS_MAX;
	const char *why = run_once(cap, row, set, result, &times[0]);
	unsigned i;

	for (i = 0u; i < n && why == NULL; i++)
		why = run_once(cap, row, set, NULL, &times[i]);
	if (why != NULL)
		return why;
	qsort(times, n, sizeof(times[0]), by_size);
	result->path_ns += times[n / 2u];
	result->received += cap->frames.num;
	return NULL;
}
