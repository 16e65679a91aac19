/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed rings. Kicks and callbacks: test_virtq_events.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/ring_rig.h"
#include "support/stream.h"

static void open_packed(struct ring_rig *rig, uint32_t size, uint32_t flags, uint32_t segs_max)
{
	ring_open(rig, (struct vnetrx_virtq_config){
			       .size = size, .flags = VNETRX_VIRTQ_PACKED | flags, .segs_max = segs_max });
}

/* Takes the next chain and checks it against what drv_add() adds. */
static void expect_chain(struct ring_rig *rig, unsigned out, unsigned in, struct ring_chain *chain)
{
	unsigned i;

	assert_true(dev_take(rig, chain));
	assert_int_equal(chain->out, out);
	assert_int_equal(chain->in, in);
	for (i = 0; i < out + in; i++) {
		assert_true(chain->dma[i] == 4096u * (i + 1u));
		assert_int_equal(chain->len[i], 100u + i);
	}
}

/* ---- sizes and wraps ---- */

/* Fills the ring with chains of 1, 2, ... segs_max segments, until three rounds and more went through; at each size
 * chains end exactly at the ring's end, and straddle it. Says how many ended there. */
static unsigned every_place(uint32_t size, uint32_t flags, unsigned segs_max)
{
	struct ring_rig   rig;
	struct ring_chain chain;
	uint32_t          added = 0, used = 0, ends = 0;

	open_packed(&rig, size, flags, segs_max);
	while (used < 3u * size + 5u) {
		while (vnetrx_virtq_free_slots(rig.vq) >= 1u + added % segs_max) {
			drv_add(&rig, added % 2u, 1u + added % segs_max - added % 2u, added);
			added++;
		}
		vnetrx_virtq_publish(rig.vq);
		while (dev_take(&rig, &chain)) {
			assert_int_equal(chain.descs, 1u + used % segs_max);
			dev_use(&rig, chain.id, used, chain.descs);
			ends += rig.used == 0u;
			used++;
		}
		while (vnetrx_virtq_pending(rig.vq))
			drv_expect(&rig, used - vnetrx_virtq_outstanding(rig.vq),
			           used - vnetrx_virtq_outstanding(rig.vq));
		assert_int_equal(vnetrx_virtq_free_slots(rig.vq), size);
	}
	ring_close(&rig);
	return ends;
}

static void every_size_from_1_to_300_works_at_every_place(void **state)
{
	uint32_t size;
	unsigned segs_max;

	(void)state;
	for (size = 1; size <= 300u; size += stream_step(13)) {
		for (segs_max = 1; segs_max <= 5u && segs_max <= size; segs_max++) {
			assert_true(every_place(size, 0, segs_max) != 0u);
			(void)every_place(size, VNETRX_VIRTQ_IN_ORDER, segs_max);
		}
	}
	assert_true(every_place(32768, 0, 3) != 0u);
	assert_true(every_place(32767, VNETRX_VIRTQ_ORDER_PLATFORM, 7) != 0u);
}

/* From each descriptor of each small ring: a chain of each length that fits, alone in the ring. */
static void a_chain_of_any_length_starts_anywhere(void **state)
{
	struct ring_rig   rig;
	struct ring_chain chain;
	uint32_t          size, start;
	unsigned          segs;

	(void)state;
	for (size = 1; size <= 12u; size++) {
		for (start = 0; start < 2u * size; start++) { /* in both wraps */
			for (segs = 1; segs <= size; segs++) {
				open_packed(&rig, size, 0, size);
				ring_run(&rig, start);
				drv_add(&rig, segs / 2u, segs - segs / 2u, 5);
				assert_int_equal(vnetrx_virtq_free_slots(rig.vq), size - segs);
				assert_false(dev_take(&rig, &chain));
				vnetrx_virtq_publish(rig.vq);
				expect_chain(&rig, segs / 2u, segs - segs / 2u, &chain);
				assert_int_equal(chain.descs, segs);
				drv_expect_none(&rig);
				dev_use(&rig, chain.id, 9, segs);
				drv_expect(&rig, 5, 9);
				drv_expect_none(&rig);
				ring_run(&rig, 2u * size);
				ring_close(&rig);
			}
		}
	}
}

