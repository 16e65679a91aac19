/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines that vnetrx-replay --meta writes, as far as a cut needs them. */
#ifndef CHECK_META_H
#define CHECK_META_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum id_mode { ID_NONE, ID_RISING, ID_FIXED };

struct meta {
	uint64_t n;
	uint64_t len;
	uint64_t segs;
	uint64_t gso_size;
	unsigned levels;    /* IP levels with an id mode, outermost first */
	enum id_mode id[2];
};

/* The next line; false: there is none, or it is not understood (then *bad). */
bool meta_read(FILE *file, struct meta *meta, bool *bad);

#endif
