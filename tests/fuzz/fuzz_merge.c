/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input: a configuration, then a script of what a lying device and a failing host do. Whatever is said, packets consist
 * of bytes of buffers that the device gave back, everything is accounted for, and all memory returns.
 */
#include <string.h>

#include "fuzz.h"
#include "vnetrx/merge.h"
#include "vnetrx/virtio_net.h"

#define RING      32u
#define BATCH     16u
#define PAGES_MAX 64u
#define KEPT_MAX  64u
#define HDR_LEN   12u

struct page {
	uint8_t *addr;
	size_t   size;
};

struct run {
	struct fuzz_input    in;
	struct vnetrx_pool  *pool;
	struct vnetrx_merge *merge;
	void                *pool_mem;
	void                *merge_mem;
	struct vnetrx_buf    out[RING];       /* at the device */
	unsigned             nout;
	struct page          pages[PAGES_MAX];
	unsigned             npages;
	struct vnetrx_pkt   *kept[KEPT_MAX];  /* at the host */
	unsigned             nkept;
	uint32_t             buf_len;
	uint32_t             frame_len_max;
	uint64_t             pkts;
	uint64_t             bad_ids;
	bool                 no_pages;
};

/* ---- host ---- */

static void *page_alloc(void *arg, size_t size, uint64_t *dma)
{
	struct run *r = arg;
	void *page;

	if (r->no_pages || r->npages == PAGES_MAX)
		return NULL;
	page = aligned_alloc(size, size);
	FUZZ_CHECK(page != NULL);
	r->pages[r->npages++] = (struct page){ page, size };
	*dma = (uintptr_t)page;
	return page;
}

static void page_free(void *arg, void *addr, size_t size, uint64_t dma)
{
	struct run *r = arg;
	unsigned i;

	for (i = 0; i < r->npages && r->pages[i].addr != addr; i++)
		;
	FUZZ_CHECK(i < r->npages && r->pages[i].size == size && dma == (uintptr_t)addr);
	r->pages[i] = r->pages[--r->npages];
	free(addr);
}

static unsigned deliver(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	(void)arg;
	(void)pkts;
	return n;
}

static int decode(void *arg, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	(void)arg;
	return vnetrx_virtio_net_decode(head, len, HDR_LEN, VNETRX_VIRTIO_MRG_RXBUF | VNETRX_VIRTIO_RSC_EXT, meta);
}

static const struct vnetrx_host_ops host_ops = { .page_alloc = page_alloc, .page_free = page_free, .deliver = deliver };

static const struct vnetrx_dev_ops dev_ops = { .decode = decode };

/* ---- packets ---- */

static bool in_page(const struct run *r, const uint8_t *data, size_t len)
{
	unsigned i;

	for (i = 0; i < r->npages; i++)
		if (data >= r->pages[i].addr && data + len <= r->pages[i].addr + r->pages[i].size)
			return true;
	return false;
}

static void check_pkt(const struct run *r, const struct vnetrx_pkt *pkt)
{
	static volatile uint8_t sink;
	const struct vnetrx_pkt *frag;
	uint32_t len = 0;
	unsigned links = 0;

	for (frag = pkt; frag != NULL; frag = frag->chain, links++) {
		unsigned i;

		FUZZ_CHECK(frag->frag_len != 0u && in_page(r, frag->data, frag->frag_len));
		for (i = 0; i < r->nout; i++)
			FUZZ_CHECK(frag->data + frag->frag_len <= (uint8_t *)r->out[i].addr ||
			           frag->data >= (uint8_t *)r->out[i].addr + r->out[i].len);
		for (i = 0; i < frag->frag_len; i++)
			sink = (uint8_t)(sink + frag->data[i]);
		len += frag->frag_len;
	}
	FUZZ_CHECK(pkt->len == len && pkt->nfrags == links && pkt->nbufs >= 1u && pkt->nbufs <= RING);
	FUZZ_CHECK(len >= 14u && len <= r->frame_len_max && pkt->truesize >= len);
	FUZZ_CHECK((pkt->flags & VNETRX_PKT_PARTIAL) == 0u || pkt->csum_start + pkt->csum_offset + 2u <= len);
}

static void keep(struct run *r, struct vnetrx_pkt **pkts, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		check_pkt(r, pkts[i]);
		if (r->nkept == KEPT_MAX) {
			vnetrx_pkt_free(r->kept, KEPT_MAX);
			r->nkept = 0;
		}
		r->kept[r->nkept++] = pkts[i];
	}
	r->pkts += n;
}

/* ---- the script ---- */

static void post(struct run *r)
{
	unsigned want = 1u + fuzz_below(&r->in, RING);
	unsigned i;

	if (want > RING - r->nout)
		want = RING - r->nout;
	want = vnetrx_pool_get(r->pool, r->buf_len, r->out + r->nout, want);
	for (i = 0; i < want; i++) {
		const struct vnetrx_buf *buf = &r->out[r->nout + i];

		FUZZ_CHECK(buf->len >= r->buf_len && in_page(r, buf->addr, buf->len));
		memset(buf->addr, 0, buf->len);
	}
	r->nout += want;
}

/* What a device may say: mostly the truth about the oldest buffer. */
static struct vnetrx_done completion(struct run *r)
{
	struct vnetrx_done done = { .id = 0 };
	uint8_t how = fuzz_u8(&r->in);
	struct vnetrx_buf buf;
	unsigned i;

