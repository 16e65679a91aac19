/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything below the transport header: what must be equal, and what goes on.
 *
 * Every header bit must be equal but for those that a cut recomputes (lengths, checksums) or continues (IPv4 ids).
 * Headers
 * are compared with the held packet's own in its buffer, not with a copy: a device that changes them there spoils the
 * content of its own packet, and nothing else, because every length and offset comes from the record.
 */
#include "engine.h"
#include "record.h"

#define GSO_TUNNELS    (VNETRX_GSO_TUNNEL_IPV4 | VNETRX_GSO_TUNNEL_IPV6)
#define GSO_BASE(type) ((type) & ~(VNETRX_GSO_ECN | GSO_TUNNELS))

/* ---- may it be held ---- */

static uint16_t udp_csum(const uint8_t *hdr, uint32_t l4)
{
	return vnrx_load16(hdr + l4 + VNRX_UDP_CSUM);
}

/* The checksum of the transport header at l4 of the packet ip, over all fragments. */
static bool sum_right(const struct vnrx_seg *seg, const struct vnrx_ip *ip, uint32_t l4, uint32_t proto)
{
	uint32_t len = ip->end - l4;
	uint16_t sum = vnrx_sum_pseudo(seg->hdr + ip->l3, ip->version, proto, len);

	return vnrx_sum_add(sum, vnrx_sum_pkt(seg->pkt, l4, len)) == 0xffffu;
}

static enum vnrx_pass csum_check(const struct vnetrx_gro *gro, struct vnrx_seg *seg)
{
	const struct vnrx_dissect *d = &seg->d;
	struct vnetrx_pkt *pkt = seg->pkt;
	bool outer = vnrx_in_udp_tunnel(d) && udp_csum(seg->hdr, d->outer.l4) != 0u;
	bool none = vnrx_is_udp(d) && udp_csum(seg->hdr, d->l4) == 0u;
	uint32_t inner_flag = vnrx_in_udp_tunnel(d) ? VNETRX_PKT_CSUM_INNER : VNETRX_PKT_CSUM_OK;

	if ((pkt->flags & VNETRX_PKT_PARTIAL) != 0u) { /* the field has the pseudo-header's sum, which is never 0 */
		uint32_t offset = vnrx_is_udp(d) ? VNRX_UDP_CSUM : VNRX_TCP_CSUM;
		bool fits = pkt->csum_start == d->l4 && pkt->csum_offset == offset;

		return fits && !outer && !none ? VNRX_PASS_NOT : VNRX_PASS_L4_CSUM;
	}
	if (none && ((gro->flags & VNETRX_GRO_UDP_ZERO) == 0u || d->ip.version != 4u))
		return VNRX_PASS_L4_CSUM;
	if (!none && (pkt->flags & inner_flag) == 0u) {
		if (!sum_right(seg, &d->ip, d->l4, d->proto))
			return VNRX_PASS_L4_CSUM;
		pkt->flags |= inner_flag;
	}
	if (outer && (pkt->flags & VNETRX_PKT_CSUM_OK) == 0u && !sum_right(seg, &d->outer, d->outer.l4, VNRX_PROTO_UDP))
		return VNRX_PASS_L4_CSUM;
	if (vnrx_in_udp_tunnel(d))
		pkt->flags |= VNETRX_PKT_CSUM_OK; /* also where there is none */
	return VNRX_PASS_NOT;
}

/* Can a packet that the device merged be taken as that many segments in a row? */
static bool gso_plain(const struct vnrx_seg *seg)
{
	const struct vnrx_dissect *d = &seg->d;
	unsigned base = GSO_BASE(seg->pkt->gso_type);
	unsigned wanted = d->ip.version == 6u ? VNETRX_GSO_TCPV6 : VNETRX_GSO_TCPV4;
	unsigned outer = d->outer.version == 6u ? VNETRX_GSO_TUNNEL_IPV6 : VNETRX_GSO_TUNNEL_IPV4;
	unsigned tunnel = vnrx_in_tunnel(d) ? outer : 0u;

	if ((seg->pkt->gso_type & GSO_TUNNELS) != tunnel || (tunnel != 0u && !vnrx_in_udp_tunnel(d)))
		return false; /* no type says GRE or IP in IP */
	if (vnrx_is_udp(d))
		return base == VNETRX_GSO_UDP_L4;
	return base == wanted && (seg->hdr[d->l4 + VNRX_TCP_FLAGS] & VNRX_TCP_CWR) == 0u;
}

