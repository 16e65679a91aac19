/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The four ideas that the library began with, beside what their authors published:
 *
 *   sizer          auto-tuned length of mergeable buffers (2013)
 *   coalescer      neighbouring buffers become one fragment (2013)
 *   small packets  a transmit queue that refuses and asks late (2011), SIMULATED
 *   flush timer    what GRO may delay, and how long (2014), SIMULATED
 *
 * --only takes one of these names.
 */
#include "bench.h"
#include "seeds.h"
#include "tx_table.h"

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*tables)(struct bench *b);
	} seeds[] = {
		{ "sizer", seeds_sizer },
		{ "coalescer", seeds_coalescer },
		{ "small packets", tx_table },
		{ "flush timer", seeds_flush },
	};
	struct bench b;

	bench_init(&b, argc, argv, "bench_seeds",
	           "the ideas that the library began with: sizer, coalescer, small packets, flush timer");
	for (unsigned i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		if (bench_wanted(&b, seeds[i].name))
			seeds[i].tables(&b);
	}
	return bench_fini(&b);
}
