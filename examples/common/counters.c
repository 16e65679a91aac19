/* SPDX-License-Identifier: BSD-3-Clause */
#include "counters.h"

#include <inttypes.h>
#include <string.h>

uint64_t counters_at(const struct vnetrx_rxq_stats *stats, unsigned i)
{
	uint64_t value;

	memcpy(&value, (const char *)stats + i * sizeof(value), sizeof(value));
	return value;
}

void counters_add(struct vnetrx_rxq_stats *sum, const struct vnetrx_rxq_stats *stats)
{
	unsigned i;

	for (i = 0u; i < VNETRX_STATS_NUM; i++) {
		uint64_t value = counters_at(sum, i) + counters_at(stats, i);

		memcpy((char *)sum + i * sizeof(value), &value, sizeof(value));
	}
}

uint64_t counters_drops(const struct vnetrx_merge_stats *m)
{
	return m->drop_error + m->drop_short + m->drop_long + m->drop_nbufs + m->drop_missing + m->drop_decode +
	       m->drop_meta + m->drop_frame_long + m->drop_no_pkt;
}

void counters_json(FILE *file, const char *prefix, const struct vnetrx_rxq_stats *stats)
{
	unsigned i;

	for (i = 0u; vnetrx_stats_name(i) != NULL; i++)
		fprintf(file, "%s\"%s%s\":%" PRIu64, i == 0u ? "" : ",", prefix, vnetrx_stats_name(i),
			counters_at(stats, i));
}

void counters_table(FILE *file, const struct vnetrx_rxq_stats *stats, bool all)
{
	unsigned i;

	for (i = 0u; vnetrx_stats_name(i) != NULL; i++)
		if (all || counters_at(stats, i) != 0u)
			fprintf(file, "%-22s %14" PRIu64 "  %s\n", vnetrx_stats_name(i), counters_at(stats, i),
				vnetrx_stats_text(i));
}

double counters_ratio(uint64_t a, uint64_t b)
{
	return b != 0u ? (double)a / (double)b : 0.0;
}
