/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What run.sh tells the program: one word, written into memory by
 *
 *	-device loader,addr=MACHINE.OPTIONS,data=WORD,data-len=8
 *
 *   63..48 mark   47..32 connections to serve   31..16 seconds to run   15..0 flags
 *
 * Without the mark, as when nobody wrote anything, all of it counts as 0.
 */
#ifndef UNIKERNEL_OPTIONS_H
#define UNIKERNEL_OPTIONS_H

#include "machine.h"

#define OPTIONS_MARK   0x7678u
#define OPTIONS_NO_GRO 1u /* packets go up as they come                       */
#define OPTIONS_SUM    2u /* print the Adler-32 (RFC 1950) of what is received */

struct options {
	unsigned connections; /* ends when so many were closed; 0 = never         */
	unsigned seconds;     /* ends after so long, with an error; 0 = never     */
	unsigned flags;       /* OPTIONS_*                                        */
};

static inline struct options options_read(void)
{
	uint64_t word = *(const volatile uint64_t *)machine.options;

	if (word >> 48 != OPTIONS_MARK)
		word = 0u;
	return (struct options){
		.connections = (unsigned)(word >> 32) & 0xffffu,
		.seconds = (unsigned)(word >> 16) & 0xffffu,
		.flags = (unsigned)word & 0xffffu,
	};
}

#endif
