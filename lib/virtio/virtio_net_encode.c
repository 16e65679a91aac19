/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other direction: a received packet handed on behind a virtio-net header.
 *
 * Whoever reads the header cuts the packet as TCP segmentation does: ids rise, CWR stays on the first segment only, the
 * checksum at csum_start is completed in each segment, and everything before it is repeated. A packet of which that
 * would not give back what was received is refused.
 */
#include "vnetrx/pkt.h"
#include "vnetrx/virtio_net.h"

#include "virtio_hdr.h"

#define IP_LEN_MAX   65535u
#define TAGS_MAX     2u   /* VLAN tags of the longest packet */
#define UDP_SEGS_MAX 128u /* as many as readers take         */

static void put_le16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static bool has(const struct vnetrx_pkt *pkt, uint32_t flag)
{
	return (pkt->flags & flag) != 0u;
}

static bool accepts(uint32_t features, uint32_t wanted)
{
	return (features & wanted) == wanted;
}

/* 16 bits of the packet in network order; false = past its end. */
static bool read_be16(const struct vnetrx_pkt *pkt, uint32_t off, uint32_t *value)
{
	uint8_t bytes[2];

	if (vnetrx_pkt_copy(pkt, off, bytes, 2) != 2u)
		return false;
	*value = vnrx_be16(bytes);
	return true;
}

/* ---- checksum ---- */

static bool csum_encode(const struct vnetrx_pkt *pkt, uint32_t features, uint8_t *hdr)
{
	if (!has(pkt, VNETRX_PKT_PARTIAL)) {
		if (has(pkt, VNETRX_PKT_CSUM_OK) && accepts(features, VNETRX_VIRTIO_CSUM))
			hdr[OFF_FLAGS] = F_DATA_VALID;
		return true;
	}
	if (!accepts(features, VNETRX_VIRTIO_CSUM) || pkt->csum_start < VNRX_ETH_HDR + VNRX_IPV4_HDR ||
	    (uint32_t)pkt->csum_start + pkt->csum_offset + 2u > pkt->len)
		return false;
	hdr[OFF_FLAGS] = F_NEEDS_CSUM;
	put_le16(hdr + OFF_CSUM_START, pkt->csum_start);
	put_le16(hdr + OFF_CSUM_OFFSET, pkt->csum_offset);
	return true;
}

/* ---- segmentation ---- */

/* Would a cut continue IPv4 ids as they were? */
static bool ids_rise(const struct vnetrx_pkt *pkt)
{
	return !has(pkt, VNETRX_PKT_ID_FIXED) && !has(pkt, VNETRX_PKT_OUTER_ID_FIXED);
}

/* Does an EtherType stand before the first network header? Not behind PPPoE, whose length a cut would have to write. */
static bool plain_l2(const struct vnetrx_pkt *pkt, uint32_t first_l3)
{
	uint32_t type = 0;

	return first_l3 >= VNRX_ETH_HDR && read_be16(pkt, first_l3 - 2u, &type) &&
	       (type == VNRX_TYPE_IPV4 || type == VNRX_TYPE_IPV6);
}

/* A UDP tunnel without a checksum of its own. With one, the header wants its pseudo-header sum in the field, and the
 * packet has the whole. */
static bool tunnel_encode(const struct vnetrx_pkt *pkt, uint32_t features, uint8_t *hdr, size_t hdr_len)
{
	uint32_t csum = 1;

	if (hdr_len < HDR_TUNNEL || !accepts(features, VNETRX_VIRTIO_TUNNEL) || pkt->outer_l4_off == 0u ||
	    !read_be16(pkt, (uint32_t)pkt->outer_l4_off + VNRX_UDP_CSUM, &csum) || csum != 0u)
		return false;
	hdr[OFF_GSO_TYPE] |= has(pkt, VNETRX_PKT_OUTER_IPV6) ? VNETRX_GSO_TUNNEL_IPV6 : VNETRX_GSO_TUNNEL_IPV4;
	put_le16(hdr + OFF_OUTER_TH, pkt->outer_l4_off);
	put_le16(hdr + OFF_INNER_NH, pkt->l3_off);
	return true;
}

/* What was joined here. */
static bool merged_encode(const struct vnetrx_pkt *pkt, uint32_t features, uint8_t *hdr, size_t hdr_len)
{
	bool     tunnel = has(pkt, VNETRX_PKT_TUNNEL);
	uint32_t first_l3 = tunnel ? pkt->outer_l3_off : pkt->l3_off;

	if (has(pkt, VNETRX_PKT_CWR) || !ids_rise(pkt) || !plain_l2(pkt, first_l3) || pkt->len - first_l3 > IP_LEN_MAX)
		return false;
	put_le16(hdr + OFF_HDR_LEN, pkt->hdr_len);
	return !tunnel || tunnel_encode(pkt, features, hdr, hdr_len);
}

