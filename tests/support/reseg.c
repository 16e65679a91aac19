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
	if (!v.tcp)
		return "merged, but no whole TCP header";
	if (v.ip_end != r->len)
		return "merged, but the IP length is not that of the packet";
	if (!v.ip_csum_ok)
		return "merged, but the IPv4 header checksum is wrong";
	if (v.payload_len == 0u)
		return "merged, but without payload";
	if ((v.payload_len + r->gso_size - 1u) / r->gso_size != r->segs)
		return "merged, but the number of segments is not payload / segment size";
	return NULL;
}

static void set_ip(const struct reseg *r, const struct view *v, unsigned i, uint8_t *ip, size_t len)
{
	if (v->v6) {
		fr_put16(ip + 4, (uint32_t)(len - 40u));
		return;
	}
	fr_put16(ip + 2, (uint32_t)len);
	if (!r->id_fixed)
		fr_put16(ip + 4, fr_get16(ip + 4) + i);
}

size_t reseg_cut(const struct reseg *r, unsigned i, uint8_t *out)
{
	struct view v;
	size_t off = (size_t)i * r->gso_size;
	size_t n;
	uint8_t *tcp;

	view_frame(&v, r->bytes, r->len);
	n = v.payload_len - off < r->gso_size ? v.payload_len - off : r->gso_size;
	memcpy(out, r->bytes, v.payload);
	memcpy(out + v.payload, r->bytes + v.payload + off, n);
	set_ip(r, &v, i, out + v.l3, v.payload + n - v.l3);
	tcp = out + v.l4;
	fr_put32(tcp + 4, fr_get32(tcp + 4) + (uint32_t)off);
	if (i + 1u < r->segs)
		tcp[13] &= (uint8_t) ~(FR_PSH | FR_FIN);
	reseg_csum(out, v.payload + n);
	return v.payload + n;
}

void reseg_csum(uint8_t *frame, size_t len)
{
	struct view v;
	uint8_t *ip;
	uint8_t *tcp;

	view_frame(&v, frame, len);
	if (!v.tcp)
		return;
	ip = frame + v.l3;
	tcp = frame + v.l4;
	if (!v.v6) {
		fr_put16(ip + 10, 0);
		fr_put16(ip + 10, 0xffffu - fr_sum(0, ip, ip[0] % 16u * 4u));
	}
	fr_put16(tcp + 16, 0);
	fr_put16(tcp + 16, 0xffffu - fr_sum(fr_pseudo(ip, FR_TCP, (uint32_t)(v.ip_end - v.l4)), tcp, v.ip_end - v.l4));
}
