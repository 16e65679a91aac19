/* SPDX-License-Identifier: BSD-3-Clause */
#include "gro_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

bool gro_rig_verified;

/* Room for one packet; not allocated each time, which would take most of the time. */
static uint8_t whole[1u << 20];
static uint8_t made[FRAME_MAX];

const char *reason_name(unsigned reason)
{
	static const char *const names[VNETRX_LEFT_NUM] = { "passed", "push", "short", "full", "next", "order",
	                                                    "evicted", "timeout", "hold", "flush" };

	return reason < VNETRX_LEFT_NUM ? names[reason] : "?";
}

static uint16_t port_of(uint16_t port, uint16_t usual)
{
	return port == 0u ? usual : port == VNETRX_PORT_OFF ? 0u : port;
}

struct view_rules gro_rules(const struct vnetrx_gro_config *cfg)
{
	uint32_t protos = cfg->protos == 0u ? GRO_KNOWN : cfg->protos;
	struct view_rules rules = { .tunnels = (protos & VNETRX_GRO_TUNNEL) != 0u };

	rules.vxlan = port_of(cfg->vxlan_port, 4789);
	rules.gpe = port_of(cfg->vxlan_gpe_port, 4790);
	rules.geneve = port_of(cfg->geneve_port, 6081);
	return rules;
}

struct gro_rig *gro_rig_new(const struct vnetrx_gro_config *cfg)
{
	static const struct vnetrx_gro_config defaults;
	struct vnetrx_gro_config c = cfg != NULL ? *cfg : defaults;
	struct gro_rig *rig = calloc(1, sizeof(*rig));
	const char *why = "";
	size_t size;

	assert_non_null(rig);
	if ((c.protos & ~GRO_KNOWN) != 0u) {
		free(rig);
		skip();
	}
	if (c.hash_key[0] == 0u && c.hash_key[1] == 0u) {
		c.hash_key[0] = 0x0123456789abcdefu;
		c.hash_key[1] = 0xfedcba9876543210u;
	}
	size = vnetrx_gro_footprint(&c, &why);
	if (size == 0u)
		fail_msg("%s", why);
	rig->mem = aligned_alloc(64, (size + 63u) / 64u * 64u);
	rig->laws = laws_new();
	rig->rules = gro_rules(&c);
	rig->flags = c.flags;
	laws_rules(rig->laws, &rig->rules, (c.flags & VNETRX_GRO_RFC6864) != 0u);
	rig->bytes = whole;
	assert_non_null(rig->mem);
	memset(rig->mem, 0xa5, size);
	assert_int_equal(vnetrx_gro_init(&rig->gro, &c, rig->mem, size), VNETRX_OK);
	return rig;
}

struct law_pkt law_pkt_of(const struct vnetrx_pkt *pkt, uint8_t *bytes)
{
	struct law_pkt law = { .bytes = bytes, .gso_size = pkt->gso_size, .segs = pkt->segs };
	unsigned nfrags = 0;

	for (const struct vnetrx_pkt *f = pkt; f != NULL; f = f->chain, nfrags++) {
		memcpy(bytes + law.len, f->data, f->frag_len);
		law.len += f->frag_len;
	}
	assert_int_equal(law.len, pkt->len);
	assert_int_equal(nfrags, pkt->nfrags);
	if ((pkt->flags & VNETRX_PKT_MERGED) != 0u)
		law.flags |= LAW_MERGED;
	if ((pkt->flags & VNETRX_PKT_ID_FIXED) != 0u)
		law.flags |= LAW_ID_FIXED;
	if ((pkt->flags & VNETRX_PKT_OUTER_ID_FIXED) != 0u)
		law.flags |= LAW_OUTER_ID_FIXED;
	if ((pkt->flags & VNETRX_PKT_CSUM_INNER) != 0u)
		law.flags |= LAW_CSUM_INNER;
	if ((pkt->flags & VNETRX_PKT_PARTIAL) != 0u)
		law.flags |= LAW_PARTIAL;
	if ((pkt->flags & VNETRX_PKT_CSUM_OK) != 0u)
		law.flags |= LAW_CSUM_OK;
	if ((pkt->flags & VNETRX_PKT_VLAN) != 0u) {
		law.flags |= LAW_VLAN;
		law.vlan_tci = pkt->vlan_tci;
		law.vlan_proto = pkt->vlan_proto;
	}
	return law;
}

static void check_tunnel(const struct vnetrx_pkt *pkt, const struct view *v)
{
	assert_int_equal((pkt->flags & VNETRX_PKT_TUNNEL) != 0u, v->tunnel);
	if (!v->tunnel) {
		assert_int_equal(pkt->flags & (VNETRX_PKT_OUTER_IPV6 | VNETRX_PKT_OUTER_ID_FIXED), 0);
		return;
	}
	assert_int_equal((pkt->flags & VNETRX_PKT_OUTER_IPV6) != 0u, v->outer.v6);
	assert_int_equal(pkt->outer_l3_off, v->outer.l3);
	assert_int_equal(pkt->outer_l4_off, v->udp_tunnel ? v->outer.l4 : 0u);
	assert_false(v->outer.v6 && (pkt->flags & VNETRX_PKT_OUTER_ID_FIXED) != 0u);
}

