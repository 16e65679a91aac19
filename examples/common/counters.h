/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs' reports have in common: a queue's counters, walked as an array. */
#ifndef EXAMPLES_COUNTERS_H
#define EXAMPLES_COUNTERS_H

#include <stdio.h>

#include "vnetrx/stats.h"

/* The i-th counter; vnetrx_stats_name(i) is its name. */
uint64_t counters_at(const struct vnetrx_rxq_stats *stats, unsigned i);

void counters_add(struct vnetrx_rxq_stats *sum, const struct vnetrx_rxq_stats *stats);

/* Packets that were dropped on their way in, for whatever reason. */
uint64_t counters_drops(const struct vnetrx_merge_stats *merge);

/* `"PREFIXname":value` for each, commas between. */
void counters_json(FILE *file, const char *prefix, const struct vnetrx_rxq_stats *stats);

/* A line for each, with what it counts; those that are 0 only with `all`. */
void counters_table(FILE *file, const struct vnetrx_rxq_stats *stats, bool all);

/* a / b, and 0 for nothing of nothing. */
double counters_ratio(uint64_t a, uint64_t b);

#endif
