/* SPDX-License-Identifier: BSD-3-Clause */
#include "traffic.h"

#include <stdbool.h>
#include <string.h>

static const uint8_t eth[] = { 0x02, 0, 0, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0x02 };
static const uint8_t vlan[] = { 0x81, 0x00, 0x00, 0x64 };
static const uint8_t type_ipv4[] = { 0x08, 0x00 };
static const uint8_t type_ipv6[] = { 0x86, 0xdd };
static const uint8_t ipv4[] = { 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 0, 10, 128, 0, 1 };
static const uint8_t ipv6[] = {
	0x60, 0, 0, 0, 0, 0, 6, 64, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
};
static const uint8_t tcp[] = {
	0x04, 0x00, 0x14, 0x51, 0, 0, 0, 0, 0, 0, 0, 1, 0x80, 0x10, 0x02, 0x00, 0, 0, 0, 0,
	0x01, 0x01, 0x08, 0x0a, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00,
};
static const uint8_t udp[] = { 0x04, 0x00, 0x14, 0x51, 0, 0, 0x12, 0x34 };
static const uint8_t vxlan[] = { 0xc0, 0x00, 0x12, 0xb5, 0, 0, 0, 0, 0x08, 0, 0, 0, 0, 0, 0x2a, 0 };

#define IP_LEN     2u
#define IP_ID      4u
#define IP_PROTO   9u
#define IP_CSUM    10u
#define IP_SRC     12u
#define IPV4_HDR   20u
#define IPV6_LEN   4u
#define IPV6_SRC   8u
#define IPV6_HDR   40u
#define TCP_SEQ    4u
#define TCP_FLAGS  13u
#define UDP_LEN    4u
#define PROTO_UDP  17u
#define TCP_PSH    0x08u
#define FIRST_PORT 1024u
#define FLOW_SEQ   1000003u /* between the first sequence numbers of neighbours */

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static void put_csum(uint8_t *ip)
{
	uint32_t sum = 0;
	unsigned i;

	put16(ip + IP_CSUM, 0);
	for (i = 0; i < IPV4_HDR; i += 2u)
		sum += get16(ip + i);
	sum = (sum & 0xffffu) + (sum >> 16);
	sum = (sum & 0xffffu) + (sum >> 16);
	put16(ip + IP_CSUM, ~sum);
}

const char *traffic_name(enum traffic_pattern pattern)
{
	static const char *const names[TRAFFIC_PATTERNS] = { "train44", "rr", "rand" };

	return names[pattern];
}

const char *traffic_kind_name(enum traffic_kind kind)
{
	static const char *const names[TRAFFIC_KINDS] = { "tcp4", "vlan", "tcp6", "vxlan", "udp4" };

	return names[kind];
}

void traffic_init(struct traffic *t, enum traffic_pattern pattern, uint32_t flows)
{
	memset(t, 0, sizeof(*t));
	t->pattern = pattern;
	t->flows = flows;
	t->rnd = 2463534242u;
	traffic_frames(t, TRAFFIC_TCP4, TRAFFIC_PAYLOAD);
}

static uint32_t append(struct traffic *t, const uint8_t *piece, uint32_t len)
{
	memcpy(t->headers + t->hdr_len, piece, len);
	t->hdr_len += len;
	return t->hdr_len - len;
}

/* Lengths of a network header and of the UDP header behind it, if there is one. */
static void put_lengths(struct traffic *t, uint32_t l3, uint32_t l4)
{
	uint8_t *ip = t->headers + l3;

	if (ip[0] == 0x60u)
		put16(ip + IPV6_LEN, t->frame_len - l3 - IPV6_HDR);
	else
		put16(ip + IP_LEN, t->frame_len - l3);
	if (ip[0] == 0x45u && ip[IP_PROTO] == PROTO_UDP)
		put16(t->headers + l4 + UDP_LEN, t->frame_len - l4);
}

void traffic_frames(struct traffic *t, enum traffic_kind kind, uint32_t payload)
{
	bool v6 = kind == TRAFFIC_TCP6;

	t->hdr_len = 0;
	t->outer_l3 = 0;
	append(t, eth, sizeof(eth));
	if (kind == TRAFFIC_TCP4_VLAN)
		append(t, vlan, sizeof(vlan));
	if (kind == TRAFFIC_VXLAN) {
		append(t, type_ipv4, sizeof(type_ipv4));
		t->outer_l3 = append(t, ipv4, sizeof(ipv4));
		t->headers[t->outer_l3 + IP_PROTO] = PROTO_UDP;
		append(t, vxlan, sizeof(vxlan));
		append(t, eth, sizeof(eth));
	}
	append(t, v6 ? type_ipv6 : type_ipv4, 2u);
	t->l3 = v6 ? append(t, ipv6, sizeof(ipv6)) : append(t, ipv4, sizeof(ipv4));
	t->l4 = kind == TRAFFIC_UDP4 ? append(t, udp, sizeof(udp)) : append(t, tcp, sizeof(tcp));
	if (kind == TRAFFIC_UDP4)
		t->headers[t->l3 + IP_PROTO] = PROTO_UDP;
	t->frame_len = t->hdr_len + payload;
	put_lengths(t, t->l3, t->l4);
	if (t->outer_l3 != 0u)
		put_lengths(t, t->outer_l3, t->outer_l3 + IPV4_HDR);
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

static void put_ipv4(uint8_t *ip, uint32_t number, uint32_t nth)
{
	put16(ip + IP_ID, nth);
	put32(ip + IP_SRC, 0x0a000000u + number);
	put_csum(ip);
}

void traffic_frame(const struct traffic *t, uint8_t *frame, uint32_t number, uint32_t nth)
{
	uint8_t *l3 = frame + t->l3;
	uint8_t *l4 = frame + t->l4;
	bool v6 = t->headers[t->l3] == 0x60u;

	memcpy(frame, t->headers, t->hdr_len);
	if (v6)
		put32(l3 + IPV6_SRC + 12u, number);
	else
		put_ipv4(l3, number, nth);
	if (t->outer_l3 != 0u) {
		put_ipv4(frame + t->outer_l3, 0, nth);
		put16(frame + t->outer_l3 + IPV4_HDR, 0xc000u + number % 0x4000u);
	}
	put16(l4, FIRST_PORT + number);
	if (!v6 && l3[IP_PROTO] == PROTO_UDP)
		return;
	put32(l4 + TCP_SEQ, number * FLOW_SEQ + nth * (t->frame_len - t->hdr_len));
	if (t->push_every != 0u && nth % t->push_every == t->push_every - 1u)
		traffic_push(t, frame);
}

void traffic_push(const struct traffic *t, uint8_t *frame)
{
	frame[t->l4 + TCP_FLAGS] |= TCP_PSH;
}

struct traffic_id traffic_read(const struct traffic *t, const uint8_t *frame)
{
	const uint8_t *l4 = frame + t->l4;
	struct traffic_id id = { .number = get16(l4) - FIRST_PORT };
	uint32_t seq = get16(l4 + TCP_SEQ) << 16 | get16(l4 + TCP_SEQ + 2u);

	id.nth = (seq - id.number * FLOW_SEQ) / (t->frame_len - t->hdr_len);
	id.push = (l4[TCP_FLAGS] & TCP_PSH) != 0;
	return id;
}

void traffic_write(struct traffic *t, uint8_t *frame)
{
	uint32_t flow = next_flow(t);
	uint32_t nth = t->sent[flow % TRAFFIC_FLOWS_MAX]++;

	traffic_frame(t, frame, t->numbers != NULL ? t->numbers[flow] : flow, nth);
}
