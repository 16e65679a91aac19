/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GRO beside that of DPDK, ns per packet, in one process, in turns, on the same packets in the same buffers.
 *
 * W is the number of packets between two complete flushes; both engines flush at the same packets. DPDK is the cheaper
 * of its modes: light with bursts of W and, for every W, heavy with a table of W slots. Its descriptors come with
 * packet type and header lengths; our time includes reading the headers. Checksums are verified by the device. "cold"
 * rows are given twice: the second time DPDK's caller prefetches and parses, as one does whose device tells no lengths.
 *
 * hot: chunks of 1024 buffers that were just written (4096 with W = 4096); cold: 32768 buffers in random order. Writing
 * headers and descriptors is not timed; what comes out is checked after each chunk.
 */
#include "vs_dpdk.h"

#include <stdio.h>
#include <string.h>

#include "dpdk_limits.h"

#define QUICK_ROW_NS 700000000u
#define ROW_NS       4000000000u

/* ---- cases ---- */

void vs_name(const struct gro_case *c, char *name, unsigned size)
{
	char more[32] = "";

	if (c->kind != TRAFFIC_TCP4)
		snprintf(more, sizeof(more), " %s", traffic_kind_name(c->kind));
	else if (c->payload != TRAFFIC_PAYLOAD)
		snprintf(more, sizeof(more), " %u B", c->payload);
	else if (c->push_every != 0u)
		snprintf(more, sizeof(more), " PSH/%u", c->push_every);
	snprintf(name, size, "%s %s %u W%u%s", memory_name(c->memory), traffic_name(c->pattern), c->flows, c->window,
		 more);
}

struct supply *vs_supply(struct vs *vs, const struct gro_case *c)
{
	struct supply *s = c->memory == MEMORY_SMALL ? &vs->small : &vs->huge;

	supply_order(s, c->memory, c->window);
	return s;
}

struct gro_work *vs_ours(struct vs *vs, unsigned i, const struct gro_case *c, uint32_t protos, uint64_t key)
{
	vs->ours[i].b = vs->b;
	vs->ours[i].s = vs_supply(vs, c);
	gro_work_init(&vs->ours[i], c, protos, key);
	return &vs->ours[i];
}

struct dpdk_floor *vs_floor(struct vs *vs, unsigned i, const struct gro_case *c)
{
	vs->floor[i].b = vs->b;
	vs->floor[i].s = vs_supply(vs, c);
	dpdk_floor_init(&vs->floor[i], c, i);
	return &vs->floor[i];
}

/* ---- the table ---- */

/* For people without what the name says already. */
static const char *const all_cols[] = {
	"row", "pattern", "flows",    "window",        "payload",  "memory",        "mode",
	"ns",  "min",     "spread %", "dpdk ns",       "dpdk min", "dpdk spread %", "ratio",
	"F3",  "x F3",    "segs/pkt", "dpdk segs/pkt", "quiet",
};
static const char *const short_cols[] = {
	"ns per packet", "mode", "ns", "min", "spread %", "dpdk ns", "dpdk min", "dpdk spread %", "ratio", "F3", "x F3",
	"segs/pkt", "dpdk segs/pkt", "quiet",
};

void vs_table(struct bench *b)
{
	if (b->json)
		bench_table(b, all_cols, sizeof(all_cols) / sizeof(all_cols[0]));
	else
		bench_table(b, short_cols, sizeof(short_cols) / sizeof(short_cols[0]));
}

static void case_cells(struct bench *b, const struct gro_case *c, const char *mode, bool caller)
{
	char name[64], memory[32];

	vs_name(c, name, sizeof(name));
	bench_text(b, name);
	snprintf(memory, sizeof(memory), "%s%s", memory_name(c->memory),
		 caller ? ", caller parses and prefetches" : "");
	if (b->json) {
		bench_text(b, traffic_name(c->pattern));
		bench_number(b, c->flows, 0);
		bench_number(b, c->window, 0);
		bench_number(b, c->payload, 0);
		bench_text(b, memory);
	}
	bench_text(b, mode);
}

static void stat_cells(struct bench *b, const struct bench_stat *stat)
{
	if (stat == NULL) {
		bench_none(b);
		bench_none(b);
		bench_none(b);
		return;
	}
	bench_number(b, bench_figure(stat), 1);
	bench_number(b, stat->min, 1);
	bench_number(b, stat->spread * 100.0, 0);
}

