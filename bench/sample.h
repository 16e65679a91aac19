/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of many events: mean, 99th percentile, longest. Zero-initialised = none. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdint.h>

struct sample {
	uint64_t *ns;
	uint32_t  count;
	uint32_t  size;
};

struct sample_sum {
	double   mean;
	uint64_t p99;
	uint64_t max;
};

void sample_add(struct sample *s, uint64_t ns);

/* Sums up and frees. */
struct sample_sum sample_end(struct sample *s);

#endif
