/* SPDX-License-Identifier: BSD-3-Clause */
/* Split rings. Kicks and callbacks: test_virtq_events.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/ring_rig.h"

static void open_split(struct ring_rig *rig, uint32_t size, uint32_t flags, uint32_t segs_max)
{
	ring_open(rig, (struct vnetrx_virtq_config){ .size = size, .flags = flags, .segs_max = segs_max });
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

/* ---- there and back ---- */

static void chains_arrive_as_they_were_added(void **state)
{
	static const uint32_t flags[] = { 0, VNETRX_VIRTQ_BIG_ENDIAN, VNETRX_VIRTQ_IN_ORDER,
					  VNETRX_VIRTQ_ORDER_PLATFORM };
	struct ring_rig       rig;
	struct ring_chain     chain;
	unsigned f, out, in, round;

	(void)state;
	for (f = 0; f < 4u; f++) {
		open_split(&rig, 16, flags[f], 5);
		for (round = 0; round < 20u; round++) {
			for (out = 0; out <= 3u; out++) {
				for (in = out == 0u; in <= 2u; in++) {
					drv_add(&rig, out, in, 1000u * out + in);
					vnetrx_virtq_publish(rig.vq);
					expect_chain(&rig, out, in, &chain);
					assert_int_equal(chain.descs, out + in);
					dev_use(&rig, chain.id, round, 1);
					drv_expect(&rig, 1000u * out + in, round);
				}
			}
		}
		assert_int_equal(vnetrx_virtq_free_slots(rig.vq), 16);
		ring_close(&rig);
	}
}

static void indirect_chains_take_one_slot(void **state)
{
	static const uint32_t flags[] = { 0, VNETRX_VIRTQ_BIG_ENDIAN, VNETRX_VIRTQ_IN_ORDER };
	struct ring_rig       rig;
	struct ring_chain     chain;
	unsigned f, i;

	(void)state;
	for (f = 0; f < 3u; f++) {
		open_split(&rig, 4, VNETRX_VIRTQ_INDIRECT | flags[f], 4);
		for (i = 0; i < 4u; i++)
			drv_add(&rig, i, 4u - i, i);
		assert_int_equal(vnetrx_virtq_free_slots(rig.vq), 0);
		vnetrx_virtq_publish(rig.vq);
		for (i = 0; i < 4u; i++) {
			expect_chain(&rig, i, 4u - i, &chain);
			dev_use(&rig, chain.id, 7, 1);
		}
		drv_expect_run(&rig, 4, 0);
		drv_add(&rig, 1, 0, 9); /* one segment needs no table */
		vnetrx_virtq_publish(rig.vq);
		expect_chain(&rig, 1, 0, &chain);
		assert_true((ring_get(&rig, 16u * chain.id + 12u, 2) & 4u) == 0u);
		ring_close(&rig);
	}
}

static void nothing_is_offered_before_publish(void **state)
{
	struct ring_rig   rig;
	struct ring_chain chain;

	(void)state;
	open_split(&rig, 8, 0, 2);
	drv_add(&rig, 1, 1, 1);
	drv_add_bufs(&rig, 3, 2);
	assert_false(dev_take(&rig, &chain));
	vnetrx_virtq_publish(rig.vq);
	assert_int_equal(dev_take_all(&rig), 4);
	drv_add_bufs(&rig, 1, 5);
	assert_false(dev_take(&rig, &chain));
	drv_expect_none(&rig); /* reap publishes */
	assert_true(dev_take(&rig, &chain));
	ring_close(&rig);
}

static void a_full_ring_is_busy_and_untouched(void **state)
{
	struct vnetrx_virtq_seg segs[3] = { { 4096, 1, 0 }, { 4096, 1, 0 }, { 4096, 1, 0 } };
	struct vnetrx_buf       bufs[8] = { { NULL, 4096, 64, 0 } };
	struct ring_rig         rig;
	uint8_t                 before[128];

	(void)state;
	open_split(&rig, 8, 0, 3);
	drv_add_bufs(&rig, 6, 0);
	memcpy(before, rig.ring, sizeof(before));
	assert_int_equal(vnetrx_virtq_add(rig.vq, segs, 1, 2, 7), VNETRX_ERR_BUSY);
	assert_memory_equal(before, rig.ring, sizeof(before));
	assert_int_equal(vnetrx_virtq_free_slots(rig.vq), 2);
	assert_int_equal(vnetrx_virtq_add_bufs(rig.vq, bufs, 8), 2);
	assert_int_equal(vnetrx_virtq_add_bufs(rig.vq, bufs, 8), 0);
	assert_int_equal(vnetrx_virtq_add(rig.vq, segs, 1, 0, 7), VNETRX_ERR_BUSY);
	ring_close(&rig);
}

/* ---- indices ---- */

