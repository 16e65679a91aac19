/* SPDX-License-Identifier: BSD-3-Clause */
#include "view.h"

#include <string.h>

#include "frames.h"
#include "view_tunnel.h"

#define EXTS_MAX 8u /* the library walks so many IPv6 extension headers */

const struct view_rules view_usual = { .tunnels = true, .vxlan = 4789, .gpe = 4790, .geneve = 6081 };

/* ---- one network header; nothing from `limit` on is looked at ---- */

static void read_ipv4(struct view_ip *ip, const struct view_rules *rules, const uint8_t *bytes, size_t limit)
{
	const uint8_t *h = bytes + ip->l3;
	size_t hdr, total;

	if (ip->l3 + 20u > limit || h[0] / 16u != 4u)
		return;
	hdr = h[0] % 16u * 4u;
	total = fr_get16(h + 2);
	if (total == 0u && rules->big)
		total = limit - ip->l3;
	ip->there = true;
	memcpy(ip->src, h + 12, 4);
	memcpy(ip->dst, h + 16, 4);
	ip->proto = h[9];
	ip->end = ip->l3 + total;
	ip->fragment = fr_get16(h + 6) % 0x4000u != 0u || h[6] / 128u != 0u;
	ip->options = hdr > 20u;
	ip->cut = ip->end > limit || total < hdr || ip->l3 + hdr > limit || hdr < 20u;
	if (ip->l3 + hdr > limit || hdr < 20u || total < hdr)
		return;
	ip->csum_ok = fr_sum(0, h, hdr) == 0xffffu;
	if (!ip->fragment)
		ip->l4 = ip->l3 + hdr;
}

static bool is_extension(uint8_t proto)
{
	return proto == 0u || proto == 43u || proto == 60u;
}

static void read_ipv6(struct view_ip *ip, const struct view_rules *rules, const uint8_t *bytes, size_t limit)
{
	const uint8_t *h = bytes + ip->l3;
	size_t off = ip->l3 + 40u;

	if (off > limit || h[0] / 16u != 6u)
		return;
	ip->there = true;
	ip->v6 = true;
	ip->csum_ok = true;
	memcpy(ip->src, h + 8, 16);
	memcpy(ip->dst, h + 24, 16);
	ip->end = off + fr_get16(h + 4);
	if (fr_get16(h + 4) == 0u && rules->big)
		ip->end = limit;
	ip->cut = ip->end > limit;
	ip->proto = h[6];
	for (unsigned n = 0; is_extension(ip->proto); n++) {
		if (n == EXTS_MAX)
			return;
		ip->cut =
			ip->cut || off + 8u > limit || off + 8u > ip->end || off + (bytes[off + 1] + 1u) * 8u > ip->end;
		if (off + 8u > limit || off + 8u > ip->end)
			return;
		ip->proto = bytes[off];
		off += (bytes[off + 1] + 1u) * 8u;
		if (off > limit || off > ip->end)
			return;
	}
	ip->fragment = ip->proto == 44u;
	if (!ip->fragment)
		ip->l4 = off;
}

static void read_ip(struct view_ip *ip, const struct view_rules *rules, const uint8_t *bytes, size_t limit, size_t l3,
                    unsigned version)
{
	memset(ip, 0, sizeof(*ip));
	ip->l3 = l3;
	if (version == 6u)
		read_ipv6(ip, rules, bytes, limit);
	else
		read_ipv4(ip, rules, bytes, limit);
}

/* ---- transport ---- */

static bool sum_ok(const struct view *v, size_t l3, size_t l4, uint8_t proto, size_t end)
{
	uint16_t pseudo = fr_pseudo(v->bytes + l3, proto, (uint32_t)(end - l4));

	return fr_sum(pseudo, v->bytes + l4, end - l4) == 0xffffu;
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
	if (end - v->l4 < 8u)
		return;
	v->udp = true;
	v->payload = v->l4 + 8u;
	v->udp_len_ok = fr_get16(v->bytes + v->l4 + 4) == end - v->l4;
	v->l4_csum_none = fr_get16(v->bytes + v->l4 + 6) == 0u;
}

static void read_l4(struct view *v, const struct view_ip *ip, size_t limit)
{
	size_t end = ip->end < limit ? ip->end : limit;

	if (ip->l4 == 0u || (ip->proto != FR_TCP && ip->proto != FR_UDP))
		return;
	if (ip->l4 + 4u > end) {
		v->cut = true;
		return;
	}
	v->kind = VIEW_PORTS;
	v->l4 = ip->l4;
	v->sport = fr_get16(v->bytes + v->l4);
	v->dport = fr_get16(v->bytes + v->l4 + 2);
	if (v->proto == FR_TCP)
		read_tcp(v, end);
	else
		read_udp(v, end);
	if (!v->tcp && !v->udp)
		return;
	v->payload_len = end - v->payload;
	v->l4_csum_ok = sum_ok(v, v->l3, v->l4, v->proto, end);
}

/* ---- a frame ---- */

static void take_ip(struct view *v, const struct view_ip *ip)
{
	v->l3 = ip->l3;
	v->ip_end = ip->end;
	v->v6 = ip->v6;
	memcpy(v->src, ip->src, 16);
	memcpy(v->dst, ip->dst, 16);
	v->proto = ip->proto;
	v->cut = v->cut || ip->cut;
	v->fragment = v->fragment || ip->fragment;
	v->ip_options = v->ip_options || ip->options;
	v->ip_csum_ok = v->ip_csum_ok && ip->csum_ok;
}

