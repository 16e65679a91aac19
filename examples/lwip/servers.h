/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXAMPLES_LWIP_SERVERS_H
#define EXAMPLES_LWIP_SERVERS_H

#include <stdbool.h>
#include <stdint.h>

struct servers {
	uint64_t bytes;  /* received by both            */
	uint64_t echoed; /* bytes sent back by the echo */
	uint64_t conns;
};

/* A sink of TCP on port 5001, where iperf 2 looks for its server, and an echo on port 7. With the core lock held. */
bool servers_start(struct servers *s);

#endif
