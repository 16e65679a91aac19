/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving half of TCP (RFC 9293): what arrives in order is acknowledged, counted and thrown away.
 *
 *   SYN --> SYN_RECEIVED --ACK--> ESTABLISHED --FIN--> LAST_ACK (our FIN is out) --ACK--> closed
 *
 * Every second full segment is acknowledged at once (RFC 5681, 4.2), and so is a merged packet, which is several; what
 * is left after ACK_DELAY_NS, too. What is not the next in order is dropped and answered with an ACK, which the sender
 * counts for its fast retransmit. Data is never sent. Offered are MSS and window scale; neither SACK nor timestamps.
 */
#ifndef UNIKERNEL_TCP_H
#define UNIKERNEL_TCP_H

#include "net.h"

#define TCP_PORT 5001u /* of iperf 2 */

struct tcp_stats {
	uint64_t packets;   /* with payload, as they came up                             */
	uint64_t segs;      /* segments in them; one that the device did not count is one */
	uint64_t bytes;     /* received in order                                         */
	uint64_t acks;      /* sent, all of them                                         */
	uint64_t dup_acks;  /* of these: for what was not the next                       */
	uint64_t disorder;  /* packets dropped because they were not the next            */
	uint64_t old;       /* packets that brought nothing new                          */
	uint64_t csum_bad;  /* packets with a wrong checksum                             */
	uint64_t resets;    /* connections reset by the peer                             */
	uint64_t refused;   /* segments answered with RST                                */
	uint64_t accepted;  /* connections that were established                         */
	uint64_t closed;    /* connections that came to their end                        */
};

extern struct tcp_stats tcp_stats;

/* Before anything else: `sums` = add up the Adler-32 of each connection; `secret` goes into sequence numbers. */
void tcp_init(bool sums, uint32_t secret);

/* A TCP segment, or several merged. */
void tcp_input(const struct net_packet *p);

/* What is due; `now` is the time of all that tcp_input() gets until the next call. */
void tcp_tick(struct nic *nic, vnetrx_ns now);

/* Connections that are not closed. */
unsigned tcp_open(void);

#endif
