/* SPDX-License-Identifier: BSD-3-Clause */
/* Repeatable random numbers for the devices: a counter, well mixed (the output step of SplitMix64). */
#ifndef EXAMPLES_RNG_H
#define EXAMPLES_RNG_H

#include <stdint.h>

static inline uint32_t rng_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)(x >> 32);
}

/* 0..n-1; n is not 0. */
static inline uint32_t rng_below(uint64_t *state, uint32_t n)
{
	return rng_next(state) % n;
}

#endif
