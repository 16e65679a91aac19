/* SPDX-License-Identifier: BSD-3-Clause */
/* Three TCP segments go into a device in this process; the host gets one packet. */
#include <stdio.h>
#include <stdlib.h>

#include "heap.h"
#include "softdev.h"
#include "vnetrx.h"

static void show(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	(void)arg;
	for (unsigned i = 0; i < n; i++)
		printf("%u bytes, %u segments of %u, in %u pieces\n", (unsigned)pkts[i]->len, pkts[i]->segs,
		       pkts[i]->gso_size, pkts[i]->nfrags);
}

/* 10.0.0.1:5001 -> 10.0.0.2:80, 1000 bytes of payload from sequence number `seq` on. */
static const uint8_t *segment(unsigned seq)
{
	static uint8_t frame[1054] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0,
		0x45, 0, 0x04, 0x10, 0, 0, 0x40, 0, 64, 6, 0x22, 0xe6, 10, 0, 0, 1, 10, 0, 0, 2,
		0x13, 0x89, 0, 80, 0, 0, 0, 0, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0,
	};

	for (unsigned i = 54; i < sizeof(frame); i++)
		frame[i] = (uint8_t)(seq + i);
	frame[40] = (uint8_t)(seq / 256);
	frame[41] = (uint8_t)seq;
	return frame;
}

int main(void)
{
	struct heap_host host = { .show = show };
	struct softdev *dev = softdev_new(&(struct softdev_config){ .ring_size = 64 });
	struct vnetrx_rxq_config cfg = { .dev_ops = &softdev_ops, .dev = dev, .host_ops = &heap_host_ops, .host = &host,
	                                 .ring_size = 64, .hdr_len = 12, .hash_key = { 0x5eed, 0xbeef } };
	const char *why = NULL;
	size_t size = dev != NULL ? vnetrx_rxq_footprint(&cfg, &why) : 0;
	void *mem = size != 0 ? heap_memory(size) : NULL;
	struct vnetrx_rxq *rxq;

	if (mem == NULL || vnetrx_rxq_init(&rxq, &cfg, mem, size) != VNETRX_OK) {
		fprintf(stderr, "no queue: %s\n", why != NULL ? why : "out of memory");
		return 1;
	}
	vnetrx_rxq_fill(rxq);
	for (unsigned seq = 0; seq < 3000; seq += 1000)
		softdev_send(dev, segment(seq), 1054, &(struct vnetrx_meta){ .flags = VNETRX_PKT_CSUM_OK });
	vnetrx_rxq_poll(rxq, 64, 0);         /* take what came, at time 0                     */
	while (!vnetrx_rxq_complete(rxq, 0)) /* end of the burst: what was joined is given up */
		vnetrx_rxq_poll(rxq, 64, 0);
	softdev_free(dev);                   /* no device writes to the buffers any more      */
	vnetrx_rxq_reclaim(rxq);
	if (vnetrx_rxq_fini(rxq) == VNETRX_OK)
		free(mem);
	return 0;
}
