/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What no engine can avoid, each row on the packets and descriptors that DPDK gets:
 *
 *   F0  reads the first header line
 *   F1  F0, a hash of addresses and ports, and one 16-byte slot of a table of 8192 read and changed
 *   F2  F1, with the address from the descriptor
 *   F3  F2, the second header line read, offset and lengths of the descriptor and the previous one's link written
 */
#include "dpdk_peer.h"

#include <string.h>

#include <rte_mbuf.h>

#include "bench.h"

#define SLOTS (DPDK_FLOOR_MEM / sizeof(struct slot))

struct slot {
	uint64_t count;
	uint64_t last;
};

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void count(const struct dpdk_floor *f, const uint8_t *frame)
{
	uint64_t hash = (load64(frame + 26) ^ load64(frame + 30)) * 0x9e3779b97f4a7c15u;
	struct slot *slot = (struct slot *)f->slots + (hash >> 51) % SLOTS;

	slot->count++;
	slot->last += frame[16];
}

static uint64_t touch(const struct dpdk_floor *f, uint32_t from, uint32_t to)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = from; i < to; i++)
		sum += load64(supply_buf(f->s, i));
	return sum;
}

static uint64_t hash(const struct dpdk_floor *f, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = from; i < to; i++)
		count(f, supply_buf(f->s, i));
	return 0;
}

static uint64_t descriptor(const struct dpdk_floor *f, uint32_t from, uint32_t to)
{
	struct rte_mbuf **pkts = (struct rte_mbuf **)f->s->ptrs;
	uint32_t i;

	for (i = from; i < to; i++)
		count(f, rte_pktmbuf_mtod(pkts[i], uint8_t *));
	return 0;
}

static uint64_t chain(const struct dpdk_floor *f, uint32_t from, uint32_t to)
{
	struct rte_mbuf **pkts = (struct rte_mbuf **)f->s->ptrs;
	struct rte_mbuf *prev = pkts[from];
	uint64_t sum = 0;
	uint32_t i;

	for (i = from; i < to; i++) {
		struct rte_mbuf *m = pkts[i];
		const uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

		count(f, frame);
		sum += frame[64];
		m->data_off = (uint16_t)(m->data_off + TRAFFIC_HDR);
		m->data_len = (uint16_t)(m->data_len - TRAFFIC_HDR);
		m->pkt_len -= TRAFFIC_HDR;
		prev->next = m;
		prev = m;
	}
	return sum;
}

void dpdk_floor_init(struct dpdk_floor *f, const struct gro_case *c, unsigned floor)
{
	f->c = c;
	f->floor = floor;
	supply_traffic(&f->traffic, c);
}

double dpdk_floor_repeat(void *arg)
{
	static uint64_t (*const floors[DPDK_FLOORS])(const struct dpdk_floor *, uint32_t, uint32_t) = {
		touch, hash, descriptor, chain,
	};
	static volatile uint64_t sink;
	struct dpdk_floor *f = arg;
	struct bench_pieces pieces = { .together = f->s->together };
	uint32_t piece = f->s->piece;
	uint32_t done, i;

	for (done = 0; done < f->s->total; done += f->s->chunk) {
		supply_write_headers(f->s, &f->traffic);
		dpdk_write(f->s, &f->traffic);
		for (i = 0; i < f->s->chunk; i += piece) {
			bench_piece_begin(f->b, &pieces);
			sink = sink + floors[f->floor](f, i, i + piece);
			bench_piece_end(f->b, &pieces, piece);
		}
	}
	return bench_pieces_ns(f->b, &pieces);
}
