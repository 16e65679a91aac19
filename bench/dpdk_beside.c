/* SPDX-License-Identifier: BSD-3-Clause */
/* Beside the comparison: other protocols and traffic, small pages, the checksum, the floors. */
#include "vs_dpdk.h"

#include <stdio.h>
#include <string.h>

#include "dpdk_limits.h"
#include "gro/csum.h"

#define CSUM_BUFS   16u /* 24 KiB: first-level cache */
#define CSUM_ROUNDS 256u

static struct gro_case usual(enum memory memory)
{
	return (struct gro_case){
		.pattern = TRAFFIC_TRAIN44,
		.memory = memory,
		.flows = 8,
		.payload = TRAFFIC_PAYLOAD,
		.window = 64,
		.burst = 64,
	};
}

/* ---- rows of the first table ---- */

struct pick {
	enum traffic_pattern pattern;
	uint32_t flows;
	uint32_t window;
};

/* With --quick the first three. */
static const struct pick picks[] = {
	{ TRAFFIC_TRAIN44, 8, 64 },  { TRAFFIC_RR, 8, 64 },   { TRAFFIC_RR, 64, 256 },    { TRAFFIC_RR, 1000, 4096 },
	{ TRAFFIC_TRAIN44, 1, 64 },  { TRAFFIC_RR, 32, 64 },  { TRAFFIC_TRAIN44, 1000, 64 }, { TRAFFIC_RAND, 8, 64 },
	{ TRAFFIC_RAND, 64, 256 },   { TRAFFIC_RR, 200, 256 }, { TRAFFIC_RR, 1000, 64 },   { TRAFFIC_RAND, 1000, 64 },
};

static void picked_rows(struct vs *vs, enum memory memory, uint32_t payload)
{
	struct gro_case c = usual(memory);
	unsigned n = vs->b->quick ? 3u : sizeof(picks) / sizeof(picks[0]);
	unsigned i;

	c.payload = payload;
	for (i = 0; i < n; i++) {
		c.pattern = picks[i].pattern;
		c.flows = picks[i].flows;
		c.window = picks[i].window;
		vs_row(vs, &c, NULL);
	}
}

static void limit_ns(const struct gro_case *c, const struct bench_stat *ours, double limit)
{
	char name[64];

	vs_name(c, name, sizeof(name));
	limit_at_most(name, "ns per packet", bench_figure(ours), limit, ours->quiet != 0u);
}

/* PSH on every fourth segment; polls of 8, each of them flushed; UDP that is not merged. */
static void limited_rows(struct vs *vs, enum memory memory)
{
	bool hot = memory == MEMORY_HOT;
	struct gro_case push = usual(memory), polls = usual(memory), udp = usual(memory);
	struct bench_stat ours;

	push.push_every = 4;
	if (vs_row(vs, &push, &ours))
		limit_ns(&push, &ours, hot ? 18 : 21);
	polls.window = 8;
	polls.burst = 8;
	if (vs_row(vs, &polls, &ours))
		limit_ns(&polls, &ours, hot ? 15 : 25);
	udp.kind = TRAFFIC_UDP4;
	if (vs_row_alone(vs, &udp, VNETRX_GRO_TCP | VNETRX_GRO_TUNNEL, &ours) && hot)
		limit_ns(&udp, &ours, 10);
}

void vs_other_rows(struct vs *vs)
{
	limited_rows(vs, MEMORY_HOT);
	limited_rows(vs, MEMORY_COLD);
	picked_rows(vs, MEMORY_HOT, 64);
	picked_rows(vs, MEMORY_COLD, 64);
	picked_rows(vs, MEMORY_SMALL, TRAFFIC_PAYLOAD);
}

/* ---- protocols ---- */

