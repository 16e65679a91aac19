/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random traffic through a whole queue, under everything that a host and a device may rightly do: any buffer length,
 * host full for a while, packets kept and freed late or on another thread, pages running out and coming back.
 *
 * Laws 1 and 2 on every packet, law 4 at the end of each round: nothing is lost, and every page comes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rxq/rig.h"
#include "support/stream.h"
#include "support/view.h"

#define PKTS 800u

struct round {
	struct rng     rng;
	struct stream *stream;
	struct rxq_rig rig;
	bool           gso;      /* the device merges too                     */
	uint32_t       trouble;  /* once in so many packets something changes */
	uint8_t       *bytes;
	unsigned       refused;
};

/* Frames that a device may have merged: whole, plain, and longer than one segment. */
static bool may_be_gso(const struct view *v, const struct stream_pkt *p)
{
	return v->tcp && !v->cut && !v->trailer && !v->ip_options && v->ip_csum_ok && v->payload_len > 100u &&
	       (p->flags & (VNETRX_PKT_CSUM_OK | VNETRX_PKT_PARTIAL)) != 0u &&
	       (v->flags & (FR_SYN | FR_RST | FR_URG | FR_CWR)) == 0u;
}

static void send(struct round *r)
{
	struct stream_pkt p = { .bytes = r->bytes };
	struct vnetrx_meta meta = { .flags = 0 };
	struct view v;

	stream_next(r->stream, &p);
	view_frame(&v, p.bytes, p.len);
	meta.flags = p.flags & (VNETRX_PKT_CSUM_OK | VNETRX_PKT_PARTIAL);
	meta.csum_start = p.csum_start;
	meta.csum_offset = p.csum_offset;
	if (r->gso && may_be_gso(&v, &p) && rng_once_in(&r->rng, 4)) {
		meta.gso_size = (uint16_t)(50u + rng_below(&r->rng, 100));
		meta.gso_type = v.v6 ? VNETRX_GSO_TCPV6 : VNETRX_GSO_TCPV4;
	}
	if (!rxq_rig_send(&r->rig, p.bytes, p.len, &meta))
		r->refused++;
}

/* Something in the surroundings changes. */
static void trouble(struct round *r)
{
	struct heap_host *host = &r->rig.host;

	switch (rng_below(&r->rng, 6)) {
	case 0:
		host->limited = !host->limited;
		host->take_max = rng_below(&r->rng, 3);
		break;
	case 1:
		host->fail_from = host->fail_from != 0u ? 0u : host->allocs + 1u;
		break;
	case 2:
		host->fail_at = host->allocs + 1u + rng_below(&r->rng, 3);
		break;
	case 3:
		host->keep = !host->keep || r->rig.freer != NULL;
		break;
	case 4:
		rxq_rig_release(&r->rig, rng_below(&r->rng, 50));
		break;
	default:
		vnetrx_rxq_flush(r->rig.rxq);
		break;
	}
}

/* The host does what it should do in time. */
static void attend(struct round *r)
{
	struct rxq_rig *rig = &r->rig;

	rig->now += rng_below(&r->rng, 2000);
	if (rng_once_in(&r->rng, 4))
		rxq_rig_release(rig, rng_below(&r->rng, 20));
	switch (rng_below(&r->rng, 4)) {
	case 0:
		(void)vnetrx_rxq_poll(rig->rxq, 1u + rng_below(&r->rng, 64), rig->now);
		break;
	case 1:
		rxq_rig_drain(rig);
		break;
	case 2:
		if (vnetrx_rxq_deadline(rig->rxq) <= rig->now)
			(void)vnetrx_rxq_expire(rig->rxq, 64, rig->now);
		break;
	default:
		(void)vnetrx_rxq_fill(rig->rxq);
		break;
	}
}

