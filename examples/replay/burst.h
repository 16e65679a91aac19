/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames read ahead: a burst of packets that go into the device together. */
#ifndef REPLAY_BURST_H
#define REPLAY_BURST_H

#include "vnetrx/base.h"

struct burst_frame {
	size_t    at;  /* of its first byte in `bytes` */
	uint32_t  len;
	vnetrx_ns ns;
};

struct burst {
	struct burst_frame *frames;
	uint8_t *bytes;
	size_t   num;
	size_t   num_max;
	size_t   size;
	size_t   size_max;
};

/* Copies a frame to the end; false: no memory. Zero-initialised = empty. */
bool burst_add(struct burst *burst, const void *data, uint32_t len, vnetrx_ns ns);

/* Empties it; the memory stays for the next one. */
void burst_clear(struct burst *burst);

/* Gives the memory back. */
void burst_free(struct burst *burst);

#endif
