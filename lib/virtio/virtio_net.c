/* SPDX-License-Identifier: BSD-3-Clause */
/* What the header says alone is checked here; lengths against the packet are checked by merge. */
#include "vnetrx/virtio_net.h"

#include "virtio_hdr.h"

/* The header, once, in host order. */
struct fields {
	const uint8_t *hdr;
	uint32_t flags;
	uint32_t base;   /* gso_type without its modifier bits */
	uint32_t tunnel; /* the tunnel bits of gso_type        */
	uint32_t ecn;
	uint32_t gso_size;
	uint32_t csum_start;
	uint32_t csum_offset;
};

/*@ predicate fields_ok{L}(struct fields *f) =
      \valid_read(f) && f->gso_size <= 65535 && f->csum_start <= 65535 && f->csum_offset <= 65535;
*/

/*@ requires \valid_read(hdr + (0 .. HDR_LEGACY - 1));
    assigns \nothing;
    ensures \result.hdr == hdr;
    ensures \result.gso_size <= 65535 && \result.csum_start <= 65535 && \result.csum_offset <= 65535;
*/
static struct fields fields_read(const uint8_t *hdr, uint32_t features)
{
	struct fields f;

	f.hdr = hdr;
	f.flags = hdr[0] & (F_NEEDS_CSUM | F_DATA_VALID);
	if ((features & VNETRX_VIRTIO_RSC_EXT) != 0u)
		f.flags |= hdr[0] & F_RSC_INFO;
	if ((features & VNETRX_VIRTIO_TUNNEL) != 0u)
		f.flags |= hdr[0] & F_TUNNEL_CSUM;
	f.ecn = hdr[1] & VNETRX_GSO_ECN;
	f.tunnel = hdr[1] & TUNNEL_BITS;
	f.base = hdr[1] & ~(VNETRX_GSO_ECN | TUNNEL_BITS);
	f.gso_size = vnrx_le16(hdr + OFF_GSO_SIZE);
	f.csum_start = vnrx_le16(hdr + OFF_CSUM_START);
	f.csum_offset = vnrx_le16(hdr + OFF_CSUM_OFFSET);
	return f;
}

/*@ requires \valid_read(f);
    assigns \nothing;
*/
static bool is_tcp(const struct fields *f)
{
	return f->base == VNETRX_GSO_TCPV4 || f->base == VNETRX_GSO_TCPV6;
}

/*@ assigns \nothing;
    ensures \result <= VNRX_IPV6_HDR;
*/
static uint32_t l3_min(bool ipv6)
{
	return ipv6 ? VNRX_IPV6_HDR : VNRX_IPV4_HDR;
}

/*@ requires fields_ok(f) && \valid_read(f->hdr + (0 .. hdr_len - 1));
    assigns \nothing;
*/
static bool tunnel_ok(const struct fields *f, uint32_t hdr_len, uint32_t features)
{
	uint32_t outer_th, inner_nh;

	if ((features & VNETRX_VIRTIO_TUNNEL) == 0u || hdr_len < HDR_TUNNEL)
		return false;
	if (f->tunnel == TUNNEL_BITS || f->base == VNETRX_GSO_NONE || f->base == VNETRX_GSO_UDP)
		return false;
	if ((f->flags & F_NEEDS_CSUM) == 0u || (f->flags & F_DATA_VALID) != 0u)
		return false;
	outer_th = vnrx_le16(f->hdr + OFF_OUTER_TH);
	inner_nh = vnrx_le16(f->hdr + OFF_INNER_NH);
	if (outer_th < VNRX_ETH_HDR + l3_min(f->tunnel == VNETRX_GSO_TUNNEL_IPV6))
		return false;
	if (inner_nh < outer_th + VNRX_UDP_HDR)
		return false;
	return f->csum_start >= inner_nh + l3_min(f->base == VNETRX_GSO_TCPV6);
}

/* The segmentation fields of a packet that has a gso_type. */
/*@ requires fields_ok(f);
    assigns \nothing;
*/
static bool gso_ok(const struct fields *f)
{
	bool needs_csum = (f->flags & F_NEEDS_CSUM) != 0u;

	if (!is_tcp(f) && f->base != VNETRX_GSO_UDP && f->base != VNETRX_GSO_UDP_L4)
		return false;
	if (f->ecn != 0u && !is_tcp(f))
		return false;
	if (f->gso_size == GSO_SIZE_NONE || (f->gso_size == 0u && (f->flags & F_RSC_INFO) == 0u))
		return false;
	if (is_tcp(f) && needs_csum && f->csum_offset != TCP_CSUM_OFF)
		return false;
	if (f->base == VNETRX_GSO_UDP_L4 && (!needs_csum || f->csum_offset != UDP_CSUM_OFF))
		return false;
	return true;
}

/*@ requires fields_ok(f);
    assigns \nothing;
*/
static bool csum_ok(const struct fields *f)
{
	if ((f->flags & F_RSC_INFO) != 0u)
		return (f->flags & F_NEEDS_CSUM) == 0u && is_tcp(f); /* the counters lie in the checksum fields */
	if ((f->flags & F_NEEDS_CSUM) == 0u)
		return true;
	if ((f->flags & F_TUNNEL_CSUM) != 0u && f->tunnel == 0u)
		return false;
	return f->csum_start >= VNRX_ETH_HDR + l3_min(f->base == VNETRX_GSO_TCPV6);
}

