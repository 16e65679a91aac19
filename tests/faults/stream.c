/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "rng.h"

#define ETH  14u
#define IP4  20u
#define IP6  40u
#define TCP  20u
#define PORT 2000u

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

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) << 16 | get16(p + 2);
}

/* Ones-complement sum of len bytes, not folded. */
static uint64_t sum16(const uint8_t *p, uint32_t len)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i + 1u < len; i += 2u)
		sum += get16(p + i);
	return len % 2u != 0u ? sum + (uint32_t)p[len - 1u] * 256u : sum;
}

static uint32_t fold(uint64_t sum)
{
	while (sum > 0xffffu)
		sum = (sum & 0xffffu) + (sum >> 16);
	return (uint32_t)~sum & 0xffffu;
}

static uint8_t byte_at(unsigned flow, uint64_t pos)
{
	return (uint8_t)(pos ^ (pos >> 8) ^ (flow * 37u));
}

void stream_init(struct stream *s, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	s->rng = seed;
}

/* Mostly full segments, some short or empty-looking ones, now and then the largest. */
static uint32_t payload_len(struct stream *s, uint32_t headers)
{
	uint32_t dice = rng_below(&s->rng, 256u);

	if (dice < 160u)
		return 1448u;
	if (dice < 200u)
		return 1u + rng_below(&s->rng, 100u);
	if (dice < 253u || !s->big)
		return 1u + rng_below(&s->rng, 1448u);
	return dice == 255u ? STREAM_FRAME_MAX - headers : 1448u + rng_below(&s->rng, 20000u);
}

static void ip_header(uint8_t *ip, bool v6, unsigned flow, uint64_t pos, uint32_t len)
{
	if (v6) {
		put32(ip, 0x60000000u);
		put16(ip + 4, len);
		ip[6] = 6;
		ip[7] = 64;
		ip[23] = (uint8_t)flow;
		ip[39] = 1;
		return;
	}
	put16(ip, 0x4500u);
	put16(ip + 2, IP4 + len);
	put16(ip + 4, (uint32_t)(pos / 1448u));
	put16(ip + 6, 0x4000u);
	ip[8] = 64;
	ip[9] = 6;
	put32(ip + 12, 0x0a000000u + flow);
	put32(ip + 16, 0x0a800001u);
	put16(ip + 10, fold(sum16(ip, IP4)));
}

static void tcp_csum(uint8_t *ip, bool v6, uint32_t len)
{
	uint8_t *tcp = ip + (v6 ? IP6 : IP4);
	uint64_t sum = v6 ? sum16(ip + 8, 32u) : sum16(ip + 12, 8u);

	put16(tcp + 16, fold(sum + 6u + len + sum16(tcp, len)));
}

void stream_next(struct stream *s)
{
	unsigned flow = rng_below(&s->rng, STREAM_FLOWS);
	bool v6 = flow % 2u != 0u;
	uint32_t headers = ETH + (v6 ? IP6 : IP4) + TCP;
	uint32_t len = payload_len(s, headers);
	uint64_t pos = s->sent[flow];
	uint8_t *ip = s->frame + ETH;
	uint8_t *tcp = s->frame + headers - TCP;
	uint32_t i;

	memset(s->frame, 0, 96u);
	memset(&s->meta, 0, sizeof(s->meta));
	s->frame[0] = s->frame[6] = 2;
	put16(s->frame + 12, v6 ? 0x86ddu : 0x0800u);
	put16(tcp, PORT + flow);
	put16(tcp + 2, PORT);
	put32(tcp + 4, (uint32_t)pos);
	put16(tcp + 12, rng_below(&s->rng, 16u) == 0u ? 0x5018u : 0x5010u);
	put16(tcp + 14, 512u);
	for (i = 0; i < len; i++)
		s->frame[headers + i] = byte_at(flow, pos + i);
	ip_header(ip, v6, flow, pos, TCP + len);
	if (rng_below(&s->rng, 8u) == 0u)
		tcp_csum(ip, v6, TCP + len);
	else
		s->meta.flags = VNETRX_PKT_CSUM_OK;
	s->len = headers + len;
	if (s->len < 60u) {
		memset(s->frame + s->len, 0, 60u - s->len);
		s->len = 60u;
	}
	s->sent[flow] += len;
}

void stream_sync(struct stream *s)
{
	memcpy(s->arrived, s->sent, sizeof(s->arrived));
}

bool stream_complete(const struct stream *s)
{
	return memcmp(s->arrived, s->sent, sizeof(s->arrived)) == 0;
}

/* What lies before seq was lost. */
static void skip_gap(struct stream *s, unsigned flow, uint32_t seq)
{
	uint64_t gap = (uint32_t)(seq - (uint32_t)s->arrived[flow]);

	if (s->arrived[flow] + gap >= s->sent[flow])
		fail_msg("a packet of flow %u came too late, or was never sent", flow);
	s->arrived[flow] += gap;
}

void stream_check(struct stream *s, const struct vnetrx_pkt *pkt)
{
	static uint8_t bytes[1u << 20];
	bool v6 = pkt->data[12] == 0x86u;
	uint32_t headers = ETH + (v6 ? IP6 : IP4) + TCP;
	uint32_t len, i;
	unsigned flow;

	assert_true(pkt->len <= sizeof(bytes));
	assert_int_equal(vnetrx_pkt_copy(pkt, 0, bytes, pkt->len), pkt->len);
	assert_true(pkt->len >= headers);
	len = v6 ? get16(bytes + ETH + 4) - TCP : get16(bytes + ETH + 2) - IP4 - TCP;
	flow = get16(bytes + headers - TCP) - PORT;
	assert_true(flow < STREAM_FLOWS);
	if (headers + len != pkt->len && (pkt->len != 60u || headers + len > 60u))
		fail_msg("a packet of %u bytes has an IP length of %u", pkt->len, headers + len - ETH);
	if (s->gaps)
		skip_gap(s, flow, get32(bytes + headers - TCP + 4));
	assert_int_equal(get32(bytes + headers - TCP + 4), (uint32_t)s->arrived[flow]);
	for (i = 0; i < len; i++)
		if (bytes[headers + i] != byte_at(flow, s->arrived[flow] + i))
			fail_msg("byte %u of a packet of flow %u is not the one sent", i, flow);
	s->arrived[flow] += len;
}
