/* SPDX-License-Identifier: BSD-3-Clause */
/* Ethernet, ARP, IPv4 and ping for one address; TCP segments go on to tcp.h. */
#ifndef UNIKERNEL_NET_H
#define UNIKERNEL_NET_H

#include "nic.h"

#define NET_ADDRESS 0x0a00020fu /* 10.0.2.15: the guest's address in QEMU's user network */

#define ETH_HDR 14u
#define IP_HDR  20u

struct net_stats {
	uint64_t arps;     /* ARP requests answered                                       */
	uint64_t pings;    /* pings answered                                              */
	uint64_t ip_wrong; /* IPv4 packets ignored: wrong checksum, length or address, or a fragment */
	uint64_t ignored;  /* packets of other kinds ignored                              */
};

extern struct net_stats net_stats;

/* A packet from the network. Stays the caller's. */
void net_input(struct nic *nic, const struct vnetrx_pkt *pkt);

/* An IPv4 packet that was received, its headers in one piece. */
struct net_packet {
	struct nic *nic;
	const struct vnetrx_pkt *pkt;
	const uint8_t *hdr;   /* the frame's first bytes */
	uint32_t l4;          /* offsets from there: the transport header ... */
	uint32_t end;         /* ... and the end of the IP packet             */
};

/* Fills in Ethernet and IPv4 header of an answer to `hdr`, with `len` bytes behind them, and sends it. */
void net_answer(struct nic *nic, const uint8_t *hdr, uint8_t *frame, uint8_t protocol, uint32_t len);

/* Sum of the 16-bit words at p (RFC 1071), not folded; only the last piece of a sum may have an odd length. */
uint64_t net_sum(const uint8_t *p, uint32_t len, uint64_t sum);

/* The same for `len` bytes of a packet from `off` on, whatever the pieces are. */
uint64_t net_sum_packet(const struct vnetrx_pkt *pkt, uint32_t off, uint32_t len, uint64_t sum);

/* What stands in a checksum field for it, or 0 when the sum included a right checksum; as bytes in memory. */
uint16_t net_fold(uint64_t sum);

static inline uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t get32(const uint8_t *p)
{
	return get16(p) << 16 | get16(p + 2);
}

static inline void put16(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static inline void put32(uint8_t *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p + 2, value);
}

#endif
