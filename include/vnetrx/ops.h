/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a driver implements (vnetrx_dev_ops, below the queue) and what a host implements (vnetrx_host_ops, above it).
 *
 * Both tables are copied when a queue or stage is set up. Every op gets the `dev` or `host` pointer of the
 * configuration as its first argument and runs on the thread that called the library; `wake` is the one exception.
 * No op may call back into the queue that called it, except vnetrx_pkt_free() from deliver.
 */
#ifndef VNETRX_OPS_H
#define VNETRX_OPS_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vnetrx_pkt;

/* A receive buffer on its way to the device. */
struct vnetrx_buf {
	void    *addr; /* first byte the device may write                     */
	uint64_t dma;  /* the same byte as the device addresses it            */
	uint32_t len;  /* bytes the device may write; a multiple of buf_align */
	uint32_t id;   /* opaque to the driver; comes back in reap            */
};

/* The packet goes on in the next completion. Only looked at when the device header gave no buffer count. */
#define VNETRX_DONE_MORE 1u

/* A buffer on its way back. Every field may come from an untrusted device: the library checks each one. */
struct vnetrx_done {
	uint32_t id;    /* as posted                                              */
	uint32_t len;   /* bytes written, device header included; 0 = error       */
	uint16_t off;   /* first written byte, counted from the posted addr       */
	uint16_t flags; /* VNETRX_DONE_*                                          */
	uint32_t rsvd;  /* zero                                                   */
};

/* What is known about a packet. The first group is set from the device's words, the second by the engine. */
#define VNETRX_PKT_CSUM_OK  0x00000001u /* the device verified the layer 4 checksum, in a UDP tunnel the outer one   */
#define VNETRX_PKT_PARTIAL  0x00000002u /* checksum field holds the pseudo-header sum; csum_start, csum_offset count */
#define VNETRX_PKT_VLAN     0x00000004u /* the device took a tag off the frame; vlan_tci, vlan_proto count           */
#define VNETRX_PKT_HASH     0x00000008u /* hash, hash_type count                                                     */
#define VNETRX_PKT_MARK     0x00000010u /* mark counts                                                               */
#define VNETRX_PKT_TSTAMP   0x00000020u /* tstamp counts                                                             */
#define VNETRX_PKT_RSC      0x00000040u /* merged by the device, segment size unknown (virtio RSC_INFO)              */

#define VNETRX_PKT_CSUM_INNER 0x00000080u /* with CSUM_OK: in a UDP tunnel, the inner checksum was verified too       */

#define VNETRX_PKT_MERGED   0x00000100u /* segments were joined here; gso_size, segs, l3_off, l4_off, hdr_len count  */
#define VNETRX_PKT_IPV6     0x00000200u /* innermost network header is IPv6, else IPv4; only with MERGED             */
#define VNETRX_PKT_UDP      0x00000400u /* innermost transport header is UDP, else TCP; only with MERGED             */
#define VNETRX_PKT_ID_FIXED 0x00000800u /* IPv4 ids of the segments are all equal, else they rise by one             */
#define VNETRX_PKT_CWR      0x00001000u /* every segment carries CWR                                                 */
#define VNETRX_PKT_COPIED   0x00002000u /* the bytes were moved to a small buffer (copy-break)                       */
#define VNETRX_PKT_TUNNEL   0x00004000u /* in a tunnel: outer_l3_off, outer_l4_off count; only with MERGED           */
/* With TUNNEL: the outer network header is IPv6, else IPv4; outer IPv4 ids are all equal, else they rise by one. */
#define VNETRX_PKT_OUTER_IPV6     0x00008000u
#define VNETRX_PKT_OUTER_ID_FIXED 0x00010000u

/* gso_type: values of the virtio-net header (virtio 1.2, 5.1.6), so that drivers hand them on. */
#define VNETRX_GSO_NONE   0u
#define VNETRX_GSO_TCPV4  1u
#define VNETRX_GSO_UDP    3u
#define VNETRX_GSO_TCPV6  4u
#define VNETRX_GSO_UDP_L4 5u
#define VNETRX_GSO_TUNNEL_IPV4 0x20u
#define VNETRX_GSO_TUNNEL_IPV6 0x40u
#define VNETRX_GSO_ECN    0x80u

