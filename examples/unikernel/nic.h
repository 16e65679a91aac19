/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network card: a vnetrx_rxq and a vnetrx_txq over virtio-mmio, polled.
 *
 *   device --ring--> rxq --deliver--> net_input() --frame, send--> txq --ring--> device
 */
#ifndef UNIKERNEL_NIC_H
#define UNIKERNEL_NIC_H

#include "mmio.h"
#include "vnetrx/rxq.h"
#include "vnetrx/txq.h"
#include "vnetrx/virtio_rx.h"

#define NIC_FRAME_MAX 1514u

/* What of received packets the counters of the path do not say. */
struct nic_seen {
	uint64_t gso;       /* packets that the device had merged, with a segment size        */
	uint64_t rsc;       /* ... without one                                                */
	uint64_t rsc_segs;  /* segments in these                                              */
	uint64_t nbufs_max; /* buffers of one packet, at most                                 */
	uint64_t many_bufs; /* packets in 32 buffers or more                                  */
	uint64_t many_frags; /* fragments that these have together                            */
	uint64_t frags_max; /* fragments of one packet of the device, at most                 */
	uint64_t segs_max;  /* segments of one delivered packet, at most                      */
	uint64_t tx_lost;   /* frames that found no room                                      */
};

struct nic {
	struct mmio             dev;
	struct vnetrx_virtio_rx rx;
	struct vnetrx_rxq      *rxq;
	struct vnetrx_txq      *txq;
	struct nic_seen         seen;
	uint32_t                unsent; /* frames since the last doorbell        */
	vnetrx_ns               unsent_since;
	vnetrx_ns               took_last; /* when something was received         */
	uint8_t                *free;   /* frames that may be filled, linked     */
};

/* Finds the device and starts it; false, and says why, when that cannot be done. */
bool nic_init(struct nic *nic, bool gro, const uint64_t hash_key[2]);

/* Takes what the device has: net_input() sees each packet. true: there was something. */
bool nic_poll(struct nic *nic, vnetrx_ns now);

/* Hands up what GRO still holds. */
void nic_flush(struct nic *nic);

/* Room for a frame of up to NIC_FRAME_MAX bytes; NULL = all are at the device. */
uint8_t *nic_frame(struct nic *nic);

/* Sends it, with one of the next polls; `len` bytes. */
void nic_send(struct nic *nic, uint8_t *frame, uint32_t len);

/* Prints all counters that are not 0, a line each. false: the path dropped something, or a queue is broken. */
bool nic_report(struct nic *nic);

#endif
