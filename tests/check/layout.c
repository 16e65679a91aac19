/* SPDX-License-Identifier: BSD-3-Clause */
#include "layout.h"

#define PADDED_MAX 60u /* shortest Ethernet frame, without its check sequence */

struct bytes {
	const uint8_t *data;
	uint32_t len;
};

uint32_t get16(const uint8_t *p)
{
	return p[0] * 256u + p[1];
}

uint32_t get32(const uint8_t *p)
{
	return get16(p) * 65536u + get16(p + 2);
}

void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v / 256u);
	p[1] = (uint8_t)v;
}

void put32(uint8_t *p, uint32_t v)
{
	put16(p, v / 65536u);
	put16(p + 2, v);
}

static void read_ipv4(const struct bytes *b, uint32_t at, struct ip *ip)
{
	uint32_t hdr, total;

	if (at + 20u > b->len || b->data[at] / 16u != 4u)
		return;
	hdr = b->data[at] % 16u * 4u;
	total = get16(b->data + at + 2);
	*ip = (struct ip){ .version = 4u, .l3 = at, .end = at + total, .proto = b->data[at + 9u] };
	if (hdr < 20u || total < hdr || at + hdr > b->len)
		return;
	if (get16(b->data + at + 6) % 0x2000u != 0u || (b->data[at + 6u] & 0xa0u) != 0u)
		return; /* a fragment, or the reserved bit */
	ip->l4 = at + hdr;
}

static void read_ipv6(const struct bytes *b, uint32_t at, struct ip *ip)
{
	uint32_t off = at + 40u;

	if (off > b->len || b->data[at] / 16u != 6u)
		return;
	*ip = (struct ip){ .version = 6u, .l3 = at, .end = off + get16(b->data + at + 4), .proto = b->data[at + 6u] };
	while (ip->proto == 0u || ip->proto == 43u || ip->proto == 60u) { /* hop-by-hop, routing, destination options */
		if (off + 8u > b->len || off + 8u > ip->end)
			return;
		ip->proto = b->data[off];
		off += b->data[off + 1u] * 8u + 8u;
	}
	if (ip->proto != 44u && off <= b->len && off <= ip->end) /* not a fragment */
		ip->l4 = off;
}

static void read_ip(const struct bytes *b, uint32_t at, uint32_t type, struct ip *ip)
{
	*ip = (struct ip){ 0 };
	if (type == TYPE_IPV4)
		read_ipv4(b, at, ip);
	else if (type == TYPE_IPV6)
		read_ipv6(b, at, ip);
}

/* Over VLAN tags, two at most; returns the EtherType behind them, 0 = none. */
static uint32_t read_eth(const struct bytes *b, uint32_t eth, uint32_t *next)
{
	uint32_t at = eth + 12u;
	unsigned tags = 0;

	while (at + 2u <= b->len) {
		uint32_t type = get16(b->data + at);

		*next = at + 2u;
		if (type != 0x8100u && type != 0x88a8u)
			return type;
		if (tags++ == 2u)
			return 0;
		at += 4u;
	}
	return 0;
}

/* An inner packet announced by an EtherType. */
static uint32_t inner_of(const struct bytes *b, uint32_t type, uint32_t at, uint32_t *next)
{
	*next = at;
	return type == 0x6558u ? read_eth(b, at, next) : type;
}

/* VXLAN (RFC 7348), VXLAN-GPE, GENEVE (RFC 8926), at their assigned ports. */
static uint32_t udp_tunnel(const struct bytes *b, uint32_t l4, uint32_t *next)
{
	static const uint32_t gpe_types[4] = { 0u, TYPE_IPV4, TYPE_IPV6, 0x6558u };
	uint32_t at = l4 + 8u;
	const uint8_t *hdr = b->data + at;

	if (at + 8u > b->len)
		return 0;
	switch (get16(b->data + l4 + 2)) {
	case 4789:
		return (hdr[0] & 0x08u) != 0u ? read_eth(b, at + 8u, next) : 0u;
	case 4790:
		return (hdr[0] & 0x04u) != 0u && hdr[3] < 4u ? inner_of(b, gpe_types[hdr[3]], at + 8u, next) : 0u;
	case 6081:
		if (hdr[0] / 64u != 0u || (hdr[1] & 0x80u) != 0u)
			return 0;
		return inner_of(b, get16(hdr + 2), at + 8u + hdr[0] % 64u * 4u, next);
	default:
		return 0;
	}
}

/* GRE with a key or without (RFC 2890). */
static uint32_t gre(const struct bytes *b, uint32_t at, uint32_t *next)
{
	uint32_t flags;

	if (at + 4u > b->len)
		return 0;
	flags = get16(b->data + at);
	if (flags != 0u && flags != 0x2000u)
		return 0;
	return inner_of(b, get16(b->data + at + 2), at + (flags != 0u ? 8u : 4u), next);
}

static void read_tunnel(const struct bytes *b, struct layout *lay)
{
	const struct ip *ip = &lay->first;
	uint32_t next = ip->l4;
	uint32_t type = 0;
	struct ip inner;

	if (ip->proto == PROTO_UDP)
		type = udp_tunnel(b, ip->l4, &next);
	else if (ip->proto == 47u)
		type = gre(b, ip->l4, &next);
	else if (ip->proto == 4u)
		type = TYPE_IPV4;
	else if (ip->proto == 41u)
		type = TYPE_IPV6;
	read_ip(b, next, type, &inner);
	if (inner.version == 0u)
		return;
	lay->inner = inner;
	lay->tunnel = true;
}

static void read_l4(const struct bytes *b, struct layout *lay)
{
	const struct ip *ip = &lay->inner;
	uint32_t end = ip->end < b->len ? ip->end : b->len;
	uint32_t hdr;

	if (ip->l4 == 0u || (ip->proto != PROTO_TCP && ip->proto != PROTO_UDP) || ip->l4 + 4u > end)
		return;
	lay->ports = true;
	if (ip->proto == PROTO_UDP && ip->l4 + 8u <= end)
		lay->payload = ip->l4 + 8u;
	if (ip->proto != PROTO_TCP || ip->l4 + 20u > end)
		return;
	hdr = b->data[ip->l4 + 12u] / 16u * 4u;
	if (hdr >= 20u && ip->l4 + hdr <= end)
		lay->payload = ip->l4 + hdr;
}

void layout_read(struct layout *lay, const uint8_t *data, uint32_t len)
{
	const struct bytes b = { data, len };
	uint32_t at = 0;
	uint32_t type = read_eth(&b, 0, &at);

	*lay = (struct layout){ 0 };
	if (type == 0x8864u && at + 8u <= len && data[at] == 0x11u && data[at + 1u] == 0u) { /* RFC 2516 */
		uint32_t ppp = get16(data + at + 6);

		lay->pppoe = true;
		type = ppp == 0x0021u ? TYPE_IPV4 : ppp == 0x0057u ? TYPE_IPV6 : 0u;
		at += 8u;
	}
	read_ip(&b, at, type, &lay->first);
	lay->inner = lay->first;
	if (lay->first.l4 != 0u)
		read_tunnel(&b, lay);
	read_l4(&b, lay);
}

uint32_t layout_unpadded(const struct layout *lay, uint32_t len)
{
	return lay->first.version != 0u && len <= PADDED_MAX && lay->first.end < len ? lay->first.end : len;
}

uint32_t layout_addrs(const struct ip *ip, uint32_t *size)
{
	*size = ip->version == 4u ? 8u : 32u;
	return ip->l3 + (ip->version == 4u ? 12u : 8u);
}
