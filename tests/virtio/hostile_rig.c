/* SPDX-License-Identifier: BSD-3-Clause */
#include "hostile_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rng.h"

#define HDR_LEN     12u
#define FRAME_MAX   4000u
#define NUMBER_OFF  14u  /* behind the Ethernet header, whose type is that of local experiments */
#define STARVED_MAX 200u
#define POLLS_MAX   10000u

static bool chance(struct hostile_rig *r, uint32_t one_in)
{
	return rng_below(&r->rng, one_in) == 0u;
}

/* ---- frames ---- */

static uint32_t frame_len(uint32_t number)
{
	return 60u + number * 37u % (FRAME_MAX - 59u);
}

static uint8_t frame_byte(uint32_t number, uint32_t i)
{
	static const uint8_t eth[NUMBER_OFF] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5 };

	if (i < NUMBER_OFF)
		return eth[i];
	return i < NUMBER_OFF + 4u ? (uint8_t)(number >> 8u * (i - NUMBER_OFF)) : (uint8_t)(number + i * 7u);
}

static void check_frame(struct hostile_rig *r, const struct vnetrx_pkt *pkt)
{
	static uint8_t bytes[FRAME_MAX];

	assert_int_equal(pkt->len, frame_len(r->expect));
	assert_int_equal(vnetrx_pkt_copy(pkt, 0, bytes, pkt->len), pkt->len);
	for (uint32_t i = 0; i < pkt->len; i++)
		assert_int_equal(bytes[i], frame_byte(r->expect, i));
	r->expect++;
}

static void show(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct hostile_rig *r = arg;

	for (unsigned i = 0; i < n && r->checking; i++)
		check_frame(r, pkts[i]);
}

/* ---- set-up ---- */

/* What an IOMMU lets through: the ring, and the buffers that the device has now. */
static void *map(void *arg, uint64_t dma, uint32_t len)
{
	struct hostile_rig *r = arg;
	const struct ring_pair *ring = &r->ring;

	if (dma >= ring->cfg.ring_dma && dma - ring->cfg.ring_dma < ring->ring_bytes)
		return len <= ring->ring_bytes - (dma - ring->cfg.ring_dma) ? (void *)(uintptr_t)dma : NULL;
	for (unsigned i = 0; i < r->tracker.out_num; i++) {
		const struct vnetrx_buf *buf = &r->tracker.out[i];

		if (dma >= buf->dma && dma - buf->dma < buf->len && len <= buf->len - (dma - buf->dma))
			return (void *)(uintptr_t)dma;
	}
	return NULL;
}

static void open_device(struct hostile_rig *r)
{
	struct softring_config cfg = { .size = r->ring.cfg.size };
	struct vnetrx_virtq_areas areas;

	/* Buffers of one segment have no tables: it does not look for them in buffers that nobody has written yet. */
	cfg.flags = r->ring.cfg.flags & ~SOFTRING_INDIRECT;
	vnetrx_virtq_read_areas(r->ring.vq, &areas);
	cfg.desc = areas.desc;
	cfg.driver = areas.driver;
	cfg.device = areas.device;
	cfg.map = map;
	cfg.map_arg = r;
	softring_free(r->ring.dev);
	r->ring.dev = softring_new(&cfg);
	assert_non_null(r->ring.dev);
	r->faulty = faulty_ring_new(r->ring.dev, r->rng);
	assert_non_null(r->faulty);
}

static void open_queue(struct hostile_rig *r)
{
	struct vnetrx_rxq_config cfg = {
		.dev_ops = &tracker_dev_ops, .host_ops = &tracker_host_ops, .dev = &r->tracker, .host = &r->tracker,
		.hash_key = { 1, 2 },
		.ring_size = r->rx.bufs_max,
		.hdr_len = HDR_LEN,
		.frame_len_max = FRAME_MAX,
		.runs_max = 2u * r->rx.bufs_max + 512u,
		.copy_len_max = chance(r, 2) ? 0u : 0xffffu,
		.flags = chance(r, 2) ? VNETRX_RXQ_GRO_OFF : 0u,
	};
	const char *why = "";
	size_t size;

	if (chance(r, 2))
		cfg.buf_len_min = cfg.buf_len_max = 512u + 512u * rng_below(&r->rng, 4);
	size = vnetrx_rxq_footprint(&cfg, &why);
	if (size == 0u)
		fail_msg("configuration: %s", why);
	r->mem = heap_memory(size);
	assert_non_null(r->mem);
	assert_int_equal(vnetrx_rxq_init(&r->rxq, &cfg, r->mem, size), VNETRX_OK);
	assert_int_equal(vnetrx_rxq_fill(r->rxq), r->rx.bufs_max);
}

