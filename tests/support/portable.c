/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VNRX_PORTABLE
#error "to be compiled with VNRX_PORTABLE"
#endif
#include "portable.h"

#include "compiler.h"

#ifdef VNRX_GNU
#error "VNRX_PORTABLE does not select the twins"
#endif

unsigned portable_low_byte(uint64_t x)
{
	return vnrx_low_byte(x);
}

bool portable_masked_equal(const uint8_t *a, const uint8_t *b, const uint8_t *mask, uint32_t len)
{
	return vnrx_masked_equal(a, b, mask, len);
}
