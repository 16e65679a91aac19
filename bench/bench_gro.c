/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The GRO engine alone, ns per packet, beside the floor of any engine that chains packets.
 *
 * Bursts of 64 packets of 1448 bytes, checksum verified by the device. Window f1: everything is flushed after each
 * burst, f4: after every fourth. hot: chunks of 1024 buffers that were just written; cold: 32768 buffers in random
 * order, so that headers come from the last-level cache. Writing the headers and wrapping the packets is not timed.
 * What comes out is counted after each chunk.
 *
 * Floors, on the same packets: F0 reads the first header line, F1 = F0 + a keyed hash and one 16-byte table slot,
 * F2 = F1 with the address from the descriptor, F3 = F2 + second header line, lengths and the chain link written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "traffic.h"
#include "vnetrx/gro.h"

#define PACKETS    32768u
#define HOT_CHUNK  1024u
#define HOT_CHUNKS 8u
#define BURST      64u
#define BUF_SIZE   2176u
#define SLOTS      8192u
#define GRO_FLOWS  256u

struct slot {
	uint64_t count;
	uint64_t last;
};

/* One cell of the table. */
struct gro_bench {
	struct bench      *b;
	struct vnetrx_gro *gro;
	uint8_t           *bufs;
	struct vnetrx_pkt *pkts;
	struct vnetrx_pkt **burst; /* the packets in order                     */
	uint32_t          *order;  /* buffer of each packet                    */
	struct slot       *slots;
	struct traffic     traffic;
	uint32_t           flows;
	enum traffic_pattern pattern;
	uint32_t           chunk;
	uint32_t           packets; /* of one repeat                            */
	uint32_t           window; /* packets between two flushes              */
	unsigned           floor;
	uint64_t           out;    /* packets that came out, of the last repeat */
};

/* ---- untimed ---- */

static void write_chunk(struct gro_bench *g)
{
	uint32_t i;

	for (i = 0; i < g->chunk; i++) {
		uint8_t *frame = g->bufs + (size_t)g->order[i] * BUF_SIZE;

		traffic_write(&g->traffic, frame);
		vnetrx_pkt_wrap(&g->pkts[i], frame, TRAFFIC_FRAME, VNETRX_PKT_CSUM_OK);
		g->burst[i] = &g->pkts[i];
	}
}

static uint32_t check_packet(const struct vnetrx_pkt *pkt)
{
	const struct vnetrx_pkt *frag;
	uint32_t len = 0;
	uint32_t frags = 0;

	for (frag = pkt; frag != NULL; frag = frag->chain) {
		len += frag->frag_len;
		frags++;
	}
	if (pkt->len != len || pkt->nfrags != frags || pkt->segs != frags ||
	    len != TRAFFIC_HDR + frags * TRAFFIC_PAYLOAD)
		bench_die("a packet came out with wrong lengths or counts");
	return frags;
}

static void check_chunk(struct gro_bench *g, struct vnetrx_pktq *out)
{
	struct vnetrx_pkt *pkt;
	uint32_t segs = 0;

	g->out += out->count;
	while ((pkt = vnetrx_pktq_take(out)) != NULL)
		segs += check_packet(pkt);
	if (segs != g->chunk || vnetrx_gro_held(g->gro) != 0)
		bench_die("packets were lost or came out twice");
}

/* ---- timed ---- */

/* Cold packets stay cold while somebody else has the core; hot ones do not. */
static void window_begin(struct gro_bench *g)
{
	if (g->chunk != HOT_CHUNK)
		bench_window_begin(g->b);
}

static void window_end(struct gro_bench *g)
{
	if (g->chunk != HOT_CHUNK)
		bench_window_end(g->b);
}

static uint64_t gro_chunk(struct gro_bench *g)
{
	struct vnetrx_pktq out = { NULL, NULL, 0 };
	uint64_t ticks = bench_ticks();
	uint32_t i;

	for (i = 0; i < g->chunk; i += BURST) {
		vnetrx_gro_receive(g->gro, g->burst + i, BURST, 1000, &out);
		if ((i + BURST) % g->window == 0)
			vnetrx_gro_flush(g->gro, &out);
	}
	vnetrx_gro_flush(g->gro, &out);
	ticks = bench_ticks() - ticks;
	window_end(g);
	check_chunk(g, &out);
	return ticks;
}

