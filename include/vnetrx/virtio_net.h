/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The virtio-net header of received packets (virtio 1.2, 5.1.6; little-endian).
 *
 *   0 flags  1 gso_type  2 hdr_len  4 gso_size  6 csum_start  8 csum_offset  10 num_buffers  12 hash  16 hash_type
 *  18 pad
 *
 * 10 bytes: legacy without mergeable buffers. 12: with them, or virtio 1.x. 20: with hash report. 24: with UDP tunnel
 * GSO. 32: virtio 1.4 with outer network header or IPsec.
 */
#ifndef VNETRX_VIRTIO_NET_H
#define VNETRX_VIRTIO_NET_H

#include "ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was negotiated, as far as the header is concerned. */
#define VNETRX_VIRTIO_MRG_RXBUF   1u /* num_buffers counts; else it is ignored                                   */
#define VNETRX_VIRTIO_HASH_REPORT 2u /* hash fields count                                                        */
#define VNETRX_VIRTIO_RSC_EXT     4u /* RSC_INFO may be set                                                      */
#define VNETRX_VIRTIO_TUNNEL      8u /* UDP tunnel GSO types may appear                                          */
#define VNETRX_VIRTIO_TAP        16u /* the other side is a TAP: num_buffers 0 means 1                           */

/* Reads and checks a header: hdr points to `len` private bytes, hdr_len is the negotiated header length. Sets skip,
 * nbufs, gso_*, csum_* and flags of *meta (zeroed by the caller). What can only be checked against the packet, merge
 * checks later. Returns VNETRX_OK, or VNETRX_ERR_BAD for a header that contradicts itself; then nbufs is set if it
 * could be read, so that the packet can be drained. */
VNETRX_MUST_USE int vnetrx_virtio_net_decode(const void *hdr, uint32_t len, uint32_t hdr_len, uint32_t features,
                                             struct vnetrx_meta *meta);

#ifdef __cplusplus
}
#endif

#endif