	if (r->nout == 0u || how >= 250u) {
		done.id = fuzz_u32(&r->in);
		done.len = fuzz_u16(&r->in);
		for (i = 0; i < r->nout && r->out[i].id != done.id; i++)
			;
		if (i < r->nout)
			r->out[i] = r->out[--r->nout];
		else
			r->bad_ids++;
		return done;
	}
	i = how % 4u == 3u ? fuzz_below(&r->in, r->nout) : 0u;
	buf = r->out[i];
	memmove(r->out + i, r->out + i + 1u, (r->nout - i - 1u) * sizeof(buf));
	r->nout--;
	done.id = buf.id;
	done.len = buf.len;
	if (how % 16u >= 8u)
		done.len = fuzz_u16(&r->in);
	if (how % 64u >= 48u)
		done.off = fuzz_u8(&r->in);
	if (how >= 240u)
		done.flags = fuzz_u8(&r->in);
	((uint8_t *)buf.addr)[10] = how / 64u == 1u ? fuzz_u8(&r->in) : 1u;
	if (how / 64u == 2u)
		for (i = 0; i < HDR_LEN; i++)
			((uint8_t *)buf.addr)[i] = fuzz_u8(&r->in);
	return done;
}

static void complete(struct run *r)
{
	struct vnetrx_done *done;
	struct vnetrx_pkt **pkts;
	unsigned n = 1u + fuzz_below(&r->in, BATCH);
	unsigned i, got;

	done = malloc(n * sizeof(*done));
	pkts = malloc(n * sizeof(struct vnetrx_pkt *));
	FUZZ_CHECK(done != NULL && pkts != NULL);
	for (i = 0; i < n; i++)
		done[i] = completion(r);
	got = vnetrx_merge_add(r->merge, done, n, pkts);
	FUZZ_CHECK(got <= n);
	keep(r, pkts, got);
	free(done);
	free(pkts);
}

static void step(struct run *r)
{
	unsigned n;

	switch (fuzz_below(&r->in, 8)) {
	case 0: case 1: case 2:
		complete(r);
		break;
	case 3:
		vnetrx_merge_end(r->merge);
		break;
	case 4:
		n = fuzz_below(&r->in, r->nkept + 1u);
		vnetrx_pkt_free(r->kept + r->nkept - n, n);
		r->nkept -= n;
		break;
	case 5:
		r->no_pages = fuzz_below(&r->in, 2) != 0u;
		break;
	default:
		post(r);
		break;
	}
}

/* ---- beginning and end ---- */

static void *memory(size_t size)
{
	void *mem = aligned_alloc(64, (size + 63u) / 64u * 64u);

	FUZZ_CHECK(size != 0u && mem != NULL);
	return mem;
}

static void start(struct run *r)
{
	static const uint16_t copies[] = { 0, 60, 0xffff, 1500 };
	struct vnetrx_pool_config pool = { .host_ops = &host_ops, .host = r, .bufs_max = RING, .run_size = 4096,
	                                   .buf_len_max = 2048 };
	struct vnetrx_merge_config merge = { .dev_ops = &dev_ops, .nbufs_max = RING, .hdr_len = HDR_LEN };
	uint8_t how = fuzz_u8(&r->in);
	size_t size;

	r->buf_len = 128u + fuzz_u8(&r->in) * 4u;
	pool.headroom = how % 2u * 32u;
	pool.flags = how / 2u % 2u != 0u ? VNETRX_POOL_FIXED : 0u;
	pool.pkts_max = how / 4u % 2u != 0u ? 8u : 0u;
	size = vnetrx_pool_footprint(&pool, NULL);
	r->pool_mem = memory(size);
	FUZZ_CHECK(vnetrx_pool_init(&r->pool, &pool, r->pool_mem, size) == VNETRX_OK);
	merge.pool = r->pool;
	merge.copy_len_max = copies[how / 8u % 4u];
	merge.flags = how / 32u % 2u != 0u ? VNETRX_MERGE_NO_COALESCE : 0u;
	merge.frame_len_max = r->frame_len_max = how / 64u % 2u != 0u ? 1514u : 65589u;
	size = vnetrx_merge_footprint(&merge, NULL);
	r->merge_mem = memory(size);
	FUZZ_CHECK(vnetrx_merge_init(&r->merge, &merge, r->merge_mem, size) == VNETRX_OK);
}

static void finish(struct run *r)
{
	struct vnetrx_pool_stats pool;
	struct vnetrx_merge_stats merge;
	unsigned i, had = r->nout;

	vnetrx_merge_end(r->merge);
	for (i = 0; i < r->nkept; i++)
		check_pkt(r, r->kept[i]); /* still whole after all that came later */
	vnetrx_merge_read_stats(r->merge, &merge);
	vnetrx_pool_read_stats(r->pool, &pool);
	FUZZ_CHECK(merge.pkts == r->pkts && merge.drop_bad_id == r->bad_ids);
	FUZZ_CHECK(pool.bufs_lent == had);
	FUZZ_CHECK(pool.runs == r->npages);
	vnetrx_pkt_free(r->kept, r->nkept);
	r->nout = 0;
	FUZZ_CHECK(had == 0u || vnetrx_pool_fini(r->pool) == VNETRX_ERR_BUSY);
	FUZZ_CHECK(vnetrx_pool_reclaim(r->pool) == had);
	vnetrx_pool_read_stats(r->pool, &pool);
	FUZZ_CHECK(pool.bufs_lent == 0u && pool.pkts_used == 0u && pool.pinned_bytes == 0u);
	FUZZ_CHECK(vnetrx_pool_fini(r->pool) == VNETRX_OK && r->npages == 0u);
	free(r->pool_mem);
	free(r->merge_mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run r = { .in = { data, size } };

	start(&r);
	while (r.in.left > 0u)
		step(&r);
	finish(&r);
	return 0;
}
