/* SPDX-License-Identifier: BSD-3-Clause */
#include "laws.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sums.h"

#define HDR_MAX 512u

/* A packet of several, and its cut. */
struct merged {
	const struct frame *frame;
	const struct meta *meta;
	struct layout lay;
	uint32_t payload; /* bytes of all segments   */
	uint32_t segs;
	uint8_t  seg[HDR_MAX + 65536u];
	uint32_t seg_len;
};

static bool broken(struct laws *laws, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool broken(struct laws *laws, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(laws->why, sizeof(laws->why), format, args);
	va_end(args);
	return false;
}

bool laws_begin(struct laws *laws)
{
	struct layout lay;

	laws->flows = flows_new(laws->in.num);
	for (size_t i = 0; laws->flows != NULL && i < laws->in.num; i++) {
		const struct frame *f = &laws->in.frame[i];

		layout_read(&lay, f->data, f->len - f->fcs);
		if (!flows_come(laws->flows, &lay, f->data, i))
			return false;
	}
	return laws->flows != NULL;
}

bool laws_end(struct laws *laws)
{
	size_t left = flows_left(laws->flows);

	return left == FLOWS_NONE || broken(laws, "packet %zu of IN was never delivered", left + 1u);
}

/* The first byte from `from` on that differs; len = none. */
static uint32_t first_difference(const uint8_t *a, const uint8_t *b, uint32_t from, uint32_t len)
{
	while (from < len && a[from] == b[from])
		from++;
	return from;
}

/* Takes the packet that must leave next in this flow. */
static const struct frame *take(struct laws *laws, const struct layout *lay, const uint8_t *data, size_t *index)
{
	size_t other;

	*index = flows_next(laws->flows, lay, data);
	if (*index == FLOWS_NONE) {
		broken(laws, "a packet more of its flow than came");
		return NULL;
	}
	other = flows_leave(laws->flows, lay, data, *index);
	if (other != FLOWS_NONE) {
		broken(laws, "order: packet %zu of IN, but packet %zu of the same address pair left before",
		       *index + 1u, other + 1u);
		return NULL;
	}
	return &laws->in.frame[*index];
}

/* ---- packets of one segment ---- */

static bool same(struct laws *laws, const struct frame *frame)
{
	uint32_t skip = (uint32_t)laws->in.skip;
	const struct frame *in;
	uint32_t bare, differs;
	struct layout lay;
	size_t index;

	layout_read(&lay, frame->data, frame->len);
	in = take(laws, &lay, frame->data, &index);
	if (in == NULL)
		return false;
	bare = in->len - in->fcs;
	layout_read(&lay, in->data, bare);
	if (frame->len != in->len && frame->len != bare && frame->len != layout_unpadded(&lay, bare))
		return broken(laws, "%u bytes, but packet %zu of IN, next in its flow, has %u", frame->len, index + 1u,
		              in->len);
	differs = first_difference(frame->data, in->data, skip, frame->len);
	return differs == frame->len || broken(laws, "byte %u differs from packet %zu of IN, next in its flow", differs,
	                                       index + 1u);
}

/* ---- packets of several ---- */

static bool modes_fit(const struct merged *m)
{
	const struct ip *level[2] = { &m->lay.first, &m->lay.inner };

	if (m->meta->levels != (m->lay.tunnel ? 2u : 1u))
		return false;
	for (unsigned i = 0; i < m->meta->levels; i++)
		if ((level[i]->version == 6u) != (m->meta->id[i] == ID_NONE))
			return false;
	return true;
}

/* Everything that a cut relies on. */
static bool can_be_cut(struct laws *laws, struct merged *m)
{
	const struct layout *lay = &m->lay;
	uint64_t size = m->meta->gso_size;
	const char *wrong;

	layout_read(&m->lay, m->frame->data, m->frame->len);
	if (!lay->ports || lay->payload == 0u || lay->payload > HDR_MAX)
		return broken(laws, "merged, but no TCP or UDP packet");
	if (lay->inner.proto == PROTO_UDP && get16(m->frame->data + lay->inner.l4 + 4) != m->frame->len - lay->inner.l4)
		return broken(laws, "merged, but the UDP length is wrong");
	if (lay->first.end != m->frame->len || lay->inner.end != m->frame->len)
		return broken(laws, "merged, but an IP length is wrong");
	if (lay->tunnel && lay->first.proto == PROTO_UDP &&
	    get16(m->frame->data + lay->first.l4 + 4) != m->frame->len - lay->first.l4)
		return broken(laws, "merged, but the outer UDP length is wrong");
	if (lay->pppoe && get16(m->frame->data + lay->first.l3 - 4) != m->frame->len - lay->first.l3 + 2u)
		return broken(laws, "merged, but the PPPoE length is wrong");
	wrong = sums_wrong(lay, m->frame->data);
	if (wrong != NULL)
		return broken(laws, "merged, but its %s checksum is wrong", wrong);
	m->payload = m->frame->len - lay->payload;
	m->segs = (uint32_t)m->meta->segs;
	if (size == 0u || size > 65535u || (m->payload + size - 1u) / size != m->segs)
		return broken(laws, "%u bytes of payload are not %u segments of gso_size %u", m->payload, m->segs,
		              (unsigned)size);
	return modes_fit(m) || broken(laws, "the id modes do not fit its headers");
}

/* The IP header of segment k. */
static void cut_ip(struct merged *m, const struct ip *ip, enum id_mode mode, uint32_t k)
{
	uint8_t *l3 = m->seg + ip->l3;

	if (ip->version == 6u) {
		put16(l3 + 4, m->seg_len - ip->l3 - 40u);
		return;
	}
	put16(l3 + 2, m->seg_len - ip->l3);
	if (mode == ID_RISING)
		put16(l3 + 4, get16(l3 + 4) + k);
}

static void cut(struct merged *m, uint32_t k)
{
	const struct layout *lay = &m->lay;
	uint32_t size = (uint32_t)m->meta->gso_size;
	uint32_t from = k * size;
	uint32_t len = m->payload - from < size ? m->payload - from : size;
	uint8_t *l4 = m->seg + lay->inner.l4;

	m->seg_len = lay->payload + len;
	memcpy(m->seg, m->frame->data, lay->payload);
	memcpy(m->seg + lay->payload, m->frame->data + lay->payload + from, len);
	if (lay->inner.proto == PROTO_UDP)
		put16(l4 + 4, m->seg_len - lay->inner.l4);
	else
		put32(l4 + 4, get32(l4 + 4) + from);
	if (lay->inner.proto == PROTO_TCP && k + 1u < m->segs)
		l4[13] &= 0xf6u; /* PSH and FIN are the last one's */
	if (lay->pppoe)
		put16(m->seg + lay->first.l3 - 4, m->seg_len - lay->first.l3 + 2u);
	cut_ip(m, &lay->inner, m->meta->id[lay->tunnel ? 1 : 0], k);
	if (!lay->tunnel)
		return;
	cut_ip(m, &lay->first, m->meta->id[0], k);
	if (lay->first.proto == PROTO_UDP)
		put16(m->seg + lay->first.l4 + 4, m->seg_len - lay->first.l4);
}

static void clear_id(const struct ip *ip, uint8_t *data)
{
	if (ip->version == 4u && (data[ip->l3 + 6u] & 0x40u) != 0u)
		put16(data + ip->l3 + 4, 0u);
}

/* What may differ: checksums, which were found right, and by RFC 6864 ids. */
static void put_aside(const struct laws *laws, const struct layout *lay, uint8_t *data)
{
	sums_clear(lay, data);
	if (laws->rfc6864) {
		clear_id(&lay->first, data);
		clear_id(&lay->inner, data);
	}
}

/* Segment k, already cut, against the packet that came. */
static bool same_segment(struct laws *laws, struct merged *m, const struct frame *in, size_t index)
{
	static uint8_t came[HDR_MAX + 65536u];
	uint32_t len = in->len - in->fcs;
	uint32_t differs;
	struct layout lay;
	const char *wrong;

	layout_read(&lay, in->data, len);
	len = layout_unpadded(&lay, len);
	if (len != m->seg_len)
		return broken(laws, "%u bytes, but packet %zu of IN, next in its flow, has %u", m->seg_len, index + 1u,
		              len);
	if (lay.payload != m->lay.payload || lay.inner.end != len || lay.first.end != len)
		return broken(laws, "packet %zu of IN, next in its flow, has other headers", index + 1u);
	wrong = sums_wrong(&lay, in->data);
	if (wrong != NULL)
		return broken(laws, "packet %zu of IN was merged with a wrong %s checksum", index + 1u, wrong);
	memcpy(came, in->data, len);
	put_aside(laws, &lay, came);
	put_aside(laws, &m->lay, m->seg);
	differs = first_difference(m->seg, came, (uint32_t)laws->in.skip, len);
	return differs == len || broken(laws, "byte %u differs from packet %zu of IN, next in its flow", differs,
	                                index + 1u);
}

static bool reversible(struct laws *laws, struct merged *m)
{
	if (!can_be_cut(laws, m))
		return false;
	for (uint32_t k = 0; k < m->segs; k++) {
		size_t index;
		const struct frame *in = take(laws, &m->lay, m->frame->data, &index);

		cut(m, k);
		if (in == NULL || !same_segment(laws, m, in, index)) {
			char why[WHY_MAX];

			memcpy(why, laws->why, sizeof(why));
			return broken(laws, "segment %u: %.250s", k + 1u, why);
		}
	}
	return true;
}

bool laws_delivered(struct laws *laws, size_t n, const struct meta *meta)
{
	static struct merged m;

	m.frame = &laws->out.frame[n];
	m.meta = meta;
	if (meta->n != n + 1u || meta->len != m.frame->len)
		return broken(laws, "META is about another packet");
	if (meta->segs > 1u)
		return reversible(laws, &m);
	if (meta->segs != 1u || meta->gso_size != 0u || meta->levels != 0u)
		return broken(laws, "META says that it is cut, but not how");
	return same(laws, m.frame);
}
