/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* clock_gettime() */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "counters.h"

void sink_sums_read(struct sink_sums *sums, const struct vhost_net *net, vnetrx_ns now)
{
	struct timespec ts;
	unsigned i;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	*sums = (struct sink_sums){
		.now = now,
		.cpu_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec,
		.connects = net->connects,
	};
	for (i = 0u; i < net->npairs && net->made; i++) {
		const struct vhost_net_pair *pair = &net->pairs[i];
		struct vnetrx_rxq_stats stats;

		vnetrx_rxq_read_stats(pair->rxq, &stats);
		counters_add(&sums->stats, &stats);
		sums->interrupts += pair->rx_ring->calls;
		sums->doorbells += pair->dev.doorbells;
	}
}

static void json_line(const struct sink_sums *from, const struct sink_sums *to)
{
	printf("{\"seconds\":%.3f,\"cpu_seconds\":%.4f,\"connects\":%" PRIu64 ",\"interrupts\":%" PRIu64
	       ",\"doorbells\":%" PRIu64 ",\"drops\":%" PRIu64 ",",
	       (double)(to->now - from->now) / 1e9, (double)(to->cpu_ns - from->cpu_ns) / 1e9, to->connects,
	       to->interrupts, to->doorbells, counters_drops(&to->stats.merge));
	counters_json(stdout, "", &to->stats);
	printf("}\n");
	fflush(stdout);
}

void sink_report_line(const struct sink_sums *from, const struct sink_sums *to, bool json)
{
	const struct vnetrx_rxq_stats *a = &from->stats, *b = &to->stats;
	double s = (double)(to->now - from->now) / 1e9;
	uint64_t pkts = b->merge.pkts - a->merge.pkts;
	uint64_t up = b->queue.delivered - a->queue.delivered;

	if (json) {
		json_line(from, to);
		return;
	}
	printf("%8.3f Mpps %8.3f Gbit/s  %5.2f bufs/pkt %6.2f segs/delivered  posted %5" PRIu64 "  drops %" PRIu64
	       "  intr/s %8.0f  doorbells/s %8.0f  cpu %5.1f %%\n",
	       (double)pkts / s / 1e6, (double)(b->merge.bytes - a->merge.bytes) * 8.0 / s / 1e9,
	       counters_ratio(b->merge.bufs - a->merge.bufs, pkts),
	       counters_ratio(b->queue.delivered_segs - a->queue.delivered_segs, up), b->pool.bufs_lent,
	       counters_drops(&b->merge) - counters_drops(&a->merge), (double)(to->interrupts - from->interrupts) / s,
	       (double)(to->doorbells - from->doorbells) / s, (double)(to->cpu_ns - from->cpu_ns) / s / 1e7);
	fflush(stdout);
}

void sink_report_end(const struct sink_sums *from, const struct sink_sums *to, bool json)
{
	if (json) {
		json_line(from, to);
		return;
	}
	printf("\nAltogether:\n");
	sink_report_line(from, to, false);
	counters_table(stdout, &to->stats, false);
}
