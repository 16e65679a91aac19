/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may join, for TCP over IPv4 and IPv6: a segment joins when cutting the merged packet gives it back byte for byte.
 *
 * So every header bit must be equal but for those that the cut recomputes (lengths, checksums), continues (sequence
 * number, IPv4 id) or sets on the last segment only (PSH, FIN).
 *
 * Headers are compared with the held packet's own in its buffer, not with a copy: a device that changes them there
 * spoils the content of its own packet, and nothing else, because every length and offset comes from the record.
 */
#include "csum.h"
#include "engine.h"

/* TCP byte 12 and 13 (data offset, AE and reserved bits, flags) and the window: equal but for PSH and FIN. */
#define TCP_WORD_MASK 0xfff6ffffu

/* What the 16-bit counts of a packet can say. */
#define FRAGS_MAX 65535u

static uint32_t seg_payload(const struct vnrx_seg *seg)
{
	return seg->d.end - seg->d.payload;
}

static bool csum_ok(const struct vnrx_seg *seg)
{
	const struct vnetrx_pkt *pkt = seg->pkt;
	const struct vnrx_dissect *d = &seg->d;
	uint32_t len = d->end - d->l4;
	uint16_t sum;

	if ((pkt->flags & VNETRX_PKT_PARTIAL) != 0u)
		return pkt->csum_start == d->l4 && pkt->csum_offset == VNRX_TCP_CSUM;
	if ((pkt->flags & VNETRX_PKT_CSUM_OK) != 0u)
		return true;
	sum = vnrx_sum_pseudo(seg->hdr + d->l3, d->version, VNRX_PROTO_TCP, len);
	return vnrx_sum_add(sum, vnrx_sum_pkt(pkt, d->l4, len)) == 0xffffu;
}

enum vnrx_pass vnrx_tcp_check(struct vnrx_seg *seg)
{
	const struct vnrx_dissect *d = &seg->d;
	uint32_t flags = seg->hdr[d->l4 + VNRX_TCP_FLAGS];

	if ((flags & (VNRX_TCP_SYN | VNRX_TCP_RST | VNRX_TCP_URG | VNRX_TCP_ACKF)) != VNRX_TCP_ACKF)
		return VNRX_PASS_FLAGS;
	if (seg_payload(seg) == 0u)
		return VNRX_PASS_EMPTY;
	if (!csum_ok(seg))
		return VNRX_PASS_L4_CSUM;
	if ((seg->pkt->flags & VNETRX_PKT_PARTIAL) == 0u)
		seg->pkt->flags |= VNETRX_PKT_CSUM_OK;
	return VNRX_PASS_NOT;
}

bool vnrx_tcp_closes(const struct vnrx_seg *seg)
{
	return (seg->hdr[seg->d.l4 + VNRX_TCP_FLAGS] & (VNRX_TCP_PSH | VNRX_TCP_FIN)) != 0u;
}

/* The largest seq - first_seq of a full segment that may join on the short way: the packet stays below both limits. The
 * segment that reaches segs_max takes the general way, which then closes the packet. */
static uint32_t fast_max(const struct vnetrx_gro *gro, uint32_t ip_len, uint32_t payload)
{
	uint64_t by_segs = (uint64_t)(gro->segs_max - 2u) * payload;
	uint32_t by_bytes = gro->bytes_max > ip_len ? gro->bytes_max - ip_len : 0u;

	return by_segs < by_bytes ? (uint32_t)by_segs : by_bytes;
}

/* The short way compares bytes only: where the device said more about the packet than that its checksum is right, the
 * general way must look at each. */
static uint8_t shape_of(const struct vnetrx_pkt *pkt, const struct vnrx_dissect *d)
{
	uint32_t tags = (d->l3 - VNRX_ETH_HDR) / VNRX_VLAN_HDR;

	if ((pkt->flags & ~VNETRX_PKT_HASH) != VNETRX_PKT_CSUM_OK)
		return VNRX_SHAPE_NONE;
	if (d->version == 4u)
		return (uint8_t)tags;
	if (d->l4 == d->l3 + VNRX_IPV6_HDR)
		return (uint8_t)(tags + 3u);
	return VNRX_SHAPE_NONE;
}

