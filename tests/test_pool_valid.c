/* SPDX-License-Identifier: BSD-3-Clause */
/* The walker itself: it is good for nothing if it does not see what is broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "buf/pool.h"
#include "support/buf_rig.h"

/* A pool with 20 lent, 3 recycled and 2 claimed buffers, and one run that is spare. */
static void open_rig(struct buf_rig *rig, struct vnetrx_pkt **pkts)
{
	struct vnetrx_done done[25];
	struct vnetrx_pkt *last[8];
	uint32_t ids[3];
	unsigned i;

	rig_pool(rig, &(struct vnetrx_pool_config){ .bufs_max = 64, .run_size = 4096 });
	rig_merge(rig, &(struct vnetrx_merge_config){ .copy_len_max = 0xffff });
	rig_lend(rig, 1024, 25);
	for (i = 0; i < 25; i++) {
		(void)rig_hdr(rig, i, 1);
		done[i] = rig_done(rig, i, 500);
	}
	assert_int_equal(rig_add(rig, done, 2, pkts), 2);
	assert_int_equal(rig_add(rig, done + 8, 8, last), 8);
	vnetrx_pkt_free(last, 8);
	for (i = 0; i < 3; i++)
		ids[i] = rig->order[18u + i];
	assert_int_equal(vnetrx_pool_put(rig->pool, ids, 3), 3);
	assert_true(vnrx_pool_valid(rig->pool));
}

static void close_rig(struct buf_rig *rig, struct vnetrx_pkt **pkts)
{
	assert_true(vnrx_pool_valid(rig->pool));
	vnetrx_pkt_free(pkts, 2);
	rig_close(rig);
}

/* Sees the walker that `what` of type t is not `wrong`? */
#define EXPECT_SEEN(type, what, wrong) \
	do { \
		type saved_ = (what); \
		(what) = (type)(wrong); \
		assert_false(vnrx_pool_valid(rig.pool)); \
		(what) = saved_; \
		assert_true(vnrx_pool_valid(rig.pool)); \
	} while (0)

static void a_slot_in_two_places_is_seen(void **state)
{
	struct vnetrx_pkt *pkts[2];
	struct vnetrx_pool *p;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, pkts);
	p = rig.pool;
	EXPECT_SEEN(uint16_t, p->ids[3], p->ids[4]);
	EXPECT_SEEN(uint16_t, p->ids[3], 0xffff);
	EXPECT_SEEN(uint32_t, p->ids_free, p->ids_free - 1u);
	EXPECT_SEEN(uint32_t, p->ids_free, p->slots_num + 1u);
	EXPECT_SEEN(uint32_t, p->slots[p->ids[0]].state, VNRX_SLOT_LENT);
	EXPECT_SEEN(uint32_t, p->slots[rig.order[20]].state, VNRX_SLOT_LENT);
	EXPECT_SEEN(uint32_t, p->slots[rig.order[21]].state, VNRX_SLOT_RECYCLED);
	close_rig(&rig, pkts);
}

static void a_broken_list_of_recycled_buffers_is_seen(void **state)
{
	struct vnetrx_pkt *pkts[2];
	struct vnetrx_pool *p;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, pkts);
	p = rig.pool;
	EXPECT_SEEN(uint32_t, p->recycled, 2);
	EXPECT_SEEN(uint16_t, p->recycled_last, p->recycled_first);
	EXPECT_SEEN(uint16_t, p->recycled_first, 0xffff);
	EXPECT_SEEN(uint16_t, p->slots[p->recycled_first].next, p->recycled_first);
	EXPECT_SEEN(uint16_t, p->slots[p->recycled_first].next, 0xffff);
	EXPECT_SEEN(uint16_t, p->slots[p->recycled_first].next, rig.order[22]); /* one that is lent */
	close_rig(&rig, pkts);
}

static void a_wrong_count_of_a_run_is_seen(void **state)
{
	struct vnetrx_pkt *pkts[2];
	struct vnrx_pages *pg;
	struct buf_rig rig;
	uint16_t run;

	(void)state;
	open_rig(&rig, pkts);
	pg = &rig.pool->pages;
	run = pkts[0]->run;
	EXPECT_SEEN(uint16_t, pg->runs[run].posted, pg->runs[run].posted + 1u);
	EXPECT_SEEN(uint32_t, pg->runs[run].held, pg->runs[run].held + 1u);
	EXPECT_SEEN(uint32_t, pg->runs[run].held, 0);
	EXPECT_SEEN(uint64_t, pg->pinned_bytes, pg->pinned_bytes + 1u);
	EXPECT_SEEN(uint64_t, pg->run_bytes, pg->run_bytes - 4096u);
	EXPECT_SEEN(uint64_t, pg->run_bytes_max, pg->run_bytes - 1u);
	EXPECT_SEEN(uint64_t, pg->owned, pg->owned + 1u);
	EXPECT_SEEN(uint32_t, rig.pool->pkts_free, rig.pool->pkts_free - 1u);
	close_rig(&rig, pkts);
}

