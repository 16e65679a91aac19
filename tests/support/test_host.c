/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_host.h"

#include <stdlib.h>
#include <string.h>

static void *host_alloc(void *host, size_t size, uint64_t *dma)
{
	struct test_host *h = host;
	void             *page;

	h->calls++;
	if (h->calls == h->fail_at || (h->fail_from != 0u && h->calls >= h->fail_from))
		return NULL;
	if (h->size_max != 0u && size > h->size_max)
		return NULL;
	page = aligned_alloc(size, size);
	if (page == NULL)
		abort();
	h->bytes += size;
	h->pages++;
	*dma = (uint64_t)(uintptr_t)page + TEST_HOST_DMA;
	return page;
}

static void host_free(void *host, void *page, size_t size, uint64_t dma)
{
	struct test_host *h = host;

	if (dma != (uint64_t)(uintptr_t)page + TEST_HOST_DMA || (uintptr_t)page % size != 0u)
		h->errors++;
	memset(page, 0xa5, size); /* whoever still looks sees garbage; and a wrong size is an overrun */
	h->bytes -= size;
	h->pages--;
	free(page);
}

static unsigned host_deliver(void *host, struct vnetrx_pkt *const *pkts, unsigned n)
{
	(void)host;
	(void)pkts;
	(void)n;
	return 0;
}

static void host_wake(void *host)
{
	struct test_host *h = host;

	h->wakes++;
}

const struct vnetrx_host_ops test_host_ops = {
	.page_alloc = host_alloc,
	.page_free = host_free,
	.deliver = host_deliver,
	.wake = host_wake,
};

void *test_mem(size_t n)
{
	void *mem = aligned_alloc(64, (n + 63u) / 64u * 64u);

	if (mem == NULL)
		abort();
	memset(mem, 0x5a, n); /* init must not count on zeros */
	return mem;
}
