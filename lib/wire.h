/* SPDX-License-Identifier: BSD-3-Clause */
/* Unaligned loads and stores in network and little-endian order, native words for compares, and header offsets. */
#ifndef VNRX_WIRE_H
#define VNRX_WIRE_H

#include "compiler.h"

/*@ requires \valid_read(p + (0 .. 1));
    assigns \nothing;
*/
static VNRX_INLINE uint16_t vnrx_be16(const uint8_t *p)
{
	return (uint16_t)((uint32_t)p[0] << 8 | (uint32_t)p[1]);
}

/*@ requires \valid_read(p + (0 .. 3));
    assigns \nothing;
*/
static VNRX_INLINE uint32_t vnrx_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

/*@ requires \valid_read(p + (0 .. 1));
    assigns \nothing;
*/
static VNRX_INLINE uint16_t vnrx_le16(const uint8_t *p)
{
	return (uint16_t)((uint32_t)p[1] << 8 | (uint32_t)p[0]);
}

/*@ requires \valid(p + (0 .. 1));
    assigns p[0 .. 1];
*/
static VNRX_INLINE void vnrx_put_be16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/*@ requires \valid(p + (0 .. 3));
    assigns p[0 .. 3];
*/
static VNRX_INLINE void vnrx_put_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

/* A number as the 16-bit word that it is in network order. */
/*@ assigns \nothing; */
static VNRX_INLINE uint16_t vnrx_wire16(uint32_t v)
{
	uint8_t bytes[2];

	vnrx_put_be16(bytes, v);
	return vnrx_load16(bytes);
}

/* Ethernet, IEEE 802.3 and 802.1Q */
#define VNRX_ETH_HDR      14u
#define VNRX_ETH_TYPE     12u
#define VNRX_ETH_MIN      60u     /* shortest frame without its check sequence; shorter ones are padded */
#define VNRX_VLAN_HDR     4u
#define VNRX_TYPE_IPV4    0x0800u
#define VNRX_TYPE_IPV6    0x86ddu
#define VNRX_TYPE_8021Q   0x8100u
#define VNRX_TYPE_8021AD  0x88a8u

/* PPPoE session, RFC 2516: header of 6 bytes with the length in the last two, then the PPP protocol (RFC 1661) */
#define VNRX_TYPE_PPPOE   0x8864u
#define VNRX_PPPOE_HDR    8u
#define VNRX_PPP_IPV4     0x0021u
#define VNRX_PPP_IPV6     0x0057u

/* IPv4, RFC 791 */
#define VNRX_IPV4_HDR     20u
#define VNRX_IPV4_LEN     2u
#define VNRX_IPV4_ID      4u
#define VNRX_IPV4_FRAG    6u
#define VNRX_IPV4_PROTO   9u
#define VNRX_IPV4_CSUM    10u
#define VNRX_IPV4_SRC     12u

/* IPv6, RFC 8200 */
#define VNRX_IPV6_HDR     40u
#define VNRX_IPV6_LEN     4u
#define VNRX_IPV6_NEXT    6u
#define VNRX_IPV6_SRC     8u

#define VNRX_PROTO_HOPOPTS  0u
#define VNRX_PROTO_IPIP     4u
#define VNRX_PROTO_TCP      6u
#define VNRX_PROTO_UDP      17u
#define VNRX_PROTO_IPV6     41u
#define VNRX_PROTO_ROUTING  43u
#define VNRX_PROTO_FRAGMENT 44u
#define VNRX_PROTO_GRE      47u
#define VNRX_PROTO_DSTOPTS  60u

/* TCP, RFC 9293 */
#define VNRX_TCP_HDR      20u
#define VNRX_TCP_SEQ      4u
#define VNRX_TCP_ACK      8u
#define VNRX_TCP_DOFF     12u
#define VNRX_TCP_FLAGS    13u
#define VNRX_TCP_CSUM     16u
#define VNRX_TCP_URGENT   18u
#define VNRX_TCP_TIMESTAMPS 12u /* bytes of options, with two of padding: what most segments carry */
#define VNRX_TCP_FIN      0x01u
#define VNRX_TCP_SYN      0x02u
#define VNRX_TCP_RST      0x04u
#define VNRX_TCP_PSH      0x08u
#define VNRX_TCP_ACKF     0x10u
#define VNRX_TCP_URG      0x20u
#define VNRX_TCP_CWR      0x80u

/* UDP, RFC 768 */
#define VNRX_UDP_HDR      8u
#define VNRX_UDP_DPORT    2u
#define VNRX_UDP_LEN      4u
#define VNRX_UDP_CSUM     6u

#endif