/* What a host that writes a virtio-net header could not say, see vnetrx_virtio_net_encode(): the header completes one
 * checksum, which must be there, and knows no tunnel but UDP without one. */
static bool unsayable(const struct vnrx_seg *seg)
{
	const struct vnrx_dissect *d = &seg->d;

	if (vnrx_in_pppoe(d) || (seg->pkt->flags & VNETRX_PKT_VLAN) != 0u)
		return true;
	if (vnrx_in_tunnel(d) && (!vnrx_in_udp_tunnel(d) || udp_csum(seg->hdr, d->outer.l4) != 0u))
		return true;
	if (vnrx_is_udp(d))
		return udp_csum(seg->hdr, d->l4) == 0u;
	return (seg->hdr[d->l4 + VNRX_TCP_FLAGS] & VNRX_TCP_CWR) != 0u;
}

enum vnrx_pass vnrx_layers_check(const struct vnetrx_gro *gro, struct vnrx_seg *seg)
{
	if (seg->count > 1u && !gso_plain(seg))
		return VNRX_PASS_GSO;
	if ((gro->flags & VNETRX_GRO_PROFILE_VIRTIO) != 0u && unsayable(seg))
		return VNRX_PASS_PROTO;
	if (vnrx_outer_end(&seg->d) - vnrx_first_l3(&seg->d) > vnrx_bytes_max(gro, &seg->d) ||
	    vnrx_outer_end(&seg->d) > VNRX_FRAME_MAX || seg->count >= vnrx_segs_max(gro, seg->d.proto))
		return VNRX_PASS_BIG;
	return csum_check(gro, seg);
}

/* ---- may it join ---- */

static bool equal(const uint8_t *a, const uint8_t *b, uint32_t from, uint32_t to)
{
	return memcmp(a + from, b + from, to - from) == 0;
}

/* Ids in a packet of several rise. */
static enum vnrx_differ id_differs(const struct vnrx_id *id, const uint8_t *l3, uint32_t count)
{
	bool rises = id->step == 1u || (id->more == VNRX_ID_OPEN && vnrx_be16(l3 + VNRX_IPV4_ID) != id->next);

	if (!vnrx_id_fits(id, l3) || (count > 1u && id->more != VNRX_ID_ANY && !rises))
		return VNRX_DIFFER_ID;
	return VNRX_DIFFER_NOT;
}

/* An IP header at l3 and its extensions up to l4: all but length, id and checksum. */
static enum vnrx_differ ip_differs(const uint8_t *held, const uint8_t *hdr, const struct vnrx_ip *ip)
{
	if (ip->version == 4u) {
		if (!equal(held, hdr, ip->l3, ip->l3 + 2u) ||
		    !equal(held, hdr, ip->l3 + VNRX_IPV4_FRAG, ip->l3 + VNRX_IPV4_CSUM) ||
		    !equal(held, hdr, ip->l3 + VNRX_IPV4_SRC, ip->l3 + VNRX_IPV4_HDR))
			return VNRX_DIFFER_IP;
		return VNRX_DIFFER_NOT;
	}
	if (!equal(held, hdr, ip->l3, ip->l3 + VNRX_IPV6_LEN) ||
	    !equal(held, hdr, ip->l3 + VNRX_IPV6_NEXT, ip->l3 + VNRX_IPV6_HDR))
		return VNRX_DIFFER_IP;
	return equal(held, hdr, ip->l3 + VNRX_IPV6_HDR, ip->l4) ? VNRX_DIFFER_NOT : VNRX_DIFFER_OPTIONS;
}

