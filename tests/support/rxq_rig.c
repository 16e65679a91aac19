/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rxq_rig.h"

static const char *reason(unsigned r)
{
	static const char *const names[] = { "passed", "push",    "short",   "full", "next",
					     "order",  "evicted", "timeout", "hold", "flush" };

	return r < sizeof(names) / sizeof(names[0]) ? names[r] : "?";
}

static void show(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct rxq_rig *r = arg;

	for (unsigned i = 0; i < n; i++) {
		const struct vnetrx_pkt *p = pkts[i];
		size_t at = strlen(r->text);
		struct vnetrx_iov iov[256];
		unsigned pieces = vnetrx_pkt_iovec(p, iov, 256u);
		size_t len = 0;

		assert_true(pieces <= 256u);
		for (unsigned k = 0; k < pieces; k++)
			len += iov[k].len;
		assert_int_equal(len, p->len);
		assert_int_equal(pieces, p->nfrags);
		assert_true(p->truesize >= p->len);
		snprintf(r->text + at, sizeof(r->text) - at, "%s%u:%s", at != 0u ? " " : "", (unsigned)p->len - 54u,
		         reason(p->reason));
	}
}

struct rxq_rig *rxq_rig_new(const struct vnetrx_rxq_config *cfg)
{
	struct rxq_rig *r = calloc(1u, sizeof(*r));
	struct faulty_config faulty = { .ops = &softdev_ops, .hdr_len = 12u };
	struct softdev_config soft = { .hdr_len = 12u };
	const char *why = "";
	size_t size;

	assert_non_null(r);
	if (cfg != NULL)
		r->cfg = *cfg;
	r->cfg.dev_ops = &faulty_ops;
	r->cfg.host_ops = &heap_host_ops;
	r->cfg.host = &r->host;
	r->cfg.hdr_len = 12u;
	r->cfg.hash_key[0] = 1u;
	if (r->cfg.ring_size == 0u)
		r->cfg.ring_size = RXQ_RING;
	soft.ring_size = faulty.ring_size = r->cfg.ring_size;
	r->soft = softdev_new(&soft);
	faulty.dev = r->soft;
	r->faulty = faulty_new(&faulty);
	assert_non_null(r->soft);
	assert_non_null(r->faulty);
	r->cfg.dev = r->faulty;
	r->host.show = show;
	r->host.arg = r;
	size = vnetrx_rxq_footprint(&r->cfg, &why);
	if (size == 0u)
		fail_msg("configuration: %s", why);
	r->mem = heap_memory(size);
	assert_non_null(r->mem);
	memset(r->mem, 0xa5, size);
	assert_int_equal(vnetrx_rxq_init(&r->rxq, &r->cfg, r->mem, size), VNETRX_OK);
	assert_int_equal(vnetrx_rxq_fill(r->rxq), r->cfg.ring_size);
	for (unsigned i = 0; i < 8u; i++)
		frame_init(&r->flow[i], i);
	return r;
}

unsigned rxq_rig_reset(struct rxq_rig *r)
{
	softdev_reset(r->soft);
	faulty_reset(r->faulty);
	return vnetrx_rxq_reclaim(r->rxq);
}

void rxq_rig_free(struct rxq_rig *r)
{
	struct vnetrx_rxq_stats s;

	(void)rxq_rig_reset(r);
	(void)heap_release(&r->host, r->host.kept.count);
	assert_int_equal(vnetrx_rxq_fini(r->rxq), VNETRX_OK);
	s = rxq_rig_stats(r);
	assert_true(s.queue.posted == s.queue.completions - s.merge.drop_bad_id + s.queue.reclaimed);
	assert_int_equal(r->host.pages_out, 0);
	faulty_free(r->faulty);
	softdev_free(r->soft);
	free(r->mem);
	free(r);
}

bool rxq_rig_send(struct rxq_rig *r, unsigned flow, uint32_t payload, uint16_t flags)
{
	static uint8_t bytes[FRAME_MAX];
	struct vnetrx_meta meta = { .flags = VNETRX_PKT_CSUM_OK };
	struct frame *f = &r->flow[flow];
	uint32_t len;

	f->payload_len = payload;
	f->flags = (uint16_t)(FR_ACK | flags);
	len = (uint32_t)frame_build(f, bytes);
	if (softdev_send(r->soft, bytes, len, &meta) != 0)
		return false;
	f->seq += payload;
	f->id++;
	return true;
}

bool rxq_rig_send_other(struct rxq_rig *r, uint32_t len)
{
	static uint8_t bytes[FRAME_MAX];

	memset(bytes, 0x5a, len);
	return softdev_send(r->soft, bytes, len, NULL) == 0;
}

void rxq_rig_turn(struct rxq_rig *r, vnetrx_ns now)
{
	unsigned turns = 0;

	do
		(void)vnetrx_rxq_poll(r->rxq, 64u, now);
	while (!vnetrx_rxq_complete(r->rxq, now) && ++turns < 4u); /* a faulty arm may say so for ever */
}

void rxq_rig_expect(struct rxq_rig *r, const char *text)
{
	assert_string_equal(r->text, text);
	r->text[0] = '\0';
}

struct vnetrx_rxq_stats rxq_rig_stats(const struct rxq_rig *r)
{
	struct vnetrx_rxq_stats s;

	vnetrx_rxq_read_stats(r->rxq, &s);
	return s;
}
