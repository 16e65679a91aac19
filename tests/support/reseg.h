/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts a delivered packet into the segments it was made of (law 1). Shares no code with the library. */
#ifndef TEST_RESEG_H
#define TEST_RESEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view.h"

/* A delivered packet in one piece, with what the cut needs. */
struct reseg {
	const uint8_t *bytes;
	size_t   len;
	unsigned gso_size;       /* payload of each segment but the last; 0 = one segment      */
	unsigned segs;
	bool     id_fixed;       /* IPv4 ids all equal, else rising by one                     */
	bool     outer_id_fixed; /* the same of the header around a tunnel                     */
	const struct view_rules *rules; /* NULL = the usual ones                               */
	bool     udp_len_any;    /* merged by the device, which may have left the UDP length as it was in the first */
};

/* Checks that the packet can be cut: NULL, or what is wrong with it. */
const char *reseg_check(const struct reseg *r);

/* Writes segment i, with right lengths and checksums, to out and returns its length. The packet passed reseg_check().
 */
size_t reseg_cut(const struct reseg *r, unsigned i, uint8_t *out);

/* Writes the right checksums into a whole TCP or UDP frame; those that are 0 in UDP stay 0. */
void reseg_csum(const struct view_rules *rules, uint8_t *frame, size_t len);

#endif
