/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vnetrx/pkt.h"

static uint8_t bytes[256];

/* A fragment of bytes [16, 80) in run 3. */
static struct vnetrx_pkt make(void)
{
	struct vnetrx_pkt pkt;

	vnetrx_pkt_wrap(&pkt, bytes + 16, 64, 0);
	pkt.run = 3;
	return pkt;
}

static void bytes_that_go_on_where_a_fragment_ends_join_it(void **state)
{
	struct vnetrx_pkt pkt = make();

	(void)state;
	assert_true(vnetrx_frag_extend(&pkt, bytes + 80, 100, 3));
	assert_int_equal(pkt.frag_len, 164);
	assert_ptr_equal(pkt.data, bytes + 16);
}

static void joining_twice_goes_on_from_the_new_end(void **state)
{
	struct vnetrx_pkt pkt = make();

	(void)state;
	assert_true(vnetrx_frag_extend(&pkt, bytes + 80, 20, 3));
	assert_false(vnetrx_frag_extend(&pkt, bytes + 80, 20, 3));
	assert_true(vnetrx_frag_extend(&pkt, bytes + 100, 1, 3));
	assert_int_equal(pkt.frag_len, 85);
}

static void a_gap_of_one_byte_stays_apart(void **state)
{
	struct vnetrx_pkt pkt = make();

	(void)state;
	assert_false(vnetrx_frag_extend(&pkt, bytes + 81, 100, 3));
	assert_int_equal(pkt.frag_len, 64);
}

static void an_overlap_of_one_byte_stays_apart(void **state)
{
	struct vnetrx_pkt pkt = make();

	(void)state;
	assert_false(vnetrx_frag_extend(&pkt, bytes + 79, 100, 3));
	assert_int_equal(pkt.frag_len, 64);
}

static void bytes_before_a_fragment_stay_apart(void **state)
{
	struct vnetrx_pkt pkt = make();

	(void)state;
	assert_false(vnetrx_frag_extend(&pkt, bytes, 16, 3));
	assert_ptr_equal(pkt.data, bytes + 16);
	assert_int_equal(pkt.frag_len, 64);
}

/* Two runs can lie side by side in memory by chance; they are counted and given back apart. */
static void neighbours_of_another_run_stay_apart(void **state)
{
	struct vnetrx_pkt pkt = make();

	(void)state;
	assert_false(vnetrx_frag_extend(&pkt, bytes + 80, 100, 4));
	assert_int_equal(pkt.frag_len, 64);
}

static void only_the_fragment_grows(void **state)
{
	struct vnetrx_pkt pkt = make();

	(void)state;
	assert_true(vnetrx_frag_extend(&pkt, bytes + 80, 100, 3));
	assert_int_equal(pkt.len, 64);
	assert_int_equal(pkt.nfrags, 1);
	assert_int_equal(pkt.nbufs, 1);
	assert_null(pkt.chain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_that_go_on_where_a_fragment_ends_join_it),
		cmocka_unit_test(joining_twice_goes_on_from_the_new_end),
		cmocka_unit_test(a_gap_of_one_byte_stays_apart),
		cmocka_unit_test(an_overlap_of_one_byte_stays_apart),
		cmocka_unit_test(bytes_before_a_fragment_stay_apart),
		cmocka_unit_test(neighbours_of_another_run_stay_apart),
		cmocka_unit_test(only_the_fragment_grows),
	};

	return cmocka_run_group_tests_name("frag", tests, NULL, NULL);
}
