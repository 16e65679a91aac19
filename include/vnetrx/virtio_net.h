/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The virtio-net header of received packets (virtio 1.2, 5.1.6; little-endian): read for drivers, written for hosts
 * that hand packets on to a TAP or to vhost.
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

/* What the reader of a written header accepts, beside HASH_REPORT and TUNNEL. The kernel behind a TAP accepts all of
 * these (USO since Linux 6.2, TUNNEL since 6.17), whatever TUNSETOFFLOAD says: that is about the other direction. */
#define VNETRX_VIRTIO_CSUM       32u /* GUEST_CSUM: checksums to complete, or said to be right; all below need it */
#define VNETRX_VIRTIO_TSO4       64u /* GUEST_TSO4: TCP over IPv4                                                */
#define VNETRX_VIRTIO_TSO6      128u /* GUEST_TSO6: TCP over IPv6                                                */
#define VNETRX_VIRTIO_ECN       256u /* GUEST_ECN: CWR on the first segment only                                 */
#define VNETRX_VIRTIO_USO4      512u /* GUEST_USO4: UDP trains over IPv4                                         */
#define VNETRX_VIRTIO_USO6     1024u /* GUEST_USO6: UDP trains over IPv6                                         */

/* Reads and checks a header: hdr points to `len` private bytes, hdr_len is the negotiated header length. Sets skip,
 * nbufs, gso_*, csum_* and flags of *meta (zeroed by the caller). What can only be checked against the packet, merge
 * checks later. Returns VNETRX_OK, or VNETRX_ERR_BAD for a header that contradicts itself; then nbufs is set if it
 * could be read, so that the packet can be drained. */
VNETRX_MUST_USE int vnetrx_virtio_net_decode(const void *hdr, uint32_t len, uint32_t hdr_len, uint32_t features,
                                             struct vnetrx_meta *meta);

/* Writes the header, hdr_len bytes (10, 12, 20, 24 or 32), of a packet that is handed on in one buffer. The packet
 * stays as it is. VNETRX_ERR_CANNOT, and hdr untouched, when the header cannot say it: what `features` does not accept;
 * merged with CWR, with fixed IPv4 ids, in PPPoE, in a tunnel other than UDP or with a checksum of its own, over
 * 64 KiB, or with a checksum that is complete (VNETRX_GRO_CSUM_BYTES) or none; segments of unknown size; a tag that the
 * device took off. With all features accepted, nothing that VNETRX_GRO_PROFILE_VIRTIO merges is refused. */
VNETRX_MUST_USE int vnetrx_virtio_net_encode(const struct vnetrx_pkt *pkt, uint32_t features, void *hdr,
                                             size_t hdr_len);

#ifdef __cplusplus
}
#endif

#endif
