/* SPDX-License-Identifier: BSD-3-Clause */
#include "vouch.h"

#include <string.h>

#define ETH_HDR   14u
#define VLAN_HDR  4u
#define IPV4_HDR  20u
#define IPV6_HDR  40u
#define PROTO_TCP 6u
#define PROTO_UDP 17u

struct place {
	uint32_t l3;
	uint32_t l4;
	uint32_t end;   /* of the IP packet */
	uint32_t proto;
	bool     ipv6;
};

static uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t sum(const uint8_t *p, uint32_t len, uint32_t start)
{
	uint32_t i;

	for (i = 0u; i + 1u < len; i += 2u)
		start += be16(p + i);
	return i < len ? start + ((uint32_t)p[i] << 8) : start;
}

static uint32_t fold(uint32_t s)
{
	s = (s & 0xffffu) + (s >> 16);
	return (s & 0xffffu) + (s >> 16);
}

static bool find_ipv4(const uint8_t *f, uint32_t len, struct place *at)
{
	uint32_t hdr;

	if (at->l3 + IPV4_HDR > len || f[at->l3] >> 4 != 4u)
		return false;
	hdr = (f[at->l3] & 15u) * 4u;
	at->l4 = at->l3 + hdr;
	at->end = at->l3 + be16(f + at->l3 + 2u);
	at->proto = f[at->l3 + 9u];
	return hdr >= IPV4_HDR && (be16(f + at->l3 + 6u) & 0x3fffu) == 0u;
}

static bool find_ipv6(const uint8_t *f, uint32_t len, struct place *at)
{
	if (at->l3 + IPV6_HDR > len || f[at->l3] >> 4 != 6u)
		return false;
	at->l4 = at->l3 + IPV6_HDR;
	at->end = at->l4 + be16(f + at->l3 + 4u);
	at->proto = f[at->l3 + 6u];
	at->ipv6 = true;
	return true;
}

/* Finds a whole TCP or UDP packet. */
static bool find(const uint8_t *f, uint32_t len, struct place *at)
{
	uint32_t type;
	bool found;

	if (len < ETH_HDR + VLAN_HDR)
		return false;
	*at = (struct place){ .l3 = ETH_HDR };
	type = be16(f + 12);
	if (type == 0x8100u) {
		type = be16(f + 16);
		at->l3 += VLAN_HDR;
	}
	found = type == 0x0800u ? find_ipv4(f, len, at) : type == 0x86ddu && find_ipv6(f, len, at);
	if (!found || at->end > len)
		return false;
	return at->proto == PROTO_TCP ? at->l4 + 20u <= at->end : at->proto == PROTO_UDP && at->l4 + 8u <= at->end;
}

/* The sum of addresses, protocol and length that the transport checksum begins with. */
static uint32_t pseudo(const uint8_t *f, const struct place *at)
{
	uint32_t start = at->proto + (at->end - at->l4);

	return at->ipv6 ? sum(f + at->l3 + 8u, 32u, start) : sum(f + at->l3 + 12u, 8u, start);
}

static void add_gso(const uint8_t *f, const struct place *at, uint32_t mtu, struct vnetrx_meta *meta)
{
	uint32_t hdrs = at->l4 - at->l3 + (f[at->l4 + 12u] >> 4) * 4u;

	if (at->proto != PROTO_TCP || at->end - at->l3 <= mtu || hdrs >= mtu)
		return;
	meta->gso_type = at->ipv6 ? VNETRX_GSO_TCPV6 : VNETRX_GSO_TCPV4;
	meta->gso_size = (uint16_t)(mtu - hdrs);
}

void vouch(const uint8_t *frame, uint32_t len, uint32_t mtu, struct vnetrx_meta *meta)
{
	struct place at;
	uint32_t offset, field, start;

	memset(meta, 0, sizeof(*meta));
	if (!find(frame, len, &at))
		return;
	offset = at.proto == PROTO_TCP ? 16u : 6u;
	field = be16(frame + at.l4 + offset);
	start = pseudo(frame, &at);
	if (field == fold(start)) {
		meta->flags = VNETRX_PKT_PARTIAL;
		meta->csum_start = (uint16_t)at.l4;
		meta->csum_offset = (uint16_t)offset;
		add_gso(frame, &at, mtu, meta);
	} else if (fold(sum(frame + at.l4, at.end - at.l4, start)) == 0xffffu) {
		meta->flags = VNETRX_PKT_CSUM_OK;
	}
}