/* A row: ours is works[0], F3 works[1], the peer works[peer] or, with peer 0, none. */
static void print_row(struct vs *vs, const struct gro_case *c, const struct bench_work *works, unsigned peer)
{
	const struct dpdk_peer *dpdk = peer != 0u ? works[peer].arg : NULL;
	struct bench *b = vs->b;
	char quiet[32], mode[32] = "-";

	if (dpdk != NULL)
		snprintf(mode, sizeof(mode), "%s%s", dpdk_mode_name(dpdk->mode), dpdk->caller ? " pp" : "");
	case_cells(b, c, mode, dpdk != NULL && dpdk->caller);
	stat_cells(b, &works[0].stat);
	stat_cells(b, dpdk != NULL ? &works[peer].stat : NULL);
	if (dpdk != NULL)
		bench_number(b, bench_times(works, peer), 2);
	else
		bench_none(b);
	bench_number(b, bench_figure(&works[1].stat), 1);
	bench_number(b, 1.0 / bench_times(works, 1), 2);
	bench_number(b, gro_work_segs(works[0].arg), 1);
	if (dpdk != NULL)
		bench_number(b, dpdk_peer_segs(dpdk), 1);
	else
		bench_none(b);
	snprintf(quiet, sizeof(quiet), "%u/%u", works[0].stat.quiet, works[0].stat.quiet + works[0].stat.noisy);
	bench_text(b, quiet);
	bench_row_end(b);
}

/* ---- limits ---- */

/* A group of cases and what is asked of it; 0 = nothing. */
struct goal {
	enum traffic_pattern pattern;
	uint32_t flows;             /* 0 = any                           */
	uint32_t window;
	double   times[3];          /* hot, cold, cold against a caller that prefetches and parses */
	double   floor[2];          /* of F3, hot and cold               */
};

static const struct goal goals[] = {
	{ TRAFFIC_TRAIN44, 0, 64, { 2.3, 3.8, 2.8 }, { 2.3, 1.3 } },
	{ TRAFFIC_RR, 8, 64, { 2.2, 4.0, 2.6 }, { 3.2, 1.5 } },
	{ TRAFFIC_RAND, 8, 64, { 2.2, 4.0, 2.6 }, { 3.2, 1.5 } },
	{ TRAFFIC_RR, 64, 256, { 5.5, 7.0, 5.0 }, { 4.0, 1.9 } },
	{ TRAFFIC_RR, 1000, 4096, { 40.0, 30.0, 25.0 }, { 4.0, 1.9 } },
};

static const struct goal *goal_of(const struct gro_case *c)
{
	unsigned i;

	if (c->kind != TRAFFIC_TCP4 || c->payload != TRAFFIC_PAYLOAD || c->push_every != 0u ||
	    c->memory == MEMORY_SMALL)
		return NULL;
	for (i = 0; i < sizeof(goals) / sizeof(goals[0]); i++) {
		const struct goal *g = &goals[i];

		if (g->pattern == c->pattern && g->window == c->window && (g->flows == 0u || g->flows == c->flows))
			return g;
	}
	return NULL;
}

static void limit_row(const struct gro_case *c, const struct bench_work *works, unsigned peer)
{
	const struct goal *g = goal_of(c);
	const struct dpdk_peer *dpdk = works[peer].arg;
	double segs = gro_work_segs(works[0].arg), dpdk_segs = dpdk_peer_segs(dpdk);
	unsigned cold = c->memory == MEMORY_HOT ? 0u : 1u;
	char name[64];

	vs_name(c, name, sizeof(name));
	if (g != NULL) {
		limit_at_least(name, dpdk->caller ? "times faster, DPDK's caller parses" : "times faster than DPDK",
		               bench_times(works, peer), g->times[cold + (dpdk->caller ? 1u : 0u)],
		               works[peer].ratio.quiet != 0u);
		if (!dpdk->caller)
			limit_at_most(name, "times the floor F3", 1.0 / bench_times(works, 1), g->floor[cold],
			              works[1].ratio.quiet != 0u);
	}
	if (!dpdk->caller && (g != NULL || segs < dpdk_segs))
		limit_at_least(name, "segments per packet; limit: DPDK's", segs, dpdk_segs, true);
}

/* ---- rows ---- */

/* Ours and the floor; returns 2. */
static unsigned ours_and_floor(struct vs *vs, const struct gro_case *c, uint32_t protos, struct bench_work *works)
{
	works[0] = (struct bench_work){ .fn = gro_work_repeat, .arg = vs_ours(vs, 0, c, protos, 0) };
	works[1] = (struct bench_work){ .fn = dpdk_floor_repeat, .arg = vs_floor(vs, 3, c) };
	return 2;
}

bool vs_row_alone(struct vs *vs, const struct gro_case *c, uint32_t protos, struct bench_stat *ours)
{
	struct bench_work works[2];
	char name[64];

	vs_name(c, name, sizeof(name));
	if (!bench_wanted(vs->b, name))
		return false;
	bench_turns(vs->b, works, ours_and_floor(vs, c, protos, works));
	print_row(vs, c, works, 0);
	if (ours != NULL)
		*ours = works[0].stat;
	return true;
}

/* The peers that a case has, behind ours and the floor; returns the number of works. */
static unsigned add_peers(struct vs *vs, const struct gro_case *c, struct bench_work *works, unsigned n)
{
	unsigned caller, mode;

	for (caller = 0; caller < (c->memory == MEMORY_COLD ? 2u : 1u); caller++) {
		for (mode = 0; mode < DPDK_MODES; mode++) {
			struct dpdk_peer *p = &vs->peers[caller * 2u + mode];

			if (mode == DPDK_LIGHT && c->window > 128u)
				continue;
			p->b = vs->b;
			p->s = vs->ours[0].s;
			dpdk_peer_init(p, c, (enum dpdk_mode)mode, caller != 0u);
			works[n++] = (struct bench_work){ .fn = dpdk_peer_repeat, .arg = p };
		}
	}
	return n;
}

