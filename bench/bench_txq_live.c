/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What delayed interrupts and early refusals are worth, live: small writes of 1 to 128 streams to a vhost back end
 * (testpmd, rxonly), as in "improve small packet performance" (Linux, 2011); see tx_live.h. Published there, on a
 * network: +16.2 % of bandwidth over all streams at 1 KiB, +4.6 % at 16 KiB, 2.5 to 3 % of packets met a full ring.
 *
 * Rounds alternate; figures are medians. --check: summed over all stream counts, "after" sends at least 1.16 times as
 * much at 1 KiB and not less at 16 KiB (less the noise of 3 %); at least 100 packets for an interrupt where the ring is
 * full; and the back end received every packet.
 */
#include <stdio.h>
#include <stdlib.h>

#include "backend.h"
#include "bench.h"
#include "dpdk_limits.h"
#include "tx_live.h"

#define ROUNDS_MAX 9u
#define NOISE      0.03

static const uint32_t counts[] = { 1, 2, 4, 8, 16, 32, 64, 96, 128 };

#define COUNTS (sizeof(counts) / sizeof(counts[0]))

static const char *const columns[] = {
	"streams",       "bytes",  "before kpps",     "spread %", "kpps",          "its spread %", "ratio",
	"before CPU ns", "CPU ns", "before intr/pkt", "intr/pkt", "before full %", "full %",
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts; returns the median and the spread in percent of it. */
static double median(double *v, unsigned n, double *spread)
{
	qsort(v, n, sizeof(*v), ascending);
	if (spread != NULL)
		*spread = (v[n - 1u] - v[0]) / v[n / 2u] * 100.0;
	return v[n / 2u];
}

static double per_packet(const struct tx_live_result *r, uint64_t n)
{
	return r->packets != 0u ? (double)n / (double)r->packets : 0.0;
}

/* Sums over the rounds, for everything but the rate. */
static void add(struct tx_live_result *sum, const struct tx_live_result *r)
{
	sum->packets += r->packets;
	sum->ns += r->ns;
	sum->cpu_ns += r->cpu_ns;
	sum->interrupts += r->interrupts;
	sum->full += r->full;
	sum->all += r->all;
}

/* One row; kpps[0] before, [1] after. Returns the packets that were sent in all. */
static uint64_t row(struct bench *b, struct tx_live_case *c, double kpps[2])
{
	static double rates[2][ROUNDS_MAX];
	struct tx_live_result sum[2] = { { .packets = 0 }, { .packets = 0 } };
	unsigned rounds = b->quick ? 3u : 7u, i, side;
	double spread[2];
	char name[48];

	for (i = 0; i < rounds; i++) {
		for (side = 0; side < 2u; side++) {
			struct tx_live_result r;

			c->before = side == 0u;
			tx_live(c, &r);
			rates[side][i] = (double)r.packets * 1e6 / (double)r.ns;
			add(&sum[side], &r);
		}
	}
	for (side = 0; side < 2u; side++)
		kpps[side] = median(rates[side], rounds, &spread[side]);
	bench_number(b, c->streams, 0);
	bench_number(b, c->bytes, 0);
	for (side = 0; side < 2u; side++) {
		bench_number(b, kpps[side], 0);
		bench_number(b, spread[side], 0);
	}
	bench_number(b, kpps[1] / kpps[0], 2);
	for (side = 0; side < 2u; side++)
		bench_number(b, per_packet(&sum[side], sum[side].cpu_ns), 0);
	for (side = 0; side < 2u; side++)
		bench_number(b, per_packet(&sum[side], sum[side].interrupts), 4);
	for (side = 0; side < 2u; side++)
		bench_number(b, per_packet(&sum[side], sum[side].full) * 100.0, 2);
	bench_row_end(b);
	if (c->streams * TX_LIVE_WINDOW > 2u * TX_LIVE_RING * c->bytes) {
		snprintf(name, sizeof(name), "%u streams, %u bytes", c->streams, c->bytes);
		limit_at_least(name, "packets for an interrupt",
			       (double)sum[1].packets / (double)(sum[1].interrupts + 1u), 100.0, true);
	}
	return sum[0].all + sum[1].all;
}

static void table(struct bench *b, uint32_t bytes, double gain)
{
	struct bench_backend be;
	struct tx_live_case c = { .bytes = bytes, .time_ns = b->quick ? 100000000u : 300000000u };
	double sum[2] = { 0.0, 0.0 }, kpps[2];
	uint64_t sent = 0;
	char name[48];
	unsigned i;

	bench_backend_start(&be, "--forward-mode=rxonly");
	c.path = be.path;
	for (i = 0; i < COUNTS; i++) {
		c.streams = counts[i];
		sent += row(b, &c, kpps);
		sum[0] += kpps[0];
		sum[1] += kpps[1];
	}
	snprintf(name, sizeof(name), "all streams, %u bytes", bytes);
	limit_at_least(name, "sum of rates, times before", sum[1] / sum[0], gain, true);
	limit_at_least(name, "million packets received; limit: sent", (double)bench_backend_stop(&be) / 1e6,
		       (double)sent / 1e6, true);
}

int main(int argc, char **argv)
{
	struct bench b;

	bench_init(&b, argc, argv, "bench_txq_live",
		   "small writes of many streams to a live back end, before and after");
	bench_backend_move();
	bench_table(&b, columns, sizeof(columns) / sizeof(columns[0]));
	table(&b, 1024u, 1.16);
	table(&b, 16384u, 1.0 - NOISE);
	limits_print(&b);
	return bench_fini(&b);
}
