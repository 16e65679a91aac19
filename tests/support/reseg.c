/* SPDX-License-Identifier: BSD-3-Clause */
#include "reseg.h"

#include <string.h>

#include "frames.h"
#include "view.h"

const char *reseg_check(const struct reseg *r)
{
	struct view v;

	if (r->gso_size == 0u)
		return "merged, but without a segment size";
	view_frame(&v, r->bytes, r->len);
	if (!v.tcp && !v.udp)
		return "merged, but no whole TCP or UDP header";
	if (v.ip.end != r->len || view_first(&v)->end != r->len)
		return "merged, but an IP length is not that of the packet";
	if (!v.ip.csum_ok || !view_first(&v)->csum_ok)
		return "merged, but an IPv4 header checksum is wrong";
	if (v.pppoe && fr_get16(r->bytes + view_first(&v)->l3 - 4) != r->len - view_first(&v)->l3 + 2u)
		return "merged, but the PPPoE length is not that of the packet";
	if (v.udp_tunnel && fr_get16(r->bytes + v.outer.l4 + 4) != r->len - v.outer.l4)
		return "merged, but the length of the tunnel's UDP header is not that of the packet";
	if (v.payload_len == 0u)
		return "merged, but without payload";
	if ((v.payload_len + r->gso_size - 1u) / r->gso_size != r->segs)
		return "merged, but the number of segments is not payload / segment size";
	return NULL;
}

/* Length and id of one level; `end` is that of the segment. */
static void set_ip(uint8_t *frame, const struct view_ip *ip, size_t end, unsigned id_step)
{
	uint8_t *p = frame + ip->l3;

	if (ip->v6) {
		fr_put16(p + 4, (uint32_t)(end - ip->l3 - 40u));
		return;
	}
	fr_put16(p + 2, (uint32_t)(end - ip->l3));
	fr_put16(p + 4, fr_get16(p + 4) + id_step);
}

static void set_lengths(const struct reseg *r, const struct view *v, unsigned i, uint8_t *out, size_t end)
{
	set_ip(out, &v->ip, end, r->id_fixed ? 0u : i);
	if (v->outer.there)
		set_ip(out, &v->outer, end, r->outer_id_fixed ? 0u : i);
	if (v->udp_tunnel)
		fr_put16(out + v->outer.l4 + 4, (uint32_t)(end - v->outer.l4));
	if (v->pppoe)
		fr_put16(out + view_first(v)->l3 - 4, (uint32_t)(end - view_first(v)->l3 + 2u));
	if (v->udp)
		fr_put16(out + v->l4 + 4, (uint32_t)(end - v->l4));
}

size_t reseg_cut(const struct reseg *r, unsigned i, uint8_t *out)
{
	struct view v;
	size_t off = (size_t)i * r->gso_size;
	size_t n;

	view_frame(&v, r->bytes, r->len);
	n = v.payload_len - off < r->gso_size ? v.payload_len - off : r->gso_size;
	memcpy(out, r->bytes, v.payload);
	memcpy(out + v.payload, r->bytes + v.payload + off, n);
	set_lengths(r, &v, i, out, v.payload + n);
	if (v.tcp) {
		uint8_t *tcp = out + v.l4;

		fr_put32(tcp + 4, fr_get32(tcp + 4) + (uint32_t)off);
		if (i + 1u < r->segs)
			tcp[13] &= (uint8_t) ~(FR_PSH | FR_FIN);
	}
	reseg_csum(out, v.payload + n);
	return v.payload + n;
}

static void ip_csum(uint8_t *frame, const struct view_ip *ip)
{
	uint8_t *p = frame + ip->l3;

	if (!ip->there || ip->v6)
		return;
	fr_put16(p + 10, 0);
	fr_put16(p + 10, 0xffffu - fr_sum(0, p, p[0] % 16u * 4u));
}

/* The checksum of the transport header at l4 under ip, `at` bytes into it. */
static void l4_csum(uint8_t *frame, const struct view_ip *ip, size_t l4, size_t at)
{
	uint8_t *p = frame + l4;
	size_t len = ip->end - l4;
	uint16_t sum;

	if (ip->proto == FR_UDP && fr_get16(p + at) == 0u)
		return;
	fr_put16(p + at, 0);
	sum = (uint16_t)(0xffffu - fr_sum(fr_pseudo(frame + ip->l3, ip->proto, (uint32_t)len), p, len));
	fr_put16(p + at, ip->proto == FR_UDP && sum == 0u ? 0xffffu : sum);
}

void reseg_csum(uint8_t *frame, size_t len)
{
	struct view v;

	view_frame(&v, frame, len);
	if (!v.tcp && !v.udp)
		return;
	ip_csum(frame, &v.ip);
	l4_csum(frame, &v.ip, v.l4, v.tcp ? 16u : 6u);
	ip_csum(frame, &v.outer);
	if (v.udp_tunnel && !v.cut)
		l4_csum(frame, &v.outer, v.outer.l4, 6);
}
