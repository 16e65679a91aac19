/* SPDX-License-Identifier: BSD-3-Clause */
/* What Frama-C reads of lib/compiler.h and lib/barrier.h instead of the compiler's forms, under names of their own. */
#ifndef TEST_PROVED_H
#define TEST_PROVED_H

#include <stdbool.h>
#include <stdint.h>

uint16_t proved_load16(const uint8_t *p);
uint32_t proved_load32(const uint8_t *p);
uint64_t proved_load64(const uint8_t *p);
uint64_t proved_load_tail(const uint8_t *p, uint32_t len);
void     proved_store16(uint8_t *p, uint16_t v);
void     proved_store64x2(uint8_t *p, uint64_t a, uint64_t b);
uint32_t proved_wrap(uint32_t at, uint32_t size);
unsigned proved_low_byte(uint64_t x);
uint16_t proved_shared_load16(const uint8_t *p);
uint32_t proved_shared_load32(const uint8_t *p);
void     proved_shared_store16(uint8_t *p, uint16_t v);
void     proved_shared_store32(uint8_t *p, uint32_t v);

#endif
