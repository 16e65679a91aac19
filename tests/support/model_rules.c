/* SPDX-License-Identifier: BSD-3-Clause */
#include "model_rules.h"

#include <string.h>

#include "frames.h"
#include "known.h"

/* How many segments it is. */
void model_measure(struct seg *s)
{
	s->count = 1;
	s->unit = s->view.payload_len;
	if (s->meta.gso_size == 0u || s->view.payload_len <= s->meta.gso_size)
		return;
	s->unit = s->meta.gso_size;
	s->count = (unsigned)((s->view.payload_len + s->unit - 1u) / s->unit);
}

/* ---- may it ever be held or joined ---- */

size_t model_first_l3(const struct view *v)
{
	return v->tunnel ? v->outer.l3 : v->l3;
}

static bool headers_fine(const struct view *v)
{
	if (v->kind != VIEW_PORTS || (!v->tcp && !v->udp) || v->payload > 256u)
		return false;
	if (v->cut || v->fragment || v->ip_options || v->trailer || v->bad_tunnel)
		return false;
	return v->ip_csum_ok && v->pppoe_ok && v->lengths_ok;
}

static bool protocol_fine(const struct model_cfg *cfg, const struct seg *s)
{
	const struct view *v = &s->view;

	if (v->payload_len == 0u || (v->pppoe && GRO_KNOWN == VNETRX_GRO_TCP))
		return false;
	if (v->udp)
		return (cfg->protos & VNETRX_GRO_UDP) != 0u && (s->count > 1u || v->udp_len_ok);
	return (cfg->protos & VNETRX_GRO_TCP) != 0u && (v->flags & (FR_SYN | FR_RST | FR_URG | FR_ACK)) == FR_ACK;
}

/* A packet that the device merged can be taken as its segments. */
static bool gso_fine(const struct seg *s)
{
	const struct view *v = &s->view;
	unsigned want = v->udp ? VNETRX_GSO_UDP_L4 : v->v6 ? VNETRX_GSO_TCPV6 : VNETRX_GSO_TCPV4;

	if (s->count == 1u)
		return true;
	if (v->tunnel)
		want |= v->outer.v6 ? VNETRX_GSO_TUNNEL_IPV6 : VNETRX_GSO_TUNNEL_IPV4;
	if (v->tunnel && !v->udp_tunnel)
		return false;
	return (s->meta.gso_type & 0x7fu) == want && (v->flags & FR_CWR) == 0u;
}

static bool virtio_fine(const struct model_cfg *cfg, const struct seg *s)
{
	const struct view *v = &s->view;

	if ((cfg->flags & VNETRX_GRO_PROFILE_VIRTIO) == 0u)
		return true;
	if (v->pppoe || (s->meta.flags & VNETRX_PKT_VLAN) != 0u || (v->tunnel && (!v->udp_tunnel || v->outer_csum)))
		return false;
	return v->udp ? !v->l4_csum_none : (v->flags & FR_CWR) == 0u;
}

static size_t bytes_max(const struct model_cfg *cfg, const struct view *v)
{
	size_t most = v->pppoe ? 65533u : 65535u;

	bool limited = v->pppoe || v->udp || v->tunnel || (cfg->flags & VNETRX_GRO_PROFILE_VIRTIO) != 0u;

	return limited && cfg->bytes_max > most ? most : cfg->bytes_max;
}

unsigned model_segs_max(const struct model_cfg *cfg, const struct view *v)
{
	return v->udp && cfg->segs_max > 64u ? 64u : cfg->segs_max;
}

static bool size_fine(const struct model_cfg *cfg, const struct seg *s)
{
	const struct view *v = &s->view;

	return v->end - model_first_l3(v) <= bytes_max(cfg, v) && v->end <= 65535u && s->count < model_segs_max(cfg, v);
}

static bool csum_fine(const struct model_cfg *cfg, const struct seg *s)
{
	const struct view *v = &s->view;
	uint32_t flags = s->meta.flags;

	if ((flags & VNETRX_PKT_PARTIAL) != 0u)
		return s->meta.csum_start == v->l4 && s->meta.csum_offset == (v->udp ? 6u : 16u) && !v->outer_csum &&
		       !v->l4_csum_none;
	if (v->outer_csum && !v->outer_csum_ok && (flags & VNETRX_PKT_CSUM_OK) == 0u)
		return false;
	if (v->l4_csum_none)
		return !v->v6 && (cfg->flags & VNETRX_GRO_UDP_ZERO) != 0u;
	return v->l4_csum_ok || (flags & (v->udp_tunnel ? VNETRX_PKT_CSUM_INNER : VNETRX_PKT_CSUM_OK)) != 0u;
}

bool model_holdable(const struct model_cfg *cfg, const struct seg *s)
{
	return headers_fine(&s->view) && (s->meta.flags & VNETRX_PKT_RSC) == 0u && protocol_fine(cfg, s) &&
	       gso_fine(s) && virtio_fine(cfg, s) && size_fine(cfg, s) && csum_fine(cfg, s);
}

/* ---- may it join ---- */

static bool same_link(const struct view *a, const struct view *b, const struct model_meta *ma,
                      const struct model_meta *mb)
{
	size_t l3 = model_first_l3(a);
	size_t same = a->pppoe ? l3 - 4u : l3;

	return a->tags == b->tags && a->pppoe == b->pppoe && l3 == model_first_l3(b) &&
	       memcmp(a->bytes, b->bytes, same) == 0 &&
	       (!a->pppoe || memcmp(a->bytes + l3 - 2, b->bytes + l3 - 2, 2) == 0) &&
	       (ma->flags & VNETRX_PKT_VLAN) == (mb->flags & VNETRX_PKT_VLAN) && ma->vlan_tci == mb->vlan_tci &&
	       ma->vlan_proto == mb->vlan_proto && (ma->flags & VNETRX_PKT_MARK) == (mb->flags & VNETRX_PKT_MARK) &&
	       ma->mark == mb->mark;
}

