/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vnetrx/stats.h"

static void every_counter_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VNETRX_STATS_NUM; i++) {
		assert_non_null(vnetrx_stats_name(i));
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(vnetrx_stats_name(i), vnetrx_stats_name(j));
	}
}

static void every_counter_says_what_it_counts(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VNETRX_STATS_NUM; i++) {
		assert_non_null(vnetrx_stats_text(i));
		assert_true(strlen(vnetrx_stats_text(i)) > 0);
	}
}

static void past_the_end_there_is_no_name_and_no_text(void **state)
{
	(void)state;
	assert_null(vnetrx_stats_name(VNETRX_STATS_NUM));
	assert_null(vnetrx_stats_text(VNETRX_STATS_NUM));
	assert_null(vnetrx_stats_name(UINT32_MAX));
	assert_null(vnetrx_stats_text(UINT32_MAX));
}

/* The name of the counter that a member of struct vnetrx_rxq_stats is. */
#define NAME_OF(member) vnetrx_stats_name((unsigned)(offsetof(struct vnetrx_rxq_stats, member) / sizeof(uint64_t)))

static void names_stand_in_the_order_of_the_struct(void **state)
{
	(void)state;
	assert_string_equal(NAME_OF(queue.polls), "queue.polls");
	assert_string_equal(NAME_OF(queue.broken), "queue.broken");
	assert_string_equal(NAME_OF(pool.runs), "pool.runs");
	assert_string_equal(NAME_OF(pool.pkts_remote), "pool.pkts_remote");
	assert_string_equal(NAME_OF(merge.pkts), "merge.pkts");
	assert_string_equal(NAME_OF(merge.drained), "merge.drained");
	assert_string_equal(NAME_OF(gro.pkts), "gro.pkts");
	assert_string_equal(NAME_OF(gro.differ_meta), "gro.differ_meta");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_counter_has_a_name_of_its_own),
		cmocka_unit_test(every_counter_says_what_it_counts),
		cmocka_unit_test(past_the_end_there_is_no_name_and_no_text),
		cmocka_unit_test(names_stand_in_the_order_of_the_struct),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
