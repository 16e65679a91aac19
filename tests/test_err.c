/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vnetrx/base.h"

static const int codes[] = {
	VNETRX_OK, VNETRX_ERR_INVALID, VNETRX_ERR_NOMEM, VNETRX_ERR_BUSY, VNETRX_ERR_CANNOT, VNETRX_ERR_BAD,
};

#define CODES (sizeof(codes) / sizeof(codes[0]))

static void every_code_has_a_text_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < CODES; i++) {
		assert_true(strlen(vnetrx_strerror(codes[i])) > 0);
		assert_string_not_equal(vnetrx_strerror(codes[i]), "unknown error");
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(vnetrx_strerror(codes[i]), vnetrx_strerror(codes[j]));
	}
}

static void errors_are_negative_and_success_is_zero(void **state)
{
	(void)state;
	assert_int_equal(VNETRX_OK, 0);
	for (size_t i = 1; i < CODES; i++)
		assert_true(codes[i] < 0);
}

static void any_other_value_is_an_unknown_error(void **state)
{
	static const int others[] = { 1, 42, INT32_MAX, -6, -1000, INT32_MIN };

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_string_equal(vnetrx_strerror(others[i]), "unknown error");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_has_a_text_of_its_own),
		cmocka_unit_test(errors_are_negative_and_success_is_zero),
		cmocka_unit_test(any_other_value_is_an_unknown_error),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
