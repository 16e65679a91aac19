/* SPDX-License-Identifier: BSD-3-Clause */
/* Mixes of packet lengths, the same sequence each time. */
#ifndef MIX_H
#define MIX_H

#include <stdint.h>

#define MIX_MTU 1514u
#define MIX_GSO 65226u /* 45 segments of 1448 bytes and their headers */

enum mix_kind {
	MIX_SMALL,        /* 60 to 500 bytes                                                       */
	MIX_FULL,         /* MTU                                                                   */
	MIX_LARGE,        /* GSO of 64 KiB                                                         */
	MIX_ACKS_GSO,     /* seven of eight 66 bytes, else GSO                                     */
	MIX_300_GSO,      /* seven of eight 300 bytes, else GSO                                    */
	MIX_300_MTU_9000, /* a third each                                                          */
	MIX_DRIFT,        /* from 64 bytes to 64 KiB and back, a factor of two in about 400 packets */
	MIX_PHASES,       /* 2000 packets each of small, MTU, GSO, 9000 bytes, ACKs with GSO       */
	MIX_KINDS
};

struct mix {
	enum mix_kind kind;
	uint32_t      rnd;
	uint32_t      nth;
};

const char *mix_name(enum mix_kind kind);

/* Starts anew. */
void mix_init(struct mix *m, enum mix_kind kind);

/* The length of the next packet. */
uint32_t mix_next(struct mix *m);

#endif
