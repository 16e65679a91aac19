/* SPDX-License-Identifier: BSD-3-Clause */
#include "view.h"

#include <string.h>

#include "frames.h"

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
	v->payload_len = end - v->payload;
	v->flags = fr_get16(tcp + 12) % 4096u;
	v->l4_csum_ok = fr_sum(fr_pseudo(v->bytes + v->l3, FR_TCP, (uint32_t)(end - v->l4)), tcp, end - v->l4) == 0xffffu;
}

static void read_l4(struct view *v, size_t off)
{
	size_t end = v->ip_end < v->len ? v->ip_end : v->len;

	if (v->fragment || (v->proto != FR_TCP && v->proto != FR_UDP))
		return;
	if (off + 4u > end) {
		v->cut = true;
		return;
	}
	v->kind = VIEW_PORTS;
	v->l4 = off;
	v->sport = fr_get16(v->bytes + off);
	v->dport = fr_get16(v->bytes + off + 2);
	if (v->proto == FR_TCP)
		read_tcp(v, end);
}

static void read_ipv4(struct view *v)
{
	const uint8_t *ip = v->bytes + v->l3;
	size_t hdr;

	if (v->l3 + 20u > v->len || ip[0] / 16u != 4u)
		return;
	hdr = ip[0] % 16u * 4u;
	v->kind = VIEW_PAIR;
	memcpy(v->src, ip + 12, 4);
	memcpy(v->dst, ip + 16, 4);
	v->proto = ip[9];
	v->ip_end = v->l3 + fr_get16(ip + 2);
	v->fragment = fr_get16(ip + 6) % 0x4000u != 0u || ip[6] / 128u != 0u;
	v->ip_options = hdr > 20u;
	v->cut = v->ip_end > v->len || v->ip_end < v->l3 + hdr || v->l3 + hdr > v->len || hdr < 20u;
	if (v->l3 + hdr > v->len || hdr < 20u)
		return;
	v->ip_csum_ok = fr_sum(0, ip, hdr) == 0xffffu;
	read_l4(v, v->l3 + hdr);
}

static void read_ipv6(struct view *v)
{
	const uint8_t *ip = v->bytes + v->l3;
	size_t off = v->l3 + 40u;

	if (off > v->len || ip[0] / 16u != 6u)
		return;
	v->kind = VIEW_PAIR;
	v->v6 = true;
	memcpy(v->src, ip + 8, 16);
	memcpy(v->dst, ip + 24, 16);
	v->ip_csum_ok = true;
	v->ip_end = off + fr_get16(ip + 4);
	v->cut = v->ip_end > v->len;
	v->proto = ip[6];
	while (v->proto == 0u || v->proto == 43u || v->proto == 60u) {
		if (off + 8u > v->len || off + 8u > v->ip_end) {
			v->cut = true;
			return;
		}
		v->proto = v->bytes[off];
		off += (v->bytes[off + 1] + 1u) * 8u;
	}
	v->fragment = v->proto == 44u;
	read_l4(v, off);
}

void view_frame(struct view *v, const uint8_t *bytes, size_t len)
{
	size_t off = 12;
	unsigned type = 0;

	memset(v, 0, sizeof(*v));
	v->bytes = bytes;
	v->len = len;
	v->ip_end = len;
	if (len < 14u)
		return;
	for (type = fr_get16(bytes + off); type == 0x8100u || type == 0x88a8u; type = fr_get16(bytes + off)) {
		v->tags++;
		off += 4;
		if (off + 2u > len || v->tags > 2u)
			return;
	}
	v->l3 = off + 2u;
	if (type == 0x0800u)
		read_ipv4(v);
	else if (type == 0x86ddu)
		read_ipv6(v);
	v->trailer = v->kind != VIEW_OPAQUE && v->ip_end < len && len > 60u;
}

bool view_same_pair(const struct view *a, const struct view *b)
{
	return a->kind != VIEW_OPAQUE && b->kind != VIEW_OPAQUE && a->v6 == b->v6 &&
	       memcmp(a->src, b->src, 16) == 0 && memcmp(a->dst, b->dst, 16) == 0;
}

bool view_same_flow(const struct view *a, const struct view *b)
{
	return a->kind == VIEW_PORTS && b->kind == VIEW_PORTS && view_same_pair(a, b) && a->proto == b->proto &&
	       a->sport == b->sport && a->dport == b->dport;
}

size_t view_trimmed(const struct view *v)
{
	return v->kind != VIEW_OPAQUE && !v->cut && v->len <= 60u && v->ip_end < v->len ? v->ip_end : v->len;
}