void vnrx_tcp_hold(const struct vnetrx_gro *gro, struct vnrx_flow *f, const struct vnrx_seg *seg)
{
	const struct vnrx_dissect *d = &seg->d;
	const uint8_t *l3 = seg->hdr + d->l3;
	struct vnetrx_pkt *tail = seg->pkt;

	while (tail->chain != NULL)
		tail = tail->chain;
	f->head = seg->pkt;
	f->tail = tail;
	f->hdr = seg->pkt->data;
	f->first_seq = vnrx_be32(seg->hdr + d->l4 + VNRX_TCP_SEQ);
	f->next_seq = f->first_seq + seg_payload(seg);
	f->fast_max = fast_max(gro, d->end - d->l3, seg_payload(seg));
	f->truesize = seg->pkt->truesize;
	f->len = d->end;
	f->tick = gro->tick;
	f->segs = 1;
	f->hdr_len = (uint16_t)d->payload;
	f->l3 = (uint8_t)d->l3;
	f->l4 = (uint8_t)d->l4;
	f->version = d->version;
	f->shape = shape_of(seg->pkt, d);
	f->id_step = 0;
	f->id_mode = VNRX_ID_SET;
	if (d->version == 4u) {
		f->last_id = vnrx_be16(l3 + VNRX_IPV4_ID);
		f->id_csum = vnrx_sum_add(vnrx_load16(l3 + VNRX_IPV4_ID), vnrx_load16(l3 + VNRX_IPV4_CSUM));
		f->id_mode = VNRX_ID_OPEN;
		if ((gro->flags & VNETRX_GRO_RFC6864) != 0u && (l3[VNRX_IPV4_FRAG] & 0x40u) != 0u)
			f->id_mode = VNRX_ID_ANY;
	}
}

static enum vnrx_differ ipv4_differs(const struct vnrx_flow *f, const uint8_t *l3)
{
	const uint8_t *held = f->hdr + f->l3;
	uint32_t step = (uint16_t)(vnrx_be16(l3 + VNRX_IPV4_ID) - f->last_id);

	if (vnrx_load16(held) != vnrx_load16(l3) || vnrx_load16(held + VNRX_IPV4_FRAG) != vnrx_load16(l3 + VNRX_IPV4_FRAG) ||
	    vnrx_load16(held + 8) != vnrx_load16(l3 + 8)) /* TTL, protocol */
		return VNRX_DIFFER_IP;
	if (f->id_mode == VNRX_ID_ANY)
		return VNRX_DIFFER_NOT;
	if (step < f->id_step || step > (uint32_t)f->id_step + f->id_mode)
		return VNRX_DIFFER_ID;
	return VNRX_DIFFER_NOT;
}

static enum vnrx_differ ipv6_differs(const struct vnrx_flow *f, const uint8_t *l3)
{
	const uint8_t *held = f->hdr + f->l3;
	uint32_t ext = f->l4 - (f->l3 + VNRX_IPV6_HDR);

	if (vnrx_load32(held) != vnrx_load32(l3) || vnrx_load16(held + VNRX_IPV6_NEXT) != vnrx_load16(l3 + VNRX_IPV6_NEXT))
		return VNRX_DIFFER_IP;
	if (memcmp(held + VNRX_IPV6_HDR, l3 + VNRX_IPV6_HDR, ext) != 0)
		return VNRX_DIFFER_OPTIONS;
	return VNRX_DIFFER_NOT;
}

static enum vnrx_differ tcp_differs(const struct vnrx_flow *f, const struct vnrx_seg *seg)
{
	const uint8_t *held = f->hdr + f->l4;
	const uint8_t *l4 = seg->hdr + seg->d.l4;
	uint32_t word = vnrx_be32(held + VNRX_TCP_DOFF) ^ vnrx_be32(l4 + VNRX_TCP_DOFF);

