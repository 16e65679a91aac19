/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shapes: where everything lies in a header, and which of its bits must be equal on the short way. All must, but for
 * IPv4 ids and header checksums, TCP sequence numbers and the checksum of the innermost transport header; in the last
 * segment of a packet also lengths, PSH and FIN.
 *
 * The first eight are fixed. The others are taken up as packets come; one that no held packet has may be replaced. When
 * all are in use, packets of a further shape take the general way, which needs none.
 */
#include "lane.h"
#include "record.h"

static void open_bytes(struct vnrx_shape *s, uint32_t off, uint32_t n)
{
	memset(s->mask + off, 0, n);
}

/* What else is open in the last segment. */
static void open_last(struct vnrx_shape *s)
{
	memcpy(s->last, s->mask, sizeof(s->last));
	memset(s->last + s->l3 + ((s->kind & VNRX_KIND_IPV6) != 0u ? VNRX_IPV6_LEN : VNRX_IPV4_LEN), 0, 2u);
	if ((s->kind & VNRX_KIND_UDP) != 0u)
		memset(s->last + s->l4 + VNRX_UDP_LEN, 0, 2u);
	else
		s->last[s->l4 + VNRX_TCP_FLAGS] = (uint8_t)~(VNRX_TCP_PSH | VNRX_TCP_FIN);
}

static void fill_mask(struct vnrx_shape *s)
{
	memset(s->mask, 0xff, sizeof(s->mask));
	if ((s->kind & VNRX_KIND_IPV6) == 0u) {
		open_bytes(s, s->l3 + VNRX_IPV4_ID, 2u);
		open_bytes(s, s->l3 + VNRX_IPV4_CSUM, 2u);
	}
	if ((s->kind & VNRX_KIND_TUNNEL) != 0u && (s->kind & VNRX_KIND_OUTER_IPV6) == 0u) {
		open_bytes(s, s->outer_l3 + VNRX_IPV4_ID, 2u);
		open_bytes(s, s->outer_l3 + VNRX_IPV4_CSUM, 2u);
	}
	if ((s->kind & VNRX_KIND_UDP) != 0u) {
		open_bytes(s, s->l4 + VNRX_UDP_CSUM, 2u);
	} else {
		open_bytes(s, s->l4 + VNRX_TCP_SEQ, 4u);
		open_bytes(s, s->l4 + VNRX_TCP_CSUM, 2u);
	}
	open_last(s);
}

static void fill_lane(struct vnetrx_gro *gro, const struct vnrx_lane *lane)
{
	struct vnrx_shape *s = &gro->shape[lane->index];

	s->kind = (uint8_t)lane->kind;
	s->l3 = (uint8_t)lane->l3;
	s->l4 = (uint8_t)lane->l4;
	s->outer_l3 = (uint8_t)lane->outer_l3;
	s->outer_l4 = (uint8_t)lane->outer_l4;
	s->hdr_min = (uint16_t)lane->hdr_min;
	fill_mask(s);
}

void vnrx_shapes_init(struct vnetrx_gro *gro)
{
	for (uint32_t i = 0; i < VNRX_SHAPES_TCP; i++) {
		struct vnrx_shape *s = &gro->shape[i];
		uint32_t l3 = VNRX_ETH_HDR + i % 3u * VNRX_VLAN_HDR;

		s->kind = (uint8_t)(i < 3u ? 0u : VNRX_KIND_IPV6);
		s->l3 = (uint8_t)l3;
		s->l4 = (uint8_t)(l3 + (i < 3u ? VNRX_IPV4_HDR : VNRX_IPV6_HDR));
		s->hdr_min = (uint16_t)(s->l4 + VNRX_TCP_HDR);
		fill_mask(s);
	}
	fill_lane(gro, &vnrx_lane_udp4);
	fill_lane(gro, &vnrx_lane_vxlan);
	gro->shapes_next = VNRX_SHAPES_FIXED;
}

/* Offsets below VNRX_HDR_MAX; those of an outer header are 0 where there is none. */
static void set_shape(struct vnrx_shape *s, const struct vnrx_dissect *d)
{
	s->l3 = (uint8_t)d->ip.l3;
	s->l4 = (uint8_t)d->l4;
	s->kind = vnrx_kind(d);
	s->outer_l3 = (uint8_t)d->outer.l3;
	s->outer_l4 = (uint8_t)d->outer.l4;
	s->hdr_min = (uint16_t)(d->l4 + (vnrx_is_udp(d) ? VNRX_UDP_HDR : VNRX_TCP_HDR));
	fill_mask(s);
}

static bool is_shape(const struct vnrx_shape *s, const struct vnrx_dissect *d)
{
	return s->l3 == d->ip.l3 && s->l4 == d->l4 && s->kind == vnrx_kind(d) && s->outer_l3 == d->outer.l3 &&
	       s->outer_l4 == d->outer.l4;
}

/* Takes up a shape in place of one that is not in use. */
static unsigned take_up(struct vnetrx_gro *gro, const struct vnrx_dissect *d)
{
	for (unsigned tries = VNRX_SHAPES - VNRX_SHAPES_FIXED; tries > 0u; tries--) {
		unsigned i = gro->shapes_next;

		gro->shapes_next = i + 1u < VNRX_SHAPES ? i + 1u : VNRX_SHAPES_FIXED;
		if (gro->shape[i].refs == 0u) {
			set_shape(&gro->shape[i], d);
			return i;
		}
	}
	return VNRX_SHAPE_NONE;
}

unsigned vnrx_shape_find(struct vnetrx_gro *gro, const struct vnrx_dissect *d)
{
	if (gro->guess < VNRX_SHAPES && is_shape(&gro->shape[gro->guess], d))
		return gro->guess;
	for (unsigned i = 0; i < VNRX_SHAPES; i++) {
		if (is_shape(&gro->shape[i], d))
			return i;
	}
	return take_up(gro, d);
}