static double gro_repeat(void *arg)
{
	struct gro_bench *g = arg;
	uint64_t ticks = 0;
	uint32_t i;

	traffic_init(&g->traffic, g->pattern, g->flows);
	g->out = 0;
	for (i = 0; i < g->packets; i += g->chunk) {
		write_chunk(g);
		window_begin(g);
		ticks += gro_chunk(g);
	}
	return bench_elapsed(g->b, ticks, g->packets / g->chunk) / g->packets;
}

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Addresses and ports, one multiplication. */
static uint32_t hash(const uint8_t *frame)
{
	return (uint32_t)(((load64(frame + 26) ^ load64(frame + 30)) * 0x9e3779b97f4a7c15u) >> 51);
}

static void count(struct gro_bench *g, const uint8_t *frame)
{
	struct slot *slot = &g->slots[hash(frame) % SLOTS];

	slot->count++;
	slot->last += frame[16];
}

static uint64_t floor_touch(struct gro_bench *g)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < g->chunk; i++)
		sum += load64(g->bufs + (size_t)g->order[i] * BUF_SIZE);
	return sum;
}

static uint64_t floor_hash(struct gro_bench *g)
{
	uint32_t i;

	for (i = 0; i < g->chunk; i++)
		count(g, g->bufs + (size_t)g->order[i] * BUF_SIZE);
	return g->slots[0].last;
}

static uint64_t floor_descriptor(struct gro_bench *g)
{
	uint32_t i;

	for (i = 0; i < g->chunk; i++)
		count(g, g->burst[i]->data);
	return g->slots[0].last;
}

static uint64_t floor_chain(struct gro_bench *g)
{
	struct vnetrx_pkt *prev = g->burst[0];
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < g->chunk; i++) {
		struct vnetrx_pkt *pkt = g->burst[i];

		count(g, pkt->data);
		sum += pkt->data[64];
		pkt->data += TRAFFIC_HDR;
		pkt->frag_len -= TRAFFIC_HDR;
		pkt->len += TRAFFIC_PAYLOAD;
		prev->chain = pkt;
		prev = pkt;
	}
	return sum;
}

static double floor_repeat(void *arg)
{
	static uint64_t (*const floors[])(struct gro_bench *) = {
		floor_touch, floor_hash, floor_descriptor, floor_chain
	};
	static volatile uint64_t sink;
	struct gro_bench *g = arg;
	uint64_t ticks = 0;
	uint32_t i;

	traffic_init(&g->traffic, g->pattern, g->flows);
	for (i = 0; i < g->packets; i += g->chunk) {
		uint64_t start;

		write_chunk(g);
		window_begin(g);
		start = bench_ticks();
		sink = sink + floors[g->floor](g);
		ticks += bench_ticks() - start;
		window_end(g);
	}
	return bench_elapsed(g->b, ticks, g->packets / g->chunk) / g->packets;
}

/* ---- set-up and the table ---- */

/* Buffers in rising order when hot, in a fixed random order when cold. */
static void set_order(struct gro_bench *g, bool cold)
{
	uint32_t rnd = 88172645u;
	uint32_t i;

	g->chunk = cold ? PACKETS : HOT_CHUNK;
	g->packets = cold ? PACKETS : HOT_CHUNK * HOT_CHUNKS;
	for (i = 0; i < PACKETS; i++)
		g->order[i] = i;
	for (i = PACKETS - 1; cold && i > 0; i--) {
		uint32_t other, swap;

		rnd ^= rnd << 13;
		rnd ^= rnd >> 17;
		rnd ^= rnd << 5;
		other = rnd % (i + 1);
		swap = g->order[i];
		g->order[i] = g->order[other];
		g->order[other] = swap;
	}
}

