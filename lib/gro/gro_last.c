/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short way of the segment that ends a packet: all of it goes on as on the short way, but for its length, PSH or
 * FIN. Requests and answers are full of them.
 */
#include "engine.h"
#include "lane.h"
#include "record.h"

/* PSH and FIN, where there are any. */
static unsigned closing_flags(const uint8_t *data, const struct vnrx_lane *lane)
{
	return vnrx_lane_udp(lane) ? 0u : data[lane->l4 + VNRX_TCP_FLAGS] & (VNRX_TCP_PSH | VNRX_TCP_FIN);
}

/* Do the lengths that the compare left open end with the frame, and is the header right? */
static bool ends_with_frame(const uint8_t *data, uint32_t len, const struct vnrx_lane *lane)
{
	const uint8_t *l3 = data + lane->l3;

	if (vnrx_lane_udp(lane) && vnrx_be16(data + lane->l4 + VNRX_UDP_LEN) != len - lane->l4)
		return false;
	if (vnrx_lane_v6(lane))
		return vnrx_be16(l3 + VNRX_IPV6_LEN) == len - lane->l3 - VNRX_IPV6_HDR;
	return vnrx_be16(l3 + VNRX_IPV4_LEN) == len - lane->l3 && vnrx_sum_ipv4(l3) == 0xffffu;
}

/* May the packet be the last segment of f? */
static bool continues(const struct vnetrx_gro *gro, const struct vnrx_flow *f, const struct vnetrx_pkt *pkt,
                      const struct vnrx_lane *lane)
{
	const uint8_t *data = pkt->data;
	uint32_t len = pkt->frag_len;

	if (f->shape != lane->index || len > f->len || len <= f->hdr_len)
		return false;
	if (!vnrx_masked_equal(data, f->hdr, gro->shape[lane->index].last, f->hdr_len) ||
	    !vnrx_l4_continues(f, data, lane) || !ends_with_frame(data, len, lane))
		return false;
	return vnrx_lane_v6(lane) || vnrx_id_fits(&f->id, data + lane->l3);
}

/* Links its payload behind that of f, and hands its flags on. */
static void link_last(struct vnrx_flow *f, struct vnetrx_pkt *pkt, unsigned flags, const struct vnrx_lane *lane)
{
	uint32_t payload = pkt->frag_len - f->hdr_len;

	if (flags != 0u)
		f->hdr[lane->l4 + VNRX_TCP_FLAGS] |= (uint8_t)flags;
	if (!vnrx_lane_v6(lane))
		vnrx_id_advance(&f->id, pkt->data + lane->l3, 1u);
	f->next_seq += payload;
	f->truesize += pkt->truesize;
	f->segs++;
	pkt->data += f->hdr_len;
	pkt->frag_len = payload;
	f->tail->chain = pkt;
	f->tail = pkt;
}

bool vnrx_last_join(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt, struct vnetrx_pktq *q)
{
	struct vnrx_lane lane;
	struct vnrx_flow *f;
	uint32_t slot;
	unsigned flags;

	if (gro->guess >= VNRX_SHAPES)
		return false;
	lane = vnrx_lane_of(gro, gro->guess);
	if (vnrx_lane_tunnel(&lane) || (lane.kind & VNRX_KIND_PPPOE) != 0u || !vnrx_plain(pkt, &lane))
		return false;
	f = vnrx_guess(&gro->flows, pkt, &lane);
	if (f == NULL || !continues(gro, f, pkt, &lane))
		return false;
	slot = (uint32_t)(f - gro->flows.flow);
	flags = closing_flags(pkt->data, &lane);
	if ((flags == 0u && pkt->frag_len == f->len) || !vnrx_gro_touch(gro, slot, gro->clock))
		return false;
	link_last(f, pkt, flags, &lane);
	gro->stats.joined++;
	vnrx_gro_leave(gro, slot, flags != 0u ? VNETRX_LEFT_PUSH : VNETRX_LEFT_SHORT, q);
	return true;
}