/* From the outer network header to the inner one. */
static enum vnrx_differ tunnel_differs(const struct vnrx_flow *f, const struct vnrx_links *l,
                                       const struct vnrx_seg *seg)
{
	const struct vnrx_dissect *d = &seg->d;
	uint32_t l4 = d->outer.l4;
	enum vnrx_differ differs;

	if (l->outer_l3 != d->outer.l3 || l->outer_l4 != l4 || f->l3 != d->ip.l3)
		return VNRX_DIFFER_TUNNEL;
	differs = ip_differs(f->hdr, seg->hdr, &d->outer);
	if (differs == VNRX_DIFFER_NOT && d->outer.version == 4u)
		differs = id_differs(&l->outer_id, seg->hdr + d->outer.l3, seg->count);
	if (differs != VNRX_DIFFER_NOT)
		return differs;
	if (!vnrx_in_udp_tunnel(d))
		return equal(f->hdr, seg->hdr, l4, f->l3) ? VNRX_DIFFER_NOT : VNRX_DIFFER_TUNNEL;
	if (!equal(f->hdr, seg->hdr, l4, l4 + VNRX_UDP_LEN) || !equal(f->hdr, seg->hdr, l4 + VNRX_UDP_HDR, f->l3) ||
	    (udp_csum(f->hdr, l4) == 0u) != (udp_csum(seg->hdr, l4) == 0u))
		return VNRX_DIFFER_TUNNEL;
	return VNRX_DIFFER_NOT;
}

/* Up to the first network header; the PPPoE length, four bytes before it, goes with the packet. */
static bool l2_equal(const struct vnrx_flow *f, const struct vnrx_seg *seg, uint32_t first_l3)
{
	if (!vnrx_in_pppoe(&seg->d))
		return equal(f->hdr, seg->hdr, 0, first_l3);
	return equal(f->hdr, seg->hdr, 0, first_l3 - 4u) && equal(f->hdr, seg->hdr, first_l3 - 2u, first_l3);
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

enum vnrx_differ vnrx_layers_differs(const struct vnetrx_gro *gro, uint32_t slot, const struct vnrx_seg *seg)
{
	const struct vnrx_flow *f = &gro->flows.flow[slot];
	const struct vnrx_links *l = &gro->flows.links[slot];
	const struct vnrx_dissect *d = &seg->d;
	bool tunnel = vnrx_in_tunnel(d);
	uint32_t first_l3 = vnrx_first_l3(d);
	enum vnrx_differ differs = VNRX_DIFFER_NOT;

	if (f->kind != vnrx_kind(d) || first_l3 != (tunnel ? l->outer_l3 : f->l3) || !l2_equal(f, seg, first_l3))
		return VNRX_DIFFER_L2;
	if (tunnel)
		differs = tunnel_differs(f, l, seg);
	if (differs == VNRX_DIFFER_NOT && f->l4 != d->l4)
		differs = VNRX_DIFFER_OPTIONS;
	if (differs == VNRX_DIFFER_NOT)
		differs = ip_differs(f->hdr, seg->hdr, &d->ip);
	if (differs == VNRX_DIFFER_NOT && d->ip.version == 4u)
		differs = id_differs(&f->id, seg->hdr + d->ip.l3, seg->count);
	return differs == VNRX_DIFFER_NOT ? meta_differs(f->head, seg->pkt) : differs;
}

void vnrx_layers_join(struct vnetrx_gro *gro, uint32_t slot, const struct vnrx_seg *seg)
{
	const struct vnrx_dissect *d = &seg->d;

	if (d->ip.version == 4u)
		vnrx_id_advance(&gro->flows.flow[slot].id, seg->hdr + d->ip.l3, seg->count);
	if (vnrx_in_tunnel(d) && d->outer.version == 4u)
		vnrx_id_advance(&gro->flows.links[slot].outer_id, seg->hdr + d->outer.l3, seg->count);
}
