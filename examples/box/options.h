/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXAMPLES_BOX_OPTIONS_H
#define EXAMPLES_BOX_OPTIONS_H

#include "port.h"
#include "vnetrx/rxq.h"

#define EXIT_USAGE 1
#define EXIT_PORT  2 /* an interface cannot be had, went down or went away */
#define EXIT_SUMS  3 /* the counters do not add up                         */
#define EXIT_LEAK  4 /* a buffer did not come back                         */

struct box_options {
	struct port_config in;
	struct port_config out;
	struct vnetrx_rxq_config rxq;
	uint64_t seconds; /* 0 = until stopped         */
	bool     json;
	bool     quiet;   /* the sums at the end only  */
};

/* Reads the command line; complains and returns an exit code, or -1 = go on. */
int box_options_read(struct box_options *opts, int argc, char **argv);

#endif
