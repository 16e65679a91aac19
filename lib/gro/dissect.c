/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every read is preceded by a test of an absolute offset against `avail`; offsets only grow, and are capped at 65535
 * on entry so that sums of them cannot wrap.
 */
#include "dissect.h"

#include "csum.h"

/* The first reason counts. */
/*@ requires \valid(d) && 0 <= why < VNRX_PASS_NOT && d->pass <= VNRX_PASS_NOT;
    assigns d->pass;
    ensures d->pass < VNRX_PASS_NOT;
*/
static void refuse(struct vnrx_dissect *d, enum vnrx_pass why)
{
	if (d->pass == VNRX_PASS_NOT)
		d->pass = (uint8_t)why;
}

/* PPPoE session header (RFC 2516) at off, PPP protocol behind it; returns the version of the network header. */
/*@ requires vnrx_frame_ok(frame) && off <= 100100 && \valid(l3);
    requires \separated(l3, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns *l3;
    ensures vnrx_version_ok(\result);
    ensures \result == 4 || \result == 6 ==> *l3 == off + VNRX_PPPOE_HDR && *l3 <= frame->avail;
*/
static uint32_t dissect_pppoe(const struct vnrx_frame *frame, uint32_t off, uint32_t *l3)
{
	uint32_t ppp;

	if (off + VNRX_PPPOE_HDR > frame->avail)
		return VNRX_VERSION_CUT;
	if (frame->hdr[off] != 0x11u || frame->hdr[off + 1u] != 0u)
		return VNRX_VERSION_NONE;
	ppp = vnrx_be16(frame->hdr + off + 6u);
	*l3 = off + VNRX_PPPOE_HDR;
	return ppp == VNRX_PPP_IPV4 ? 4u : ppp == VNRX_PPP_IPV6 ? 6u : VNRX_VERSION_NONE;
}

uint32_t vnrx_dissect_l2(const struct vnrx_frame *frame, uint32_t type_off, uint32_t *l3, bool *pppoe)
{
	uint32_t off = type_off + 2u;
	uint32_t type;

	if (type_off + 2u > frame->avail)
		return VNRX_VERSION_CUT;
	type = vnrx_be16(frame->hdr + type_off);
	/*@ loop invariant tags <= 2 && off == type_off + 2 + tags * VNRX_VLAN_HDR && off <= frame->avail;
	    loop assigns tags, type, off;
	    loop variant 2 - tags;
	*/
	for (unsigned tags = 0; type == VNRX_TYPE_8021Q || type == VNRX_TYPE_8021AD; tags++) {
		if (tags == 2u)
			return VNRX_VERSION_NONE;
		if (off + VNRX_VLAN_HDR > frame->avail)
			return VNRX_VERSION_CUT;
		type = vnrx_be16(frame->hdr + off + 2u);
		off += VNRX_VLAN_HDR;
	}
	*l3 = off;
	if (type == VNRX_TYPE_PPPOE && pppoe != NULL) {
		*pppoe = true;
		return dissect_pppoe(frame, off, l3);
	}
	return type == VNRX_TYPE_IPV4 ? 4u : type == VNRX_TYPE_IPV6 ? 6u : VNRX_VERSION_NONE;
}

/*@ requires vnrx_frame_ok(frame) && \valid(ip) && l3 <= 100000;
    requires ip->version == 0 && ip->l4 == 0;
    requires \separated(ip, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns *ip;
    ensures ip->version == 0 || (ip->version == 4 && ip->l3 == l3 && vnrx_ip_in(ip, frame->avail));
    ensures ip->version == 0 ==> ip->l4 == 0 && \result == VNRX_PASS_CUT;
    ensures 0 <= \result <= VNRX_PASS_NOT;
    ensures \result == VNRX_PASS_NOT ==> ip->version != 0 && ip->l4 != 0;
*/
static enum vnrx_pass dissect_ipv4(const struct vnrx_frame *frame, uint32_t l3, struct vnrx_ip *ip)
{
	const uint8_t *hdr = frame->hdr;
	uint32_t ihl, total;

