/* SPDX-License-Identifier: BSD-3-Clause */
/* How the short way proves that a segment continues a held packet. */
#ifndef VNRX_JOIN_H
#define VNRX_JOIN_H

#include "lane.h"
#include "record.h"
#include "touch.h"

/* ---- the header of which everything is known at compile time ---- */

/* Its length: TCP has timestamps, as most segments do. */
static VNRX_INLINE uint32_t vnrx_usual_hdr_len(const struct vnrx_lane *lane)
{
	return lane->hdr_min + (vnrx_lane_udp(lane) ? 0u : VNRX_TCP_TIMESTAMPS);
}

static VNRX_INLINE uint64_t vnrx_differ64(const uint8_t *a, const uint8_t *b, uint32_t off)
{
	return vnrx_load64(a + off) ^ vnrx_load64(b + off);
}

/* A network header and the two bytes before it, but for IPv4 id and checksum, and the length of a last segment. */
static VNRX_INLINE uint64_t vnrx_differ_ip(const uint8_t *a, const uint8_t *b, uint32_t l3, bool v6, bool last)
{
	static const uint8_t v4_full[8] = { 0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff };
	static const uint8_t v4_last[8] = { 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff };
	uint64_t differs = vnrx_differ64(a, b, l3 - 6u);

	if (!v6)
		return differs | (vnrx_differ64(a, b, l3 + VNRX_IPV4_LEN) & vnrx_load64(last ? v4_last : v4_full)) |
		       vnrx_differ64(a, b, l3 + VNRX_IPV4_SRC);
	differs |= vnrx_differ64(a, b, l3); /* nobody asks for a last one: masks compare it */
	differs |= vnrx_differ64(a, b, l3 + VNRX_IPV6_SRC) | vnrx_differ64(a, b, l3 + VNRX_IPV6_SRC + 8u);
	return differs | vnrx_differ64(a, b, l3 + VNRX_IPV6_SRC + 16u) | vnrx_differ64(a, b, l3 + VNRX_IPV6_SRC + 24u);
}

/* A TCP header with timestamps, but for sequence number and checksum, and PSH and FIN of a last segment. */
static VNRX_INLINE uint64_t vnrx_differ_tcp(const uint8_t *a, const uint8_t *b, uint32_t l4, bool last)
{
	static const uint8_t no_end[8] = { 0xff, 0xff, 0xff, 0xff, 0xff,
		                           (uint8_t)~(VNRX_TCP_PSH | VNRX_TCP_FIN), 0xff, 0xff };
	uint64_t ack = vnrx_differ64(a, b, l4 + VNRX_TCP_ACK); /* and flags and window */

	return (last ? ack & vnrx_load64(no_end) : ack) | vnrx_differ64(a, b, l4 - 4u) | /* ports */
	       vnrx_differ64(a, b, l4 + VNRX_TCP_URGENT) |
	       vnrx_differ64(a, b, l4 + VNRX_TCP_HDR + VNRX_TCP_TIMESTAMPS - 8u);
}

/* Outer IPv4, UDP with its checksum, eight bytes of tunnel header, and an inner Ethernet header but for its end. */
static VNRX_INLINE uint64_t vnrx_differ_outer(const uint8_t *a, const uint8_t *b, const struct vnrx_lane *lane)
{
	return vnrx_differ_ip(a, b, lane->outer_l3, false, false) | vnrx_differ64(a, b, lane->outer_l4) |
	       vnrx_differ64(a, b, lane->outer_l4 + VNRX_UDP_HDR) | vnrx_differ64(a, b, lane->l3 - VNRX_ETH_HDR);
}

/* Are both of one flow, with nothing different that must be equal? In words whose places are known at compile time;
 * they overlap. last: may it be the last segment, which is not asked of UDP and tunnels. */
static VNRX_INLINE bool vnrx_same_usual(const uint8_t *a, const uint8_t *b, const struct vnrx_lane *lane, bool last)
{
	uint64_t differs = vnrx_differ64(a, b, 0) | vnrx_differ_ip(a, b, lane->l3, vnrx_lane_v6(lane), last);

	if (vnrx_lane_tunnel(lane))
		differs |= vnrx_differ_outer(a, b, lane);
	if (vnrx_lane_udp(lane)) /* ports and length */
		return (differs | vnrx_differ64(a, b, lane->l4 + VNRX_UDP_CSUM - 8u)) == 0u;
	return (differs | vnrx_differ_tcp(a, b, lane->l4, last)) == 0u;
}

/* ---- ids ---- */

/* IPv4 id and header checksum of a segment whose other header words are equal. Whether their sum is folded differs
 * from flow to flow, so that nothing may branch on it. */
static VNRX_INLINE bool vnrx_id_continues(const struct vnrx_id *held, const uint8_t *l3)
{
	uint16_t sum = vnrx_sum_add(vnrx_load16(l3 + VNRX_IPV4_ID), vnrx_load16(l3 + VNRX_IPV4_CSUM));

	return vnrx_id_fits(held, l3) && sum == held->csum;
}

/* And of the outer headers? A UDP tunnel with a checksum of its own takes the general way. */
static VNRX_INLINE bool vnrx_outer_continues(const struct vnrx_links *l, const uint8_t *data,
                                             const struct vnrx_lane *lane)
{
	if ((lane->kind & VNRX_KIND_UDP_TUNNEL) != 0u && vnrx_load16(data + lane->outer_l4 + VNRX_UDP_CSUM) != 0u)
		return false;
	return !vnrx_lane_outer_v4(lane) || vnrx_id_continues(&l->outer_id, data + lane->outer_l3);
}

#endif
