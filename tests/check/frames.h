/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capture files of the checker, whole in memory: pcap and pcapng, gzip too, read by libpcap and zlib.
 *
 * Nothing in tests/check/ uses the library, the examples or the other tests' support: what is wrong there must not be
 * wrong here in the same way.
 */
#ifndef CHECK_FRAMES_H
#define CHECK_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ETH_HDR 14u

struct frame {
	uint8_t *data; /* an Ethernet frame                                                   */
	uint32_t len;
	uint32_t fcs;  /* bytes of it that are a right frame check sequence at its end: 0, 4   */
	uint64_t ns;
};

struct frames {
	struct frame *frame;
	size_t num;
	size_t skip;    /* first bytes of each frame that were not in the file: 0 or ETH_HDR   */
	bool   damaged; /* the file ends in the middle of a record                             */
	char   error[300];
};

/* Reads Ethernet, raw IP and Linux cooked; the latter two get an Ethernet header with addresses of 0. false: error. */
bool frames_read(struct frames *frames, const char *path);

/* Writes a pcap file of Ethernet frames; or of any link type, the frames as they are. */
bool frames_write(const struct frames *frames, const char *path, int link);

void frames_free(struct frames *frames);

#endif
