/* SPDX-License-Identifier: BSD-3-Clause */
#include "view.h"

#include <string.h>

#include "frames.h"

#define NO_IP 0u

/* From an EtherType field at `off` over tags; returns the IP version behind them and sets *l3, or NO_IP. */
static unsigned read_l2(struct view *v, size_t off, size_t *l3, bool inner)
{
	unsigned tags = 0;
	unsigned type;

	if (off + 2u > v->len)
		return NO_IP;
	for (type = fr_get16(v->bytes + off); type == 0x8100u || type == 0x88a8u; type = fr_get16(v->bytes + off)) {
		off += 4;
		if (++tags > 2u || off + 2u > v->len)
			return NO_IP;
	}
	*l3 = off + 2u;
	if (type == 0x8864u && !inner) { /* PPPoE session: version and type 1, code 0, PPP protocol */
		if (*l3 + 8u > v->len || v->bytes[*l3] != 0x11u || v->bytes[*l3 + 1u] != 0u)
			return NO_IP;
		v->pppoe = true;
		type = fr_get16(v->bytes + *l3 + 6u);
		*l3 += 8u;
		return type == 0x0021u ? 4u : type == 0x0057u ? 6u : NO_IP;
	}
	return type == 0x0800u ? 4u : type == 0x86ddu ? 6u : NO_IP;
}

static void read_ipv4(const struct view *v, size_t l3, struct view_ip *ip)
{
	const uint8_t *p = v->bytes + l3;
	size_t hdr;

	if (l3 + 20u > v->len || p[0] / 16u != 4u)
		return;
	hdr = p[0] % 16u * 4u;
	ip->there = true;
	ip->l3 = l3;
	memcpy(ip->src, p + 12, 4);
	memcpy(ip->dst, p + 16, 4);
	ip->proto = p[9];
	ip->end = l3 + fr_get16(p + 2);
	ip->fragment = fr_get16(p + 6) % 0x4000u != 0u || p[6] / 128u != 0u;
	ip->options = hdr > 20u;
	ip->cut = ip->end > v->len || ip->end < l3 + hdr || l3 + hdr > v->len || hdr < 20u;
	if (ip->end < l3 + hdr || l3 + hdr > v->len || hdr < 20u)
		return;
	ip->csum_ok = fr_sum(0, p, hdr) == 0xffffu;
	if (!ip->fragment)
		ip->l4 = l3 + hdr;
}

static void read_ipv6(const struct view *v, size_t l3, struct view_ip *ip)
{
	const uint8_t *p = v->bytes + l3;
	size_t off = l3 + 40u;

	if (off > v->len || p[0] / 16u != 6u)
		return;
	ip->there = ip->v6 = ip->csum_ok = true;
	ip->l3 = l3;
	memcpy(ip->src, p + 8, 16);
	memcpy(ip->dst, p + 24, 16);
	ip->end = off + fr_get16(p + 4);
	ip->cut = ip->end > v->len;
	ip->proto = p[6];
	while (ip->proto == 0u || ip->proto == 43u || ip->proto == 60u) {
		if (off + 8u > v->len || off + 8u > ip->end) {
			ip->cut = true;
			return;
		}
		ip->proto = v->bytes[off];
		off += (v->bytes[off + 1] + 1u) * 8u;
		if (off > v->len || off > ip->end) {
			ip->cut = true;
			return;
		}
	}
	ip->fragment = ip->proto == 44u;
	if (!ip->fragment)
		ip->l4 = off;
}

static void read_ip(const struct view *v, unsigned version, size_t l3, struct view_ip *ip)
{
	memset(ip, 0, sizeof(*ip));
	if (version == 4u)
		read_ipv4(v, l3, ip);
	else if (version == 6u)
		read_ipv6(v, l3, ip);
}

/* What an EtherType says of the bytes at off: Ethernet, or IP. */
static unsigned read_typed(struct view *v, unsigned type, size_t off, size_t *l3)
{
	if (type == 0x6558u)
		return read_l2(v, off + 12u, l3, true);
	*l3 = off;
	return type == 0x0800u ? 4u : type == 0x86ddu ? 6u : NO_IP;
}

static unsigned read_udp_tunnel(struct view *v, size_t l4, size_t *l3)
{
	size_t off = l4 + 8u;
	const uint8_t *p = v->bytes + off;
	unsigned port = fr_get16(v->bytes + l4 + 2);

	if (off + 8u > v->len)
		return NO_IP;
	if (port == 4789u && p[0] / 8u % 2u == 1u)
		return read_l2(v, off + 8u + 12u, l3, true);
	if (port == 4790u && p[0] / 4u % 2u == 1u) {
		*l3 = off + 8u;
		return p[3] == 1u ? 4u : p[3] == 2u ? 6u : p[3] == 3u ? read_l2(v, off + 8u + 12u, l3, true) : NO_IP;
	}
	if (port == 6081u && p[0] / 64u == 0u && p[1] / 128u == 0u)
		return read_typed(v, fr_get16(p + 2), off + 8u + p[0] % 64u * 4u, l3);
	return NO_IP;
}

