/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input: a configuration, then a script of packets, flushes, expiries and changes of what is merged. Laws 1 and 2 must
 * hold for all that leaves, everything must leave exactly once, and the table must stay valid.
 *
 * Flows of all protocols: TCP and UDP over IPv4 and IPv6, PPPoE, each kind of tunnel.
 */
#include <string.h>

#include "fuzz.h"
#include "support/frames.h"
#include "support/known.h"
#include "support/laws.h"
#include "support/view.h"
#include "vnetrx/gro.h"

#define PKTS_MAX  256u
#define FLOWS     12u

struct run {
	struct fuzz_input   in;
	struct vnetrx_gro  *gro;
	struct laws        *laws;
	struct vnetrx_pktq  out;
	struct frame        flow[FLOWS];
	struct frame_tunnel tunnel[FLOWS];
	struct view_rules   rules;
	uint32_t            flags;
	void               *owned[3 * PKTS_MAX];  /* freed at the end */
	unsigned            nowned;
	unsigned            npkts;
	vnetrx_ns           now;
	uint32_t            bytes_max;
	uint32_t            segs_max;
};

static uint8_t bytes[FRAME_MAX];
static uint8_t whole[1u << 20];

static void *own(struct run *r, size_t size)
{
	void *p = malloc(size);

	FUZZ_CHECK(p != NULL && r->nowned < sizeof(r->owned) / sizeof(r->owned[0]));
	r->owned[r->nowned++] = p;
	return p;
}

/* The packet in one piece; its chain must agree with its head. */
static struct law_pkt law_of(const struct vnetrx_pkt *pkt)
{
	struct law_pkt law = { .bytes = whole, .gso_size = pkt->gso_size, .segs = pkt->segs };
	unsigned links = 0;

	for (const struct vnetrx_pkt *f = pkt; f != NULL; f = f->chain, links++) {
		FUZZ_CHECK(law.len + f->frag_len <= sizeof(whole));
		memcpy(whole + law.len, f->data, f->frag_len);
		law.len += f->frag_len;
	}
	FUZZ_CHECK(law.len == pkt->len && links == pkt->nfrags);
	law.flags |= (pkt->flags & VNETRX_PKT_MERGED) != 0u ? LAW_MERGED : 0u;
	law.flags |= (pkt->flags & VNETRX_PKT_ID_FIXED) != 0u ? LAW_ID_FIXED : 0u;
	law.flags |= (pkt->flags & VNETRX_PKT_PARTIAL) != 0u ? LAW_PARTIAL : 0u;
	law.flags |= (pkt->flags & VNETRX_PKT_CSUM_OK) != 0u ? LAW_CSUM_OK : 0u;
	law.flags |= (pkt->flags & VNETRX_PKT_CSUM_INNER) != 0u ? LAW_CSUM_INNER : 0u;
	law.flags |= (pkt->flags & VNETRX_PKT_OUTER_ID_FIXED) != 0u ? LAW_OUTER_ID_FIXED : 0u;
	if ((pkt->flags & VNETRX_PKT_VLAN) != 0u) {
		law.flags |= LAW_VLAN;
		law.vlan_tci = pkt->vlan_tci;
		law.vlan_proto = pkt->vlan_proto;
	}
	return law;
}

static void check_out(struct run *r)
{
	struct vnetrx_pkt *pkt;

	while ((pkt = vnetrx_pktq_take(&r->out)) != NULL) {
		struct law_pkt law = law_of(pkt);
		const char *broken = laws_out(r->laws, &law, NULL);

		if (broken != NULL) {
			fprintf(stderr, "%s\n", broken);
			abort();
		}
		FUZZ_CHECK(pkt->reason < VNETRX_LEFT_NUM);
		FUZZ_CHECK(pkt->seen_first <= pkt->seen_last && pkt->seen_last <= r->now);
		if ((pkt->flags & VNETRX_PKT_MERGED) == 0u)
			continue;
		FUZZ_CHECK(pkt->segs >= 2u && pkt->segs <= r->segs_max);
		FUZZ_CHECK(pkt->l3_off < pkt->l4_off && pkt->l4_off < pkt->hdr_len && pkt->hdr_len <= pkt->len);
		FUZZ_CHECK(pkt->len - pkt->l3_off <= r->bytes_max);
		FUZZ_CHECK(pkt->segs == (pkt->len - pkt->hdr_len + pkt->gso_size - 1u) / pkt->gso_size);
	}
	FUZZ_CHECK(r->out.count == 0u);
}

