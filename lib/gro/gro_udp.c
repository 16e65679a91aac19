/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UDP: datagrams of one size join into a train; a shorter one joins and ends it. Nothing numbers them, so the order
 * in which they came is all there is: only the last may be continued.
 */
#include "engine.h"
#include "prefetch.h"

enum vnrx_pass vnrx_udp_check(const struct vnetrx_gro *gro, const struct vnrx_seg *seg)
{
	if (VNRX_TCP_ALONE || (gro->protos & VNETRX_GRO_UDP) == 0u)
		return VNRX_PASS_OFF;
	if (seg->count == 1u && vnrx_be16(seg->hdr + seg->d.l4 + VNRX_UDP_LEN) != seg->d.ip.end - seg->d.l4)
		return VNRX_PASS_CUT;
	return seg->payload == 0u ? VNRX_PASS_EMPTY : VNRX_PASS_NOT;
}

enum vnrx_differ vnrx_udp_differs(const struct vnrx_flow *f, const struct vnrx_seg *seg)
{
	uint16_t held = vnrx_load16(f->hdr + f->l4 + VNRX_UDP_CSUM);
	uint16_t csum = vnrx_load16(seg->hdr + seg->d.l4 + VNRX_UDP_CSUM);

	return (held == 0u) == (csum == 0u) ? VNRX_DIFFER_NOT : VNRX_DIFFER_META;
}

/* Plain UDP in one piece while UDP is not merged: it passes, and nothing of its flow can be held. Not in IP
 * fragments, and not to the port of a tunnel. */
static bool plain_udp(const struct vnetrx_gro *gro, const struct vnetrx_pkt *pkt)
{
	const uint8_t *data = pkt->data;
	uint32_t l4 = VNRX_ETH_HDR + VNRX_IPV4_HDR, type, port;

	if (pkt->frag_len < VNRX_ETH_HDR + VNRX_IPV6_HDR + VNRX_UDP_HDR)
		return false;
	type = vnrx_be16(data + VNRX_ETH_TYPE);
	if (type == VNRX_TYPE_IPV6 && data[VNRX_ETH_HDR] / 16u == 6u &&
	    data[VNRX_ETH_HDR + VNRX_IPV6_NEXT] == VNRX_PROTO_UDP &&
	    vnrx_be16(data + VNRX_ETH_HDR + VNRX_IPV6_LEN) >= VNRX_UDP_HDR)
		l4 = VNRX_ETH_HDR + VNRX_IPV6_HDR;
	else if (type != VNRX_TYPE_IPV4 || data[VNRX_ETH_HDR] != 0x45u ||
	         data[VNRX_ETH_HDR + VNRX_IPV4_PROTO] != VNRX_PROTO_UDP ||
	         (vnrx_be16(data + VNRX_ETH_HDR + VNRX_IPV4_FRAG) & 0xbfffu) != 0u ||
	         vnrx_be16(data + VNRX_ETH_HDR + VNRX_IPV4_LEN) < VNRX_IPV4_HDR + VNRX_UDP_HDR)
		return false;
	port = vnrx_be16(data + l4 + 2u);
	return port != gro->tunnels.vxlan_port && port != gro->tunnels.gpe_port && port != gro->tunnels.geneve_port;
}

unsigned vnrx_udp_run(struct vnetrx_gro *gro, struct vnetrx_pkt *const *pkts, unsigned i, unsigned n,
                      struct vnetrx_pktq *q)
{
	for (; i < n; i++) {
		vnrx_prefetch_ahead(pkts, i, n);
		if ((pkts[i]->flags & VNETRX_PKT_TSTAMP) != 0u || !plain_udp(gro, pkts[i]))
			break;
		vnrx_gro_pass(gro, pkts[i], gro->clock, VNRX_PASS_OFF, q);
	}
	return i;
}