static void a_lost_run_is_seen(void **state)
{
	struct vnetrx_pkt *pkts[2];
	struct vnrx_pages *pg;
	struct buf_rig rig;

	(void)state;
	rig_needs_carving();
	open_rig(&rig, pkts);
	pg = &rig.pool->pages;
	assert_int_not_equal(pg->spare, VNRX_RUN_NONE);
	EXPECT_SEEN(uint16_t, pg->spare, VNRX_RUN_NONE);
	EXPECT_SEEN(uint16_t, pg->runs[pg->spare].next, pg->spare);
	EXPECT_SEEN(uint16_t, pg->spare, pg->runs_num);
	EXPECT_SEEN(uint16_t, pg->runs[pg->spare].next, pg->runs_num - 1u); /* one without memory */
	EXPECT_SEEN(uint64_t, pg->spare_bytes, 0);
	EXPECT_SEEN(uint64_t, pg->spare_bytes_max, pg->spare_bytes - 1u);
	close_rig(&rig, pkts);
}

static void a_buffer_outside_its_run_is_seen(void **state)
{
	struct vnetrx_pkt *pkts[2];
	struct vnrx_slot *slot;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, pkts);
	slot = &rig.pool->slots[rig.order[22]];
	EXPECT_SEEN(uint32_t, slot->len, 4097);
	EXPECT_SEEN(uint8_t *, slot->addr, rig.pool->pages.runs[slot->run].base - 1);
	EXPECT_SEEN(uint16_t, slot->run, rig.pool->pages.runs_num);
	close_rig(&rig, pkts);
}

static void a_cut_that_is_not_in_its_run_is_seen(void **state)
{
	struct vnetrx_pkt *pkts[2];
	struct vnetrx_pool *p;
	struct buf_rig rig;

	(void)state;
	rig_needs_carving();
	open_rig(&rig, pkts);
	p = rig.pool;
	assert_int_not_equal(p->cut.run, VNRX_RUN_NONE);
	EXPECT_SEEN(uint8_t *, p->cut.next, p->cut.next + 4096);
	EXPECT_SEEN(uint8_t *, p->cut.next, p->pages.runs[p->cut.run].base - 1);
	EXPECT_SEEN(uint32_t, p->cut.left, 0);
	EXPECT_SEEN(uint16_t, p->cut.run, p->pages.runs_num);
	EXPECT_SEEN(uint16_t, p->cut.run, p->pages.runs_num - 1u); /* has no memory */
	EXPECT_SEEN(uint16_t, p->copy.run, p->cut.run); /* which has nothing left for the other */
	EXPECT_SEEN(uint32_t, p->copy.left, 1);
	close_rig(&rig, pkts);
}

static void a_run_without_memory_that_is_used_is_seen(void **state)
{
	struct vnetrx_pkt *pkts[2];
	struct vnrx_run *last;
	struct buf_rig rig;

	(void)state;
	open_rig(&rig, pkts);
	last = &rig.pool->pages.runs[rig.pool->pages.runs_num - 1u];
	assert_null(last->base);
	rig.pool->pages.runs[pkts[0]->run].held--; /* so that their sum is right */
	last->held++;
	assert_false(vnrx_pool_valid(rig.pool));
	last->held--;
	rig.pool->pages.runs[pkts[0]->run].held++;
	EXPECT_SEEN(uint16_t, last->posted, 1);
	close_rig(&rig, pkts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slot_in_two_places_is_seen),
		cmocka_unit_test(a_broken_list_of_recycled_buffers_is_seen),
		cmocka_unit_test(a_wrong_count_of_a_run_is_seen),
		cmocka_unit_test(a_lost_run_is_seen),
		cmocka_unit_test(a_buffer_outside_its_run_is_seen),
		cmocka_unit_test(a_cut_that_is_not_in_its_run_is_seen),
		cmocka_unit_test(a_run_without_memory_that_is_used_is_seen),
	};

	return cmocka_run_group_tests_name("pool_valid", tests, NULL, NULL);
}
