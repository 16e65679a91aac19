/* SPDX-License-Identifier: BSD-3-Clause */
#include "traffic.h"

#include <string.h>

/* Everything that no packet changes; the IPv4 checksum is patched. */
static const uint8_t headers[TRAFFIC_HDR] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x08, 0x00,
	0x45, 0x00, 0x05, 0xdc, 0x00, 0x00, 0x40, 0x00, 0x40, 0x06, 0x00, 0x00, 10, 0, 0, 0, 10, 128, 0, 1,
	0x04, 0x00, 0x14, 0x51, 0, 0, 0, 0, 0, 0, 0, 1, 0x80, 0x10, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x01, 0x01, 0x08, 0x0a, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00,
};

#define OFF_IP_ID   18u
#define OFF_IP_CSUM 24u
#define OFF_IP_SRC  26u
#define OFF_SPORT   34u
#define OFF_SEQ     38u
#define OFF_FLAGS   47u
#define PSH         0x08u
#define FIRST_PORT  1024u
#define FLOW_SEQ    1000003u /* between the first sequence numbers of neighbours */

/* Ones-complement sum of the fixed words: 4500 05dc 4000 4006 0a00 0a80 0001 */
#define FIXED_SUM (0x4500u + 0x05dcu + 0x4000u + 0x4006u + 0x0a00u + 0x0a80u + 0x0001u)

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

const char *traffic_name(enum traffic_pattern pattern)
{
	static const char *const names[TRAFFIC_PATTERNS] = { "train44", "rr", "rand" };

	return names[pattern];
}

void traffic_init(struct traffic *t, enum traffic_pattern pattern, uint32_t flows)
{
	memset(t, 0, sizeof(*t));
	t->pattern = pattern;
	t->flows = flows;
	t->rnd = 2463534242u;
}

static uint32_t next_flow(struct traffic *t)
{
	uint32_t i = t->i++;

	if (t->pattern == TRAFFIC_TRAIN44)
		return i / 44u % t->flows;
	if (t->pattern == TRAFFIC_RR)
		return i % t->flows;
	t->rnd ^= t->rnd << 13;
	t->rnd ^= t->rnd >> 17;
	t->rnd ^= t->rnd << 5;
	return t->rnd % t->flows;
}

void traffic_segment(uint8_t *frame, uint32_t flow, uint32_t nth)
{
	uint32_t seq = flow * FLOW_SEQ + nth * TRAFFIC_PAYLOAD;
	uint32_t sum = FIXED_SUM + (nth & 0xffffu) + flow;

	memcpy(frame, headers, sizeof(headers));
	put16(frame + OFF_IP_ID, nth);
	put16(frame + OFF_IP_SRC + 2, flow);
	put16(frame + OFF_SPORT, FIRST_PORT + flow);
	put16(frame + OFF_SEQ, seq >> 16);
	put16(frame + OFF_SEQ + 2, seq);
	while (sum > 0xffffu)
		sum = (sum & 0xffffu) + (sum >> 16);
	put16(frame + OFF_IP_CSUM, ~sum);
}

void traffic_write(struct traffic *t, uint8_t *frame)
{
	uint32_t flow = next_flow(t);

	traffic_segment(frame, flow, t->sent[flow]++);
}

void traffic_push(uint8_t *frame)
{
	frame[OFF_FLAGS] |= PSH;
}

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

struct traffic_id traffic_read(const uint8_t *frame)
{
	struct traffic_id id = { .flow = get16(frame + OFF_SPORT) - FIRST_PORT };
	uint32_t seq = get16(frame + OFF_SEQ) << 16 | get16(frame + OFF_SEQ + 2);

	id.nth = (seq - id.flow * FLOW_SEQ) / TRAFFIC_PAYLOAD;
	id.push = (frame[OFF_FLAGS] & PSH) != 0;
	return id;
}
