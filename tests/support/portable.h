/* SPDX-License-Identifier: BSD-3-Clause */
/* The portable twins of lib/compiler.h, compiled with VNRX_PORTABLE, under names of their own. */
#ifndef TEST_PORTABLE_H
#define TEST_PORTABLE_H

#include <stdbool.h>
#include <stdint.h>

unsigned portable_low_byte(uint64_t x);
bool     portable_masked_equal(const uint8_t *a, const uint8_t *b, const uint8_t *mask, uint32_t len);

#endif
