/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tunnel headers: VXLAN (RFC 7348), VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe-12), GENEVE (RFC 8926), GRE (RFC 2784, RFC
 * 2890),
 * IP in IP (RFC 2003, RFC 2473, RFC 4213). Only where the inner packet begins: every byte on the way is compared later.
 */
#include "dissect.h"

#define VXLAN_HDR       8u
#define VXLAN_FLAG_VNI  0x08u
#define GPE_FLAG_PROTO  0x04u
#define GPE_FLAGS_OTHER 0x31u /* version, OAM */
#define GPE_IPV4        1u
#define GPE_IPV6        2u
#define GPE_ETHERNET    3u
#define GENEVE_HDR      8u
#define GENEVE_OAM      0x80u
#define GRE_HDR         4u
#define GRE_KEY         0x2000u
#define TYPE_TEB        0x6558u /* Ethernet in GRE or GENEVE */

/* The inner packet is Ethernet at `eth`. */
/*@ requires vnrx_frame_ok(frame) && eth <= 70000 && \valid(l3);
    requires \separated(l3, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns *l3;
    ensures vnrx_version_ok(\result);
    ensures \result == 4 || \result == 6 ==> eth + VNRX_ETH_HDR <= *l3 <= frame->avail;
*/
static uint32_t inner_eth(const struct vnrx_frame *frame, uint32_t eth, uint32_t *l3)
{
	return vnrx_dissect_l2(frame, eth + VNRX_ETH_TYPE, l3, NULL);
}

/* The inner packet at `off`, of the kind that an EtherType says. */
/*@ requires vnrx_frame_ok(frame) && off <= frame->avail + 252 && \valid(l3);
    requires \separated(l3, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns *l3;
    ensures vnrx_version_ok(\result);
    ensures \result == 4 || \result == 6 ==> off <= *l3 <= frame->avail + 252;
*/
static uint32_t inner_type(const struct vnrx_frame *frame, uint32_t type, uint32_t off, uint32_t *l3)
{
	if (type == TYPE_TEB)
		return inner_eth(frame, off, l3);
	*l3 = off;
	return type == VNRX_TYPE_IPV4 ? 4u : type == VNRX_TYPE_IPV6 ? 6u : VNRX_VERSION_NONE;
}

/*@ requires vnrx_frame_ok(frame) && off <= VNRX_AVAIL_MAX + 8 && \valid(l3);
    requires \separated(l3, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns *l3;
    ensures vnrx_version_ok(\result);
    ensures \result == 4 || \result == 6 ==> off + VXLAN_HDR <= *l3 <= frame->avail + 252;
*/
static uint32_t vxlan(const struct vnrx_frame *frame, uint32_t off, uint32_t *l3)
{
	if (off + VXLAN_HDR > frame->avail)
		return VNRX_VERSION_CUT;
	if ((frame->hdr[off] & VXLAN_FLAG_VNI) == 0u)
		return VNRX_VERSION_NONE;
	return inner_eth(frame, off + VXLAN_HDR, l3);
}

/*@ requires vnrx_frame_ok(frame) && off <= VNRX_AVAIL_MAX + 8 && \valid(l3);
    requires \separated(l3, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns *l3;
    ensures vnrx_version_ok(\result);
    ensures \result == 4 || \result == 6 ==> off + VXLAN_HDR <= *l3 <= frame->avail + 252;
*/
static uint32_t vxlan_gpe(const struct vnrx_frame *frame, uint32_t off, uint32_t *l3)
{
	uint32_t next;

	if (off + VXLAN_HDR > frame->avail)
		return VNRX_VERSION_CUT;
	if ((frame->hdr[off] & (GPE_FLAG_PROTO | GPE_FLAGS_OTHER)) != GPE_FLAG_PROTO)
		return VNRX_VERSION_NONE;
	next = frame->hdr[off + 3u];
	*l3 = off + VXLAN_HDR;
	if (next == GPE_ETHERNET)
		return inner_eth(frame, off + VXLAN_HDR, l3);
	return next == GPE_IPV4 ? 4u : next == GPE_IPV6 ? 6u : VNRX_VERSION_NONE;
}

