/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of the Linux driver that these are compared with were computed from its rule (weight 1/64, no fraction,
 * samples not clamped). */
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

static void feed(struct vnetrx_sizer *s, uint32_t frame_len, unsigned n)
{
	while (n-- > 0u)
		vnetrx_sizer_add(s, frame_len);
}

static void without_a_sample_the_shortest_is_posted(void **state)
{
	struct vnetrx_sizer s = make(HDR + 1518u, 4096);

	(void)state;
	assert_int_equal(vnetrx_sizer_len(&s), 1536);
}

static void the_first_sample_counts_entirely(void **state)
{
	struct vnetrx_sizer s = make(64, 4096);

	(void)state;
	feed(&s, 2000, 1);
	assert_int_equal(s.avg / VNETRX_SIZER_ONE, 2000);
	assert_int_equal(vnetrx_sizer_len(&s), 2048);
}

/* Without a fraction the average of constant 1514 bytes stays at 1451. */
static void a_constant_stream_is_reached_exactly_from_below(void **state)
{
	struct vnetrx_sizer s = make(64, 4096);

	(void)state;
	feed(&s, 60, 1);
	feed(&s, 1514, 2000);
	assert_int_equal(s.avg / VNETRX_SIZER_ONE, 1514);
	assert_int_equal(vnetrx_sizer_len(&s), 1536);
}

static void a_constant_stream_is_reached_exactly_from_above(void **state)
{
	struct vnetrx_sizer s = make(64, 4096);

	(void)state;
	feed(&s, 4000, 1);
	feed(&s, 100, 2000);
	assert_int_equal(s.avg / VNETRX_SIZER_ONE, 100);
	assert_int_equal(vnetrx_sizer_len(&s), 128);
}

/* Without a fraction 1000 stays until a sample of 1064. */
static void a_difference_of_one_byte_is_seen(void **state)
{
	struct vnetrx_sizer s = make(64, 4096);
	uint32_t before;

	(void)state;
	feed(&s, 1000, 1);
	before = s.avg;
	feed(&s, 1001, 1);
	assert_int_equal(s.avg - before, VNETRX_SIZER_ONE / VNETRX_SIZER_WEIGHT);
	feed(&s, 1001, 1000);
	assert_int_equal(s.avg / VNETRX_SIZER_ONE, 1001);
}

/* Without a fraction it settles at about 764. */
static void the_average_of_two_lengths_is_their_mean(void **state)
{
	struct vnetrx_sizer s = make(64, 4096);
	unsigned i;

	(void)state;
	for (i = 0; i < 2000; i++)
		feed(&s, i % 2u != 0u ? 1514 : 60, 1);
	assert_in_range(s.avg / VNETRX_SIZER_ONE, 787 - 12, 787 + 12);
}

/* Not clamped, 65226 bytes take 240 packets to be forgotten. */
static void a_burst_of_long_packets_is_forgotten_soon(void **state)
{
	struct vnetrx_sizer s = make(HDR + 1518u, 4096);
	unsigned n = 0;

	(void)state;
	feed(&s, 65226, 500);
	assert_int_equal(vnetrx_sizer_len(&s), 4096);
	while (vnetrx_sizer_len(&s) > 1536u) {
		feed(&s, 60, 1);
		n++;
	}
	assert_true(n <= 66u);
}

static void long_packets_get_the_longest_buffers(void **state)
{
	struct vnetrx_sizer s = make(HDR + 1518u, 4096);

	(void)state;
	feed(&s, 1518, 1);
	feed(&s, 65226, 3); /* as soon as where it is not limited at all */
	assert_int_equal(vnetrx_sizer_len(&s), 4096);
}

static void equal_limits_fix_the_length(void **state)
{
	struct vnetrx_sizer s = make(2048, 2048);

	(void)state;
	assert_int_equal(vnetrx_sizer_len(&s), 2048);
	feed(&s, 60, 100);
	assert_int_equal(vnetrx_sizer_len(&s), 2048);
	feed(&s, 65535, 100);
	assert_int_equal(vnetrx_sizer_len(&s), 2048);
}

