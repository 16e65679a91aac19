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

/*@ requires \valid_read(d);
    assigns \nothing;
    ensures \result != 0 <==> !VNRX_TCP_ALONE && d->outer.version != 0;
*/
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

/* What dissect may read; avail is capped to VNRX_AVAIL_MAX before anything is read, so that sums of offsets fit. */
#define VNRX_AVAIL_MAX 65535u

/*@ predicate vnrx_frame_ok{L}(struct vnrx_frame *frame) =
      \valid_read(frame) && \valid_read(frame->hdr + (0 .. frame->avail - 1)) &&
      frame->avail <= VNRX_AVAIL_MAX;

    predicate vnrx_l3_in{L}(struct vnrx_frame *frame, integer l3, integer version) =
      l3 + (version == 4 ? VNRX_IPV4_HDR : VNRX_IPV6_HDR) <= frame->avail;

    // A header that was read: its addresses can be, and l4, when known, lies behind it and inside.
    predicate vnrx_ip_in{L}(struct vnrx_ip *ip, integer avail) =
      (ip->version == 4 || ip->version == 6) &&
      ip->l3 + (ip->version == 4 ? VNRX_IPV4_HDR : VNRX_IPV6_HDR) <= avail &&
      ip->l3 <= ip->end <= ip->l3 + 65575 &&
      (ip->l4 != 0 ==> ip->l3 + VNRX_IPV4_HDR <= ip->l4 <= avail && ip->l4 <= ip->end);

    predicate vnrx_version_ok(integer version) =
      version == 0 || version == 1 || version == 4 || version == 6;

    predicate vnrx_dissected{L}(struct vnrx_frame *frame, struct vnrx_dissect *d) =
      d->pass == VNRX_PASS_NOT ==>
        VNRX_ETH_HDR <= d->ip.l3 < d->l4 < d->payload <= d->ip.end <= frame->len &&
        d->payload <= frame->avail && d->payload <= VNRX_HDR_MAX &&
        (d->proto == VNRX_PROTO_TCP || d->proto == VNRX_PROTO_UDP) && d->reach == VNRX_REACH_PORTS &&
        (d->outer.version != 0 ==> VNRX_ETH_HDR <= d->outer.l3 < d->outer.l4 <= d->ip.l3);

    // As far as reach says, addresses and ports can be read.
    predicate vnrx_reached{L}(struct vnrx_frame *frame, struct vnrx_dissect *d) =
      d->reach <= VNRX_REACH_PORTS && (d->reach == VNRX_REACH_NOTHING ==> d->pass != VNRX_PASS_NOT) &&
      (d->reach != VNRX_REACH_NOTHING ==> vnrx_l3_in(frame, d->ip.l3, d->ip.version)) &&
      (d->outer.version != 0 ==> vnrx_l3_in(frame, d->outer.l3, d->outer.version)) &&
      (d->reach == VNRX_REACH_PORTS ==> d->l4 + 4 <= frame->avail);
*/

/* Reads the headers of a frame. With pass == NOT: 14 <= ip.l3 < l4 < payload <= ip.end <= len, payload <= avail and
 * payload <= VNRX_HDR_MAX, and with a tunnel 14 <= outer.l3 < outer.l4 <= ip.l3. */
/*@ requires \valid_read(frame) && \valid_read(frame->hdr + (0 .. frame->avail - 1));
    requires \valid_read(tunnels) && \valid(d);
    requires \separated(d, frame, tunnels, frame->hdr + (0 .. frame->avail - 1));
    assigns *d;
    ensures vnrx_dissected(frame, d);
    ensures d->reach <= VNRX_REACH_PORTS;
    ensures d->reach == VNRX_REACH_NOTHING ==> d->pass != VNRX_PASS_NOT;
    ensures d->reach != VNRX_REACH_NOTHING ==> vnrx_l3_in(frame, d->ip.l3, d->ip.version);
    ensures vnrx_reached(frame, d);
*/
void vnrx_dissect(const struct vnrx_frame *frame, const struct vnrx_tunnels *tunnels, struct vnrx_dissect *d);

/* ---- between dissect.c and tunnel.c ---- */

/* Instead of a version of a network header: there is none that is known, or it lies past the bytes at hand. */
#define VNRX_VERSION_NONE 0u
#define VNRX_VERSION_CUT  1u

/* Reads a network header of the given version at l3; fills *ip and returns VNRX_PASS_NOT, or why the packet is never
 * held; *ip is filled as far as it goes (version set = addresses readable, l4 set = what follows is known). */
/*@ requires vnrx_frame_ok(frame) && \valid(ip);
    requires l3 <= 100000 && (version == 4 || version == 6);
    requires \separated(ip, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns *ip;
    ensures ip->version == 0 || (ip->version == version && ip->l3 == l3 && vnrx_ip_in(ip, frame->avail));
    ensures ip->version == 0 ==> ip->l4 == 0 && \result == VNRX_PASS_CUT;
    ensures 0 <= \result <= VNRX_PASS_NOT;
    ensures \result == VNRX_PASS_NOT ==> ip->version != 0 && ip->l4 != 0;
*/
enum vnrx_pass vnrx_dissect_ip(const struct vnrx_frame *frame, uint32_t l3, uint32_t version, struct vnrx_ip *ip);

/* From an EtherType field at `type_off` on over VLAN tags; returns the version of the network header behind them or
 * VNRX_VERSION_*, and its offset. */
/*@ requires vnrx_frame_ok(frame) && type_off <= 100000 && \valid(l3) && (pppoe == \null || \valid(pppoe));
    requires \separated(l3, pppoe, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns *l3, *pppoe;
    ensures vnrx_version_ok(\result);
    ensures \result == 4 || \result == 6 ==> type_off + 2 <= *l3 <= frame->avail;
    ensures pppoe != \null && \old(*pppoe) == 0 && *pppoe != 0 && (\result == 4 || \result == 6) ==>
            type_off + 2 + VNRX_PPPOE_HDR <= *l3;
*/
uint32_t vnrx_dissect_l2(const struct vnrx_frame *frame, uint32_t type_off, uint32_t *l3, bool *pppoe);

/* Whether ip.l4 begins a known tunnel; then where the inner network header lies and of which version it is, or
 * VNRX_VERSION_* (NONE also: a header that is not understood), and the packet is never held. */
/*@ requires vnrx_frame_ok(frame) && \valid_read(tunnels) && \valid_read(ip) && \valid(inner_l3) && \valid(version);
    requires ip->l4 <= frame->avail;
    requires \separated(inner_l3, version, ip, frame, tunnels, frame->hdr + (0 .. frame->avail - 1));
    assigns *inner_l3, *version;
    ensures \result != 0 ==> vnrx_version_ok(*version) &&
            (*version == 4 || *version == 6 ==> ip->l4 <= *inner_l3 <= frame->avail + 252);
    ensures \result != 0 && ip->proto == VNRX_PROTO_UDP && (*version == 4 || *version == 6) ==>
            ip->l4 + 2 * VNRX_UDP_HDR <= *inner_l3;
*/
bool vnrx_dissect_tunnel(const struct vnrx_frame *frame, const struct vnrx_tunnels *tunnels, const struct vnrx_ip *ip,
                         uint32_t *inner_l3, uint32_t *version);

#endif
