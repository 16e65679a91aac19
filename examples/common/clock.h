/* SPDX-License-Identifier: BSD-3-Clause */
/* The clocks of the programs. Wants _GNU_SOURCE or the like. */
#ifndef EXAMPLES_CLOCK_H
#define EXAMPLES_CLOCK_H

#include <time.h>

#include "vnetrx/base.h"

#define SECOND_NS 1000000000u

static inline vnetrx_ns clock_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (vnetrx_ns)ts.tv_sec * SECOND_NS + (vnetrx_ns)ts.tv_nsec;
}

static inline vnetrx_ns clock_now(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

/* CPU time of this process. */
static inline vnetrx_ns clock_cpu(void)
{
	return clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