static struct vnetrx_pkt *wrap(struct run *r, const uint8_t *from, size_t len, uint32_t flags)
{
	struct vnetrx_pkt *pkt = own(r, sizeof(*pkt));
	uint8_t *data = own(r, len);

	memset(pkt, 0xa5, sizeof(*pkt));
	memcpy(data, from, len);
	vnetrx_pkt_wrap(pkt, data, (uint32_t)len, flags);
	return pkt;
}

/* What the device says beside the bytes. */
static void device_words(struct run *r, struct vnetrx_pkt *pkt, size_t len)
{
	uint8_t how = fuzz_u8(&r->in);
	struct view v;

	switch (how % 8u) {
	case 0:
		pkt->flags |= VNETRX_PKT_VLAN;
		pkt->vlan_proto = 0x8100;
		pkt->vlan_tci = how / 64u;
		break;
	case 1:
		pkt->flags |= VNETRX_PKT_MARK;
		pkt->mark = how / 64u;
		break;
	case 2:
		pkt->flags |= VNETRX_PKT_TSTAMP | VNETRX_PKT_HASH;
		pkt->tstamp = r->now - how * 4u;
		break;
	case 3:
		pkt->flags |= VNETRX_PKT_RSC;
		break;
	case 4: case 5:
		pkt->gso_size = pkt->rx_gso_size = (uint16_t)(1u + fuzz_u8(&r->in));
		pkt->gso_type = fuzz_u8(&r->in);
		break;
	default:
		view_frame_by(&v, &r->rules, bytes, len);
		pkt->flags = VNETRX_PKT_PARTIAL;
		pkt->csum_start = (uint16_t)(v.l4 + how / 128u);
		pkt->csum_offset = v.udp ? 6 : 16;
		break;
	}
}

/* The bytes go in, now and then as two fragments or with more that the device says. */
static void receive(struct run *r, size_t len)
{
	uint8_t how = fuzz_u8(&r->in);
	uint32_t flags = (how & 1u) != 0u ? VNETRX_PKT_CSUM_OK : 0u;
	size_t split = (how & 12u) == 12u ? fuzz_u8(&r->in) : 0u;
	struct vnetrx_pkt *pkt;
	struct law_pkt law;

	flags |= (how & 3u) == 3u ? VNETRX_PKT_CSUM_INNER : 0u;
	if (split == 0u || split >= len)
		split = len;
	pkt = wrap(r, bytes, split, flags);
	if (split < len) {
		pkt->chain = wrap(r, bytes + split, len - split, 0);
		pkt->len = (uint32_t)len;
		pkt->nfrags = 2;
	}
	if ((how & 48u) == 48u)
		device_words(r, pkt, len);
	r->npkts++;
	law = law_of(pkt);
	(void)laws_in(r->laws, &law);
	vnetrx_gro_receive(r->gro, &pkt, 1, r->now, &r->out);
}

