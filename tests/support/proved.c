/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef __FRAMAC__
#error "to be compiled with __FRAMAC__"
#endif
#include "proved.h"

#include "barrier.h"

#ifdef VNRX_GNU
#error "__FRAMAC__ does not select what is proved"
#endif

uint16_t proved_load16(const uint8_t *p)
{
	return vnrx_load16(p);
}

uint32_t proved_load32(const uint8_t *p)
{
	return vnrx_load32(p);
}

uint64_t proved_load64(const uint8_t *p)
{
	return vnrx_load64(p);
}

uint64_t proved_load_tail(const uint8_t *p, uint32_t len)
{
	return vnrx_load_tail(p, len);
}

void proved_store16(uint8_t *p, uint16_t v)
{
	vnrx_store16(p, v);
}

void proved_store64x2(uint8_t *p, uint64_t a, uint64_t b)
{
	vnrx_store64x2(p, a, b);
}

uint32_t proved_wrap(uint32_t at, uint32_t size)
{
	return vnrx_wrap(at, size);
}

unsigned proved_low_byte(uint64_t x)
{
	return vnrx_low_byte(x);
}

uint16_t proved_shared_load16(const uint8_t *p)
{
	return vnrx_shared_load16(p);
}

uint32_t proved_shared_load32(const uint8_t *p)
{
	return vnrx_shared_load32(p);
}

void proved_shared_store16(uint8_t *p, uint16_t v)
{
	vnrx_shared_store16(p, v);
}

void proved_shared_store32(uint8_t *p, uint32_t v)
{
	vnrx_shared_store32(p, v);
}
