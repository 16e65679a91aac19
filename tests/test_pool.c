/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration, carving, lending. Runs and the host's pages: test_pool_runs.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buf/pool.h"
#include "support/buf_rig.h"

static void expect_wrong(struct vnetrx_pool_config cfg, const char *field)
{
	struct vnetrx_pool *pool = NULL;
	const char *why = NULL;
	void *mem = test_mem(64);

	assert_int_equal(vnetrx_pool_footprint(&cfg, &why), 0);
	assert_non_null(why);
	assert_int_equal(strncmp(why, field, strlen(field)), 0);
	assert_int_equal(vnetrx_pool_footprint(&cfg, NULL), 0);
	assert_int_equal(vnetrx_pool_init(&pool, &cfg, mem, 64), VNETRX_ERR_INVALID);
	assert_null(pool);
	free(mem);
}

/* A good configuration but for one field, or two. */
#define EXPECT_WRONG2(field, value, other, its_value) \
	do { \
		struct vnetrx_pool_config cfg_ = { .host_ops = &test_host_ops, .bufs_max = 64 }; \
		cfg_.other = (its_value); \
		cfg_.field = (value); \
		expect_wrong(cfg_, #field ":"); \
	} while (0)
#define EXPECT_WRONG(field, value) EXPECT_WRONG2(field, value, host, NULL)

static void a_wrong_configuration_is_refused_with_the_fields_name(void **state)
{
	struct vnetrx_host_ops no_alloc = test_host_ops, no_free = test_host_ops;

	(void)state;
	no_alloc.page_alloc = NULL;
	no_free.page_free = NULL;
	EXPECT_WRONG(host_ops, NULL);
	EXPECT_WRONG(host_ops, &no_alloc);
	EXPECT_WRONG(host_ops, &no_free);
	EXPECT_WRONG(bufs_max, 0);
	EXPECT_WRONG(bufs_max, 32769);
	EXPECT_WRONG(run_size, 512);
	EXPECT_WRONG(run_size, 5000);
	EXPECT_WRONG(run_size, 2097152);
	EXPECT_WRONG(buf_len_max, 32769);
	EXPECT_WRONG2(buf_len_max, 32768, headroom, 1);
	EXPECT_WRONG(buf_len_max, UINT32_MAX);
	EXPECT_WRONG(buf_align, 8);
	EXPECT_WRONG(buf_align, 96);
	EXPECT_WRONG(buf_align, 8192);
	EXPECT_WRONG2(buf_align, 2048, run_size, 1024);
	EXPECT_WRONG(headroom, 32768);
	EXPECT_WRONG(headroom, UINT32_MAX);
	EXPECT_WRONG(runs_max, 65536);
	EXPECT_WRONG(pkts_max, 16777217);
	EXPECT_WRONG(pkt_user_size, 65537);
	EXPECT_WRONG(flags, 4);
}

static void memory_that_is_too_small_or_misaligned_is_refused(void **state)
{
	struct vnetrx_pool_config cfg = { .host_ops = &test_host_ops, .bufs_max = 64 };
	struct vnetrx_pool *pool = NULL;
	size_t   n = vnetrx_pool_footprint(&cfg, NULL);
	uint8_t *mem = test_mem(n + 64u);

	(void)state;
	assert_int_equal(vnetrx_pool_init(&pool, &cfg, mem, n - 1u), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_pool_init(&pool, &cfg, mem, 0), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_pool_init(&pool, &cfg, mem + 32, n), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_pool_init(&pool, &cfg, NULL, n), VNETRX_ERR_NOMEM);
	assert_null(pool);
	assert_int_equal(vnetrx_pool_init(&pool, &cfg, mem, n), VNETRX_OK);
	assert_int_equal(vnetrx_pool_fini(pool), VNETRX_OK);
	free(mem);
}

/* Lends buffers of `len` until a run of `run_size` is cut up and compares their lengths. */
static void expect_cuts(uint32_t run_size, uint32_t len, const uint32_t *lens, unsigned n)
{
	struct buf_rig rig;
	unsigned i;

	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64, .run_size = run_size });
	rig_lend(&rig, len, n);
	assert_int_equal(rig.host.pages, 1);
	for (i = 0; i < n; i++)
		assert_int_equal(rig_buf(&rig, i)->len, lens[i]);
	rig_lend(&rig, len, 1);
	assert_int_equal(rig.host.pages, 2);
	rig_close(&rig);
}

/* The vectors of the Linux driver, without its 16 bytes of bookkeeping in the run. */
static void the_last_buffer_of_a_run_gets_the_hole(void **state)
{
	uint32_t lens[21];
	unsigned i;

	(void)state;
	rig_needs_carving();
	for (i = 0; i < 21; i++)
		lens[i] = i < 20u ? 1536 : 2048;
	expect_cuts(32768, 1536, lens, 21);
	expect_cuts(4096, 1536, (const uint32_t[]){ 1536, 2560 }, 2);
	expect_cuts(4096, 2112, (const uint32_t[]){ 4096 }, 1);
	expect_cuts(4096, 4096, (const uint32_t[]){ 4096 }, 1);
	expect_cuts(4096, 2048, (const uint32_t[]){ 2048, 2048 }, 2);
}