/* Adding, using and reaping `burst` at a time, at every index from 0 to well behind 65535. */
static void every_index(uint32_t size, uint32_t flags, unsigned burst)
{
	struct ring_rig rig;
	uint32_t at;

	open_split(&rig, size, flags, 1);
	for (at = 0; at < 65536u + 2u * size; at += burst) {
		drv_add_bufs(&rig, burst, at);
		vnetrx_virtq_publish(rig.vq);
		assert_int_equal(vnetrx_virtq_notification_data(rig.vq, 5), (at + burst) % 65536u * 65536u + 5u);
		assert_int_equal(dev_echo(&rig, 60), burst);
		assert_int_equal(vnetrx_virtq_outstanding(rig.vq), burst);
		drv_expect_run(&rig, burst, at);
		assert_int_equal(vnetrx_virtq_free_slots(rig.vq), size);
		drv_expect_none(&rig);
	}
	ring_close(&rig);
}

static void every_index_around_the_wrap_works(void **state)
{
	(void)state;
	every_index(1, 0, 1);
	every_index(2, 0, 1);
	every_index(8, 0, 1);
	every_index(8, VNETRX_VIRTQ_IN_ORDER, 1);
	every_index(8, VNETRX_VIRTQ_BIG_ENDIAN, 3);
	every_index(256, 0, 37);
	every_index(256, VNETRX_VIRTQ_IN_ORDER, 41);
	every_index(32768, 0, 32768);
	every_index(32768, VNETRX_VIRTQ_IN_ORDER, 32767);
}

/* A full ring over the wrap: the used index behind it is smaller than the one before. */
static void a_full_ring_is_reaped_over_the_wrap(void **state)
{
	struct ring_rig rig;
	uint32_t start;

	(void)state;
	for (start = 65536u - 9u; start < 65536u + 1u; start++) {
		open_split(&rig, 8, 0, 1);
		ring_jump(&rig, start);
		drv_add_bufs(&rig, 8, 0);
		vnetrx_virtq_publish(rig.vq);
		assert_int_equal(dev_echo(&rig, 1), 8);
		drv_expect_run(&rig, 8, 0);
		drv_expect_none(&rig);
		ring_close(&rig);
	}
}

static void buffers_come_back_by_id_in_any_order(void **state)
{
	static const unsigned order[4] = { 2, 0, 3, 1 };
	struct ring_rig       rig;
	struct ring_chain     chain[4];
	unsigned i, round;

	(void)state;
	open_split(&rig, 4, 0, 1);
	for (round = 0; round < 10u; round++) {
		drv_add_bufs(&rig, 4, 10u * round);
		vnetrx_virtq_publish(rig.vq);
		for (i = 0; i < 4u; i++)
			assert_true(dev_take(&rig, &chain[i]));
		for (i = 0; i < 4u; i++)
			dev_use(&rig, chain[order[i]].id, 60u + i, 1);
		for (i = 0; i < 4u; i++)
			drv_expect(&rig, 10u * round + order[i], 60u + i);
	}
	ring_close(&rig);
}

/* The slot of the buffer that came back is the one that is free: the others' descriptors stay. */
static void the_returned_slot_is_the_free_one(void **state)
{
	struct ring_rig   rig;
	struct ring_chain chain[4], next;
	unsigned i;

	(void)state;
	open_split(&rig, 4, 0, 1);
	drv_add_bufs(&rig, 4, 0);
	vnetrx_virtq_publish(rig.vq);
	for (i = 0; i < 4u; i++)
		assert_true(dev_take(&rig, &chain[i]));
	dev_use(&rig, chain[2].id, 60, 1);
	drv_expect(&rig, 2, 60);
	drv_add_bufs(&rig, 1, 9);
	vnetrx_virtq_publish(rig.vq);
	assert_true(dev_take(&rig, &next));
	assert_int_equal(next.id, chain[2].id);
	ring_close(&rig);
}

static void all_that_was_used_is_reaped_in_as_many_calls_as_it_takes(void **state)
{
	struct vnetrx_done done[64];
	struct ring_rig    rig;

	(void)state;
	open_split(&rig, 64, 0, 1);
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

/* ---- a device that lies ---- */

static void a_used_index_beyond_what_was_lent_breaks_the_ring(void **state)
{
	struct ring_rig rig;
	uint32_t jump;

	(void)state;
	for (jump = 4; jump < 65536u; jump += jump < 40u || jump > 65500u ? 1u : 997u) {
		open_split(&rig, 8, 0, 1);
		drv_add_bufs(&rig, 3, 0);
		vnetrx_virtq_publish(rig.vq);
		dev_index(&rig, jump);
		drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_INDEX);
		ring_close(&rig);
	}
}

static void a_used_index_that_goes_back_breaks_the_ring(void **state)
{
	struct ring_rig rig;

	(void)state;
	open_split(&rig, 8, 0, 1);
	ring_run(&rig, 5);
	drv_add_bufs(&rig, 8, 0);
	vnetrx_virtq_publish(rig.vq);
	dev_index(&rig, 4);
	drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_INDEX);
	ring_close(&rig);
}

