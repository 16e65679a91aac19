/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flush timer, in SIMULATED time, on the workload of bench_flush with a flow of requests (PSH on each) on one of
 * its queues: 200 flows in trains of 44 over 10 GbE, 8 queues. The last row is a card that holds its interrupt back
 * until no packet came for 4 us, or 44 came.
 */
#include "bench.h"
#include "flush_sim.h"
#include "seeds.h"

#define ROUNDS       24u
#define ROUNDS_QUICK 6u
#define SLOT_NS      1230u  /* a full packet on 10 GbE */
#define REQUEST_NS   50000u
#define SLACK_NS     500.0

#define CASE(text, ns) { .name = text, .slot_ns = SLOT_NS, .trains = 1, .rpc_ns = REQUEST_NS, .timeout_ns = ns }

static const struct flush_case cases[] = {
	CASE("timer 0", 0),
	CASE("timer 500", 500),
	CASE("timer 1000", 1000),
	CASE("timer 2000", 2000),
	CASE("timer 5000", 5000),
	CASE("timer 20000", 20000),
	{ .name = "adaptive", .slot_ns = SLOT_NS, .trains = 1, .rpc_ns = REQUEST_NS, .adaptive = true },
	{ .name = "card: rx-usecs 4, rx-frames 44", .slot_ns = SLOT_NS, .trains = 1, .rpc_ns = REQUEST_NS,
	  .timeout_ns = 4000, .rearm = true, .rearm_frames = 44 },
};

#define CASES    (sizeof(cases) / sizeof(cases[0]))
#define NO_TIMER 0u
#define TIMER    3u
#define ADAPTIVE 6u
#define CARD     7u

static double segs(const struct flush_result *r)
{
	return (double)r->segs / (double)r->pkts;
}

static void sum_cells(struct bench *b, const struct sample_sum *sum)
{
	bench_number(b, sum->mean, 0);
	bench_number(b, (double)sum->p99, 0);
	bench_number(b, (double)sum->max, 0);
}

static void row(struct bench *b, const struct flush_case *c, const struct flush_result *r)
{
	bench_text(b, c->name);
	bench_number(b, segs(r), 2);
	bench_number(b, (double)r->pkts * 1e9 / (double)r->end_ns, 0);
	sum_cells(b, &r->quiet);
	sum_cells(b, &r->hold);
	sum_cells(b, &r->rpc);
	bench_row_end(b);
}

static void limits(struct bench *b, const struct flush_result *r)
{
	double without = (double)r[NO_TIMER].rpc.p99, card = (double)r[CARD].rpc.p99;

	bench_at_least(b, "flush timer: segments per packet without a timer", segs(&r[NO_TIMER]), 2.0);
	bench_at_most(b, "flush timer: segments per packet without a timer", segs(&r[NO_TIMER]), 3.0);
	bench_at_least(b, "flush timer: segments per packet with 2000 ns", segs(&r[TIMER]), 42.0);
	bench_at_least(b, "flush timer: segments per packet, adaptive", segs(&r[ADAPTIVE]), 40.0);
	for (unsigned i = TIMER; i <= ADAPTIVE; i += ADAPTIVE - TIMER) {
		double with = (double)r[i].rpc.p99;

		bench_at_most(b, i == TIMER ? "flush timer: RPC, 99th percentile, 2000 ns over none, ns" :
		              "flush timer: RPC, 99th percentile, adaptive over none, ns", with - without, SLACK_NS);
		bench_at_most(b, i == TIMER ? "flush timer: RPC, 99th percentile, 2000 ns over the card's timer" :
		              "flush timer: RPC, 99th percentile, adaptive over the card's timer", with / card,
		              1.0 / 3.0);
		bench_at_most(b, "flush timer: packets with PSH held", (double)r[i].push_held, 0.0);
	}
}

void seeds_flush(struct bench *b)
{
	static const char *const cols[] = {
		"flush timer, simulated, ns", "segs/pkt",   "pkts/s",    "quiet mean", "quiet 99 %", "quiet max",
		"hold mean", "hold 99 %", "hold max", "RPC mean", "RPC 99 %", "RPC max",
	};
	static struct flush_result results[CASES];

	bench_table(b, cols, sizeof(cols) / sizeof(cols[0]));
	for (unsigned i = 0; i < CASES; i++) {
		flush_sim(&cases[i], b->quick ? ROUNDS_QUICK : ROUNDS, &results[i]);
		row(b, &cases[i], &results[i]);
	}
	bench_note(b, "Published (2014): 2.65 segments a packet without a timer, 42 with 2000 ns;\n"
	           "305732 and 19230 ACK/s. The card's timer: up to 50 % of latency for requests.");
	limits(b, results);
}
