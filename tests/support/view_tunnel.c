/* SPDX-License-Identifier: BSD-3-Clause */
#include "frames.h"
#include "view_tunnel.h"

static enum view_inside in_type(struct view_reader *r, size_t off, unsigned type)
{
	r->l3 = off;
	r->version = type == 0x0800u ? 4u : type == 0x86ddu ? 6u : 0u;
	return r->version != 0u ? IN_IP : IN_UNKNOWN;
}

/* An Ethernet header at off, at most two tags. */
static enum view_inside in_ethernet(struct view_reader *r, size_t off)
{
	unsigned type = 0;

	off += 12;
	for (unsigned tags = 0;; tags++) {
		if (off + 2u > r->limit)
			return IN_CUT;
		type = fr_get16(r->bytes + off);
		off += 2;
		if (type != 0x8100u && type != 0x88a8u)
			return in_type(r, off, type);
		if (tags == 2u)
			return IN_UNKNOWN;
		off += 2;
	}
}

static enum view_inside in_gre(struct view_reader *r, size_t off)
{
	unsigned flags, type;

	if (off + 4u > r->limit)
		return IN_CUT;
	flags = fr_get16(r->bytes + off);
	type = fr_get16(r->bytes + off + 2);
	if (flags != 0u && flags != 0x2000u)
		return IN_UNKNOWN;
	off += flags != 0u ? 8u : 4u;
	return type == 0x6558u ? in_ethernet(r, off) : in_type(r, off, type);
}

static enum view_inside in_gpe(struct view_reader *r, size_t off)
{
	const uint8_t *h = r->bytes + off;

	if ((h[0] & 0x04u) == 0u || (h[0] & 0x31u) != 0u) /* no next protocol; another version, OAM */
		return IN_UNKNOWN;
	switch (h[3]) {
	case 1: return in_type(r, off + 8u, 0x0800);
	case 2: return in_type(r, off + 8u, 0x86dd);
	case 3: return in_ethernet(r, off + 8u);
	default: return IN_UNKNOWN;
	}
}

static enum view_inside in_geneve(struct view_reader *r, size_t off)
{
	const uint8_t *h = r->bytes + off;
	unsigned type = fr_get16(h + 2);

	if (h[0] / 64u != 0u || h[1] / 128u != 0u) /* another version, OAM */
		return IN_UNKNOWN;
	off += 8u + h[0] % 64u * 4u;
	return type == 0x6558u ? in_ethernet(r, off) : in_type(r, off, type);
}

static enum view_inside in_udp(struct view_reader *r, const struct view_rules *rules, size_t l4)
{
	unsigned port;

	if (l4 + 4u > r->limit)
		return IN_NONE;
	port = fr_get16(r->bytes + l4 + 2);
	if (port == 0u || (port != rules->vxlan && port != rules->gpe && port != rules->geneve))
		return IN_NONE;
	if (l4 + 16u > r->limit)
		return IN_CUT;
	if (port == rules->vxlan)
		return (r->bytes[l4 + 8u] & 0x08u) != 0u ? in_ethernet(r, l4 + 16u) : IN_UNKNOWN;
	return port == rules->gpe ? in_gpe(r, l4 + 8u) : in_geneve(r, l4 + 8u);
}

enum view_inside view_look_inside(struct view_reader *r, const struct view_rules *rules, const struct view_ip *ip)
{
	if (!rules->tunnels || ip->l4 == 0u)
		return IN_NONE;
	switch (ip->proto) {
	case FR_UDP: return in_udp(r, rules, ip->l4);
	case 4: return in_type(r, ip->l4, 0x0800);
	case 41: return in_type(r, ip->l4, 0x86dd);
	case 47: return in_gre(r, ip->l4);
	default: return IN_NONE;
	}
}