void hostile_rig_open(struct hostile_rig *r, uint32_t flags, uint64_t seed)
{
	struct vnetrx_virtio_rx_config rx = { .hdr_len = HDR_LEN, .features = VNETRX_VIRTIO_MRG_RXBUF };
	bool packed = (flags & VNETRX_VIRTQ_PACKED) != 0u;

	memset(r, 0, sizeof(*r));
	r->rng = seed;
	ring_pair_open(&r->ring, packed ? 40u + rng_below(&r->rng, 250) : 64u << rng_below(&r->rng, 3), flags, 1);
	rx.vq = r->ring.vq;
	assert_int_equal(vnetrx_virtio_rx_init(&r->rx, &rx), VNETRX_OK);
	tracker_init(&r->tracker, rng_next(&r->rng));
	r->tracker.dev_ops = &vnetrx_virtio_rx_ops;
	r->tracker.dev = &r->rx;
	r->tracker.host_ops = &heap_host_ops;
	r->tracker.host = &r->host;
	r->host.show = show;
	r->host.arg = r;
	open_device(r);
	open_queue(r);
}

void hostile_rig_close(struct hostile_rig *r)
{
	hostile_rig_balance(r);
	if (r->tracker.out_num != 0u)
		assert_int_equal(vnetrx_rxq_fini(r->rxq), VNETRX_ERR_BUSY);
	(void)tracker_reset(&r->tracker);
	(void)vnetrx_rxq_reclaim(r->rxq);
	assert_int_equal(vnetrx_rxq_fini(r->rxq), VNETRX_OK);
	assert_int_equal(r->host.pages_out, 0);
	tracker_fini(&r->tracker);
	faulty_ring_free(r->faulty);
	ring_pair_close(&r->ring);
	free(r->mem);
}

/* ---- the device ---- */

/* Buffers for so many bytes, the oldest that it holds; 0 = there are none. */
static unsigned gather(struct hostile_rig *r, uint32_t need)
{
	uint32_t room = 0;
	unsigned n = 0;

	while (room < need) {
		struct hostile_held *h = &r->held[n];

		if (n == HOSTILE_HELD)
			return 0;
		if (n == r->held_num) {
			int got = faulty_ring_take(r->faulty, &h->chain, &h->seg, 1);

			r->stuck = got < 0;
			if (got <= 0)
				return 0;
			r->held_num++;
		}
		room += h->seg.len;
		n++;
	}
	return n;
}

static void complete(struct hostile_rig *r, struct hostile_held *h, const uint8_t *bytes, uint32_t len)
{
	bool mine = h->chain.in == 1u && map(r, (uintptr_t)h->seg.addr, h->seg.len) != NULL;

	if (mine)
		(void)softring_write(&h->seg, 1, 0, bytes, len);
	else
		h->chain.in = h->chain.out = 0; /* given back under another id meanwhile: no longer its to write to */
	faulty_ring_put(r->faulty, &h->chain, &h->seg, len);
}

static bool send(struct hostile_rig *r)
{
	static uint8_t bytes[HDR_LEN + FRAME_MAX];
	uint32_t len = HDR_LEN + frame_len(r->sent), off = 0;
	unsigned n = gather(r, len);

	if (n == 0u)
		return false;
	memset(bytes, 0, HDR_LEN);
	bytes[10] = (uint8_t)n;
	for (uint32_t i = 0; i < len - HDR_LEN; i++)
		bytes[HDR_LEN + i] = frame_byte(r->sent, i);
	for (unsigned i = 0; i < n; i++) {
		uint32_t part = r->held[i].seg.len < len - off ? r->held[i].seg.len : len - off;

		complete(r, &r->held[i], bytes + off, part);
		off += part;
	}
	r->held_num -= n;
	memmove(r->held, r->held + n, r->held_num * sizeof(r->held[0]));
	(void)softring_interrupt(r->ring.dev);
	r->sent++;
	return true;
}

