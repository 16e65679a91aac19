/* SPDX-License-Identifier: BSD-3-Clause */
#include "heap.h"

#include <stdlib.h>

#define BATCH 64u

static void *page_alloc(void *arg, size_t size, uint64_t *dma)
{
	struct heap_host *host = arg;
	void *page = NULL;

	host->allocs++;
	if (host->allocs != host->fail_at && (host->fail_from == 0u || host->allocs < host->fail_from))
		page = aligned_alloc(size, size);
	if (page == NULL) {
		host->alloc_fails++;
		return NULL;
	}
	host->pages_out++;
	host->bytes_out += size;
	*dma = (uintptr_t)page;
	return page;
}

static void page_free(void *arg, void *page, size_t size, uint64_t dma)
{
	struct heap_host *host = arg;

	(void)dma;
	host->pages_out--;
	host->bytes_out -= size;
	free(page);
}

static void count(struct heap_host *host, const struct vnetrx_pkt *pkt)
{
	host->pkts++;
	host->segs += pkt->segs;
	host->bytes += pkt->len;
	host->frags += pkt->nfrags;
	host->truesize += pkt->truesize;
}

static unsigned deliver(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct heap_host *host = arg;
	unsigned i;

	host->offers++;
	if (host->limited && n > host->take_max)
		n = host->take_max;
	if (n == 0u)
		return 0u;
	for (i = 0u; i < n; i++)
		count(host, pkts[i]);
	if (host->show != NULL)
		host->show(host->arg, pkts, n);
	if (host->keep) {
		for (i = 0u; i < n; i++)
			vnetrx_pktq_add(&host->kept, pkts[i]);
	} else {
		vnetrx_pkt_free(pkts, n);
	}
	return n;
}

static void timer_set(void *arg, vnetrx_ns deadline)
{
	struct heap_host *host = arg;

	host->timer_sets++;
	host->deadline = deadline;
}

static void wake(void *arg)
{
	struct heap_host *host = arg;

	atomic_fetch_add(&host->wakes, 1u);
}

const struct vnetrx_host_ops heap_host_ops = {
	.page_alloc = page_alloc,
	.page_free = page_free,
	.deliver = deliver,
	.timer_set = timer_set,
	.wake = wake,
};

unsigned heap_release(struct heap_host *host, unsigned n)
{
	struct vnetrx_pkt *batch[BATCH];
	unsigned done = 0u;

	while (done < n && host->kept.count > 0u) {
		unsigned k = 0u;

		while (k < BATCH && done + k < n && host->kept.count > 0u)
			batch[k++] = vnetrx_pktq_take(&host->kept);
		vnetrx_pkt_free(batch, k);
		done += k;
	}
	return done;
}

void *heap_memory(size_t size)
{
	return aligned_alloc(64u, (size + 63u) / 64u * 64u);
}
