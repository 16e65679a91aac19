/* SPDX-License-Identifier: BSD-3-Clause */
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rng.h"
#include "support/known.h"

#define HDR_LEN   12u
#define KEPT_MAX  100u
#define TRIES_MAX 10000u

static bool chance(struct rig *r, uint32_t one_in)
{
	return rng_below(&r->rng, one_in) == 0u;
}

/* ---- packets of the host ---- */

static void show(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct rig *r = arg;
	unsigned i;

	for (i = 0; i < n; i++) {
		r->uncounted += pkts[i]->segs == 0u ? 1u : 0u;
		if (r->checking)
			stream_check(&r->stream, pkts[i]);
	}
}

static void keep_early(void *arg, struct vnetrx_pkt *pkt)
{
	struct rig *r = arg;

	vnetrx_pktq_add(&r->host.kept, pkt);
}

static void *remote_free(void *arg)
{
	struct rig *r = arg;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		struct vnetrx_pktq todo = r->remote;
		struct vnetrx_pkt *pkt;

		r->remote = (struct vnetrx_pktq){ NULL, NULL, 0 };
		r->busy = todo.count != 0u;
		if (todo.count == 0u) {
			if (r->stop)
				break;
			pthread_cond_broadcast(&r->wanted);
			pthread_cond_wait(&r->wanted, &r->lock);
			continue;
		}
		pthread_mutex_unlock(&r->lock);
		while ((pkt = vnetrx_pktq_take(&todo)) != NULL)
			vnetrx_pkt_free_remote(&pkt, 1u);
		pthread_mutex_lock(&r->lock);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static void to_remote(struct rig *r, unsigned n)
{
	pthread_mutex_lock(&r->lock);
	for (; n > 0u && r->host.kept.count > 0u; n--)
		vnetrx_pktq_add(&r->remote, vnetrx_pktq_take(&r->host.kept));
	r->busy = true;
	pthread_cond_broadcast(&r->wanted);
	pthread_mutex_unlock(&r->lock);
}

static void await_remote(struct rig *r)
{
	pthread_mutex_lock(&r->lock);
	while (r->busy)
		pthread_cond_wait(&r->wanted, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

static void release_some(struct rig *r)
{
	unsigned n = 1u + rng_below(&r->rng, 40u);

	if (r->host.kept.count > KEPT_MAX)
		n = r->host.kept.count;
	if (chance(r, 3u))
		to_remote(r, n);
	else
		(void)heap_release(&r->host, n);
}

/* ---- set-up ---- */

static void configure(struct rig *r, struct vnetrx_rxq_config *cfg)
{
	static const uint32_t rings[] = { 64, 100, 256, 500 };
	static const uint16_t copies[] = { 0, 256, 0xffff };
	static const uint32_t flags[] = { 0, 0, VNETRX_RXQ_NO_COALESCE, VNETRX_RXQ_GRO_OFF };
	static const uint32_t gro_flags[] = {
		0, VNETRX_GRO_CSUM_BYTES, VNETRX_GRO_RFC6864, VNETRX_GRO_ADAPTIVE, VNETRX_GRO_UDP_ZERO,
		VNETRX_GRO_PROFILE_VIRTIO,
	};

	r->ring_size = rings[rng_below(&r->rng, 4u)];
	*cfg = (struct vnetrx_rxq_config){
		.dev_ops = &tracker_dev_ops, .host_ops = &tracker_host_ops, .dev = &r->tracker, .host = &r->tracker,
		.hash_key = { 1u + rng_next(&r->rng), rng_next(&r->rng) },
		.ring_size = r->ring_size,
		.hdr_len = HDR_LEN,
		.copy_len_max = copies[rng_below(&r->rng, 3u)],
		.gro_flows = chance(r, 2u) ? 0u : 1u + rng_below(&r->rng, 8u),
		.gro_timeout_ns = chance(r, 2u) ? 0u : 1u + rng_below(&r->rng, 50000u),
		.gro_protos = chance(r, 2u) ? 0u : (1u + rng_below(&r->rng, 7u)) & GRO_KNOWN,
		.gro_flags = gro_flags[rng_below(&r->rng, 6u)],
		.flags = flags[rng_below(&r->rng, 4u)] | VNETRX_RXQ_REMOTE_FREE,
	};
	r->ample = chance(r, 2u);
	if (r->ample)
		cfg->runs_max = 2u * r->ring_size + 512u;
	r->gro_off = (cfg->flags & VNETRX_RXQ_GRO_OFF) != 0u;
	if (chance(r, 4u))
		cfg->headroom = 64u;
	if (chance(r, 4u))
		cfg->buf_len_min = cfg->buf_len_max = 2048u;
	if (chance(r, 4u))
		cfg->run_size = 8192u;
}

void rig_init(struct rig *r, uint64_t seed)
{
	struct vnetrx_rxq_config cfg;
	struct softdev_config soft = { .hdr_len = HDR_LEN };
	struct faulty_config faulty = { .ops = &softdev_ops, .hdr_len = HDR_LEN };
	const char *why = "";
	size_t size;

	memset(r, 0, sizeof(*r));
	r->rng = seed;
	configure(r, &cfg);
	r->need_kick = chance(r, 3u);
	soft.ring_size = faulty.ring_size = cfg.ring_size;
	soft.seed = faulty.seed = rng_next(&r->rng);
	soft.flags = (chance(r, 3u) ? SOFTDEV_SHUFFLE : 0u) | (r->need_kick ? SOFTDEV_NEED_KICK : 0u);
	r->soft = softdev_new(&soft);
	assert_non_null(r->soft);
	faulty.dev = r->soft;
	r->faulty = faulty_new(&faulty);
	assert_non_null(r->faulty);
	tracker_init(&r->tracker, rng_next(&r->rng));
	r->tracker.dev_ops = &faulty_ops;
	r->tracker.dev = r->faulty;
	r->tracker.host_ops = &heap_host_ops;
	r->tracker.host = &r->host;
	r->tracker.taken = keep_early;
	r->tracker.taken_arg = r;
	r->host.show = show;
	r->host.arg = r;
	r->host.keep = true;
	stream_init(&r->stream, rng_next(&r->rng));
	r->stream.big = r->ample && chance(r, 2u);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->wanted, NULL);
	assert_int_equal(pthread_create(&r->thread, NULL, remote_free, r), 0);
	size = vnetrx_rxq_footprint(&cfg, &why);
	if (size == 0u)
		fail_msg("configuration: %s", why);
	r->mem = heap_memory(size);
	assert_non_null(r->mem);
	assert_int_equal(vnetrx_rxq_init(&r->rxq, &cfg, r->mem, size), VNETRX_OK);
	(void)vnetrx_rxq_fill(r->rxq);
}

void rig_reset(struct rig *r)
{
	unsigned had = tracker_reset(&r->tracker);

	softdev_reset(r->soft);
	faulty_reset(r->faulty);
	assert_int_equal(vnetrx_rxq_reclaim(r->rxq), had);
	(void)vnetrx_rxq_fill(r->rxq);
	r->lost = 0;
}

void rig_fini(struct rig *r)
{
	struct vnetrx_rxq_stats stats;

	rig_balance(r);
	(void)heap_release(&r->host, r->host.kept.count);
	await_remote(r);
	(void)vnetrx_rxq_expire(r->rxq, 1u, r->now);
	(void)heap_release(&r->host, r->host.kept.count);
	vnetrx_rxq_read_stats(r->rxq, &stats);
	assert_int_equal(stats.pool.pkts_used, 0);
	assert_int_equal(stats.pool.pinned_bytes, 0);
	if (r->tracker.out_num != 0u)
		assert_int_equal(vnetrx_rxq_fini(r->rxq), VNETRX_ERR_BUSY);
	(void)tracker_reset(&r->tracker);
	(void)vnetrx_rxq_reclaim(r->rxq);
	assert_int_equal(vnetrx_rxq_fini(r->rxq), VNETRX_OK);
	assert_int_equal(r->host.pages_out, 0);
	tracker_fini(&r->tracker);
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_broadcast(&r->wanted);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	pthread_cond_destroy(&r->wanted);
	pthread_mutex_destroy(&r->lock);
	faulty_free(r->faulty);
	softdev_free(r->soft);
	free(r->mem);
}

/* ---- running ---- */

static void send_frames(struct rig *r, unsigned n)
{
	while (n-- > 0u) {
		stream_next(&r->stream);
		if (softdev_send(r->soft, r->stream.frame, r->stream.len, &r->stream.meta) == 0)
			r->lost = 0;
		else
			r->lost++;
	}
}

static void poll_some(struct rig *r)
{
	unsigned budget = 1u + rng_below(&r->rng, 64u);

	r->now += rng_below(&r->rng, 2u) * rng_below(&r->rng, 100000u);
	(void)vnetrx_rxq_poll(r->rxq, budget, r->now);
	if (chance(r, 2u) && !vnetrx_rxq_complete(r->rxq, r->now))
		(void)vnetrx_rxq_poll(r->rxq, budget, r->now);
	if (chance(r, 8u) && vnetrx_rxq_deadline(r->rxq) != VNETRX_NEVER) {
		vnetrx_ns deadline = vnetrx_rxq_deadline(r->rxq);

		r->now = deadline > r->now ? deadline : r->now;
		(void)vnetrx_rxq_expire(r->rxq, budget, r->now);
	}
	if (chance(r, 64u))
		vnetrx_rxq_flush(r->rxq);
}

void rig_step(struct rig *r)
{
	send_frames(r, 1u + rng_below(&r->rng, 64u));
	poll_some(r);
	if (chance(r, 4u)) {
		r->host.limited = chance(r, 2u);
		r->host.take_max = rng_below(&r->rng, 3u) * rng_below(&r->rng, 32u);
	}
	if (chance(r, 2u))
		release_some(r);
	if (vnetrx_rxq_state(r->rxq) == VNETRX_RXQ_BROKEN || r->lost > 1000u || chance(r, 1000u))
		rig_reset(r);
}

/* Polls until the device has nothing more and the engine holds nothing. */
static void drain(struct rig *r)
{
	struct vnetrx_rxq_stats stats;
	unsigned tries;

	r->host.limited = false;
	for (tries = 0; tries < TRIES_MAX; tries++) {
		if (vnetrx_rxq_state(r->rxq) == VNETRX_RXQ_BROKEN)
			rig_reset(r);
		if (vnetrx_rxq_poll(r->rxq, 64u, r->now) != 0u)
			continue;
		if (softdev_waiting(r->soft) == 0u)
			break;
		(void)heap_release(&r->host, 1u); /* the host may have all descriptors */
		await_remote(r);
	}
	assert_true(tries < TRIES_MAX);
	vnetrx_rxq_flush(r->rxq);
	await_remote(r);
	(void)vnetrx_rxq_expire(r->rxq, 1u, r->now);
	vnetrx_rxq_read_stats(r->rxq, &stats);
	assert_int_equal(stats.queue.waiting, 0);
	assert_int_equal(stats.gro.held, 0);
}

static uint64_t links(const struct vnetrx_pktq *q)
{
	const struct vnetrx_pkt *pkt;
	uint64_t n = 0;

	for (pkt = q->first; pkt != NULL; pkt = pkt->next)
		n += pkt->nfrags;
	return n;
}

void rig_balance(struct rig *r)
{
	struct vnetrx_rxq_stats s;
	const struct tracker *t = &r->tracker;
	uint64_t to_gro;

	drain(r);
	vnetrx_rxq_read_stats(r->rxq, &s);
	/* every buffer and descriptor is in exactly one place */
	assert_int_equal(s.pool.bufs_lent, t->out_num);
	assert_int_equal(s.queue.posted, t->posted);
	assert_int_equal(s.queue.completions, t->completions);
	assert_int_equal(s.merge.drop_bad_id, t->bad_ids);
	assert_int_equal(s.queue.posted, t->completions - t->bad_ids + s.queue.reclaimed + t->out_num);
	assert_int_equal(s.pool.pkts_used, links(&r->host.kept));
	assert_int_equal(s.pool.run_bytes, r->host.bytes_out);
	assert_int_equal(s.pool.runs, r->host.pages_out);
	assert_int_equal(s.pool.run_allocs - s.pool.run_frees, s.pool.runs);
	/* every packet went exactly one way */
	assert_int_equal(s.queue.early_dropped, t->early_dropped);
	assert_int_equal(s.queue.early_taken, t->early_taken);
	assert_int_equal(s.gro.pkts, s.gro.held_new + s.gro.joined + s.gro.passed);
	assert_int_equal(s.gro.out, s.gro.held_new + s.gro.passed);
	to_gro = s.merge.pkts - t->early_dropped - t->early_taken;
	assert_int_equal(s.gro.pkts, r->gro_off ? 0u : to_gro);
	assert_int_equal(s.queue.delivered, r->gro_off ? to_gro : s.gro.out);
	assert_int_equal(s.queue.delivered, r->host.pkts);
	assert_int_equal(s.queue.delivered_bytes, r->host.bytes);
	assert_int_equal(s.queue.delivered_segs, r->host.segs + r->uncounted);
}

/* All buffers are posted. With the default bound they may, after drops and buffers used out of order, lie scattered
 * over all runs that the queue may own; then fewer must do until those have come round. */
static bool ring_is_full(const struct rig *r, unsigned posted)
{
	return posted == r->ring_size || (!r->ample && posted != 0u);
}

void rig_prove_good(struct rig *r, unsigned n)
{
	bool was_spoiling = r->tracker.running;
	uint32_t page_fail_ppm = r->tracker.page_fail_ppm;
	uint32_t early_ppm = r->tracker.early_ppm;
	unsigned tries = 0;

	tracker_spoil(&r->tracker, false);
	faulty_quiet(r->faulty, true);
	r->tracker.page_fail_ppm = r->tracker.early_ppm = 0;
	drain(r);
	(void)heap_release(&r->host, r->host.kept.count);
	await_remote(r);
	if (r->need_kick || faulty_hidden(r->faulty) != 0u || chance(r, 2u))
		rig_reset(r);
	assert_true(ring_is_full(r, vnetrx_rxq_fill(r->rxq)));
	stream_sync(&r->stream);
	r->checking = true;
	while (n > 0u && tries++ < TRIES_MAX) {
		unsigned burst = n < 16u ? n : 16u;

		for (; burst > 0u; burst--, n--) {
			stream_next(&r->stream);
			while (softdev_send(r->soft, r->stream.frame, r->stream.len, &r->stream.meta) != 0 &&
			       tries++ < TRIES_MAX)
				(void)vnetrx_rxq_poll(r->rxq, 64u, r->now);
		}
		poll_some(r);
		(void)heap_release(&r->host, r->host.kept.count);
	}
	drain(r);
	assert_true(stream_complete(&r->stream));
	r->checking = false;
	assert_true(ring_is_full(r, r->tracker.out_num));
	assert_int_equal(vnetrx_rxq_state(r->rxq),
	                 r->tracker.out_num == r->ring_size ? VNETRX_RXQ_RUNNING : VNETRX_RXQ_SHORT);
	faulty_quiet(r->faulty, false);
	r->tracker.page_fail_ppm = page_fail_ppm;
	r->tracker.early_ppm = early_ppm;
	tracker_spoil(&r->tracker, was_spoiling);
}
