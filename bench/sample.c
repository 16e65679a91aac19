/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"

void sample_add(struct sample *s, uint64_t ns)
{
	if (s->count == s->size) {
		s->size = s->size * 2u + 1024u;
		s->ns = realloc(s->ns, s->size * sizeof(*s->ns));
		if (s->ns == NULL)
			bench_die("out of memory");
	}
	s->ns[s->count++] = ns;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

struct sample_sum sample_end(struct sample *s)
{
	struct sample_sum sum = { 0.0, 0, 0 };

	if (s->count != 0u) {
		qsort(s->ns, s->count, sizeof(*s->ns), by_value);
		for (uint32_t i = 0; i < s->count; i++)
			sum.mean += (double)s->ns[i] / s->count;
		sum.p99 = s->ns[(uint64_t)(s->count - 1u) * 99u / 100u];
		sum.max = s->ns[s->count - 1u];
	}
	free(s->ns);
	memset(s, 0, sizeof(*s));
	return sum;
}
