/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Picks the length of the next receive buffer from the lengths of the packets that came.
 *
 *   avg' = avg + (sample - avg) / 64          in 1/1024 byte, and no more than the longest buffer needs
 *   len  = align_up(hdr_len + clamp(avg, floor, ceiling))
 *
 * Weight 1/64 as in Linux virtio_net. The fraction is ours: without it a constant stream of 1514 settles at 1451. So is
 * the limit of the average: packets of 64 KiB raise it to the longest buffer within a few, as there, but it is not
 * carried far above, where 177 small packets would be needed to forget them; about 70 are.
 *
 * The average of few long packets among many short ones is a length that suits neither. A host that knows what memory
 * is worth to it can have the length of least cost instead:
 *
 *   cost of a packet in buffers of len = number of buffers * (memory of one + buf_cost)
 *
 * for each of eight lengths, averaged over about 260 packets; buf_cost is in bytes: what one buffer less is worth.
 */
#ifndef VNETRX_SIZER_H
#define VNETRX_SIZER_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VNETRX_SIZER_WEIGHT 64u
#define VNETRX_SIZER_ONE    1024u    /* one byte in the units of avg                       */
#define VNETRX_SIZER_LENS   8u
#define VNETRX_SIZER_SAMPLE 1048576u /* longer packets count as this, so that nothing overflows */

/* A length that may be posted. */
struct vnetrx_sizer_choice {
	uint32_t len;
	uint32_t inverse;  /* 2^32 / len, rounded up                                     */
	uint32_t price;    /* of one such buffer: its share of a run, and buf_cost       */
	uint32_t cost;     /* of a packet, the average                                   */
};

struct vnetrx_sizer {
	uint32_t avg;      /* 1/1024 byte; 0 = no sample yet                             */
	uint32_t avg_max;  /* it rises no further: len_max - hdr_len, in the same units  */
	uint32_t len_min;  /* shortest answer, header included, a multiple of align      */
	uint32_t len_max;  /* longest answer, header included, a multiple of align       */
	uint32_t hdr_len;  /* device header before each frame                            */
	uint32_t align;    /* power of two                                               */
	bool     by_cost;  /* see vnetrx_sizer_by_cost(); all below is for that           */
	uint32_t copy_len_max; /* packets up to here cost nothing: their buffer is posted again */
	uint32_t rnd;
	uint32_t best;     /* index of the choice that is posted                         */
	struct vnetrx_sizer_choice choices[VNETRX_SIZER_LENS];
};

struct vnetrx_sizer_prices {
	uint32_t buf_cost;     /* bytes of memory that one buffer less is worth, 1..65535                         */
	uint32_t run_size;     /* buffers are cut from runs of so many bytes; at least len_max, at most 2^20      */
	uint32_t headroom;     /* bytes before each buffer                                                        */
	uint32_t copy_len_max; /* packets up to here are copied: their buffer is posted again, and they cost none */
};

/* len_min and len_max include the header and are rounded to align (up, down); equal = fixed length.
 * Returns VNETRX_ERR_INVALID when nothing is left between them, when align is no power of two up to 4096, or when
 * len_max is above 1 MiB. */
VNETRX_MUST_USE int vnetrx_sizer_init(struct vnetrx_sizer *sizer, uint32_t len_min, uint32_t len_max, uint32_t hdr_len,
                                      uint32_t align);

/* After init: from now on the length of least cost is the answer, and vnetrx_sizer_weigh() takes the place of
 * vnetrx_sizer_add(). Returns VNETRX_ERR_INVALID when a price is out of range. */
VNETRX_MUST_USE int vnetrx_sizer_by_cost(struct vnetrx_sizer *sizer, const struct vnetrx_sizer_prices *prices);

/* Learns from one packet; frame_len is its length without the device header. Returns which packet from this one on
 * should be the next, a random number of 1 to 32: looking at all would cost more than it brings. */
uint32_t vnetrx_sizer_weigh(struct vnetrx_sizer *sizer, uint32_t frame_len);

/* Learns from one packet; frame_len is its length without the device header. */
static inline void vnetrx_sizer_add(struct vnetrx_sizer *sizer, uint32_t frame_len);

/* The length to post next, device header included. */
static inline uint32_t vnetrx_sizer_len(const struct vnetrx_sizer *sizer);

/* Smallest len_min with which ring_size buffers hold one packet of frame_len_max bytes and its header. */
uint32_t vnetrx_sizer_floor(uint32_t ring_size, uint32_t frame_len_max, uint32_t hdr_len);

/* ---- inline bodies ---- */

static inline void vnetrx_sizer_add(struct vnetrx_sizer *sizer, uint32_t frame_len)
{
	uint32_t sample = frame_len < VNETRX_SIZER_SAMPLE ? frame_len : VNETRX_SIZER_SAMPLE;
	uint32_t avg = sample * VNETRX_SIZER_ONE;

	if (sizer->avg != 0u)
		avg = sizer->avg - sizer->avg / VNETRX_SIZER_WEIGHT + avg / VNETRX_SIZER_WEIGHT;
	sizer->avg = avg < sizer->avg_max ? avg : sizer->avg_max;
}

static inline uint32_t vnetrx_sizer_len(const struct vnetrx_sizer *sizer)
{
	uint32_t len = sizer->avg / VNETRX_SIZER_ONE + sizer->hdr_len + sizer->align - 1u;

	len &= ~(sizer->align - 1u); /* no division: small targets have none */
	if (len < sizer->len_min)
		return sizer->len_min;
	return len < sizer->len_max ? len : sizer->len_max;
}

#ifdef __cplusplus
}
#endif

#endif
