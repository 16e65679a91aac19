/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our front end beside DPDK's net_virtio_user, which receive from the same vhost back end (testpmd, txonly), one after
 * the other, in alternating rounds. Each runs in a process of its own on the last CPU, the back end on the first.
 *
 * Time is cut into windows of 1 ms. Cost is ticks in bursts that brought something over packets, its figure the 10th
 * percentile of a round's windows: what a window costs that nobody disturbed. Rate is the 90th. A row shows the medians
 * over the rounds; ratios are those of neighbours. Buffers are 2048 bytes on both sides, device header included (9000
 * bytes lie in 5), or in rows "auto" what our queue chooses, with small packets moved, as by default.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend.h"
#include "bench.h"
#include "dpdk_limits.h"
#include "virtio_front.h"

#define ROUNDS_MAX 15u
#define COST_MAX   0.65 /* of DPDK's */
#define RATE_MIN   1.0
#define NOISE      0.03 /* of a rate, where the copy in the back end bounds both */

struct row {
	uint32_t len;
	const char *txpkts;
	bool packed;
	bool autosize;
	bool cost_counts; /* it has a limit */
};

static const struct row all_rows[] = {
	{ 64, "64", false, false, true },
	{ 64, "64", true, false, true },
	{ 64, "64", false, true, false },
	{ 1500, "1500", false, false, false },
	{ 1500, "1500", true, false, false },
	{ 1500, "1500", false, true, false },
	{ 9000, "1500,1500,1500,1500,1500,1500", false, false, true },
	{ 9000, "1500,1500,1500,1500,1500,1500", true, false, false },
	{ 9000, "1500,1500,1500,1500,1500,1500", false, true, false },
};

/* What a round came to. */
struct figures {
	double cost_ns;
	double mpps;
	double busy;  /* share of time          */
	double burst; /* packets in a busy burst */
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts. */
static double percentile(double *v, unsigned n, double p)
{
	if (n == 0u)
		return 0.0;
	qsort(v, n, sizeof(*v), ascending);
	return v[(unsigned)((n - 1u) * p + 0.5)];
}

static double spread(double *v, unsigned n)
{
	double mid = percentile(v, n, 0.5);

	return n != 0u && mid > 0.0 ? (v[n - 1u] - v[0]) / mid * 100.0 : 0.0;
}

static struct figures summed(const struct bench *b, const struct virtio_task *t)
{
	static double cost[VIRTIO_WINDOWS], rate[VIRTIO_WINDOWS], busy[VIRTIO_WINDOWS], burst[VIRTIO_WINDOWS];
	unsigned n = 0, i;

	for (i = 0; i < t->n; i++) {
		const struct virtio_window *w = &t->window[i];

		if (w->pkts == 0u)
			continue;
		cost[n] = (double)w->busy * b->ns_per_tick / (double)w->pkts;
		rate[n] = (double)w->pkts * 1e3 / (double)w->ns;
		busy[n] = (double)w->busy / (double)w->ticks;
		burst[n++] = (double)w->pkts / (double)w->bursts;
	}
	return (struct figures){ percentile(cost, n, 0.1), percentile(rate, n, 0.9), percentile(busy, n, 0.5),
				 percentile(burst, n, 0.5) };
}

/* Runs one front end in a process of its own. */
static struct figures run(struct bench *b, struct virtio_task *t, int (*front)(struct bench *, struct virtio_task *))
{
	int status = 0;
	pid_t pid;

	t->n = 0;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		bench_backend_move();
		_exit(front(b, t));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0 || t->n == 0u)
		bench_die("a front end failed");
	return summed(b, t);
}

static void row_name(const struct row *row, char *name, size_t size)
{
	snprintf(name, size, "%u %s%s", row->len, row->packed ? "packed" : "split", row->autosize ? " auto" : "");
}