/* Things that a tunnel may have of its own. */
static void vary_tunnel(struct run *r, struct frame_tunnel *t)
{
	uint8_t value = fuzz_u8(&r->in);

	switch (fuzz_below(&r->in, 14)) {
	case 0: t->outer.id = (uint16_t)(t->outer.id + value % 4u); break;
	case 1: t->outer.ttl = value; break;
	case 2: t->outer.df = !t->outer.df; break;
	case 3: t->outer.mf = !t->outer.mf; break;
	case 4: t->outer.sport = value; break;
	case 5: t->outer.no_csum = !t->outer.no_csum; break;
	case 6: t->outer.bad_l4_csum = !t->outer.bad_l4_csum; break;
	case 7: t->vni = value; break;
	case 8: t->flip = (uint16_t)(1u << value % 16u); break;
	case 9: t->opts_len = t->kind == FR_GENEVE ? value % 64u * 4u : 0u; break;
	case 10: t->eth = t->kind != FR_IPIP && !t->eth; break;
	case 11: t->key = !t->key; break;
	case 12: t->cut = value % 20u; break;
	default: t->outer.vlans = value % 3u; break;
	}
}

/* Things that a segment of a flow may have of its own. */
static void vary(struct run *r, struct frame *f)
{
	uint8_t value = fuzz_u8(&r->in);

	switch (fuzz_below(&r->in, 20)) {
	case 0: f->flags ^= (uint16_t)(1u << value % 12u); break;
	case 1: f->payload_len = value; break;
	case 2: f->payload_len = 1u + value * 16u; break;
	case 3: f->seq += value; break;
	case 4: f->seq -= value; break;
	case 5: f->ack += value; break;
	case 6: f->window = value; break;
	case 7: f->id = (uint16_t)(f->id + value % 4u); break;
	case 8: f->ttl = value; break;
	case 9: f->tos = value; break;
	case 10: f->df = !f->df; break;
	case 11: f->label = value; break;
	case 12: f->ip_opts_len = value % 3u * 4u; break;
	case 13: frame_timestamp(f, value, 1); break;
	case 14: f->pad = !f->pad; break;
	case 15: f->no_csum = !f->no_csum; break;
	case 16: f->udp_len_delta = (int)(value % 3u) - 1; break;
	case 17: f->pppoe = !f->pppoe; break;
	case 18: f->partial = !f->partial; break;
	default: f->vlans = value % 3u; break;
	}
}

static void segment(struct run *r, bool variation)
{
	unsigned number = fuzz_below(&r->in, FLOWS);
	struct frame *f = &r->flow[number];
	struct frame_tunnel *t = &r->tunnel[number];
	struct frame kept = *f;
	struct frame_tunnel kept_tunnel = *t;
	unsigned spoil;
	size_t len;

	if (variation && f->tunnel != NULL && fuzz_below(&r->in, 2) != 0u)
		vary_tunnel(r, t);
	else if (variation)
		vary(r, f);
	if (t->cut > f->payload_len)
		t->cut = 0;
	len = frame_build(f, bytes);
	kept.seq = f->seq + f->payload_len;
	kept.id = (uint16_t)(f->id + 1u);
	kept.ack = f->ack;
	*f = kept;
	kept_tunnel.outer.id = (uint16_t)(t->outer.id + 1u);
	*t = kept_tunnel;
	for (spoil = variation ? fuzz_below(&r->in, 4) : 0u; spoil > 0u; spoil--) {
		size_t at = fuzz_u8(&r->in);

		if (at < len)
			bytes[at] = fuzz_u8(&r->in);
	}
	receive(r, len);
}

static void raw(struct run *r)
{
	size_t len = 1u + fuzz_u16(&r->in) % 200u;
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = fuzz_u8(&r->in);
	receive(r, len);
}

static void change_protocols(struct run *r)
{
	uint32_t protos = fuzz_below(&r->in, 8) & GRO_KNOWN;

	vnetrx_gro_set_protos(r->gro, protos, &r->out);
	FUZZ_CHECK(vnetrx_gro_held(r->gro) == 0u);
	check_out(r);
	r->rules.tunnels = (protos & VNETRX_GRO_TUNNEL) != 0u;
	laws_rules(r->laws, &r->rules, (r->flags & VNETRX_GRO_RFC6864) != 0u);
}

