/* SPDX-License-Identifier: BSD-3-Clause */
/* How the short way holds a packet whose flow is not in the table. */
#ifndef VNRX_OPEN_H
#define VNRX_OPEN_H

#include "lane.h"
#include "lists.h"
#include "record.h"

#define VNRX_VXLAN_FLAG_VNI 0x08u

/* A network header at l3 without options, right, of a packet that ends with the frame. */
static VNRX_INLINE bool vnrx_plain_ip(const uint8_t *data, uint32_t len, uint32_t l3, bool v6, uint32_t proto)
{
	const uint8_t *ip = data + l3;

	if (v6)
		return vnrx_be16(ip - 2) == VNRX_TYPE_IPV6 && ip[0] / 16u == 6u && ip[VNRX_IPV6_NEXT] == proto &&
		       vnrx_be16(ip + VNRX_IPV6_LEN) == len - l3 - VNRX_IPV6_HDR;
	return vnrx_be16(ip - 2) == VNRX_TYPE_IPV4 && ip[0] == 0x45u && ip[VNRX_IPV4_PROTO] == proto &&
	       vnrx_be16(ip + VNRX_IPV4_LEN) == len - l3 && (vnrx_be16(ip + VNRX_IPV4_FRAG) & 0xbfffu) == 0u &&
	       vnrx_sum_ipv4(ip) == 0xffffu;
}

/* VXLAN over IPv4 to its port, without a checksum of its own. */
static VNRX_INLINE bool vnrx_plain_vxlan(const struct vnetrx_gro *gro, const uint8_t *data, uint32_t len,
                                         const struct vnrx_lane *lane)
{
	const uint8_t *udp = data + lane->outer_l4;
	uint32_t port = vnrx_be16(udp + VNRX_UDP_DPORT);

	return vnrx_plain_ip(data, len, lane->outer_l3, false, VNRX_PROTO_UDP) && port != 0u &&
	       port == gro->tunnels.vxlan_port && vnrx_be16(udp + VNRX_UDP_LEN) == len - lane->outer_l4 &&
	       vnrx_load16(udp + VNRX_UDP_CSUM) == 0u && (udp[VNRX_UDP_HDR] & VNRX_VXLAN_FLAG_VNI) != 0u;
}

/* UDP with a checksum, to no port of a tunnel. */
static VNRX_INLINE bool vnrx_plain_udp(const struct vnetrx_gro *gro, const uint8_t *udp, uint32_t len)
{
	uint32_t port = vnrx_be16(udp + VNRX_UDP_DPORT);

	return vnrx_be16(udp + VNRX_UDP_LEN) == len && vnrx_load16(udp + VNRX_UDP_CSUM) != 0u &&
	       port != gro->tunnels.vxlan_port && port != gro->tunnels.gpe_port && port != gro->tunnels.geneve_port;
}

/* Is the frame of the lane's shape, and a plain data segment (of TCP with ACK and nothing else) without padding?
 * Returns its header length, or 0. */
static VNRX_INLINE uint32_t vnrx_plain_segment(const struct vnetrx_gro *gro, const uint8_t *data, uint32_t len,
                                               const struct vnrx_lane *lane)
{
	uint32_t hdr_len = lane->hdr_min;

	for (uint32_t off = VNRX_ETH_TYPE; !vnrx_lane_tunnel(lane) && off < lane->l3 - 2u; off += VNRX_VLAN_HDR) {
		if (vnrx_be16(data + off) != VNRX_TYPE_8021Q && vnrx_be16(data + off) != VNRX_TYPE_8021AD)
			return 0;
	}
	if (vnrx_lane_tunnel(lane) && !vnrx_plain_vxlan(gro, data, len, lane))
		return 0;
	if (!vnrx_plain_ip(data, len, lane->l3, vnrx_lane_v6(lane),
	                   vnrx_lane_udp(lane) ? VNRX_PROTO_UDP : VNRX_PROTO_TCP))
		return 0;
	if (vnrx_lane_udp(lane))
		return vnrx_plain_udp(gro, data + lane->l4, len - lane->l4) ? hdr_len : 0u;
	hdr_len = lane->l4 + data[lane->l4 + VNRX_TCP_DOFF] / 16u * 4u;
	if (data[lane->l4 + VNRX_TCP_FLAGS] != VNRX_TCP_ACKF || hdr_len < lane->l4 + VNRX_TCP_HDR || hdr_len >= len)
		return 0;
	return hdr_len;
}

