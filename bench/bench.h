/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all benchmarks share: options, a clock, repeats on a quiet core, statistics, memory, tables and JSON.
 *
 * A repeat, or a piece of one, counts only if the core was the program's alone: the thread was not preempted, and a
 * loop of independent additions ran before and after it at no less than BENCH_QUIET of the best rate seen (a busy
 * sibling of the core halves it). Others are discarded, counted and tried again for a bounded time. Repeats should be
 * short, about a millisecond: long ones find no quiet moment on a busy machine.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_REPEATS_MAX 64u
#define BENCH_ROW_NS      6000000000u /* row_ns to begin with; --quick: a quarter */
#define BENCH_WORKS_MAX   10u
#define BENCH_QUIET       0.85

struct bench {
	const char *name;
	const char *only;     /* rows whose name contains this; NULL = all                  */
	bool        json;
	bool        quick;
	bool        check;
	bool        small_pages;
	unsigned    repeats;  /* quiet ones wanted                                          */
	uint64_t    row_ns;   /* no more repeats of one row after so long                   */
	double      ns_per_tick;
	uint64_t    overhead; /* ticks that a pair of bench_ticks() costs itself            */
	double      adds_best; /* additions per ns, the best seen                           */
	bool        windowed; /* this repeat has marked what must be undisturbed            */
	bool        disturbed; /* and some of it was not                                     */
	long        preempted; /* count at the last mark                                     */
	const char *pages;    /* what backs the largest allocation                          */
	const char *const *cols;
	unsigned    ncols;
	unsigned    col;      /* next cell of the row                                       */
	unsigned    rows;     /* printed                                                    */
	unsigned    misses;   /* limits of --check that were not met                        */
};

struct bench_stat {
	double   median;
	double   min;
	double   max;
	double   spread;  /* (max - min) / median */
	unsigned quiet;   /* repeats it is made of; 0 = none was quiet, the noisy ones were taken */
	unsigned noisy;   /* repeats that were not quiet */
};

/* One repeat: does the work and returns its figure, for instance ns per packet. */
typedef double (*bench_fn)(void *arg);

/* Reads the options, calibrates the clock, prints what machine this is. `about` is one line for --help. Ends the
 * process for --help and for a wrong option. */
void bench_init(struct bench *b, int argc, char **argv, const char *name, const char *about);

/* Ends the output; the exit code of the program: 1 when a limit of --check was missed. */
int bench_fini(struct bench *b);

/* Is a row of this name wanted (--only)? */
bool bench_wanted(const struct bench *b, const char *row);

/* Within a repeat: only what lies between the two must be undisturbed, instead of the whole repeat. For work whose
 * preparation takes long, leaves nothing in the caches that counts, and is not timed. */
void bench_window_begin(struct bench *b);
void bench_window_end(struct bench *b);

/* The figure of a statistic: its median, or, when nothing was quiet, the lowest. */
double bench_figure(const struct bench_stat *stat);

/* Warm-up, then repeats until enough were quiet. */
void bench_run(struct bench *b, bench_fn fn, void *arg, struct bench_stat *stat);

struct bench_work {
	bench_fn          fn;
	void             *arg;
	struct bench_stat stat;  /* its figure                                       */
	struct bench_stat ratio; /* its figure over that of the first, of the same turn */
};

/* The same for n pieces of work that take turns. A figure counts when its repeat was quiet, a ratio when both were. */
void bench_turns(struct bench *b, struct bench_work *works, unsigned n);

/* How many times slower than the first work of its turn it was; from the lowest figures when no turn was quiet. */
double bench_times(const struct bench_work *works, unsigned i);

/* The same for two; ratio is that of each pair, a over b. */
void bench_pair(struct bench *b, bench_fn fn_a, void *arg_a, bench_fn fn_b, void *arg_b, struct bench_stat stat[3]);

/* Time. Ticks are those of the time stamp counter where there is one, else nanoseconds. */
uint64_t bench_ticks(void);
uint64_t bench_ns(void);

/* A repeat may consist of pieces, each timed and judged by itself: noise in one spoils no other, and what lies between
 * them does not count. The repeat is quiet when half of its pieces were. */
struct bench_pieces {
	uint64_t ticks[2];  /* of quiet and of noisy pieces */
	uint64_t units[2];  /* what was done in them        */
	uint32_t count[2];
	uint64_t start;
	bool     together; /* judged as one: pieces so short that the judging would be felt in them */
	long     preempted;
};

void bench_piece_begin(struct bench *b, struct bench_pieces *p);
void bench_piece_end(struct bench *b, struct bench_pieces *p, uint64_t units);

/* ns per unit of the quiet pieces, or of all when none was; what bench_fn returns. */
double bench_pieces_ns(struct bench *b, const struct bench_pieces *p);

/* The loop of additions, once: some 15 us. */
void bench_adds(void);

/* Nanoseconds of `ticks` that were measured with `pairs` pairs of bench_ticks(), their own cost subtracted. */
double bench_elapsed(const struct bench *b, uint64_t ticks, uint64_t pairs);

/* Memory aligned to 2 MiB, in huge pages if there are any (b->pages says which), all of it touched. Ends the process
 * when there is none. */
void *bench_alloc(struct bench *b, size_t size);
void bench_free(void *mem, size_t size);

/* A table; its column names are the keys of the JSON rows. */
void bench_table(struct bench *b, const char *const *cols, unsigned ncols);
void bench_text(struct bench *b, const char *text);
void bench_number(struct bench *b, double value, unsigned decimals);
void bench_none(struct bench *b);
void bench_row_end(struct bench *b);

/* min, median, max, spread in percent, and "quiet/all repeats": five cells. */
#define BENCH_STAT_COLS "min", "median", "max", "spread %", "quiet"
void bench_stat_cells(struct bench *b, const struct bench_stat *stat);

/* With --check: prints the median beside its limit and counts a miss. Without any quiet repeat the lowest figure is
 * taken, and the line says so. */
void bench_limit(struct bench *b, const char *what, const struct bench_stat *stat, double limit);

/* With --check: prints a figure beside its limit and counts a miss. */
void bench_at_most(struct bench *b, const char *what, double value, double limit);
void bench_at_least(struct bench *b, const char *what, double value, double limit);

/* A line for people: nothing in JSON. */
void bench_note(const struct bench *b, const char *text);

/* The work failed in a way that makes its figures worthless: says so and ends the process. */
void bench_die(const char *what);

#endif
