/* SPDX-License-Identifier: BSD-3-Clause */
#include "buf_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buf/pool.h"
#include "vnetrx/virtio_net.h"

static int rig_decode(void *dev, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	struct buf_rig *rig = dev;

	int             err = VNETRX_OK;

	if (rig->meta != NULL)
		*meta = *rig->meta;
	else
		err = vnetrx_virtio_net_decode(head, len, RIG_HDR, VNETRX_VIRTIO_MRG_RXBUF, meta);
	return rig->refuse != 0 ? rig->refuse : err;
}

static void rig_sync(void *dev, void *addr, uint64_t dma, uint32_t len)
{
	struct buf_rig *rig = dev;

	assert_true(dma == (uint64_t)(uintptr_t)addr + TEST_HOST_DMA);
	rig->synced_bytes += len;
	rig->synced_from = addr;
}

static const struct vnetrx_dev_ops rig_dev_ops = {
	.decode = rig_decode,
	.sync_cpu = rig_sync,
};

void rig_pool(struct buf_rig *rig, const struct vnetrx_pool_config *cfg)
{
	rig_pool_of(rig, cfg, &test_host_ops);
}

void rig_pool_of(struct buf_rig *rig, const struct vnetrx_pool_config *cfg, const struct vnetrx_host_ops *ops)
{
	struct vnetrx_pool_config full = *cfg;
	const char *why = "";
	size_t      n;

	memset(rig, 0, sizeof(*rig));
	full.host_ops = ops;
	full.host = &rig->host;
	n = vnetrx_pool_footprint(&full, &why);
	assert_null(why);
	assert_true(n > 0u);
	rig->pool_mem = test_mem(n);
	assert_int_equal(vnetrx_pool_init(&rig->pool, &full, rig->pool_mem, n), VNETRX_OK);
	assert_int_equal(rig->host.calls, 0);
}

void rig_merge(struct buf_rig *rig, const struct vnetrx_merge_config *cfg)
{
	struct vnetrx_merge_config full = *cfg;
	const char *why = "";
	size_t      n;

	full.dev_ops = &rig_dev_ops;
	full.dev = rig;
	full.pool = rig->pool;
	full.hdr_len = RIG_HDR;
	if (full.nbufs_max == 0u)
		full.nbufs_max = 64;
	n = vnetrx_merge_footprint(&full, &why);
	assert_null(why);
	rig->merge_mem = test_mem(n);
	assert_int_equal(vnetrx_merge_init(&rig->merge, &full, rig->merge_mem, n), VNETRX_OK);
}

static void check_counters(const struct buf_rig *rig)
{
	struct vnetrx_pool_stats s = rig_pool_stats(rig);

	assert_int_equal(s.carved, s.claimed + s.bufs_lent + s.bufs_recycled);
	assert_int_equal(s.run_allocs - s.run_frees, s.runs);
	assert_int_equal(s.runs, rig->host.pages);
	assert_int_equal(s.run_bytes, rig->host.bytes);
	if (s.pkts_used == 0u)
		assert_int_equal(s.pinned_bytes, 0);
}

void rig_close(struct buf_rig *rig)
{
	assert_true(vnrx_pool_valid(rig->pool));
	if (rig->merge != NULL)
		vnetrx_merge_end(rig->merge);
	(void)vnetrx_pool_reclaim(rig->pool);
	(void)vnetrx_pool_collect(rig->pool);
	assert_true(vnrx_pool_valid(rig->pool));
	check_counters(rig);
	assert_int_equal(vnetrx_pool_fini(rig->pool), VNETRX_OK);
	assert_int_equal(rig->host.pages, 0);
	assert_int_equal(rig->host.bytes, 0);
	assert_int_equal(rig->host.errors, 0);
	free(rig->pool_mem);
	free(rig->merge_mem);
}

void rig_lend(struct buf_rig *rig, uint32_t len, unsigned n)
{
	struct vnetrx_buf bufs[RIG_BUFS];
	unsigned          i;

	assert_true(rig->lent + n <= RIG_BUFS);
	assert_int_equal(vnetrx_pool_get(rig->pool, len, bufs, n), n);
	for (i = 0; i < n; i++) {
		assert_true(bufs[i].id < RIG_BUFS);
		rig->bufs[bufs[i].id] = bufs[i];
		rig->order[rig->lent++] = bufs[i].id;
	}
}

struct vnetrx_buf *rig_buf(struct buf_rig *rig, unsigned k)
{
	assert_true(k < rig->lent);
	return &rig->bufs[rig->order[k]];
}

uint8_t *rig_hdr(struct buf_rig *rig, unsigned k, unsigned nbufs)
{
	uint8_t *h = rig_buf(rig, k)->addr;

	memset(h, 0, RIG_HDR);
	h[10] = (uint8_t)nbufs;
	h[11] = (uint8_t)(nbufs >> 8);
	return h;
}

struct vnetrx_done rig_done(struct buf_rig *rig, unsigned k, uint32_t len)
{
	return (struct vnetrx_done){ .id = rig_buf(rig, k)->id, .len = len };
}

unsigned rig_add(struct buf_rig *rig, const struct vnetrx_done *done, unsigned n, struct vnetrx_pkt **out)
{
	unsigned k = vnetrx_merge_add(rig->merge, done, n, out);
	unsigned i;

	assert_true(vnrx_pool_valid(rig->pool));
	for (i = 0; i < k; i++) {
		const struct vnetrx_pkt *pkt;
		uint32_t len = 0, frags = 0;

		for (pkt = out[i]; pkt != NULL; pkt = pkt->chain) {
			len += pkt->frag_len;
			frags++;
		}
		assert_int_equal(len, out[i]->len);
		assert_int_equal(frags, out[i]->nfrags);
	}
	return k;
}

static uint8_t pattern(unsigned i, unsigned seed)
{
	return (uint8_t)(i * 7u + i / 251u + seed * 13u + 1u);
}

void rig_pattern(uint8_t *p, unsigned n, unsigned seed)
{
	unsigned i;

	for (i = 0; i < n; i++)
		p[i] = pattern(i, seed);
}

int rig_has_pattern(const struct vnetrx_pkt *pkt, uint32_t off, unsigned n, unsigned seed)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		uint8_t byte;

		if (vnetrx_pkt_copy(pkt, off + i, &byte, 1) != 1u || byte != pattern(i, seed))
			return 0;
	}
	return 1;
}

struct vnetrx_pool_stats rig_pool_stats(const struct buf_rig *rig)
{
	struct vnetrx_pool_stats s;

	vnetrx_pool_read_stats(rig->pool, &s);
	return s;
}

struct vnetrx_merge_stats rig_merge_stats(const struct buf_rig *rig)
{
	struct vnetrx_merge_stats s;

	vnetrx_merge_read_stats(rig->merge, &s);
	return s;
}

void rig_needs_carving(void)
{
#ifdef VNRX_POOL_DEBUG
	skip();
#endif
}