static void an_id_out_of_range_breaks_the_ring(void **state)
{
	static const uint32_t ids[] = { 8, 13, 9, 65535, 65536, 0x80000000u, 0xffffffffu };
	struct ring_rig       rig;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		open_split(&rig, 8, 0, 1);
		drv_add_bufs(&rig, 8, 0);
		vnetrx_virtq_publish(rig.vq);
		dev_use(&rig, ids[i], 0x80000000u, 1);
		drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_ID);
		ring_close(&rig);
	}
}

static void an_id_inside_a_chain_breaks_the_ring(void **state)
{
	struct ring_rig   rig;
	struct ring_chain chain;

	(void)state;
	open_split(&rig, 8, 0, 3);
	drv_add(&rig, 1, 2, 0);
	vnetrx_virtq_publish(rig.vq);
	assert_true(dev_take(&rig, &chain));
	dev_use(&rig, (uint32_t)ring_get(&rig, 16u * chain.id + 14u, 2), 60, 1);
	drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_ID);
	ring_close(&rig);
}

/* In one batch, in two, and after the slot was free for a while. What was right before comes back first. */
static void an_id_that_comes_twice_breaks_the_ring(void **state)
{
	struct ring_rig    rig;
	struct vnetrx_done done[8];
	unsigned           split_reap;

	(void)state;
	for (split_reap = 0; split_reap < 2u; split_reap++) {
		open_split(&rig, 8, 0, 1);
		drv_add_bufs(&rig, 8, 50);
		vnetrx_virtq_publish(rig.vq);
		dev_use(&rig, 3, 60, 1);
		dev_use(&rig, 1, 61, 1);
		if (split_reap != 0u)
			assert_int_equal(vnetrx_virtq_reap(rig.vq, done, 8), 2);
		dev_use(&rig, 3, 62, 1);
		dev_use(&rig, 4, 63, 1);
		if (split_reap == 0u)
			assert_int_equal(vnetrx_virtq_reap(rig.vq, done, 8), 2);
		assert_int_equal(done[0].id, 53);
		assert_int_equal(done[1].id, 51);
		drv_expect_broken(&rig, VNETRX_VIRTQ_BAD_ID);
		ring_close(&rig);
	}
}

/* Whatever it writes into the descriptors, chains are freed by the private record. */
static void overwritten_descriptors_change_nothing(void **state)
{
	struct ring_rig   rig;
	struct ring_chain chain;
	unsigned round;

	(void)state;
	open_split(&rig, 8, 0, 4);
	for (round = 0; round < 50u; round++) {
		drv_add(&rig, 1, 3, round);
		drv_add(&rig, 2, 1, round + 1u);
		vnetrx_virtq_publish(rig.vq);
		assert_true(dev_take(&rig, &chain));
		dev_use(&rig, chain.id, 1, 1);
		assert_true(dev_take(&rig, &chain));
		dev_use(&rig, chain.id, 2, 1);
		memset(rig.ring, round % 2u == 0u ? 0xff : 0, 128);
		drv_expect(&rig, round, 1);
		drv_expect(&rig, round + 1u, 2);
		assert_int_equal(vnetrx_virtq_free_slots(rig.vq), 8);
	}
	ring_close(&rig);
}

static void any_length_is_handed_up_as_it_came(void **state)
{
	static const uint32_t lens[] = { 0, 1, 1537, 0x80000000u, 0xffffffffu };
	struct ring_rig       rig;
	unsigned i;

	(void)state;
	open_split(&rig, 8, 0, 1);
	for (i = 0; i < 5u; i++) {
		drv_add_bufs(&rig, 1, i);
		vnetrx_virtq_publish(rig.vq);
		assert_int_equal(dev_echo(&rig, lens[i]), 1);
		drv_expect(&rig, i, lens[i]);
	}
	ring_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_arrive_as_they_were_added),
		cmocka_unit_test(indirect_chains_take_one_slot),
		cmocka_unit_test(nothing_is_offered_before_publish),
		cmocka_unit_test(a_full_ring_is_busy_and_untouched),
		cmocka_unit_test(every_index_around_the_wrap_works),
		cmocka_unit_test(a_full_ring_is_reaped_over_the_wrap),
		cmocka_unit_test(buffers_come_back_by_id_in_any_order),
		cmocka_unit_test(the_returned_slot_is_the_free_one),
		cmocka_unit_test(all_that_was_used_is_reaped_in_as_many_calls_as_it_takes),
		cmocka_unit_test(a_used_index_beyond_what_was_lent_breaks_the_ring),
		cmocka_unit_test(a_used_index_that_goes_back_breaks_the_ring),
		cmocka_unit_test(an_id_out_of_range_breaks_the_ring),
		cmocka_unit_test(an_id_inside_a_chain_breaks_the_ring),
		cmocka_unit_test(an_id_that_comes_twice_breaks_the_ring),
		cmocka_unit_test(overwritten_descriptors_change_nothing),
		cmocka_unit_test(any_length_is_handed_up_as_it_came),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
