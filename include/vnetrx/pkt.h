/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A received packet: a chain of fragments, first the head.
 *
 *   head ---chain---> further fragment ---chain---> ... NULL       head->len == sum of frag_len over the chain
 *
 * Every link is a struct vnetrx_pkt. Fields marked "head" mean something in the head only. Joining two packets is
 * linking two chains: payload is never copied.
 */
#ifndef VNETRX_PKT_H
#define VNETRX_PKT_H

#include "ops.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vnetrx_pool;

/* Why a packet left the engine. */
enum vnetrx_reason {
	VNETRX_LEFT_PASSED = 0, /* never held: something about it forbids joining           */
	VNETRX_LEFT_PUSH,       /* PSH, FIN or another closing flag on its last segment     */
	VNETRX_LEFT_SHORT,      /* its last segment was shorter than its first              */
	VNETRX_LEFT_FULL,       /* gro_bytes_max or gro_segs_max reached                    */
	VNETRX_LEFT_NEXT,       /* the next packet of its flow could not join               */
	VNETRX_LEFT_ORDER,      /* a packet that is never held must not overtake it         */
	VNETRX_LEFT_EVICTED,    /* its place was needed for another flow                    */
	VNETRX_LEFT_TIMEOUT,    /* quiet for gro_timeout_ns                                 */
	VNETRX_LEFT_HOLD,       /* held for gro_hold_max_ns                                 */
	VNETRX_LEFT_FLUSH,      /* everything was flushed: end of a burst, or on request    */
	VNETRX_LEFT_NUM
};

struct vnetrx_pkt {
	/* hot: what the path touches for every packet */
	struct vnetrx_pkt  *next;     /* head: the host's to use from delivery to free            */
	struct vnetrx_pkt  *chain;    /* next fragment of this packet, NULL = last                */
	uint8_t            *data;     /* first byte of this fragment                              */
	struct vnetrx_pool *owner;    /* where it is freed to; NULL = wrapped, the host's own     */
	uint32_t            frag_len; /* bytes of this fragment                                   */
	uint32_t            len;      /* head: bytes of the packet, Ethernet header included      */
	uint32_t            truesize; /* head: memory the packet keeps from use, see vnetrx.h     */
	uint32_t            flags;    /* head: VNETRX_PKT_*                                       */
	uint16_t            run;      /* page run that the fragment lies in; the pool's           */
	uint16_t            nfrags;   /* head: links of the chain                                 */
	uint16_t            nbufs;    /* head: device buffers that carried it                     */
	uint16_t            segs;     /* head: wire segments in it; 1 if unmerged, 0 = unknown    */
	uint16_t            gso_size; /* head: payload bytes of each segment but the last; 0 = one segment */
	uint16_t            l3_off;   /* head: innermost network header, from data; with MERGED   */
	uint16_t            l4_off;   /* head: transport header, from data; with MERGED           */
	uint16_t            hdr_len;  /* head: headers repeated in each segment; with MERGED      */

	/* cold: head only */
	vnetrx_ns           seen_first;  /* `now` or device timestamp of its first segment        */
	vnetrx_ns           seen_last;   /* and of the last one that joined                       */
	vnetrx_ns           tstamp;      /* device timestamp of the first segment; with TSTAMP    */
	uint32_t            hash;        /* with HASH                                             */
	uint32_t            mark;        /* with MARK                                             */
	uint16_t            vlan_tci;    /* with VLAN                                             */
	uint16_t            vlan_proto;  /* with VLAN                                             */
	uint16_t            csum_start;  /* from the Ethernet header; with PARTIAL                */
	uint16_t            csum_offset; /* with PARTIAL                                          */
	uint16_t            rx_gso_size; /* segment size as received from the device, 0 = none    */
	uint16_t            outer_l3_off; /* outer network header; with TUNNEL                    */
	uint16_t            outer_l4_off; /* UDP header of the tunnel, 0 = none; with TUNNEL      */
	uint8_t             gso_type;    /* VNETRX_GSO_*, as received or as merged                */
	uint8_t             hash_type;   /* with HASH                                             */
	uint8_t             reason;      /* enum vnetrx_reason                                    */
	uint8_t             rsvd[15];
	/* pkt_user_size bytes of the host follow */
};

/* The host's own bytes of the descriptor, pkt_user_size of them, aligned to 16; untouched by the library. */
static inline void *vnetrx_pkt_user(struct vnetrx_pkt *pkt)
{
	return pkt + 1;
}

/* Makes `pkt`, in the host's memory, a packet of one fragment of the host's own: for engines without a pool. Frees
 * nothing later: a wrapped head or fragment is handed back by vnetrx_pkt_free() untouched, its chain intact. */
void vnetrx_pkt_wrap(struct vnetrx_pkt *pkt, void *data, uint32_t len, uint32_t flags);

/* Gives n packets, with all their fragments, back to the queue that delivered them. On that queue's thread only;
 * calls no op of the device; calls wake when the ring was short. Different queues may be mixed. */
void vnetrx_pkt_free(struct vnetrx_pkt *const *pkts, unsigned n);

/* The same from any thread, for queues with VNETRX_RXQ_REMOTE_FREE: a lock-free push, taken up at the next poll. */
void vnetrx_pkt_free_remote(struct vnetrx_pkt *const *pkts, unsigned n);

/* One contiguous piece of a packet; laid out as struct iovec is. */
struct vnetrx_iov {
	void  *base;
	size_t len;
};

/* Writes up to max pieces and returns the number that the packet has, so that a larger array can be brought. */
unsigned vnetrx_pkt_iovec(const struct vnetrx_pkt *pkt, struct vnetrx_iov *iov, unsigned max);

/* Copies len bytes from offset off of the packet into dst; returns the number copied, less at the packet's end. */
uint32_t vnetrx_pkt_copy(const struct vnetrx_pkt *pkt, uint32_t off, void *dst, uint32_t len);

/* The coalescer: makes [data, data + len) in `run` part of fragment `last` when it begins where that one ends in the
 * same run. true: joined, and the caller gives up the reference that came with the bytes. */
bool vnetrx_frag_extend(struct vnetrx_pkt *last, const uint8_t *data, uint32_t len, uint16_t run);

/* A FIFO of packets, linked by next. Zero-initialised = empty. */
struct vnetrx_pktq {
	struct vnetrx_pkt *first;
	struct vnetrx_pkt *last;
	uint32_t           count;
};

/* Appends a packet. */
static inline void vnetrx_pktq_add(struct vnetrx_pktq *q, struct vnetrx_pkt *pkt)
{
	pkt->next = NULL;
	if (q->first != NULL)
		q->last->next = pkt;
	else
		q->first = pkt;
	q->last = pkt;
	q->count++;
}

/* Takes the oldest packet; NULL = empty. */
static inline struct vnetrx_pkt *vnetrx_pktq_take(struct vnetrx_pktq *q)
{
	struct vnetrx_pkt *pkt = q->first;

	if (pkt != NULL) {
		q->first = pkt->next;
		q->count--;
	}
	return pkt;
}

#ifdef __cplusplus
}
#endif

#endif
