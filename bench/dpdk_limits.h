/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits, collected while the rows are measured and printed together, each beside its figure. */
#ifndef DPDK_LIMITS_H
#define DPDK_LIMITS_H

#include <stdbool.h>

struct bench;

/* A figure that must be at most the limit, or at least. `quiet` false: no repeat was quiet, the figure is that of the
 * lowest ones. */
void limit_at_most(const char *row, const char *what, double figure, double limit, bool quiet);
void limit_at_least(const char *row, const char *what, double figure, double limit, bool quiet);

/* Prints all; with --check counts the misses. */
void limits_print(struct bench *b);

#endif
