/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rx_rig.h"

#define CHAINS_MAX 64u

/* Byte `i` of frame number `n`; the first four are the number. */
static uint8_t frame_byte(uint32_t n, uint32_t i)
{
	return i < 4u ? (uint8_t)(n >> (8u * i)) : (uint8_t)(n * 31u + i * 7u);
}

static void notify(void *arg, uint32_t data)
{
	struct rx_rig *r = arg;

	r->rings++;
	r->ring_data = data;
}

static void show(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	static uint8_t bytes[65536];
	struct rx_rig *r = arg;

	for (unsigned i = 0; i < n; i++) {
		uint32_t number;

		assert_true(pkts[i]->len <= sizeof(bytes));
		assert_int_equal(vnetrx_pkt_copy(pkts[i], 0, bytes, pkts[i]->len), pkts[i]->len);
		number = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
		assert_true(number >= r->came);
		for (uint32_t k = 0; k < pkts[i]->len; k++) {
			if (bytes[k] != frame_byte(number, k))
				fail_msg("frame %u differs at byte %u of %u", number, k, pkts[i]->len);
		}
		r->came++;
	}
}

static void open_queue(struct rx_rig *r)
{
	struct vnetrx_rxq_config cfg = {
		.dev_ops = &vnetrx_virtio_rx_ops,
		.host_ops = &heap_host_ops,
		.dev = &r->rx,
		.host = &r->host,
		.ring_size = r->rx.bufs_max,
		.hdr_len = (uint16_t)r->opt.hdr_len,
		.frame_len_max = r->opt.frame_len_max != 0u ? r->opt.frame_len_max : 1514u,
		.buf_len_min = r->opt.buf_len != 0u ? r->opt.buf_len : 2048u,
		.flags = VNETRX_RXQ_GRO_OFF,
	};
	const char *why = "";
	size_t size;

	cfg.buf_len_max = cfg.buf_len_min;
	size = vnetrx_rxq_footprint(&cfg, &why);
	if (size == 0u)
		fail_msg("configuration: %s", why);
	r->mem = heap_memory(size);
	assert_non_null(r->mem);
	assert_int_equal(vnetrx_rxq_init(&r->rxq, &cfg, r->mem, size), VNETRX_OK);
}

void rx_rig_open(struct rx_rig *r, const struct rx_options *opt)
{
	struct vnetrx_virtio_rx_config cfg = {
		.features = opt->features, .hdr_len = (uint16_t)opt->hdr_len, .queue = 6
	};

	memset(r, 0, sizeof(*r));
	r->opt = *opt;
	r->host.show = show;
	r->host.arg = r;
	ring_pair_open(&r->ring, opt->size, opt->flags, (opt->rx_flags & VNETRX_VIRTIO_RX_SPLIT_HDR) != 0u ? 2u : 1u);
	cfg.vq = r->ring.vq;
	cfg.notify = opt->polled ? NULL : notify;
	cfg.transport = r;
	cfg.flags = opt->rx_flags;
	assert_int_equal(vnetrx_virtio_rx_init(&r->rx, &cfg), VNETRX_OK);
	open_queue(r);
}

void rx_rig_close(struct rx_rig *r)
{
	(void)heap_release(&r->host, UINT32_MAX);
	(void)vnetrx_rxq_reclaim(r->rxq);
	assert_int_equal(vnetrx_rxq_fini(r->rxq), VNETRX_OK);
	assert_true(r->host.pages_out == 0u);
	free(r->mem);
	ring_pair_close(&r->ring);
}

/* As many of the available buffers as `need` bytes take; 0 = there are not so many. */
static unsigned take(struct rx_rig *r, struct softring_chain *chains, struct softring_seg (*segs)[2], uint32_t need)
{
	bool     mrg = (r->opt.features & VNETRX_VIRTIO_MRG_RXBUF) != 0u;
	uint32_t room = 0;
	unsigned n = 0;

	while (room < need && n < (mrg ? CHAINS_MAX : 1u)) {
		int got = softring_take(r->ring.dev, &chains[n], segs[n], 2);

		assert_true(got >= 0);
		if (got == 0)
			return 0;
		assert_int_equal(chains[n].out, 0);
		r->segs_seen = (uint16_t)chains[n].in;
		r->first_seen = segs[n][0].len;
		for (uint32_t i = 0; i < chains[n].in; i++)
			room += segs[n][i].len;
		n++;
	}
	return room >= need ? n : 0u;
}

bool rx_rig_send(struct rx_rig *r, uint32_t len)
{
	static uint8_t bytes[65536 + 32];
	struct softring_chain chains[CHAINS_MAX];
	struct softring_seg segs[CHAINS_MAX][2];
	uint32_t need = r->opt.hdr_len + len, off = 0;
	unsigned n = take(r, chains, segs, need);

	if (n == 0u)
		return false;
	memset(bytes, 0, r->opt.hdr_len);
	if (r->opt.hdr_len >= 12u)
		bytes[10] = (uint8_t)n; /* num_buffers */
	for (uint32_t i = 0; i < len; i++)
		bytes[r->opt.hdr_len + i] = frame_byte(r->sent, i);
	for (unsigned c = 0; c < n; c++) {
		uint32_t put = softring_write(segs[c], chains[c].in, 0, bytes + off, need - off);

		softring_put(r->ring.dev, &chains[c], put);
		off += put;
	}
	assert_int_equal(off, need);
	r->sent++;
	r->irqs += softring_interrupt(r->ring.dev) ? 1u : 0u;
	return true;
}

void rx_rig_drain(struct rx_rig *r)
{
	do {
		r->now += 1000u;
		while (vnetrx_rxq_poll(r->rxq, 64, r->now) > 0u)
			;
	} while (!vnetrx_rxq_complete(r->rxq, r->now));
}
