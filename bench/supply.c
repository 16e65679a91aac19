/* SPDX-License-Identifier: BSD-3-Clause */
#include "supply.h"

#include "bench.h"

const char *memory_name(enum memory memory)
{
	static const char *const names[MEMORIES] = { "hot", "cold", "cold 4 KiB" };

	return names[memory];
}

void supply_init(struct supply *s, struct bench *b, bool small)
{
	bool before = b->small_pages;

	b->small_pages = before || small;
	s->bufs = bench_alloc(b, (size_t)SUPPLY_PACKETS * SUPPLY_BUF);
	s->descs = bench_alloc(b, SUPPLY_PACKETS * sizeof(*s->descs));
	s->peers = bench_alloc(b, (size_t)SUPPLY_PACKETS * SUPPLY_PEER);
	s->order = bench_alloc(b, SUPPLY_PACKETS * sizeof(*s->order));
	s->pkts = bench_alloc(b, SUPPLY_PACKETS * sizeof(struct vnetrx_pkt *));
	s->ptrs = bench_alloc(b, SUPPLY_PACKETS * sizeof(void *));
	b->small_pages = before;
}

void supply_order(struct supply *s, enum memory memory, uint32_t window)
{
	bool cold = memory != MEMORY_HOT;
	uint32_t rnd = 88172645u;
	uint32_t i;

	s->chunk = cold ? SUPPLY_PACKETS : window > 256u ? SUPPLY_HOT_LONG : SUPPLY_HOT;
	s->piece = cold || window > 256u ? SUPPLY_HOT_LONG : SUPPLY_HOT;
	s->together = !cold && window <= 256u;
	s->total = cold ? SUPPLY_PACKETS : s->chunk * SUPPLY_CHUNKS;
	for (i = 0; i < SUPPLY_PACKETS; i++)
		s->order[i] = i;
	for (i = SUPPLY_PACKETS - 1; cold && i > 0; i--) {
		uint32_t other, swap;

		rnd ^= rnd << 13;
		rnd ^= rnd >> 17;
		rnd ^= rnd << 5;
		other = rnd % (i + 1);
		swap = s->order[i];
		s->order[i] = s->order[other];
		s->order[other] = swap;
	}
}

void supply_traffic(struct traffic *t, const struct gro_case *c)
{
	traffic_init(t, c->pattern, c->flows);
	traffic_frames(t, c->kind, c->payload);
	t->push_every = c->push_every;
	t->numbers = c->numbers;
}

void supply_write_headers(const struct supply *s, struct traffic *t)
{
	uint32_t i;

	for (i = 0; i < s->chunk; i++)
		traffic_write(t, supply_buf(s, i));
}

void supply_write_pkts(struct supply *s, const struct traffic *t)
{
	uint32_t flags = VNETRX_PKT_CSUM_OK | (t->outer_l3 != 0u ? VNETRX_PKT_CSUM_INNER : 0u);
	uint32_t i;

	for (i = 0; i < s->chunk; i++) {
		s->pkts[i] = &s->descs[s->order[i]];
		vnetrx_pkt_wrap(s->pkts[i], supply_buf(s, i), t->frame_len, flags);
	}
}
