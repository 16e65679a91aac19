/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short way of the segment that ends a packet: all of it goes on as on the short way, but for its length, PSH or
 * FIN, or there is no room for it. Requests and answers are full of the ones, bulk transfers of the other. Compiled
 * twice: for TCP over IPv4 with timestamps, and for everything.
 */
#include "engine.h"
#include "join.h"

/* PSH and FIN, where there are any. */
static VNRX_INLINE unsigned closing_flags(const uint8_t *data, const struct vnrx_lane *lane)
{
	return vnrx_lane_udp(lane) ? 0u : data[lane->l4 + VNRX_TCP_FLAGS] & (VNRX_TCP_PSH | VNRX_TCP_FIN);
}

/* Do the lengths that the compare left open end with the frame, and is the header right? */
static VNRX_INLINE bool ends_with_frame(const uint8_t *data, uint32_t len, const struct vnrx_lane *lane)
{
	const uint8_t *l3 = data + lane->l3;

	if (vnrx_lane_udp(lane) && vnrx_be16(data + lane->l4 + VNRX_UDP_LEN) != len - lane->l4)
		return false;
	if (vnrx_lane_v6(lane))
		return vnrx_be16(l3 + VNRX_IPV6_LEN) == len - lane->l3 - VNRX_IPV6_HDR;
	return vnrx_be16(l3 + VNRX_IPV4_LEN) == len - lane->l3 && vnrx_sum_ipv4(l3) == 0xffffu;
}

/* Does the packet come next in f, whatever room there is, with PSH, FIN and its length as they are? */
static VNRX_INLINE bool continues(const struct vnetrx_gro *gro, const struct vnrx_flow *f, const struct vnetrx_pkt *pkt,
                                  const struct vnrx_lane *lane)
{
	const uint8_t *data = pkt->data;
	uint32_t len = pkt->frag_len;

	if (len > f->len || len <= f->hdr_len)
		return false;
	if (lane->known ? !vnrx_same_usual(data, f->hdr, lane, true) :
	                  !vnrx_masked_equal(data, f->hdr, gro->shape[lane->index].last, f->hdr_len))
		return false;
	if (!vnrx_l4_next(f, data, lane) || !ends_with_frame(data, len, lane))
		return false;
	return vnrx_lane_v6(lane) || vnrx_id_fits(&f->id, data + lane->l3);
}

/* Links its payload behind that of f, and hands its flags on. */
static VNRX_INLINE void link_last(struct vnrx_flow *f, struct vnetrx_pkt *pkt, unsigned flags,
                                  const struct vnrx_lane *lane)
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

/* Would the packet be longer than it may with this segment? */
static VNRX_INLINE bool too_long(const struct vnetrx_gro *gro, const struct vnrx_flow *f, uint32_t len,
                                 const struct vnrx_lane *lane)
{
	uint32_t most = vnrx_lane_udp(lane) && gro->bytes_max > 65535u ? 65535u : gro->bytes_max;

	return len - lane->l3 + (f->next_seq - f->first_seq) > most;
}

static VNRX_INLINE enum vnrx_last last_join(struct vnetrx_gro *gro, struct vnrx_flow *f, struct vnetrx_pkt *pkt,
                                            const struct vnrx_lane *lane, struct vnetrx_pktq *q)
{
	uint32_t slot = (uint32_t)(f - gro->flows.flow);
	uint32_t len = pkt->frag_len;
	bool fits = f->next_seq - f->first_seq <= f->fast_max;
	unsigned flags;

	if (!continues(gro, f, pkt, lane))
		return VNRX_LAST_NOT;
	flags = closing_flags(pkt->data, lane);
	if (flags == 0u && len == f->len) {
		if (fits || !too_long(gro, f, len, lane))
			return VNRX_LAST_NOT;
		vnrx_gro_leave(gro, slot, VNETRX_LEFT_FULL, q);
		return VNRX_LAST_AGAIN;
	}
	if (!fits || (f->tick != gro->tick && !vnrx_gro_touch(gro, slot, gro->clock)))
		return VNRX_LAST_NOT;
	link_last(f, pkt, flags, lane);
	vnrx_gro_leave(gro, slot, flags != 0u ? VNETRX_LEFT_PUSH : VNETRX_LEFT_SHORT, q);
	return VNRX_LAST_JOINED;
}

enum vnrx_last vnrx_last_join(struct vnetrx_gro *gro, struct vnetrx_pkt *pkt, const struct vnrx_place *place,
                              const struct vnrx_lane *lane, struct vnetrx_pktq *q)
{
	struct vnrx_flow *f = vnrx_find(&gro->flows, place);
	struct vnrx_lane any;

	if (f == NULL || f->shape != lane->index || vnrx_lane_tunnel(lane) || (lane->kind & VNRX_KIND_PPPOE) != 0u)
		return VNRX_LAST_NOT;
	if (lane->index == vnrx_lane_ipv4.index && f->hdr_len == vnrx_usual_hdr_len(&vnrx_lane_ipv4))
		return last_join(gro, f, pkt, &vnrx_lane_ipv4, q);
	any = *lane;
	any.known = false;
	return last_join(gro, f, pkt, &any, q);
}
