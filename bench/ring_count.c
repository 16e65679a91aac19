/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes buffers through a virtqueue, or packets through a transmit queue, and says how many: for programs that count
 * instructions, see count.sh. The functions of the library are what counts; the device's side is not.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "ring_pair.h"
#include "vnetrx/txq.h"

#define RING   256u
#define BURST  32u
#define ROUNDS 500u
#define LEN    1024u
#define ROOM   64u

static uint8_t frames[BURST][ROOM + LEN];

static void device_uses(struct softring *dev)
{
	struct softring_chain chain;
	struct softring_seg segs[4];

	for (unsigned i = 0; i < BURST; i++) {
		if (softring_take(dev, &chain, segs, 4) != 1)
			bench_die("the device found too little");
		softring_put(dev, &chain, 60);
	}
	(void)softring_interrupt(dev);
}

static void receive(struct bench *b, uint32_t flags)
{
	struct vnetrx_buf bufs[BURST];
	struct vnetrx_done done[BURST];
	struct ring_pair pair;

	ring_pair_open(&pair, b, RING, flags, 2);
	for (unsigned r = 0; r < ROUNDS; r++) {
		for (unsigned i = 0; i < BURST; i++)
			bufs[i] = (struct vnetrx_buf){ frames[i], (uintptr_t)frames[i], LEN, i };
		if (vnetrx_virtq_add_bufs(pair.vq, bufs, BURST) != BURST)
			bench_die("no room in the ring");
		(void)!vnetrx_virtq_kick_needed(pair.vq);
		device_uses(pair.dev);
		if (vnetrx_virtq_reap(pair.vq, done, BURST) != (int)BURST)
			bench_die("buffers were lost");
	}
	ring_pair_close(&pair);
}

static void give_back(void *arg, void *const *cookies, unsigned n, uint32_t flags)
{
	(void)cookies;
	(void)flags;
	*(unsigned *)arg += n;
}

static void send_round(struct vnetrx_txq *txq, struct softring *dev)
{
	for (unsigned i = 0; i < BURST; i++) {
		const struct vnetrx_virtq_seg seg = { .dma = (uintptr_t)(frames[i] + ROOM), .len = LEN };
		const struct vnetrx_tx_pkt pkt = {
			.segs = &seg, .cookie = frames[i], .head = frames[i] + ROOM, .headroom = ROOM, .nsegs = 1
		};

		if (vnetrx_txq_add(txq, &pkt) != VNETRX_OK)
			bench_die("a packet was refused");
	}
	vnetrx_txq_kick(txq);
	device_uses(dev);
	if (vnetrx_txq_poll(txq, RING) != BURST)
		bench_die("packets did not come back");
}

static void transmit(struct bench *b, uint32_t flags)
{
	static const struct vnetrx_tx_ops ops = { .done = give_back };
	unsigned back = 0;
	struct vnetrx_txq_config cfg = { .ops = &ops, .host = &back, .hdr_len = 12, .segs_max = 2,
		                         .flags = VNETRX_TXQ_ANY_LAYOUT };
	struct vnetrx_txq *txq;
	struct ring_pair pair;
	size_t size;
	void *mem;

	ring_pair_open(&pair, b, RING, flags, 3);
	cfg.vq = pair.vq;
	size = vnetrx_txq_footprint(&cfg, NULL);
	mem = bench_alloc(b, size);
	cfg.hdrs = bench_alloc(b, vnetrx_txq_hdr_bytes(&cfg));
	cfg.hdrs_dma = (uintptr_t)cfg.hdrs;
	if (vnetrx_txq_init(&txq, &cfg, mem, size) != VNETRX_OK)
		bench_die("vnetrx_txq_init");
	for (unsigned r = 0; r < ROUNDS; r++)
		send_round(txq, pair.dev);
	bench_free(cfg.hdrs, vnetrx_txq_hdr_bytes(&cfg));
	bench_free(mem, size);
	ring_pair_close(&pair);
}

int main(int argc, char **argv)
{
	char *options[] = { argv[0], "--small-pages", "--json", NULL };
	uint32_t flags = VNETRX_VIRTQ_EVENT_IDX;
	struct bench b;

	if (argc != 3) {
		fprintf(stderr, "usage: %s rx|tx split|packed\n", argv[0]);
		return 1;
	}
	if (strcmp(argv[2], "packed") == 0)
		flags |= VNETRX_VIRTQ_PACKED;
	bench_init(&b, 3, options, "ring_count", "");
	if (strcmp(argv[1], "rx") == 0)
		receive(&b, flags);
	else
		transmit(&b, flags);
	printf("\npackets %u\n", ROUNDS * BURST);
	return 0;
}
