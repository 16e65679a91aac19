/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, clock, repeats and statistics; memory and output are in bench_out.c. */
#define _GNU_SOURCE
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define HAVE_TSC 1
#endif

#include "bench_out.h"

/* ---- clock ---- */

uint64_t bench_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t bench_ticks(void)
{
#ifdef HAVE_TSC
	uint64_t ticks;

	_mm_lfence(); /* nothing measured starts before the first reading or ends after the last */
	ticks = __rdtsc();
	_mm_lfence();
	return ticks;
#else
	return bench_ns();
#endif
}

double bench_elapsed(const struct bench *b, uint64_t ticks, uint64_t pairs)
{
	uint64_t own = pairs * b->overhead;

	return ticks > own ? (double)(ticks - own) * b->ns_per_tick : 0.0;
}

static void calibrate(struct bench *b)
{
	uint64_t ns = bench_ns();
	uint64_t ticks = bench_ticks();
	uint64_t best = UINT64_MAX;
	unsigned i;

	while (bench_ns() - ns < 20000000u)
		;
	ticks = bench_ticks() - ticks;
	ns = bench_ns() - ns;
	b->ns_per_tick = (double)ns / (double)ticks;
	for (i = 0; i < 10000; i++) {
		uint64_t start = bench_ticks();
		uint64_t cost = bench_ticks() - start;

		best = cost < best ? cost : best;
	}
	b->overhead = best;
}

/* ---- is the core ours alone? ---- */

#if defined(__GNUC__) || defined(__clang__)
#define KEEP(x) __asm__ volatile("" : "+r"(x))
#else
#define KEEP(x) ((void)(x))
#endif

#define ADD_ROUNDS 20000u

void bench_adds(void)
{
	uintptr_t a = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0, j = 0, k = 0, l = 0, m = 0;

	for (unsigned n = 0; n < ADD_ROUNDS; n++) {
		a += 1; c += 1; d += 1; e += 1; f += 1; g += 1; h += 1; i += 1; j += 1; k += 1; l += 1; m += 1;
		KEEP(a); KEEP(c); KEEP(d); KEEP(e); KEEP(f); KEEP(g);
		KEEP(h); KEEP(i); KEEP(j); KEEP(k); KEEP(l); KEEP(m);
	}
}

/* Additions per ns of twelve independent chains: a busy sibling thread takes about half of the adders. */
static double adds_rate(const struct bench *b)
{
	uint64_t ticks = bench_ticks();

	bench_adds();
	return 12.0 * ADD_ROUNDS / bench_elapsed(b, bench_ticks() - ticks, 1);
}

static bool core_quiet(struct bench *b)
{
	double rate = adds_rate(b);

	if (rate > b->adds_best)
		b->adds_best = rate;
	return rate >= BENCH_QUIET * b->adds_best;
}

/* A noisy moment often lasts: come back a little later. */
static void wait_a_little(void)
{
	const struct timespec ts = { .tv_sec = 0, .tv_nsec = 1000000 };

	nanosleep(&ts, NULL);
}

/* Looks for a moment in which nobody shares the core: a second with --check, a tenth of it with --quick. */
static void calibrate_adds(struct bench *b)
{
	uint64_t start = bench_ns();
	uint64_t time_ns = b->check ? 1000000000u : b->quick ? 100000000u : 300000000u;
	unsigned i;

	while (bench_ns() - start < time_ns) {
		for (i = 0; i < 10; i++)
			(void)core_quiet(b);
		wait_a_little();
	}
}