static void a_buffers_truesize_is_what_was_cut_for_it(void **state)
{
	struct buf_rig rig;
	unsigned i;

	(void)state;
	rig_needs_carving();
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64, .headroom = 100 });
	rig_lend(&rig, 1536, 20);
	for (i = 0; i < 18; i++)
		assert_int_equal(rig.pool->slots[rig.order[i]].truesize, 128 + 1536);
	assert_int_equal(rig.pool->slots[rig.order[18]].truesize, 32768 - 18 * (128 + 1536));
	assert_int_equal(rig_buf(&rig, 18)->len, 32768 - 18 * (128 + 1536) - 128);
	rig_close(&rig);
}

static void a_fixed_length_leaves_the_hole_but_bills_it(void **state)
{
	struct buf_rig rig;
	unsigned i;

	(void)state;
	rig_needs_carving();
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64, .flags = VNETRX_POOL_FIXED });
	rig_lend(&rig, 1536, 42);
	for (i = 0; i < 42; i++) {
		assert_int_equal(rig_buf(&rig, i)->len, 1536);
		assert_int_equal(rig.pool->slots[rig.order[i]].truesize, i % 21u == 20u ? 2048 : 1536);
	}
	assert_int_equal(rig_pool_stats(&rig).carved_bytes, 2 * 32768);
	rig_close(&rig);
}

/* What a longer length leaves behind in a run is the cost of the buffer it went past. */
static void a_rest_that_is_given_up_is_billed_to_the_next_buffer(void **state)
{
	struct buf_rig rig;

	(void)state;
	rig_needs_carving();
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64, .run_size = 8192 });
	rig_lend(&rig, 2048, 3);
	rig_lend(&rig, 4096, 2);
	assert_int_equal(rig_buf(&rig, 3)->len, 4096);
	assert_int_equal(rig.pool->slots[rig.order[3]].truesize, 2048 + 4096);
	assert_int_equal(rig.pool->slots[rig.order[4]].truesize, 4096);
	assert_int_equal(rig_pool_stats(&rig).carved_bytes, 2 * 8192);
	rig_close(&rig);
}

static void buffers_follow_each_other_without_a_gap(void **state)
{
	struct buf_rig rig;
	unsigned i;

	(void)state;
	rig_needs_carving();
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64 });
	rig_lend(&rig, 1500, 21);
	for (i = 1; i < 21; i++) {
		struct vnetrx_buf *a = rig_buf(&rig, i - 1u), *b = rig_buf(&rig, i);

		assert_ptr_equal((uint8_t *)a->addr + a->len, b->addr);
	}
	rig_close(&rig);
}

/* No two buffers share a byte, headroom included, and each is as long and as aligned as promised. */
static void check_apart(const struct buf_rig *rig, uint32_t len, uint32_t align, uint32_t headroom)
{
	unsigned i, j;

	for (i = 0; i < rig->lent; i++) {
		const struct vnetrx_buf *a = &rig->bufs[rig->order[i]];

		assert_true(a->len >= len && a->len % align == 0u);
		assert_int_equal((uintptr_t)a->addr % align, 0);
		assert_true(a->dma == (uint64_t)(uintptr_t)a->addr + TEST_HOST_DMA);
		/* a sanitizer knows where the pages end */
		memset((uint8_t *)a->addr - headroom, (int)i, headroom + a->len);
	}
	for (i = 0; i < rig->lent; i++) {
		const struct vnetrx_buf *a = &rig->bufs[rig->order[i]];
		const uint8_t *from = (const uint8_t *)a->addr - headroom;

		for (j = 0; j < headroom + a->len; j += 15u)
			assert_int_equal(from[j], i);
	}
}

static void buffers_are_apart_and_aligned_for_every_configuration(void **state)
{
	static const uint32_t lens[] = { 1, 63, 64, 65, 700, 1536, 2048, 4000, 4096 };
	static const uint32_t heads[] = { 0, 1, 64, 200 };
	uint32_t align;
	unsigned l, h;

	(void)state;
	for (align = 16; align <= 4096u; align *= 4u) {
		for (l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
			for (h = 0; h < sizeof(heads) / sizeof(heads[0]); h++) {
				struct buf_rig rig;

				rig_pool(&rig, &(struct vnetrx_pool_config){
				        .bufs_max = 40, .run_size = 16384, .buf_align = align, .headroom = heads[h] });
				rig_lend(&rig, lens[l], 40);
				check_apart(&rig, lens[l], align, heads[h]);
				rig_close(&rig);
			}
		}
	}
}

static void no_more_than_bufs_max_are_lent(void **state)
{
	struct buf_rig rig;
	struct vnetrx_buf bufs[70];

	(void)state;
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64 });
	assert_int_equal(vnetrx_pool_get(rig.pool, 1536, bufs, 70), 64);
	assert_int_equal(vnetrx_pool_get(rig.pool, 1536, bufs, 1), 0);
	assert_int_equal(rig_pool_stats(&rig).bufs_lent, 64);
	assert_int_equal(rig_pool_stats(&rig).run_fails, 0);
	rig_close(&rig);
}

