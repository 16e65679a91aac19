/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The traffic of the benchmarks, headers only (payload bytes are never looked at).
 *
 * Packet i of `flows` flows belongs to flow
 *   train44  (i / 44) % flows      bulk transfers, as a sender's segmentation offload spaces them
 *   rr       i % flows             the worst mix that still has an order
 *   rand     xorshift32 % flows
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#define TRAFFIC_HDR       66u   /* Ethernet 14, IPv4 20, TCP 20 and 12 of options */
#define TRAFFIC_PAYLOAD   1448u
#define TRAFFIC_FRAME     (TRAFFIC_HDR + TRAFFIC_PAYLOAD)
#define TRAFFIC_FLOWS_MAX 65536u
#define TRAFFIC_HDR_MAX   128u

enum traffic_pattern { TRAFFIC_TRAIN44, TRAFFIC_RR, TRAFFIC_RAND, TRAFFIC_PATTERNS };

enum traffic_kind {
	TRAFFIC_TCP4,      /* TCP over IPv4 with timestamps                     */
	TRAFFIC_TCP4_VLAN, /* the same behind a tag                             */
	TRAFFIC_TCP6,      /* over IPv6                                         */
	TRAFFIC_VXLAN,     /* TCP4 in VXLAN over IPv4, outer UDP checksum zero  */
	TRAFFIC_UDP4,      /* UDP over IPv4                                     */
	TRAFFIC_KINDS
};

struct traffic {
	enum traffic_pattern pattern;
	uint32_t flows;
	uint32_t i;                         /* packets so far                                     */
	uint32_t rnd;
	const uint32_t *numbers;            /* of the flows; NULL = 0, 1, 2, ...                  */
	uint32_t push_every;                /* PSH on so many-th segments of a flow; 0 = on none  */
	uint32_t hdr_len;
	uint32_t frame_len;
	uint32_t outer_l3;                  /* 0 = no tunnel                                      */
	uint32_t l3;
	uint32_t l4;
	uint8_t  headers[TRAFFIC_HDR_MAX];  /* what no packet changes                             */
	uint32_t sent[TRAFFIC_FLOWS_MAX];   /* of each flow; of more flows several share a count  */
};

const char *traffic_name(enum traffic_pattern pattern);
const char *traffic_kind_name(enum traffic_kind kind);

/* Starts the stream anew, with TRAFFIC_TCP4 and TRAFFIC_PAYLOAD. */
void traffic_init(struct traffic *t, enum traffic_pattern pattern, uint32_t flows);

/* Other frames, from the first packet on. */
void traffic_frames(struct traffic *t, enum traffic_kind kind, uint32_t payload);

/* Writes the headers of the next packet of the stream (hdr_len bytes). */
void traffic_write(struct traffic *t, uint8_t *frame);

/* Writes those of one packet: the nth of the flow with this number. */
void traffic_frame(const struct traffic *t, uint8_t *frame, uint32_t number, uint32_t nth);

/* Sets PSH in a TCP frame. */
void traffic_push(const struct traffic *t, uint8_t *frame);

/* Which packet of which flow a TCP frame begins with, and whether it has PSH. */
struct traffic_id {
	uint32_t number;
	uint32_t nth;
	bool     push;
};

struct traffic_id traffic_read(const struct traffic *t, const uint8_t *frame);

#endif