/* figures[0] ours, [1] DPDK's; of all rounds. */
static void print_row(struct bench *b, const struct row *row, struct figures figures[2][ROUNDS_MAX], unsigned rounds)
{
	static double v[4][2][ROUNDS_MAX], ratio[2][ROUNDS_MAX];
	double mid[4][2], times[2];
	char name[32];
	unsigned i, side;

	for (i = 0; i < rounds; i++) {
		for (side = 0; side < 2u; side++) {
			v[0][side][i] = figures[side][i].cost_ns;
			v[1][side][i] = figures[side][i].mpps;
			v[2][side][i] = figures[side][i].busy * 100.0;
			v[3][side][i] = figures[side][i].burst;
		}
		ratio[0][i] = figures[0][i].cost_ns / figures[1][i].cost_ns;
		ratio[1][i] = figures[0][i].mpps / figures[1][i].mpps;
	}
	for (i = 0; i < 4u; i++)
		for (side = 0; side < 2u; side++)
			mid[i][side] = percentile(v[i][side], rounds, 0.5);
	times[0] = percentile(ratio[0], rounds, 0.5);
	times[1] = percentile(ratio[1], rounds, 0.5);
	row_name(row, name, sizeof(name));
	bench_text(b, name);
	for (side = 0; side < 2u; side++) {
		bench_number(b, mid[0][side], 1);
		bench_number(b, mid[0][side] / b->ns_per_tick, 0);
		bench_number(b, spread(v[0][side], rounds), 0);
		bench_number(b, mid[1][side], 2);
		bench_number(b, mid[2][side], 0);
		bench_number(b, mid[3][side], 1);
	}
	bench_number(b, times[0], 2);
	bench_number(b, spread(ratio[0], rounds), 0);
	bench_number(b, times[1], 2);
	bench_number(b, spread(ratio[1], rounds), 0);
	bench_row_end(b);
	if (row->cost_counts)
		limit_at_most(name, "cost, times DPDK's", times[0], COST_MAX, true);
	limit_at_least(name, "rate, times DPDK's (less 3 % of noise)", times[1], RATE_MIN - NOISE, true);
}

static void measure(struct bench *b, const struct row *row, struct virtio_task *t, unsigned rounds)
{
	static struct figures figures[2][ROUNDS_MAX];
	struct bench_backend be;
	char args[128];
	unsigned i;

	snprintf(args, sizeof(args), "--forward-mode=txonly --txpkts=%s", row->txpkts);
	bench_backend_start(&be, args);
	t->path = be.path;
	t->packed = row->packed;
	t->autosize = row->autosize;
	for (i = 0; i < rounds; i++) {
		figures[0][i] = run(b, t, virtio_ours);
		figures[1][i] = run(b, t, virtio_dpdk);
	}
	(void)bench_backend_stop(&be);
	print_row(b, row, figures, rounds);
}

static const char *const columns[] = {
	"row",        "ns",         "cycles",       "spread %",      "Mpps",          "busy %",
	"burst",      "dpdk ns",    "dpdk cycles",  "dpdk spread %", "dpdk Mpps",     "dpdk busy %",
	"dpdk burst", "cost ratio", "its spread %", "rate ratio",    "rate spread %",
};

int main(int argc, char **argv)
{
	struct virtio_task *t;
	struct bench b;
	char name[32];
	unsigned i;

	bench_init(
		&b, argc, argv, "vs_dpdk_virtio",
		"our virtio front end beside DPDK's net_virtio_user, the same vhost back end, in alternating rounds");
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		bench_die("no memory");
	t->windows = b.quick ? 400u : 1500u;
	bench_table(&b, columns, sizeof(columns) / sizeof(columns[0]));
	for (i = 0; i < sizeof(all_rows) / sizeof(all_rows[0]); i++) {
		row_name(&all_rows[i], name, sizeof(name));
		if (bench_wanted(&b, name))
			measure(&b, &all_rows[i], t, b.quick ? 3u : 7u);
	}
	limits_print(&b);
	return bench_fini(&b);
}
