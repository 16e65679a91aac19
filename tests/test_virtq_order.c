/* SPDX-License-Identifier: BSD-3-Clause */
/* IN_ORDER, in both formats: a device may write one used entry for a whole batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/ring_rig.h"

#define BUF_LEN 1536u /* of drv_add_bufs() */

/* Both formats, the packed ring with a size that is no power of two. */
static void open_ordered(struct ring_rig *rig, bool packed, uint32_t segs_max)
{
	ring_open(rig, (struct vnetrx_virtq_config){
			       .size = packed ? 13u : 16u,
			       .flags = VNETRX_VIRTQ_IN_ORDER | (packed ? VNETRX_VIRTQ_PACKED : 0u),
			       .segs_max = segs_max });
}

/* Takes n buffers and uses them as one batch whose last buffer has `len` bytes. */
static void use_batch(struct ring_rig *rig, unsigned n, uint32_t len)
{
	struct ring_chain chain;
	unsigned i, entries = 0;

	for (i = 0; i < n; i++) {
		assert_true(dev_take(rig, &chain));
		entries += (rig->cfg.flags & VNETRX_VIRTQ_PACKED) != 0u ? chain.descs : 1u;
	}
	dev_use(rig, chain.id, len, entries);
}

/* Batches of every length, from every place, over the end of the ring and, split, of the index. */
static void one_entry_stands_for_a_batch(void **state)
{
	struct ring_rig rig;
	uint32_t at, packed, i;
	unsigned n;

	(void)state;
	for (packed = 0; packed < 2u; packed++) {
		for (n = 1; n <= 13u; n++) {
			open_ordered(&rig, packed != 0u, 1);
			if (packed == 0u)
				ring_jump(&rig, 65536u - 5u * n);
			for (at = 0; at < 30u * n; at += n) {
				drv_add_bufs(&rig, n, at);
				vnetrx_virtq_publish(rig.vq);
				use_batch(&rig, n, 77);
				for (i = 0; i < n; i++)
					drv_expect(&rig, at + i, i + 1u < n ? BUF_LEN : 77u);
				drv_expect_none(&rig);
			}
			ring_close(&rig);
		}
	}
}

static void a_batch_is_reaped_piece_by_piece(void **state)
{
	struct vnetrx_done done[16];
	struct ring_rig    rig;
	unsigned packed, max, left, i;
	int      got;

	(void)state;
	for (packed = 0; packed < 2u; packed++) {
		for (max = 1; max <= 12u; max++) {
			open_ordered(&rig, packed != 0u, 1);
			drv_add_bufs(&rig, 12, 0);
			vnetrx_virtq_publish(rig.vq);
			use_batch(&rig, 7, 77);
			use_batch(&rig, 5, 88);
			for (i = 0; i < 12u; i += (unsigned)got) {
				left = 12u - i;
				assert_true(vnetrx_virtq_pending(rig.vq));
				assert_true(vnetrx_virtq_enable(rig.vq));
				assert_true(vnetrx_virtq_poll(rig.vq, vnetrx_virtq_enable_prepare(rig.vq)));
				got = vnetrx_virtq_reap(rig.vq, done, max);
				assert_int_equal(got, left < max ? left : max);
				assert_int_equal(done[0].id, i);
				assert_int_equal(done[0].len, i == 6u ? 77u : i == 11u ? 88u : BUF_LEN);
			}
			drv_expect_none(&rig);
			ring_close(&rig);
		}
	}
}

/* Skipped chains have the length that the device may write, what it only reads left out. */
static void skipped_chains_are_as_long_as_they_were_lent(void **state)
{
	struct ring_rig rig;
	unsigned packed, indirect, round;

	(void)state;
	for (packed = 0; packed < 2u; packed++) {
		for (indirect = 0; indirect < 2u; indirect++) {
			ring_open(&rig, (struct vnetrx_virtq_config){
						.size = packed != 0u ? 13u : 16u,
						.flags = VNETRX_VIRTQ_IN_ORDER |
							 (packed != 0u ? VNETRX_VIRTQ_PACKED : 0u) |
							 (indirect != 0u ? VNETRX_VIRTQ_INDIRECT : 0u),
						.segs_max = 3 });
			for (round = 0; round < 40u; round++) {
				drv_add(&rig, 0, 3, 1); /* 100, 101, 102 */
				drv_add(&rig, 1, 1, 2);
				drv_add(&rig, 2, 0, 3);
				drv_add(&rig, 1, 2, 4);
				vnetrx_virtq_publish(rig.vq);
				use_batch(&rig, 4, 5);
				drv_expect(&rig, 1, 303);
				drv_expect(&rig, 2, 101);
				drv_expect(&rig, 3, 0);
				drv_expect(&rig, 4, 5);
				assert_int_equal(vnetrx_virtq_free_slots(rig.vq), rig.cfg.size);
			}
			ring_close(&rig);
		}
	}
}

