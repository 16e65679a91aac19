/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The headers of a packet of several segments, written when it leaves: lengths, checksums, and what the host is told
 * about it. The functions are compiled twice: for TCP over IPv4 in no tunnel, which most packets are, and for
 * everything.
 */
#include "engine.h"

/* ---- checksums ---- */

/* The outer UDP checksum, if there is one. `rest` is the sum of everything from the inner transport header on, as it
 * will be when its checksum is complete. */
static void outer_csum(const struct vnrx_flow *f, const struct vnrx_links *l, uint16_t rest)
{
	uint8_t *udp = f->hdr + l->outer_l4;
	uint32_t len = f->head->len - l->outer_l4;
	uint16_t sum;

	if ((f->kind & VNRX_KIND_UDP_TUNNEL) == 0u || vnrx_load16(udp + VNRX_UDP_CSUM) == 0u)
		return;
	vnrx_put_sum(udp + VNRX_UDP_CSUM, 0);
	sum = vnrx_sum_pseudo(f->hdr + l->outer_l3, (f->kind & VNRX_KIND_OUTER_IPV6) != 0u ? 6u : 4u,
	                      VNRX_PROTO_UDP, len);
	sum = vnrx_sum_add(sum, vnrx_sum(udp, (uint32_t)f->l4 - l->outer_l4));
	sum = (uint16_t)~vnrx_sum_add(sum, rest); /* all headers between are of even length */
	vnrx_put_sum(udp + VNRX_UDP_CSUM, sum != 0u ? sum : 0xffffu); /* 0 would say that there is none (RFC 768) */
}

/* The sum from the transport header on. Its header bytes may lie in a scratch, those behind it are in the packet. */
static uint16_t l4_sum(const struct vnrx_flow *f, uint32_t l4_len)
{
	uint32_t hdr = (uint32_t)f->hdr_len - f->l4;

	return vnrx_sum_add(vnrx_sum(f->hdr + f->l4, hdr), /* a transport header is a multiple of 4 bytes */
	                    vnrx_sum_pkt(f->head, f->hdr_len, l4_len - hdr));
}

/* Completes the checksum. */
static VNRX_COLD void csum_bytes(const struct vnrx_flow *f, uint32_t l4_len, uint8_t *csum, uint16_t pseudo)
{
	struct vnetrx_pkt *head = f->head;
	uint16_t sum;

	vnrx_put_sum(csum, 0);
	sum = (uint16_t)~vnrx_sum_add(pseudo, l4_sum(f, l4_len));
	vnrx_put_sum(csum, (f->kind & VNRX_KIND_UDP) != 0u && sum == 0u ? 0xffffu : sum);
	head->flags = (head->flags & ~VNETRX_PKT_PARTIAL) | VNETRX_PKT_CSUM_OK;
	if ((f->kind & VNRX_KIND_UDP_TUNNEL) != 0u)
		head->flags |= VNETRX_PKT_CSUM_INNER;
}

/* The checksum at csum_off behind the transport header, and what the host is told about it; after all lengths. */
static VNRX_INLINE void csum_finish(const struct vnetrx_gro *gro, const struct vnrx_flow *f, uint32_t l4_len,
                                    unsigned kind, uint16_t *pseudo)
{
	bool udp = (kind & VNRX_KIND_UDP) != 0u;
	uint32_t csum_off = udp ? VNRX_UDP_CSUM : VNRX_TCP_CSUM;
	uint8_t *csum = f->hdr + f->l4 + csum_off;
	struct vnetrx_pkt *head = f->head;

	if ((kind & VNRX_KIND_IPV6) != 0u)
		*pseudo = vnrx_sum_pseudo(f->hdr + f->l3, 6u, udp ? VNRX_PROTO_UDP : VNRX_PROTO_TCP, l4_len);
	else
		*pseudo = vnrx_sum_pseudo4(f->hdr + f->l3, udp ? VNRX_PROTO_UDP : VNRX_PROTO_TCP, l4_len);
	if ((gro->flags & VNETRX_GRO_CSUM_BYTES) != 0u) {
		csum_bytes(f, l4_len, csum, *pseudo);
		return;
	}
	vnrx_put_sum(csum, *pseudo);
	head->flags = (head->flags & ~(VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER)) | VNETRX_PKT_PARTIAL;
	head->csum_start = f->l4;
	head->csum_offset = (uint16_t)csum_off;
}

/* ---- headers ---- */

/* The length of an IP packet; a length that the field cannot say is written as 0, as BIG TCP has it. An IPv4 header's
 * checksum, which was right, goes with the length (RFC 1624). */
static VNRX_INLINE void ip_finish(uint8_t *l3, bool ipv6, uint32_t ip_len)
{
	uint32_t len = ipv6 ? ip_len - VNRX_IPV6_HDR : ip_len;
	uint8_t *field = l3 + (ipv6 ? VNRX_IPV6_LEN : VNRX_IPV4_LEN);
	uint16_t word = vnrx_wire16(len <= 65535u ? len : 0u);
	uint32_t sum = (uint32_t)word + (uint16_t)~vnrx_load16(field) + (uint16_t)~vnrx_load16(l3 + VNRX_IPV4_CSUM);

	memcpy(field, &word, sizeof(word));
	if (!ipv6)
		vnrx_put_sum(l3 + VNRX_IPV4_CSUM, (uint16_t)~vnrx_fold(sum));
}

