/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream.h"

#include <string.h>

static void start_tunnel(struct rng *rng, struct frame_tunnel *t)
{
	frame_tunnel_init(t, rng_below(rng, FR_TUNNELS), rng_once_in(rng, 3));
	t->outer.src[3] = (uint8_t)(1u + rng_below(rng, 3));
	t->outer.id = (uint16_t)rng_below(rng, 65536);
	t->outer.df = !rng_once_in(rng, 3);
	t->outer.sport = (uint16_t)(50000u + rng_below(rng, 3));
	t->outer.no_csum = !rng_once_in(rng, 3);
	t->outer.pppoe = rng_once_in(rng, 10);
	t->outer.vlans = rng_once_in(rng, 4) ? 1 : 0;
	t->outer.vlan_proto[0] = 0x8100;
	t->eth = t->kind == FR_VXLAN || (t->kind != FR_IPIP && rng_once_in(rng, 2));
	t->key = rng_once_in(rng, 2);
	t->vni = rng_below(rng, 3);
	if (t->kind == FR_GENEVE && rng_once_in(rng, 2)) {
		t->opts_len = 4u * rng_below(rng, rng_once_in(rng, 5) ? 64 : 6);
		memset(t->opts, 3, sizeof(t->opts));
	}
}

void stream_start_any(struct stream *s, unsigned i)
{
	struct frame *f = &s->flow[i];

	if (rng_once_in(&s->rng, 3)) {
		frame_udp(f);
		f->no_csum = rng_once_in(&s->rng, 4);
	}
	f->pppoe = rng_once_in(&s->rng, 6);
	f->session = (uint16_t)rng_below(&s->rng, 2);
	f->tunnel = NULL;
	if (rng_once_in(&s->rng, 2))
		return;
	f->tunnel = &s->tunnel[i];
	start_tunnel(&s->rng, f->tunnel);
	f->pppoe = f->pppoe && rng_once_in(&s->rng, 10); /* inside a tunnel it is not looked into */
}

static void change_pppoe(struct rng *rng, struct frame *f)
{
	switch (rng_below(rng, 5)) {
	case 0: f->pppoe = !f->pppoe; break;
	case 1: f->session ^= 1u; break;
	case 2: f->ppp = (uint16_t)(rng_once_in(rng, 2) ? 0xc021 : 0x0057); break;
	case 3: f->pppoe_code = (uint8_t)rng_below(rng, 2); break;
	default: f->pppoe_len_delta = (int)rng_below(rng, 5) - 2; break;
	}
}

static void change_udp(struct rng *rng, struct frame *f)
{
	static const uint16_t ports[] = { 4789, 4790, 6081, 53 };

	switch (rng_below(rng, 3)) {
	case 0: f->no_csum = !f->no_csum; break;
	case 1: f->udp_len_delta = (int)rng_below(rng, 21) - 10; break;
	default: f->dport = ports[rng_below(rng, 4)]; break;
	}
}

/* The network header of the tunnel. */
static void change_outer(struct rng *rng, struct frame *o)
{
	switch (rng_below(rng, 14)) {
	case 0: o->ttl--; break;
	case 1: o->tos ^= (uint8_t)(1u << rng_below(rng, 8)); break;
	case 2: o->df = !o->df; break;
	case 3: o->id = (uint16_t)(o->id + rng_below(rng, 3) - 1u); break;
	case 4: o->label ^= 1u << rng_below(rng, 20); break;
	case 5: o->smac[2] ^= 1u; break;
	case 6: o->vlan_tci[0] ^= 0x2000u; break;
	case 7: o->vlans = rng_below(rng, 4); break;
	case 8: o->bad_ip_csum = true; break;
	case 9: o->mf = true; break;
	case 10: o->frag_off = (uint16_t)rng_below(rng, 0x2000); break;
	case 11: o->ip_opts_len = 4; break;
	case 12: o->ip_len_delta = (int)rng_below(rng, 161) - 80; break;
	default:
		o->exts = o->v6 ? 1 : 0;
		o->ext[0] = (struct frame_ext){ (uint8_t)("\x00\x2b\x3c\x2c\x32"[rng_below(rng, 5)]), 0, 1 };
		break;
	}
}

/* What lies between the network headers. */
static void change_between(struct rng *rng, struct frame *f, struct frame_tunnel *t)
{
	static const uint16_t types[] = { 0x0806, 0x0800, 0x86dd, 0x6558, 1, 2, 3 };

	switch (rng_below(rng, 14)) {
	case 0: t->outer.sport ^= 1u; break;
	case 1: t->outer.no_csum = !t->outer.no_csum; break;
	case 2: t->outer.bad_l4_csum = true; break;
	case 3: t->outer.udp_len_delta = (int)rng_below(rng, 5) - 2; break;
	case 4: t->vni ^= 1u << rng_below(rng, 24); break;
	case 5: t->rsvd ^= 1u; break;
	case 6: t->flip ^= (uint16_t)(1u << rng_below(rng, 16)); break;
	case 7: t->type = types[rng_below(rng, 7)]; break;
	case 8: t->key = !t->key; break;
	case 9: t->opts_len = t->kind == FR_GENEVE ? 4u * rng_below(rng, 64) : 0u; break;
	case 10: t->opts[rng_below(rng, 20)] ^= 1u; break;
	case 11: t->cut = rng_below(rng, 80) % (f->payload_len + 20u); break;
	case 12: f->eth_type = 0x0806; break;
	default: t->eth = t->kind != FR_IPIP && !t->eth; break;
	}
}

void stream_change_any(struct rng *rng, struct frame *f)
{
	if (f->tunnel == NULL) {
		if (f->proto == FR_UDP && rng_once_in(rng, 2))
			change_udp(rng, f);
		else
			change_pppoe(rng, f);
	} else if (rng_once_in(rng, 2)) {
		change_outer(rng, &f->tunnel->outer);
	} else {
		change_between(rng, f, f->tunnel);
	}
}
