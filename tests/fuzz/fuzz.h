/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzzers share: an input that is read piece by piece, and checks that end the process. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FUZZ_CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort(); \
		} \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_input {
	const uint8_t *data;
	size_t         left;
};

/* Past the end all bytes are 0. */
static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->data++;
}

static inline uint16_t fuzz_u16(struct fuzz_input *in)
{
	uint16_t low = fuzz_u8(in);

	return (uint16_t)(low + fuzz_u8(in) * 256u);
}

static inline uint32_t fuzz_u32(struct fuzz_input *in)
{
	uint32_t low = fuzz_u16(in);

	return low + (uint32_t)fuzz_u16(in) * 65536u;
}

/* A number below n. */
static inline unsigned fuzz_below(struct fuzz_input *in, unsigned n)
{
	return fuzz_u8(in) % n;
}

#endif