static void asking_for_nothing_gives_nothing(void **state)
{
	struct buf_rig rig;

	(void)state;
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64 });
	assert_int_equal(vnetrx_pool_get(rig.pool, 1536, NULL, 0), 0);
	assert_int_equal(vnetrx_pool_put(rig.pool, NULL, 0), 0);
	assert_int_equal(rig.host.calls, 0);
	rig_close(&rig);
}

static void assert_same_buf(const struct vnetrx_buf *a, const struct vnetrx_buf *b)
{
	assert_ptr_equal(a->addr, b->addr);
	assert_int_equal(a->dma, b->dma);
	assert_int_equal(a->len, b->len);
	assert_int_equal(a->id, b->id);
}

static void recycled_buffers_go_out_first_as_they_are(void **state)
{
	struct buf_rig rig;
	struct vnetrx_buf bufs[5];
	uint32_t ids[3];
	unsigned i;

	(void)state;
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64 });
	rig_lend(&rig, 1536, 6);
	for (i = 0; i < 3; i++)
		ids[i] = rig.order[2u * i];
	assert_int_equal(vnetrx_pool_put(rig.pool, ids, 3), 3);
	assert_int_equal(rig_pool_stats(&rig).bufs_recycled, 3);
	assert_int_equal(vnetrx_pool_get(rig.pool, 4096, bufs, 5), 5);
	for (i = 0; i < 3; i++)
		assert_same_buf(&bufs[i], &rig.bufs[ids[i]]);
	assert_int_equal(bufs[3].len, 4096);
	assert_int_equal(rig_pool_stats(&rig).carved, 8);
	assert_int_equal(rig_pool_stats(&rig).put_back, 3);
	rig_close(&rig);
}

static void ids_that_are_not_lent_are_ignored(void **state)
{
	struct buf_rig rig;
	uint32_t ids[] = { 0, 64, UINT32_MAX, 65536, 5, 0 };

	(void)state;
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64 });
	rig_lend(&rig, 1536, 1);
	ids[0] = ids[5] = rig.order[0];
	ids[4] = rig.order[0] == 5u ? 6u : 5u;
	assert_int_equal(vnetrx_pool_put(rig.pool, ids, 6), 1);
	assert_int_equal(rig_pool_stats(&rig).put_back, 1);
	rig_close(&rig);
}

static void reclaim_takes_every_lent_buffer_back(void **state)
{
	struct buf_rig rig;
	struct vnetrx_buf bufs[64];
	uint32_t id;

	(void)state;
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64 });
	rig_lend(&rig, 1536, 64);
	id = rig.order[3];
	assert_int_equal(vnetrx_pool_put(rig.pool, &id, 1), 1);
	assert_int_equal(vnetrx_pool_reclaim(rig.pool), 63);
	assert_int_equal(vnetrx_pool_reclaim(rig.pool), 0);
	assert_int_equal(rig_pool_stats(&rig).bufs_lent, 0);
	assert_int_equal(rig_pool_stats(&rig).bufs_recycled, 64);
	assert_int_equal(vnetrx_pool_get(rig.pool, 1536, bufs, 64), 64);
	assert_int_equal(rig_pool_stats(&rig).carved, 64);
	rig_close(&rig);
}

static void fini_waits_for_lent_buffers(void **state)
{
	struct buf_rig rig;

	(void)state;
	rig_pool(&rig, &(struct vnetrx_pool_config){ .bufs_max = 64 });
	rig_lend(&rig, 1536, 2);
	assert_int_equal(vnetrx_pool_fini(rig.pool), VNETRX_ERR_BUSY);
	assert_true(vnrx_pool_valid(rig.pool));
	assert_int_not_equal(rig.host.pages, 0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_configuration_is_refused_with_the_fields_name),
		cmocka_unit_test(memory_that_is_too_small_or_misaligned_is_refused),
		cmocka_unit_test(the_last_buffer_of_a_run_gets_the_hole),
		cmocka_unit_test(a_buffers_truesize_is_what_was_cut_for_it),
		cmocka_unit_test(a_fixed_length_leaves_the_hole_but_bills_it),
		cmocka_unit_test(a_rest_that_is_given_up_is_billed_to_the_next_buffer),
		cmocka_unit_test(buffers_follow_each_other_without_a_gap),
		cmocka_unit_test(buffers_are_apart_and_aligned_for_every_configuration),
		cmocka_unit_test(no_more_than_bufs_max_are_lent),
		cmocka_unit_test(asking_for_nothing_gives_nothing),
		cmocka_unit_test(recycled_buffers_go_out_first_as_they_are),
		cmocka_unit_test(ids_that_are_not_lent_are_ignored),
		cmocka_unit_test(reclaim_takes_every_lent_buffer_back),
		cmocka_unit_test(fini_waits_for_lent_buffers),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