/* Device reset; then the driver's side, the queue, and buffers again. */
static void reset(struct hostile_rig *r)
{
	unsigned had = tracker_reset(&r->tracker);
	enum vnetrx_rxq_state state;

	r->resets++;
	r->broken += vnetrx_rxq_state(r->rxq) == VNETRX_RXQ_BROKEN ? 1u : 0u;
	r->held_num = 0;
	r->stuck = false;
	r->starved = 0;
	ring_pair_reset_device(&r->ring);
	faulty_ring_reset(r->faulty);
	vnetrx_virtq_reset(r->ring.vq);
	assert_int_equal(vnetrx_rxq_reclaim(r->rxq), had);
	assert_int_equal(vnetrx_rxq_fill(r->rxq), r->rx.bufs_max);
	state = vnetrx_rxq_state(r->rxq);
	assert_true(state == VNETRX_RXQ_RUNNING || state == VNETRX_RXQ_STARVED); /* the host may keep all packets */
}

/* ---- running ---- */

void hostile_rig_step(struct hostile_rig *r)
{
	for (unsigned n = 1u + rng_below(&r->rng, 32); n > 0u && !r->stuck; n--)
		r->starved = send(r) ? 0u : r->starved + 1u;
	r->now += rng_below(&r->rng, 100000);
	(void)vnetrx_rxq_poll(r->rxq, 1u + rng_below(&r->rng, 64), r->now);
	if (chance(r, 2) && !vnetrx_rxq_complete(r->rxq, r->now))
		(void)vnetrx_rxq_poll(r->rxq, 64, r->now);
	if (chance(r, 16))
		r->host.keep = !r->host.keep;
	if (chance(r, 2))
		(void)heap_release(&r->host, rng_below(&r->rng, 40));
	assert_int_equal(vnetrx_virtq_outstanding(r->ring.vq), r->tracker.out_num);
	if (vnetrx_rxq_state(r->rxq) == VNETRX_RXQ_BROKEN || r->stuck || r->starved > STARVED_MAX || chance(r, 1000))
		reset(r);
}

static void drain(struct hostile_rig *r)
{
	unsigned polls = 0;

	r->host.keep = false;
	do {
		assert_true(polls++ < POLLS_MAX);
		(void)heap_release(&r->host, UINT32_MAX);
		if (vnetrx_rxq_state(r->rxq) == VNETRX_RXQ_BROKEN)
			reset(r);
	} while (vnetrx_rxq_poll(r->rxq, 64, r->now) != 0u || !vnetrx_rxq_complete(r->rxq, r->now));
	vnetrx_rxq_flush(r->rxq);
}

void hostile_rig_balance(struct hostile_rig *r)
{
	const struct tracker *t = &r->tracker;
	struct vnetrx_rxq_stats s;

	drain(r);
	vnetrx_rxq_read_stats(r->rxq, &s);
	assert_int_equal(t->bad_ids, 0); /* what the ring lets through was lent */
	assert_int_equal(s.merge.drop_bad_id, 0);
	assert_int_equal(s.pool.bufs_lent, t->out_num);
	assert_int_equal(s.queue.posted, t->posted);
	assert_int_equal(s.queue.completions, t->completions);
	assert_int_equal(s.queue.posted, t->completions + s.queue.reclaimed + t->out_num);
	assert_int_equal(s.pool.pkts_used, 0);
	assert_int_equal(s.pool.runs, r->host.pages_out);
	assert_int_equal(s.queue.delivered, r->host.pkts);
	assert_int_equal(s.queue.delivered_bytes, r->host.bytes);
}

void hostile_rig_prove_good(struct hostile_rig *r, unsigned n)
{
	bool was_spoiling = r->tracker.running;

	tracker_spoil(&r->tracker, false);
	faulty_ring_set_all(r->faulty, 0);
	drain(r);
	reset(r);
	r->checking = true;
	r->expect = r->sent;
	while (n-- > 0u) {
		assert_true(send(r));
		if (n % 4u == 0u)
			drain(r);
	}
	drain(r);
	assert_int_equal(r->expect, r->sent);
	assert_int_equal(r->tracker.out_num, r->rx.bufs_max);
	r->checking = false;
	tracker_spoil(&r->tracker, was_spoiling);
}
