/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void engine_init(struct engine *e, const struct vnetrx_gro_config *cfg)
{
	size_t size = vnetrx_gro_footprint(cfg, NULL);

	memset(e, 0, sizeof(*e));
	assert_true(size > 0u);
	e->mem = aligned_alloc(64, (size + 63u) / 64u * 64u);
	assert_non_null(e->mem);
	assert_int_equal(vnetrx_gro_init(&e->gro, cfg, e->mem, size), VNETRX_OK);
}

void engine_fini(struct engine *e, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		free(e->copy[i]->data[0]);
		free(e->copy[i]->data[1]);
		free(e->copy[i]);
	}
	free(e->mem);
}

static uint8_t *copy_bytes(const uint8_t *bytes, size_t len)
{
	uint8_t *p = malloc(len);

	assert_non_null(p);
	memcpy(p, bytes, len);
	return p;
}

struct vnetrx_pkt *engine_copy(struct engine *e, unsigned number, const struct stream_pkt *p, vnetrx_ns now)
{
	size_t first = p->split != 0u && p->split < p->len ? p->split : p->len;
	struct copy *c = calloc(1, sizeof(*c));
	struct vnetrx_pkt *pkt;

	assert_non_null(c);
	pkt = &c->pkt[0];
	c->number = number;
	e->copy[number] = c;
	c->data[0] = copy_bytes(p->bytes, first);
	vnetrx_pkt_wrap(pkt, c->data[0], (uint32_t)first, p->flags);
	if (first < p->len) {
		c->data[1] = copy_bytes(p->bytes + first, p->len - first);
		vnetrx_pkt_wrap(&c->pkt[1], c->data[1], (uint32_t)(p->len - first), 0);
		pkt->chain = &c->pkt[1];
		pkt->len = (uint32_t)p->len;
		pkt->nfrags = 2;
	}
	pkt->vlan_tci = p->vlan_tci;
	pkt->vlan_proto = p->vlan_proto;
	pkt->gso_size = pkt->rx_gso_size = p->gso_size;
	pkt->gso_type = p->gso_type;
	pkt->csum_start = p->csum_start;
	pkt->csum_offset = p->csum_offset;
	pkt->mark = p->mark;
	pkt->hash = p->hash;
	pkt->tstamp = now > p->tstamp_back ? now - p->tstamp_back : 0u;
	return pkt;
}

void engine_members(const struct engine *e, const struct vnetrx_pkt *pkt, struct left *left)
{
	const struct vnetrx_pkt *second = NULL;

	left->n = 0;
	left->reason = pkt->reason;
	for (; pkt != NULL; pkt = pkt->chain) {
		const struct copy *c = (const struct copy *)pkt; /* its first member */

		if (pkt == second)
			continue;
		assert_true(c->number < ENGINE_PKTS && e->copy[c->number] == c);
		left->members[left->n++] = c->number;
		second = pkt + 1;
	}
}
