/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A receive queue: the whole line from the device's completions to the host's deliver op.
 *
 *   init --fill--> RUNNING --poll, complete, expire--> ... --(device reset)--> reclaim --> fill (resume) or fini
 *
 * One queue, one thread; vnetrx_rxq_read_stats() and vnetrx_pkt_free_remote() are the exceptions.
 */
#ifndef VNETRX_RXQ_H
#define VNETRX_RXQ_H

#include "gro.h"
#include "merge.h"
#include "pool.h"
#include "sizer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vnetrx_rxq;

/* flags of struct vnetrx_rxq_config */
#define VNETRX_RXQ_GRO_OFF     0x0001u /* packets go up as they are                                                */
#define VNETRX_RXQ_NO_COALESCE 0x0002u /* neighbouring buffers stay fragments of their own                         */
#define VNETRX_RXQ_REMOTE_FREE 0x0004u /* vnetrx_pkt_free_remote() may be used on this queue's packets             */

struct vnetrx_rxq_config { /* zero = default; "required" has none */
	const struct vnetrx_dev_ops  *dev_ops;  /* required */
	const struct vnetrx_host_ops *host_ops; /* required */
	void     *dev;
	void     *host;
	uint64_t  hash_key[2];     /* required with GRO: random and secret; both zero is an error                  */
	uint32_t  ring_size;       /* required; buffers to keep posted, 1..32768                                   */
	uint32_t  frame_len_max;   /* longest frame, 60..1048576; default 65589 (14 + 40 + 65535)                  */
	uint32_t  run_size;        /* bytes asked of page_alloc, 2^n from 1024 to 2^20; default 32768              */
	uint32_t  buf_len_min;     /* shortest buffer, device header included; default hdr_len + 1518; raised so that
	                              the ring holds one longest frame; a packet whose first buffer ends within
	                              hdr_len + 14 bytes is dropped                                                */
	uint32_t  buf_len_max;     /* longest buffer asked for, rounded down to buf_align; default 4096; a run's last
	                              one also gets what is left of the run, less than so much again; equal to
	                              buf_len_min = fixed length                                                   */
	uint16_t  buf_align;       /* 2^n from 16 to 4096; default 64; on incoherent memory the largest cache line */
	uint16_t  hdr_len;         /* device header before each frame, at most 128; default 0                      */
	uint16_t  headroom;        /* host's bytes before each frame; default 0; ends coalescing                   */
	uint16_t  copy_len_max;    /* copy-break; default 128, 0xffff = off                                        */
	uint32_t  runs_max;        /* see vnetrx_pool_config; default: six times what the ring needs               */
	uint32_t  pkts_max;        /* packet descriptors, 1..16777216; default: 2 * ring_size + 64                 */
	uint32_t  pkt_user_size;   /* host's bytes of each packet descriptor, at most 65536; default 0             */
	uint32_t  gro_flows;       /* packets held at once, 1..65536; default 64                                   */
	uint32_t  gro_bytes_max;   /* IP total length of a merged packet; default 65535                            */
	uint32_t  gro_segs_max;    /* default 128                                                                  */
	uint32_t  gro_payload_min; /* packets with less payload are not held; default 1                            */
	uint32_t  gro_protos;      /* VNETRX_GRO_TCP ...; default TCP and TUNNEL                                   */
	uint32_t  gro_flags;       /* VNETRX_GRO_RFC6864 ...                                                       */
	uint16_t  vxlan_port;      /* UDP ports of tunnels, see vnetrx_gro_config                                  */
	uint16_t  vxlan_gpe_port;
	uint16_t  geneve_port;
	uint32_t  flags;           /* VNETRX_RXQ_*                                                                 */
	vnetrx_ns gro_timeout_ns;  /* below 2^57; default 0: vnetrx_rxq_complete() flushes                         */
	vnetrx_ns gro_hold_max_ns; /* below 2^63; default 64 * gro_timeout_ns, at least 1 ms                       */
	vnetrx_ns refill_retry_ns; /* how soon a short ring tries again when nothing else happens; default 10 ms   */
	uint32_t  buf_cost;        /* 0: lengths of buffers follow the average packet; 1..65535: the length of least
	                              cost, one buffer less being worth so many bytes, see sizer.h                 */
};