	if (vnrx_be32(l4 + VNRX_TCP_SEQ) != f->next_seq)
		return VNRX_DIFFER_SEQ;
	if (vnrx_load32(held + VNRX_TCP_ACK) != vnrx_load32(l4 + VNRX_TCP_ACK))
		return VNRX_DIFFER_ACK;
	if (f->hdr_len != seg->d.payload)
		return VNRX_DIFFER_OPTIONS;
	if ((word & TCP_WORD_MASK) != 0u || vnrx_load16(held + 18) != vnrx_load16(l4 + 18)) /* urgent pointer */
		return VNRX_DIFFER_FLAGS;
	if (memcmp(held + VNRX_TCP_HDR, l4 + VNRX_TCP_HDR, f->hdr_len - f->l4 - VNRX_TCP_HDR) != 0)
		return VNRX_DIFFER_OPTIONS;
	return VNRX_DIFFER_NOT;
}

/* What the device said beside the frame. */
static enum vnrx_differ meta_differs(const struct vnetrx_pkt *head, const struct vnetrx_pkt *pkt)
{
	uint32_t flags = head->flags ^ pkt->flags;

	if ((flags & VNETRX_PKT_VLAN) != 0u)
		return VNRX_DIFFER_L2;
	if ((pkt->flags & VNETRX_PKT_VLAN) != 0u &&
	    (head->vlan_tci != pkt->vlan_tci || head->vlan_proto != pkt->vlan_proto))
		return VNRX_DIFFER_L2;
	if ((flags & VNETRX_PKT_MARK) != 0u || ((pkt->flags & VNETRX_PKT_MARK) != 0u && head->mark != pkt->mark))
		return VNRX_DIFFER_META;
	return VNRX_DIFFER_NOT;
}

enum vnrx_differ vnrx_tcp_differs(const struct vnetrx_gro *gro, const struct vnrx_flow *f, const struct vnrx_seg *seg)
{
	const struct vnrx_dissect *d = &seg->d;
	uint32_t payload = seg_payload(seg);
	uint32_t ip_len = f->hdr_len - f->l3 + (f->next_seq - f->first_seq);
	enum vnrx_differ differs;

	if (f->l3 != d->l3 || f->version != d->version || memcmp(f->hdr, seg->hdr, f->l3) != 0)
		return VNRX_DIFFER_L2;
	if (f->l4 != d->l4)
		return VNRX_DIFFER_OPTIONS;
	differs = tcp_differs(f, seg);
	if (differs == VNRX_DIFFER_NOT)
		differs = f->version == 4u ? ipv4_differs(f, seg->hdr + d->l3) : ipv6_differs(f, seg->hdr + d->l3);
	if (differs == VNRX_DIFFER_NOT)
		differs = meta_differs(f->head, seg->pkt);
	if (differs != VNRX_DIFFER_NOT)
		return differs;
	if (payload > f->len - f->hdr_len)
		return VNRX_DIFFER_SIZE;
	if (ip_len + payload > gro->bytes_max || f->segs >= gro->segs_max)
		return VNRX_DIFFER_FULL;
	if ((uint32_t)f->head->nfrags + f->segs + seg->pkt->nfrags > FRAGS_MAX ||
	    (uint32_t)f->head->nbufs + f->segs + seg->pkt->nbufs > FRAGS_MAX)
		return VNRX_DIFFER_FULL;
	return VNRX_DIFFER_NOT;
}