static VNRX_INLINE bool id_fixed(const struct vnrx_id *id)
{
	return id->more == VNRX_ID_SET && id->step == 0u;
}

static void outer_finish(const struct vnrx_flow *f, const struct vnrx_links *l, uint32_t end)
{
	struct vnetrx_pkt *head = f->head;
	bool ipv6 = (f->kind & VNRX_KIND_OUTER_IPV6) != 0u;

	ip_finish(f->hdr + l->outer_l3, ipv6, end - l->outer_l3);
	if ((f->kind & VNRX_KIND_UDP_TUNNEL) != 0u)
		vnrx_put_be16(f->hdr + l->outer_l4 + VNRX_UDP_LEN, end - l->outer_l4);
	head->outer_l3_off = l->outer_l3;
	head->outer_l4_off = (f->kind & VNRX_KIND_UDP_TUNNEL) != 0u ? l->outer_l4 : 0u;
	head->flags |= VNETRX_PKT_TUNNEL | (ipv6 ? VNETRX_PKT_OUTER_IPV6 : 0u);
	if (!ipv6 && id_fixed(&l->outer_id))
		head->flags |= VNETRX_PKT_OUTER_ID_FIXED;
}

static VNRX_INLINE void layers_finish(const struct vnrx_flow *f, const struct vnrx_links *l, uint32_t end,
                                      unsigned kind)
{
	struct vnetrx_pkt *head = f->head;
	bool tunnel = (kind & VNRX_KIND_TUNNEL) != 0u;
	bool ipv6 = (kind & VNRX_KIND_IPV6) != 0u;
	uint32_t first_l3 = tunnel ? l->outer_l3 : f->l3;

	head->len = end;
	head->truesize = f->truesize;
	head->segs = f->segs;
	head->gso_size = (uint16_t)(f->len - f->hdr_len);
	head->l3_off = f->l3;
	head->l4_off = f->l4;
	head->hdr_len = f->hdr_len;
	head->flags |= VNETRX_PKT_MERGED | (ipv6 ? VNETRX_PKT_IPV6 : 0u);
	ip_finish(f->hdr + f->l3, ipv6, end - f->l3);
	if (!ipv6 && id_fixed(&f->id))
		head->flags |= VNETRX_PKT_ID_FIXED;
	if (tunnel)
		outer_finish(f, l, end);
	if ((kind & VNRX_KIND_PPPOE) != 0u)
		vnrx_put_be16(f->hdr + first_l3 - 4u, end - first_l3 + 2u);
}

static VNRX_INLINE void tcp_finish(const struct vnrx_flow *f, unsigned kind)
{
	f->head->gso_type = (kind & VNRX_KIND_IPV6) != 0u ? VNETRX_GSO_TCPV6 : VNETRX_GSO_TCPV4;
	if ((f->hdr[f->l4 + VNRX_TCP_FLAGS] & VNRX_TCP_CWR) != 0u)
		f->head->flags |= VNETRX_PKT_CWR;
}

/* UDP: false when its checksum is zero and stays so. */
static VNRX_INLINE bool udp_finish(const struct vnrx_flow *f, uint32_t len)
{
	f->head->gso_type = VNETRX_GSO_UDP_L4;
	f->head->flags |= VNETRX_PKT_UDP;
	vnrx_put_be16(f->hdr + f->l4 + VNRX_UDP_LEN, len);
	return vnrx_load16(f->hdr + f->l4 + VNRX_UDP_CSUM) != 0u;
}

static VNRX_INLINE void finish(const struct vnetrx_gro *gro, const struct vnrx_flow *f, const struct vnrx_links *l,
                               uint32_t payload, unsigned kind)
{
	uint32_t end = f->hdr_len + payload;
	uint16_t pseudo;

	layers_finish(f, l, end, kind);
	if ((kind & VNRX_KIND_UDP) == 0u) {
		tcp_finish(f, kind);
	} else if (!udp_finish(f, end - f->l4)) {
		outer_csum(f, l, l4_sum(f, end - f->l4));
		return;
	}
	csum_finish(gro, f, end - f->l4, kind, &pseudo);
	if ((kind & VNRX_KIND_UDP_TUNNEL) != 0u)
		outer_csum(f, l, (uint16_t)~pseudo); /* what a right checksum makes of all it covers (RFC 1624) */
}

void vnrx_headers_finish(const struct vnetrx_gro *gro, uint32_t slot, uint32_t payload)
{
	const struct vnrx_flow *f = &gro->flows.flow[slot];
	const struct vnrx_links *l = &gro->flows.links[slot];

	if (VNRX_LIKELY(f->kind == 0u))
		finish(gro, f, l, payload, 0u);
	else
		finish(gro, f, l, payload, f->kind);
}
