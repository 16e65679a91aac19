/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The traffic of the benchmarks: TCP over IPv4 with timestamps, headers only (payload bytes are never looked at).
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
#define TRAFFIC_FLOWS_MAX 1024u

enum traffic_pattern { TRAFFIC_TRAIN44, TRAFFIC_RR, TRAFFIC_RAND, TRAFFIC_PATTERNS };

struct traffic {
	enum traffic_pattern pattern;
	uint32_t flows;
	uint32_t i;                         /* packets so far                  */
	uint32_t rnd;
	uint32_t sent[TRAFFIC_FLOWS_MAX];   /* of each flow                    */
};

const char *traffic_name(enum traffic_pattern pattern);

/* Starts the stream anew. */
void traffic_init(struct traffic *t, enum traffic_pattern pattern, uint32_t flows);

/* Writes the headers of the next packet of the stream (TRAFFIC_HDR bytes). */
void traffic_write(struct traffic *t, uint8_t *frame);

/* The headers of the nth packet of a flow. */
void traffic_segment(uint8_t *frame, uint32_t flow, uint32_t nth);

/* PSH, which the headers of traffic_segment() do not have. */
void traffic_push(uint8_t *frame);

/* Which packet of which flow a frame begins with, and whether it has PSH. */
struct traffic_id {
	uint32_t flow;
	uint32_t nth;
	bool     push;
};

struct traffic_id traffic_read(const uint8_t *frame);

#endif
