/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins segments of a flow into large packets: losslessly, in order, within a bounded time.
 *
 * Every packet given to the engine comes out exactly once, alone or as part of a larger one, in one FIFO; packets of
 * one flow come out in the order in which they went in. Cutting a merged packet at gso_size gives back its segments.
 */
#ifndef VNETRX_GRO_H
#define VNETRX_GRO_H

#include "pkt.h"
#include "stats.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vnetrx_gro;

#define VNETRX_GRO_RFC6864    1u /* ids of IPv4 datagrams with DF carry no meaning: they stop no merge and may change */
#define VNETRX_GRO_CSUM_BYTES 2u /* merged packets carry right checksum bytes and CSUM_OK instead of PARTIAL          */

struct vnetrx_gro_config { /* zero = default */
	uint64_t  hash_key[2]; /* required: random and secret; both zero is an error                           */
	uint32_t  flows;       /* packets held at once, 1..65536; default 64                                   */
	uint32_t  bytes_max;   /* IP total length of a merged packet, 1280..524280; default 65535              */
	uint32_t  segs_max;    /* 2..65535; default 128                                                        */
	uint32_t  flags;       /* VNETRX_GRO_*                                                                 */
	vnetrx_ns timeout_ns;  /* leave after so long without a new segment; default 0 = only flush and hold_max_ns */
	vnetrx_ns hold_max_ns; /* leave after so long whatever joins; default 64 * timeout_ns, at least 1 ms   */
};

/* Bytes that vnetrx_gro_init() needs; 0: the configuration is wrong and *why, if not NULL, says what. */
size_t vnetrx_gro_footprint(const struct vnetrx_gro_config *cfg, const char **why);

/* Sets up an engine in mem (aligned to 64, at least footprint bytes, the caller's as long as it is used). */
VNETRX_MUST_USE int vnetrx_gro_init(struct vnetrx_gro **gro, const struct vnetrx_gro_config *cfg, void *mem,
                                    size_t mem_size);

/* Takes n packets, all seen at `now` (or at their device timestamps); what may leave is appended to out in order.
 * Packets that are due are not looked for here: see vnetrx_gro_expire(). */
void vnetrx_gro_receive(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned n, vnetrx_ns now,
                        struct vnetrx_pktq *out);

/* Appends to out every held packet that is due at `now`. */
void vnetrx_gro_expire(struct vnetrx_gro *gro, vnetrx_ns now, struct vnetrx_pktq *out);

/* Appends every held packet, oldest first. */
void vnetrx_gro_flush(struct vnetrx_gro *gro, struct vnetrx_pktq *out);

/* When the next held packet is due; VNETRX_NEVER = none held. */
vnetrx_ns vnetrx_gro_deadline(const struct vnetrx_gro *gro);

/* Packets held now. */
unsigned vnetrx_gro_held(const struct vnetrx_gro *gro);

/* The counters, on the engine's thread. */
void vnetrx_gro_read_stats(const struct vnetrx_gro *gro, struct vnetrx_gro_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
