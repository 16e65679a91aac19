/* SPDX-License-Identifier: BSD-3-Clause */
#include "tx_table.h"

#include <stdio.h>

#include "bench.h"
#include "tx_sim.h"

static const uint32_t stream_counts[] = { 1, 2, 4, 8, 16, 32, 64, 128 };

static double rate(const struct tx_sim_result *r)
{
	return (double)r->packets * 1e6 / (double)r->ns;
}

static void sim_cells(struct bench *b, const struct tx_sim_result *r)
{
	double pkts = (double)r->packets;

	bench_number(b, rate(r), 0);
	bench_number(b, (double)r->busy_ns / pkts, 0);
	bench_number(b, (double)r->irqs / pkts, 4);
	bench_number(b, (double)r->full * 100.0 / pkts, 2);
}

/* One size over all streams; adds what was sent, before and after. */
static void sim_rows(struct bench *b, uint32_t bytes, double sum[2], double *irq_most)
{
	char name[40];

	for (unsigned i = 0; i < sizeof(stream_counts) / sizeof(stream_counts[0]); i++) {
		struct tx_sim_case c = {
			.streams = stream_counts[i], .bytes = bytes, .packets = b->quick ? 20000u : 200000u
		};
		struct tx_sim_result before, after;

		c.before = true;
		tx_sim(&c, &before);
		c.before = false;
		tx_sim(&c, &after);
		sum[0] += rate(&before);
		sum[1] += rate(&after);
		if (after.full > 0u && (double)after.irqs / (double)after.packets > *irq_most)
			*irq_most = (double)after.irqs / (double)after.packets;
		snprintf(name, sizeof(name), "%u KiB x %u", bytes / 1024u, c.streams);
		bench_text(b, name);
		sim_cells(b, &before);
		sim_cells(b, &after);
		bench_number(b, rate(&after) / rate(&before), 2);
		bench_row_end(b);
	}
}

void tx_table(struct bench *b)
{
	static const char *const cols[] = {
		"simulated",  "before kpps",  "before CPU ns", "before irqs/pkt", "before full %",
		"after kpps", "after CPU ns", "after irqs/pkt", "after full %",   "after/before",
	};
	double small[2] = { 0, 0 }, large[2] = { 0, 0 }, irqs = 0;

	bench_table(b, cols, sizeof(cols) / sizeof(cols[0]));
	sim_rows(b, 1024, small, &irqs);
	sim_rows(b, 16384, large, &irqs);
	bench_at_least(b, "small packets: 1 KiB, sum over all streams, after over before", small[1] / small[0], 1.16);
	bench_at_least(b, "small packets: 16 KiB, sum over all streams, after over before", large[1] / large[0], 1.0);
	bench_at_most(b, "small packets: interrupts a packet where the ring was full", irqs, 0.01);
}