/* More than 32 bits of length are cut, not wrapped. */
static void the_length_of_a_skipped_chain_is_at_most_32_bits(void **state)
{
	struct vnetrx_virtq_seg segs[3] = { { 0, 0x80000000u, 0 }, { 0, 0x80000000u, 0 }, { 0, 5, 0 } };
	struct ring_rig         rig;
	unsigned packed;

	(void)state;
	for (packed = 0; packed < 2u; packed++) {
		open_ordered(&rig, packed != 0u, 3);
		assert_int_equal(vnetrx_virtq_add(rig.vq, segs, 0, 3, 1), VNETRX_OK);
		drv_add_bufs(&rig, 1, 2);
		vnetrx_virtq_publish(rig.vq);
		use_batch(&rig, 2, 5);
		drv_expect(&rig, 1, 0xffffffffu);
		drv_expect(&rig, 2, 5);
		ring_close(&rig);
	}
}

/* The index announces two, the id would end a batch of three. */
static void a_batch_beyond_the_used_index_breaks_the_ring(void **state)
{
	struct ring_rig rig;
	uint32_t start;

	(void)state;
	for (start = 65536u - 4u; start < 65536u + 2u; start++) {
		open_ordered(&rig, false, 1);
		ring_jump(&rig, start);
		drv_add_bufs(&rig, 5, 0);
		vnetrx_virtq_publish(rig.vq);
		dev_use(&rig, (start + 2u) % 16u, 60, 2);
		drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_ORDER);
		ring_close(&rig);
	}
}

/* The first batch is right; the second goes beyond the index. What was right comes back first. */
static void a_second_batch_beyond_the_used_index_breaks_the_ring(void **state)
{
	struct vnetrx_done done[8];
	struct ring_rig    rig;

	(void)state;
	open_ordered(&rig, false, 1);
	drv_add_bufs(&rig, 6, 0);
	vnetrx_virtq_publish(rig.vq);
	dev_use(&rig, 1, 60, 2);
	dev_use(&rig, 4, 60, 2); /* would end a batch of three */
	assert_int_equal(vnetrx_virtq_reap(rig.vq, done, 8), 2);
	assert_int_equal(done[1].id, 1);
	drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_ORDER);
	ring_close(&rig);
}

/* The batch is announced; an id of a buffer that came back before it, or never went out, does not end it. */
static void a_batch_that_ends_with_no_lent_buffer_breaks_the_ring(void **state)
{
	struct ring_rig rig;
	unsigned packed, id;

	(void)state;
	for (packed = 0; packed < 2u; packed++) {
		for (id = 0; id < 13u; id += id == 2u ? 4u : 1u) { /* 3, 4, 5 are lent */
			open_ordered(&rig, packed != 0u, 1);
			ring_run(&rig, 3);
			drv_add_bufs(&rig, 3, 0);
			vnetrx_virtq_publish(rig.vq);
			dev_use(&rig, id, 60, 3);
			drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_ID);
			ring_close(&rig);
		}
	}
}

/* A full packed ring, where every id was lent: one that came back in the same reap does not end the next batch. */
static void a_batch_that_ends_with_what_just_came_back_breaks_the_ring(void **state)
{
	struct vnetrx_done done[16];
	struct ring_rig    rig;

	(void)state;
	open_ordered(&rig, true, 1);
	drv_add_bufs(&rig, 13, 0);
	vnetrx_virtq_publish(rig.vq);
	dev_use(&rig, 1, 60, 2);
	dev_use(&rig, 0, 60, 1);
	assert_int_equal(vnetrx_virtq_reap(rig.vq, done, 16), 2);
	drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_ID);
	ring_close(&rig);
}

static void an_index_taken_back_inside_a_batch_breaks_the_ring(void **state)
{
	struct ring_rig rig;

	(void)state;
	open_ordered(&rig, false, 1);
	drv_add_bufs(&rig, 8, 0);
	vnetrx_virtq_publish(rig.vq);
	use_batch(&rig, 6, 60);
	drv_expect(&rig, 0, BUF_LEN);
	drv_expect(&rig, 1, BUF_LEN);
	dev_index(&rig, 1);
	drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_INDEX);
	ring_close(&rig);
}

/* The used ring may hold anything where the device skipped entries. */
static void skipped_entries_are_not_looked_at(void **state)
{
	struct ring_rig rig;
	uint32_t i;

	(void)state;
	open_ordered(&rig, false, 1);
	drv_add_bufs(&rig, 8, 0);
	vnetrx_virtq_publish(rig.vq);
	for (i = 1; i < 16u; i++)
		dev_entry(&rig, i, 0xffffffffu, 0xffffffffu);
	use_batch(&rig, 8, 60);
	drv_expect_run(&rig, 8, 0);
	drv_expect_none(&rig);
	ring_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_entry_stands_for_a_batch),
		cmocka_unit_test(a_batch_is_reaped_piece_by_piece),
		cmocka_unit_test(skipped_chains_are_as_long_as_they_were_lent),
		cmocka_unit_test(the_length_of_a_skipped_chain_is_at_most_32_bits),
		cmocka_unit_test(a_batch_beyond_the_used_index_breaks_the_ring),
		cmocka_unit_test(a_second_batch_beyond_the_used_index_breaks_the_ring),
		cmocka_unit_test(a_batch_that_ends_with_no_lent_buffer_breaks_the_ring),
		cmocka_unit_test(a_batch_that_ends_with_what_just_came_back_breaks_the_ring),
		cmocka_unit_test(an_index_taken_back_inside_a_batch_breaks_the_ring),
		cmocka_unit_test(skipped_entries_are_not_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
