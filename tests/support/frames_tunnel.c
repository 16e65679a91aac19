/* SPDX-License-Identifier: BSD-3-Clause */
/* Tunnels around a frame: VXLAN, VXLAN-GPE, GENEVE, GRE and IP in IP, written from their RFCs and drafts. */
#include "frames.h"

#include <string.h>

#define TYPE_TEB 0x6558u

static uint8_t inside[FRAME_MAX];

void frame_tunnel_init(struct frame_tunnel *t, unsigned kind, bool v6)
{
	static const uint16_t port[FR_TUNNELS] = { 4789, 4790, 6081, 0, 0 };
	struct frame *o = &t->outer;

	memset(t, 0, sizeof(*t));
	if (v6) {
		frame_init6(o, 0);
		o->src[1] = o->dst[1] = 1;
	} else {
		frame_init(o, 0);
		o->src[0] = o->dst[0] = 192;
		o->src[1] = o->dst[1] = 168;
	}
	o->dmac[4] = o->smac[4] = 0xee;
	o->ttl = 63;
	o->id = 500;
	o->sport = 50000;
	o->dport = port[kind];
	o->no_csum = true;
	t->kind = kind;
	t->eth = kind == FR_VXLAN;
	t->vni = 42;
}

static bool over_udp(const struct frame_tunnel *t)
{
	return t->kind < FR_GRE;
}

/* What follows, as an EtherType. */
static uint32_t inner_type(const struct frame_tunnel *t, const struct frame *f)
{
	if (t->type != 0u)
		return t->type;
	return t->eth ? TYPE_TEB : f->v6 ? 0x86ddu : 0x0800u;
}

/* What follows, as VXLAN-GPE counts. */
static uint8_t inner_next(const struct frame_tunnel *t, const struct frame *f)
{
	if (t->type != 0u)
		return (uint8_t)t->type;
	return t->eth ? 3 : f->v6 ? 2 : 1;
}

static size_t build_gre(const struct frame_tunnel *t, const struct frame *f, uint8_t *p)
{
	memset(p, 0, 8);
	fr_put16(p, t->key ? 0x2000u : 0u);
	fr_put16(p + 2, inner_type(t, f));
	fr_put32(p + 4, t->vni);
	return t->key ? 8u : 4u;
}

static size_t build_over_udp(const struct frame_tunnel *t, const struct frame *f, uint8_t *p)
{
	memset(p, 0, 8);
	fr_put32(p + 4, t->vni * 256u + t->rsvd);
	if (t->kind == FR_GENEVE) {
		p[0] = (uint8_t)(t->opts_len / 4u);
		fr_put16(p + 2, inner_type(t, f));
		memcpy(p + 8, t->opts, t->opts_len);
		return 8u + t->opts_len;
	}
	p[0] = 0x08;
	if (t->kind == FR_GPE) {
		p[0] = 0x0c;
		p[3] = inner_next(t, f);
	}
	return 8;
}

static size_t build_header(const struct frame_tunnel *t, const struct frame *f, uint8_t *p)
{
	size_t len;

	if (t->kind == FR_IPIP)
		return 0;
	len = t->kind == FR_GRE ? build_gre(t, f, p) : build_over_udp(t, f, p);
	fr_put16(p, fr_get16(p) ^ t->flip);
	return len;
}

static size_t build_inside(const struct frame_tunnel *t, const struct frame *f, uint8_t *p)
{
	size_t off = build_header(t, f, p);

	if (t->eth)
		off += frame_build_eth(f, p + off, frame_packet_len(f));
	off += frame_build_packet(f, p + off);
	return off > t->cut ? off - t->cut : 0u;
}

static uint8_t proto_of(const struct frame_tunnel *t, const struct frame *f)
{
	return (uint8_t)(over_udp(t) ? FR_UDP : t->kind == FR_GRE ? 47 : f->v6 ? 41 : 4);
}

size_t frame_build_tunnel(const struct frame *f, uint8_t *buf)
{
	const struct frame_tunnel *t = f->tunnel;
	struct frame o = t->outer;
	size_t len = build_inside(t, f, inside);
	size_t udp = over_udp(t) ? 8u : 0u;
	size_t l3, l4;

	o.proto = proto_of(t, f);
	l3 = frame_build_eth(&o, buf, frame_ip_hdr_len(&o) + udp + len);
	l4 = l3 + frame_build_ip(&o, buf + l3, udp + len);
	memcpy(buf + l4 + udp, inside, len);
	if (udp == 0u)
		return l4 + len;
	fr_put16(buf + l4, o.sport);
	fr_put16(buf + l4 + 2, o.dport);
	fr_put16(buf + l4 + 4, (uint32_t)((int)(8u + len) + o.udp_len_delta));
	fr_put16(buf + l4 + 6, 0);
	frame_build_csum(&o, buf + l3, buf + l4, 8u + len);
	return l4 + 8u + len;
}
