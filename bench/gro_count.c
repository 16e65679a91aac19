/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives one case to the GRO engine, a number of times, and says how many packets that were: for programs that count
 * instructions, see gro_count.sh. Nothing else in it calls vnetrx_gro_receive() or vnetrx_gro_flush().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "gro_work.h"

#define ROUNDS 2u

static unsigned pick(const char *text, const char *(*name)(unsigned), unsigned n)
{
	unsigned i;

	for (i = 0; i < n && strcmp(text, name(i)) != 0; i++)
		;
	if (i == n)
		bench_die("unknown pattern or kind");
	return i;
}

static const char *pattern_name(unsigned i)
{
	return traffic_name((enum traffic_pattern)i);
}

static const char *kind_name(unsigned i)
{
	return traffic_kind_name((enum traffic_kind)i);
}

int main(int argc, char **argv)
{
	static struct supply supply;
	static struct gro_work work;
	struct gro_case c = { .memory = MEMORY_HOT, .payload = TRAFFIC_PAYLOAD };
	char *no_options[] = { argv[0], "--small-pages", "--json", NULL };
	struct bench b;
	unsigned i;

	if (argc < 6) {
		fprintf(stderr, "usage: %s train44|rr|rand FLOWS WINDOW BURST tcp4|vlan|tcp6|vxlan|udp4 [PUSH_EVERY]\n",
			argv[0]);
		return 1;
	}
	c.pattern = (enum traffic_pattern)pick(argv[1], pattern_name, TRAFFIC_PATTERNS);
	c.flows = (uint32_t)strtoul(argv[2], NULL, 10);
	c.window = (uint32_t)strtoul(argv[3], NULL, 10);
	c.burst = (uint32_t)strtoul(argv[4], NULL, 10);
	c.kind = (enum traffic_kind)pick(argv[5], kind_name, TRAFFIC_KINDS);
	c.push_every = argc > 6 ? (uint32_t)strtoul(argv[6], NULL, 10) : 0u;
	bench_init(&b, 3, no_options, "gro_count", "");
	supply_init(&supply, &b, true);
	supply_order(&supply, c.memory, c.window);
	work.b = &b;
	work.s = &supply;
	work.mem = bench_alloc(&b, GRO_WORK_MEM);
	gro_work_init(&work, &c, VNETRX_GRO_TCP | VNETRX_GRO_UDP | VNETRX_GRO_TUNNEL, 0);
	for (i = 0; i < ROUNDS; i++)
		(void)gro_work_repeat(&work);
	printf("\npackets %llu out %llu\n", (unsigned long long)work.pkts, (unsigned long long)work.out);
	return 0;
}