/* What the device says about one packet. All zero = it says nothing. */
struct vnetrx_meta {
	uint32_t  flags;       /* VNETRX_PKT_* of the first group: which of the fields below count        */
	uint16_t  skip;        /* bytes before the Ethernet frame; preset to hdr_len                      */
	uint16_t  nbufs;       /* buffers of this packet, 1..ring_size; 0 = VNETRX_DONE_MORE tells        */
	uint16_t  gso_size;    /* payload bytes of a segment; 0 = not a GSO packet                        */
	uint16_t  segs;        /* segments merged by the device; 0 = unknown                              */
	uint16_t  csum_start;  /* from the first byte of the Ethernet header; with VNETRX_PKT_PARTIAL     */
	uint16_t  csum_offset; /* of the checksum field from csum_start; with VNETRX_PKT_PARTIAL          */
	uint16_t  vlan_tci;    /* stripped tag, host byte order; with VNETRX_PKT_VLAN                     */
	uint16_t  vlan_proto;  /* its EtherType (0x8100, 0x88a8), host byte order; with VNETRX_PKT_VLAN   */
	uint8_t   gso_type;    /* VNETRX_GSO_*                                                            */
	uint8_t   hash_type;   /* as the device reports it; with VNETRX_PKT_HASH                          */
	uint16_t  rsvd;        /* zero                                                                    */
	uint32_t  hash;        /* with VNETRX_PKT_HASH                                                    */
	uint32_t  mark;        /* with VNETRX_PKT_MARK                                                    */
	vnetrx_ns tstamp;      /* arrival, on the clock of `now`; with VNETRX_PKT_TSTAMP                  */
};

/* vnetrx_dev_ops.flags: what decode says depends on nothing but the bytes of `head`. It is not asked again about a
 * header that equals one before, which saves most of the time that a header costs. */
#define VNETRX_DEV_PURE_DECODE 1u

/* Below: one static const table per driver. */
struct vnetrx_dev_ops {
	/* Required. Lends n buffers to the device, in order. Returns how many it took; the rest stay the library's. */
	unsigned (*post)(void *dev, const struct vnetrx_buf *bufs, unsigned n);

	/* Required. Writes up to max completions, oldest first, and returns their number; the buffers are the library's
	 * again. Less than max means: the device has no more now. < 0: the device is broken, the queue stops. max is 0
	 * where nothing may be taken (STALLED, STARVED): only whether the device is broken is asked. */
	int (*reap)(void *dev, struct vnetrx_done *done, unsigned max);

	/* Optional. Doorbell: buffers were posted. Once per refill, and once more early in a long one of a low ring. */
	void (*kick)(void *dev);

	/* Optional. Reads the device header of a packet's first buffer. `head` is a private copy of its first hdr_len
	 * bytes, or of fewer when the buffer held fewer (`len`). *meta comes zeroed, with skip = hdr_len.
	 * < 0: the packet is dropped and counted; its further buffers (meta->nbufs, if set) are drained. */
	int (*decode)(void *dev, const void *head, uint32_t len, struct vnetrx_meta *meta);

	/* Optional. Turns interrupts on and returns true when completions already wait. */
	bool (*arm)(void *dev);

	/* Optional. Device to CPU: called on written bytes before the first read of them. */
	void (*sync_cpu)(void *dev, void *addr, uint64_t dma, uint32_t len);

	/* Optional. CPU to device: called on a buffer before it is posted. */
	void (*sync_dev)(void *dev, void *addr, uint64_t dma, uint32_t len);

	uint32_t flags; /* VNETRX_DEV_* */
};

/* What the host wants done with a packet before GRO sees it. */
enum vnetrx_verdict {
	VNETRX_VERDICT_PASS  = 0, /* go on                                             */
	VNETRX_VERDICT_DROP  = 1, /* the library frees and counts it                   */
	VNETRX_VERDICT_TAKEN = 2, /* the host keeps it, as if it had been delivered    */
};

/* Above: memory and delivery. */
struct vnetrx_host_ops {
	/* Required. `size` bytes (a power of two), aligned to size, contiguous for the device; *dma = the device's
	 * address of the first byte. NULL = not now. */
	void *(*page_alloc)(void *host, size_t size, uint64_t *dma);

	/* Required. Takes back what page_alloc gave. */
	void (*page_free)(void *host, void *page, size_t size, uint64_t dma);

	/* Required. Offers n packets in order; returns how many the host took, from the first on. Taken packets are the
	 * host's until vnetrx_pkt_free(). The rest stay and are offered again, in order. */
	unsigned (*deliver)(void *host, struct vnetrx_pkt *const *pkts, unsigned n);

	/* Optional. Looks at packets before GRO; verdict[i], preset to VNETRX_VERDICT_PASS, takes an enum
	 * vnetrx_verdict. */
	void (*early)(void *host, struct vnetrx_pkt *const *pkts, unsigned n, uint8_t *verdict);

	/* Optional. The deadline changed; VNETRX_NEVER = no timer needed. When it is reached, call
	 * vnetrx_rxq_expire(). */
	void (*timer_set)(void *host, vnetrx_ns deadline);

	/* Optional. A buffer came back while the ring was short, or a packet descriptor while none was free: poll soon,
	 * on the queue's thread. For a short ring alone vnetrx_rxq_fill() does. A host that keeps packets beyond
	 * deliver and sleeps needs it. The only op that may run on any thread. */
	void (*wake)(void *host);
};

#ifdef __cplusplus
}
#endif

#endif
