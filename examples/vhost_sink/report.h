/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXAMPLES_VHOST_SINK_REPORT_H
#define EXAMPLES_VHOST_SINK_REPORT_H

#include "vhost_net.h"

/* What is counted, over all queues. */
struct sink_sums {
	vnetrx_ns now;
	uint64_t  cpu_ns;     /* of this process                */
	uint64_t  interrupts;
	uint64_t  doorbells;
	uint64_t  connects;
	struct vnetrx_rxq_stats stats;
};

void sink_sums_read(struct sink_sums *sums, const struct vhost_net *net, vnetrx_ns now);

/* One line about what happened between two moments; with json an object of all counters as they are now. */
void sink_report_line(const struct sink_sums *from, const struct sink_sums *to, bool json);

/* Every counter that is not 0, and what it counts; with json the same object as above. */
void sink_report_end(const struct sink_sums *from, const struct sink_sums *to, bool json);

#endif
