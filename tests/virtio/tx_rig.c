/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap.h"
#include "tx_rig.h"

/* Byte `i` of frame number `n`. */
static uint8_t frame_byte(uint32_t n, uint32_t i)
{
	return i < 4u ? (uint8_t)(n >> (8u * i)) : (uint8_t)(n * 13u + i * 5u);
}

/* ---- host ---- */

static void done(void *arg, void *const *cookies, unsigned n, uint32_t flags)
{
	struct tx_rig *r = arg;

	assert_true(n > 0u && n <= 64u);
	assert_int_equal(flags & ~VNETRX_TX_LOST, 0);
	for (unsigned i = 0; i < n; i++) {
		struct tx_host_pkt *pkt = cookies[i];

		assert_true(pkt >= r->pkts && pkt < r->pkts + TX_PKTS);
		assert_true(pkt->out);
		pkt->out = false;
	}
	r->back += n;
	r->lost += (flags & VNETRX_TX_LOST) != 0u ? n : 0u;
	r->done_calls++;
	r->done_most = n > r->done_most ? n : r->done_most;
}

static void resume(void *arg)
{
	struct tx_rig *r = arg;

	r->resumes++;
}

static void notify(void *arg, uint32_t data)
{
	struct tx_rig *r = arg;

	r->rings++;
	r->ring_data = data;
}

static const struct vnetrx_tx_ops ops = { .done = done, .resume = resume, .notify = notify };

static void open_queue(struct tx_rig *r, struct vnetrx_txq_config *cfg)
{
	const char *why = "";
	size_t size = vnetrx_txq_footprint(cfg, &why);

	if (size == 0u)
		fail_msg("configuration: %s", why);
	r->mem = heap_memory(size);
	assert_non_null(r->mem);
	r->hdr_bytes = vnetrx_txq_hdr_bytes(cfg);
	r->hdrs = malloc(r->hdr_bytes);
	assert_non_null(r->hdrs);
	memset(r->hdrs, 0xa5, r->hdr_bytes);
	if (!r->opt.no_hdrs)
		cfg->hdrs = r->hdrs;
	cfg->hdrs_dma = (uintptr_t)r->hdrs;
	assert_int_equal(vnetrx_txq_init(&r->txq, cfg, r->mem, size), VNETRX_OK);
}

struct tx_rig *tx_rig_new(const struct tx_options *opt)
{
	struct tx_rig *r = calloc(1u, sizeof(*r));
	struct vnetrx_txq_config cfg = { .ops = &ops, .host = r, .queue = 3 };

	assert_non_null(r);
	r->opt = *opt;
	if (r->opt.hdr_len == 0u)
		r->opt.hdr_len = 12;
	if (r->opt.segs_max == 0u)
		r->opt.segs_max = 4;
	ring_pair_open_delayed(&r->ring, opt->size, opt->flags, r->opt.segs_max + 1u, opt->delay_num, opt->delay_den);
	cfg.vq = r->ring.vq;
	cfg.hdr_len = (uint16_t)r->opt.hdr_len;
	cfg.segs_max = (uint16_t)r->opt.segs_max;
	cfg.features = opt->features;
	cfg.flags = opt->tx_flags;
	open_queue(r, &cfg);
	return r;
}

unsigned tx_rig_reset(struct tx_rig *r)
{
	unsigned lost;

	ring_pair_reset_device(&r->ring);
	r->got = r->put = 0;
	lost = vnetrx_txq_reset(r->txq);
	r->next = r->taken;
	return lost;
}

void tx_rig_free(struct tx_rig *r)
{
	(void)tx_rig_reset(r);
	assert_int_equal(r->back, r->taken);
	assert_int_equal(vnetrx_txq_outstanding(r->txq), 0);
	for (unsigned i = 0; i < TX_PKTS; i++)
		assert_false(r->pkts[i].out);
	ring_pair_close(&r->ring);
	free(r->hdrs);
	free(r->mem);
	free(r);
}

/* Cuts the frame into pieces. */
static void cut(struct vnetrx_virtq_seg *segs, uint8_t *frame, const struct tx_shape *shape)
{
	uint32_t off = 0;

	for (unsigned i = 0; i < shape->nsegs; i++) {
		uint32_t end = (uint32_t)((uint64_t)shape->len * (i + 1u) / shape->nsegs);

		segs[i] = (struct vnetrx_virtq_seg){ .dma = (uintptr_t)(frame + off), .len = end - off };
		off = end;
	}
}

