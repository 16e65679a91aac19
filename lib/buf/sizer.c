/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing overflows: a sample and avg_max are at most 2^20 bytes, of 2^10 units each. */
#include "vnetrx/sizer.h"

#include "../mem.h"

#define LEN_LIMIT  1048576u
#define ALIGN_LIMIT 4096u

int vnetrx_sizer_init(struct vnetrx_sizer *sizer, uint32_t len_min, uint32_t len_max, uint32_t hdr_len, uint32_t align)
{
	if (!vnrx_is_pow2(align) || align > ALIGN_LIMIT || len_max > LEN_LIMIT || len_min > len_max)
		return VNETRX_ERR_INVALID;
	len_min = vnrx_align_up(len_min, align);
	len_max &= ~(align - 1u);
	if (len_min > len_max || hdr_len >= len_max)
		return VNETRX_ERR_INVALID;
	memset(sizer, 0, sizeof(*sizer));
	sizer->avg_max = (len_max - hdr_len) * VNETRX_SIZER_ONE;
	sizer->len_min = len_min;
	sizer->len_max = len_max;
	sizer->hdr_len = hdr_len;
	sizer->align = align;
	return VNETRX_OK;
}

uint32_t vnetrx_sizer_floor(uint32_t ring_size, uint32_t frame_len_max, uint32_t hdr_len)
{
	if (ring_size == 0u)
		ring_size = 1;
	return vnrx_div(frame_len_max + hdr_len + ring_size - 1u, ring_size);
}