static void read_outer_udp(struct view *v)
{
	const uint8_t *udp = v->bytes + v->outer.l4;

	v->udp_tunnel = true;
	v->lengths_ok = v->lengths_ok && fr_get16(udp + 4) == v->outer.end - v->outer.l4;
	v->outer_csum = fr_get16(udp + 6) != 0u;
	v->outer_csum_ok = v->outer.end <= v->len && sum_ok(v, v->outer.l3, v->outer.l4, FR_UDP, v->outer.end);
}

static void read_upper(struct view *v, const struct view_rules *rules, const struct view_ip *first)
{
	struct view_reader r = { v->bytes, first->end < v->len ? first->end : v->len, 0, 0 };
	struct view_reader again = r;
	enum view_inside in = view_look_inside(&r, rules, first);
	struct view_ip ip;

	if (in == IN_IP) {
		read_ip(&ip, rules, v->bytes, r.limit, r.l3, r.version);
		if (!ip.there)
			in = r.l3 + (r.version == 4u ? 20u : 40u) > r.limit ? IN_CUT : IN_UNKNOWN;
	}
	v->bad_tunnel = in == IN_UNKNOWN || in == IN_CUT;
	if (in == IN_NONE || in == IN_UNKNOWN)
		read_l4(v, first, v->len);
	if (in != IN_IP)
		return;
	v->tunnel = true;
	v->outer = *first;
	v->lengths_ok = ip.end == first->end;
	if (first->proto == FR_UDP)
		read_outer_udp(v);
	take_ip(v, &ip);
	v->bad_tunnel = view_look_inside(&again, rules, &ip) != IN_NONE;
	read_l4(v, &ip, r.limit);
}

static unsigned read_pppoe(struct view *v, size_t off)
{
	const uint8_t *h = v->bytes + off;
	unsigned ppp;

	if (off + 8u > v->len || h[0] != 0x11u || h[1] != 0u)
		return 0;
	ppp = fr_get16(h + 6);
	v->pppoe = true;
	v->l3 = off + 8u;
	return ppp == 0x0021u ? 4u : ppp == 0x0057u ? 6u : 0u;
}

/* Version of the network header, which lies at v->l3; 0 = none. */
static unsigned read_l2(struct view *v)
{
	size_t off = 12;
	unsigned type = 0;

	if (v->len < 14u)
		return 0;
	for (type = fr_get16(v->bytes + off); type == 0x8100u || type == 0x88a8u; type = fr_get16(v->bytes + off)) {
		v->tags++;
		off += 4;
		if (off + 2u > v->len || v->tags > 2u)
			return 0;
	}
	v->l3 = off + 2u;
	if (type == 0x8864u)
		return read_pppoe(v, v->l3);
	return type == 0x0800u ? 4u : type == 0x86ddu ? 6u : 0u;
}

void view_frame_by(struct view *v, const struct view_rules *rules, const uint8_t *bytes, size_t len)
{
	struct view_ip ip = { .there = false };
	unsigned version;

	memset(v, 0, sizeof(*v));
	v->bytes = bytes;
	v->len = len;
	v->ip_end = v->end = len;
	v->pppoe_ok = v->lengths_ok = true;
	version = read_l2(v);
	if (version == 0u)
		return;
	if (rules == NULL)
		rules = &view_usual;
	read_ip(&ip, rules, bytes, len, v->l3, version);
	if (!ip.there)
		return;
	v->kind = VIEW_PAIR;
	v->ip_csum_ok = true;
	v->end = ip.end;
	if (v->pppoe)
		v->pppoe_ok = fr_get16(bytes + ip.l3 - 4u) == ip.end - ip.l3 + 2u;
	v->trailer = ip.end < len && len > 60u;
	take_ip(v, &ip);
	read_upper(v, rules, &ip);
}

void view_frame(struct view *v, const uint8_t *bytes, size_t len)
{
	view_frame_by(v, NULL, bytes, len);
}

/* ---- comparing two ---- */

static bool same_addrs(const struct view_ip *a, const struct view_ip *b)
{
	return a->v6 == b->v6 && memcmp(a->src, b->src, 16) == 0 && memcmp(a->dst, b->dst, 16) == 0;
}

bool view_same_pair(const struct view *a, const struct view *b)
{
	if (a->kind == VIEW_OPAQUE || b->kind == VIEW_OPAQUE || a->tunnel != b->tunnel)
		return false;
	if (a->tunnel && !same_addrs(&a->outer, &b->outer))
		return false;
	return a->v6 == b->v6 && memcmp(a->src, b->src, 16) == 0 && memcmp(a->dst, b->dst, 16) == 0;
}

bool view_covers(const struct view *portless, const struct view *b)
{
	const struct view *p = portless;

	if (view_same_pair(p, b))
		return true;
	return p->kind != VIEW_OPAQUE && !p->tunnel && b->tunnel && p->v6 == b->outer.v6 &&
	       memcmp(p->src, b->outer.src, 16) == 0 && memcmp(p->dst, b->outer.dst, 16) == 0;
}

bool view_same_flow(const struct view *a, const struct view *b)
{
	return a->kind == VIEW_PORTS && b->kind == VIEW_PORTS && view_same_pair(a, b) && a->proto == b->proto &&
	       a->sport == b->sport && a->dport == b->dport;
}

size_t view_trimmed(const struct view *v)
{
	return v->kind != VIEW_OPAQUE && !v->cut && v->len <= 60u && v->end < v->len ? v->end : v->len;
}
