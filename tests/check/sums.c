/* SPDX-License-Identifier: BSD-3-Clause */
#include "sums.h"

#include <stddef.h>

static uint32_t fold(uint64_t sum)
{
	while (sum > 0xffffu)
		sum = sum % 65536u + sum / 65536u;
	return (uint32_t)sum;
}

static uint64_t add(uint64_t sum, const uint8_t *p, uint32_t len)
{
	for (; len > 1u; p += 2, len -= 2u)
		sum += get16(p);
	return len != 0u ? sum + p[0] * 256u : sum;
}

static uint32_t ipv4_sum(const struct ip *ip, const uint8_t *data)
{
	return fold(add(0, data + ip->l3, data[ip->l3] % 16u * 4u));
}

/* From the transport header to the end, with the pseudo header. */
static uint32_t l4_sum(const struct ip *ip, const uint8_t *data)
{
	uint32_t size;
	uint32_t addrs = layout_addrs(ip, &size);
	uint64_t sum = add(ip->proto, data + addrs, size) + (ip->end - ip->l4) / 65536u + (ip->end - ip->l4) % 65536u;

	return fold(add(sum, data + ip->l4, ip->end - ip->l4));
}

static bool outer_udp(const struct layout *lay)
{
	return lay->tunnel && lay->first.proto == PROTO_UDP;
}

const char *sums_wrong(const struct layout *lay, const uint8_t *data)
{
	if (lay->first.version == 4u && ipv4_sum(&lay->first, data) != 0xffffu)
		return "IPv4 header";
	if (lay->tunnel && lay->inner.version == 4u && ipv4_sum(&lay->inner, data) != 0xffffu)
		return "inner IPv4 header";
	if (lay->inner.proto == PROTO_UDP) {
		if (get16(data + lay->inner.l4 + 6) != 0u && l4_sum(&lay->inner, data) != 0xffffu)
			return "UDP";
	} else if (l4_sum(&lay->inner, data) != 0xffffu) {
		return "TCP";
	}
	if (outer_udp(lay) && get16(data + lay->first.l4 + 6) != 0u && l4_sum(&lay->first, data) != 0xffffu)
		return "outer UDP";
	return NULL;
}

void sums_clear(const struct layout *lay, uint8_t *data)
{
	if (lay->first.version == 4u)
		put16(data + lay->first.l3 + 10, 0u);
	if (lay->inner.version == 4u)
		put16(data + lay->inner.l3 + 10, 0u);
	if (lay->inner.proto == PROTO_TCP)
		put16(data + lay->inner.l4 + 16, 0u);
	else if (get16(data + lay->inner.l4 + 6) != 0u)
		put16(data + lay->inner.l4 + 6, 1u);
	if (outer_udp(lay) && get16(data + lay->first.l4 + 6) != 0u)
		put16(data + lay->first.l4 + 6, 1u);
}

void sums_ipv4(const struct ip *ip, uint8_t *data)
{
	put16(data + ip->l3 + 10, 0u);
	put16(data + ip->l3 + 10, 0xffffu - ipv4_sum(ip, data));
}

void sums_l4(const struct ip *ip, uint8_t *data, uint32_t at)
{
	uint32_t sum;

	put16(data + at, 0u);
	sum = 0xffffu - l4_sum(ip, data);
	put16(data + at, ip->proto == PROTO_UDP && sum == 0u ? 0xffffu : sum);
}