static void every_answer_is_aligned_and_within_the_limits(void **state)
{
	uint32_t align, seed = 1;

	(void)state;
	for (align = 1; align <= 4096u; align *= 2u) {
		struct vnetrx_sizer s;
		unsigned i;

		assert_int_equal(vnetrx_sizer_init(&s, 1000, 65536, 20, align), VNETRX_OK);
		for (i = 0; i < 500; i++) {
			seed = seed * 1664525u + 1013904223u;
			feed(&s, seed >> 14, 1 + i % 5u);
			assert_int_equal(vnetrx_sizer_len(&s) % align, 0);
			assert_in_range(vnetrx_sizer_len(&s), 1000, 65536);
		}
	}
}

static void the_largest_limit_does_not_overflow(void **state)
{
	struct vnetrx_sizer s;

	(void)state;
	assert_int_equal(vnetrx_sizer_init(&s, 64, 1048576, 0, 64), VNETRX_OK);
	feed(&s, UINT32_MAX, 3);
	assert_int_equal(vnetrx_sizer_len(&s), 1048576);
	feed(&s, UINT32_MAX, 10000);
	assert_int_equal(vnetrx_sizer_len(&s), 1048576);
	feed(&s, 0, 5000);
	assert_int_equal(vnetrx_sizer_len(&s), 64);
}

static void limits_that_leave_nothing_are_refused(void **state)
{
	struct vnetrx_sizer s;

	(void)state;
	assert_int_equal(vnetrx_sizer_init(&s, 1000, 2000, 0, 0), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_sizer_init(&s, 1000, 2000, 0, 48), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_sizer_init(&s, 1000, 20000, 0, 8192), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_sizer_init(&s, 2000, 1000, 0, 64), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_sizer_init(&s, 1000, 1010, 0, 64), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_sizer_init(&s, 64, 128, 128, 64), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_sizer_init(&s, 64, 1048577, 0, 64), VNETRX_ERR_INVALID);
}

/* The posted lengths of the facts table for MTU frames: header 12, 20 and 24. */
static void an_mtu_frame_is_posted_with_its_header_rounded_up(void **state)
{
	static const uint32_t hdr[] = { 10, 12, 20, 24 }, posted[] = { 1536, 1536, 1600, 1600 };
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct vnetrx_sizer s;

		assert_int_equal(vnetrx_sizer_init(&s, hdr[i] + 1518u, 4096, hdr[i], 64), VNETRX_OK);
		assert_int_equal(vnetrx_sizer_len(&s), posted[i]);
	}
}

/* Rings of 8 and 16 buffers of at most 4096 bytes cannot hold 64 KiB; with this floor any ring can. */
static void a_ring_of_floor_buffers_holds_one_longest_frame(void **state)
{
	static const uint32_t rings[] = { 1, 2, 3, 8, 16, 32, 64, 100, 256, 32768 };
	uint32_t whole = 65553 + HDR;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
		uint32_t len = vnetrx_sizer_floor(rings[i], 65553, HDR);

		assert_true(rings[i] * len >= whole);
		assert_true(rings[i] * (len - 1u) < whole);
	}
	assert_int_equal(vnetrx_sizer_floor(8, 65553, HDR), 8184 + HDR);
}

static void the_floor_of_no_ring_is_that_of_one_buffer(void **state)
{
	(void)state;
	assert_int_equal(vnetrx_sizer_floor(0, 1514, HDR), 1526);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_sample_the_shortest_is_posted),
		cmocka_unit_test(the_first_sample_counts_entirely),
		cmocka_unit_test(a_constant_stream_is_reached_exactly_from_below),
		cmocka_unit_test(a_constant_stream_is_reached_exactly_from_above),
		cmocka_unit_test(a_difference_of_one_byte_is_seen),
		cmocka_unit_test(the_average_of_two_lengths_is_their_mean),
		cmocka_unit_test(a_burst_of_long_packets_is_forgotten_soon),
		cmocka_unit_test(long_packets_get_the_longest_buffers),
		cmocka_unit_test(equal_limits_fix_the_length),
		cmocka_unit_test(every_answer_is_aligned_and_within_the_limits),
		cmocka_unit_test(the_largest_limit_does_not_overflow),
		cmocka_unit_test(limits_that_leave_nothing_are_refused),
		cmocka_unit_test(an_mtu_frame_is_posted_with_its_header_rounded_up),
		cmocka_unit_test(a_ring_of_floor_buffers_holds_one_longest_frame),
		cmocka_unit_test(the_floor_of_no_ring_is_that_of_one_buffer),
	};

	return cmocka_run_group_tests_name("sizer", tests, NULL, NULL);
}