/* A configuration of every kind; small buffers cut headers and payload anywhere. */
static void configure(struct round *r, struct vnetrx_rxq_config *cfg, struct softdev_config *dev)
{
	static const uint32_t lens[] = { 48, 64, 80, 112, 128, 192, 512, 1536, 4096 };
	struct rng *rng = &r->rng;

	memset(cfg, 0, sizeof(*cfg));
	memset(dev, 0, sizeof(*dev));
	cfg->frame_len_max = 2000;
	cfg->ring_size = 64u + rng_below(rng, 200);
	cfg->buf_align = 16;
	cfg->hdr_len = rng_once_in(rng, 3) ? 20 : 12;
	if (!rng_once_in(rng, 4)) {
		cfg->buf_len_min = lens[rng_below(rng, 9)];
		cfg->buf_len_max = rng_once_in(rng, 3) ? 4096 : cfg->buf_len_min;
	}
	cfg->run_size = 8192u << rng_below(rng, 4);
	cfg->headroom = rng_once_in(rng, 3) ? (uint16_t)(16u * rng_below(rng, 8)) : 0;
	cfg->copy_len_max = rng_once_in(rng, 3) ? 0xffff : (uint16_t)rng_below(rng, 300);
	cfg->flags = (rng_once_in(rng, 4) ? VNETRX_RXQ_NO_COALESCE : 0u) |
	             (rng_once_in(rng, 3) ? VNETRX_RXQ_REMOTE_FREE : 0u) |
	             (rng_once_in(rng, 8) ? VNETRX_RXQ_GRO_OFF : 0u);
	cfg->gro_flows = 1u + rng_below(rng, rng_once_in(rng, 2) ? 300 : 30);
	cfg->gro_segs_max = 2u + rng_below(rng, 40);
	cfg->gro_flags = rng_once_in(rng, 2) ? VNETRX_GRO_CSUM_BYTES : 0u;
	cfg->gro_timeout_ns = rng_once_in(rng, 2) ? 0u : rng_below(rng, 4000);
	cfg->hash_key[0] = rng->state;
	cfg->hash_key[1] = 1;
	dev->flags = (rng_once_in(rng, 3) ? SOFTDEV_SHUFFLE : 0u) | (rng_once_in(rng, 3) ? SOFTDEV_NEED_KICK : 0u);
	dev->seed = rng->state;
	r->gso = rng_once_in(rng, 2) && (cfg->flags & VNETRX_RXQ_GRO_OFF) == 0u;
}

static void run_round(struct round *r, uint64_t seed)
{
	struct vnetrx_rxq_config cfg;
	struct softdev_config dev;
	uint32_t nflows, odd;

	memset(r, 0, sizeof(*r));
	r->stream = malloc(sizeof(*r->stream));
	r->bytes = malloc(FRAME_MAX);
	assert_non_null(r->stream);
	assert_non_null(r->bytes);
	stream_init(r->stream, seed, 1, 0, 1);
	r->rng = r->stream->rng;
	nflows = 1u + rng_below(&r->rng, rng_once_in(&r->rng, 2) ? 250 : 30);
	odd = 2u + rng_below(&r->rng, 60);
	stream_init(r->stream, seed, nflows, odd, rng_once_in(&r->rng, 2) ? 60 : 1448);
	r->trouble = rng_once_in(&r->rng, 3) ? 0u : 5u + rng_below(&r->rng, 100);
	configure(r, &cfg, &dev);
	rxq_rig_open(&r->rig, &cfg, &dev);
	r->rig.host.keep = r->rig.freer != NULL;
	(void)vnetrx_rxq_fill(r->rig.rxq);
	for (unsigned i = 0; i < PKTS; i++) {
		if (rng_once_in(&r->rng, r->trouble))
			trouble(r);
		send(r);
		if (rng_once_in(&r->rng, 8))
			attend(r);
	}
	rxq_rig_close(&r->rig);
	free(r->stream);
	free(r->bytes);
}

static void whole_queue_keeps_the_laws_on_random_traffic(void **state)
{
	uint64_t seed = stream_seed();
	unsigned count = stream_count(20);
	struct round *r = malloc(sizeof(*r));

	(void)state;
	assert_non_null(r);
	for (unsigned i = 0; i < count; i++)
		run_round(r, seed + i);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_queue_keeps_the_laws_on_random_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
