/* SPDX-License-Identifier: BSD-3-Clause */
/* The length of least cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vnetrx/sizer.h"

#define HDR   12u
#define ALIGN 64u

static struct vnetrx_sizer make(uint32_t len_min, uint32_t len_max)
{
	struct vnetrx_sizer s;

	assert_int_equal(vnetrx_sizer_init(&s, len_min, len_max, HDR, ALIGN), VNETRX_OK);
	return s;
}

static struct vnetrx_sizer by_cost(uint32_t buf_cost)
{
	struct vnetrx_sizer s = make(HDR + 1518u, 4096);
	const struct vnetrx_sizer_prices prices = { .buf_cost = buf_cost, .run_size = 32768, .copy_len_max = 128 };

	assert_int_equal(vnetrx_sizer_by_cost(&s, &prices), VNETRX_OK);
	return s;
}

/* n packets of alternating lengths, all looked at. */
static uint32_t weighed(struct vnetrx_sizer *s, const uint32_t *lens, unsigned nlens, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t next = vnetrx_sizer_weigh(s, lens[i % nlens]);

		assert_in_range(next, 1, 32);
	}
	return vnetrx_sizer_len(s);
}

static void without_a_sample_the_shortest_is_posted(void **state)
{
	struct vnetrx_sizer s = by_cost(1000);

	(void)state;
	assert_int_equal(vnetrx_sizer_len(&s), 1536);
}

static void few_long_packets_among_short_ones_do_not_lengthen_buffers_where_memory_is_dear(void **state)
{
	static const uint32_t lens[] = { 300, 300, 300, 300, 300, 300, 300, 9014 };
	struct vnetrx_sizer s = by_cost(200);

	(void)state;
	assert_int_equal(weighed(&s, lens, 8, 400), 1536);
}

static void the_same_packets_get_the_longest_buffers_where_memory_is_cheap(void **state)
{
	static const uint32_t lens[] = { 300, 300, 300, 300, 300, 300, 300, 9014 };
	struct vnetrx_sizer s = by_cost(65535);

	(void)state;
	assert_true(weighed(&s, lens, 8, 400) >= 3008u + HDR); /* three buffers for 9014 bytes are least */
}

/* 2000 bytes: one buffer of the shortest length that holds them, be it dear or cheap. */
static void one_length_gets_buffers_that_just_hold_it(void **state)
{
	static const uint32_t len[] = { 2000 };
	struct vnetrx_sizer dear = by_cost(200), cheap = by_cost(65535);

	(void)state;
	assert_in_range(weighed(&dear, len, 1, 100), 2000 + HDR, 2500);
	assert_in_range(weighed(&cheap, len, 1, 100), 2000 + HDR, 2500);
}

static void packets_that_are_copied_change_nothing(void **state)
{
	static const uint32_t copied[] = { 60, 128 }, large[] = { 65226 };
	struct vnetrx_sizer s = by_cost(65535);
	uint32_t before = weighed(&s, large, 1, 100);

	(void)state;
	assert_int_equal(before, 4096);
	assert_int_equal(weighed(&s, copied, 2, 1000), before);
}

static void a_change_is_followed_within_the_samples_of_an_average(void **state)
{
	static const uint32_t small[] = { 300 }, large[] = { 65226 };
	struct vnetrx_sizer s = by_cost(1000);

	(void)state;
	assert_int_equal(weighed(&s, large, 1, 50), 4096);
	assert_int_equal(weighed(&s, small, 1, 100), 1536);
	assert_int_equal(weighed(&s, large, 1, 50), 4096);
}

static void the_longest_packets_in_the_shortest_buffers_do_not_overflow(void **state)
{
	static const uint32_t longest[] = { UINT32_MAX };
	const struct vnetrx_sizer_prices prices = { .buf_cost = 65535, .run_size = 1048576 };
	struct vnetrx_sizer s;

	(void)state;
	assert_int_equal(vnetrx_sizer_init(&s, 64, 1048576, 0, 64), VNETRX_OK);
	assert_int_equal(vnetrx_sizer_by_cost(&s, &prices), VNETRX_OK);
	assert_int_equal(weighed(&s, longest, 1, 200), 1048576);
	assert_true(s.choices[0].cost / 65535u >= 16000u);
}

static void every_choice_is_aligned_within_the_limits_and_fills_its_run(void **state)
{
	struct vnetrx_sizer s = by_cost(1);

	(void)state;
	for (unsigned i = 0; i < VNETRX_SIZER_LENS; i++) {
		uint32_t len = s.choices[i].len;

		assert_int_equal(len % ALIGN, 0);
		assert_in_range(len, 1536, 4096);
		assert_true(len == 4096u || 32768u / (len + ALIGN) < 32768u / len);
		assert_int_equal(s.choices[i].price, 32768u / (32768u / len) + 1u);
	}
}

static void prices_out_of_range_are_refused(void **state)
{
	static const struct vnetrx_sizer_prices wrong[] = {
		{ .buf_cost = 0, .run_size = 32768 },
		{ .buf_cost = 65536, .run_size = 32768 },
		{ .buf_cost = 1, .run_size = 2048 },
		{ .buf_cost = 1, .run_size = 2097152 },
		{ .buf_cost = 1, .run_size = 32768, .headroom = 32768 },
	};
	const struct vnetrx_sizer_prices right = { .buf_cost = 1, .run_size = 32768 };
	struct vnetrx_sizer s = make(64, 4096), tiny;

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(vnetrx_sizer_by_cost(&s, &wrong[i]), VNETRX_ERR_INVALID);
	assert_false(s.by_cost);
	assert_int_equal(vnetrx_sizer_init(&tiny, 16, 4096, HDR, 16), VNETRX_OK);
	assert_int_equal(vnetrx_sizer_by_cost(&tiny, &right), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_sizer_by_cost(&s, &right), VNETRX_OK);
}

static void headroom_that_leaves_no_room_in_a_run_is_refused(void **state)
{
	struct vnetrx_sizer s = make(HDR + 1518u, 4096);
	struct vnetrx_sizer_prices prices = { .buf_cost = 1, .run_size = 32768, .headroom = 32769 };

	(void)state;
	assert_int_equal(vnetrx_sizer_by_cost(&s, &prices), VNETRX_ERR_INVALID);
	prices.headroom = 32768u - 4095u;
	assert_int_equal(vnetrx_sizer_by_cost(&s, &prices), VNETRX_ERR_INVALID);
	prices.headroom = 32768u - 4096u;
	assert_int_equal(vnetrx_sizer_by_cost(&s, &prices), VNETRX_OK);
	assert_true(s.by_cost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_sample_the_shortest_is_posted),
		cmocka_unit_test(few_long_packets_among_short_ones_do_not_lengthen_buffers_where_memory_is_dear),
		cmocka_unit_test(the_same_packets_get_the_longest_buffers_where_memory_is_cheap),
		cmocka_unit_test(one_length_gets_buffers_that_just_hold_it),
		cmocka_unit_test(packets_that_are_copied_change_nothing),
		cmocka_unit_test(a_change_is_followed_within_the_samples_of_an_average),
		cmocka_unit_test(the_longest_packets_in_the_shortest_buffers_do_not_overflow),
		cmocka_unit_test(every_choice_is_aligned_within_the_limits_and_fills_its_run),
		cmocka_unit_test(prices_out_of_range_are_refused),
		cmocka_unit_test(headroom_that_leaves_no_room_in_a_run_is_refused),
	};

	return cmocka_run_group_tests_name("sizer by cost", tests, NULL, NULL);
}