int tx_rig_add(struct tx_rig *r, const struct tx_shape *shape)
{
	struct tx_host_pkt *pkt = &r->pkts[r->taken % TX_PKTS];
	struct vnetrx_virtq_seg segs[TX_SEGS_MAX + 8u];
	struct vnetrx_tx_pkt tx = shape->ask;
	uint8_t *frame = pkt->mem + TX_HEADROOM;
	int err;

	assert_false(pkt->out); /* TX_PKTS is more than can be out */
	assert_true(shape->len <= TX_LEN_MAX && shape->nsegs <= TX_SEGS_MAX + 8u && shape->headroom <= TX_HEADROOM);
	for (uint32_t i = 0; i < shape->len; i++)
		frame[i] = frame_byte(r->taken, i);
	memset(pkt->mem, 0x5a, TX_HEADROOM);
	cut(segs, frame, shape);
	tx.segs = segs;
	tx.nsegs = (uint16_t)shape->nsegs;
	tx.head = shape->headroom > 0u ? frame : NULL;
	tx.headroom = (uint16_t)shape->headroom;
	tx.cookie = pkt;
	pkt->out = true; /* add may give others back, but not this one */
	err = vnetrx_txq_add(r->txq, &tx);
	if (err == VNETRX_OK) {
		pkt->number = r->taken++;
		return err;
	}
	pkt->out = false;
	for (unsigned i = 0; i < TX_HEADROOM; i++)
		assert_int_equal(pkt->mem[i], 0x5a);
	return err;
}

unsigned tx_rig_fill(struct tx_rig *r, const struct tx_shape *shape)
{
	unsigned n = 0;
	int err;

	while ((err = tx_rig_add(r, shape)) == VNETRX_OK)
		n++;
	assert_int_equal(err, VNETRX_ERR_BUSY);
	vnetrx_txq_kick(r->txq);
	return n;
}

/* ---- device ---- */

static void check_frame(struct tx_rig *r, const struct softring_seg *segs, unsigned n)
{
	static uint8_t bytes[TX_LEN_MAX + 64u];
	uint32_t len = softring_read(segs, n, 0, bytes, sizeof(bytes));

	assert_true(len > r->opt.hdr_len);
	memcpy(r->hdr, bytes, r->opt.hdr_len);
	r->len = len - r->opt.hdr_len;
	for (uint32_t i = 0; i < r->len; i++) {
		if (bytes[r->opt.hdr_len + i] != frame_byte(r->next, i))
			fail_msg("frame %u differs at byte %u of %u", r->next, i, r->len);
	}
	r->next++;
}

unsigned tx_rig_take(struct tx_rig *r, unsigned n)
{
	struct softring_seg segs[TX_SEGS_MAX + 1u];
	unsigned taken = 0;

	while (taken < n) {
		struct softring_chain *chain = &r->held[r->got % TX_PKTS];
		int got = softring_take(r->ring.dev, chain, segs, TX_SEGS_MAX + 1u);

		assert_true(got >= 0);
		if (got == 0)
			break;
		assert_int_equal(chain->in, 0);
		r->segs_seen = chain->out;
		r->first_seen = segs[0].len;
		check_frame(r, segs, chain->out);
		r->got++;
		taken++;
	}
	return taken;
}

unsigned tx_rig_finish(struct tx_rig *r, unsigned n)
{
	unsigned done_num = 0;

	while (done_num < n && r->put != r->got) {
		softring_put(r->ring.dev, &r->held[r->put++ % TX_PKTS], 0);
		r->irqs += softring_interrupt(r->ring.dev) ? 1u : 0u;
		done_num++;
	}
	return done_num;
}

unsigned tx_rig_run(struct tx_rig *r, unsigned n)
{
	(void)tx_rig_take(r, n);
	return tx_rig_finish(r, n);
}

struct vnetrx_txq_stats tx_rig_stats(const struct tx_rig *r)
{
	struct vnetrx_txq_stats stats;

	vnetrx_txq_read_stats(r->txq, &stats);
	return stats;
}