/* What the descriptor of a merged packet says must be what its bytes say. */
static void check_merged(const struct gro_rig *rig, const struct vnetrx_pkt *pkt, const struct view *v)
{
	assert_int_equal(pkt->l3_off, v->l3);
	assert_int_equal(pkt->l4_off, v->l4);
	assert_int_equal(pkt->hdr_len, v->payload);
	assert_int_equal((pkt->flags & VNETRX_PKT_IPV6) != 0u, v->v6);
	assert_int_equal((pkt->flags & VNETRX_PKT_UDP) != 0u, v->udp);
	assert_int_equal((pkt->flags & VNETRX_PKT_CWR) != 0u, (v->flags & FR_CWR) != 0u);
	assert_int_equal(pkt->gso_type & 0x1fu,
	                 v->udp ? VNETRX_GSO_UDP_L4 : v->v6 ? VNETRX_GSO_TCPV6 : VNETRX_GSO_TCPV4);
	assert_false(v->v6 && (pkt->flags & VNETRX_PKT_ID_FIXED) != 0u);
	assert_true(pkt->seen_first <= pkt->seen_last);
	check_tunnel(pkt, v);
	if ((rig->flags & VNETRX_GRO_CSUM_BYTES) != 0u)
		assert_int_equal(pkt->flags & VNETRX_PKT_PARTIAL, 0);
	if ((pkt->flags & VNETRX_PKT_PARTIAL) != 0u) {
		assert_int_equal(pkt->flags & (VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER), 0);
		assert_int_equal(pkt->csum_start, v->l4);
		assert_int_equal(pkt->csum_offset, v->udp ? 6 : 16);
	} else if (!v->l4_csum_none) {
		assert_true((pkt->flags & VNETRX_PKT_CSUM_OK) != 0u);
	}
}

static void check_out(struct gro_rig *rig, struct vnetrx_pkt *pkt)
{
	struct law_pkt law = law_pkt_of(pkt, rig->bytes);
	const char *why = laws_out(rig->laws, &law, NULL);
	struct view_rules rules = rig->rules;
	struct view v;
	size_t at = strlen(rig->text);

	if (why != NULL)
		fail_msg("%s", why);
	rules.big = (law.flags & LAW_MERGED) != 0u && law.len > 65535u;
	view_frame_by(&v, &rules, law.bytes, law.len);
	if ((law.flags & LAW_MERGED) != 0u)
		check_merged(rig, pkt, &v);
	rig->bytes_len = law.len;
	rig->last = pkt;
	rig->nout++;
	if (at + 64u > sizeof(rig->text))
		return;
	if (v.tcp || v.udp)
		snprintf(rig->text + at, 64, "%s%zu:%s", at > 0u ? " " : "", v.payload_len, reason_name(pkt->reason));
	else
		snprintf(rig->text + at, 64, "%s-:%s", at > 0u ? " " : "", reason_name(pkt->reason));
}

static void drain(struct gro_rig *rig, struct vnetrx_pktq *out)
{
	struct vnetrx_pkt *pkt;

	while ((pkt = vnetrx_pktq_take(out)) != NULL)
		check_out(rig, pkt);
	assert_int_equal(out->count, 0);
}

/* Notes what is freed at the end. */
static void note(struct gro_rig *rig, struct vnetrx_pkt *pkt, uint8_t *data)
{
	if (rig->npkts == rig->room) {
		rig->room = rig->room * 2u + 64u;
		rig->pkts = realloc(rig->pkts, rig->room * sizeof(*rig->pkts));
		rig->data = realloc(rig->data, rig->room * sizeof(*rig->data));
		assert_non_null(rig->pkts);
		assert_non_null(rig->data);
	}
	rig->data[rig->npkts] = data;
	rig->pkts[rig->npkts++] = pkt;
}

static struct vnetrx_pkt *wrap(struct gro_rig *rig, const uint8_t *bytes, size_t len, uint32_t flags)
{
	struct vnetrx_pkt *pkt = malloc(sizeof(*pkt));
	uint8_t *data = malloc(len);

	assert_non_null(pkt);
	assert_non_null(data);
	memset(pkt, 0xa5, sizeof(*pkt));
	memcpy(data, bytes, len);
	vnetrx_pkt_wrap(pkt, data, (uint32_t)len, flags);
	note(rig, pkt, data);
	return pkt;
}

struct vnetrx_pkt *gro_rig_pkt(struct gro_rig *rig, const uint8_t *bytes, size_t len, size_t split, uint32_t flags)
{
	struct vnetrx_pkt *pkt;

	if (split == 0u || split >= len)
		return wrap(rig, bytes, len, flags);
	pkt = wrap(rig, bytes, split, flags);
	pkt->chain = wrap(rig, bytes + split, len - split, 0);
	pkt->len = (uint32_t)len;
	pkt->nfrags = 2;
	return pkt;
}

