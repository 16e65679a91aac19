/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's state, and what a protocol does for it. */
#ifndef VNRX_ENGINE_H
#define VNRX_ENGINE_H

#include "vnetrx/gro.h"

#include "dissect.h"
#include "flow.h"

/* Header shapes with a mask of their own: VLAN tags (0..2) and version; anything else goes the general way. */
#define VNRX_SHAPES     6u
#define VNRX_SHAPE_NONE 0xffu

/* Which of a header's bits must be equal for the short way: all but id, header checksum, sequence number, checksum. */
struct vnrx_mask {
	uint8_t bits[VNRX_HDR_MAX];
};

struct vnetrx_gro {
	struct vnrx_flows flows;
	uint32_t  tick;         /* counts the steps of clock: a flow is touched once in each          */
	uint32_t  bytes_max;
	uint32_t  segs_max;
	unsigned  shape;        /* of the last packet held: the next is guessed to be like it */
	uint32_t  flags;
	vnetrx_ns timeout_ns;
	vnetrx_ns hold_max_ns;
	vnetrx_ns clock;        /* the latest `now` */
	struct vnetrx_gro_stats stats;
	struct vnrx_mask mask[VNRX_SHAPES];
};

/* A packet under consideration. */
struct vnrx_seg {
	struct vnetrx_pkt  *pkt;
	const uint8_t      *hdr; /* its headers in one piece: in the packet, or a private copy */
	struct vnrx_dissect d;
	vnetrx_ns           now; /* when it was seen */
	struct vnrx_hash    hash;
};

/* Why two segments cannot join; in the order of the differ_ counters, then the ends that are no difference. */
enum vnrx_differ {
	VNRX_DIFFER_SEQ = 0,
	VNRX_DIFFER_ACK,
	VNRX_DIFFER_FLAGS,
	VNRX_DIFFER_OPTIONS,
	VNRX_DIFFER_SIZE,
	VNRX_DIFFER_IP,
	VNRX_DIFFER_ID,
	VNRX_DIFFER_L2,
	VNRX_DIFFER_META,
	VNRX_DIFFER_NUM,
	VNRX_DIFFER_NOT = VNRX_DIFFER_NUM, /* they join                        */
	VNRX_DIFFER_FULL                   /* they would, but the packet is full */
};

/* ---- what a protocol does (gro_tcp.c) ---- */

/* May this packet be held or joined? VNRX_PASS_NOT = yes. Verifies its checksum when the device did not. */
enum vnrx_pass vnrx_tcp_check(struct vnrx_seg *seg);

/* Does it close the packet it joins (PSH, FIN)? Then it is never held itself. */
bool vnrx_tcp_closes(const struct vnrx_seg *seg);

/* Makes f the record of a held packet whose only segment is seg. */
void vnrx_tcp_hold(const struct vnetrx_gro *gro, struct vnrx_flow *f, const struct vnrx_seg *seg);

/* May seg become the next segment of f? */
enum vnrx_differ vnrx_tcp_differs(const struct vnetrx_gro *gro, const struct vnrx_flow *f, const struct vnrx_seg *seg);

/* Makes it that. vnrx_tcp_differs() said VNRX_DIFFER_NOT. */
void vnrx_tcp_join(struct vnrx_flow *f, const struct vnrx_seg *seg);

/* Writes the headers of a packet of more than one segment, and what the host needs to cut it again. */
void vnrx_tcp_finish(const struct vnetrx_gro *gro, const struct vnrx_flow *f);

/* ---- the short way (gro_fast.c) ---- */

/* Fills in the masks. */
void vnrx_fast_init(struct vnetrx_gro *gro);

/* Joins or holds packets from pkts[i] on as long as each is a plain TCP segment of the given shape that continues a held
 * one in full size, or belongs to a flow that is not in the table; returns the index of the first that is not. */
unsigned vnrx_fast_run(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned i, unsigned n, unsigned shape);

/* ---- what the engine does for the short way ---- */

/* First join of a call: false when the packet has been held for too long to take more. */
bool vnrx_gro_touch(struct vnetrx_gro *gro, uint32_t slot, vnetrx_ns now);

#endif
