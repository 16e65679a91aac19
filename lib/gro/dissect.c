/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every read is preceded by a test of an absolute offset against `avail`; offsets only grow, and are capped at 65535
 * on entry so that sums of them cannot wrap.
 */
#include "dissect.h"

#include "csum.h"

#define AVAIL_MAX 65535u

/* The first reason counts. */
static void refuse(struct vnrx_dissect *d, enum vnrx_pass why)
{
	if (d->pass == VNRX_PASS_NOT)
		d->pass = (uint8_t)why;
}

/* Behind the Ethernet header and up to two VLAN tags; returns the EtherType and sets l3, or 0. */
static uint32_t dissect_l2(const uint8_t *hdr, uint32_t avail, uint32_t *l3)
{
	uint32_t off = VNRX_ETH_HDR;
	uint32_t type;

	if (off > avail)
		return 0;
	type = vnrx_be16(hdr + VNRX_ETH_TYPE);
	for (unsigned tags = 0; type == VNRX_TYPE_8021Q || type == VNRX_TYPE_8021AD; tags++) {
		if (tags == 2u || off + VNRX_VLAN_HDR > avail)
			return 0;
		type = vnrx_be16(hdr + off + 2u);
		off += VNRX_VLAN_HDR;
	}
	*l3 = off;
	return type;
}

/* TCP or UDP at l4: the ports, and for TCP where the payload begins. */
static void dissect_l4(const uint8_t *hdr, uint32_t avail, uint32_t l4, uint32_t proto, struct vnrx_dissect *d)
{
	uint32_t doff;

	if (proto != VNRX_PROTO_TCP && proto != VNRX_PROTO_UDP) {
		refuse(d, VNRX_PASS_PROTO);
		return;
	}
	if (l4 + 4u > avail || l4 + 4u > d->end) {
		refuse(d, VNRX_PASS_CUT);
		return;
	}
	d->reach = VNRX_REACH_PORTS;
	d->l4 = l4;
	d->proto = (uint8_t)proto;
	if (proto == VNRX_PROTO_UDP) {
		refuse(d, VNRX_PASS_PROTO);
		return;
	}
	if (l4 + VNRX_TCP_HDR > avail || l4 + VNRX_TCP_HDR > d->end) {
		refuse(d, VNRX_PASS_CUT);
		return;
	}
	doff = hdr[l4 + VNRX_TCP_DOFF] / 16u * 4u;
	if (doff < VNRX_TCP_HDR || l4 + doff > avail || l4 + doff > d->end) {
		refuse(d, VNRX_PASS_CUT);
		return;
	}
	d->payload = l4 + doff;
}

static void dissect_ipv4(const uint8_t *hdr, uint32_t avail, struct vnrx_dissect *d)
{
	uint32_t l3 = d->l3;
	uint32_t ihl, total;

	if (l3 + VNRX_IPV4_HDR > avail || hdr[l3] / 16u != 4u) {
		refuse(d, VNRX_PASS_CUT);
		return;
	}
	d->version = 4u;
	d->reach = VNRX_REACH_ADDRS;
	ihl = hdr[l3] % 16u * 4u;
	total = vnrx_be16(hdr + l3 + VNRX_IPV4_LEN);
	d->end = l3 + total;
	if (ihl < VNRX_IPV4_HDR || total < ihl || l3 + ihl > avail) {
		refuse(d, VNRX_PASS_CUT);
		return;
	}
	if ((vnrx_be16(hdr + l3 + VNRX_IPV4_FRAG) & 0xbfffu) != 0u) { /* anything but DF */
		refuse(d, VNRX_PASS_FRAGMENT);
		return;
	}
	if (ihl > VNRX_IPV4_HDR)
		refuse(d, VNRX_PASS_IP_OPTIONS);
	else if (vnrx_sum_ipv4(hdr + l3) != 0xffffu)
		refuse(d, VNRX_PASS_IP_CSUM);
	dissect_l4(hdr, avail, l3 + ihl, hdr[l3 + VNRX_IPV4_PROTO], d);
}

static void dissect_ipv6(const uint8_t *hdr, uint32_t avail, struct vnrx_dissect *d)
{
	uint32_t l3 = d->l3;
	uint32_t off = l3 + VNRX_IPV6_HDR;
	uint32_t next;

	if (off > avail || hdr[l3] / 16u != 6u) {
		refuse(d, VNRX_PASS_CUT);
		return;
	}
	d->version = 6u;
	d->reach = VNRX_REACH_ADDRS;
	d->end = off + vnrx_be16(hdr + l3 + VNRX_IPV6_LEN);
	next = hdr[l3 + VNRX_IPV6_NEXT];
	for (unsigned n = 0; next == VNRX_PROTO_HOPOPTS || next == VNRX_PROTO_ROUTING || next == VNRX_PROTO_DSTOPTS; n++) {
		uint32_t len;

		if (n == VNRX_EXT_MAX) {
			refuse(d, VNRX_PASS_EXT);
			return;
		}
		if (off + 8u > avail || off + 8u > d->end) {
			refuse(d, VNRX_PASS_CUT);
			return;
		}
		len = (hdr[off + 1u] + 1u) * 8u;
		if (off + len > avail || off + len > d->end) {
			refuse(d, VNRX_PASS_CUT);
			return;
		}
		next = hdr[off];
		off += len;
	}
	if (next == VNRX_PROTO_FRAGMENT) {
		refuse(d, VNRX_PASS_FRAGMENT);
		return;
	}
	dissect_l4(hdr, avail, off, next, d);
}

/* What is left to check once all headers are known. */
static void check_size(uint32_t frame_len, struct vnrx_dissect *d)
{
	if (d->end > frame_len)
		refuse(d, VNRX_PASS_CUT);
	else if (d->end < frame_len && frame_len > VNRX_ETH_MIN)
		refuse(d, VNRX_PASS_TRAILER);
	if (d->pass == VNRX_PASS_NOT && d->payload > VNRX_HDR_MAX)
		refuse(d, VNRX_PASS_HDR_LEN);
}

void vnrx_dissect(const uint8_t *hdr, uint32_t avail, uint32_t frame_len, struct vnrx_dissect *d)
{
	uint32_t type;

	if (avail > AVAIL_MAX)
		avail = AVAIL_MAX;
	*d = (struct vnrx_dissect){ .pass = VNRX_PASS_NOT };
	type = dissect_l2(hdr, avail, &d->l3);
	if (type == VNRX_TYPE_IPV4)
		dissect_ipv4(hdr, avail, d);
	else if (type == VNRX_TYPE_IPV6)
		dissect_ipv6(hdr, avail, d);
	else
		refuse(d, VNRX_PASS_NOT_IP);
	if (d->reach != VNRX_REACH_NOTHING)
		check_size(frame_len, d);
}
