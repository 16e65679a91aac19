/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a length of buffers costs: cost = ns per packet + k * truesize. Every length runs on the same mix, in turns; the
 * oracle of a mix and a k is the fixed length of least cost. Its ns are those of the whole path without GRO.
 *
 * Where the runs of a queue lie in the second-level cache changes its ns by up to 10 %. In each turn, therefore, all
 * lengths begin anew with the same runs in the same order, one after the other, and each turn has another order.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "mix.h"
#include "path.h"
#include "seeds.h"

#define CYCLE     8000u /* packets: all of the mix that drifts, four phases of the other */
#define REPEATS   11u
#define PRICES    3u
#define BREAKS    2u
#define KEPT      200u
#define KEEP_EACH 21u   /* as many MTU buffers as a run has */
#define RCVBUF    6291456.0 /* what Linux lets a TCP connection keep by default, tcp_rmem[2] */

static const double prices[PRICES] = { 0.0, 0.01, 0.05 };

struct way {
	const char *name;
	uint32_t    len_min;
	uint32_t    len_max;
	uint32_t    buf_cost;
};

/* A buffer less is worth about 10 ns here, which at a price of k ns a byte are 10 / k bytes. */
static const struct way ways[] = {
	{ "MTU 1536", 1536, 1536, 0 },       { "1792", 1792, 1792, 0 },
	{ "2048", 2048, 2048, 0 },           { "2560", 2560, 2560, 0 },
	{ "3072", 3072, 3072, 0 },           { "largest 4096", 4096, 4096, 0 },
	{ "auto (EWMA)", 0, 0, 0 },          { "by cost, k=0", 0, 0, 65535 },
	{ "by cost, k=0.01", 0, 0, 1000 },   { "by cost, k=0.05", 0, 0, 200 },
};

#define WAYS    (sizeof(ways) / sizeof(ways[0]))
#define MTU     0u
#define LARGEST 5u
#define FIXED   6u /* the first so many */
#define EWMA    6u
#define BY_COST 7u /* and one for each further price */

struct sized {
	struct bench     *b;
	const struct way *way;
	enum mix_kind     kind;
	uint32_t          turn;
	struct mix        mix;
	uint32_t          next; /* length of the next packet    */
	struct path_host  sums; /* what the host saw at the end */
	double            ns;
	double            truesize; /* a packet */
};

static struct path path; /* of whoever has the turn */

/* One poll's worth. */
static uint32_t receive(struct sized *s)
{
	uint32_t pkts = 0, bytes = 0;

	while (pkts < PATH_PKTS && bytes + s->next <= PATH_BYTES) {
		path_write(&path, s->next);
		bytes += s->next;
		s->next = mix_next(&s->mix);
		pkts++;
	}
	return pkts;
}

static void sized_open(struct sized *s, const struct path_config *more)
{
	struct path_config cfg = *more;

	cfg.buf_len_min = s->way->len_min;
	cfg.buf_len_max = s->way->len_max;
	cfg.buf_cost = s->way->buf_cost;
	path_open(&path, s->b, &cfg);
	mix_init(&s->mix, s->kind);
	s->next = mix_next(&s->mix);
}

static double cycle(struct sized *s)
{
	struct bench_pieces pieces = { .together = true };
	uint32_t done = 0;

	while (done < CYCLE) {
		uint32_t pkts = receive(s);

		bench_piece_begin(s->b, &pieces);
		path_poll(&path);
		path_free(&path);
		bench_piece_end(s->b, &pieces, pkts);
		done += pkts;
	}
	return bench_pieces_ns(s->b, &pieces);
}

/* The second cycle counts: the first finds the length and warms the runs. */
static double sized_repeat(void *arg)
{
	struct sized *s = arg;
	double ns;

	sized_open(s, &(struct path_config){ .placement = ++s->turn });
	(void)cycle(s);
	path_count_anew(&path);
	ns = cycle(s);
	s->sums = path.host;
	path_close(&path);
	return ns;
}

static double cost(const struct sized *s, double price)
{
	return s->ns + price * s->truesize;
}

static double oracle(const struct sized *all, double price)
{
	double least = cost(&all[0], price);

	for (unsigned i = 1; i < FIXED; i++)
		least = cost(&all[i], price) < least ? cost(&all[i], price) : least;
	return least;
}

static void sized_row(struct bench *b, enum mix_kind kind, unsigned i, const struct sized *all)
{
	const struct path_host *h = &all[i].sums;
	double pkts = (double)h->pkts;

	bench_text(b, mix_name(kind));
	bench_text(b, ways[i].name);
	bench_number(b, all[i].ns, 1);
	bench_number(b, (double)h->bufs / pkts, 2);
	bench_number(b, (double)h->frags / pkts, 2);
	bench_number(b, (double)h->truesize / (double)h->bytes, 3);
	bench_number(b, RCVBUF / 1024.0 * (double)h->bytes / (double)h->truesize, 0);
	for (unsigned k = 0; k < PRICES; k++)
		bench_number(b, cost(&all[i], prices[k]) / oracle(all, prices[k]), 2);
	bench_row_end(b);
}

