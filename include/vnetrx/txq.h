/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A virtio-net transmit queue over a virtqueue.
 *
 *   add, add, ... kick --> device --> poll: `done` gives the packets back
 *      BUSY  --> complete, sleep --> interrupt --> poll: `resume` --> add again
 *
 * The slots of a packet are worked out first: what has no room is refused before anything is touched, and nothing is
 * ever dropped. A queue that refused remembers it, and only it pays for the question whether there is room again.
 * While packets are being sent no interrupt is asked for: the packets that the device has finished are taken back when
 * their slots are needed, many at once. Before it sleeps the host calls complete(), which asks for one interrupt when a
 * large part of what is out has been sent (delay_num / delay_den of vnetrx_virtq_config).
 *
 * Zero copy: the segments of a packet are the device's until `done`. One queue, one thread; vnetrx_txq_read_stats() is
 * the exception.
 */
#ifndef VNETRX_TXQ_H
#define VNETRX_TXQ_H

#include "pkt.h"
#include "stats.h"
#include "virtio_net.h"
#include "virtq.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vnetrx_txq;

/* flags of struct vnetrx_tx_pkt */
#define VNETRX_TX_CSUM 1u /* the device completes the checksum; its field holds the pseudo-header sum */

/* A packet to be sent; read during the call only. */
struct vnetrx_tx_pkt { /* zero = nothing asked; "required" has none */
	const struct vnetrx_virtq_seg *segs; /* required; the frame from its Ethernet header on           */
	void    *cookie;       /* comes back by `done`                                                     */
	uint8_t *head;         /* first byte of segs[0] as the CPU sees it; with headroom                  */
	uint16_t headroom;     /* bytes before it that may be written; the device has them before segs[0].dma */
	uint16_t nsegs;        /* required; 1..segs_max                                                    */
	uint16_t flags;        /* VNETRX_TX_*                                                              */
	uint16_t csum_start;   /* from the first byte of the frame; with CSUM                              */
	uint16_t csum_offset;  /* of the checksum field from csum_start; with CSUM                         */
	uint16_t gso_size;     /* payload bytes of a segment; with gso_type                                */
	uint16_t hdr_len;      /* headers repeated in each segment; with gso_type                          */
	uint16_t outer_l4_off; /* UDP header of the tunnel; with VNETRX_GSO_TUNNEL_*                       */
	uint16_t inner_l3_off; /* inner network header; with VNETRX_GSO_TUNNEL_*                           */
	uint8_t  gso_type;     /* VNETRX_GSO_*: the device cuts the packet; needs CSUM                     */
	uint8_t  rsvd;
};

/* Fills in what a received or merged packet asks for (flags, csum_*, gso_*, hdr_len, tunnel offsets), by
 * vnetrx_virtio_net_encode(): VNETRX_ERR_CANNOT, and *tx untouched, as there. */
VNETRX_MUST_USE int vnetrx_tx_pkt_offload(struct vnetrx_tx_pkt *tx, const struct vnetrx_pkt *pkt, uint32_t features);

/* flags of `done` */
#define VNETRX_TX_LOST 1u /* taken back by reset: the device may or may not have sent them */

/* What the host implements. No op may call back into the queue. */
struct vnetrx_tx_ops {
	/* Required. These n packets are the host's again. Called from add, send, poll, complete and reset. */
	void (*done)(void *host, void *const *cookies, unsigned n, uint32_t flags);

	/* Optional. The queue had refused, and has room for the largest packet. Called from poll, complete, start. */
	void (*resume)(void *host);

	/* Optional. Doorbell; data as of vnetrx_virtq_notification_data(): bits 0..15 are the queue index. */
	void (*notify)(void *host, uint32_t data);
};

/* flags of struct vnetrx_txq_config. ANY_LAYOUT: with VERSION_1 or ANY_LAYOUT, the header may share a descriptor with
 * the data. To be left out where what the CPU writes into headroom would have to be flushed for the device. */
#define VNETRX_TXQ_ANY_LAYOUT 1u