/* The cheaper of DPDK's modes. */
static unsigned cheapest(const struct bench_work *works, unsigned n, bool caller)
{
	unsigned best = 0;
	unsigned i;

	for (i = 2; i < n; i++) {
		const struct dpdk_peer *p = works[i].arg;

		if (p->caller == caller &&
		    (best == 0u || bench_figure(&works[i].stat) < bench_figure(&works[best].stat)))
			best = i;
	}
	return best;
}

bool vs_row(struct vs *vs, const struct gro_case *c, struct bench_stat *ours)
{
	struct bench_work works[BENCH_WORKS_MAX];
	char name[64];
	unsigned caller, i, n;

	vs_name(c, name, sizeof(name));
	if (!bench_wanted(vs->b, name))
		return false;
	n = ours_and_floor(vs, c, VNETRX_GRO_TCP, works);
	n = add_peers(vs, c, works, n);
	bench_turns(vs->b, works, n);
	for (caller = 0; caller < 2u; caller++) {
		unsigned peer = cheapest(works, n, caller != 0u);

		if (peer == 0u)
			continue;
		print_row(vs, c, works, peer);
		limit_row(c, works, peer);
	}
	for (i = 2; i < n; i++)
		dpdk_peer_fini(works[i].arg);
	if (ours != NULL)
		*ours = works[0].stat;
	return true;
}

static const uint32_t flow_counts[] = { 1, 8, 32, 64, 200, 1000 };
static const uint32_t windows[] = { 32, 64, 128, 256 };

/* All rows, or with --quick those that have a limit. */
static void rows(struct vs *vs, struct gro_case *c)
{
	unsigned pattern, i, w;

	for (pattern = 0; pattern < TRAFFIC_PATTERNS; pattern++) {
		c->pattern = (enum traffic_pattern)pattern;
		for (i = 0; i < sizeof(flow_counts) / sizeof(flow_counts[0]); i++) {
			c->flows = flow_counts[i];
			for (w = 0; w <= sizeof(windows) / sizeof(windows[0]); w++) {
				bool longest = w == sizeof(windows) / sizeof(windows[0]);

				c->window = longest ? 4096u : windows[w];
				c->burst = c->window < 64u ? c->window : 64u;
				if ((longest && c->flows != 1000u) || (vs->b->quick && goal_of(c) == NULL))
					continue;
				vs_row(vs, c, NULL);
			}
		}
	}
}

/* For the plot of time against flows: in turn, with a window that holds them all up to 4096. Not with --quick. */
static void flow_rows(struct vs *vs)
{
	static const uint32_t counts[] = { 1, 4, 16, 64, 256, 4096, 16384, 65536 }; /* 1000 is there */
	struct gro_case c = { .pattern = TRAFFIC_RR, .payload = TRAFFIC_PAYLOAD, .window = 4096, .burst = 64 };
	uint64_t row_ns = vs->b->row_ns;

	vs->b->row_ns = QUICK_ROW_NS; /* DPDK takes microseconds for a packet here */
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		c.flows = counts[i];
		vs_row(vs, &c, NULL);
	}
	vs->b->row_ns = row_ns;
}

static void set_up(struct vs *vs, struct bench *b)
{
	unsigned i;

	vs->b = b;
	b->row_ns = b->quick ? QUICK_ROW_NS : ROW_NS;
	supply_init(&vs->small, b, true);
	supply_init(&vs->huge, b, false);
	for (i = 0; i < VS_OURS; i++)
		vs->ours[i].mem = bench_alloc(b, GRO_WORK_MEM);
	for (i = 0; i < DPDK_FLOORS; i++)
		vs->floor[i].slots = bench_alloc(b, DPDK_FLOOR_MEM);
	dpdk_start();
}

int main(int argc, char **argv)
{
	static struct vs vs;
	struct gro_case c = { .payload = TRAFFIC_PAYLOAD };
	struct bench b;
	char text[128];

	bench_init(&b, argc, argv, "vs_dpdk", "GRO beside DPDK's: ns per packet, same packets and buffers, in turns");
	set_up(&vs, &b);
	snprintf(text, sizeof(text), "%s, its tables in pages of %s", dpdk_version(), dpdk_pages());
	bench_note(&b, text);
	vs_table(&b);
	for (c.memory = MEMORY_HOT; c.memory <= MEMORY_COLD; c.memory++)
		rows(&vs, &c);
	if (!b.quick || b.only != NULL)
		flow_rows(&vs);
	vs_other_rows(&vs);
	vs_protocols(&vs);
	vs_floods(&vs);
	vs_checksum(&vs);
	vs_floors(&vs);
	limits_print(&b);
	return bench_fini(&b);
}