/* Does the engine hold such a packet? l3: its first network header. */
static VNRX_INLINE bool vnrx_wanted(const struct vnetrx_gro *gro, uint32_t len, uint32_t payload,
                                    const struct vnrx_lane *lane)
{
	uint32_t l3 = vnrx_lane_tunnel(lane) ? lane->outer_l3 : lane->l3;
	uint32_t proto = vnrx_lane_udp(lane) ? VNETRX_GRO_UDP : VNETRX_GRO_TCP;

	return gro->flows.held < gro->flows.held_max && len <= VNRX_FRAME_MAX && len - l3 <= gro->bytes_max &&
	       payload >= gro->payload_min && (gro->protos & proto) != 0u;
}

/* What dissect would say of it. */
static VNRX_INLINE struct vnrx_dissect vnrx_dissected(const struct vnrx_lane *lane, uint32_t hdr_len)
{
	struct vnrx_dissect d = { .l4 = lane->l4, .payload = hdr_len };

	d.ip.l3 = lane->l3;
	d.ip.version = vnrx_lane_v6(lane) ? 6u : 4u;
	d.proto = vnrx_lane_udp(lane) ? VNRX_PROTO_UDP : VNRX_PROTO_TCP;
	if (vnrx_lane_tunnel(lane)) {
		d.outer.l3 = lane->outer_l3;
		d.outer.l4 = lane->outer_l4;
		d.outer.version = 4u;
		d.udp_tunnel = 1;
	}
	return d;
}

static VNRX_INLINE struct vnrx_hash vnrx_hash_of(const struct vnrx_flows *t, const uint8_t *data, uint32_t hash,
                                                 const struct vnrx_lane *lane)
{
	struct vnrx_hash h = { hash, vnrx_hash_pair(t, vnrx_addrs_of(t, data, lane)), VNRX_FLOW_NONE };

	if (vnrx_lane_tunnel(lane))
		h.outer = vnrx_hash_pair(t, vnrx_hash_addrs(t, data + lane->outer_l3, 4u, VNRX_KEY_OUTER));
	return h;
}

/* Holds a packet whose flow is not in the table, where a place is free. NULL = it takes the general way. */
static VNRX_INLINE struct vnrx_flow *vnrx_open_flow(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt,
                                                    const struct vnrx_place *p, const struct vnrx_lane *lane)
{
	struct vnrx_flows *t = &gro->flows;
	uint64_t free_ways = ~t->tags[p->set] & VNRX_TAG_TOPS;
	uint32_t len = pkt->frag_len;
	uint32_t hdr_len = vnrx_plain_segment(gro, pkt->data, len, lane);
	uint32_t payload = len - hdr_len;
	struct vnrx_seg seg = { .pkt = pkt, .hdr = pkt->data, .payload = payload, .unit = payload, .count = 1 };
	struct vnrx_flow *f;
	uint32_t slot;

	if (hdr_len == 0u || free_ways == 0u || !vnrx_wanted(gro, len, payload, lane))
		return NULL;
	slot = p->set * VNRX_WAYS + vnrx_low_byte(free_ways);
	f = &t->flow[slot];
	seg.d = vnrx_dissected(lane, hdr_len);
	seg.hash = vnrx_hash_of(t, pkt->data, p->hash, lane);
	f->hdr = pkt->data;
	f->scratch = VNRX_SCRATCH_NONE;
	f->shape = (uint8_t)lane->index;
	gro->shape[lane->index].refs++;
	vnrx_record_layers(gro, slot, &seg);
	if (vnrx_lane_udp(lane))
		vnrx_record_udp(gro, f, &seg);
	else
		vnrx_record_tcp(gro, f, &seg);
	gro->stats.held_new++;
	vnrx_flows_add(t, slot, &seg.hash, gro->clock, vnrx_first_list(gro, slot, p->hash, gro->clock));
	return f;
}

#endif
