/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpdk_limits.h"

#include <stdio.h>
#include <string.h>

#include "bench.h"

#define LIMITS_MAX 512u

struct limit {
	char   row[40];
	char   what[48];
	double figure;
	double limit;
	bool   at_least;
	bool   quiet;
};

static struct limit limits[LIMITS_MAX];
static unsigned nlimits;

static void add(const char *row, const char *what, double figure, double limit, bool at_least, bool quiet)
{
	struct limit *l = &limits[nlimits];

	if (nlimits == LIMITS_MAX)
		bench_die("more limits than there is room for");
	nlimits++;
	snprintf(l->row, sizeof(l->row), "%s", row);
	snprintf(l->what, sizeof(l->what), "%s", what);
	l->figure = figure;
	l->limit = limit;
	l->at_least = at_least;
	l->quiet = quiet;
}

void limit_at_most(const char *row, const char *what, double figure, double limit, bool quiet)
{
	add(row, what, figure, limit, false, quiet);
}

void limit_at_least(const char *row, const char *what, double figure, double limit, bool quiet)
{
	add(row, what, figure, limit, true, quiet);
}

void limits_print(struct bench *b)
{
	FILE *to = b->json ? stderr : stdout;
	unsigned misses = 0, noisy = 0;
	unsigned i;

	if (nlimits != 0u)
		fprintf(to, "\n%-24s %-44s %8s %18s\n", "row", "limit on", "figure", "limit");
	for (i = 0; i < nlimits; i++) {
		const struct limit *l = &limits[i];
		bool ok = l->at_least ? l->figure >= l->limit : l->figure <= l->limit;

		fprintf(to, "%-24s %-44s %8.2f %9s %8.2f  %s%s\n", l->row, l->what, l->figure,
		        l->at_least ? "at least" : "at most", l->limit, ok ? "ok" : "MISS",
		        l->quiet ? "" : " (the core was never quiet: lowest figures)");
		misses += ok ? 0u : 1u;
		noisy += l->quiet ? 0u : 1u;
	}
	if (nlimits != 0u)
		fprintf(to, "%u limits, %u missed, %u without a quiet repeat\n", nlimits, misses, noisy);
	if (b->check)
		b->misses += misses;
}