/*@ requires vnrx_frame_ok(frame) && off <= VNRX_AVAIL_MAX + 8 && \valid(l3);
    requires \separated(l3, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns *l3;
    ensures vnrx_version_ok(\result);
    ensures \result == 4 || \result == 6 ==> off + GENEVE_HDR <= *l3 <= frame->avail + 252;
*/
static uint32_t geneve(const struct vnrx_frame *frame, uint32_t off, uint32_t *l3)
{
	uint32_t options;

	if (off + GENEVE_HDR > frame->avail)
		return VNRX_VERSION_CUT;
	if (frame->hdr[off] / 64u != 0u || (frame->hdr[off + 1u] & GENEVE_OAM) != 0u)
		return VNRX_VERSION_NONE;
	options = frame->hdr[off] % 64u * 4u;
	return inner_type(frame, vnrx_be16(frame->hdr + off + 2u), off + GENEVE_HDR + options, l3);
}

/* Without key or with it; a checksum or a sequence number differs from packet to packet. */
/*@ requires vnrx_frame_ok(frame) && off <= VNRX_AVAIL_MAX + 8 && \valid(l3);
    requires \separated(l3, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns *l3;
    ensures vnrx_version_ok(\result);
    ensures \result == 4 || \result == 6 ==> off + GRE_HDR <= *l3 <= frame->avail + 252;
*/
static uint32_t gre(const struct vnrx_frame *frame, uint32_t off, uint32_t *l3)
{
	uint32_t flags;

	if (off + GRE_HDR > frame->avail)
		return VNRX_VERSION_CUT;
	flags = vnrx_be16(frame->hdr + off);
	if ((flags & ~GRE_KEY) != 0u)
		return VNRX_VERSION_NONE;
	return inner_type(frame, vnrx_be16(frame->hdr + off + 2u), off + GRE_HDR + (flags != 0u ? 4u : 0u), l3);
}

/* Behind a UDP header, by destination port. */
/*@ requires vnrx_frame_ok(frame) && \valid_read(tunnels) && l4 <= frame->avail && \valid(l3) && \valid(version);
    requires \separated(l3, version, frame, tunnels, frame->hdr + (0 .. frame->avail - 1));
    assigns *l3, *version;
    ensures \result != 0 ==> vnrx_version_ok(*version) &&
            (*version == 4 || *version == 6 ==> l4 + 2 * VNRX_UDP_HDR <= *l3 <= frame->avail + 252);
*/
static bool udp_tunnel(const struct vnrx_frame *frame, const struct vnrx_tunnels *tunnels, uint32_t l4, uint32_t *l3,
                       uint32_t *version)
{
	uint32_t off = l4 + VNRX_UDP_HDR;
	uint32_t port;

	if (l4 + 4u > frame->avail)
		return false;
	port = vnrx_be16(frame->hdr + l4 + 2u);
	if (port == 0u)
		return false;
	if (port == tunnels->vxlan_port)
		*version = vxlan(frame, off, l3);
	else if (port == tunnels->gpe_port)
		*version = vxlan_gpe(frame, off, l3);
	else if (port == tunnels->geneve_port)
		*version = geneve(frame, off, l3);
	else
		return false;
	return true;
}

bool vnrx_dissect_tunnel(const struct vnrx_frame *frame, const struct vnrx_tunnels *tunnels, const struct vnrx_ip *ip,
                         uint32_t *inner_l3, uint32_t *version)
{
	*version = 0;
	*inner_l3 = ip->l4;
	if (ip->proto == VNRX_PROTO_UDP)
		return udp_tunnel(frame, tunnels, ip->l4, inner_l3, version);
	if (!tunnels->ip)
		return false;
	if (ip->proto == VNRX_PROTO_GRE)
		*version = gre(frame, ip->l4, inner_l3);
	else if (ip->proto == VNRX_PROTO_IPIP)
		*version = 4u;
	else if (ip->proto == VNRX_PROTO_IPV6)
		*version = 6u;
	else
		return false;
	return true;
}
