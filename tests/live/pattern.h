/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbered frames whose every byte is known.
 *
 *   0 destination  6 source  12 type 0x88b5  14 number (8)  22 length (4)  26 queue pair (2)  28 payload
 *
 * The payload is a piece of one random table; which piece follows from the number. The table lies in memory that the
 * device reads, so that it can be sent in place, and once more in private memory, to compare with.
 */
#ifndef LIVE_PATTERN_H
#define LIVE_PATTERN_H

#include <stdint.h>

#include "vnetrx/pkt.h"

#define PATTERN_HDR   28u
#define PATTERN_FRAME 9216u /* longest frame */
#define PATTERN_START 8192u /* pieces begin before this */
#define PATTERN_SIZE  (PATTERN_START + PATTERN_FRAME)

/* Fills the table and its copy. */
void pattern_init(uint8_t *shared);

/* Where in the table the payload of this frame begins. */
uint32_t pattern_at(uint64_t number);

/* The PATTERN_HDR bytes that begin a frame. */
void pattern_header(uint8_t *to, uint64_t number, uint32_t len, uint16_t pair);

/* Reads number and length of a received frame and compares all its bytes; false = it is not as it was sent. */
bool pattern_check(const struct vnetrx_pkt *pkt, uint16_t pair, uint64_t *number);

#endif