/* With --check: what auto-sizing owes on this mix. By cost is asked at its own price. */
static void sized_limits(struct bench *b, enum mix_kind kind, const struct sized *all)
{
	char text[96];

	if (kind == MIX_LARGE)
		bench_at_least(b, "64K: rate, auto over MTU buffers", all[MTU].ns / all[EWMA].ns, 1.105);
	if (kind == MIX_FULL)
		bench_at_most(b, "MTU: truesize, auto over MTU buffers", all[EWMA].truesize / all[MTU].truesize, 1.01);
	if (kind < MIX_ACKS_GSO)
		return;
	for (unsigned k = 0; k < PRICES; k++) {
		snprintf(text, sizeof(text), "%s: cost at %.2f ns a byte, by cost over oracle (EWMA %.3f)",
		         mix_name(kind), prices[k], cost(&all[EWMA], prices[k]) / oracle(all, prices[k]));
		bench_at_most(b, text, cost(&all[BY_COST + k], prices[k]) / oracle(all, prices[k]), 1.10);
	}
}

static void sized_rows(struct bench *b, enum mix_kind kind)
{
	static struct sized all[WAYS];
	struct bench_work works[WAYS];

	for (unsigned i = 0; i < WAYS; i++) {
		all[i] = (struct sized){ .b = b, .way = &ways[i], .kind = kind };
		works[i] = (struct bench_work){ .fn = sized_repeat, .arg = &all[i] };
	}
	bench_turns(b, works, WAYS);
	for (unsigned i = 0; i < WAYS; i++) {
		const struct path_host *h = &all[i].sums;

		all[i].ns = bench_figure(&works[0].stat) * bench_times(works, i);
		all[i].truesize = (double)h->truesize / (double)h->pkts;
	}
	for (unsigned i = 0; i < WAYS; i++)
		sized_row(b, kind, i, all);
	sized_limits(b, kind, all);
}

/* ---- memory that a slow host pins ---- */

static double pinned(struct bench *b, const struct way *way, enum mix_kind kind, uint16_t copy_len_max)
{
	struct sized s = { .b = b, .way = way, .kind = kind };
	size_t before;

	sized_open(&s, &(struct path_config){ .copy_len_max = copy_len_max });
	for (unsigned i = 0; i < 64u; i++) {
		(void)receive(&s);
		path_poll(&path);
		path_free(&path);
	}
	before = path_pages(&path);
	path.host.keep_every = KEEP_EACH;
	while (path.host.nkept < KEPT) {
		(void)receive(&s);
		path_poll(&path);
		path_free(&path);
	}
	before = path_pages(&path) - before;
	path_close(&path);
	return (double)before / 1024.0 / KEPT;
}

static void pinned_table(struct bench *b)
{
	static const char *const cols[] = { "pinned, KiB a kept packet", "MTU 1536", "largest 4096", "auto (EWMA)" };
	static const enum mix_kind kinds[] = { MIX_ACKS_GSO, MIX_SMALL, MIX_FULL, MIX_LARGE };
	static const uint16_t breaks[BREAKS] = { 0, 0xffff };
	char name[64];

	bench_table(b, cols, sizeof(cols) / sizeof(cols[0]));
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (unsigned j = 0; j < BREAKS; j++) {
			snprintf(name, sizeof(name), "%s%s", mix_name(kinds[i]), j == 0u ? "" : ", no copy");
			bench_text(b, name);
			bench_number(b, pinned(b, &ways[MTU], kinds[i], breaks[j]), 1);
			bench_number(b, pinned(b, &ways[LARGEST], kinds[i], breaks[j]), 1);
			bench_number(b, pinned(b, &ways[EWMA], kinds[i], breaks[j]), 1);
			bench_row_end(b);
		}
	}
}

void seeds_sizer(struct bench *b)
{
	static const char *const cols[] = {
		"sizer",    "buffers",    "ns/packet", "bufs/packet", "frags/packet", "truesize/byte",
		"window, KiB", "x oracle k=0", "k=0.01", "k=0.05",
	};

	if (b->repeats < REPEATS) { /* with fewer, ratios move by more than what is looked for */
		b->repeats = REPEATS;
		b->row_ns = BENCH_ROW_NS;
	}
	bench_table(b, cols, sizeof(cols) / sizeof(cols[0]));
	for (unsigned kind = 0; kind < MIX_KINDS; kind++)
		sized_rows(b, (enum mix_kind)kind);
	pinned_table(b);
}