	if (l3 + VNRX_IPV4_HDR > frame->avail || hdr[l3] / 16u != 4u)
		return VNRX_PASS_CUT;
	ip->version = 4u;
	ip->l3 = l3;
	ihl = hdr[l3] % 16u * 4u;
	total = vnrx_be16(hdr + l3 + VNRX_IPV4_LEN);
	ip->end = l3 + total;
	if (ihl < VNRX_IPV4_HDR || total < ihl || l3 + ihl > frame->avail)
		return VNRX_PASS_CUT;
	if ((vnrx_be16(hdr + l3 + VNRX_IPV4_FRAG) & 0xbfffu) != 0u) /* anything but DF */
		return VNRX_PASS_FRAGMENT;
	ip->l4 = l3 + ihl;
	ip->proto = hdr[l3 + VNRX_IPV4_PROTO];
	if (ihl > VNRX_IPV4_HDR)
		return VNRX_PASS_IP_OPTIONS;
	return vnrx_sum_ipv4(hdr + l3) == 0xffffu ? VNRX_PASS_NOT : VNRX_PASS_IP_CSUM;
}

/*@ assigns \nothing; */
static bool is_extension(uint32_t next)
{
	return next == VNRX_PROTO_HOPOPTS || next == VNRX_PROTO_ROUTING || next == VNRX_PROTO_DSTOPTS;
}

/*@ requires vnrx_frame_ok(frame) && \valid(ip) && l3 <= 100000;
    requires ip->version == 0 && ip->l4 == 0;
    requires \separated(ip, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns *ip;
    ensures ip->version == 0 || (ip->version == 6 && ip->l3 == l3 && vnrx_ip_in(ip, frame->avail));
    ensures ip->version == 0 ==> ip->l4 == 0 && \result == VNRX_PASS_CUT;
    ensures 0 <= \result <= VNRX_PASS_NOT;
    ensures \result == VNRX_PASS_NOT ==> ip->version != 0 && ip->l4 != 0;
*/
static enum vnrx_pass dissect_ipv6(const struct vnrx_frame *frame, uint32_t l3, struct vnrx_ip *ip)
{
	const uint8_t *hdr = frame->hdr;
	uint32_t off = l3 + VNRX_IPV6_HDR;
	uint32_t next;

	if (l3 + VNRX_IPV6_HDR > frame->avail || hdr[l3] / 16u != 6u)
		return VNRX_PASS_CUT;
	ip->version = 6u;
	ip->l3 = l3;
	ip->end = off + vnrx_be16(hdr + l3 + VNRX_IPV6_LEN);
	next = hdr[l3 + VNRX_IPV6_NEXT];
	/*@ loop invariant n <= VNRX_EXT_MAX && l3 + VNRX_IPV6_HDR <= off <= frame->avail && off <= ip->end;
	    loop assigns n, next, off;
	    loop variant VNRX_EXT_MAX - n;
	*/
	for (unsigned n = 0; is_extension(next); n++) {
		uint32_t len;

		if (n == VNRX_EXT_MAX)
			return VNRX_PASS_EXT;
		if (off + 8u > frame->avail || off + 8u > ip->end)
			return VNRX_PASS_CUT;
		len = (hdr[off + 1u] + 1u) * 8u;
		if (off + len > frame->avail || off + len > ip->end)
			return VNRX_PASS_CUT;
		next = hdr[off];
		off += len;
	}
	if (next == VNRX_PROTO_FRAGMENT)
		return VNRX_PASS_FRAGMENT;
	ip->l4 = off;
	ip->proto = next;
	return VNRX_PASS_NOT;
}