/* Batches of every length from every descriptor, as receive queues add them. */
static void batches_of_buffers_cross_the_end(void **state)
{
	struct ring_rig rig;
	uint32_t size, at;
	unsigned burst;

	(void)state;
	for (size = 1; size <= 9u; size++) {
		for (burst = 1; burst <= size; burst++) {
			open_packed(&rig, size, burst % 2u != 0u ? VNETRX_VIRTQ_IN_ORDER : 0u, 1);
			for (at = 0; at < 4u * size * burst; at += burst) {
				drv_add_bufs(&rig, burst, at);
				assert_int_equal(dev_take_all(&rig), 0);
				vnetrx_virtq_publish(rig.vq);
				assert_int_equal(dev_echo(&rig, 60), burst);
				drv_expect_run(&rig, burst, at);
				drv_expect_none(&rig);
			}
			ring_close(&rig);
		}
	}
}

/* What is added behind something that is not published is hidden with it, whatever its own flags say. */
static void nothing_is_offered_before_publish(void **state)
{
	struct ring_rig rig;
	uint32_t start;

	(void)state;
	for (start = 0; start < 14u; start++) {
		open_packed(&rig, 7, 0, 2);
		ring_run(&rig, start);
		drv_add_bufs(&rig, 2, 0);
		drv_add(&rig, 1, 1, 2);
		assert_int_equal(dev_take_all(&rig), 0);
		vnetrx_virtq_publish(rig.vq);
		assert_int_equal(dev_take_all(&rig), 3);
		drv_add(&rig, 1, 1, 3);
		drv_add_bufs(&rig, 1, 4);
		assert_int_equal(dev_take_all(&rig), 0);
		drv_expect_none(&rig); /* reap publishes */
		assert_int_equal(dev_take_all(&rig), 2);
		ring_close(&rig);
	}
}

static void notification_data_has_the_next_descriptor_and_its_wrap(void **state)
{
	struct ring_rig rig;
	uint32_t i;

	(void)state;
	open_packed(&rig, 5, 0, 1);
	for (i = 0; i < 20u; i++) {
		uint32_t wrap = i / 5u % 2u == 0u;

		assert_true(vnetrx_virtq_notification_data(rig.vq, 3) == (wrap << 31 | (i % 5u) << 16 | 3u));
		ring_run(&rig, 1);
	}
	ring_close(&rig);
}

/* ---- reaping ---- */

static void lent_buffers_are_not_taken_for_used_ones(void **state)
{
	struct ring_rig rig;
	uint32_t start;

	(void)state;
	for (start = 0; start < 16u; start++) {
		open_packed(&rig, 8, 0, 1);
		ring_run(&rig, start);
		drv_add_bufs(&rig, 8, 0);
		vnetrx_virtq_publish(rig.vq);
		drv_expect_none(&rig);
		assert_int_equal(dev_take_all(&rig), 8);
		drv_expect_none(&rig);
		ring_close(&rig);
	}
}

static void buffers_come_back_by_id_in_any_order(void **state)
{
	static const unsigned order[5] = { 3, 0, 4, 2, 1 };
	struct ring_rig       rig;
	struct ring_chain     chain[5];
	unsigned i, round;

	(void)state;
	open_packed(&rig, 13, 0, 3);
	for (round = 0; round < 40u; round++) {
		for (i = 0; i < 5u; i++)
			drv_add(&rig, 0, 1u + i % 3u, 10u * round + i);
		vnetrx_virtq_publish(rig.vq);
		for (i = 0; i < 5u; i++)
			assert_true(dev_take(&rig, &chain[i]));
		for (i = 0; i < 5u; i++)
			dev_use(&rig, chain[order[i]].id, 60u + i, chain[order[i]].descs);
		for (i = 0; i < 5u; i++)
			drv_expect(&rig, 10u * round + order[i], 60u + i);
		assert_int_equal(vnetrx_virtq_free_slots(rig.vq), 13);
	}
	ring_close(&rig);
}

