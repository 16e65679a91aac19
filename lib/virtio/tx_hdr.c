/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The header of packets that are sent (virtio 1.2, 5.1.6.2): what may be asked for, and how it is written. DATA_VALID
 * and RSC_INFO must not be set there, num_buffers must be 0.
 */
#include "txq.h"

#include "virtio_hdr.h"

#define BASE_BITS (~(uint32_t)(VNETRX_GSO_ECN | TUNNEL_BITS))

/* The features that a type of segmentation needs; 0 = none offers it. USO is one feature for both versions of IP. */
static uint32_t features_of(uint32_t gso_type)
{
	uint32_t need = VNETRX_VIRTIO_CSUM;

	switch (gso_type & BASE_BITS) {
	case VNETRX_GSO_TCPV4:
		need |= VNETRX_VIRTIO_TSO4;
		break;
	case VNETRX_GSO_TCPV6:
		need |= VNETRX_VIRTIO_TSO6;
		break;
	case VNETRX_GSO_UDP_L4:
		need |= VNETRX_VIRTIO_USO4 | VNETRX_VIRTIO_USO6;
		break;
	default:
		return 0;
	}
	if ((gso_type & VNETRX_GSO_ECN) != 0u)
		need |= VNETRX_VIRTIO_ECN;
	if ((gso_type & TUNNEL_BITS) != 0u)
		need |= VNETRX_VIRTIO_TUNNEL;
	return need;
}

static int tunnel_check(const struct vnetrx_tx_pkt *pkt, uint32_t hdr_len)
{
	if ((pkt->gso_type & TUNNEL_BITS) == TUNNEL_BITS)
		return VNETRX_ERR_INVALID;
	if (hdr_len < HDR_TUNNEL)
		return VNETRX_ERR_CANNOT;
	if (pkt->outer_l4_off < VNRX_ETH_HDR || pkt->inner_l3_off <= pkt->outer_l4_off ||
	    pkt->csum_start <= pkt->inner_l3_off)
		return VNETRX_ERR_INVALID;
	return VNETRX_OK;
}

static int gso_check(const struct vnetrx_tx_pkt *pkt, uint32_t len, uint32_t features, uint32_t hdr_len)
{
	uint32_t need = features_of(pkt->gso_type);

	if (need == 0u || (features & need) != need)
		return VNETRX_ERR_CANNOT;
	if ((pkt->flags & VNETRX_TX_CSUM) == 0u || pkt->gso_size == 0u || pkt->hdr_len <= pkt->csum_start ||
	    pkt->hdr_len >= len)
		return VNETRX_ERR_INVALID;
	return (pkt->gso_type & TUNNEL_BITS) != 0u ? tunnel_check(pkt, hdr_len) : VNETRX_OK;
}

int vnrx_tx_hdr_check(const struct vnetrx_tx_pkt *pkt, uint32_t len, uint32_t features, uint32_t hdr_len)
{
	if ((pkt->flags & ~VNETRX_TX_CSUM) != 0u)
		return VNETRX_ERR_INVALID;
	if ((pkt->flags & VNETRX_TX_CSUM) != 0u) {
		if ((features & VNETRX_VIRTIO_CSUM) == 0u)
			return VNETRX_ERR_CANNOT;
		if (pkt->csum_start < VNRX_ETH_HDR || (uint32_t)pkt->csum_start + pkt->csum_offset + 2u > len)
			return VNETRX_ERR_INVALID;
	}
	if (pkt->gso_type == VNETRX_GSO_NONE)
		return VNETRX_OK;
	return gso_check(pkt, len, features, hdr_len);
}

static void put_le16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static void offloads_write(const struct vnetrx_tx_pkt *pkt, uint8_t *h)
{
	h[OFF_FLAGS] = F_NEEDS_CSUM;
	put_le16(h + OFF_CSUM_START, pkt->csum_start);
	put_le16(h + OFF_CSUM_OFFSET, pkt->csum_offset);
	if (pkt->gso_type == VNETRX_GSO_NONE)
		return;
	h[OFF_GSO_TYPE] = pkt->gso_type;
	put_le16(h + OFF_HDR_LEN, pkt->hdr_len);
	put_le16(h + OFF_GSO_SIZE, pkt->gso_size);
	if ((pkt->gso_type & TUNNEL_BITS) != 0u) {
		put_le16(h + OFF_OUTER_TH, pkt->outer_l4_off);
		put_le16(h + OFF_INNER_NH, pkt->inner_l3_off);
	}
}

void vnrx_tx_hdr_write(const struct vnetrx_tx_pkt *pkt, uint8_t *hdr, uint32_t hdr_len)
{
	uint8_t h[HDR_OUTER] = { 0 };

	offloads_write(pkt, h);
	memcpy(hdr, h, hdr_len);
}

int vnetrx_tx_pkt_offload(struct vnetrx_tx_pkt *tx, const struct vnetrx_pkt *pkt, uint32_t features)
{
	uint8_t h[HDR_TUNNEL];
	int err = vnetrx_virtio_net_encode(pkt, features, h, sizeof(h));

	if (err != VNETRX_OK)
		return err;
	tx->flags = (h[OFF_FLAGS] & F_NEEDS_CSUM) != 0u ? VNETRX_TX_CSUM : 0u;
	tx->csum_start = vnrx_le16(h + OFF_CSUM_START);
	tx->csum_offset = vnrx_le16(h + OFF_CSUM_OFFSET);
	tx->gso_type = h[OFF_GSO_TYPE];
	tx->gso_size = vnrx_le16(h + OFF_GSO_SIZE);
	tx->hdr_len = vnrx_le16(h + OFF_HDR_LEN);
	tx->outer_l4_off = vnrx_le16(h + OFF_OUTER_TH);
	tx->inner_l3_off = vnrx_le16(h + OFF_INNER_NH);
	return VNETRX_OK;
}
