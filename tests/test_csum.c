/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums against the plain definition, and the parts that use compiler extensions against their portable twins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gro/csum.h"
#include "support/frames.h"
#include "support/portable.h"

static uint32_t seed = 99;

static uint8_t random_byte(void)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint8_t)(seed >> 16);
}

static void fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = random_byte();
}

/* A sum as the library has it, in memory order, as a number. */
static uint16_t as_number(uint16_t sum)
{
	uint8_t bytes[2];

	memcpy(bytes, &sum, 2);
	return fr_get16(bytes);
}

/* the two ways to write zero are one sum */
static bool same_sum(uint16_t a, uint16_t b)
{
	return a % 65535u == b % 65535u;
}

static void sum_of_any_length_at_any_address_is_right(void **state)
{
	uint8_t *block = malloc(300);

	(void)state;
	assert_non_null(block);
	fill(block, 300);
	for (uint32_t from = 0; from < 9u; from++) {
		for (uint32_t len = 0; len + from <= 300u; len++) {
			uint16_t sum = as_number(vnrx_sum(block + from, len));

			assert_true(same_sum(sum, fr_sum(0, block + from, len)));
		}
	}
	free(block);
}

/* nothing behind the end is read, and all carries come round */
static void sum_of_ones_is_ones(void **state)
{
	(void)state;
	for (uint32_t len = 1; len < 200u; len++) {
		uint8_t *exact = malloc(len);

		assert_non_null(exact);
		memset(exact, 0xff, len);
		assert_true(same_sum(as_number(vnrx_sum(exact, len)), len % 2u == 0u ? 0xffffu : 0xff00u));
		memset(exact, 0, len);
		assert_int_equal(vnrx_sum(exact, len), 0);
		exact[len - 1u] = 1;
		assert_int_not_equal(vnrx_sum(exact, len), 0); /* zero only for zeros */
		free(exact);
	}
}

static void fold_of_any_word_is_its_sum(void **state)
{
	static const uint32_t edges[] = {
		0, 1, 0xffff, 0x10000, 0x1fffe, 0xffff0000, 0xffffffff, 0x80008000, 0xfffe0001
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		assert_true(same_sum(vnrx_fold(edges[i]), (uint16_t)(edges[i] % 65535u)));
		assert_int_equal(vnrx_fold(edges[i]) == 0u, edges[i] == 0u);
	}
	for (unsigned i = 0; i < 65536u; i++) {
		uint16_t a = (uint16_t)i, b = (uint16_t)(random_byte() * 256u + random_byte());

		assert_true(same_sum(vnrx_sum_add(a, b), (uint16_t)((a + b) % 65535u)));
		assert_int_equal(vnrx_sum_swap(vnrx_sum_swap(a)), a);
	}
}

/* A packet of these bytes in pieces of these lengths, ended by 0. */
static struct vnetrx_pkt *pieces(uint8_t *bytes, const uint32_t *lens, struct vnetrx_pkt *pkts)
{
	uint32_t n = 0;

	for (; lens[n] != 0xffffu; n++) {
		vnetrx_pkt_wrap(&pkts[n], bytes, lens[n], 0);
		bytes += lens[n];
		if (n > 0u)
			pkts[n - 1u].chain = &pkts[n];
	}
	return pkts;
}

static void sum_over_fragments_is_the_sum_of_the_whole(void **state)
{
	static const uint32_t cuts[][8] = {
		{ 200, 0xffff },       { 1, 199, 0xffff },       { 101, 99, 0xffff },      { 0, 0, 200, 0xffff },
		{ 3, 0, 5, 192, 0xffff }, { 1, 1, 1, 1, 1, 195, 0xffff }, { 64, 63, 73, 0xffff },
	};
	uint8_t bytes[200];

	(void)state;
	fill(bytes, sizeof(bytes));
	for (unsigned i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct vnetrx_pkt pkts[8];
		const struct vnetrx_pkt *pkt = pieces(bytes, cuts[i], pkts);

		for (uint32_t off = 0; off < 200u; off++) {
			for (uint32_t len = 0; off + len <= 200u; len += 7) {
				uint16_t sum = as_number(vnrx_sum_pkt(pkt, off, len));

				assert_true(same_sum(sum, fr_sum(0, bytes + off, len)));
			}
		}
	}
}

