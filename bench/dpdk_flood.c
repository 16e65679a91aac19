/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Floods, against a table of 64 places that is flushed at the end of a chunk only.
 *
 * Aimed: 48 flows that share one set of the table under one key. Under another key they must cost what random flows
 * cost; what they do under the key that they were made for stands beside it. One hash: a million flows, each packet of
 * another one, for all of which the device reports the same hash.
 */
#include "vs_dpdk.h"

#include <stdio.h>

#include "dpdk_limits.h"
#include "gro/flow.h"
#include "mem.h"

#define AIMED    48u
#define MILLION  (1u << 20)
#define PLACES   64u
#define KEY1     0x6a09e667f3bcc908u
#define KEY2     0xbb67ae8584caa73bu
#define KEY_HIGH 0x13198a2e03707344u /* as gro_work.c has it */

/* Numbers of flows that share a set under KEY1. */
static void aim(struct vs *vs, uint32_t *numbers)
{
	const uint64_t key[2] = { KEY1, KEY_HIGH };
	struct vnrx_mem mem = { .base = vs->ours[0].mem, .size = GRO_WORK_MEM };
	struct vnrx_flows table;
	struct traffic t;
	uint8_t frame[TRAFFIC_HDR_MAX];
	uint32_t number, n = 0;

	vnrx_flows_init(&table, &mem, PLACES, key);
	traffic_init(&t, TRAFFIC_RR, 1);
	for (number = 0; n < AIMED && number < MILLION; number++) {
		uint64_t addrs;
		uint32_t hash;

		traffic_frame(&t, frame, number, 0);
		addrs = vnrx_hash_addrs(&table, frame + t.l3, 4, VNRX_KEY_INNER);
		hash = vnrx_hash_flow(&table, addrs, vnrx_load32(frame + t.l4), VNRX_PROTO_TCP);
		if (vnrx_hash_set(&table, hash) == 0u)
			numbers[n++] = number;
	}
	if (n != AIMED)
		bench_die("too few flows share a set");
}

static void random_numbers(uint32_t *numbers)
{
	uint32_t rnd = 0x9e3779b9u, i;

	for (i = 0; i < AIMED; i++) {
		rnd ^= rnd << 13;
		rnd ^= rnd >> 17;
		rnd ^= rnd << 5;
		numbers[i] = rnd % MILLION;
	}
}

static void print_rows(struct vs *vs, const struct bench_work *works, const char *const *names, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		bench_text(vs->b, names[i]);
		bench_stat_cells(vs->b, &works[i].stat);
		bench_number(vs->b, gro_work_segs(works[i].arg), 1);
		bench_number(vs->b, bench_times(works, i), 2);
		bench_row_end(vs->b);
	}
	limit_at_most(names[1], "times the ns of random flows", bench_times(works, 1), 1.5, works[1].ratio.quiet != 0u);
}

static struct gro_case flood(enum memory memory, uint32_t flows, const uint32_t *numbers)
{
	return (struct gro_case){
		.pattern = TRAFFIC_RAND,
		.memory = memory,
		.flows = flows,
		.payload = TRAFFIC_PAYLOAD,
		.burst = 64,
		.numbers = numbers,
	};
}

static void aimed_rows(struct vs *vs, enum memory memory)
{
	static const char *const names[MEMORIES][3] = {
		{ "hot 48 random flows", "hot 48 aimed, other key", "hot 48 aimed, their key" },
		{ "cold 48 random flows", "cold 48 aimed, other key", "cold 48 aimed, their key" },
	};
	static uint32_t aimed[AIMED], usual[AIMED];
	const uint64_t keys[3] = { KEY2, KEY2, KEY1 };
	struct gro_case cases[3];
	struct bench_work works[3];
	unsigned i;

	aim(vs, aimed);
	random_numbers(usual);
	for (i = 0; i < 3u; i++) {
		cases[i] = flood(memory, AIMED, i == 0 ? usual : aimed);
		works[i] = (struct bench_work){
			.fn = gro_work_repeat,
			.arg = vs_ours(vs, i, &cases[i], VNETRX_GRO_TCP, keys[i]),
		};
	}
	bench_turns(vs->b, works, 3);
	print_rows(vs, works, names[memory], 3);
}

static void hash_rows(struct vs *vs, enum memory memory)
{
	static const char *const names[MEMORIES][2] = {
		{ "hot 2^20 random flows", "hot 2^20, one hash" },
		{ "cold 2^20 random flows", "cold 2^20, one hash" },
	};
	struct gro_case c = flood(memory, MILLION, NULL);
	struct bench_work works[2];
	unsigned i;

	for (i = 0; i < 2u; i++) {
		works[i] = (struct bench_work){
			.fn = gro_work_repeat,
			.arg = vs_ours(vs, i, &c, VNETRX_GRO_TCP, KEY2),
		};
		vs->ours[i].hash = i == 1u;
	}
	bench_turns(vs->b, works, 2);
	print_rows(vs, works, names[memory], 2);
}

void vs_floods(struct vs *vs)
{
	static const char *const cols[] = { "floods, ns per packet", BENCH_STAT_COLS, "segs/pkt", "x random" };
	unsigned memory;

	if (!bench_wanted(vs->b, "flood"))
		return;
	bench_table(vs->b, cols, sizeof(cols) / sizeof(cols[0]));
	for (memory = 0; memory <= MEMORY_COLD; memory++) {
		aimed_rows(vs, (enum memory)memory);
		hash_rows(vs, (enum memory)memory);
	}
}