/* A device may use one chain and go on; what it wrote into the rest of the chain does not count. */
static void the_step_to_the_next_is_our_own_record(void **state)
{
	struct ring_rig   rig;
	struct ring_chain first, second;
	unsigned round;

	(void)state;
	open_packed(&rig, 7, 0, 4);
	for (round = 0; round < 60u; round++) {
		drv_add(&rig, 1, 3, round);
		drv_add(&rig, 0, 2, round + 1u);
		vnetrx_virtq_publish(rig.vq);
		assert_true(dev_take(&rig, &first));
		assert_true(dev_take(&rig, &second));
		memset(rig.ring, round % 2u == 0u ? 0xff : 0, 7u * 16u);
		dev_use(&rig, first.id, 1, 4);
		drv_expect(&rig, round, 1);
		dev_use(&rig, second.id, 2, 2);
		drv_expect(&rig, round + 1u, 2);
		assert_int_equal(vnetrx_virtq_free_slots(rig.vq), 7);
	}
	ring_close(&rig);
}

static void all_that_was_used_is_reaped_in_as_many_calls_as_it_takes(void **state)
{
	struct vnetrx_done done[64];
	struct ring_rig    rig;

	(void)state;
	open_packed(&rig, 50, 0, 1);
	drv_add_bufs(&rig, 40, 0);
	vnetrx_virtq_publish(rig.vq);
	assert_int_equal(dev_echo(&rig, 60), 40);
	assert_int_equal(vnetrx_virtq_reap(rig.vq, done, 0), 0);
	assert_int_equal(vnetrx_virtq_reap(rig.vq, done, 16), 16);
	assert_int_equal(vnetrx_virtq_reap(rig.vq, done, 16), 16);
	assert_int_equal(vnetrx_virtq_reap(rig.vq, done, 16), 8);
	drv_add_bufs(&rig, 40, 0);
	vnetrx_virtq_publish(rig.vq);
	assert_int_equal(dev_echo(&rig, 60), 40);
	assert_int_equal(vnetrx_virtq_reap(rig.vq, done, 64), 40);
	ring_close(&rig);
}

static void indirect_chains_take_one_descriptor(void **state)
{
	struct ring_rig   rig;
	struct ring_chain chain;
	unsigned i, round;

	(void)state;
	open_packed(&rig, 5, VNETRX_VIRTQ_INDIRECT, 4);
	for (round = 0; round < 30u; round++) {
		for (i = 0; i < 5u; i++)
			drv_add(&rig, i % 4u, 4u - i % 4u, i);
		assert_int_equal(vnetrx_virtq_free_slots(rig.vq), 0);
		vnetrx_virtq_publish(rig.vq);
		for (i = 0; i < 5u; i++) {
			expect_chain(&rig, i % 4u, 4u - i % 4u, &chain);
			assert_int_equal(chain.descs, 1);
			dev_use(&rig, chain.id, 7, 1);
		}
		drv_expect_run(&rig, 5, 0);
		drv_add(&rig, 1, 0, 9); /* one segment needs no table */
		vnetrx_virtq_publish(rig.vq);
		expect_chain(&rig, 1, 0, &chain);
		dev_use(&rig, chain.id, 0, 1);
		drv_expect(&rig, 9, 0);
	}
	ring_close(&rig);
}

/* ---- a device that lies ---- */

static void an_id_out_of_range_breaks_the_ring(void **state)
{
	static const uint32_t ids[] = { 7, 8, 12, 32767, 32768, 65535 };
	struct ring_rig       rig;
	unsigned i, start;

	(void)state;
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		for (start = 0; start < 14u; start++) {
			open_packed(&rig, 7, start % 2u != 0u ? VNETRX_VIRTQ_IN_ORDER : 0u, 1);
			ring_run(&rig, start);
			drv_add_bufs(&rig, 7, 0);
			vnetrx_virtq_publish(rig.vq);
			dev_use(&rig, ids[i], 60, 1);
			drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_ID);
			ring_close(&rig);
		}
	}
}

static void an_id_that_is_not_lent_breaks_the_ring(void **state)
{
	struct ring_rig rig;
	unsigned order;

	(void)state;
	for (order = 0; order < 2u; order++) {
		open_packed(&rig, 8, order != 0u ? VNETRX_VIRTQ_IN_ORDER : 0u, 1);
		drv_add_bufs(&rig, 3, 0);
		vnetrx_virtq_publish(rig.vq);
		dev_use(&rig, 5, 60, 1);
		drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_ID);
		ring_close(&rig);
	}
}

