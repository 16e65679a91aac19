/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXAMPLES_BOX_REPORT_H
#define EXAMPLES_BOX_REPORT_H

#include "lane.h"

/* One way, over all queues. */
struct box_way {
	struct link_stats       in;
	uint64_t                reads[PORT_QUEUES_MAX]; /* frames read, of each queue */
	struct vnetrx_rxq_stats stats;
	struct lane_counters    count;
};

struct box_sums {
	vnetrx_ns now;
	vnetrx_ns cpu;     /* of this process                          */
	unsigned  queues;
	struct box_way way[2]; /* from IN to OUT, and the way back     */
};

/* Lanes of one way are next to each other: first all from IN to OUT, then as many the way back. */
void box_sums_read(struct box_sums *sums, const struct lane *lanes, unsigned queues);

/* What happened between two moments; with json an object of all counters as they are now. */
void box_report_line(const struct box_sums *from, const struct box_sums *to, bool json);

/* Every counter that is not 0, and what it counts; with json the same object as above. */
void box_report_end(const struct box_sums *from, const struct box_sums *to, bool json);

#endif
