/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's state, and what the files around it do for it. */
#ifndef VNRX_ENGINE_H
#define VNRX_ENGINE_H

#include "vnetrx/gro.h"

#include "csum.h"
#include "dissect.h"
#include "flow.h"

/* A shape is where everything lies in a header. The first eight are fixed: IPv4 and IPv6 with 0..2 VLAN tags and TCP,
 * UDP over IPv4, and TCP over IPv4 in VXLAN over IPv4 (or what has the same lengths); the others are taken by what
 * comes. */
#define VNRX_SHAPES       16u
#define VNRX_SHAPES_TCP   6u
#define VNRX_SHAPE_UDP4   6u
#define VNRX_SHAPE_VXLAN  7u
#define VNRX_SHAPES_FIXED 8u
#define VNRX_SHAPE_NONE   0xffu
#define VNRX_SHAPE_UDP    0xfeu /* no shape: plain UDP over IPv4 or IPv6 that only passes */

#define VNRX_SCRATCHES    8u
#define VNRX_SCRATCH_NONE 0xffu

#define VNRX_FRAME_MAX    65535u /* a record counts frame lengths in 16 bits */
#define VNRX_UDP_SEGS_MAX 64u /* as many as other stacks take in one train */

#define VNRX_BLOCK 8u /* so many packets are looked up at once */

struct vnrx_shape {
	uint8_t  l3, l4;
	uint8_t  outer_l3, outer_l4;
	uint16_t hdr_min;  /* headers up to the fixed part of the transport header          */
	uint8_t  kind;     /* VNRX_KIND_*                                                   */
	uint8_t  rsvd;
	uint32_t refs;     /* held packets of this shape                                    */
	uint8_t  mask[VNRX_HDR_MAX]; /* bits that must be equal on the short way            */
	uint8_t  last[VNRX_HDR_MAX]; /* and of a segment that may be the last one: shorter, with PSH or FIN */
};

struct vnrx_gap;

struct vnetrx_gro {
	struct vnrx_flows flows;
	uint32_t  tick;         /* counts the steps of clock: a flow is touched once in each          */
	uint32_t  bytes_max;
	uint32_t  segs_max;
	uint32_t  flags;
	uint32_t  protos;
	uint32_t  payload_min;  /* packets with less are not held                                     */
	unsigned  guess;        /* shape of the last packet held: the next is guessed to be like it   */
	unsigned  shapes_next;  /* where the search for a shape to replace goes on                    */
	uint32_t  prior_ns;     /* adaptive: wait of a flow of which nothing is known                 */
	struct vnrx_gap *gaps;  /* adaptive: VNRX_GAPS for each set of flows                          */
	vnetrx_ns timeout_ns;
	vnetrx_ns hold_max_ns;
	vnetrx_ns clock;        /* the latest `now`                                                   */
	struct vnrx_place place[VNRX_BLOCK]; /* of the packets at hand: the short way looks them up at once   */
	struct vnrx_tunnels tunnels;       /* looked for: none, or the known ones */
	struct vnrx_tunnels tunnels_known;
	struct vnetrx_gro_stats stats;
	uint32_t  scratch_used; /* one bit each                                                       */
	uint8_t   scratch[VNRX_SCRATCHES][VNRX_HDR_MAX];
	uint8_t   gathered[VNRX_HDR_MAX]; /* headers of the packet at hand that lie in several fragments        */
	struct vnrx_shape shape[VNRX_SHAPES];
};

/* A packet under consideration. */
struct vnrx_seg {
	struct vnetrx_pkt  *pkt;
	const uint8_t      *hdr;     /* its headers in one piece: in the packet, or a private copy       */
	struct vnrx_dissect d;
	uint32_t            payload; /* bytes                                                            */
	uint32_t            unit;    /* bytes of each of its segments but the last                       */
	uint32_t            count;   /* segments in it                                                   */
	vnetrx_ns           now;     /* when it was seen                                                 */
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
	VNRX_DIFFER_TUNNEL,
	VNRX_DIFFER_NUM,
	VNRX_DIFFER_NOT = VNRX_DIFFER_NUM, /* they join                        */
	VNRX_DIFFER_FULL                   /* they would, but the packet is full */
};

/* ---- layers.c: everything below the transport header ---- */

/* May the packet be held, as far as tunnels, device-merged segments and checksums say? Verifies checksums when the
 * device did not, and marks the packet. */
enum vnrx_pass vnrx_layers_check(const struct vnetrx_gro *gro, struct vnrx_seg *seg);

/* Are all headers below the transport header such that a cut gives both packets back? */
enum vnrx_differ vnrx_layers_differs(const struct vnetrx_gro *gro, uint32_t slot, const struct vnrx_seg *seg);

/* seg was joined: the ids go on. */
void vnrx_layers_join(struct vnetrx_gro *gro, uint32_t slot, const struct vnrx_seg *seg);

/* ---- the transport protocols: gro_tcp.c, gro_udp.c ---- */

