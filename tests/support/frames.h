/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds frames for tests: every header field by name, right lengths and checksums unless told otherwise.
 *
 * Shares no code with the library: what is built here must not be wrong in the same way as what reads it.
 */
#ifndef TEST_FRAMES_H
#define TEST_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX (14u + 4u * 4u + 65535u + 40u + 1024u) /* room that frame_build() may need */

#define FR_FIN 0x001u
#define FR_SYN 0x002u
#define FR_RST 0x004u
#define FR_PSH 0x008u
#define FR_ACK 0x010u
#define FR_URG 0x020u
#define FR_ECE 0x040u
#define FR_CWR 0x080u
#define FR_AE  0x100u /* and 0xe00: the reserved bits */

#define FR_TCP  6u
#define FR_UDP  17u
#define FR_ICMP 1u

/* An IPv6 extension header of (len8 + 1) * 8 bytes, filled with `fill` behind its first two. */
struct frame_ext {
	uint8_t type;
	uint8_t len8;
	uint8_t fill;
};

struct frame_tunnel;

struct frame {
	struct frame_tunnel *tunnel;          /* NULL = in none                                  */
	uint8_t  dmac[6], smac[6];            /* in a tunnel: of the Ethernet header inside it   */
	unsigned vlans;                       /* tags in the frame, outermost first; at most 4   */
	uint16_t vlan_proto[4], vlan_tci[4];
	uint16_t eth_type;                    /* 0 = that of the IP version                      */
	bool     pppoe;                       /* a PPPoE session header before IP                */
	uint16_t session, ppp;                /* ppp: its protocol; 0 = that of the IP version   */
	uint8_t  pppoe_code;
	int      pppoe_len_delta;
	bool     v6;
	uint8_t  src[16], dst[16];            /* IPv4: the first 4 bytes                         */
	uint8_t  tos, ttl;                    /* IPv6: class, hop limit                          */
	uint32_t label;
	uint16_t id;
	bool     df, mf, evil;                /* evil: the reserved flag                         */
	uint16_t frag_off;                    /* in units of 8 bytes                             */
	unsigned ip_opts_len;                 /* a multiple of 4                                 */
	uint8_t  ip_opts[40];
	unsigned exts;
	struct frame_ext ext[4];
	uint8_t  proto;
	uint16_t sport, dport;
	uint32_t seq, ack;
	uint16_t flags;                       /* FR_*                                            */
	uint16_t window, urg;
	unsigned opts_len;                    /* a multiple of 4                                 */
	uint8_t  opts[40];
	unsigned doff;                        /* data offset to write; 0 = the right one         */
	bool     no_csum;                     /* UDP: checksum field 0                           */
	int      udp_len_delta;
	uint32_t payload_len;                 /* bytes frame_payload(seq), frame_payload(seq + 1) .. */
	int      ip_len_delta;                /* added to the IP length field                    */
	bool     pad;                         /* to 60 bytes; of the outermost frame             */
	unsigned trailer;                     /* bytes behind the (outermost) IP packet          */
	bool     bad_ip_csum, bad_l4_csum;
	bool     partial;                     /* checksum field holds the pseudo-header sum      */
};

#define FR_VXLAN  0u
#define FR_GPE    1u
#define FR_GENEVE 2u
#define FR_GRE    3u
#define FR_IPIP   4u /* any IP version in any other */
#define FR_TUNNELS 5u

/* What is around a frame. */
struct frame_tunnel {
	struct frame outer; /* Ethernet and IP; of a UDP tunnel sport, dport, no_csum, bad_l4_csum, udp_len_delta too */
	unsigned kind;          /* FR_VXLAN ..                                                */
	bool     eth;           /* Ethernet inside, not IP; VXLAN: always, IPIP: never        */
	uint32_t vni;           /* and the key of GRE                                         */
	bool     key;           /* GRE: with a key                                            */
	uint16_t flip;          /* XORed into the first two bytes of the tunnel header        */
	uint8_t  rsvd;          /* VXLAN, GPE, GENEVE: the last byte                          */
	uint16_t type;          /* what it says is inside; 0 = the right one                  */
	unsigned opts_len;      /* GENEVE: a multiple of 4                                    */
	uint8_t  opts[252];
	unsigned cut;           /* bytes left off the end of what is inside                   */
};

/* 192.168.0.1 -> 192.168.0.2 or fd01::1 -> fd01::2, TTL 63, DF, id 500; UDP 50000 -> the tunnel's port, no checksum.
 * VNI 42. */
void frame_tunnel_init(struct frame_tunnel *t, unsigned kind, bool v6);

/* 10.0.0.1:1000+flow -> 10.0.0.2:2000, TTL 64, DF, id 1, ACK, window 100, seq 1, 100 bytes. */
void frame_init(struct frame *f, unsigned flow);

/* The same over IPv6: fd00::1 -> fd00::2, no label. */
void frame_init6(struct frame *f, unsigned flow);

/* As UDP instead of TCP. */
void frame_udp(struct frame *f);

/* Twelve bytes of options: NOP, NOP, timestamp. */
void frame_timestamp(struct frame *f, uint32_t val, uint32_t ecr);

/* Writes the frame and returns its length; buf has FRAME_MAX bytes. */
size_t frame_build(const struct frame *f, uint8_t *buf);

/* The byte of the stream at sequence number seq. */
uint8_t frame_payload(uint32_t seq);

/* ---- shared by the other test helpers ---- */

static inline uint16_t fr_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] * 256u + p[1]);
}

static inline uint32_t fr_get32(const uint8_t *p)
{
	return (uint32_t)fr_get16(p) * 65536u + fr_get16(p + 2);
}

static inline void fr_put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v / 256u);
	p[1] = (uint8_t)v;
}

static inline void fr_put32(uint8_t *p, uint32_t v)
{
	fr_put16(p, v / 65536u);
	fr_put16(p + 2, v);
}

/* ---- between frames.c and frames_tunnel.c ---- */

/* Ethernet header with tags and PPPoE; returns its length. `ip_len`: length of what follows. */
size_t frame_build_eth(const struct frame *f, uint8_t *buf, size_t ip_len);

/* IP header with options or extensions before l4_len bytes; returns its length. */
size_t frame_build_ip(const struct frame *f, uint8_t *ip, size_t l4_len);
size_t frame_ip_hdr_len(const struct frame *f);

/* From the IP header to the last byte of the payload. */
size_t frame_build_packet(const struct frame *f, uint8_t *ip);
size_t frame_packet_len(const struct frame *f);

/* The transport checksum of the len bytes at l4. */
void frame_build_csum(const struct frame *f, const uint8_t *ip, uint8_t *l4, size_t len);

/* Everything of a frame in a tunnel but what follows the outer IP packet. */
size_t frame_build_tunnel(const struct frame *f, uint8_t *buf);

/* Ones-complement sum of n bytes, folded, added to `sum`; an odd last byte counts as followed by 0. */
uint16_t fr_sum(uint32_t sum, const uint8_t *p, size_t n);

/* The pseudo-header's sum for the IP header at ip and `len` bytes of protocol proto. */
uint16_t fr_pseudo(const uint8_t *ip, uint8_t proto, uint32_t len);

#endif