enum vnetrx_rxq_state {
	VNETRX_RXQ_RUNNING = 0,
	VNETRX_RXQ_SHORT,   /* fewer than ring_size buffers posted: no memory, the device takes no more, or fill was not
	                       called yet, or not since reclaim                                            */
	VNETRX_RXQ_STALLED, /* the host does not take what waits for it; nothing more is reaped            */
	VNETRX_RXQ_BROKEN,  /* the device reported itself broken; reset it, then reclaim                   */
	VNETRX_RXQ_STARVED, /* all pkts_max descriptors are in use, at the host or in GRO; nothing more is reaped */
};

/* Bytes that vnetrx_rxq_init() needs; 0: the configuration is wrong. *why, if why is not NULL: what is wrong, "field:
 * range" or "field: what it wants", a constant text; NULL when nothing is. */
size_t vnetrx_rxq_footprint(const struct vnetrx_rxq_config *cfg, const char **why);

/* Sets up a queue in mem (aligned to 64, at least footprint bytes, the caller's until fini). Calls no op. */
VNETRX_MUST_USE int vnetrx_rxq_init(struct vnetrx_rxq **rxq, const struct vnetrx_rxq_config *cfg, void *mem,
                                    size_t mem_size);

/* Frees what the queue still holds (flush hands it up instead) and gives all pages back. VNETRX_ERR_BUSY, and all pages
 * kept, while the device or the host holds a buffer: reclaim after a device reset, wait for the host, call again. */
VNETRX_MUST_USE int vnetrx_rxq_fini(struct vnetrx_rxq *rxq);

/* Posts buffers up to ring_size, and looks for no completions; returns how many are posted now. */
unsigned vnetrx_rxq_fill(struct vnetrx_rxq *rxq);

/* Takes up to budget packets (dropped ones count) from the device, refills while going, joins, and hands up what is
 * finished or due. Returns how many it took: less than budget means the device had no more, the host is full, or every
 * packet descriptor is in use. */
unsigned vnetrx_rxq_poll(struct vnetrx_rxq *rxq, unsigned budget, vnetrx_ns now);

/* End of a burst: with gro_timeout_ns 0 empties GRO, else hands up what is due; tells the host the deadline, turns
 * interrupts on and looks once more. true = sleep until an interrupt, the deadline or, when STALLED, until there is
 * room again, when STARVED until wake; false = poll again. STALLED and STARVED leave interrupts off: what ends the
 * sleep is followed by a poll, and before that nobody notices that the device broke. */
VNETRX_MUST_USE bool vnetrx_rxq_complete(struct vnetrx_rxq *rxq, vnetrx_ns now);

/* The deadline is reached: takes what the device has (up to budget packets), lets it join, hands up what is
 * still due. In everything else a poll: complete ends it, with which the adaptive timer learns how long it took. */
unsigned vnetrx_rxq_expire(struct vnetrx_rxq *rxq, unsigned budget, vnetrx_ns now);

/* When vnetrx_rxq_expire() is wanted next: a held packet is due, or a short ring tries again. VNETRX_NEVER = not at
 * all. */
vnetrx_ns vnetrx_rxq_deadline(const struct vnetrx_rxq *rxq);

/* Hands up everything held. */
void vnetrx_rxq_flush(struct vnetrx_rxq *rxq);

/* Changes what GRO merges from now on (VNETRX_GRO_TCP ...; 0 = nothing); hands up everything held first. */
void vnetrx_rxq_set_gro_protos(struct vnetrx_rxq *rxq, uint32_t protos);

/* After a device reset: takes every posted buffer back and returns how many. Packets at the host stay valid. Then fill
 * (resume) or fini. */
unsigned vnetrx_rxq_reclaim(struct vnetrx_rxq *rxq);

/* What the queue waits for, if anything. */
enum vnetrx_rxq_state vnetrx_rxq_state(const struct vnetrx_rxq *rxq);

/* The length that the next new buffer gets, device header included. */
uint32_t vnetrx_rxq_buf_len(const struct vnetrx_rxq *rxq);

/* A consistent copy of all counters as of the end of the last call that changed them; a poll that took less than its
 * budget, but something, leaves that to the complete that follows it. From any thread. */
void vnetrx_rxq_read_stats(const struct vnetrx_rxq *rxq, struct vnetrx_rxq_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
