/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two builds of the library in one process, in turns: what did a change bring? Built and run by gro_ab.sh, which gives
 * all symbols of one build the prefix old_, of the other new_. Both must have the same struct vnetrx_pkt.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "gro_work.h"

#define CALLS(prefix) \
	int prefix##vnetrx_gro_init(struct vnetrx_gro **gro, const struct vnetrx_gro_config *cfg, void *mem, \
	                            size_t size); \
	void prefix##vnetrx_gro_receive(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned n, \
	                                vnetrx_ns now, struct vnetrx_pktq *out); \
	void prefix##vnetrx_gro_flush(struct vnetrx_gro *gro, struct vnetrx_pktq *out); \
	unsigned prefix##vnetrx_gro_held(const struct vnetrx_gro *gro); \
	static const struct gro_calls prefix##calls = { prefix##vnetrx_gro_init, prefix##vnetrx_gro_receive, \
		prefix##vnetrx_gro_flush, prefix##vnetrx_gro_held }

CALLS(old_);
CALLS(new_);

struct pick {
	const char          *name;
	enum traffic_pattern pattern;
	enum traffic_kind    kind;
	uint32_t flows, window, burst, push_every;
};

static const struct pick picks[] = {
	{ "train44 1 W64", TRAFFIC_TRAIN44, TRAFFIC_TCP4, 1, 64, 64, 0 },
	{ "train44 8 W64", TRAFFIC_TRAIN44, TRAFFIC_TCP4, 8, 64, 64, 0 },
	{ "rr 8 W64", TRAFFIC_RR, TRAFFIC_TCP4, 8, 64, 64, 0 },
	{ "rr 8 W256", TRAFFIC_RR, TRAFFIC_TCP4, 8, 256, 64, 0 },
	{ "rr 64 W256", TRAFFIC_RR, TRAFFIC_TCP4, 64, 256, 64, 0 },
	{ "rr 1000 W4096", TRAFFIC_RR, TRAFFIC_TCP4, 1000, 4096, 64, 0 },
	{ "rand 8 W64", TRAFFIC_RAND, TRAFFIC_TCP4, 8, 64, 64, 0 },
	{ "train44 8 W8", TRAFFIC_TRAIN44, TRAFFIC_TCP4, 8, 8, 8, 0 },
	{ "train44 8 W64 PSH/4", TRAFFIC_TRAIN44, TRAFFIC_TCP4, 8, 64, 64, 4 },
	{ "train44 8 W64 vlan", TRAFFIC_TRAIN44, TRAFFIC_TCP4_VLAN, 8, 64, 64, 0 },
	{ "train44 8 W64 tcp6", TRAFFIC_TRAIN44, TRAFFIC_TCP6, 8, 64, 64, 0 },
	{ "train44 8 W64 vxlan", TRAFFIC_TRAIN44, TRAFFIC_VXLAN, 8, 64, 64, 0 },
	{ "train44 8 W64 udp4", TRAFFIC_TRAIN44, TRAFFIC_UDP4, 8, 64, 64, 0 },
};

struct ab {
	struct supply   supply;
	struct gro_work work[2];
};

static void row(struct ab *ab, struct bench *b, const struct pick *pick, enum memory memory)
{
	static const struct gro_calls *const calls[2] = { &old_calls, &new_calls };
	struct gro_case c = {
		.pattern = pick->pattern, .kind = pick->kind, .memory = memory, .flows = pick->flows,
		.payload = TRAFFIC_PAYLOAD, .push_every = pick->push_every, .window = pick->window,
		.burst = pick->burst,
	};
	struct bench_work works[2];
	char name[64];
	unsigned i;

	snprintf(name, sizeof(name), "%s %s", memory_name(memory), pick->name);
	if (!bench_wanted(b, name))
		return;
	supply_order(&ab->supply, memory, c.window);
	for (i = 0; i < 2u; i++) {
		struct gro_work *w = &ab->work[i];

		w->b = b;
		w->s = &ab->supply;
		w->calls = calls[i];
		gro_work_init(w, &c, VNETRX_GRO_TCP | VNETRX_GRO_UDP | VNETRX_GRO_TUNNEL, 0);
		works[i] = (struct bench_work){ .fn = gro_work_repeat, .arg = w };
	}
	bench_turns(b, works, 2);
	bench_text(b, name);
	for (i = 0; i < 2u; i++) {
		bench_number(b, works[i].stat.median, 2);
		bench_number(b, works[i].stat.min, 2);
		bench_number(b, gro_work_segs(&ab->work[i]), 1);
	}
	bench_number(b, works[1].ratio.median, 3);
	snprintf(name, sizeof(name), "%u/%u", works[1].ratio.quiet, works[1].ratio.quiet + works[1].ratio.noisy);
	bench_text(b, name);
	bench_row_end(b);
}

int main(int argc, char **argv)
{
	static const char *const cols[] = {
		"ns per packet", "old ns", "old min", "old segs", "new ns", "new min", "new segs", "new/old", "quiet",
	};
	static struct ab ab;
	struct bench b;
	unsigned memory, i;

	bench_init(&b, argc, argv, "gro_ab", "two builds of the GRO engine, in turns");
	supply_init(&ab.supply, &b, false);
	ab.work[0].mem = bench_alloc(&b, GRO_WORK_MEM);
	ab.work[1].mem = bench_alloc(&b, GRO_WORK_MEM);
	bench_table(&b, cols, sizeof(cols) / sizeof(cols[0]));
	for (memory = 0; memory <= MEMORY_COLD; memory++) {
		for (i = 0; i < sizeof(picks) / sizeof(picks[0]); i++)
			row(&ab, &b, &picks[i], (enum memory)memory);
	}
	return bench_fini(&b);
}