/* In one batch, and in two. What was right before comes back first. */
static void an_id_that_comes_twice_breaks_the_ring(void **state)
{
	struct ring_rig    rig;
	struct vnetrx_done done[8];
	unsigned           split_reap;

	(void)state;
	for (split_reap = 0; split_reap < 2u; split_reap++) {
		open_packed(&rig, 8, 0, 1);
		drv_add_bufs(&rig, 8, 50);
		vnetrx_virtq_publish(rig.vq);
		dev_use(&rig, 3, 60, 1);
		dev_use(&rig, 1, 61, 1);
		if (split_reap != 0u)
			assert_int_equal(vnetrx_virtq_reap(rig.vq, done, 8), 2);
		dev_use(&rig, 3, 62, 1);
		if (split_reap == 0u)
			assert_int_equal(vnetrx_virtq_reap(rig.vq, done, 8), 2);
		assert_int_equal(done[0].id, 53);
		assert_int_equal(done[1].id, 51);
		drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_ID);
		ring_close(&rig);
	}
}

static void a_used_descriptor_with_nothing_lent_breaks_the_ring(void **state)
{
	struct ring_rig rig;
	uint32_t start;
	unsigned order;

	(void)state;
	for (start = 0; start < 12u; start++) {
		for (order = 0; order < 2u; order++) {
			open_packed(&rig, 6, order != 0u ? VNETRX_VIRTQ_IN_ORDER : 0u, 1);
			ring_run(&rig, start);
			dev_use(&rig, 0, 60, 1);
			drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_INDEX);
			ring_close(&rig);
		}
	}
}

/* The same behind the last one that is lent, seen in the next reap. */
static void a_used_descriptor_behind_the_last_lent_one_breaks_the_ring(void **state)
{
	struct vnetrx_done done[8];
	struct ring_rig    rig;
	unsigned order;

	(void)state;
	for (order = 0; order < 2u; order++) {
		open_packed(&rig, 6, order != 0u ? VNETRX_VIRTQ_IN_ORDER : 0u, 1);
		drv_add_bufs(&rig, 2, 0);
		vnetrx_virtq_publish(rig.vq);
		assert_int_equal(dev_echo(&rig, 60), 2);
		dev_use(&rig, 0, 60, 1);
		assert_int_equal(vnetrx_virtq_reap(rig.vq, done, 8), 2);
		assert_int_equal(vnetrx_virtq_fault(rig.vq), VNETRX_VIRTQ_OK);
		drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_INDEX);
		ring_close(&rig);
	}
}

/* Wrap bits of the wrong round are no used descriptor. */
static void wrap_bits_of_another_round_are_ignored(void **state)
{
	static const uint32_t flags[2][3] = { { 0x0000, 0x0080, 0x8000 }, { 0x8080, 0x0080, 0x8000 } };
	struct ring_rig       rig;
	uint32_t start, i;

	(void)state;
	for (start = 0; start < 12u; start++) {
		for (i = 0; i < 3u; i++) {
			open_packed(&rig, 6, 0, 1);
			ring_run(&rig, start);
			drv_add_bufs(&rig, 2, 0);
			vnetrx_virtq_publish(rig.vq);
			ring_set(&rig, 16u * rig.used + 14u, 2, flags[start / 6u][i]);
			drv_expect_none(&rig);
			ring_close(&rig);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size_from_1_to_300_works_at_every_place),
		cmocka_unit_test(a_chain_of_any_length_starts_anywhere),
		cmocka_unit_test(batches_of_buffers_cross_the_end),
		cmocka_unit_test(nothing_is_offered_before_publish),
		cmocka_unit_test(notification_data_has_the_next_descriptor_and_its_wrap),
		cmocka_unit_test(lent_buffers_are_not_taken_for_used_ones),
		cmocka_unit_test(buffers_come_back_by_id_in_any_order),
		cmocka_unit_test(the_step_to_the_next_is_our_own_record),
		cmocka_unit_test(all_that_was_used_is_reaped_in_as_many_calls_as_it_takes),
		cmocka_unit_test(indirect_chains_take_one_descriptor),
		cmocka_unit_test(an_id_out_of_range_breaks_the_ring),
		cmocka_unit_test(an_id_that_is_not_lent_breaks_the_ring),
		cmocka_unit_test(an_id_that_comes_twice_breaks_the_ring),
		cmocka_unit_test(a_used_descriptor_with_nothing_lent_breaks_the_ring),
		cmocka_unit_test(a_used_descriptor_behind_the_last_lent_one_breaks_the_ring),
		cmocka_unit_test(wrap_bits_of_another_round_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
