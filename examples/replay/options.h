/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPLAY_OPTIONS_H
#define REPLAY_OPTIONS_H

#include "vnetrx/base.h"

#define REPLAY_HDR_LEN 12u

#define REPLAY_EXIT_USAGE  1
#define REPLAY_EXIT_INPUT  2
#define REPLAY_EXIT_OUTPUT 3

struct replay_options {
	const char *in;
	const char *out;
	const char *meta;      /* NULL = none                                          */
	uint32_t  poll;        /* 0 = once, at the end of the file                     */
	uint32_t  buf_len_min; /* 0 = the library's default                            */
	uint32_t  buf_len_max;
	uint32_t  ring;
	uint32_t  flows;
	uint64_t  seed;
	vnetrx_ns flush_timeout;
	vnetrx_ns hold_max;    /* 0 = the library's default                            */
	bool      udp;
	bool      udp_zero;
	bool      adaptive;
	bool      rfc6864;
	bool      no_gro;
	bool      no_coalesce;
	bool      trust_csum;
	bool      stats;
	bool      json;
};

/* Reads the command line. < 0: go on; else the code to exit with, everything that had to be said is said. */
int replay_options_read(struct replay_options *opts, int argc, char **argv);

#endif