/* What the device had joined and nobody cut: as it came. Where the headers of a tunnel lie is not known. */
static bool received_encode(const struct vnetrx_pkt *pkt, uint32_t features, uint8_t *hdr, bool tcp)
{
	uint32_t hdr_len = (uint32_t)pkt->csum_start + VNRX_UDP_HDR;
	uint32_t word = 0;

	if ((pkt->gso_type & TUNNEL_BITS) != 0u || pkt->len > VNRX_ETH_HDR + TAGS_MAX * VNRX_VLAN_HDR + IP_LEN_MAX)
		return false;
	if ((pkt->gso_type & VNETRX_GSO_ECN) != 0u && !accepts(features, VNETRX_VIRTIO_ECN))
		return false;
	if (tcp) {
		if (!read_be16(pkt, (uint32_t)pkt->csum_start + VNRX_TCP_DOFF, &word))
			return false;
		hdr_len = pkt->csum_start + word / 4096u * 4u;
		if (hdr_len < (uint32_t)pkt->csum_start + VNRX_TCP_HDR)
			return false;
	}
	hdr[OFF_GSO_TYPE] |= pkt->gso_type & VNETRX_GSO_ECN;
	put_le16(hdr + OFF_HDR_LEN, hdr_len);
	return hdr_len < pkt->len;
}

/* The feature that a type needs; 0 = no reader takes it. The version of UDP is known of merged packets only. */
static uint32_t feature_of(const struct vnetrx_pkt *pkt, uint32_t base)
{
	switch (base) {
	case VNETRX_GSO_TCPV4:
		return VNETRX_VIRTIO_TSO4;
	case VNETRX_GSO_TCPV6:
		return VNETRX_VIRTIO_TSO6;
	case VNETRX_GSO_UDP_L4:
		if (!has(pkt, VNETRX_PKT_MERGED))
			return VNETRX_VIRTIO_USO4 | VNETRX_VIRTIO_USO6;
		return has(pkt, VNETRX_PKT_IPV6) ? VNETRX_VIRTIO_USO6 : VNETRX_VIRTIO_USO4;
	default:
		return 0;
	}
}

static bool gso_encode(const struct vnetrx_pkt *pkt, uint32_t features, uint8_t *hdr, size_t hdr_len)
{
	uint32_t base = pkt->gso_type & ~(uint32_t)(VNETRX_GSO_ECN | TUNNEL_BITS);
	uint32_t feature = feature_of(pkt, base);
	bool     tcp = base != VNETRX_GSO_UDP_L4;

	if (feature == 0u || !accepts(features, feature) || pkt->gso_size == GSO_SIZE_NONE)
		return false;
	if (!has(pkt, VNETRX_PKT_PARTIAL) || pkt->csum_offset != (tcp ? TCP_CSUM_OFF : UDP_CSUM_OFF) ||
	    (base == VNETRX_GSO_TCPV6 && pkt->csum_start < VNRX_ETH_HDR + VNRX_IPV6_HDR))
		return false;
	if (!tcp && pkt->len - pkt->csum_start > VNRX_UDP_HDR + (uint32_t)pkt->gso_size * UDP_SEGS_MAX)
		return false;
	hdr[OFF_GSO_TYPE] = (uint8_t)base;
	put_le16(hdr + OFF_GSO_SIZE, pkt->gso_size);
	if (has(pkt, VNETRX_PKT_MERGED))
		return merged_encode(pkt, features, hdr, hdr_len);
	return received_encode(pkt, features, hdr, tcp);
}

/* ---- the header ---- */

static void hash_encode(const struct vnetrx_pkt *pkt, uint8_t *hdr)
{
	put_le16(hdr + OFF_HASH, pkt->hash);
	put_le16(hdr + OFF_HASH + 2u, pkt->hash >> 16);
	put_le16(hdr + OFF_HASH_TYPE, pkt->hash_type);
}

int vnetrx_virtio_net_encode(const struct vnetrx_pkt *pkt, uint32_t features, void *hdr, size_t hdr_len)
{
	uint8_t h[HDR_OUTER] = { 0 };

	if (!vnrx_hdr_known(hdr_len) || has(pkt, VNETRX_PKT_RSC) || has(pkt, VNETRX_PKT_VLAN))
		return VNETRX_ERR_CANNOT;
	if (!csum_encode(pkt, features, h))
		return VNETRX_ERR_CANNOT;
	if (pkt->gso_size != 0u && !gso_encode(pkt, features, h, hdr_len))
		return VNETRX_ERR_CANNOT;
	put_le16(h + OFF_NUM_BUFFERS, 1);
	if (accepts(features, VNETRX_VIRTIO_HASH_REPORT) && hdr_len >= HDR_HASH && has(pkt, VNETRX_PKT_HASH))
		hash_encode(pkt, h);
	memcpy(hdr, h, hdr_len);
	return VNETRX_OK;
}
