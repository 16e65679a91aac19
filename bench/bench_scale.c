/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the path scales: threads with a queue each, flows, lengths of packets, sizes of the ring; and its memory.
 *
 * Threads: each takes polls of 64 packets of MTU size, over 8 flows, with GRO, through a queue of its own on a core of
 * its own, for a tenth of a second; the device's writing counts here. Two loops of additions run just before, for two
 * cores of a machine may be less than twice one.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "gro_work.h"
#include "path.h"

#define THREADS_MAX 2u
#define SPAN_NS     100000000u
#define POLLS       32u

struct worker {
	pthread_t    thread;
	unsigned     cpu;
	bool         adds;     /* only additions */
	struct path *path;
	atomic_uint *ready;
	unsigned     threads;
	double       rate;
};

static struct path  paths[THREADS_MAX];
static struct arena arenas[THREADS_MAX];

/* ---- threads ---- */

static void poll_full(struct path *p)
{
	for (unsigned i = 0; i < PATH_PKTS; i++)
		path_write(p, TRAFFIC_FRAME);
	path_poll(p);
	path_free(p);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t start, now, done = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(w->cpu, &set);
	(void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	atomic_fetch_add(w->ready, 1u);
	while (atomic_load(w->ready) < w->threads)
		;
	start = bench_ns();
	do {
		if (w->adds)
			bench_adds();
		else
			poll_full(w->path);
		done++;
		now = bench_ns();
	} while (now - start < SPAN_NS);
	w->rate = (double)done * 1e9 / (double)(now - start);
	return NULL;
}

/* Rounds per second of all threads together. */
static double together(unsigned threads, bool adds)
{
	struct worker w[THREADS_MAX];
	atomic_uint ready = 0;
	double rate = 0.0;

	for (unsigned i = 0; i < threads; i++) {
		w[i] = (struct worker){
			.cpu = i, .adds = adds, .path = &paths[i], .ready = &ready, .threads = threads
		};
		if (pthread_create(&w[i].thread, NULL, work, &w[i]) != 0)
			bench_die("no thread");
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(w[i].thread, NULL);
		rate += w[i].rate;
	}
	return rate;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_value);
	return (v[n / 2u] + v[(n - 1u) / 2u]) / 2.0;
}

static void threads_table(struct bench *b)
{
	static const char *const cols[] = { "threads", "one", "two", "two over one" };
	const unsigned rounds = b->quick ? 5u : 11u;
	double v[2][2][16], scaling[2][16], share[16]; /* adds, queues; one thread, two */

	for (unsigned i = 0; i < THREADS_MAX; i++)
		path_open(&paths[i], b, &(struct path_config){ .flows = 8, .arena = &arenas[i] });
	for (unsigned r = 0; r < rounds; r++) {
		for (unsigned queues = 0; queues < 2u; queues++) {
			v[queues][0][r] = together(1, queues == 0u);
			v[queues][1][r] = together(2, queues == 0u);
			scaling[queues][r] = v[queues][1][r] / v[queues][0][r];
		}
		share[r] = scaling[1][r] / scaling[0][r];
	}
	bench_table(b, cols, sizeof(cols) / sizeof(cols[0]));
	for (unsigned queues = 0; queues < 2u; queues++) {
		bench_text(b, queues == 0u ? "additions, thousand rounds/s" : "queues, Mpackets/s");
		for (unsigned i = 0; i < 2u; i++)
			bench_number(b, median(v[queues][i], rounds) * (queues == 0u ? 1e-3 : PATH_PKTS * 1e-6), 2);
		bench_number(b, median(scaling[queues], rounds), 3);
		bench_row_end(b);
	}
	bench_at_least(b, "scaling of two queues over that of two loops of additions, median of rounds",
	               median(share, rounds), 0.9);
	for (unsigned i = 0; i < THREADS_MAX; i++)
		path_close(&paths[i]);
}

/* ---- one path ---- */

struct sized {
	struct path path;
	uint32_t    len;
};

static double sized_repeat(void *arg)
{
	struct sized *s = arg;
	struct bench_pieces pieces = { .together = true };
	uint32_t pkts = PATH_BYTES / s->len < PATH_PKTS ? PATH_BYTES / s->len : PATH_PKTS;

	for (unsigned i = 0; i < POLLS; i++) {
		for (unsigned j = 0; j < pkts; j++)
			path_write(&s->path, s->len);
		bench_piece_begin(s->path.b, &pieces);
		path_poll(&s->path);
		path_free(&s->path);
		bench_piece_end(s->path.b, &pieces, pkts);
	}
	return bench_pieces_ns(s->path.b, &pieces);
}

