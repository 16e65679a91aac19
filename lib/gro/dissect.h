/* SPDX-License-Identifier: BSD-3-Clause */
/* Frame in, layout out: one pass over the headers, never past the bytes given. */
#ifndef VNRX_DISSECT_H
#define VNRX_DISSECT_H

#include "wire.h"

/* Headers longer than this are not compared: such packets are never held. */
#define VNRX_HDR_MAX 256u

/* Most IPv6 extension headers that are walked. */
#define VNRX_EXT_MAX 8u

/* How far dissect came: what may be known about a packet's flow. */
enum vnrx_reach {
	VNRX_REACH_NOTHING = 0, /* no addresses                                       */
	VNRX_REACH_ADDRS,       /* l3, version                                        */
	VNRX_REACH_PORTS,       /* and proto (TCP, UDP), l4: the flow is known        */
};

/* Why a packet is never held; in the order of the pass_ counters of struct vnetrx_gro_stats. */
enum vnrx_pass {
	VNRX_PASS_OFF = 0,
	VNRX_PASS_GSO,
	VNRX_PASS_NOT_IP,
	VNRX_PASS_CUT,
	VNRX_PASS_IP_OPTIONS,
	VNRX_PASS_IP_CSUM,
	VNRX_PASS_FRAGMENT,
	VNRX_PASS_EXT,
	VNRX_PASS_PROTO,
	VNRX_PASS_FLAGS,
	VNRX_PASS_EMPTY,
	VNRX_PASS_L4_CSUM,
	VNRX_PASS_HDR_LEN,
	VNRX_PASS_TRAILER,
	VNRX_PASS_BIG,
	VNRX_PASS_NUM,
	VNRX_PASS_NOT = VNRX_PASS_NUM /* it may be held */
};

struct vnrx_dissect {
	uint32_t l3;      /* offset of the network header; from REACH_ADDRS on                           */
	uint32_t l4;      /* offset of the transport header; with REACH_PORTS                             */
	uint32_t payload; /* offset of the first payload byte; with pass == NOT                           */
	uint32_t end;     /* offset behind the last byte of the IP packet; from REACH_ADDRS on            */
	uint8_t  reach;   /* enum vnrx_reach                                                              */
	uint8_t  pass;    /* enum vnrx_pass: the first reason found, VNRX_PASS_NOT = none                 */
	uint8_t  version; /* 4 or 6                                                                       */
	uint8_t  proto;   /* with REACH_PORTS                                                             */
};

/* Reads the headers of a frame of frame_len bytes, of which the first avail (at most frame_len) lie at `hdr`.
 * With pass == NOT: 14 <= l3 < l4 < payload <= end <= frame_len, and payload <= avail. */
void vnrx_dissect(const uint8_t *hdr, uint32_t avail, uint32_t frame_len, struct vnrx_dissect *d);

#endif
