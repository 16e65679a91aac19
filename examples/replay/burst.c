/* SPDX-License-Identifier: BSD-3-Clause */
#include "burst.h"

#include <stdlib.h>
#include <string.h>

static void *grow(void *mem, size_t want, size_t *have, size_t item)
{
	size_t more = *have * 2u > want ? *have * 2u : want + 64u;

	mem = realloc(mem, more * item);
	if (mem != NULL)
		*have = more;
	return mem;
}

bool burst_add(struct burst *burst, const void *data, uint32_t len, vnetrx_ns ns)
{
	if (burst->num + 1u > burst->num_max) {
		void *mem = grow(burst->frames, burst->num + 1u, &burst->num_max, sizeof(*burst->frames));

		if (mem == NULL)
			return false;
		burst->frames = mem;
	}
	if (burst->bytes == NULL || burst->size + len > burst->size_max) { /* a packet without a byte has a place too */
		void *mem = grow(burst->bytes, burst->size + len, &burst->size_max, 1u);

		if (mem == NULL)
			return false;
		burst->bytes = mem;
	}
	burst->frames[burst->num++] = (struct burst_frame){ .at = burst->size, .len = len, .ns = ns };
	if (len > 0u)
		memcpy(burst->bytes + burst->size, data, len);
	burst->size += len;
	return true;
}

void burst_clear(struct burst *burst)
{
	burst->num = 0u;
	burst->size = 0u;
}

void burst_free(struct burst *burst)
{
	free(burst->frames);
	free(burst->bytes);
	*burst = (struct burst){ 0 };
}
