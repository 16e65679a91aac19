/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "counters.h"

#define ADD_FIELD(name, text) sum->count.name += lane->count.name;

static const char *const names[2] = { "forward", "back" };

static void add_lane(struct box_way *sum, uint64_t *reads, const struct lane *lane)
{
	const struct link_stats *in = lane->in.stats;
	struct vnetrx_rxq_stats stats;

	vnetrx_rxq_read_stats(lane->rxq, &stats);
	counters_add(&sum->stats, &stats);
	LANE_COUNTERS(ADD_FIELD)
	*reads = in->reads;
	sum->in.reads += in->reads;
	sum->in.read_bytes += in->read_bytes;
	sum->in.lost += in->lost;
	sum->in.no_room += in->no_room;
}

void box_sums_read(struct box_sums *sums, const struct lane *lanes, unsigned queues)
{
	unsigned i;

	*sums = (struct box_sums){ .now = clock_now(), .cpu = clock_cpu(), .queues = queues };
	for (i = 0u; i < 2u * queues; i++) {
		struct box_way *way = &sums->way[i / queues];

		add_lane(way, &way->reads[i % queues], &lanes[i]);
	}
}

#define JSON_FIELD(name, text) printf(",\"%s.out.%s\":%" PRIu64, prefix, #name, way->count.name);

static void json_way(const char *prefix, const struct box_way *way, unsigned queues)
{
	char dotted[16];
	unsigned i;

	for (i = 0u; i < queues; i++)
		printf(",\"%s.in.reads.%u\":%" PRIu64, prefix, i, way->reads[i]);
	snprintf(dotted, sizeof(dotted), "%s.", prefix);
	printf(",\"%s.in.reads\":%" PRIu64 ",\"%s.in.read_bytes\":%" PRIu64 ",\"%s.in.lost\":%" PRIu64
	       ",\"%s.in.no_room\":%" PRIu64 ",\"%s.drops\":%" PRIu64 ",",
	       prefix, way->in.reads, prefix, way->in.read_bytes, prefix, way->in.lost, prefix, way->in.no_room,
	       prefix, counters_drops(&way->stats.merge) + lane_dropped(&way->count));
	counters_json(stdout, dotted, &way->stats);
	LANE_COUNTERS(JSON_FIELD)
}

static void json_line(const struct box_sums *from, const struct box_sums *to)
{
	unsigned i;

	printf("{\"seconds\":%.3f,\"cpu_seconds\":%.4f", (double)(to->now - from->now) / 1e9,
	       (double)(to->cpu - from->cpu) / 1e9);
	for (i = 0u; i < 2u; i++)
		json_way(names[i], &to->way[i], to->queues);
	printf("}\n");
	fflush(stdout);
}

static void text_way(const struct box_way *a, const struct box_way *b, double s)
{
	uint64_t reads = b->in.reads - a->in.reads;
	uint64_t up = b->stats.queue.delivered - a->stats.queue.delivered;
	uint64_t segs = b->stats.queue.delivered_segs - a->stats.queue.delivered_segs;
	uint64_t lost = counters_drops(&b->stats.merge) - counters_drops(&a->stats.merge) + lane_dropped(&b->count) -
			lane_dropped(&a->count);

	printf("%8.3f Mpps %7.3f Gbit/s %6.2f segs/packet %" PRIu64 " dropped", (double)reads / s / 1e6,
	       (double)(b->in.read_bytes - a->in.read_bytes) * 8.0 / s / 1e9, counters_ratio(segs, up), lost);
}

void box_report_line(const struct box_sums *from, const struct box_sums *to, bool json)
{
	double s = (double)(to->now - from->now) / 1e9;

	if (json) {
		json_line(from, to);
		return;
	}
	printf("forward ");
	text_way(&from->way[0], &to->way[0], s);
	printf("   back ");
	text_way(&from->way[1], &to->way[1], s);
	printf("   cpu %5.1f %%\n", (double)(to->cpu - from->cpu) / s / 1e7);
	fflush(stdout);
}

static void table_line(const char *name, uint64_t value, const char *text)
{
	if (value != 0u)
		printf("%-22s %14" PRIu64 "  %s\n", name, value, text);
}

#define TABLE_FIELD(name, text) table_line("out." #name, way->count.name, text);

void box_report_end(const struct box_sums *from, const struct box_sums *to, bool json)
{
	unsigned i;

	if (json) {
		json_line(from, to);
		return;
	}
	printf("\nAltogether:\n");
	box_report_line(from, to, false);
	for (i = 0u; i < 2u; i++) {
		const struct box_way *way = &to->way[i];

		printf("\n%s:\n", names[i]);
		table_line("in.reads", way->in.reads, "frames that the kernel handed us");
		table_line("in.read_bytes", way->in.read_bytes, "bytes of these");
		table_line("in.lost", way->in.lost, "frames that the kernel says it lost at our queues");
		table_line("in.no_room", way->in.no_room, "times nothing was read because too few buffers were posted");
		counters_table(stdout, &way->stats, false);
		LANE_COUNTERS(TABLE_FIELD)
	}
}
