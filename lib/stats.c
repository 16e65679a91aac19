/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and texts of all counters, in the order of struct vnetrx_rxq_stats and struct vnetrx_txq_stats. */
#include "vnetrx/stats.h"

#include "compiler.h"

#define QUEUE_ROW(name, text) { "queue." #name, text },
#define POOL_ROW(name, text)  { "pool." #name, text },
#define MERGE_ROW(name, text) { "merge." #name, text },
#define GRO_ROW(name, text)   { "gro." #name, text },
#define TXQ_ROW(name, text)   { "tx." #name, text },

struct row {
	const char *name;
	const char *text;
};

static const struct row rows[] = {
	VNETRX_QUEUE_STATS(QUEUE_ROW)
	VNETRX_POOL_STATS(POOL_ROW)
	VNETRX_MERGE_STATS(MERGE_ROW)
	VNETRX_GRO_STATS(GRO_ROW)
};

static const struct row txq_rows[] = { VNETRX_TXQ_STATS(TXQ_ROW) };

_Static_assert(sizeof(rows) / sizeof(rows[0]) == VNETRX_STATS_NUM, "one row per counter");
_Static_assert(sizeof(txq_rows) / sizeof(txq_rows[0]) == VNETRX_TXQ_STATS_NUM, "one row per counter");

const char *vnetrx_stats_name(unsigned i)
{
	return i < VNETRX_STATS_NUM ? rows[i].name : NULL;
}

const char *vnetrx_stats_text(unsigned i)
{
	return i < VNETRX_STATS_NUM ? rows[i].text : NULL;
}

const char *vnetrx_txq_stats_name(unsigned i)
{
	return i < VNETRX_TXQ_STATS_NUM ? txq_rows[i].name : NULL;
}

const char *vnetrx_txq_stats_text(unsigned i)
{
	return i < VNETRX_TXQ_STATS_NUM ? txq_rows[i].text : NULL;
}