static void step(struct run *r)
{
	unsigned n;

	switch (fuzz_below(&r->in, 9)) {
	case 0: case 1:
		segment(r, true);
		break;
	case 2: case 3:
		segment(r, false);
		break;
	case 4:
		for (n = fuzz_below(&r->in, 50); n > 0u && r->npkts < PKTS_MAX; n--)
			segment(r, false);
		break;
	case 5:
		raw(r);
		break;
	case 6:
		r->now += fuzz_u16(&r->in);
		vnetrx_gro_expire(r->gro, r->now, &r->out);
		FUZZ_CHECK(vnetrx_gro_deadline(r->gro) > r->now);
		break;
	case 7:
		change_protocols(r);
		break;
	default:
		vnetrx_gro_flush(r->gro, &r->out);
		FUZZ_CHECK(vnetrx_gro_held(r->gro) == 0u && vnetrx_gro_deadline(r->gro) == VNETRX_NEVER);
		break;
	}
	check_out(r);
}

/* Flow i is of a kind of its own. */
static void start_flow(struct run *r, unsigned i)
{
	struct frame *f = &r->flow[i];

	if (i % 2u == 0u)
		frame_init(f, i / 2u);
	else
		frame_init6(f, i / 2u);
	if (i % 4u >= 2u)
		frame_udp(f);
	f->pppoe = i == 4u;
	if (i < 5u)
		return;
	frame_tunnel_init(&r->tunnel[i], i % FR_TUNNELS, i % 3u == 0u);
	f->tunnel = &r->tunnel[i];
}

static void *start(struct run *r)
{
	struct vnetrx_gro_config cfg = { .hash_key = { 1, fuzz_u8(&r->in) }, .protos = GRO_KNOWN };
	size_t size;
	void *mem;
	unsigned i;

	cfg.flows = 1u + fuzz_below(&r->in, 10);
	cfg.segs_max = r->segs_max = 2u + fuzz_u8(&r->in);
	cfg.bytes_max = r->bytes_max = fuzz_below(&r->in, 3) == 0u ? 1280u + fuzz_u16(&r->in) : 65535u;
	cfg.timeout_ns = fuzz_u8(&r->in) * 100u;
	cfg.hold_max_ns = fuzz_u8(&r->in) * 1000u;
	cfg.flags = r->flags = fuzz_below(&r->in, 32);
	if ((cfg.flags & VNETRX_GRO_PROFILE_VIRTIO) != 0u)
		cfg.flags &= ~VNETRX_GRO_CSUM_BYTES;
	cfg.payload_min = fuzz_below(&r->in, 4) * 16u;
	size = vnetrx_gro_footprint(&cfg, NULL);
	FUZZ_CHECK(size != 0u);
	mem = aligned_alloc(64, (size + 63u) / 64u * 64u);
	FUZZ_CHECK(mem != NULL && vnetrx_gro_init(&r->gro, &cfg, mem, size) == VNETRX_OK);
	r->laws = laws_new();
	r->rules = view_usual;
	laws_rules(r->laws, &r->rules, (r->flags & VNETRX_GRO_RFC6864) != 0u);
	r->now = 100000;
	for (i = 0; i < FLOWS; i++)
		start_flow(r, i);
	return mem;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run r = { .in = { data, size } };
	struct vnetrx_gro_stats stats;
	void *mem = start(&r);

	while (r.in.left > 0u && r.npkts < PKTS_MAX)
		step(&r);
	vnetrx_gro_flush(r.gro, &r.out);
	check_out(&r);
	FUZZ_CHECK(laws_missing(r.laws) == 0u);
	vnetrx_gro_read_stats(r.gro, &stats);
	FUZZ_CHECK(stats.pkts == r.npkts && stats.pkts == stats.held_new + stats.joined + stats.passed);
	FUZZ_CHECK(stats.out == stats.held_new + stats.passed && stats.held == 0u);
	laws_free(r.laws);
	while (r.nowned > 0u)
		free(r.owned[--r.nowned]);
	free(mem);
	return 0;
}
