/* SPDX-License-Identifier: BSD-3-Clause */
#include "reseg.h"

#include <string.h>

#include "frames.h"

/* The packet as a whole may be longer than its IP length says. */
static void view_whole(const struct reseg *r, struct view *v)
{
	struct view_rules rules = r->rules != NULL ? *r->rules : view_usual;

	rules.big = r->len > 65535u;
	view_frame_by(v, &rules, r->bytes, r->len);
}

const char *reseg_check(const struct reseg *r)
{
	struct view v;

	if (r->gso_size == 0u)
		return "merged, but without a segment size";
	view_whole(r, &v);
	if (!v.tcp && !v.udp)
		return "merged, but no whole TCP or UDP header";
	if (v.end != r->len || v.ip_end != r->len)
		return "merged, but the IP length is not that of the packet";
	if (!v.ip_csum_ok)
		return "merged, but the IPv4 header checksum is wrong";
	if (!v.pppoe_ok || !v.lengths_ok)
		return "merged, but a length of PPPoE or a tunnel is wrong";
	if (v.udp && !v.udp_len_ok && !r->udp_len_any)
		return "merged, but the UDP length is not that of the packet";
	if (v.payload_len == 0u)
		return "merged, but without payload";
	if ((v.payload_len + r->gso_size - 1u) / r->gso_size != r->segs)
		return "merged, but the number of segments is not payload / segment size";
	return NULL;
}

static void set_ip(uint8_t *ip, bool v6, size_t len, unsigned id_step)
{
	if (v6) {
		fr_put16(ip + 4, (uint32_t)(len - 40u));
		return;
	}
	fr_put16(ip + 2, (uint32_t)len);
	fr_put16(ip + 4, fr_get16(ip + 4) + id_step);
}

static void set_l4(const struct view *v, uint8_t *l4, size_t off, size_t len, bool last)
{
	if (v->udp) {
		fr_put16(l4 + 4, (uint32_t)len);
		return;
	}
	fr_put32(l4 + 4, fr_get32(l4 + 4) + (uint32_t)off);
	if (!last)
		l4[13] &= (uint8_t) ~(FR_PSH | FR_FIN);
}

size_t reseg_cut(const struct reseg *r, unsigned i, uint8_t *out)
{
	struct view v;
	size_t off = (size_t)i * r->gso_size;
	size_t n, len, first;

	view_whole(r, &v);
	n = v.payload_len - off < r->gso_size ? v.payload_len - off : r->gso_size;
	len = v.payload + n;
	first = v.tunnel ? v.outer.l3 : v.l3;
	memcpy(out, r->bytes, v.payload);
	memcpy(out + v.payload, r->bytes + v.payload + off, n);
	if (v.pppoe)
		fr_put16(out + first - 4u, (uint32_t)(len - first + 2u));
	if (v.tunnel)
		set_ip(out + v.outer.l3, v.outer.v6, len - v.outer.l3, r->outer_id_fixed ? 0u : i);
	if (v.udp_tunnel)
		fr_put16(out + v.outer.l4 + 4, (uint32_t)(len - v.outer.l4));
	set_ip(out + v.l3, v.v6, len - v.l3, r->id_fixed ? 0u : i);
	set_l4(&v, out + v.l4, off, len - v.l4, i + 1u == r->segs);
	reseg_csum(r->rules, out, len);
	return len;
}

static void ip_csum(uint8_t *ip, bool v6)
{
	if (v6)
		return;
	fr_put16(ip + 10, 0);
	fr_put16(ip + 10, 0xffffu - fr_sum(0, ip, ip[0] % 16u * 4u));
}

static void l4_csum(const uint8_t *ip, uint8_t *l4, uint8_t proto, size_t len)
{
	uint8_t *field = l4 + (proto == FR_TCP ? 16 : 6);
	uint16_t sum;

	if (proto == FR_UDP && fr_get16(field) == 0u)
		return;
	fr_put16(field, 0);
	sum = (uint16_t)(0xffffu - fr_sum(fr_pseudo(ip, proto, (uint32_t)len), l4, len));
	fr_put16(field, proto == FR_UDP && sum == 0u ? 0xffffu : sum);
}

void reseg_csum(const struct view_rules *rules, uint8_t *frame, size_t len)
{
	struct view v;

	view_frame_by(&v, rules, frame, len);
	if (!v.tcp && !v.udp)
		return;
	ip_csum(frame + v.l3, v.v6);
	l4_csum(frame + v.l3, frame + v.l4, v.proto, v.ip_end - v.l4);
	if (!v.tunnel)
		return;
	ip_csum(frame + v.outer.l3, v.outer.v6);
	if (v.udp_tunnel)
		l4_csum(frame + v.outer.l3, frame + v.outer.l4, FR_UDP, v.outer.end - v.outer.l4);
}
