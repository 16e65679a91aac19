/* SPDX-License-Identifier: BSD-3-Clause */
#include "encap.h"

#include <stdbool.h>
#include <string.h>

#include "frames.h"

#define ETH   14u
#define IPV4  20u
#define IPV6  40u
#define UDP   8u
#define VXLAN 8u

static void put_eth(uint8_t *p, uint16_t type)
{
	memset(p, 0x02, 12);
	fr_put16(p + 12, type);
}

static void put_ipv4(uint8_t *ip, size_t len, uint8_t proto, uint16_t id)
{
	static const uint8_t addrs[8] = { 192, 168, 0, 1, 192, 168, 0, 2 };

	memset(ip, 0, IPV4);
	ip[0] = 0x45;
	fr_put16(ip + 2, (uint32_t)(IPV4 + len));
	fr_put16(ip + 4, id);
	fr_put16(ip + 6, 0x4000);
	ip[8] = 63;
	ip[9] = proto;
	memcpy(ip + 12, addrs, 8);
	fr_put16(ip + 10, 0xffffu - fr_sum(0, ip, IPV4));
}

static void put_ipv6(uint8_t *ip, size_t len, uint8_t proto)
{
	memset(ip, 0, IPV6);
	ip[0] = 0x60;
	fr_put16(ip + 4, (uint32_t)len);
	ip[6] = proto;
	ip[7] = 63;
	ip[8] = ip[24] = 0xfd;
	ip[23] = 1;
	ip[39] = 2;
}

static size_t vxlan(uint8_t *frame, size_t len, uint16_t id, bool v6, bool csum)
{
	size_t   l4 = ETH + (v6 ? IPV6 : IPV4);
	size_t   udp_len = UDP + VXLAN + len;
	uint8_t *udp = frame + l4;

	memmove(udp + UDP + VXLAN, frame, len);
	put_eth(frame, v6 ? 0x86dd : 0x0800);
	if (v6)
		put_ipv6(frame + ETH, udp_len, FR_UDP);
	else
		put_ipv4(frame + ETH, udp_len, FR_UDP, id);
	memset(udp, 0, UDP + VXLAN);
	fr_put16(udp, 50000);
	fr_put16(udp + 2, 4789);
	fr_put16(udp + 4, (uint32_t)udp_len);
	udp[8] = 0x08;
	udp[14] = 42;
	if (csum)
		fr_put16(udp + 6, 0xffffu - fr_sum(fr_pseudo(frame + ETH, FR_UDP, (uint32_t)udp_len), udp, udp_len));
	return l4 + udp_len;
}

static size_t in_ip(uint8_t *frame, size_t len, uint16_t id, bool gre)
{
	size_t   at = ETH + IPV4 + (gre ? 4u : 0u);
	uint16_t type = fr_get16(frame + 12);

	memmove(frame + at, frame + ETH, len - ETH);
	put_eth(frame, 0x0800);
	put_ipv4(frame + ETH, at - ETH - IPV4 + len - ETH, gre ? 47 : type == 0x86dd ? 41 : 4, id);
	if (gre) {
		fr_put16(frame + ETH + IPV4, 0);
		fr_put16(frame + ETH + IPV4 + 2, type);
	}
	return at + len - ETH;
}

static size_t pppoe(uint8_t *frame, size_t len)
{
	uint16_t type = fr_get16(frame + 12);

	memmove(frame + ETH + 8, frame + ETH, len - ETH);
	fr_put16(frame + 12, 0x8864);
	frame[14] = 0x11;
	frame[15] = 0;
	fr_put16(frame + 16, 7);
	fr_put16(frame + 18, (uint32_t)(len - ETH + 2u));
	fr_put16(frame + 20, type == 0x86dd ? 0x57 : 0x21);
	return len + 8u;
}

size_t encap_frame(enum encap how, uint8_t *frame, size_t len, uint16_t id)
{
	switch (how) {
	case ENCAP_VXLAN4:
	case ENCAP_VXLAN4_CSUM:
		return vxlan(frame, len, id, false, how == ENCAP_VXLAN4_CSUM);
	case ENCAP_VXLAN6:
		return vxlan(frame, len, id, true, false);
	case ENCAP_GRE:
	case ENCAP_IPIP:
		return in_ip(frame, len, id, how == ENCAP_GRE);
	case ENCAP_PPPOE:
		return pppoe(frame, len);
	default:
		return len;
	}
}