static void pseudo_header_is_that_of_the_rfcs(void **state)
{
	static const uint32_t lens[] = { 0, 8, 20, 1480, 65535, 65536, 524280 };
	uint8_t ip[40];

	(void)state;
	for (unsigned v6 = 0; v6 < 2u; v6++) {
		for (unsigned i = 0; i < 7u; i++) {
			fill(ip, sizeof(ip));
			ip[0] = v6 != 0u ? 0x60 : 0x45;
			assert_true(same_sum(as_number(vnrx_sum_pseudo(ip, v6 != 0u ? 6 : 4, 17, lens[i])),
			                     fr_pseudo(ip, 17, lens[i])));
			assert_int_not_equal(vnrx_sum_pseudo(ip, v6 != 0u ? 6 : 4, 17, lens[i]), 0);
		}
	}
}

static void ipv4_header_with_any_wrong_bit_is_wrong(void **state)
{
	uint8_t bytes[256];
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	for (unsigned id = 0; id < 65536u; id += 251) {
		f.id = (uint16_t)id;
		(void)frame_build(&f, bytes);
		assert_int_equal(vnrx_sum_ipv4(bytes + 14), 0xffff);
	}
	for (unsigned bit = 0; bit < 160u; bit++) {
		bytes[14 + bit / 8u] ^= (uint8_t)(1u << bit % 8u);
		assert_int_not_equal(vnrx_sum_ipv4(bytes + 14), 0xffff);
		bytes[14 + bit / 8u] ^= (uint8_t)(1u << bit % 8u);
	}
}

/* ---- twins ---- */

static void lowest_marked_byte_is_found_by_both_twins(void **state)
{
	(void)state;
	for (unsigned bits = 1; bits < 256u; bits++) {
		uint64_t x = 0, lowest;
		unsigned want = 0;

		for (unsigned i = 0; i < 8u; i++)
			x |= (uint64_t)(bits >> i & 1u) << (8u * i + 7u);
		while ((bits >> want & 1u) == 0u)
			want++;
		lowest = x & (0u - x);
		assert_int_equal(vnrx_low_byte(lowest), want);
		assert_int_equal(portable_low_byte(lowest), want);
		assert_int_equal(portable_low_byte(x), want);
	}
}

static void masked_compare_sees_each_bit_and_nothing_else(void **state)
{
	(void)state;
	for (uint32_t len = 16; len <= 256u; len += len < 80u ? 1u : 29u) {
		uint8_t *a = malloc(len), *b = malloc(len), *mask = malloc(len); /* exact: reads behind them are seen */

		assert_non_null(a);
		assert_non_null(b);
		assert_non_null(mask);
		fill(a, len);
		fill(mask, len);
		for (uint32_t i = 0; i < len; i++) {
			mask[i] = i % 3u == 0u ? mask[i] : i % 3u == 1u ? 0xff : 0;
			b[i] = (uint8_t)(a[i] ^ (~mask[i] & random_byte()));
		}
		assert_true(vnrx_masked_equal(a, b, mask, len));
		assert_true(portable_masked_equal(a, b, mask, len));
		for (uint32_t bit = 0; bit < len * 8u; bit++) {
			bool masked = ((unsigned)mask[bit / 8u] >> bit % 8u & 1u) == 0u;

			b[bit / 8u] ^= (uint8_t)(1u << bit % 8u);
			assert_int_equal(vnrx_masked_equal(a, b, mask, len), masked);
			assert_int_equal(portable_masked_equal(a, b, mask, len), masked);
			b[bit / 8u] ^= (uint8_t)(1u << bit % 8u);
		}
		free(a);
		free(b);
		free(mask);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sum_of_any_length_at_any_address_is_right),
		cmocka_unit_test(sum_of_ones_is_ones),
		cmocka_unit_test(fold_of_any_word_is_its_sum),
		cmocka_unit_test(sum_over_fragments_is_the_sum_of_the_whole),
		cmocka_unit_test(pseudo_header_is_that_of_the_rfcs),
		cmocka_unit_test(ipv4_header_with_any_wrong_bit_is_wrong),
		cmocka_unit_test(lowest_marked_byte_is_found_by_both_twins),
		cmocka_unit_test(masked_compare_sees_each_bit_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