/* May this packet be held or joined, as far as its own header says? VNRX_PASS_NOT = yes. */
enum vnrx_pass vnrx_tcp_check(const struct vnrx_seg *seg);
enum vnrx_pass vnrx_udp_check(const struct vnetrx_gro *gro, const struct vnrx_seg *seg);

/* Does it close the packet it joins (PSH, FIN)? Then it is never held itself. */
bool vnrx_tcp_closes(const struct vnrx_seg *seg);

/* May seg become the next segment of f, as far as the transport header says? */
enum vnrx_differ vnrx_tcp_differs(const struct vnrx_flow *f, const struct vnrx_seg *seg);
enum vnrx_differ vnrx_udp_differs(const struct vnrx_flow *f, const struct vnrx_seg *seg);

/* ---- gro_last.c ---- */

enum vnrx_last {
	VNRX_LAST_NOT = 0, /* it takes the general way                             */
	VNRX_LAST_JOINED,  /* and what it joined has left                          */
	VNRX_LAST_AGAIN,   /* it would have joined what was full, and has left now */
};

/* Joins a plain packet that continues a held one of the lane's shape and closes it (PSH, FIN, shorter than the first),
 * if all else about it is as the lane says; or lets the held one go that has no room for it. place: where its hash
 * points. */
struct vnrx_lane;
enum vnrx_last vnrx_last_join(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt, const struct vnrx_place *place,
                              const struct vnrx_lane *lane, struct vnetrx_pktq *q);

/* ---- gro_setup.c ---- */

/* What is wrong with a configuration, with the fields named as those of a queue are ("gro_flows: ..."); NULL =
 * nothing. */
const char *vnrx_gro_wrong(const struct vnetrx_gro_config *cfg);

/* ---- finish.c ---- */

/* Writes all headers of a packet of more than one segment, with `payload` bytes behind them. */
void vnrx_headers_finish(const struct vnetrx_gro *gro, uint32_t slot, uint32_t payload);

/* While UDP is not merged: plain UDP packets from pkts[i] on pass; returns the index of the first that is not one. */
unsigned vnrx_udp_run(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned i, unsigned n,
                      struct vnetrx_pktq *q);

/* ---- shape.c ---- */

/* Sets up the fixed shapes. */
void vnrx_shapes_init(struct vnetrx_gro *gro);

/* The shape of a packet, taken up if there is room; VNRX_SHAPE_NONE = none. */
unsigned vnrx_shape_find(struct vnetrx_gro *gro, const struct vnrx_dissect *d);

/* ---- gro_fast.c: the short way ---- */

/* Joins, holds or passes packets from pkts[i] on as long as each is as plain as the guessed shape says; returns the
 * index of the first that is not. */
unsigned vnrx_fast_run(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned i, unsigned n, unsigned shape,
                       struct vnetrx_pktq *q);

/* ---- gro_time.c ---- */

/* Time only goes forward; each step is a tick, in which a flow is touched once. */
static inline void vnrx_gro_set_clock(struct vnetrx_gro *gro, vnetrx_ns now)
{
	if (now > gro->clock) {
		gro->clock = now;
		gro->tick++;
	}
}

/* ---- gro_out.c ---- */

/* A held packet leaves. */
void vnrx_gro_leave(struct vnetrx_gro *gro, uint32_t slot, enum vnetrx_reason reason, struct vnetrx_pktq *q);

/* A packet that is never held leaves; everything it must not overtake has left. */
void vnrx_gro_pass(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt, vnetrx_ns now, unsigned why, struct vnetrx_pktq *q);

/* The same, and what it must not overtake goes first. */
void vnrx_gro_pass_in_order(struct vnetrx_gro *gro, const struct vnrx_seg *seg, unsigned why, struct vnetrx_pktq *q);

/* ---- what every part asks ---- */

/* The first network header. */
static inline uint32_t vnrx_first_l3(const struct vnrx_dissect *d)
{
	return vnrx_in_tunnel(d) ? d->outer.l3 : d->ip.l3;
}

/* Longest IP packet: only TCP that is in no tunnel may be longer than a 16-bit length says; PPPoE counts its protocol
 * field too. */
static inline uint32_t vnrx_bytes_max(const struct vnetrx_gro *gro, const struct vnrx_dissect *d)
{
	bool small = vnrx_is_udp(d) || vnrx_in_tunnel(d);
	uint32_t most = vnrx_in_pppoe(d) ? 65533u : small ? 65535u : UINT32_MAX;

	return gro->bytes_max < most ? gro->bytes_max : most;
}

/* Most segments. */
static inline uint32_t vnrx_segs_max(const struct vnetrx_gro *gro, unsigned proto)
{
	return proto == VNRX_PROTO_UDP && gro->segs_max > VNRX_UDP_SEGS_MAX ? VNRX_UDP_SEGS_MAX : gro->segs_max;
}

/* Where the frame ends without padding. */
static inline uint32_t vnrx_outer_end(const struct vnrx_dissect *d)
{
	return vnrx_in_tunnel(d) ? d->outer.end : d->ip.end;
}

#endif
