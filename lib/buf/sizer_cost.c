/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The length of least cost. Nothing overflows: a packet has at most 2^20 bytes and a header, so at most 2^14 + 2
 * buffers of 64 bytes; buf_cost is below 2^16; the shares of a packet's buffers are together below 2^23. The product
 * with the inverse is exact up to 2^32 / len, which is 128 KiB for 32 KiB, and beyond may count one buffer more.
 */
#include "vnetrx/sizer.h"

#include "../compiler.h"
#include "../mem.h"

#define LEN_LEAST   64u
#define RUN_LIMIT   1048576u
#define PRICE_LIMIT 65535u
#define SAMPLES     16u /* a cost is averaged over */
#define MARGIN      64u

/* The longest buffer of which a run holds as many as of `len`, and what one of them costs. */
static void choice_init(struct vnetrx_sizer_choice *c, const struct vnetrx_sizer *s,
                        const struct vnetrx_sizer_prices *p, uint32_t len)
{
	uint32_t number = vnrx_div(p->run_size, p->headroom + len);
	uint32_t share;

	number = number > 0u ? number : 1u;
	share = vnrx_div(p->run_size, number);
	len = share > p->headroom + len ? (share - p->headroom) & ~(s->align - 1u) : len;
	c->len = len < s->len_max ? len : s->len_max;
	c->inverse = vnrx_div(UINT32_MAX, c->len) + 1u;
	c->price = vnrx_div(p->run_size, number) + p->buf_cost;
	c->cost = 0;
}

int vnetrx_sizer_by_cost(struct vnetrx_sizer *sizer, const struct vnetrx_sizer_prices *prices)
{
	uint32_t step = vnrx_div(sizer->len_max - sizer->len_min, VNETRX_SIZER_LENS - 1u);
	uint32_t i;

	if (prices->buf_cost == 0u || prices->buf_cost > PRICE_LIMIT || sizer->len_min < LEN_LEAST ||
	    prices->run_size > RUN_LIMIT || prices->headroom > prices->run_size ||
	    prices->run_size - prices->headroom < sizer->len_max)
		return VNETRX_ERR_INVALID;
	for (i = 0; i < VNETRX_SIZER_LENS; i++) {
		uint32_t len = i + 1u < VNETRX_SIZER_LENS ? sizer->len_min + i * step : sizer->len_max;

		choice_init(&sizer->choices[i], sizer, prices, vnrx_align_up(len, sizer->align));
	}
	sizer->by_cost = true;
	sizer->copy_len_max = prices->copy_len_max;
	sizer->rnd = 1;
	sizer->best = 0;
	return VNETRX_OK;
}

static VNRX_INLINE uint32_t choice_cost(const struct vnetrx_sizer_choice *c, uint32_t bytes)
{
	return (uint32_t)((uint64_t)(bytes + c->len - 1u) * c->inverse >> 32) * c->price;
}

/* The first sample counts entirely. */
static void choices_begin(struct vnetrx_sizer *sizer, uint32_t bytes)
{
	for (uint32_t i = 0; i < VNETRX_SIZER_LENS; i++)
		sizer->choices[i].cost = choice_cost(&sizer->choices[i], bytes);
}

/* Averages the costs, and chooses the least. A choice that is better by less than one in MARGIN changes nothing. */
static void choices_weigh(struct vnetrx_sizer *sizer, uint32_t bytes)
{
	struct vnetrx_sizer_choice *old = &sizer->choices[sizer->best];
	uint32_t least = old->cost - old->cost / SAMPLES + choice_cost(old, bytes) / SAMPLES;
	uint32_t best = sizer->best;

	least -= least / MARGIN;
	for (uint32_t i = 0; i < VNETRX_SIZER_LENS; i++) {
		struct vnetrx_sizer_choice *c = &sizer->choices[i];
		uint32_t cost = c->cost - c->cost / SAMPLES + choice_cost(c, bytes) / SAMPLES;

		c->cost = cost;
		best = cost < least ? i : best;
		least = cost < least ? cost : least;
	}
	sizer->best = best;
}

uint32_t vnetrx_sizer_weigh(struct vnetrx_sizer *sizer, uint32_t frame_len)
{
	uint32_t sample = frame_len < VNETRX_SIZER_SAMPLE ? frame_len : VNETRX_SIZER_SAMPLE;

	if (frame_len > sizer->copy_len_max) {
		if (sizer->choices[0].cost == 0u)
			choices_begin(sizer, sample + sizer->hdr_len);
		choices_weigh(sizer, sample + sizer->hdr_len);
		sizer->avg = (sizer->choices[sizer->best].len - sizer->hdr_len) * VNETRX_SIZER_ONE;
	}
	sizer->rnd = sizer->rnd * 1664525u + 1013904223u; /* a fixed step would follow a pattern of the traffic */
	return 1u + (sizer->rnd >> 27);
}
