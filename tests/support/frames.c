/* SPDX-License-Identifier: BSD-3-Clause */
#include "frames.h"

#include <string.h>

uint16_t fr_sum(uint32_t sum, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		sum += i % 2u == 0u ? p[i] * 256u : p[i];
		sum = sum % 65536u + sum / 65536u;
	}
	return (uint16_t)(sum % 65536u + sum / 65536u);
}

uint16_t fr_pseudo(const uint8_t *ip, uint8_t proto, uint32_t len)
{
	uint8_t tail[8] = { 0 };
	uint16_t sum;

	fr_put32(tail, len);
	tail[7] = proto;
	if (ip[0] / 16u == 6u)
		sum = fr_sum(0, ip + 8, 32);
	else
		sum = fr_sum(0, ip + 12, 8);
	return fr_sum(sum, tail, sizeof(tail));
}

uint8_t frame_payload(uint32_t seq)
{
	uint32_t x = seq * 2654435761u;

	return (uint8_t)(x / 65536u + seq / 251u);
}

void frame_init(struct frame *f, unsigned flow)
{
	static const uint8_t dmac[6] = { 2, 0, 0, 0, 0, 2 };
	static const uint8_t smac[6] = { 2, 0, 0, 0, 0, 1 };
	static const uint8_t src[4] = { 10, 0, 0, 1 };
	static const uint8_t dst[4] = { 10, 0, 0, 2 };

	memset(f, 0, sizeof(*f));
	memcpy(f->dmac, dmac, 6);
	memcpy(f->smac, smac, 6);
	memcpy(f->src, src, 4);
	memcpy(f->dst, dst, 4);
	f->ttl = 64;
	f->df = true;
	f->id = 1;
	f->proto = FR_TCP;
	f->sport = (uint16_t)(1000u + flow);
	f->dport = 2000;
	f->seq = 1;
	f->ack = 77;
	f->flags = FR_ACK;
	f->window = 100;
	f->payload_len = 100;
}

void frame_init6(struct frame *f, unsigned flow)
{
	frame_init(f, flow);
	f->v6 = true;
	memset(f->src, 0, 16);
	memset(f->dst, 0, 16);
	f->src[0] = f->dst[0] = 0xfd;
	f->src[15] = 1;
	f->dst[15] = 2;
}

void frame_timestamp(struct frame *f, uint32_t val, uint32_t ecr)
{
	f->opts[0] = f->opts[1] = 1;
	f->opts[2] = 8;
	f->opts[3] = 10;
	fr_put32(f->opts + 4, val);
	fr_put32(f->opts + 8, ecr);
	f->opts_len = 12;
}

void frame_udp(struct frame *f)
{
	f->proto = FR_UDP;
	f->opts_len = 0;
}

size_t frame_build_eth(const struct frame *f, uint8_t *buf, size_t ip_len)
{
	size_t off = 12;

	memcpy(buf, f->dmac, 6);
	memcpy(buf + 6, f->smac, 6);
	for (unsigned i = 0; i < f->vlans; i++, off += 4) {
		fr_put16(buf + off, f->vlan_proto[i]);
		fr_put16(buf + off + 2, f->vlan_tci[i]);
	}
	fr_put16(buf + off, f->eth_type != 0u ? f->eth_type : f->pppoe ? 0x8864u : f->v6 ? 0x86ddu : 0x0800u);
	off += 2;
	if (!f->pppoe)
		return off;
	buf[off] = 0x11;
	buf[off + 1] = f->pppoe_code;
	fr_put16(buf + off + 2, f->session);
	fr_put16(buf + off + 4, (uint32_t)((int)(ip_len + 2u) + f->pppoe_len_delta));
	fr_put16(buf + off + 6, f->ppp != 0u ? f->ppp : f->v6 ? 0x0057u : 0x0021u);
	return off + 8;
}

static size_t build_ipv4(const struct frame *f, uint8_t *ip, size_t l4_len)
{
	size_t hdr = 20u + f->ip_opts_len;
	uint32_t frag = f->frag_off + (f->df ? 0x4000u : 0u) + (f->mf ? 0x2000u : 0u) + (f->evil ? 0x8000u : 0u);

	memset(ip, 0, hdr);
	ip[0] = (uint8_t)(0x40u + hdr / 4u);
	ip[1] = f->tos;
	fr_put16(ip + 2, (uint32_t)((int)(hdr + l4_len) + f->ip_len_delta));
	fr_put16(ip + 4, f->id);
	fr_put16(ip + 6, frag);
	ip[8] = f->ttl;
	ip[9] = f->proto;
	memcpy(ip + 12, f->src, 4);
	memcpy(ip + 16, f->dst, 4);
	memcpy(ip + 20, f->ip_opts, f->ip_opts_len);
	fr_put16(ip + 10, 0xffffu - fr_sum(0, ip, hdr));
	if (f->bad_ip_csum)
		ip[10] ^= 0x55u;
	return hdr;
}

