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
 */
#ifndef VNETRX_SIZER_H
#define VNETRX_SIZER_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VNETRX_SIZER_WEIGHT 64u
#define VNETRX_SIZER_ONE    1024u    /* one byte in the units of avg                       */
#define VNETRX_SIZER_SAMPLE 1048576u /* longer packets count as this, so that nothing overflows */

struct vnetrx_sizer {
	uint32_t avg;      /* 1/1024 byte; 0 = no sample yet                             */
	uint32_t avg_max;  /* it rises no further: len_max - hdr_len, in the same units  */
	uint32_t len_min;  /* shortest answer, header included, a multiple of align      */
	uint32_t len_max;  /* longest answer, header included, a multiple of align       */
	uint32_t hdr_len;  /* device header before each frame                            */
	uint32_t align;    /* power of two                                               */
};

/* len_min and len_max include the header and are rounded to align (up, down); equal = fixed length.
 * Returns VNETRX_ERR_INVALID when nothing is left between them, when align is no power of two up to 4096, or when
 * len_max is above 1 MiB. */
VNETRX_MUST_USE int vnetrx_sizer_init(struct vnetrx_sizer *sizer, uint32_t len_min, uint32_t len_max, uint32_t hdr_len,
                                      uint32_t align);

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
