/* SPDX-License-Identifier: BSD-3-Clause */
#include "rig.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gro_rig.h"

/* A thread that frees packets. */
struct freer {
	pthread_t         thread;
	pthread_mutex_t   lock;
	pthread_cond_t    more;
	struct vnetrx_pktq queue;
	bool              stop;
};

static void *freer_main(void *arg)
{
	struct freer *freer = arg;
	struct vnetrx_pkt *pkt;

	pthread_mutex_lock(&freer->lock);
	for (;;) {
		pkt = vnetrx_pktq_take(&freer->queue);
		if (pkt != NULL) {
			pthread_mutex_unlock(&freer->lock);
			vnetrx_pkt_free_remote(&pkt, 1);
			pthread_mutex_lock(&freer->lock);
		} else if (freer->stop) {
			break;
		} else {
			pthread_cond_wait(&freer->more, &freer->lock);
		}
	}
	pthread_mutex_unlock(&freer->lock);
	return NULL;
}

static struct freer *freer_new(void)
{
	struct freer *freer = calloc(1, sizeof(*freer));

	assert_non_null(freer);
	assert_int_equal(pthread_mutex_init(&freer->lock, NULL), 0);
	assert_int_equal(pthread_cond_init(&freer->more, NULL), 0);
	assert_int_equal(pthread_create(&freer->thread, NULL, freer_main, freer), 0);
	return freer;
}

static void freer_free(struct freer *freer)
{
	pthread_mutex_lock(&freer->lock);
	freer->stop = true;
	pthread_cond_signal(&freer->more);
	pthread_mutex_unlock(&freer->lock);
	assert_int_equal(pthread_join(freer->thread, NULL), 0);
	pthread_cond_destroy(&freer->more);
	pthread_mutex_destroy(&freer->lock);
	free(freer);
}

static void show(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct rxq_rig *rig = arg;

	for (unsigned i = 0; i < n; i++) {
		struct law_pkt law = law_pkt_of(pkts[i], rig->scratch);
		const char *why = rig->lawless ? NULL : laws_out(rig->laws, &law, NULL);

		if (why != NULL)
			fail_msg("%s", why);
		rig->segs += pkts[i]->segs;
		assert_true(pkts[i]->truesize >= pkts[i]->len);
		assert_true(pkts[i]->seen_first <= pkts[i]->seen_last);
	}
}

static void complete_config(struct vnetrx_rxq_config *cfg, struct rxq_rig *rig)
{
	static const struct vnetrx_host_ops *const host_ops = &heap_host_ops;

	if (cfg->dev_ops == NULL) {
		cfg->dev_ops = &softdev_ops;
		cfg->dev = rig->dev;
	}
	if (cfg->host_ops == NULL) {
		cfg->host_ops = host_ops;
		cfg->host = &rig->host;
	}
	if (cfg->hash_key[0] == 0u && cfg->hash_key[1] == 0u)
		cfg->hash_key[0] = 0x0123456789abcdefu;
	if (cfg->ring_size == 0u)
		cfg->ring_size = 64;
	if (cfg->hdr_len == 0u)
		cfg->hdr_len = 12;
	if (cfg->pkts_max == 0u)
		cfg->pkts_max = 40000;
	if (cfg->runs_max == 0u)
		cfg->runs_max = 20000;
}

void rxq_rig_open(struct rxq_rig *rig, const struct vnetrx_rxq_config *cfg, const struct softdev_config *dev)
{
	struct softdev_config dev_cfg = dev != NULL ? *dev : (struct softdev_config){ .ring_size = 0 };
	const char *why = "";
	size_t size;

	memset(rig, 0, sizeof(*rig));
	rig->cfg = *cfg;
	if (dev_cfg.hdr_len == 0u)
		dev_cfg.hdr_len = rig->cfg.hdr_len;
	if (dev_cfg.ring_size == 0u)
		dev_cfg.ring_size = rig->cfg.ring_size != 0u ? rig->cfg.ring_size : 64u;
	rig->dev = softdev_new(&dev_cfg);
	assert_non_null(rig->dev);
	complete_config(&rig->cfg, rig);
	rig->host.show = show;
	rig->host.arg = rig;
	rig->laws = laws_new();
	rig->scratch = malloc(1u << 20);
	assert_non_null(rig->scratch);
	size = vnetrx_rxq_footprint(&rig->cfg, &why);
	if (size == 0u)
		fail_msg("%s", why);
	rig->mem = heap_memory(size);
	assert_non_null(rig->mem);
	memset(rig->mem, 0xa5, size);
	assert_int_equal(vnetrx_rxq_init(&rig->rxq, &rig->cfg, rig->mem, size), VNETRX_OK);
	if ((rig->cfg.flags & VNETRX_RXQ_REMOTE_FREE) != 0u)
		rig->freer = freer_new();
}

