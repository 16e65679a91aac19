/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a frame the slow, obvious way, field by field, for the oracle and the law checks. Shares no code with the
 * library.
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

/* Which tunnels are looked into. */
struct view_rules {
	bool     tunnels;
	uint16_t vxlan, gpe, geneve; /* UDP ports; 0 = none                                      */
	bool     big;                /* an IP length of 0 means: up to the end of the frame      */
};

extern const struct view_rules view_usual; /* tunnels on, at their usual ports */

/* A network header. */
struct view_ip {
	size_t   l3, l4; /* l4: behind it and its extensions; 0 = not reached          */
	size_t   end;    /* one past the last byte of the packet, as its header says   */
	bool     there;  /* addresses could be read                                    */
	bool     v6;
	uint8_t  src[16], dst[16];
	uint8_t  proto;
	bool     cut, fragment, options, csum_ok;
};

struct view {
	const uint8_t *bytes;
	size_t   len;
	enum view_kind kind;
	unsigned tags;       /* before the first network header                              */
	bool     pppoe;
	bool     pppoe_ok;   /* its length is that of the IP packet; true without PPPoE      */
	bool     tunnel;     /* outer counts                                                 */
	bool     udp_tunnel;
	struct view_ip outer;
	bool     outer_csum;    /* the tunnel's UDP header has a checksum */
	bool     outer_csum_ok; /* and it is right                        */
	bool     bad_tunnel; /* a tunnel header that is not understood, or a tunnel in the tunnel */
	bool     lengths_ok; /* all IP, UDP lengths of a tunnel agree; true without          */
	size_t   l3;         /* innermost network header; with kind PAIR, PORTS              */
	size_t   l4;         /* transport header; with kind PORTS                            */
	size_t   ip_end;     /* one past the last byte of the innermost IP packet            */
	size_t   end;        /* and of the outermost                                         */
	bool     v6;
	uint8_t  src[16], dst[16];
	uint8_t  proto;
	uint16_t sport, dport;
	bool     cut;        /* something that the headers announce lies past the frame      */
	bool     fragment;
	bool     ip_options;
	bool     ip_csum_ok; /* of all levels; IPv6: true                                    */
	bool     trailer;    /* bytes behind the IP packet that are no Ethernet padding      */
	bool     tcp;        /* a whole TCP header of at least 20 bytes                      */
	bool     udp;        /* a whole UDP header                                           */
	bool     udp_len_ok;
	size_t   payload;    /* offset of the first payload byte; with tcp, udp              */
	size_t   payload_len;
	unsigned flags;      /* FR_*, reserved bits included; with tcp                       */
	bool     l4_csum_ok; /* with tcp, udp                                                */
	bool     l4_csum_none; /* with udp: the field is 0                                   */
};

/* NULL: view_usual. */
void view_frame_by(struct view *v, const struct view_rules *rules, const uint8_t *bytes, size_t len);
void view_frame(struct view *v, const uint8_t *bytes, size_t len);

/* Same addresses in the same direction, at all levels. */
bool view_same_pair(const struct view *a, const struct view *b);

/* Same addresses, protocol and ports; both of kind PORTS. */
bool view_same_flow(const struct view *a, const struct view *b);

/* Must a packet without ports not be overtaken by `b`, nor overtake it? Same addresses, or b is in a tunnel between
 * its. */
bool view_covers(const struct view *portless, const struct view *b);

/* Length of the frame without Ethernet padding. */
size_t view_trimmed(const struct view *v);

#endif
