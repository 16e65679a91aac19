/* SPDX-License-Identifier: BSD-3-Clause */
/* What vnetrx-replay says about packets and counters. */
#ifndef REPLAY_REPORT_H
#define REPLAY_REPORT_H

#include <stdio.h>

#include "vnetrx/pkt.h"

/* One JSON line about the n-th delivered packet; false: the file does not take it. */
bool replay_meta(FILE *file, uint64_t n, const struct vnetrx_pkt *pkt, vnetrx_ns out_ns);

#endif