static long preemptions(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static void watch_begin(struct bench *b)
{
	b->preempted = preemptions();
	if (!core_quiet(b))
		b->disturbed = true;
}

static void watch_end(struct bench *b)
{
	if (!core_quiet(b) || preemptions() != b->preempted)
		b->disturbed = true;
}

void bench_window_begin(struct bench *b)
{
	if (!b->windowed)
		b->disturbed = false; /* whatever was before does not count */
	b->windowed = true;
	watch_begin(b);
}

void bench_window_end(struct bench *b)
{
	watch_end(b);
}

void bench_piece_begin(struct bench *b, struct bench_pieces *p)
{
	if (!p->together || p->count[0] == 0u) {
		b->disturbed = false;
		watch_begin(b);
	}
	p->start = bench_ticks();
}

void bench_piece_end(struct bench *b, struct bench_pieces *p, uint64_t units)
{
	uint64_t ticks = bench_ticks() - p->start;
	unsigned to = 0;

	if (!p->together) {
		watch_end(b);
		to = b->disturbed ? 1u : 0u;
	}
	p->ticks[to] += ticks;
	p->units[to] += units;
	p->count[to]++;
}

double bench_pieces_ns(struct bench *b, const struct bench_pieces *p)
{
	unsigned from = p->count[0] != 0u ? 0u : 1u;

	b->windowed = true;
	if (p->together)
		watch_end(b);
	else
		b->disturbed = p->count[0] < p->count[1];
	return bench_elapsed(b, p->ticks[from], p->count[from]) / (double)p->units[from];
}

/* One repeat; true: it was quiet. */
static bool repeat(struct bench *b, bench_fn fn, void *arg, double *value)
{
	b->windowed = b->disturbed = false;
	watch_begin(b);
	*value = fn(arg);
	if (!b->windowed)
		watch_end(b);
	return !b->disturbed;
}

/* ---- statistics ---- */

struct samples {
	double   v[BENCH_REPEATS_MAX];
	unsigned n;
};

/* When there is no room, the last place keeps the lowest. */
static void samples_add(struct samples *s, double value)
{
	if (s->n < BENCH_REPEATS_MAX)
		s->v[s->n++] = value;
	else if (value < s->v[BENCH_REPEATS_MAX - 1u])
		s->v[BENCH_REPEATS_MAX - 1u] = value;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* samples: quiet and noisy ones. */
static void summarize(const struct samples *samples, unsigned discarded, struct bench_stat *stat)
{
	struct samples s = samples[0].n != 0 ? samples[0] : samples[1];

	memset(stat, 0, sizeof(*stat));
	stat->quiet = samples[0].n;
	stat->noisy = discarded;
	if (s.n == 0)
		return;
	qsort(s.v, s.n, sizeof(s.v[0]), by_value);
	stat->min = s.v[0];
	stat->max = s.v[s.n - 1];
	stat->median = (s.v[s.n / 2] + s.v[(s.n - 1) / 2]) / 2.0;
	stat->spread = stat->median > 0.0 ? (stat->max - stat->min) / stat->median : 0.0;
}

double bench_figure(const struct bench_stat *stat)
{
	return stat->quiet != 0u ? stat->median : stat->min;
}

double bench_times(const struct bench_work *works, unsigned i)
{
	double first = works[0].stat.min;

	if (works[i].ratio.quiet != 0u)
		return works[i].ratio.median;
	return first > 0.0 ? works[i].stat.min / first : 0.0;
}

/* Whether a row may have one more repeat. */
static bool go_on(const struct bench *b, const struct samples *quiet, uint64_t start)
{
	return quiet->n < b->repeats && bench_ns() - start < b->row_ns;
}

void bench_run(struct bench *b, bench_fn fn, void *arg, struct bench_stat *stat)
{
	struct bench_work work = { .fn = fn, .arg = arg };

	bench_turns(b, &work, 1);
	*stat = work.stat;
}

void bench_pair(struct bench *b, bench_fn fn_a, void *arg_a, bench_fn fn_b, void *arg_b, struct bench_stat stat[3])
{
	struct bench_work works[2] = { { .fn = fn_b, .arg = arg_b }, { .fn = fn_a, .arg = arg_a } };

	bench_turns(b, works, 2);
	stat[0] = works[1].stat;
	stat[1] = works[0].stat;
	stat[2] = works[1].ratio;
	if (stat[2].quiet == 0u)
		stat[2].min = bench_times(works, 1);
}

/* Samples of one piece of work, quiet and noisy. */
struct turns {
	struct samples value[2];
	struct samples ratio[2];
};

#define QUIET 0u
#define NOISY 1u

/* Every work once; true: all was quiet. */
static bool turn(struct bench *b, const struct bench_work *works, struct turns *turns, unsigned n)
{
	bool first_quiet = false, all_quiet = true;
	double first = 0.0;
	unsigned i;

	for (i = 0; i < n; i++) {
		double value;
		bool quiet = repeat(b, works[i].fn, works[i].arg, &value);

		if (i == 0) {
			first = value;
			first_quiet = quiet;
		}
		samples_add(&turns[i].value[quiet ? QUIET : NOISY], value);
		samples_add(&turns[i].ratio[quiet && first_quiet ? QUIET : NOISY], first > 0.0 ? value / first : 0.0);
		all_quiet = all_quiet && quiet;
	}
	return all_quiet;
}

/* The ratio that has the fewest quiet samples. */
static const struct samples *fewest(const struct turns *turns, unsigned n)
{
	const struct samples *least = &turns[0].ratio[QUIET];
	unsigned i;

	for (i = 1; i < n; i++) {
		if (turns[i].ratio[QUIET].n < least->n)
			least = &turns[i].ratio[QUIET];
	}
	return least;
}

void bench_turns(struct bench *b, struct bench_work *works, unsigned n)
{
	static struct turns turns[BENCH_WORKS_MAX];
	uint64_t start = bench_ns();
	unsigned discarded = 0;
	unsigned i;

	memset(turns, 0, sizeof(turns));
	for (i = 0; i < n; i++)
		(void)works[i].fn(works[i].arg);
	do {
		if (turn(b, works, turns, n))
			continue;
		discarded++;
		wait_a_little();
	} while (go_on(b, fewest(turns, n), start));
	for (i = 0; i < n; i++) {
		summarize(turns[i].value, discarded, &works[i].stat);
		summarize(turns[i].ratio, discarded, &works[i].ratio);
	}
}

/* ---- options ---- */

static void usage(FILE *to, const char *name, const char *about)
{
	fprintf(to,
	        "usage: %s [options]\n%s\n"
	        "  --quick         few repeats\n"
	        "  --check         compare with the limits; exit 1 on a miss\n"
	        "  --json          one JSON object instead of tables\n"
	        "  --only TEXT     only rows whose name contains TEXT\n"
	        "  --repeats N     quiet repeats wanted, 1..%u (default 15, quick 5)\n"
	        "  --small-pages   no huge pages\n"
	        "  --adds RATE     additions/ns of this core when it is alone (default: the best seen)\n"
	        "  --help          this text\n",
	        name, about, BENCH_REPEATS_MAX);
}

/* The number of arguments taken: 0 = not an option of ours. */
static int option(struct bench *b, char **argv, int left)
{
	if (strcmp(argv[0], "--quick") == 0)
		b->quick = true;
	else if (strcmp(argv[0], "--check") == 0)
		b->check = true;
	else if (strcmp(argv[0], "--json") == 0)
		b->json = true;
	else if (strcmp(argv[0], "--small-pages") == 0)
		b->small_pages = true;
	else if (strcmp(argv[0], "--only") == 0 && left > 1)
		return b->only = argv[1], 2;
	else if (strcmp(argv[0], "--adds") == 0 && left > 1)
		return b->adds_best = strtod(argv[1], NULL), 2;
	else if (strcmp(argv[0], "--repeats") == 0 && left > 1)
		return b->repeats = (unsigned)strtoul(argv[1], NULL, 10), 2;
	else
		return 0;
	return 1;
}

static void options(struct bench *b, int argc, char **argv, const char *about)
{
	int i = 1;

	while (i < argc) {
		int taken = option(b, argv + i, argc - i);

		if (taken == 0) {
			bool help = strcmp(argv[i], "--help") == 0;

			if (!help)
				fprintf(stderr, "%s: unknown option %s\n", b->name, argv[i]);
			usage(help ? stdout : stderr, b->name, about);
			exit(help ? 0 : 1);
		}
		i += taken;
	}
	if (b->repeats == 0)
		b->repeats = b->quick ? 5 : 15;
	b->row_ns = b->quick ? BENCH_ROW_NS / 4u : BENCH_ROW_NS;
	if (b->repeats > BENCH_REPEATS_MAX)
		b->repeats = BENCH_REPEATS_MAX;
}

bool bench_wanted(const struct bench *b, const char *row)
{
	return b->only == NULL || strstr(row, b->only) != NULL;
}

void bench_init(struct bench *b, int argc, char **argv, const char *name, const char *about)
{
	memset(b, 0, sizeof(*b));
	b->name = name;
	b->pages = "none";
	options(b, argc, argv, about);
	calibrate(b);
	calibrate_adds(b);
	bench_out_head(b, about);
}

void bench_die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}
