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

/* flags of struct vnetrx_gro_config */
#define VNETRX_GRO_RFC6864        1u /* ids of IPv4 datagrams with DF carry no meaning and may change             */
#define VNETRX_GRO_CSUM_BYTES     2u /* merged packets carry right checksum bytes: CSUM_OK instead of PARTIAL     */
#define VNETRX_GRO_UDP_ZERO       4u /* UDP over IPv4 without a checksum joins too                               */
#define VNETRX_GRO_ADAPTIVE       8u /* each flow waits a small multiple of its own gap; timeout_ns is not used   */
#define VNETRX_GRO_PROFILE_VIRTIO 16u /* merge only what vnetrx_virtio_net_encode() can say                       */

/* protos: what is merged. A library built with -Dgro=tcp knows TCP alone: init refuses the others, and they pass as
 * they are, as PPPoE does there. */
#define VNETRX_GRO_TCP    1u
#define VNETRX_GRO_UDP    2u /* datagrams of equal size; the host must know how to cut them again */
#define VNETRX_GRO_TUNNEL 4u /* what is in VXLAN, VXLAN-GPE, GENEVE, GRE and IP-in-IP            */

#define VNETRX_PORT_OFF 0xffffu

struct vnetrx_gro_config { /* zero = default */
	uint64_t  hash_key[2]; /* required: random and secret; both zero is an error                           */
	uint32_t  flows;       /* packets held at once, 1..65536; default 64                                   */
	uint32_t  bytes_max;   /* IP total length of a merged packet, 1280..524280; default 65535; more than 65535
	                          only for TCP outside of tunnels, whose IP length is then 0 (BIG TCP)         */
	uint32_t  segs_max;    /* 2..65535; default 128; UDP at most 64                                        */
	uint32_t  payload_min; /* packets with less payload are not held, but may join; default 1              */
	uint32_t  protos;      /* VNETRX_GRO_TCP ...; default TCP and TUNNEL, with PROFILE_VIRTIO TCP: what is
	                          asked for there must be what the header's reader accepts                     */
	uint32_t  flags;       /* VNETRX_GRO_RFC6864 ...                                                       */
	uint16_t  vxlan_port;  /* UDP ports of tunnels; default 4789, 4790, 6081; VNETRX_PORT_OFF = not known  */
	uint16_t  vxlan_gpe_port;
	uint16_t  geneve_port;
	vnetrx_ns timeout_ns;  /* leave after so long without a new segment, below 2^57; default 0 = only flush and
	                          hold_max_ns                                                                  */
	vnetrx_ns hold_max_ns; /* leave after so long whatever joins, below 2^63; default 64 * timeout_ns, at least
	                          1 ms                                                                         */
};

/* Bytes that vnetrx_gro_init() needs; 0: the configuration is wrong. *why, if why is not NULL: what is wrong, "field:
 * range" or "field: what it wants", a constant text; NULL when nothing is. */
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

/* Changes what is merged from now on (VNETRX_GRO_TCP ...; 0 = nothing; what is not known counts as nothing); all held
 * packets leave first. */
void vnetrx_gro_set_protos(struct vnetrx_gro *gro, uint32_t protos, struct vnetrx_pktq *out);

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