enum vnrx_pass vnrx_dissect_ip(const struct vnrx_frame *frame, uint32_t l3, uint32_t version, struct vnrx_ip *ip)
{
	*ip = (struct vnrx_ip){ 0 };
	return version == 4u ? dissect_ipv4(frame, l3, ip) : dissect_ipv6(frame, l3, ip);
}

/* TCP or UDP behind d->ip: the ports, and where the payload begins. */
/*@ requires vnrx_frame_ok(frame) && \valid(d) && d->pass <= VNRX_PASS_NOT;
    requires vnrx_ip_in(&d->ip, frame->avail) && d->ip.l4 != 0;
    requires \separated(d, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns d->reach, d->pass, d->proto, d->l4, d->payload;
    ensures d->pass <= VNRX_PASS_NOT && (d->pass == VNRX_PASS_NOT ==> \old(d->pass) == VNRX_PASS_NOT);
    ensures d->reach == \old(d->reach) || d->reach == VNRX_REACH_PORTS;
    ensures d->reach == VNRX_REACH_PORTS && \old(d->reach) != VNRX_REACH_PORTS ==> d->l4 + 4 <= frame->avail;
    ensures d->pass == VNRX_PASS_NOT ==>
            d->l4 == d->ip.l4 && d->l4 < d->payload <= d->ip.end && d->payload <= frame->avail &&
            (d->proto == VNRX_PROTO_TCP || d->proto == VNRX_PROTO_UDP) && d->reach == VNRX_REACH_PORTS;
*/
static void dissect_l4(const struct vnrx_frame *frame, struct vnrx_dissect *d)
{
	uint32_t l4 = d->ip.l4;
	uint32_t end = d->ip.end < frame->avail ? d->ip.end : frame->avail;
	uint32_t len = VNRX_UDP_HDR;

	if (d->ip.proto != VNRX_PROTO_TCP && d->ip.proto != VNRX_PROTO_UDP) {
		refuse(d, VNRX_PASS_PROTO);
		return;
	}
	if (l4 + 4u > end) {
		refuse(d, VNRX_PASS_CUT);
		return;
	}
	d->reach = VNRX_REACH_PORTS;
	d->l4 = l4;
	d->proto = (uint8_t)d->ip.proto;
	if (d->proto == VNRX_PROTO_TCP) {
		if (l4 + VNRX_TCP_HDR > end) {
			refuse(d, VNRX_PASS_CUT);
			return;
		}
		len = frame->hdr[l4 + VNRX_TCP_DOFF] / 16u * 4u;
		if (len < VNRX_TCP_HDR)
			refuse(d, VNRX_PASS_CUT);
	}
	if (l4 + len > end)
		refuse(d, VNRX_PASS_CUT);
	d->payload = l4 + len;
}

