/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop around both front ends, and ours. */
#define _GNU_SOURCE /* usleep() */
#include "virtio_front.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "vhost_net.h"

#define CONNECT_TRIES 500u
#define RETRY_US      10000u

/* Runs bursts until `end`; what they did goes into *w. */
static void window(struct bench *b, struct virtio_task *t, virtio_burst burst, void *front, uint64_t end,
		   struct virtio_window *w)
{
	uint64_t from = bench_ns(), first = bench_ticks(), last = first;
	unsigned i;

	*w = (struct virtio_window){ .ns = 0u };
	do {
		for (i = 0; i < 16u; i++) {
			uint64_t start = bench_ticks();
			unsigned n = burst(front, &w->bytes, &t->touched);

			last = bench_ticks();
			if (n == 0u)
				continue;
			w->busy += last - start > b->overhead ? last - start - b->overhead : 0u;
			w->pkts += n;
			w->bursts++;
		}
		w->ns = bench_ns();
	} while (w->ns < end);
	w->ns -= from;
	w->ticks = last - first;
}

void virtio_measure(struct bench *b, struct virtio_task *t, virtio_burst burst, void *front)
{
	struct virtio_window warm;

	window(b, t, burst, front, bench_ns() + VIRTIO_WARM_NS, &warm);
	for (t->n = 0; t->n < t->windows; t->n++)
		window(b, t, burst, front, bench_ns() + VIRTIO_WINDOW_NS, &t->window[t->n]);
}

/* ---- ours ---- */

static struct {
	struct vhost_net net;
	uint64_t bytes; /* of the burst of now */
	uint64_t touched;
} ours;

static unsigned deliver(void *host, struct vnetrx_pkt *const *pkts, unsigned n)
{
	uint64_t word;
	unsigned i;

	(void)host;
	for (i = 0; i < n; i++) {
		memcpy(&word, pkts[i]->data, sizeof(word));
		ours.touched += word;
		ours.bytes += pkts[i]->len;
	}
	vnetrx_pkt_free(pkts, n);
	return n;
}

static unsigned our_burst(void *front, uint64_t *bytes, uint64_t *touched)
{
	unsigned n = vnetrx_rxq_poll(front, VIRTIO_BURST, 0u);

	*bytes += ours.bytes;
	*touched += ours.touched;
	ours.bytes = ours.touched = 0u;
	return n;
}

int virtio_ours(struct bench *b, struct virtio_task *t)
{
	struct vhost_net_config cfg = {
		.path = t->path,
		.wants = vhost_net_wants(VHOST_NET_MRG | (t->packed ? VHOST_NET_PACKED : 0u), 1500u),
		.rx_size = VIRTIO_RING,
		.tx_size = VIRTIO_RING,
		.rxq = { .flags = VNETRX_RXQ_GRO_OFF },
		.deliver = deliver,
	};
	unsigned tries = 0;
	int err;

	if (!t->autosize) {
		cfg.rxq.buf_len_min = cfg.rxq.buf_len_max = VIRTIO_BUF;
		cfg.rxq.copy_len_max = UINT16_MAX; /* off, as DPDK has none */
	}
	err = vhost_net_new(&ours.net, &cfg);
	while (err == 0 && (err = vhost_net_connect(&ours.net, 0u)) == -EAGAIN && tries++ < CONNECT_TRIES) {
		usleep(RETRY_US);
		err = 0;
	}
	if (err != 0) {
		fprintf(stderr, "our front end: %s\n", vhost_user_strerror(err));
		return 1;
	}
	virtio_measure(b, t, our_burst, ours.net.pairs[0].rxq);
	return vhost_net_delete(&ours.net, 0u) ? 0 : 1;
}