static void set_up(struct gro_bench *g, struct bench *b)
{
	const struct vnetrx_gro_config cfg = {
		.hash_key = { 0x243f6a8885a308d3u, 0x13198a2e03707344u }, .flows = GRO_FLOWS
	};
	const char *why = "";
	size_t size = vnetrx_gro_footprint(&cfg, &why);

	memset(g, 0, sizeof(*g));
	if (size == 0)
		bench_die(why);
	g->b = b;
	g->pkts = bench_alloc(b, PACKETS * sizeof(*g->pkts));
	g->burst = bench_alloc(b, PACKETS * sizeof(struct vnetrx_pkt *));
	g->order = bench_alloc(b, PACKETS * sizeof(*g->order));
	g->slots = bench_alloc(b, SLOTS * sizeof(*g->slots));
	if (vnetrx_gro_init(&g->gro, &cfg, bench_alloc(b, size), size) != VNETRX_OK)
		bench_die("vnetrx_gro_init");
	g->bufs = bench_alloc(b, (size_t)PACKETS * BUF_SIZE);
}

/* Goals in ns by pattern (train44, rr) and flow count; 0 = none. */
static double goal(const struct gro_bench *g, bool cold)
{
	bool f1 = g->window == BURST;

	if (g->pattern == TRAFFIC_TRAIN44)
		return cold ? 13 : 10;
	if (g->pattern == TRAFFIC_RAND)
		return g->flows == 64 ? (cold ? 29 : 27) : 0;
	if (g->flows == 8)
		return cold ? 17 : 14;
	if (g->flows == 64)
		return f1 ? (cold ? 19 : 16) : (cold ? 20 : 18);
	return g->flows == 1000 ? (cold ? 20 : 16) : 0;
}

static void row(struct gro_bench *g, bool cold)
{
	struct bench_stat stat[3];
	char name[40];

	snprintf(name, sizeof(name), "%s %s %u f%u", cold ? "cold" : "hot", traffic_name(g->pattern), g->flows,
	         g->window / BURST);
	if (!bench_wanted(g->b, name))
		return;
	set_order(g, cold);
	g->floor = 3;
	bench_pair(g->b, gro_repeat, g, floor_repeat, g, stat);
	bench_text(g->b, name);
	bench_stat_cells(g->b, &stat[0]);
	bench_number(g->b, (double)g->packets / (double)g->out, 1);
	bench_number(g->b, stat[1].median, 1);
	bench_number(g->b, stat[2].median, 1);
	bench_number(g->b, goal(g, cold), 0);
	bench_row_end(g->b);
}

static const uint32_t flow_counts[] = { 1, 8, 64, 200, 1000 };

static void rows(struct gro_bench *g, bool cold)
{
	unsigned pattern, i;

	for (pattern = 0; pattern < TRAFFIC_PATTERNS; pattern++) {
		for (i = 0; i < sizeof(flow_counts) / sizeof(flow_counts[0]); i++) {
			g->pattern = (enum traffic_pattern)pattern;
			g->flows = flow_counts[i];
			g->window = BURST;
			row(g, cold);
			g->window = 4 * BURST;
			row(g, cold);
		}
	}
}

static void floor_rows(struct gro_bench *g, bool cold)
{
	char name[40];

	set_order(g, cold);
	g->pattern = TRAFFIC_RR;
	g->flows = 64;
	for (g->floor = 0; g->floor < 4; g->floor++) {
		struct bench_stat stat;

		snprintf(name, sizeof(name), "%s rr 64 floor F%u", cold ? "cold" : "hot", g->floor);
		if (!bench_wanted(g->b, name))
			continue;
		bench_run(g->b, floor_repeat, g, &stat);
		bench_text(g->b, name);
		bench_stat_cells(g->b, &stat);
		bench_row_end(g->b);
	}
}

int main(int argc, char **argv)
{
	static const char *const cols[] = { "GRO alone, ns/packet", BENCH_STAT_COLS, "segs/pkt", "F3", "x F3", "goal" };
	static const char *const floor_cols[] = { "floors, ns/packet", BENCH_STAT_COLS };
	static struct gro_bench g;
	struct bench b;

	bench_init(&b, argc, argv, "bench_gro", "the GRO engine alone: ns per packet, floor F3, segments per packet");
	set_up(&g, &b);
	bench_table(&b, cols, sizeof(cols) / sizeof(cols[0]));
	rows(&g, false);
	rows(&g, true);
	bench_table(&b, floor_cols, sizeof(floor_cols) / sizeof(floor_cols[0]));
	floor_rows(&g, false);
	floor_rows(&g, true);
	return bench_fini(&b);
}
