/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input: a configuration, then a script of packets, flushes and expiries. Laws 1 and 2 must hold for all that leaves,
 * everything must leave exactly once, and the table must stay valid.
 */
#include <string.h>

#include "fuzz.h"
#include "support/frames.h"
#include "support/laws.h"
#include "vnetrx/gro.h"

#define PKTS_MAX  256u
#define FLOWS     4u

struct run {
	struct fuzz_input   in;
	struct vnetrx_gro  *gro;
	struct laws        *laws;
	struct vnetrx_pktq  out;
	struct frame        flow[FLOWS];
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

/* The bytes go in, now and then as two fragments or with a tag that the device took off. */
static void receive(struct run *r, size_t len)
{
	uint8_t how = fuzz_u8(&r->in);
	uint32_t flags = how % 2u != 0u ? VNETRX_PKT_CSUM_OK : 0u;
	size_t split = (how & 6u) == 6u ? fuzz_u8(&r->in) : 0u;
	struct vnetrx_pkt *pkt;
	struct law_pkt law;

	if (split == 0u || split >= len)
		split = len;
	pkt = wrap(r, bytes, split, flags);
	if (split < len) {
		pkt->chain = wrap(r, bytes + split, len - split, 0);
		pkt->len = (uint32_t)len;
		pkt->nfrags = 2;
	}
	if ((how & 24u) == 24u) {
		pkt->flags |= VNETRX_PKT_VLAN;
		pkt->vlan_proto = 0x8100;
		pkt->vlan_tci = how / 64u;
	}
	r->npkts++;
	law = law_of(pkt);
	(void)laws_in(r->laws, &law);
	vnetrx_gro_receive(r->gro, &pkt, 1, r->now, &r->out);
}

/* Things that a segment of a flow may have of its own. */
static void vary(struct run *r, struct frame *f)
{
	uint8_t value = fuzz_u8(&r->in);

	switch (fuzz_below(&r->in, 16)) {
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
	default: f->vlans = value % 3u; break;
	}
}

static void segment(struct run *r, bool variation)
{
	struct frame *f = &r->flow[fuzz_below(&r->in, FLOWS)];
	struct frame kept = *f;
	unsigned spoil;
	size_t len;

	if (variation)
		vary(r, f);
	len = frame_build(f, bytes);
	kept.seq = f->seq + f->payload_len;
	kept.id = (uint16_t)(f->id + 1u);
	kept.ack = f->ack;
	*f = kept;
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

static void step(struct run *r)
{
	unsigned n;

	switch (fuzz_below(&r->in, 8)) {
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
	default:
		vnetrx_gro_flush(r->gro, &r->out);
		FUZZ_CHECK(vnetrx_gro_held(r->gro) == 0u && vnetrx_gro_deadline(r->gro) == VNETRX_NEVER);
		break;
	}
	check_out(r);
}

static void *start(struct run *r)
{
	struct vnetrx_gro_config cfg = { .hash_key = { 1, fuzz_u8(&r->in) }, .protos = VNETRX_GRO_TCP };
	size_t size;
	void *mem;
	unsigned i;

	cfg.flows = 1u + fuzz_below(&r->in, 5);
	cfg.segs_max = r->segs_max = 2u + fuzz_u8(&r->in);
	cfg.bytes_max = r->bytes_max = fuzz_below(&r->in, 3) == 0u ? 1280u + fuzz_u16(&r->in) : 65535u;
	cfg.timeout_ns = fuzz_u8(&r->in) * 100u;
	cfg.hold_max_ns = fuzz_u8(&r->in) * 1000u;
	cfg.flags = fuzz_below(&r->in, 2) != 0u ? VNETRX_GRO_CSUM_BYTES : 0u;
	size = vnetrx_gro_footprint(&cfg, NULL);
	FUZZ_CHECK(size != 0u);
	mem = aligned_alloc(64, (size + 63u) / 64u * 64u);
	FUZZ_CHECK(mem != NULL && vnetrx_gro_init(&r->gro, &cfg, mem, size) == VNETRX_OK);
	r->laws = laws_new();
	r->now = 1000;
	for (i = 0; i < FLOWS; i++) {
		if (i % 2u == 0u)
			frame_init(&r->flow[i], i / 2u);
		else
			frame_init6(&r->flow[i], i / 2u);
	}
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