static void protocol_rows(struct vs *vs, enum memory memory)
{
	static struct gro_case cases[TRAFFIC_KINDS];
	struct bench_work works[TRAFFIC_KINDS];
	unsigned kind;

	for (kind = 0; kind < TRAFFIC_KINDS; kind++) {
		cases[kind] = usual(memory);
		cases[kind].kind = (enum traffic_kind)kind;
		works[kind] = (struct bench_work){
			.fn = gro_work_repeat,
			.arg = vs_ours(vs, kind, &cases[kind], VNETRX_GRO_TCP | VNETRX_GRO_UDP | VNETRX_GRO_TUNNEL, 0),
		};
	}
	bench_turns(vs->b, works, TRAFFIC_KINDS);
	for (kind = 0; kind < TRAFFIC_KINDS; kind++) {
		char name[64];

		snprintf(name, sizeof(name), "%s trains of %s", memory_name(memory),
			 traffic_kind_name((enum traffic_kind)kind));
		bench_text(vs->b, name);
		bench_stat_cells(vs->b, &works[kind].stat);
		bench_number(vs->b, gro_work_segs(works[kind].arg), 1);
		bench_number(vs->b, bench_times(works, kind), 2);
		bench_row_end(vs->b);
		if (kind != TRAFFIC_TCP4)
			limit_at_most(name, "times the ns of tcp4", bench_times(works, kind), 1.5,
				      works[kind].ratio.quiet != 0u);
	}
}

void vs_protocols(struct vs *vs)
{
	static const char *const cols[] = { "ns per packet", BENCH_STAT_COLS, "segs/pkt", "x tcp4" };

	if (!bench_wanted(vs->b, "trains of"))
		return;
	bench_table(vs->b, cols, sizeof(cols) / sizeof(cols[0]));
	protocol_rows(vs, MEMORY_HOT);
	protocol_rows(vs, MEMORY_COLD);
}

/* ---- checksum ---- */

struct csum_work {
	struct bench  *b;
	struct supply *s;
	uint32_t       bufs;
};

static double csum_repeat(void *arg)
{
	const struct csum_work *w = arg;
	static volatile uint32_t sink;
	uint32_t sum = 0, i;
	uint64_t ticks = bench_ticks();

	for (i = 0; i < CSUM_ROUNDS; i++)
		sum += vnrx_sum(w->s->bufs + (size_t)(i % w->bufs) * SUPPLY_BUF, TRAFFIC_PAYLOAD);
	ticks = bench_ticks() - ticks;
	sink = sink + sum;
	return bench_elapsed(w->b, ticks, 1) / CSUM_ROUNDS;
}

void vs_checksum(struct vs *vs)
{
	static const char *const cols[] = { "ns per 1448 bytes", BENCH_STAT_COLS };
	struct csum_work w = { .b = vs->b, .s = &vs->huge, .bufs = CSUM_BUFS };
	struct bench_stat stat;

	if (!bench_wanted(vs->b, "checksum"))
		return;
	bench_table(vs->b, cols, sizeof(cols) / sizeof(cols[0]));
	bench_run(vs->b, csum_repeat, &w, &stat);
	bench_text(vs->b, "checksum, L1");
	bench_stat_cells(vs->b, &stat);
	bench_row_end(vs->b);
	limit_at_most("checksum", "ns per 1448 bytes", bench_figure(&stat), 50, stat.quiet != 0u);
	w.bufs = CSUM_ROUNDS;
	bench_run(vs->b, csum_repeat, &w, &stat);
	bench_text(vs->b, "checksum, L2");
	bench_stat_cells(vs->b, &stat);
	bench_row_end(vs->b);
}

/* ---- floors ---- */

static void floor_row(struct vs *vs, const struct gro_case *c)
{
	struct bench_work works[DPDK_FLOORS];
	char name[64], row[80];
	unsigned i;

	vs_name(c, name, sizeof(name));
	snprintf(row, sizeof(row), "%s floors", name);
	if (!bench_wanted(vs->b, row))
		return;
	for (i = 0; i < DPDK_FLOORS; i++)
		works[i] = (struct bench_work){ .fn = dpdk_floor_repeat, .arg = vs_floor(vs, i, c) };
	bench_turns(vs->b, works, DPDK_FLOORS);
	bench_text(vs->b, row);
	for (i = 0; i < DPDK_FLOORS; i++)
		bench_number(vs->b, bench_figure(&works[i].stat), 1);
	bench_row_end(vs->b);
}

void vs_floors(struct vs *vs)
{
	static const char *const cols[] = { "ns per packet", "F0", "F1", "F2", "F3" };
	unsigned memory, i;

	bench_table(vs->b, cols, sizeof(cols) / sizeof(cols[0]));
	for (memory = 0; memory < MEMORIES; memory++) {
		struct gro_case c = usual((enum memory)memory);

		for (i = 0; i < (vs->b->quick ? 1u : 4u); i++) {
			c.pattern = picks[i].pattern;
			c.flows = picks[i].flows;
			c.window = picks[i].window;
			floor_row(vs, &c);
		}
	}
}