void gro_rig_put(struct gro_rig *rig, struct vnetrx_pkt *pkt)
{
	uint8_t *copy = malloc(pkt->len);
	struct vnetrx_pktq out = { NULL, NULL, 0 };
	struct law_pkt law;

	assert_non_null(copy);
	law = law_pkt_of(pkt, copy);
	laws_in(rig->laws, &law);
	free(copy);
	vnetrx_gro_receive(rig->gro, &pkt, 1, rig->now, &out);
	drain(rig, &out);
}

struct vnetrx_pkt *gro_rig_made(struct gro_rig *rig, const struct frame *f, size_t split, uint32_t flags)
{
	return gro_rig_pkt(rig, made, frame_build(f, made), split, flags);
}

void gro_rig_frame(struct gro_rig *rig, const struct frame *f)
{
	const struct frame *outer = f->tunnel != NULL ? &f->tunnel->outer : NULL;
	bool verified = gro_rig_verified && !f->bad_l4_csum && !f->no_csum && (outer == NULL || !outer->bad_l4_csum);
	uint32_t flags = VNETRX_PKT_CSUM_OK | (outer != NULL ? VNETRX_PKT_CSUM_INNER : 0u);

	gro_rig_put(rig, gro_rig_made(rig, f, 0, verified ? flags : 0u));
}

void gro_rig_next(struct gro_rig *rig, struct frame *f)
{
	gro_rig_frame(rig, f);
	f->seq += f->payload_len;
	f->id++;
	if (f->tunnel != NULL)
		f->tunnel->outer.id++;
}

void gro_rig_train(struct gro_rig *rig, struct frame *f, unsigned n)
{
	for (; n > 0u; n--)
		gro_rig_next(rig, f);
}

void gro_rig_protos(struct gro_rig *rig, uint32_t protos)
{
	struct vnetrx_pktq out = { NULL, NULL, 0 };

	vnetrx_gro_set_protos(rig->gro, protos, &out);
	drain(rig, &out);
	rig->rules.tunnels = (protos & GRO_KNOWN & VNETRX_GRO_TUNNEL) != 0u;
	laws_rules(rig->laws, &rig->rules, (rig->flags & VNETRX_GRO_RFC6864) != 0u);
}

void gro_rig_expire(struct gro_rig *rig, vnetrx_ns now)
{
	struct vnetrx_pktq out = { NULL, NULL, 0 };

	vnetrx_gro_expire(rig->gro, now, &out);
	drain(rig, &out);
}

void gro_rig_flush(struct gro_rig *rig)
{
	struct vnetrx_pktq out = { NULL, NULL, 0 };

	vnetrx_gro_flush(rig->gro, &out);
	drain(rig, &out);
	assert_int_equal(vnetrx_gro_held(rig->gro), 0);
	assert_true(vnetrx_gro_deadline(rig->gro) == VNETRX_NEVER);
}

void gro_rig_expect(struct gro_rig *rig, const char *text)
{
	assert_string_equal(rig->text, text);
	rig->text[0] = '\0';
	rig->nout = 0;
}

struct vnetrx_gro_stats gro_rig_stats(const struct gro_rig *rig)
{
	struct vnetrx_gro_stats s;

	vnetrx_gro_read_stats(rig->gro, &s);
	return s;
}

static void check_stats(const struct vnetrx_gro_stats *s)
{
	assert_true(s->held == 0u);
	assert_true(s->pkts == s->held_new + s->joined + s->passed);
	assert_true(s->out == s->held_new + s->passed);
	assert_true(s->passed == s->pass_off + s->pass_gso + s->pass_not_ip + s->pass_cut + s->pass_ip_options +
	            s->pass_ip_csum + s->pass_fragment + s->pass_ext + s->pass_proto + s->pass_flags + s->pass_empty +
	            s->pass_l4_csum + s->pass_hdr_len + s->pass_trailer + s->pass_big + s->pass_small + s->pass_tunnel);
	assert_true(s->held_new == s->left_push + s->left_short + s->left_full + s->left_next + s->left_order +
	            s->left_evicted + s->left_timeout + s->left_hold + s->left_flush);
	assert_true(s->left_next == s->differ_seq + s->differ_ack + s->differ_flags + s->differ_options +
					    s->differ_size + s->differ_ip + s->differ_id + s->differ_l2 +
					    s->differ_meta + s->differ_tunnel);
}

void gro_rig_free(struct gro_rig *rig)
{
	struct vnetrx_gro_stats s;

	gro_rig_flush(rig);
	assert_int_equal(laws_missing(rig->laws), 0);
	s = gro_rig_stats(rig);
	check_stats(&s);
	for (unsigned i = 0; i < rig->npkts; i++) {
		free(rig->data[i]);
		free(rig->pkts[i]);
	}
	laws_free(rig->laws);
	free(rig->pkts);
	free(rig->data);
	free(rig->mem);
	free(rig);
}
