/* SPDX-License-Identifier: BSD-3-Clause */
/* The compiler's forms against what Frama-C reads instead and is proved: the same for VNETRX_FORMS random inputs
 * (100000). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "barrier.h"
#include "support/proved.h"

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static unsigned long inputs(void)
{
	const char *count = getenv("VNETRX_FORMS");

	return count != NULL ? strtoul(count, NULL, 10) : 100000u;
}

static void fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(next() >> 32);
}

static void words_are_loaded_alike(void **unused)
{
	uint8_t bytes[16];

	(void)unused;
	for (unsigned long n = inputs(); n > 0u; n--) {
		const uint8_t *p = bytes + next() % 8u;
		uint32_t len = (uint32_t)(next() % 8u);

		fill(bytes, sizeof(bytes));
		if (vnrx_load16(p) != proved_load16(p) || vnrx_load32(p) != proved_load32(p) ||
		    vnrx_load64(p) != proved_load64(p) || vnrx_load_tail(p, len) != proved_load_tail(p, len))
			fail();
	}
}

static void words_are_stored_alike(void **unused)
{
	uint8_t a[24] = { 0 }, b[24] = { 0 };

	(void)unused;
	for (unsigned long n = inputs(); n > 0u; n--) {
		uint64_t v = next(), w = next();
		unsigned at = (unsigned)(next() % 8u);

		vnrx_store64x2(a + at, v, w);
		proved_store64x2(b + at, v, w);
		at = (unsigned)(next() % 23u);
		vnrx_store16(a + at, (uint16_t)v);
		proved_store16(b + at, (uint16_t)v);
		if (memcmp(a, b, sizeof(a)) != 0)
			fail();
	}
}

static void shared_words_are_accessed_alike(void **unused)
{
	_Alignas(8) uint8_t a[8], b[8];

	(void)unused;
	for (unsigned long n = inputs(); n > 0u; n--) {
		uint32_t v = (uint32_t)next();
		unsigned at = (unsigned)(next() % 2u) * 4u;

		fill(a, sizeof(a));
		memcpy(b, a, sizeof(b));
		if (vnrx_shared_load16(a + at) != proved_shared_load16(b + at) ||
		    vnrx_shared_load32(a + at) != proved_shared_load32(b + at))
			fail();
		vnrx_shared_store32(a + at, v);
		proved_shared_store32(b + at, v);
		vnrx_shared_store16(a + 4u - at, (uint16_t)(v >> 8));
		proved_shared_store16(b + 4u - at, (uint16_t)(v >> 8));
		if (memcmp(a, b, sizeof(a)) != 0)
			fail();
	}
}

static void indices_wrap_alike_in_rings_of_all_sizes(void **unused)
{
	(void)unused;
	for (unsigned long n = inputs(); n > 0u; n--) {
		uint32_t at = (uint32_t)next();
		uint32_t size = 1u << next() % 16u;

		if (vnrx_wrap(at, size) != proved_wrap(at, size))
			fail();
	}
}

static void the_lowest_byte_is_found_alike(void **unused)
{
	(void)unused;
	for (unsigned long n = inputs(); n > 0u; n--) {
		uint64_t tops = (next() & 0x8080808080808080u) | 0x8000000000000000u;

		if (vnrx_low_byte(tops) != proved_low_byte(tops))
			fail();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_loaded_alike),
		cmocka_unit_test(words_are_stored_alike),
		cmocka_unit_test(shared_words_are_accessed_alike),
		cmocka_unit_test(indices_wrap_alike_in_rings_of_all_sizes),
		cmocka_unit_test(the_lowest_byte_is_found_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
