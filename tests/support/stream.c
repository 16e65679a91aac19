/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "view.h"
#include "vnetrx/pkt.h"

uint32_t rng_below(struct rng *rng, uint32_t n)
{
	uint64_t x = rng->state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	rng->state = x;
	return n == 0u ? 0u : (uint32_t)((x >> 16) % n);
}

bool rng_once_in(struct rng *rng, uint32_t n)
{
	return n != 0u && rng_below(rng, n) == 0u;
}

uint64_t stream_seed(void)
{
	const char *text = getenv("VNETRX_SEED");
	uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : (uint64_t)time(NULL) * 2654435761u;

	printf("# VNETRX_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

unsigned stream_count(unsigned usual)
{
	const char *text = getenv("VNETRX_COUNT");

	return text != NULL ? (unsigned)strtoul(text, NULL, 0) : usual;
}

unsigned stream_step(unsigned few)
{
	return stream_count(10) < 10u ? few : 1u;
}

static void start_flow(struct stream *s, unsigned i)
{
	struct frame *f = &s->flow[i];

	if (rng_once_in(&s->rng, 3))
		frame_init6(f, i);
	else
		frame_init(f, i);
	f->src[3] = (uint8_t)(1u + rng_below(&s->rng, 4));
	f->seq = rng_once_in(&s->rng, 4) ? 0xffffff00u : rng_below(&s->rng, 0xffffffffu);
	f->id = (uint16_t)rng_below(&s->rng, 65536);
	f->df = !rng_once_in(&s->rng, 3);
	f->payload_len = 1u + rng_below(&s->rng, s->payload_max);
	if (rng_once_in(&s->rng, 2))
		frame_timestamp(f, 1, 1);
	if (rng_once_in(&s->rng, 4)) {
		f->vlans = 1u + rng_below(&s->rng, 2);
		f->vlan_proto[0] = f->vlans == 2u ? 0x88a8u : 0x8100u;
		f->vlan_proto[1] = 0x8100u;
		f->vlan_tci[0] = f->vlan_tci[1] = 42;
	}
	if (f->v6 && rng_once_in(&s->rng, 4)) {
		f->exts = 1u + rng_below(&s->rng, 2);
		f->ext[0] = (struct frame_ext){ 0, (uint8_t)rng_below(&s->rng, 2), 1 };
		f->ext[1] = (struct frame_ext){ rng_once_in(&s->rng, 2) ? 60 : 43, 0, 2 };
	}
	if (s->all)
		stream_start_any(s, i);
}

static void init(struct stream *s, uint64_t seed, unsigned nflows, uint32_t odd, uint32_t payload_max, bool all)
{
	memset(s, 0, sizeof(*s));
	s->all = all;
	s->rng.state = seed * 2u + 0x9e3779b97f4a7c15u;
	if (s->rng.state == 0u)
		s->rng.state = 1;
	for (unsigned i = 0; i < 8u; i++)
		rng_below(&s->rng, 2);
	s->nflows = nflows;
	s->odd = odd;
	s->payload_max = payload_max;
	for (unsigned i = 0; i < nflows; i++)
		start_flow(s, i);
}

void stream_init(struct stream *s, uint64_t seed, unsigned nflows, uint32_t odd, uint32_t payload_max)
{
	init(s, seed, nflows, odd, payload_max, false);
}

void stream_init_all(struct stream *s, uint64_t seed, unsigned nflows, uint32_t odd, uint32_t payload_max)
{
	init(s, seed, nflows, odd, payload_max, true);
}

/* One change of the link or network header. */
static void change_network(struct rng *rng, struct frame *f)
{
	switch (rng_below(rng, 16)) {
	case 0: f->ttl--; break;
	case 1: f->tos ^= (uint8_t)(1u << rng_below(rng, 8)); break;
	case 2: f->df = !f->df; break;
	case 3: f->id = (uint16_t)(f->id + rng_below(rng, 3) - 1u); break;
	case 4: f->id = (uint16_t)rng_below(rng, 65536); break;
	case 5: f->label ^= 1u << rng_below(rng, 20); break;
	case 6: f->smac[rng_below(rng, 6)] ^= 1u; break;
	case 7: f->vlan_tci[0] ^= 0x2000u; break;
	case 8: f->vlans = rng_below(rng, 4); break;
	case 9: f->bad_ip_csum = true; break;
	case 10: f->mf = true; break;
	case 11: f->frag_off = (uint16_t)rng_below(rng, 0x2000); break;
	case 12: f->evil = true; break;
	case 13: f->ip_opts_len = 4u * rng_below(rng, 3); break;
	case 14: f->ip_len_delta = (int)rng_below(rng, 61) - 30; break;
	default:
		f->exts = f->v6 ? 1u + rng_below(rng, 4) : 0u;
		f->ext[f->exts > 0u ? f->exts - 1u : 0u].type =
			(uint8_t)("\x00\x2b\x3c\x2c\x32\x33"[rng_below(rng, 6)]);
		break;
	}
}

/* One change of the transport header, or behind it. */
static void change_transport(struct rng *rng, struct frame *f, uint32_t payload_max)
{
	switch (rng_below(rng, 16)) {
	case 0: f->seq += 1u + rng_below(rng, 3); break;
	case 1: f->seq -= f->payload_len; break;
	case 2: f->ack++; break;
	case 3: f->window ^= (uint16_t)(1u << rng_below(rng, 16)); break;
	case 4: f->urg ^= 1u; break;
	case 5: f->flags ^= (uint16_t)(1u << rng_below(rng, 12)); break;
	case 6: f->flags |= FR_PSH; break;
	case 7: f->flags |= FR_FIN; break;
	case 8: f->payload_len = 0; break;
	case 9: f->payload_len = rng_below(rng, payload_max + 1u); break;
	case 10: f->opts[rng_below(rng, 12)] ^= 1u; break;
	case 11: f->opts_len = 4u * rng_below(rng, 6); break;
	case 12: f->bad_l4_csum = true; break;
	case 13: f->doff = 1u + rng_below(rng, 20); break;
	case 14: f->trailer = rng_below(rng, 20); break;
	default: f->proto = (uint8_t)"\x01\x11\x2f"[rng_below(rng, 3)]; break;
	}
}

static void device_words(struct stream *s, struct stream_pkt *pkt)
{
	switch (rng_below(&s->rng, 9)) {
	case 0:
		pkt->flags |= VNETRX_PKT_VLAN;
		pkt->vlan_tci = (uint16_t)rng_below(&s->rng, 2);
		pkt->vlan_proto = 0x8100;
		break;
	case 1:
		pkt->flags |= VNETRX_PKT_MARK;
		pkt->mark = rng_below(&s->rng, 2);
		break;
	case 2:
		pkt->flags |= VNETRX_PKT_RSC;
		break;
	case 3:
		pkt->flags |= VNETRX_PKT_TSTAMP;
		pkt->tstamp_back = rng_below(&s->rng, 1000);
		break;
	case 4:
		pkt->split = 1u + rng_below(&s->rng, (uint32_t)pkt->len);
		break;
	case 5:
		pkt->len = 14u + rng_below(&s->rng, (uint32_t)pkt->len - 13u);
		break;
	default:
		pkt->flags |= VNETRX_PKT_HASH;
		pkt->hash = rng_below(&s->rng, 1000);
		break;
	}
}

/* Device-verified (in a tunnel perhaps only outside), half done, or nothing said. */
static void csum_words(struct stream *s, struct frame *f, struct stream_pkt *pkt)
{
	uint32_t way = rng_below(&s->rng, 4);
	struct view v;

	if (way == 0u && (f->proto == FR_TCP || (f->proto == FR_UDP && s->all))) {
		f->partial = true;
		pkt->len = frame_build(f, pkt->bytes);
		view_frame(&v, pkt->bytes, pkt->len);
		if (v.kind == VIEW_PORTS) {
			pkt->flags |= VNETRX_PKT_PARTIAL;
			pkt->csum_start = (uint16_t)v.l4;
			pkt->csum_offset = f->proto == FR_TCP ? 16 : 6;
		}
	} else {
		pkt->len = frame_build(f, pkt->bytes);
		if (way > 1u)
			pkt->flags |= VNETRX_PKT_CSUM_OK;
		if (way > 1u && f->tunnel != NULL && !rng_once_in(&s->rng, 4))
			pkt->flags |= VNETRX_PKT_CSUM_INNER;
	}
}

static uint8_t right_type(const struct frame *f)
{
	unsigned type = f->proto == FR_UDP ? VNETRX_GSO_UDP_L4 : f->v6 ? VNETRX_GSO_TCPV6 : VNETRX_GSO_TCPV4;

	if (f->tunnel != NULL)
		type |= f->tunnel->outer.v6 ? VNETRX_GSO_TUNNEL_IPV6 : VNETRX_GSO_TUNNEL_IPV4;
	return (uint8_t)type;
}

/* The device merged some segments of the flow, or says something odd. Returns how many. */
static unsigned device_merges(struct stream *s, struct frame *f, struct stream_pkt *pkt)
{
	uint32_t mss = f->payload_len;
	unsigned segs = 2u + rng_below(&s->rng, 8);

	pkt->gso_size = (uint16_t)mss;
	pkt->gso_type = right_type(f);
	if (mss == 0u)
		return 1;
	switch (rng_below(&s->rng, 8)) {
	case 0: pkt->gso_size = (uint16_t)(1u + rng_below(&s->rng, 2u * mss)); break;
	case 1: pkt->gso_type = (uint8_t)rng_below(&s->rng, 256); break;
	case 2: return 1; /* and no more than one segment */
	default: break;
	}
	if (mss * segs > 60000u)
		return 1;
	f->payload_len = mss * segs;
	if (rng_once_in(&s->rng, 4))
		f->payload_len -= rng_below(&s->rng, mss);
	return segs;
}

/* The flow as it is after frame f, of so many segments. */
static void move_on(struct stream *s, struct frame *flow, const struct frame *f, unsigned segs)
{
	flow->seq += f->payload_len;
	if (rng_once_in(&s->rng, 200))
		return;
	if (s->last % 3u != 0u) /* every third flow has fixed ids */
		flow->id = (uint16_t)(flow->id + segs);
	if (flow->tunnel != NULL && s->last % 4u != 0u)
		flow->tunnel->outer.id = (uint16_t)(flow->tunnel->outer.id + segs);
}

static void change(struct stream *s, struct frame *f)
{
	if (s->all && rng_once_in(&s->rng, 3))
		stream_change_any(&s->rng, f);
	else if (rng_once_in(&s->rng, 2))
		change_network(&s->rng, f);
	else
		change_transport(&s->rng, f, s->payload_max);
}

void stream_next(struct stream *s, struct stream_pkt *pkt)
{
	uint8_t *bytes = pkt->bytes;
	bool odd = rng_once_in(&s->rng, s->odd);
	struct frame_tunnel tunnel;
	unsigned segs = 1;
	bool lasting;
	struct frame *flow;
	struct frame f;

	if (!rng_once_in(&s->rng, 3))
		s->last = rng_below(&s->rng, s->nflows);
	flow = &s->flow[s->last];
	f = *flow;
	if (f.tunnel != NULL) {
		tunnel = *f.tunnel;
		f.tunnel = &tunnel;
	}
	if (odd)
		change(s, &f);
	lasting = odd && rng_once_in(&s->rng, 8) && f.proto == flow->proto && f.doff == 0u;
	memset(pkt, 0, sizeof(*pkt));
	pkt->bytes = bytes;
	f.pad = true;
	if (s->gso && rng_once_in(&s->rng, 6))
		segs = device_merges(s, &f, pkt);
	csum_words(s, &f, pkt);
	if (s->device_words && rng_once_in(&s->rng, s->odd))
		device_words(s, pkt);
	if (lasting && segs == 1u) {
		struct frame_tunnel *kept = flow->tunnel;

		*flow = f;
		flow->partial = false;
		flow->tunnel = kept;
		if (kept != NULL)
			*kept = tunnel;
	}
	move_on(s, flow, &f, segs);
	if (lasting && rng_once_in(&s->rng, 2))
		start_flow(s, s->last);
}