/* What is in the tunnel, as if it were the packet. Returns VNRX_PASS_NOT, or why nothing can be read there. */
/*@ requires vnrx_frame_ok(frame) && \valid_read(tunnels) && \valid(d) && d->pass <= VNRX_PASS_NOT;
    requires (version == 4 || version == 6) && l3 <= frame->avail + 252;
    requires vnrx_ip_in(&d->ip, frame->avail) && d->ip.l4 != 0 && d->ip.l4 <= l3 && VNRX_ETH_HDR <= d->ip.l3;
    requires d->ip.proto == VNRX_PROTO_UDP ==> d->ip.l4 + 2 * VNRX_UDP_HDR <= l3;
    requires d->outer.version == 0 && d->reach == VNRX_REACH_ADDRS;
    requires \separated(d, frame, tunnels, frame->hdr + (0 .. frame->avail - 1));
    assigns d->reach, d->pass, d->proto, d->l4, d->payload, d->udp_tunnel, d->outer, d->ip;
    ensures \result == VNRX_PASS_NOT || \result == VNRX_PASS_CUT || \result == VNRX_PASS_TUNNEL;
    ensures d->pass <= VNRX_PASS_NOT;
    ensures vnrx_ip_in(&d->ip, frame->avail);
    ensures \result != VNRX_PASS_NOT ==>
            d->ip.l3 == \old(d->ip.l3) && d->ip.l4 == \old(d->ip.l4) && d->outer.version == 0 &&
            d->reach == VNRX_REACH_ADDRS && d->pass == \old(d->pass);
    ensures \result == VNRX_PASS_NOT ==>
            d->ip.l3 == l3 && vnrx_ip_in(&d->outer, frame->avail) && d->outer.version != 0 &&
            d->outer.l3 == \old(d->ip.l3) && d->outer.l4 == \old(d->ip.l4) &&
            (d->reach == VNRX_REACH_ADDRS || (d->reach == VNRX_REACH_PORTS && d->l4 + 4 <= frame->avail));
    ensures \result == VNRX_PASS_NOT && d->pass == VNRX_PASS_NOT ==>
            d->ip.end == d->outer.end && d->l4 == d->ip.l4 && d->ip.l4 != 0 &&
            d->l4 < d->payload <= d->ip.end && d->payload <= frame->avail &&
            (d->proto == VNRX_PROTO_TCP || d->proto == VNRX_PROTO_UDP) && d->reach == VNRX_REACH_PORTS;
*/
static enum vnrx_pass dissect_inner(const struct vnrx_frame *frame, const struct vnrx_tunnels *tunnels, uint32_t l3,
                                    uint32_t version, struct vnrx_dissect *d)
{
	struct vnrx_ip inner;
	uint32_t unused[2];
	enum vnrx_pass why = vnrx_dissect_ip(frame, l3, version, &inner);

	if (inner.version == 0u)
		return l3 + (version == 4u ? VNRX_IPV4_HDR : VNRX_IPV6_HDR) > frame->avail ? VNRX_PASS_CUT :
		                                                                            VNRX_PASS_TUNNEL;
	if (why != VNRX_PASS_NOT)
		refuse(d, why);
	d->udp_tunnel = d->ip.proto == VNRX_PROTO_UDP;
	d->outer = d->ip;
	d->ip = inner;
	//@ assert vnrx_ip_in(&d->ip, frame->avail) && vnrx_ip_in(&d->outer, frame->avail);
	if (inner.end != d->outer.end) /* inside, nothing pads: what follows is not the packet's */
		refuse(d, inner.end > d->outer.end ? VNRX_PASS_CUT : VNRX_PASS_TRAILER);
	if (d->udp_tunnel != 0u &&
	    (d->outer.l4 + VNRX_UDP_HDR > frame->avail ||
	     vnrx_be16(frame->hdr + d->outer.l4 + VNRX_UDP_LEN) != d->outer.end - d->outer.l4))
		refuse(d, VNRX_PASS_CUT);
	if (inner.l4 == 0u)
		return VNRX_PASS_NOT;
	if (!VNRX_TCP_ALONE && vnrx_dissect_tunnel(frame, tunnels, &inner, &unused[0], &unused[1]))
		refuse(d, VNRX_PASS_TUNNEL);
	dissect_l4(frame, d);
	return VNRX_PASS_NOT;
}

/* What follows the first network header. A tunnel whose inside is known to be no IP is a packet of the outer flow; of
 * one whose inside is not at hand only the addresses are known, so that nothing in tunnels between them is overtaken.
 */
