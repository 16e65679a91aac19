/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a frame the slow, obvious way, field by field, for the oracle and the law checks. Shares no code with the
 * library.
 *
 *   Ethernet, at most two VLAN tags, perhaps PPPoE, IP, perhaps one tunnel (VXLAN, VXLAN-GPE, GENEVE on their usual ports,
 *   GRE, IP in IP) and in it Ethernet or IP, TCP or UDP
 */
#ifndef TEST_VIEW_H
#define TEST_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum view_kind {
	VIEW_OPAQUE, /* no addresses reached                       */
	VIEW_PAIR,   /* addresses, but no ports                    */
	VIEW_PORTS,  /* addresses, protocol (TCP or UDP) and ports */
};

/* A network header. */
struct view_ip {
	bool    there;
	bool    v6;
	size_t  l3;
	size_t  l4;         /* behind it and its extensions; 0 = unknown, or a fragment    */
	size_t  end;        /* one past the last byte of the IP packet, as its header says */
	uint8_t src[16], dst[16];
	uint8_t proto;
	bool    cut;        /* something that the header announces lies past the frame     */
	bool    fragment;
	bool    options;
	bool    csum_ok;    /* IPv6: true                                                  */
};

struct view {
	const uint8_t *bytes;
	size_t   len;
	enum view_kind kind;
	bool     pppoe;
	struct view_ip ip;    /* the innermost that was reached                              */
	struct view_ip outer; /* around the tunnel                                           */
	bool     udp_tunnel;  /* outer.l4 is a UDP header                                    */
	size_t   l4;          /* transport header; with kind PORTS                           */
	uint16_t sport, dport;
	bool     cut;         /* something that the headers announce lies past the frame     */
	bool     trailer;     /* bytes behind the IP packet that are no Ethernet padding     */
	bool     tcp;         /* a whole TCP header of at least 20 bytes                     */
	bool     udp;         /* a whole UDP header whose length fits                        */
	size_t   payload;     /* offset of the first payload byte; with tcp, udp             */
	size_t   payload_len;
	unsigned flags;       /* FR_*, reserved bits included; with tcp                      */
	bool     l4_csum_ok;  /* with tcp, udp; a UDP checksum of 0 is none, and not ok      */
};

void view_frame(struct view *v, const uint8_t *bytes, size_t len);

/* The first network header: the outer one, if there is a tunnel. */
const struct view_ip *view_first(const struct view *v);

/* Same addresses in the same direction, of every level. */
bool view_same_pair(const struct view *a, const struct view *b);

/* Same addresses, protocol and ports; both of kind PORTS. */
bool view_same_flow(const struct view *a, const struct view *b);

/* Might x be in the same IP packets as p, which shows addresses only? Then neither overtakes the other. */
bool view_pair_covers(const struct view *p, const struct view *x);

/* Length of the frame without Ethernet padding. */
size_t view_trimmed(const struct view *v);

#endif