static size_t build_ipv6(const struct frame *f, uint8_t *ip, size_t l4_len)
{
	size_t off = 40;
	uint8_t *next = ip + 6;

	fr_put32(ip, 0x60000000u + f->tos * 0x100000u + f->label % 0x100000u);
	ip[7] = f->ttl;
	memcpy(ip + 8, f->src, 16);
	memcpy(ip + 24, f->dst, 16);
	for (unsigned i = 0; i < f->exts; i++) {
		const struct frame_ext *e = &f->ext[i];

		*next = e->type;
		next = ip + off;
		memset(ip + off, e->fill, (e->len8 + 1u) * 8u);
		ip[off + 1] = e->type == 44u ? 0 : e->len8;
		if (e->type == 44u)
			fr_put16(ip + off + 2, f->frag_off * 8u + (f->mf ? 1u : 0u));
		off += (e->len8 + 1u) * 8u;
	}
	*next = f->proto;
	fr_put16(ip + 4, (uint32_t)((int)(off - 40u + l4_len) + f->ip_len_delta));
	return off;
}

size_t frame_build_ip(const struct frame *f, uint8_t *ip, size_t l4_len)
{
	return f->v6 ? build_ipv6(f, ip, l4_len) : build_ipv4(f, ip, l4_len);
}

size_t frame_ip_hdr_len(const struct frame *f)
{
	size_t len = 40;

	if (!f->v6)
		return 20u + f->ip_opts_len;
	for (unsigned i = 0; i < f->exts; i++)
		len += (f->ext[i].len8 + 1u) * 8u;
	return len;
}

static size_t build_tcp(const struct frame *f, uint8_t *tcp)
{
	unsigned doff = f->doff != 0u ? f->doff : 5u + f->opts_len / 4u;

	memset(tcp, 0, 20);
	fr_put16(tcp, f->sport);
	fr_put16(tcp + 2, f->dport);
	fr_put32(tcp + 4, f->seq);
	fr_put32(tcp + 8, f->ack);
	fr_put16(tcp + 12, doff * 4096u + f->flags % 4096u);
	fr_put16(tcp + 14, f->window);
	fr_put16(tcp + 18, f->urg);
	memcpy(tcp + 20, f->opts, f->opts_len);
	return 20u + f->opts_len;
}

static size_t build_other(const struct frame *f, uint8_t *l4)
{
	memset(l4, 0, 8);
	if (f->proto == FR_UDP) {
		fr_put16(l4, f->sport);
		fr_put16(l4 + 2, f->dport);
		fr_put16(l4 + 4, (uint32_t)((int)(8u + f->payload_len) + f->udp_len_delta));
	} else {
		l4[0] = 8;
		fr_put32(l4 + 4, f->seq);
	}
	return 8;
}

void frame_build_csum(const struct frame *f, const uint8_t *ip, uint8_t *l4, size_t len)
{
	size_t at = f->proto == FR_TCP ? 16u : f->proto == FR_UDP ? 6u : 2u;
	uint16_t pseudo = f->proto == FR_ICMP ? 0 : fr_pseudo(ip, f->proto, (uint32_t)len);
	uint16_t sum;

	if (f->proto == FR_UDP && f->no_csum)
		return;
	sum = (uint16_t)(0xffffu - fr_sum(pseudo, l4, len));
	if (f->partial)
		fr_put16(l4 + at, pseudo);
	else
		fr_put16(l4 + at, f->proto == FR_UDP && sum == 0u ? 0xffffu : sum);
	if (f->bad_l4_csum)
		l4[at] ^= 0x55u;
}

size_t frame_build_packet(const struct frame *f, uint8_t *ip)
{
	size_t l4_len = (f->proto == FR_TCP ? 20u + f->opts_len : 8u) + f->payload_len;
	size_t l4 = frame_build_ip(f, ip, l4_len);
	size_t off = l4 + (f->proto == FR_TCP ? build_tcp(f, ip + l4) : build_other(f, ip + l4));

	for (uint32_t i = 0; i < f->payload_len; i++)
		ip[off++] = frame_payload(f->seq + i);
	frame_build_csum(f, ip, ip + l4, l4_len);
	return off;
}

size_t frame_packet_len(const struct frame *f)
{
	return frame_ip_hdr_len(f) + (f->proto == FR_TCP ? 20u + f->opts_len : 8u) + f->payload_len;
}

static size_t build_plain(const struct frame *f, uint8_t *buf)
{
	size_t l3 = frame_build_eth(f, buf, frame_packet_len(f));

	return l3 + frame_build_packet(f, buf + l3);
}

size_t frame_build(const struct frame *f, uint8_t *buf)
{
	size_t off = f->tunnel != NULL ? frame_build_tunnel(f, buf) : build_plain(f, buf);

	for (unsigned i = 0; i < f->trailer; i++)
		buf[off++] = (uint8_t)(0xe0u + i);
	while (f->pad && off < 60u)
		buf[off++] = 0xa5;
	return off;
}