/*@ requires vnrx_frame_ok(whole) && \valid_read(tunnels) && \valid(d) && d->pass <= VNRX_PASS_NOT;
    requires vnrx_ip_in(&d->ip, whole->avail) && d->ip.l4 != 0 && VNRX_ETH_HDR <= d->ip.l3;
    requires d->outer.version == 0 && d->reach == VNRX_REACH_ADDRS;
    requires \separated(d, whole, tunnels, whole->hdr + (0 .. whole->avail - 1));
    assigns d->reach, d->pass, d->proto, d->l4, d->payload, d->udp_tunnel, d->outer, d->ip;
    ensures d->pass <= VNRX_PASS_NOT;
    ensures vnrx_ip_in(&d->ip, whole->avail);
    ensures VNRX_ETH_HDR <= d->ip.l3;
    ensures d->outer.version != 0 ==>
            VNRX_ETH_HDR <= d->outer.l3 < d->outer.l4 <= d->ip.l3 && vnrx_ip_in(&d->outer, whole->avail);
    ensures d->reach == VNRX_REACH_ADDRS || (d->reach == VNRX_REACH_PORTS && d->l4 + 4 <= whole->avail);
    ensures d->pass == VNRX_PASS_NOT ==>
            d->l4 == d->ip.l4 && d->ip.l4 != 0 && d->l4 < d->payload <= d->ip.end && d->payload <= whole->avail &&
            (d->proto == VNRX_PROTO_TCP || d->proto == VNRX_PROTO_UDP) && d->reach == VNRX_REACH_PORTS &&
            (d->outer.version != 0 ==> d->ip.end == d->outer.end);
*/
static void dissect_upper(const struct vnrx_frame *whole, const struct vnrx_tunnels *tunnels, struct vnrx_dissect *d)
{
	struct vnrx_frame frame = *whole;
	enum vnrx_pass why = VNRX_PASS_NOT;
	uint32_t l3 = 0, version = 0;

	if (frame.avail > d->ip.end)
		frame.avail = d->ip.end;
	//@ assert vnrx_frame_ok(&frame) && frame.avail <= whole->avail;
	//@ assert vnrx_ip_in(&d->ip, frame.avail);
	if (VNRX_TCP_ALONE || !vnrx_dissect_tunnel(&frame, tunnels, &d->ip, &l3, &version)) {
		dissect_l4(whole, d);
		return;
	}
	if (version == VNRX_VERSION_NONE || version == VNRX_VERSION_CUT)
		why = version == VNRX_VERSION_NONE ? VNRX_PASS_TUNNEL : VNRX_PASS_CUT;
	else
		why = dissect_inner(&frame, tunnels, l3, version, d);
	//@ assert vnrx_frame_ok(whole) && vnrx_ip_in(&d->ip, whole->avail);
	if (why == VNRX_PASS_NOT)
		return;
	//@ assert d->ip.l4 != 0 && d->pass <= VNRX_PASS_NOT && d->outer.version == 0;
	refuse(d, why);
	if (why == VNRX_PASS_TUNNEL)
		dissect_l4(whole, d);
}

/* What is left to check once all headers are known. The first IP packet fills the frame, but for Ethernet padding; a
 * PPPoE length says the same. */
/*@ requires vnrx_frame_ok(frame) && \valid(d) && d->pass <= VNRX_PASS_NOT;
    requires first == &d->ip || first == &d->outer;
    requires vnrx_ip_in(first, frame->avail) && VNRX_ETH_HDR <= first->l3;
    requires \separated(d, frame, frame->hdr + (0 .. frame->avail - 1));
    assigns d->pass;
    ensures d->pass <= VNRX_PASS_NOT;
    ensures d->pass == VNRX_PASS_NOT ==>
            \old(d->pass) == VNRX_PASS_NOT && first->end <= frame->len && d->payload <= VNRX_HDR_MAX;
*/
static void check_size(const struct vnrx_frame *frame, const struct vnrx_ip *first, struct vnrx_dissect *d)
{
	uint32_t l3 = first->l3, pppoe_len = 0;

	if (d->pppoe != 0u && l3 >= VNRX_PPPOE_HDR && l3 <= frame->avail)
		pppoe_len = vnrx_be16(frame->hdr + l3 - 4u);
	if (first->end > frame->len)
		refuse(d, VNRX_PASS_CUT);
	else if (first->end < frame->len && frame->len > VNRX_ETH_MIN)
		refuse(d, VNRX_PASS_TRAILER);
	if (d->pppoe != 0u && pppoe_len != first->end - first->l3 + 2u)
		refuse(d, VNRX_PASS_CUT);
	if (d->pass == VNRX_PASS_NOT && d->payload > VNRX_HDR_MAX)
		refuse(d, VNRX_PASS_HDR_LEN);
}