/*@ requires fields_ok(f) && \valid(meta) && \separated(f, meta);
    assigns meta->flags, meta->csum_start, meta->csum_offset;
*/
static void meta_csum(const struct fields *f, struct vnetrx_meta *meta)
{
	if ((f->flags & F_NEEDS_CSUM) != 0u) {
		meta->flags |= VNETRX_PKT_PARTIAL;
		meta->csum_start = (uint16_t)f->csum_start;
		meta->csum_offset = (uint16_t)f->csum_offset;
	} else if ((f->flags & F_DATA_VALID) != 0u) {
		meta->flags |= VNETRX_PKT_CSUM_OK;
		if ((f->flags & F_TUNNEL_CSUM) != 0u)
			meta->flags |= VNETRX_PKT_CSUM_INNER;
	}
}

/*@ requires fields_ok(f) && \valid_read(f->hdr + (0 .. 1)) && \valid(meta);
    requires \separated(f, meta) && \separated(f->hdr + (0 .. 1), meta);
    assigns meta->flags, meta->gso_type, meta->gso_size, meta->segs;
*/
static void meta_gso(const struct fields *f, struct vnetrx_meta *meta)
{
	meta->gso_type = f->hdr[1];
	meta->gso_size = (uint16_t)f->gso_size;
	if ((f->flags & F_RSC_INFO) != 0u) {
		meta->segs = (uint16_t)f->csum_start;
		if (f->gso_size == 0u)
			meta->flags |= VNETRX_PKT_RSC;
	}
}

/*@ requires \valid_read(hdr + (0 .. HDR_HASH - 1)) && \valid(meta);
    requires \separated(hdr + (0 .. HDR_HASH - 1), meta);
    assigns meta->flags, meta->hash_type, meta->hash;
*/
static void meta_hash(const uint8_t *hdr, struct vnetrx_meta *meta)
{
	uint32_t type = vnrx_le16(hdr + OFF_HASH_TYPE);

	if (type == 0u || type > UINT8_MAX)
		return;
	meta->flags |= VNETRX_PKT_HASH;
	meta->hash_type = (uint8_t)type;
	meta->hash = vnrx_le16(hdr + OFF_HASH) + vnrx_le16(hdr + OFF_HASH + 2u) * 65536u;
}

/* Checksum and segmentation fields; false = they contradict themselves. */
/*@ requires hdr_len >= HDR_LEGACY && \valid_read(hdr + (0 .. hdr_len - 1)) && \valid(meta);
    requires \separated(hdr + (0 .. hdr_len - 1), meta);
    assigns *meta;
    ensures meta->nbufs == \old(meta->nbufs) && meta->skip == \old(meta->skip);
*/
static bool offloads_decode(const uint8_t *hdr, uint32_t hdr_len, uint32_t features, struct vnetrx_meta *meta)
{
	struct fields f = fields_read(hdr, features);

	if (!csum_ok(&f))
		return false;
	if (f.tunnel != 0u && !tunnel_ok(&f, hdr_len, features))
		return false;
	if (hdr[1] != VNETRX_GSO_NONE) {
		if (!gso_ok(&f))
			return false;
		meta_gso(&f, meta);
	}
	meta_csum(&f, meta);
	return true;
}

/* Apart, so that headers that ask for nothing do without its registers. */
/*@ requires hdr_len >= HDR_LEGACY && \valid_read(hdr + (0 .. hdr_len - 1)) && \valid(meta);
    requires \separated(hdr + (0 .. hdr_len - 1), meta);
    assigns *meta;
    ensures meta->nbufs == \old(meta->nbufs) && meta->skip == \old(meta->skip);
*/
static VNRX_APART int full_decode(const uint8_t *hdr, uint32_t hdr_len, uint32_t features, struct vnetrx_meta *meta)
{
	if (!offloads_decode(hdr, hdr_len, features, meta))
		return VNETRX_ERR_BAD;
	if ((features & VNETRX_VIRTIO_HASH_REPORT) != 0u && hdr_len >= HDR_HASH)
		meta_hash(hdr, meta);
	return VNETRX_OK;
}

/* false = a count of 0 where it must not be. */
/*@ requires \valid_read(hdr + (0 .. len - 1)) && \valid(meta);
    assigns meta->nbufs;
    ensures meta->nbufs >= 1;
*/
static bool meta_nbufs(const uint8_t *hdr, uint32_t len, uint32_t features, struct vnetrx_meta *meta)
{
	uint16_t nbufs = 1;

	if ((features & VNETRX_VIRTIO_MRG_RXBUF) != 0u && len >= HDR_MRG)
		nbufs = vnrx_le16(hdr + OFF_NUM_BUFFERS);
	meta->nbufs = nbufs != 0u ? nbufs : 1u;
	return nbufs != 0u || (features & VNETRX_VIRTIO_TAP) != 0u;
}

/*@ requires \valid_read(h + (0 .. len - 1)) && \valid(meta) && \separated(h + (0 .. len - 1), meta);
    assigns *meta;
    ensures meta->nbufs >= 1;
*/
static VNRX_INLINE int decode(const uint8_t *h, uint32_t len, uint32_t hdr_len, uint32_t features,
                              struct vnetrx_meta *meta)
{
	meta->skip = (uint16_t)hdr_len;
	if (!meta_nbufs(h, len, features, meta) || len < hdr_len || hdr_len < HDR_LEGACY)
		return VNETRX_ERR_BAD;
	if (h[1] != VNETRX_GSO_NONE || (h[0] & ~F_DATA_VALID) != 0u || (features & VNETRX_VIRTIO_HASH_REPORT) != 0u)
		return full_decode(h, hdr_len, features, meta);
	meta->flags = h[0] / F_DATA_VALID * VNETRX_PKT_CSUM_OK; /* nearly every packet */
	return VNETRX_OK;
}

int vnetrx_virtio_net_decode(const void *hdr, uint32_t len, uint32_t hdr_len, uint32_t features,
                             struct vnetrx_meta *meta)
{
	return decode(hdr, len, hdr_len, features, meta);
}
