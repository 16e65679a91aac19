/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flush timer, in SIMULATED time: how many segments a delivered packet has, and how long what waits for the rest.
 *
 * The workload of Linux' "per device gro flush timer" (2014): 200 flows in trains of 44 over one fully used 10 GbE
 * link, 8 queues, a core each; see flush_sim.h. Published there: 2.65 segments per packet without a timer, 42 with
 * 2000 ns. Then the adaptive timer, which is told nothing, on links from 1 to 100 GbE, with trains interleaved, with
 * fast and slow flows on one queue, with jitter, with and without timestamps of the card. For contrast a card that
 * holds its interrupt back until no packet came for 2000 ns, as coalescing timers that each packet rearms do.
 */
#include <stdio.h>

#include "bench.h"
#include "flush_sim.h"

#define ROUNDS       24u
#define ROUNDS_QUICK 4u
#define HOLD_MAX_NS  1000000u /* the library's default */
#define TAIL_NS      2000

#define ADAPTIVE(text, ns, n) .name = text, .slot_ns = ns, .trains = n, .adaptive = true

static const struct flush_case cases[] = {
	{ .name = "10G timeout 0", .slot_ns = 1230, .trains = 1 },
	{ .name = "10G timeout 2000", .slot_ns = 1230, .trains = 1, .timeout_ns = 2000 },
	{ .name = "10G card rearms", .slot_ns = 1230, .trains = 1, .timeout_ns = 2000, .rearm = true },
	{ ADAPTIVE("10G x1", 1230, 1) },
	{ ADAPTIVE("10G x2", 1230, 2) },
	{ ADAPTIVE("10G x4", 1230, 4) },
	{ ADAPTIVE("10G x8", 1230, 8) },
	{ ADAPTIVE("1G x1", 12300, 1) },
	{ ADAPTIVE("25G x1", 492, 1) },
	{ ADAPTIVE("100G x1", 123, 1) },
	{ ADAPTIVE("10G x8 stamped", 1230, 8), .stamped = true },
	{ ADAPTIVE("1G x1 stamped", 12300, 1), .stamped = true },
	{ ADAPTIVE("25G x1 stamped", 492, 1), .stamped = true },
	{ ADAPTIVE("100G x1 stamped", 123, 1), .stamped = true },
	{ ADAPTIVE("10G x1 shuffled", 1230, 1), .shuffled = true },
	{ ADAPTIVE("10G x1 jitter", 1230, 1), .shuffled = true, .jitter = 90 },
	{ ADAPTIVE("10G x8 jitter", 1230, 8), .shuffled = true, .jitter = 90 },
	{ ADAPTIVE("10G fast and slow", 1230, 1), .shuffled = true, .slow = 8 },
	{ ADAPTIVE("25G x1 shuffled", 492, 1), .shuffled = true },
	{ ADAPTIVE("25G x4 shuffled", 492, 4), .shuffled = true },
	{ ADAPTIVE("25G fast and slow", 492, 1), .shuffled = true, .slow = 16 },
	{ ADAPTIVE("100G x1 shuffled", 123, 1), .shuffled = true },
	{ ADAPTIVE("100G x8 shuffled", 123, 8), .shuffled = true },
	{ ADAPTIVE("100G x8 shuf stamp", 123, 8), .shuffled = true, .stamped = true },
};

static void limit(struct bench *b, const char *name, const char *what, double value, double low, double high)
{
	bool ok = value >= low && value <= high;
	char text[40] = "at most";

	if (!b->check)
		return;
	if (!ok)
		b->misses++;
	if (low > 0.0)
		snprintf(text, sizeof(text), "%.0f to", low);
	fprintf(b->json ? stderr : stdout, "check: %s: %s: %.1f, limit %s %.0f: %s\n", name, what, value, text, high,
	        ok ? "ok" : "MISSED");
}

/* In random order trains of one queue follow each other without a pause: there a tail may come at the beginning of a
 * long poll, and be due during the next ones, in which what is on the ring comes first. */
static void limits(struct bench *b, const struct flush_case *c, const struct flush_result *r)
{
	double segs = (double)r->segs / (double)r->pkts;
	double poll = (double)r->poll_max;

	if (c->rearm)
		return;
	if (c->adaptive || c->timeout_ns != 0u)
		limit(b, c->name, "segments per packet", segs, c->adaptive ? 40.0 : 42.0, 46.0);
	else
		limit(b, c->name, "segments per packet", segs, 2.0, 3.0);
	limit(b, c->name, "packets with PSH held", (double)r->push_held, 0.0, 0.0);
	limit(b, c->name, "longest hold, ns", (double)r->hold.max, 0.0, HOLD_MAX_NS + poll);
	if (c->adaptive)
		limit(b, c->name, "tail without PSH: wait beyond 4 gaps, ns", (double)r->tail_max, -1e9,
		      TAIL_NS + poll + (c->shuffled ? (double)r->busy_max : 0.0));
	else
		limit(b, c->name, "longest quiet time, ns", (double)r->quiet.max, 0.0, (double)c->timeout_ns + poll);
}

static void row(struct bench *b, const struct flush_case *c)
{
	struct flush_result r;

	if (!bench_wanted(b, c->name))
		return;
	flush_sim(c, b->quick ? ROUNDS_QUICK : ROUNDS, &r);
	bench_text(b, c->name);
	bench_number(b, (double)r.segs / (double)r.pkts, 2);
	bench_number(b, (double)r.pkts, 0);
	bench_number(b, (double)r.push_held, 0);
	bench_number(b, (double)r.push_max, 0);
	bench_number(b, (double)r.quiet.max, 0);
	bench_number(b, (double)r.hold.max, 0);
	bench_number(b, (double)r.late_max, 0);
	bench_number(b, (double)r.tail_max, 0);
	bench_number(b, (double)r.poll_max, 0);
	bench_number(b, (double)r.busy_max, 0);
	bench_number(b, (double)r.timers / (double)r.segs, 3);
	bench_row_end(b);
	limits(b, c, &r);
}

int main(int argc, char **argv)
{
	static const char *const cols[] = { "simulated, ns", "segs/pkt", "packets", "PSH held", "PSH wait", "quiet",
	                                    "hold", "arrived", "tail-4gaps", "poll", "busy",
	                                    "timers/seg" };
	struct bench b;

	bench_init(&b, argc, argv, "bench_flush",
	           "the flush timer, in SIMULATED time (the same figures on any machine)");
	bench_note(&b, "Longest times. PSH wait: from the arrival of a segment with PSH to its delivery;\n"
	           "arrived: the same of a first segment; quiet, hold: wait of a last, of a first segment since it\n"
	           "was seen; tail-4gaps: of a train's last segment without PSH, beyond four gaps of its train;\n"
	           "poll: one call; busy: interrupts off.");
	bench_table(&b, cols, sizeof(cols) / sizeof(cols[0]));
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		row(&b, &cases[i]);
	return bench_fini(&b);
}
