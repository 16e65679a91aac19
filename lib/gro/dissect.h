/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frame in, layout out: one pass over the headers, never past the bytes given.
 *
 *   Ethernet [802.1Q]{0,2} [PPPoE session] IP                          [TCP | UDP]
 *   Ethernet [802.1Q]{0,2} [PPPoE session] IP [UDP VXLAN | UDP VXLAN-GPE | UDP GENEVE | GRE | nothing]
 *                                             [Ethernet [802.1Q]{0,2}] IP [TCP | UDP]
 *
 * One tunnel level: a tunnel in a tunnel is not looked into.
 */
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
	VNRX_REACH_ADDRS,       /* ip.l3, ip.version                                  */
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
	VNRX_PASS_SMALL,
	VNRX_PASS_TUNNEL,
	VNRX_PASS_NUM,
	VNRX_PASS_NOT = VNRX_PASS_NUM /* it may be held */
};

/* An IP header. */
struct vnrx_ip {
	uint32_t l3;      /* its offset                              */
	uint32_t l4;      /* offset behind it and its extensions     */
	uint32_t end;     /* offset behind the last byte it announces */
	uint32_t version; /* 4 or 6; 0 = there is none               */
	uint32_t proto;   /* what follows at l4                      */
};

struct vnrx_dissect {
	struct vnrx_ip ip;    /* the innermost network header reached                                        */
	struct vnrx_ip outer; /* the one around the tunnel; version 0 = no tunnel                            */
	uint32_t l4;      /* offset of the transport header; with REACH_PORTS                                */
	uint32_t payload; /* offset of the first payload byte; with pass == NOT                              */
	uint8_t  reach;   /* enum vnrx_reach                                                                 */
	uint8_t  pass;    /* enum vnrx_pass: the first reason found, VNRX_PASS_NOT = none                    */
	uint8_t  proto;   /* TCP or UDP; with REACH_PORTS                                                    */
	uint8_t  pppoe;   /* there is a PPPoE header before the first network header                         */
	uint8_t  udp_tunnel; /* outer.l4 is the UDP header of a tunnel                                       */
};

/* -Dgro=tcp: UDP, PPPoE and what is in tunnels is never held. */
#ifdef VNRX_TCP_ONLY
#define VNRX_TCP_ALONE 1
#else
#define VNRX_TCP_ALONE 0
#endif

/* Of a packet that may be held. */
static inline bool vnrx_is_udp(const struct vnrx_dissect *d)
{
	return !VNRX_TCP_ALONE && d->proto == VNRX_PROTO_UDP;
}

static inline bool vnrx_in_tunnel(const struct vnrx_dissect *d)
{
	return !VNRX_TCP_ALONE && d->outer.version != 0u;
}

static inline bool vnrx_in_udp_tunnel(const struct vnrx_dissect *d)
{
	return !VNRX_TCP_ALONE && d->udp_tunnel != 0u;
}

static inline bool vnrx_in_pppoe(const struct vnrx_dissect *d)
{
	return !VNRX_TCP_ALONE && d->pppoe != 0u;
}

/* What the tunnels are known by. */
struct vnrx_tunnels {
	uint16_t vxlan_port;  /* host byte order; 0 = off */
	uint16_t gpe_port;
	uint16_t geneve_port;
	bool     ip;          /* GRE, IP in IP            */
};

/* The part of the frame that may be read, and how long the whole is. */
struct vnrx_frame {
	const uint8_t *hdr;
	uint32_t avail; /* bytes at hdr, at most len */
	uint32_t len;
};

/* Reads the headers of a frame. With pass == NOT: 14 <= ip.l3 < l4 < payload <= ip.end <= len, payload <= avail and
 * payload <= VNRX_HDR_MAX, and with a tunnel 14 <= outer.l3 < outer.l4 <= ip.l3. */
void vnrx_dissect(const struct vnrx_frame *frame, const struct vnrx_tunnels *tunnels, struct vnrx_dissect *d);

/* ---- between dissect.c and tunnel.c ---- */

/* Instead of a version of a network header: there is none that is known, or it lies past the bytes at hand. */
#define VNRX_VERSION_NONE 0u
#define VNRX_VERSION_CUT  1u

/* Reads a network header of the given version at l3; fills *ip and returns VNRX_PASS_NOT, or why the packet is never
 * held; *ip is filled as far as it goes (version set = addresses readable, l4 set = what follows is known). */
enum vnrx_pass vnrx_dissect_ip(const struct vnrx_frame *frame, uint32_t l3, uint32_t version, struct vnrx_ip *ip);

/* From an EtherType field at `type_off` on over VLAN tags; returns the version of the network header behind them or
 * VNRX_VERSION_*, and its offset. */
uint32_t vnrx_dissect_l2(const struct vnrx_frame *frame, uint32_t type_off, uint32_t *l3, bool *pppoe);

/* Whether ip.l4 begins a known tunnel; then where the inner network header lies and of which version it is, or
 * VNRX_VERSION_* (NONE also: a header that is not understood), and the packet is never held. */
bool vnrx_dissect_tunnel(const struct vnrx_frame *frame, const struct vnrx_tunnels *tunnels, const struct vnrx_ip *ip,
                         uint32_t *inner_l3, uint32_t *version);

#endif
