/* SPDX-License-Identifier: BSD-3-Clause */
/* A capture file as a list of Ethernet frames: pcap and pcapng, gzip too. Shares no code with the library or its examples. */
#ifndef TEST_CAPTURE_H
#define TEST_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_frame {
	uint8_t *bytes;
	size_t   len;
	bool     synth; /* its link layer was another one: the Ethernet header is made up */
};

struct capture {
	struct capture_frame *frame;
	size_t n, cap;
	uint8_t *file; /* the whole file, unpacked */
	size_t   file_len;
	char     error[160];
};

/* false: error says why; the frames before the bad place are there. */
bool capture_read(struct capture *c, const char *path);
void capture_free(struct capture *c);

#endif