struct vnetrx_txq_config { /* zero = default; "required" has none */
	struct vnetrx_virtq *vq;  /* required; empty, used by nothing else; segs_max one more than below           */
	const struct vnetrx_tx_ops *ops; /* required; copied                                                       */
	void     *host;           /* argument of the ops                                                           */
	void     *hdrs;           /* vnetrx_txq_hdr_bytes() that the device reads, for headers in descriptors of
	                             their own; NULL = every packet has headroom, others are VNETRX_ERR_INVALID    */
	uint64_t  hdrs_dma;       /* its first byte as the device addresses it                                     */
	uint32_t  features;       /* VNETRX_VIRTIO_*: what the device accepts (HOST_TSO4 as TSO4, and so on)       */
	uint32_t  flags;          /* VNETRX_TXQ_*                                                                  */
	uint16_t  hdr_len;        /* required; 10, 12, 20, 24 or 32                                                */
	uint16_t  segs_max;       /* most segments of a packet, 1..64; default 17 (16 pages and a header)          */
	uint16_t  queue;          /* index of the virtqueue, for notify                                            */
};

/* Bytes of private memory that init needs; 0: the configuration is wrong. *why, if why is not NULL: what is wrong,
 * "field: range" or "field: what it wants", a constant text; NULL when nothing is. `hdrs` is not looked at. */
size_t vnetrx_txq_footprint(const struct vnetrx_txq_config *cfg, const char **why);

/* Bytes of header memory; 0: the configuration is wrong. */
size_t vnetrx_txq_hdr_bytes(const struct vnetrx_txq_config *cfg);

/* Sets up a running queue in mem (aligned to 64); touches no ring memory. */
VNETRX_MUST_USE int vnetrx_txq_init(struct vnetrx_txq **txq, const struct vnetrx_txq_config *cfg, void *mem,
                                    size_t mem_size);

/* Takes one packet, which the device sees at the next kick at the latest. VNETRX_ERR_BUSY: no room, even after what
 * was finished had been taken back; nothing was touched, offer it again after `resume`. VNETRX_ERR_INVALID: it never
 * can be taken. VNETRX_ERR_CANNOT: it asks for what the device does not offer. VNETRX_ERR_BAD: the ring is broken. */
VNETRX_MUST_USE int vnetrx_txq_add(struct vnetrx_txq *txq, const struct vnetrx_tx_pkt *pkt);

/* End of a batch: shows it to the device, and rings if that wants to be told. */
void vnetrx_txq_kick(struct vnetrx_txq *txq);

/* add for packets in order until one is not taken, then kick. Returns how many were taken; *err = what the next one
 * met, VNETRX_OK when there is none. */
unsigned vnetrx_txq_send(struct vnetrx_txq *txq, const struct vnetrx_tx_pkt *pkts, unsigned n, int *err);

/* Gives back up to budget finished packets and returns how many; `resume` if that makes room. */
unsigned vnetrx_txq_poll(struct vnetrx_txq *txq, unsigned budget);

/* Before sleeping: gives back what is finished; while packets are out, asks for an interrupt when a large part of them
 * has been sent. true = sleep: an interrupt comes, and then poll; or nothing is out. false = there is room again, or
 * much was finished meanwhile: poll again. */
VNETRX_MUST_USE bool vnetrx_txq_complete(struct vnetrx_txq *txq);

enum vnetrx_txq_state {
	VNETRX_TXQ_RUNNING = 0,
	VNETRX_TXQ_FULL,    /* a packet was refused, and there was no room for the largest one since */
	VNETRX_TXQ_STOPPED, /* by stop or reset: everything is refused                               */
	VNETRX_TXQ_BROKEN,  /* the device broke the ring: device reset, reset, start                 */
};

/* What the queue waits for, if anything. */
enum vnetrx_txq_state vnetrx_txq_state(const struct vnetrx_txq *txq);

/* Packets at the device: taken and not given back. */
uint32_t vnetrx_txq_outstanding(const struct vnetrx_txq *txq);

/* From now on everything is refused with VNETRX_ERR_BUSY; what is out still comes back by poll. */
void vnetrx_txq_stop(struct vnetrx_txq *txq);

/* Takes packets again; `resume` if one was refused. */
void vnetrx_txq_start(struct vnetrx_txq *txq);

/* With the device stopped (reset, or this queue by RING_RESET): all that is out comes back with VNETRX_TX_LOST, the
 * ring is empty as after vnetrx_virtq_init(), the queue is stopped. Returns how many came back. Nothing is left then
 * that would have to be freed: the memory may be used for something else. */
unsigned vnetrx_txq_reset(struct vnetrx_txq *txq);

/* A consistent copy of all counters as of the end of the last kick, send, poll, complete or reset. From any thread. */
void vnetrx_txq_read_stats(const struct vnetrx_txq *txq, struct vnetrx_txq_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
