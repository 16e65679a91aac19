/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory in huge pages, the machine's description, tables and JSON. */
#define _GNU_SOURCE
#include "bench_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* ---- memory ---- */

static size_t huge_round(size_t size)
{
	return (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

/* Bytes of the mapping at `mem` that lie in transparent huge pages, as the kernel says. */
static size_t thp_bytes(const void *mem)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	char line[256];
	bool here = false;
	size_t kib = 0;

	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
		uintptr_t from, to;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			here = (uintptr_t)mem >= from && (uintptr_t)mem < to;
		else if (here && sscanf(line, "AnonHugePages: %zu kB", &kib) == 1)
			break;
	}
	if (maps != NULL)
		fclose(maps);
	return kib * 1024u;
}

static uint8_t *map(size_t size, int flags)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

void *bench_alloc(struct bench *b, size_t size)
{
	size_t whole = huge_round(size);
	uint8_t *mem = b->small_pages ? NULL : map(whole, MAP_HUGETLB);
	size_t head;

	if (mem != NULL) {
		b->pages = "2 MiB (hugetlb)";
		memset(mem, 0, whole);
		return mem;
	}
	mem = map(whole + HUGE_PAGE, 0);
	if (mem == NULL)
		bench_die("out of memory");
	head = (HUGE_PAGE - (uintptr_t)mem % HUGE_PAGE) % HUGE_PAGE;
	if (head != 0)
		munmap(mem, head);
	if (head != HUGE_PAGE)
		munmap(mem + head + whole, HUGE_PAGE - head);
	mem += head;
	madvise(mem, whole, b->small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	memset(mem, 0, whole);
	b->pages = thp_bytes(mem) >= whole / 2 ? "2 MiB (transparent)" : "small";
	return mem;
}

void bench_free(void *mem, size_t size)
{
	munmap(mem, huge_round(size));
}

/* ---- the machine ---- */

static void cpu_model(char *text, size_t size)
{
	FILE *info = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(text, size, "unknown");
	while (info != NULL && fgets(line, sizeof(line), info) != NULL) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || colon == NULL)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(text, size, "%s", colon + 2);
		break;
	}
	if (info != NULL)
		fclose(info);
}

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

#ifdef __OPTIMIZE__
#define OPTIMIZED ""
#else
#define OPTIMIZED ", NOT OPTIMIZED"
#endif

void bench_out_head(struct bench *b, const char *about)
{
	struct utsname os;
	char cpu[128];
	char date[32];
	time_t now = time(NULL);
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (uname(&os) != 0)
		memset(&os, 0, sizeof(os));
	cpu_model(cpu, sizeof(cpu));
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime(&now));
	if (b->json) {
		printf("{\"name\": \"%s\", \"cpu\": \"%s\", \"cores\": %ld, \"kernel\": \"%s %s\", "
		       "\"machine\": \"%s\", \"compiler\": \"%s\", \"date\": \"%s\", "
		       "\"adds_per_ns\": %.1f, \"rows\": [",
		       b->name, cpu, cores, os.sysname, os.release, os.machine, COMPILER OPTIMIZED, date, b->adds_best);
		return;
	}
	printf("%s: %s\n%s, %ld cores, %s %s %s, %s, %s\n", b->name, about, cpu, cores, os.sysname, os.release,
	       os.machine, COMPILER OPTIMIZED, date);
	printf("quiet core: at least %.0f %% of %.1f additions/ns before and after each repeat, no preemption\n",
	       BENCH_QUIET * 100.0, b->adds_best);
}

int bench_fini(struct bench *b)
{
	if (b->json)
		printf("\n], \"pages\": \"%s\", \"misses\": %u}\n", b->pages, b->misses);
	else
		printf("\npages: %s\n", b->pages);
	return b->misses != 0 || fflush(stdout) != 0;
}

/* ---- tables ---- */

#define NAME_WIDTH 28

static int width(const struct bench *b, unsigned col)
{
	size_t len = strlen(b->cols[col]);

	if (col == 0)
		return NAME_WIDTH;
	return len > 8 ? (int)len + 1 : 9;
}

void bench_table(struct bench *b, const char *const *cols, unsigned ncols)
{
	unsigned i;

	b->cols = cols;
	b->ncols = ncols;
	b->col = 0;
	if (b->json)
		return;
	printf("\n%-*s", width(b, 0), cols[0]);
	for (i = 1; i < ncols; i++)
		printf("%*s", width(b, i), cols[i]);
	printf("\n");
}

static void cell(struct bench *b, const char *text, bool quoted)
{
	const char *quote = quoted ? "\"" : "";

	if (b->col >= b->ncols)
		bench_die("more cells than columns");
	if (b->json)
		printf("%s\"%s\": %s%s%s", b->col == 0 ? (b->rows == 0 ? "\n{" : ",\n{") : ", ", b->cols[b->col], quote,
		       text, quote);
	else
		printf(b->col == 0 ? "%-*s" : "%*s", width(b, b->col), text);
	b->col++;
}

void bench_text(struct bench *b, const char *text)
{
	cell(b, text, true);
}

void bench_number(struct bench *b, double value, unsigned decimals)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*f", (int)decimals, value);
	cell(b, text, false);
}

void bench_none(struct bench *b)
{
	cell(b, b->json ? "null" : "-", false);
}

void bench_stat_cells(struct bench *b, const struct bench_stat *stat)
{
	char text[40];

	bench_number(b, stat->min, 1);
	bench_number(b, stat->median, 1);
	bench_number(b, stat->max, 1);
	bench_number(b, stat->spread * 100.0, 0);
	snprintf(text, sizeof(text), "%u/%u", stat->quiet, stat->quiet + stat->noisy);
	bench_text(b, text);
}

void bench_row_end(struct bench *b)
{
	b->col = 0;
	b->rows++;
	printf("%s", b->json ? "}" : "\n");
	fflush(stdout);
}

void bench_limit(struct bench *b, const char *what, const struct bench_stat *stat, double limit)
{
	double value = stat->quiet != 0 ? stat->median : stat->min;
	bool ok = value <= limit;

	if (!b->check)
		return;
	if (!ok)
		b->misses++;
	fprintf(b->json ? stderr : stdout, "check: %s: %.1f%s, limit %.1f: %s\n", what, value,
	        stat->quiet != 0 ? "" : " (lowest; the core was never quiet)", limit, ok ? "ok" : "MISSED");
}

static void check(struct bench *b, const char *what, double value, const char *word, double limit, bool ok)
{
	if (!b->check)
		return;
	if (!ok)
		b->misses++;
	fprintf(b->json ? stderr : stdout, "check: %s: %.3f, limit %s %.3f: %s\n", what, value, word, limit,
	        ok ? "ok" : "MISSED");
}

void bench_at_most(struct bench *b, const char *what, double value, double limit)
{
	check(b, what, value, "at most", limit, value <= limit);
}

void bench_at_least(struct bench *b, const char *what, double value, double limit)
{
	check(b, what, value, "at least", limit, value >= limit);
}

void bench_note(const struct bench *b, const char *text)
{
	if (!b->json)
		printf("%s\n", text);
}