/* Two network headers of one version, with all up to what follows. */
static bool same_network(const uint8_t *x, const uint8_t *y, bool v6, size_t len)
{
	if (!v6)
		return x[1] == y[1] && x[8] == y[8] && x[6] / 64u == y[6] / 64u; /* TOS, TTL, DF and reserved flag */
	if (memcmp(x, y, 4) != 0 || x[7] != y[7])                                /* class and label, hop limit     */
		return false;
	return x[6] == y[6] && memcmp(x + 40, y + 40, len - 40u) == 0;
}

/* From the outer network header to the inner one. */
static bool same_tunnel(const struct view *a, const struct view *b)
{
	const uint8_t *x = a->bytes + a->outer.l4;
	const uint8_t *y = b->bytes + b->outer.l4;
	size_t len = a->l3 - a->outer.l4;

	if (!a->tunnel)
		return true;
	if (a->udp_tunnel != b->udp_tunnel || a->outer.proto != b->outer.proto)
		return false;
	if (a->outer.l4 != b->outer.l4 || a->l3 != b->l3)
		return false;
	if (!same_network(a->bytes + a->outer.l3, b->bytes + b->outer.l3, a->outer.v6, a->outer.l4 - a->outer.l3))
		return false;
	if (!a->udp_tunnel)
		return memcmp(x, y, len) == 0;
	return memcmp(x, y, 4) == 0 && memcmp(x + 8, y + 8, len - 8u) == 0 && a->outer_csum == b->outer_csum;
}

static bool same_l4(const struct view *a, const struct view *b)
{
	const uint8_t *x = a->bytes + a->l4;
	const uint8_t *y = b->bytes + b->l4;
	unsigned closing = FR_PSH | FR_FIN;

	if (a->udp)
		return a->l4_csum_none == b->l4_csum_none;
	if (fr_get32(x + 8) != fr_get32(y + 8))                     /* ack    */
		return false;
	if ((a->flags | closing) != (b->flags | closing))           /* flags, reserved bits */
		return false;
	if (fr_get16(x + 14) != fr_get16(y + 14))                   /* window */
		return false;
	if (fr_get16(x + 18) != fr_get16(y + 18))                   /* urgent pointer */
		return false;
	return a->payload - a->l4 == b->payload - b->l4 &&          /* options */
	       memcmp(x + 20, y + 20, a->payload - a->l4 - 20u) == 0;
}

static bool same_headers(const struct view *a, const struct view *b)
{
	return a->l3 == b->l3 && a->l4 == b->l4 && same_tunnel(a, b) &&
	       same_network(a->bytes + a->l3, b->bytes + b->l3, a->v6, a->l4 - a->l3) && same_l4(a, b);
}

struct ids model_ids_open(const struct model_cfg *cfg, const uint8_t *ip, unsigned count)
{
	struct ids id = { .last = (uint16_t)(fr_get16(ip + 4) + count - 1u) };

	id.any = (cfg->flags & VNETRX_GRO_RFC6864) != 0u && (ip[6] & 0x40u) != 0u;
	id.known = count > 1u || (cfg->flags & VNETRX_GRO_PROFILE_VIRTIO) != 0u; /* whoever cuts makes them rise */
	return id;
}

static bool id_next(const struct ids *id, const uint8_t *ip, unsigned count)
{
	uint16_t now = fr_get16(ip + 4);
	bool same = now == id->last, next = now == (uint16_t)(id->last + 1u);

	if (id->any)
		return true;
	if (id->known)
		return id->fixed ? same && count == 1u : next;
	return next || (same && count == 1u);
}

void model_id_join(struct ids *id, const uint8_t *ip, unsigned count)
{
	if (!id->known)
		id->fixed = fr_get16(ip + 4) == id->last;
	id->known = true;
	id->last = (uint16_t)(fr_get16(ip + 4) + count - 1u);
}

static bool next_ids(const struct held *h, const struct seg *s)
{
	const struct view *v = &s->view;

	if (!v->v6 && !id_next(&h->id, v->bytes + v->l3, s->count))
		return false;
	return !v->tunnel || v->outer.v6 || id_next(&h->outer_id, v->bytes + v->outer.l3, s->count);
}

static bool next_in_line(const struct held *h, const struct seg *s)
{
	const struct view *v = &s->view;
	uint32_t seq = fr_get32(h->view.bytes + h->view.l4 + 4);

	if (v->tcp && fr_get32(v->bytes + v->l4 + 4) != (uint32_t)(seq + h->payload))
		return false;
	return s->count > 1u ? s->unit == h->mss : v->payload_len <= h->mss;
}

bool model_same(const struct held *h, const struct seg *s)
{
	return same_link(&h->view, &s->view, &h->meta, &s->meta) && same_headers(&h->view, &s->view) &&
	       next_ids(h, s) && next_in_line(h, s);
}

bool model_fits(const struct model_cfg *cfg, const struct held *h, const struct seg *s)
{
	return h->bytes + s->view.payload_len <= bytes_max(cfg, &s->view) &&
	       h->segs + s->count <= model_segs_max(cfg, &s->view);
}

bool model_closes(const struct view *v)
{
	return v->tcp && (v->flags & (FR_PSH | FR_FIN)) != 0u;
}