/* Behind the first network header. */
/*@ requires vnrx_frame_ok(frame) && \valid_read(tunnels) && \valid(d) && d->pass <= VNRX_PASS_NOT;
    requires vnrx_ip_in(&d->ip, frame->avail) && VNRX_ETH_HDR <= d->ip.l3;
    requires d->outer.version == 0 && d->reach == VNRX_REACH_ADDRS;
    requires d->pass == VNRX_PASS_NOT ==> d->ip.l4 != 0;
    requires \separated(d, frame, tunnels, frame->hdr + (0 .. frame->avail - 1));
    assigns d->reach, d->pass, d->proto, d->l4, d->payload, d->udp_tunnel, d->outer, d->ip;
    ensures vnrx_dissected(frame, d) && vnrx_reached(frame, d);
*/
static void dissect_rest(const struct vnrx_frame *frame, const struct vnrx_tunnels *tunnels, struct vnrx_dissect *d)
{
	if (d->ip.l4 != 0u)
		dissect_upper(frame, tunnels, d);
	//@ assert d->outer.version != 0 ==> vnrx_ip_in(&d->outer, frame->avail) && VNRX_ETH_HDR <= d->outer.l3;
	//@ assert vnrx_ip_in(&d->ip, frame->avail) && VNRX_ETH_HDR <= d->ip.l3;
	check_size(frame, vnrx_in_tunnel(d) ? &d->outer : &d->ip, d);
}

/* Nothing is known; field by field, which the provers follow. */
/*@ requires \valid(d);
    assigns *d;
    ensures d->ip.version == 0 && d->outer.version == 0 && d->reach == VNRX_REACH_NOTHING;
    ensures d->pass == VNRX_PASS_NOT && d->pppoe == 0;
*/
static VNRX_INLINE void clear(struct vnrx_dissect *d)
{
	d->ip = (struct vnrx_ip){ 0 };
	d->outer = (struct vnrx_ip){ 0 };
	d->l4 = 0;
	d->payload = 0;
	d->reach = VNRX_REACH_NOTHING;
	d->pass = VNRX_PASS_NOT;
	d->proto = 0;
	d->pppoe = 0;
	d->udp_tunnel = 0;
}

void vnrx_dissect(const struct vnrx_frame *whole, const struct vnrx_tunnels *tunnels, struct vnrx_dissect *d)
{
	struct vnrx_frame frame = *whole;
	bool pppoe = false;
	uint32_t l3 = 0, version;
	enum vnrx_pass why;

	if (frame.avail > VNRX_AVAIL_MAX)
		frame.avail = VNRX_AVAIL_MAX;
	//@ assert vnrx_frame_ok(&frame);
	clear(d);
	//@ assert vnrx_frame_ok(&frame);
	version = vnrx_dissect_l2(&frame, VNRX_ETH_TYPE, &l3, &pppoe);
	if (version == VNRX_VERSION_NONE || version == VNRX_VERSION_CUT) {
		refuse(d, VNRX_PASS_NOT_IP);
		return;
	}
	why = vnrx_dissect_ip(&frame, l3, version, &d->ip);
	if (why != VNRX_PASS_NOT)
		refuse(d, why);
	if (d->ip.version == 0u)
		return;
	d->reach = VNRX_REACH_ADDRS;
	d->pppoe = pppoe;
	dissect_rest(&frame, tunnels, d);
	//@ assert vnrx_dissected(&frame, d) && vnrx_reached(&frame, d);
	//@ assert frame.avail <= whole->avail && frame.len == whole->len;
}
