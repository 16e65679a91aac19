/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pool and merge alone, ns per buffer: lending, taking back, making packets of completions, freeing them.
 *
 * Everything is hot: 256 buffers lent, batches of 64. "get, put" lends recycled buffers; the other rows carve new ones,
 * as the buffers of packets that go up are carved. The device header is the 12 bytes of virtio-net, decoded.
 */
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "bench.h"
#include "vnetrx.h"

#define HDR_LEN 12u
#define RING    256u
#define BATCH   64u
#define ROUNDS  256u

enum kind { GET_PUT, MTU, SMALL_COPIED, SMALL_KEPT, LONG_JOINED, LONG_APART, KINDS };

static const struct {
	const char *name;
	uint32_t    nbufs;    /* of each packet              */
	uint32_t    last_len; /* written to the last buffer  */
	uint16_t    copy;
	uint32_t    flags;
} kinds[KINDS] = {
	[GET_PUT]      = { "get, put", 1, 0, 0, 0 },
	[MTU]          = { "1514 bytes", 1, 1526, 0, 0 },
	[SMALL_COPIED] = { "60 bytes, copied", 1, 72, 0, 0 },
	[SMALL_KEPT]   = { "60 bytes, not copied", 1, 72, 0xffff, 0 },
	[LONG_JOINED]  = { "16 buffers, joined", 16, 1000, 0, 0 },
	[LONG_APART]   = { "16 buffers, apart", 16, 1000, 0, VNETRX_MERGE_NO_COALESCE },
};

struct merge_bench {
	struct arena         arena;
	struct bench        *b;
	enum kind            kind;
	struct vnetrx_pool  *pool;
	struct vnetrx_merge *merge;
	void                *mem[2];
	size_t               size[2];
	struct vnetrx_buf    bufs[RING];  /* lent, a ring */
	uint32_t             head;
};

static int decode(void *dev, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	(void)dev;
	return vnetrx_virtio_net_decode(head, len, HDR_LEN, VNETRX_VIRTIO_MRG_RXBUF, meta);
}

static unsigned deliver(void *host, struct vnetrx_pkt *const *pkts, unsigned n)
{
	(void)host;
	(void)pkts;
	return n;
}

static void lend(struct merge_bench *m, struct vnetrx_buf *bufs)
{
	if (vnetrx_pool_get(m->pool, 1536, bufs, BATCH) != BATCH)
		bench_die("the pool ran out of buffers");
}

static uint64_t get_put(struct merge_bench *m)
{
	uint32_t ids[BATCH];
	uint64_t ticks;
	uint32_t i;

	for (i = 0; i < BATCH; i++)
		ids[i] = m->bufs[i].id;
	ticks = bench_ticks();
	(void)vnetrx_pool_put(m->pool, ids, BATCH);
	lend(m, m->bufs);
	return bench_ticks() - ticks;
}

/* What the device writes: headers, and for each buffer what it has used of it. */
static void write_batch(struct merge_bench *m, struct vnetrx_done *done)
{
	static const uint8_t hdr[HDR_LEN] = { 0 };
	uint32_t nbufs = kinds[m->kind].nbufs;
	uint32_t i;

	for (i = 0; i < BATCH; i++) {
		const struct vnetrx_buf *buf = &m->bufs[m->head + i];

		if (i % nbufs == 0) {
			memcpy(buf->addr, hdr, HDR_LEN);
			((uint8_t *)buf->addr)[10] = (uint8_t)nbufs;
		}
		done[i] = (struct vnetrx_done){ .id = buf->id, .len = buf->len };
		if (i % nbufs == nbufs - 1)
			done[i].len = kinds[m->kind].last_len;
	}
}

static uint64_t merge_free(struct merge_bench *m)
{
	struct vnetrx_done done[BATCH];
	struct vnetrx_pkt *pkts[BATCH];
	uint64_t ticks;
	unsigned n;

	write_batch(m, done);
	ticks = bench_ticks();
	n = vnetrx_merge_add(m->merge, done, BATCH, pkts);
	vnetrx_pkt_free(pkts, n);
	lend(m, m->bufs + m->head);
	ticks = bench_ticks() - ticks;
	if (n != BATCH / kinds[m->kind].nbufs)
		bench_die("packets were lost");
	m->head = (m->head + BATCH) % RING;
	return ticks;
}

static double merge_repeat(void *arg)
{
	struct merge_bench *m = arg;
	uint64_t ticks = 0;
	uint32_t i;

	for (i = 0; i < ROUNDS; i++)
		ticks += m->kind == GET_PUT ? get_put(m) : merge_free(m);
	return bench_elapsed(m->b, ticks, ROUNDS) / ((double)ROUNDS * BATCH);
}

static void set_up(struct merge_bench *m)
{
	static const struct vnetrx_dev_ops dev_ops = { .decode = decode };
	static const struct vnetrx_host_ops host_ops = {
		.page_alloc = arena_page_alloc, .page_free = arena_page_free, .deliver = deliver
	};
	const struct vnetrx_pool_config pool = { .host_ops = &host_ops, .host = &m->arena, .bufs_max = RING };
	struct vnetrx_merge_config merge = {
		.dev_ops = &dev_ops, .nbufs_max = RING, .hdr_len = HDR_LEN,
		.copy_len_max = kinds[m->kind].copy, .flags = kinds[m->kind].flags,
	};
	uint32_t i;

	arena_init(&m->arena, m->b);
	m->head = 0;
	m->size[0] = vnetrx_pool_footprint(&pool, NULL);
	m->mem[0] = bench_alloc(m->b, m->size[0]);
	if (vnetrx_pool_init(&m->pool, &pool, m->mem[0], m->size[0]) != VNETRX_OK)
		bench_die("vnetrx_pool_init");
	merge.pool = m->pool;
	m->size[1] = vnetrx_merge_footprint(&merge, NULL);
	m->mem[1] = bench_alloc(m->b, m->size[1]);
	if (vnetrx_merge_init(&m->merge, &merge, m->mem[1], m->size[1]) != VNETRX_OK)
		bench_die("vnetrx_merge_init");
	for (i = 0; i < RING; i += BATCH)
		lend(m, m->bufs + i);
}

static void tear_down(struct merge_bench *m)
{
	(void)vnetrx_pool_reclaim(m->pool);
	if (vnetrx_pool_fini(m->pool) != VNETRX_OK || m->arena.nfree != ARENA_RUNS)
		bench_die("memory was not given back");
	bench_free(m->mem[0], m->size[0]);
	bench_free(m->mem[1], m->size[1]);
}

int main(int argc, char **argv)
{
	static const char *const cols[] = { "ns/buffer", BENCH_STAT_COLS };
	static struct merge_bench m;
	struct bench_stat stat;
	struct bench b;
	unsigned kind;

	bench_init(&b, argc, argv, "bench_merge",
	           "pool and merge alone: ns per buffer from completion to freed and lent again");
	m.b = &b;
	bench_table(&b, cols, sizeof(cols) / sizeof(cols[0]));
	for (kind = 0; kind < KINDS; kind++) {
		if (!bench_wanted(&b, kinds[kind].name))
			continue;
		m.kind = (enum kind)kind;
		set_up(&m);
		bench_run(&b, merge_repeat, &m, &stat);
		bench_text(&b, kinds[kind].name);
		bench_stat_cells(&b, &stat);
		bench_row_end(&b);
		tear_down(&m);
	}
	return bench_fini(&b);
}
