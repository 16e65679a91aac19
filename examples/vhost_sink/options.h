/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXAMPLES_VHOST_SINK_OPTIONS_H
#define EXAMPLES_VHOST_SINK_OPTIONS_H

#include "vhost_net.h"

#define EXIT_USAGE   1
#define EXIT_BACKEND 2 /* the back end, or the memory, is not as it must be */
#define EXIT_LIMIT   3 /* --count was not reached                           */
#define EXIT_LEAK    4 /* a buffer did not come back                        */

struct sink_options {
	struct vhost_net_config net;
	unsigned kinds;     /* VHOST_NET_*                     */
	uint32_t mtu;
	uint64_t seconds;   /* 0 = until stopped               */
	uint64_t count;     /* packets; 0 = any number         */
	bool     busy;      /* poll without sleeping           */
	bool     once;      /* end when the back end goes away */
	bool     json;
	bool     quiet;     /* the sums at the end only        */
};

/* Reads the command line; complains and returns an exit code, or -1 = go on. */
int sink_options_read(struct sink_options *opts, int argc, char **argv);

#endif