void vnrx_tcp_join(struct vnrx_flow *f, const struct vnrx_seg *seg)
{
	struct vnetrx_pkt *pkt = seg->pkt;
	struct vnetrx_pkt *tail = pkt;

	while (tail->chain != NULL)
		tail = tail->chain;
	if (f->version == 4u) {
		uint16_t id = vnrx_be16(seg->hdr + seg->d.l3 + VNRX_IPV4_ID);

		if (f->id_mode == VNRX_ID_OPEN) {
			f->id_step = (uint8_t)((uint16_t)(id - f->last_id));
			f->id_mode = VNRX_ID_SET;
		}
		f->last_id = id;
	}
	f->next_seq += seg_payload(seg);
	f->truesize += pkt->truesize;
	f->segs++;
	f->head->nfrags = (uint16_t)(f->head->nfrags + (pkt->nfrags - 1u)); /* one for each segment is added at the end */
	f->head->nbufs = (uint16_t)(f->head->nbufs + (pkt->nbufs - 1u));
	f->head->data[f->l4 + VNRX_TCP_FLAGS] |=
		(uint8_t)(seg->hdr[seg->d.l4 + VNRX_TCP_FLAGS] & (VNRX_TCP_PSH | VNRX_TCP_FIN));
	pkt->data += f->hdr_len;
	pkt->frag_len -= f->hdr_len;
	f->tail->chain = pkt;
	f->tail = tail;
}

static void finish_ip(uint8_t *l3, unsigned version, uint32_t ip_len)
{
	if (version == 6u) {
		uint32_t len = ip_len - VNRX_IPV6_HDR;

		vnrx_put_be16(l3 + VNRX_IPV6_LEN, len <= 65535u ? len : 0u);
		return;
	}
	vnrx_put_be16(l3 + VNRX_IPV4_LEN, ip_len <= 65535u ? ip_len : 0u);
	vnrx_put_sum(l3 + VNRX_IPV4_CSUM, 0);
	vnrx_put_sum(l3 + VNRX_IPV4_CSUM, (uint16_t)~vnrx_sum_ipv4(l3));
}

void vnrx_tcp_finish(const struct vnetrx_gro *gro, const struct vnrx_flow *f)
{
	struct vnetrx_pkt *head = f->head;
	uint8_t *l3 = head->data + f->l3;
	uint8_t *l4 = head->data + f->l4;
	uint32_t payload = f->next_seq - f->first_seq;
	uint32_t l4_len = f->hdr_len - (uint32_t)f->l4 + payload;
	uint16_t pseudo;

	head->len = f->hdr_len + payload;
	head->truesize = f->truesize;
	head->nfrags = (uint16_t)(head->nfrags + (f->segs - 1u));
	head->nbufs = (uint16_t)(head->nbufs + (f->segs - 1u));
	head->segs = f->segs;
	head->gso_size = (uint16_t)(f->len - f->hdr_len);
	head->l3_off = f->l3;
	head->l4_off = f->l4;
	head->hdr_len = f->hdr_len;
	head->flags |= VNETRX_PKT_MERGED | (f->version == 6u ? VNETRX_PKT_IPV6 : 0u);
	if (f->version == 4u && f->id_mode == VNRX_ID_SET && f->id_step == 0u)
		head->flags |= VNETRX_PKT_ID_FIXED;
	if ((l4[VNRX_TCP_FLAGS] & VNRX_TCP_CWR) != 0u)
		head->flags |= VNETRX_PKT_CWR;
	head->gso_type = f->version == 6u ? VNETRX_GSO_TCPV6 : VNETRX_GSO_TCPV4;
	finish_ip(l3, f->version, f->hdr_len - (uint32_t)f->l3 + payload);
	pseudo = vnrx_sum_pseudo(l3, f->version, VNRX_PROTO_TCP, l4_len);
	vnrx_put_sum(l4 + VNRX_TCP_CSUM, pseudo);
	if ((gro->flags & VNETRX_GRO_CSUM_BYTES) != 0u) {
		vnrx_put_sum(l4 + VNRX_TCP_CSUM, 0);
		vnrx_put_sum(l4 + VNRX_TCP_CSUM, (uint16_t)~vnrx_sum_add(pseudo, vnrx_sum_pkt(head, f->l4, l4_len)));
		head->flags = (head->flags & ~VNETRX_PKT_PARTIAL) | VNETRX_PKT_CSUM_OK;
		return;
	}
	head->flags = (head->flags & ~VNETRX_PKT_CSUM_OK) | VNETRX_PKT_PARTIAL;
	head->csum_start = f->l4;
	head->csum_offset = VNRX_TCP_CSUM;
}