/* The IP version in a tunnel, and where it begins; NO_IP: no tunnel, or one that is not understood. */
static unsigned read_tunnel(struct view *v, const struct view_ip *ip, size_t *l3)
{
	const uint8_t *p = v->bytes + ip->l4;

	*l3 = ip->l4;
	if (ip->proto == FR_UDP)
		return ip->l4 + 8u <= v->len ? read_udp_tunnel(v, ip->l4, l3) : NO_IP;
	if (ip->proto == 4u)
		return 4u;
	if (ip->proto == 41u)
		return 6u;
	if (ip->proto != 47u || ip->l4 + 4u > v->len)
		return NO_IP;
	if (fr_get16(p) == 0u)
		return read_typed(v, fr_get16(p + 2), ip->l4 + 4u, l3);
	return fr_get16(p) == 0x2000u ? read_typed(v, fr_get16(p + 2), ip->l4 + 8u, l3) : NO_IP;
}

static void read_tcp(struct view *v, size_t end)
{
	const uint8_t *tcp = v->bytes + v->l4;
	size_t hdr;

	if (end - v->l4 < 20u)
		return;
	hdr = tcp[12] / 16u * 4u;
	if (hdr < 20u || hdr > end - v->l4)
		return;
	v->tcp = true;
	v->payload = v->l4 + hdr;
	v->flags = fr_get16(tcp + 12) % 4096u;
}

static void read_udp(struct view *v, size_t end)
{
	if (end - v->l4 < 8u || fr_get16(v->bytes + v->l4 + 4) != end - v->l4)
		return;
	v->udp = true;
	v->payload = v->l4 + 8u;
}

static void read_l4(struct view *v)
{
	size_t end = v->ip.end < v->len ? v->ip.end : v->len;
	uint16_t sum;

	if (v->ip.l4 == 0u || (v->ip.proto != FR_TCP && v->ip.proto != FR_UDP))
		return;
	if (v->ip.l4 + 4u > end) {
		v->cut = true;
		return;
	}
	v->kind = VIEW_PORTS;
	v->l4 = v->ip.l4;
	v->sport = fr_get16(v->bytes + v->l4);
	v->dport = fr_get16(v->bytes + v->l4 + 2);
	if (v->ip.proto == FR_TCP)
		read_tcp(v, end);
	else
		read_udp(v, end);
	if (!v->tcp && !v->udp)
		return;
	v->payload_len = end - v->payload;
	sum = fr_pseudo(v->bytes + v->ip.l3, v->ip.proto, (uint32_t)(end - v->l4));
	v->l4_csum_ok = fr_sum(sum, v->bytes + v->l4, end - v->l4) == 0xffffu;
	if (v->udp && fr_get16(v->bytes + v->l4 + 6) == 0u)
		v->l4_csum_ok = false;
}

static void read_inner(struct view *v)
{
	size_t l3;
	unsigned version;
	struct view_ip inner;

	if (v->ip.l4 == 0u)
		return;
	version = read_tunnel(v, &v->ip, &l3);
	read_ip(v, version, l3, &inner);
	if (!inner.there)
		return;
	v->outer = v->ip;
	v->ip = inner;
	v->udp_tunnel = v->outer.proto == FR_UDP;
	if (inner.end != v->outer.end)
		v->cut = true;
}

void view_frame(struct view *v, const uint8_t *bytes, size_t len)
{
	size_t l3 = 0;
	unsigned version;

	memset(v, 0, sizeof(*v));
	v->bytes = bytes;
	v->len = len;
	version = read_l2(v, 12, &l3, false);
	read_ip(v, version, l3, &v->ip);
	v->ip.end = v->ip.there ? v->ip.end : len;
	if (!v->ip.there)
		return;
	v->kind = VIEW_PAIR;
	read_inner(v);
	v->cut |= v->ip.cut || v->outer.cut;
	read_l4(v);
	v->trailer = view_first(v)->end < len && len > 60u;
}

const struct view_ip *view_first(const struct view *v)
{
	return v->outer.there ? &v->outer : &v->ip;
}

static bool same_addresses(const struct view_ip *a, const struct view_ip *b)
{
	return a->there == b->there && a->v6 == b->v6 && memcmp(a->src, b->src, 16) == 0 &&
	       memcmp(a->dst, b->dst, 16) == 0;
}

bool view_same_pair(const struct view *a, const struct view *b)
{
	return a->kind != VIEW_OPAQUE && b->kind != VIEW_OPAQUE && same_addresses(&a->ip, &b->ip) &&
	       same_addresses(&a->outer, &b->outer);
}

bool view_same_flow(const struct view *a, const struct view *b)
{
	return a->kind == VIEW_PORTS && b->kind == VIEW_PORTS && view_same_pair(a, b) && a->ip.proto == b->ip.proto &&
	       a->sport == b->sport && a->dport == b->dport;
}

bool view_pair_covers(const struct view *p, const struct view *x)
{
	if (p->kind != VIEW_PAIR || x->kind == VIEW_OPAQUE)
		return false;
	if (p->outer.there)
		return view_same_pair(p, x);
	return same_addresses(&p->ip, view_first(x));
}

size_t view_trimmed(const struct view *v)
{
	size_t end = view_first(v)->end;

	return v->kind != VIEW_OPAQUE && !v->cut && v->len <= 60u && end < v->len ? end : v->len;
}
