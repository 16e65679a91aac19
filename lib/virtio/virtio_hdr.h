/* SPDX-License-Identifier: BSD-3-Clause */
/* Offsets and bits of the virtio-net header (virtio 1.2, 5.1.6). */
#ifndef VNRX_VIRTIO_HDR_H
#define VNRX_VIRTIO_HDR_H

#include "../wire.h"

#define HDR_LEGACY 10u
#define HDR_MRG    12u /* has num_buffers        */
#define HDR_HASH   20u /* has the hash           */
#define HDR_TUNNEL 24u /* has the tunnel offsets */
#define HDR_OUTER  32u /* has room for the outer network offset or IPsec */

#define OFF_FLAGS       0u
#define OFF_GSO_TYPE    1u
#define OFF_HDR_LEN     2u
#define OFF_GSO_SIZE    4u
#define OFF_CSUM_START  6u
#define OFF_CSUM_OFFSET 8u
#define OFF_NUM_BUFFERS 10u
#define OFF_HASH        12u
#define OFF_HASH_TYPE   16u
#define OFF_OUTER_TH    20u
#define OFF_INNER_NH    22u

#define F_NEEDS_CSUM  1u
#define F_DATA_VALID  2u
#define F_RSC_INFO    4u
#define F_TUNNEL_CSUM 8u

#define TUNNEL_BITS   (VNETRX_GSO_TUNNEL_IPV4 | VNETRX_GSO_TUNNEL_IPV6)
#define GSO_SIZE_NONE 0xffffu /* reserved by hosts as "cut at fragments" */
#define TCP_CSUM_OFF  16u
#define UDP_CSUM_OFF  6u

/* Whether a header may have this length. */
static inline bool vnrx_hdr_known(size_t hdr_len)
{
	return hdr_len == HDR_LEGACY || hdr_len == HDR_MRG || hdr_len == HDR_HASH || hdr_len == HDR_TUNNEL ||
	       hdr_len == HDR_OUTER;
}

#endif
