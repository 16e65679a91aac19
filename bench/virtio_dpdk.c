/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's front end. */
#define _GNU_SOURCE /* sched_getcpu() */
#include "virtio_front.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "bench.h"

#define NET_HDR 12u /* lies in the headroom: a buffer holds so many bytes more than its data room */
#define MBUFS   4096u
#define ARGS    13

static struct rte_mempool *pool;

static int start_eal(const struct virtio_task *t, bool huge)
{
	char vdev[256], lcores[32];
	char *args[ARGS] = { "front",
			     "--no-pci",
			     "--no-telemetry",
			     "--log-level=*:error",
			     "--lcores",
			     lcores,
			     "--vdev",
			     vdev,
			     "-m",
			     "64",
			     NULL,
			     NULL };
	int n = 10;

	snprintf(lcores, sizeof(lcores), "0@%d", sched_getcpu());
	snprintf(vdev, sizeof(vdev),
		 "net_virtio_user0,path=%s,queues=1,queue_size=%u,mrg_rxbuf=1,in_order=0,packed_vq=%d,vectorized=0",
		 t->path, VIRTIO_RING, t->packed ? 1 : 0);
	args[n++] = huge ? "--in-memory" : "--no-huge";
	args[n++] = huge ? "--single-file-segments" : "--no-shconf";
	return rte_eal_init(n, args);
}

static int start_port(void)
{
	struct rte_eth_conf conf;

	memset(&conf, 0, sizeof(conf));
	pool = rte_pktmbuf_pool_create("pool", MBUFS, 256, 0, RTE_PKTMBUF_HEADROOM + VIRTIO_BUF - NET_HDR,
				       SOCKET_ID_ANY);
	if (pool == NULL)
		return -1;
	if (rte_eth_dev_configure(0, 1, 1, &conf) != 0 ||
	    rte_eth_rx_queue_setup(0, 0, VIRTIO_RING, (unsigned)SOCKET_ID_ANY, NULL, pool) != 0 ||
	    rte_eth_tx_queue_setup(0, 0, VIRTIO_RING, (unsigned)SOCKET_ID_ANY, NULL) != 0)
		return -1;
	return rte_eth_dev_start(0);
}

static unsigned burst(void *front, uint64_t *bytes, uint64_t *touched)
{
	struct rte_mbuf *mbufs[VIRTIO_BURST];
	unsigned n = rte_eth_rx_burst(0, 0, mbufs, VIRTIO_BURST);
	uint64_t word;
	unsigned i;

	(void)front;
	for (i = 0; i < n; i++) {
		memcpy(&word, rte_pktmbuf_mtod(mbufs[i], const void *), sizeof(word));
		*touched += word;
		*bytes += mbufs[i]->pkt_len;
	}
	if (n != 0u)
		rte_pktmbuf_free_bulk(mbufs, n);
	return n;
}

static bool huge_pages_free(void)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned n = 0;

	if (f == NULL)
		return false;
	if (fscanf(f, "%u", &n) != 1)
		n = 0;
	fclose(f);
	return n >= 40u;
}

int virtio_dpdk(struct bench *b, struct virtio_task *t)
{
	if (start_eal(t, huge_pages_free()) < 0 || rte_eth_dev_count_avail() != 1u || start_port() != 0) {
		fprintf(stderr, "DPDK's front end does not start\n");
		return 1;
	}
	virtio_measure(b, t, burst, NULL);
	rte_eth_dev_stop(0);
	rte_eth_dev_close(0);
	return 0;
}
