/* SPDX-License-Identifier: BSD-3-Clause */
#include "gro_work.h"

#include "bench.h"

#define PACKET_NS 100u /* between two packets on the engine's clock */

/* As many as DPDK's table has: what a window can hold. */
static uint32_t places(const struct gro_case *c)
{
	return c->window < 64u ? 64u : c->window;
}

void gro_work_init(struct gro_work *w, const struct gro_case *c, uint32_t protos, uint64_t key)
{
	const struct vnetrx_gro_config cfg = {
		.hash_key = { key != 0u ? key : 0x243f6a8885a308d3u, 0x13198a2e03707344u },
		.flows = places(c),
		.segs_max = 4096,
		.protos = protos,
		.hold_max_ns = 1000000000,
	};

	w->c = c;
	w->pkts = 0;
	w->out = 0;
	w->hash = false;
	w->now = 1000;
	supply_traffic(&w->traffic, c);
	if (vnetrx_gro_init(&w->gro, &cfg, w->mem, GRO_WORK_MEM) != VNETRX_OK)
		bench_die("vnetrx_gro_init");
}

static void write_hashes(const struct gro_work *w)
{
	uint32_t i;

	for (i = 0; w->hash && i < w->s->chunk; i++) {
		w->s->pkts[i]->flags |= VNETRX_PKT_HASH;
		w->s->pkts[i]->hash = 0x12345678u;
	}
}

static uint32_t check_packet(const struct gro_work *w, const struct vnetrx_pkt *pkt)
{
	const struct vnetrx_pkt *frag;
	uint32_t len = 0;
	uint32_t frags = 0;

	for (frag = pkt; frag != NULL; frag = frag->chain) {
		len += frag->frag_len;
		frags++;
	}
	if (pkt->len != len || pkt->nfrags != frags || pkt->segs != frags ||
	    len != w->traffic.hdr_len + frags * w->c->payload)
		bench_die("a packet came out with wrong lengths or counts");
	return frags;
}

static void check_chunk(struct gro_work *w, struct vnetrx_pktq *out)
{
	struct vnetrx_pkt *pkt;
	uint32_t segs = 0;

	w->out += out->count;
	w->pkts += w->s->chunk;
	while ((pkt = vnetrx_pktq_take(out)) != NULL)
		segs += check_packet(w, pkt);
	if (segs != w->s->chunk || vnetrx_gro_held(w->gro) != 0)
		bench_die("packets were lost or came out twice");
}

static void piece(struct gro_work *w, struct vnetrx_pkt *const *pkts, struct vnetrx_pktq *out)
{
	const struct gro_case *c = w->c;
	uint32_t i;

	for (i = 0; i < w->s->piece; i += c->burst) {
		w->now += (vnetrx_ns)c->burst * PACKET_NS;
		vnetrx_gro_receive(w->gro, pkts + i, c->burst, w->now, out);
		if (c->window != 0u && (i + c->burst) % c->window == 0u)
			vnetrx_gro_flush(w->gro, out);
	}
}

static void chunk(struct gro_work *w, struct bench_pieces *pieces)
{
	struct vnetrx_pktq out = { NULL, NULL, 0 };
	uint32_t i;

	for (i = 0; i < w->s->chunk; i += w->s->piece) {
		bench_piece_begin(w->b, pieces);
		piece(w, w->s->pkts + i, &out);
		bench_piece_end(w->b, pieces, w->s->piece);
	}
	vnetrx_gro_flush(w->gro, &out);
	check_chunk(w, &out);
}

double gro_work_repeat(void *arg)
{
	struct bench_pieces pieces = { .start = 0 };
	struct gro_work *w = arg;
	uint32_t done;

	for (done = 0; done < w->s->total; done += w->s->chunk) {
		supply_write_headers(w->s, &w->traffic);
		supply_write_pkts(w->s, &w->traffic);
		write_hashes(w);
		chunk(w, &pieces);
	}
	return bench_pieces_ns(w->b, &pieces);
}

double gro_work_segs(const struct gro_work *w)
{
	return w->out != 0u ? (double)w->pkts / (double)w->out : 0.0;
}