static double measured(struct bench *b, const struct path_config *cfg, uint32_t len)
{
	static struct sized s;
	struct bench_stat stat;

	s.len = len;
	path_open(&s.path, b, cfg);
	bench_run(b, sized_repeat, &s, &stat);
	path_close(&s.path);
	return bench_figure(&stat);
}

static void lengths_table(struct bench *b)
{
	static const char *const cols[] = { "length, bytes", "ns/packet", "Gbit/s" };
	static const uint32_t lens[] = { 64, 128, 256, 512, 1024, 1514, 4096, 9014, 16384, 32768, 65535 };
	const struct path_config cfg = { .ring = 0 };

	bench_table(b, cols, sizeof(cols) / sizeof(cols[0]));
	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		double ns = measured(b, &cfg, lens[i]);

		bench_number(b, lens[i], 0);
		bench_number(b, ns, 1);
		bench_number(b, lens[i] * 8.0 / ns, 0);
		bench_row_end(b);
	}
}

static void rings_table(struct bench *b)
{
	static const char *const cols[] = { "ring, buffers", "ns/packet", "bytes of the queue", "KiB of page runs" };
	static struct path p;

	bench_table(b, cols, sizeof(cols) / sizeof(cols[0]));
	for (uint32_t ring = 64; ring <= PATH_RING_MAX; ring *= 2u) {
		const struct path_config cfg = { .ring = ring, .flows = 8 };
		double ns = measured(b, &cfg, TRAFFIC_FRAME);

		path_open(&p, b, &cfg);
		poll_full(&p);
		bench_number(b, ring, 0);
		bench_number(b, ns, 1);
		bench_number(b, (double)p.mem_size, 0);
		bench_number(b, (double)path_pages(&p) / 1024.0, 0);
		bench_row_end(b);
		path_close(&p);
	}
}

/* ---- the engine ---- */

static void flows_table(struct bench *b)
{
	static const char *const cols[] = {
		"flows, GRO alone, W 4096", "hot ns", "segs/pkt", "cold ns", "segs/pkt cold"
	};
	static const uint32_t counts[] = { 1, 4, 16, 64, 256, 1024, 4096, 16384, 65536 };
	static struct supply supply;
	static struct gro_work w;
	struct bench_stat stat;

	supply_init(&supply, b, false);
	w.b = b;
	w.s = &supply;
	w.mem = bench_alloc(b, GRO_WORK_MEM);
	bench_table(b, cols, sizeof(cols) / sizeof(cols[0]));
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct gro_case c = {
			.pattern = TRAFFIC_RR, .payload = TRAFFIC_PAYLOAD, .flows = counts[i],
			.window = 4096, .burst = 64
		};

		bench_number(b, c.flows, 0);
		for (c.memory = MEMORY_HOT; c.memory <= MEMORY_COLD; c.memory++) {
			supply_order(&supply, c.memory, c.window);
			gro_work_init(&w, &c, VNETRX_GRO_TCP, 0);
			bench_run(b, gro_work_repeat, &w, &stat);
			bench_number(b, bench_figure(&stat), 1);
			bench_number(b, gro_work_segs(&w), 1);
		}
		bench_row_end(b);
	}
}

static void memory_table(struct bench *b)
{
	static const char *const cols[] = { "packets that may be held", "bytes of the engine", "bytes for each" };
	static const uint32_t flows[] = { 1, 64, 1024, 8192, 65536 };

	bench_table(b, cols, sizeof(cols) / sizeof(cols[0]));
	for (unsigned i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
		const struct vnetrx_gro_config cfg = { .hash_key = { 1, 2 }, .flows = flows[i] };
		double size = (double)vnetrx_gro_footprint(&cfg, NULL);

		bench_number(b, flows[i], 0);
		bench_number(b, size, 0);
		bench_number(b, size / flows[i], 0);
		bench_row_end(b);
	}
}

int main(int argc, char **argv)
{
	struct bench b;

	bench_init(&b, argc, argv, "bench_scale", "how the path scales: threads, flows, lengths, rings, memory");
	if (bench_wanted(&b, "threads")) {
		if (sysconf(_SC_NPROCESSORS_ONLN) >= (long)THREADS_MAX)
			threads_table(&b);
		else
			fprintf(stderr, "threads: left out, there is one core\n");
	}
	if (bench_wanted(&b, "flows"))
		flows_table(&b);
	if (bench_wanted(&b, "lengths"))
		lengths_table(&b);
	if (bench_wanted(&b, "rings"))
		rings_table(&b);
	if (bench_wanted(&b, "memory"))
		memory_table(&b);
	return bench_fini(&b);
}
