/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mem.h"

static void measuring_and_placing_agree(void **state)
{
	struct vnrx_mem measure = { NULL, 0, 0 }, place = { NULL, 0, 0 };
	uint32_t k;

	(void)state;
	for (k = 1; k < 200u; k++)
		assert_null(vnrx_mem_take(&measure, k, 7));
	place.size = vnrx_mem_total(&measure);
	place.base = aligned_alloc(64, place.size);
	assert_non_null(place.base);
	for (k = 1; k < 200u; k++) {
		uint8_t *p = vnrx_mem_take(&place, k, 7);

		assert_non_null(p);
		assert_true(vnrx_mem_usable(p));
		assert_true(p + 7u * k <= place.base + place.size);
	}
	assert_int_equal(vnrx_mem_total(&place), place.size);
	free(place.base);
}

static void what_does_not_fit_is_refused_from_then_on(void **state)
{
	uint8_t mem[256];
	struct vnrx_mem m = { mem, sizeof(mem), 0 };

	(void)state;
	assert_non_null(vnrx_mem_take(&m, 1, 100));
	assert_null(vnrx_mem_take(&m, 3, 64));
	assert_int_equal(vnrx_mem_total(&m), 0);
	assert_null(vnrx_mem_take(&m, 1, 1));
	assert_null(vnrx_mem_take(&m, 0, 1));
	assert_int_equal(vnrx_mem_total(&m), 0);
}

static void sums_beyond_a_size_t_are_refused(void **state)
{
	struct vnrx_mem m = { NULL, 0, 0 };
	unsigned k;

	(void)state;
	for (k = 0; k < 3; k++)
		(void)vnrx_mem_take(&m, UINT32_MAX, UINT32_MAX);
	assert_int_equal(vnrx_mem_total(&m), 0);
}

static void division_by_shifts_is_division(void **state)
{
	uint32_t i, n = 1, d = 1;

	(void)state;
	for (i = 0; i < 20000u; i++) {
		n = n * 1664525u + 1013904223u;
		d = d * 22695477u + 1u;
		assert_int_equal(vnrx_div(n, (d >> i % 32u) | 1u), n / ((d >> i % 32u) | 1u));
	}
	assert_int_equal(vnrx_div(UINT32_MAX, 1), UINT32_MAX);
	assert_int_equal(vnrx_div(UINT32_MAX, UINT32_MAX), 1);
	assert_int_equal(vnrx_div(UINT32_MAX - 1u, UINT32_MAX), 0);
	assert_int_equal(vnrx_div(0, 5), 0);
}

static void powers_of_two_are_told_and_found(void **state)
{
	(void)state;
	assert_false(vnrx_is_pow2(0));
	assert_true(vnrx_is_pow2(1));
	assert_false(vnrx_is_pow2(3));
	assert_true(vnrx_is_pow2(0x80000000u));
	assert_int_equal(vnrx_pow2_up(0), 1);
	assert_int_equal(vnrx_pow2_up(1024), 1024);
	assert_int_equal(vnrx_pow2_up(1025), 2048);
	assert_int_equal(vnrx_pow2_up(0x7fffffffu), 0x80000000u);
	assert_int_equal(vnrx_align_up(0, 64), 0);
	assert_int_equal(vnrx_align_up(1, 64), 64);
	assert_int_equal(vnrx_align_up(64, 64), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measuring_and_placing_agree),
		cmocka_unit_test(what_does_not_fit_is_refused_from_then_on),
		cmocka_unit_test(sums_beyond_a_size_t_are_refused),
		cmocka_unit_test(division_by_shifts_is_division),
		cmocka_unit_test(powers_of_two_are_told_and_found),
	};

	return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
