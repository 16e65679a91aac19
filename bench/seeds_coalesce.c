/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it is worth that neighbouring buffers of a packet become one fragment: packets of 64 KiB over MTU-size buffers,
 * with and without, taken through the whole path and gone through by a host in one of several ways.
 */
#include <stdio.h>

#include "bench.h"
#include "mix.h"
#include "path.h"
#include "seeds.h"
#include "walk.h"

#define MTU_BUF 1536u
#define PKTS    8u /* a poll */
#define POLLS   16u

struct coalesced {
	struct path    path;
	enum walk_kind kind;
	bool           cold; /* only the walk is timed, on lines that are not in the cache */
	double         frags;
};

static void receive(struct coalesced *c)
{
	for (unsigned i = 0; i < PKTS; i++)
		path_write(&c->path, MIX_GSO);
}

static void cold_poll(struct coalesced *c, struct bench_pieces *pieces)
{
	struct bench *b = c->path.b;

	path_poll(&c->path);
	path_evict(b);
	bench_piece_begin(b, pieces);
	walk(c->kind, c->path.host.got, c->path.host.ngot);
	bench_piece_end(b, pieces, PKTS);
	path_free(&c->path);
}

static void hot_poll(struct coalesced *c, struct bench_pieces *pieces)
{
	struct bench *b = c->path.b;

	bench_piece_begin(b, pieces);
	path_poll(&c->path);
	walk(c->kind, c->path.host.got, c->path.host.ngot);
	path_free(&c->path);
	bench_piece_end(b, pieces, PKTS);
}

static double coalesced_repeat(void *arg)
{
	struct coalesced *c = arg;
	struct bench_pieces pieces = { .together = !c->cold };

	path_count_anew(&c->path);
	for (unsigned i = 0; i < POLLS; i++) {
		receive(c);
		if (c->cold)
			cold_poll(c, &pieces);
		else
			hot_poll(c, &pieces);
	}
	c->frags = (double)c->path.host.frags / (double)c->path.host.pkts;
	return bench_pieces_ns(c->path.b, &pieces);
}

static void limits(struct bench *b, const char *name, const struct coalesced c[2], const struct bench_stat stat[3])
{
	double ratio = bench_figure(&stat[2]);
	char text[96];

	if (c[0].cold) {
		snprintf(text, sizeof(text), "%s: time with coalescing over without", name);
		bench_at_most(b, text, ratio, 0.5);
		return;
	}
	snprintf(text, sizeof(text), "%s: rate with coalescing over without", name);
	bench_at_least(b, text, 1.0 / ratio, 0.97);
	if (c[0].kind == WALK_NONE) {
		bench_at_most(b, "fragments of a 64 KiB packet, largest mean", c[0].frags, 3.0);
		bench_at_least(b, "the same, least", c[0].frags, 2.0);
		bench_at_least(b, "fragments without coalescing", c[1].frags, 43.0);
	}
}

static void row(struct bench *b, enum walk_kind kind, bool cold)
{
	static struct coalesced c[2];
	struct path_config cfg = { .buf_len_min = MTU_BUF, .buf_len_max = MTU_BUF };
	struct bench_stat stat[3];
	char name[40];

	snprintf(name, sizeof(name), "%s%s", walk_name(kind), cold ? ", cold, alone" : "");
	for (unsigned i = 0; i < 2u; i++) {
		c[i].kind = kind;
		c[i].cold = cold;
		cfg.flags = i == 0u ? 0u : VNETRX_RXQ_NO_COALESCE;
		path_open(&c[i].path, b, &cfg);
	}
	bench_pair(b, coalesced_repeat, &c[0], coalesced_repeat, &c[1], stat);
	bench_text(b, name);
	bench_number(b, c[0].frags, 2);
	bench_number(b, c[1].frags, 2);
	bench_number(b, bench_figure(&stat[0]), 0);
	bench_number(b, bench_figure(&stat[1]), 0);
	bench_number(b, 100.0 * (1.0 / bench_figure(&stat[2]) - 1.0), 1);
	bench_row_end(b);
	limits(b, name, c, stat);
	path_close(&c[0].path);
	path_close(&c[1].path);
}

void seeds_coalescer(struct bench *b)
{
	static const char *const cols[] = {
		"coalescer, the host's walk", "frags with", "without", "ns with", "ns without", "rate + %",
	};
	unsigned repeats = b->repeats;

	bench_table(b, cols, sizeof(cols) / sizeof(cols[0]));
	b->repeats = 9;
	for (unsigned kind = 0; kind < WALK_KINDS; kind++) {
		const char *why = "";

		if (!walk_open(b, (enum walk_kind)kind, &why)) {
			fprintf(stderr, "coalescer: %s is left out: %s\n", walk_name((enum walk_kind)kind), why);
			continue;
		}
		row(b, (enum walk_kind)kind, false);
		if (kind == WALK_TOUCH)
			row(b, (enum walk_kind)kind, true);
		walk_close((enum walk_kind)kind);
	}
	b->repeats = repeats;
	bench_note(b, "Published (2013): +17.4 % for full-size GSO receive, with the stack above the driver.");
}