bool rxq_rig_send(struct rxq_rig *rig, const uint8_t *bytes, size_t len, const struct vnetrx_meta *meta)
{
	struct law_pkt law = { .bytes = bytes, .len = len };

	if (softdev_send(rig->dev, bytes, (uint32_t)len, meta) != 0)
		return false;
	rig->sent++;
	if (meta != NULL) {
		law.flags = ((meta->flags & VNETRX_PKT_CSUM_OK) != 0u ? LAW_CSUM_OK : 0u) |
		            ((meta->flags & VNETRX_PKT_PARTIAL) != 0u ? LAW_PARTIAL : 0u);
		law.gso_size = meta->gso_size;
	}
	laws_in(rig->laws, &law);
	return true;
}

bool rxq_rig_next(struct rxq_rig *rig, struct frame *f)
{
	uint8_t *bytes = malloc(FRAME_MAX);
	size_t len;
	bool fits;

	assert_non_null(bytes);
	len = frame_build(f, bytes);
	fits = rxq_rig_send(rig, bytes, len, NULL);
	free(bytes);
	if (fits) {
		f->seq += f->payload_len;
		f->id++;
	}
	return fits;
}

void rxq_rig_drain(struct rxq_rig *rig)
{
	unsigned rounds = 0;

	do {
		while (vnetrx_rxq_poll(rig->rxq, 64, rig->now) == 64u)
			rounds++;
		assert_true(rounds++ < 10000u);
	} while (!vnetrx_rxq_complete(rig->rxq, rig->now) && softdev_waiting(rig->dev) > 0u &&
	         vnetrx_rxq_state(rig->rxq) != VNETRX_RXQ_STALLED);
}

void rxq_rig_release(struct rxq_rig *rig, unsigned n)
{
	struct vnetrx_pkt *pkt;

	if (rig->freer == NULL) {
		heap_release(&rig->host, n);
		return;
	}
	pthread_mutex_lock(&rig->freer->lock);
	while (n-- > 0u && (pkt = vnetrx_pktq_take(&rig->host.kept)) != NULL)
		vnetrx_pktq_add(&rig->freer->queue, pkt);
	pthread_cond_signal(&rig->freer->more);
	pthread_mutex_unlock(&rig->freer->lock);
}

struct vnetrx_rxq_stats rxq_rig_stats(const struct rxq_rig *rig)
{
	struct vnetrx_rxq_stats s;

	vnetrx_rxq_read_stats(rig->rxq, &s);
	return s;
}

static uint64_t drops(const struct vnetrx_merge_stats *m)
{
	return m->drop_error + m->drop_short + m->drop_long + m->drop_nbufs + m->drop_missing + m->drop_decode +
	       m->drop_meta + m->drop_frame_long + m->drop_no_pkt;
}

/* Law 4: nothing is lost that is not counted. */
static void check_balance(const struct rxq_rig *rig)
{
	struct vnetrx_rxq_stats s = rxq_rig_stats(rig);

	assert_true(rig->sent == s.merge.pkts + drops(&s.merge));
	assert_true(s.merge.pkts == s.gro.pkts + s.queue.early_dropped + s.queue.early_taken ||
	            (rig->cfg.flags & VNETRX_RXQ_GRO_OFF) != 0u);
	assert_true(s.gro.held == 0u);
	assert_true(s.queue.waiting == 0u);
	assert_true(s.queue.delivered == rig->host.pkts);
	assert_true(s.queue.delivered_segs == rig->segs);
	assert_true(s.pool.bufs_lent == 0u);
	assert_true(s.pool.pkts_used == 0u);
	assert_true(s.pool.pinned_bytes == 0u);
	if (!rig->lawless) {
		assert_int_equal(laws_missing(rig->laws), 0);
		assert_true(drops(&s.merge) == 0u);
	}
}

void rxq_rig_close(struct rxq_rig *rig)
{
	rig->host.limited = false;
	rxq_rig_drain(rig);
	vnetrx_rxq_flush(rig->rxq);
	rxq_rig_release(rig, UINT32_MAX);
	if (rig->freer != NULL)
		freer_free(rig->freer);
	(void)vnetrx_rxq_poll(rig->rxq, 0, rig->now); /* takes up what the other thread freed */
	softdev_reset(rig->dev);
	(void)vnetrx_rxq_reclaim(rig->rxq);
	check_balance(rig);
	assert_int_equal(vnetrx_rxq_fini(rig->rxq), VNETRX_OK);
	assert_true(rig->host.pages_out == 0u);
	assert_true(rig->host.bytes_out == 0u);
	laws_free(rig->laws);
	free(rig->scratch);
	softdev_free(rig->dev);
	free(rig->mem);
}
