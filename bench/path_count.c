/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes one mix of packets through the path, and says how many packets and buffers that were: for programs that count
 * instructions, see count.sh. Only path_poll() and path_free() are what counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "mix.h"
#include "path.h"

#define WARM_UP 500u

/* Like path_poll() and path_free(), but does not count: lengths of buffers and the ring settle. */
static void settle(struct path *p)
{
	p->now += 1000;
	while (vnetrx_rxq_poll(p->rxq, PATH_PKTS, p->now) == PATH_PKTS)
		;
	(void)!vnetrx_rxq_complete(p->rxq, p->now);
	vnetrx_pkt_free(p->host.got, p->host.ngot);
	p->host.ngot = 0;
}

static void take(struct path *p, struct mix *m, uint32_t pkts, bool counted)
{
	uint32_t next = mix_next(m);

	while (pkts > 0u) {
		uint32_t bytes = 0, n = 0;

		for (; n < PATH_PKTS && n < pkts && bytes + next <= PATH_BYTES; n++) {
			path_write(p, next);
			bytes += next;
			next = mix_next(m);
		}
		pkts -= n;
		if (!counted) {
			settle(p);
			continue;
		}
		path_poll(p);
		path_free(p);
	}
}

static enum mix_kind kind_of(const char *name)
{
	for (unsigned i = 0; i < MIX_KINDS; i++) {
		if (strcmp(name, mix_name((enum mix_kind)i)) == 0)
			return (enum mix_kind)i;
	}
	bench_die("unknown mix");
	return MIX_KINDS;
}

int main(int argc, char **argv)
{
	static struct path path;
	char *options[] = { argv[0], "--small-pages", "--json", NULL };
	struct path_config cfg = { 0 };
	struct mix mix;
	struct bench b;

	if (argc != 7) {
		fprintf(stderr, "usage: %s MIX BUF_LEN_MIN BUF_LEN_MAX BUF_COST FLAGS PACKETS\n", argv[0]);
		return 1;
	}
	cfg.buf_len_min = (uint32_t)strtoul(argv[2], NULL, 0);
	cfg.buf_len_max = (uint32_t)strtoul(argv[3], NULL, 0);
	cfg.buf_cost = (uint32_t)strtoul(argv[4], NULL, 0);
	cfg.flags = (uint32_t)strtoul(argv[5], NULL, 0);
	bench_init(&b, 3, options, "path_count", "");
	path_open(&path, &b, &cfg);
	mix_init(&mix, kind_of(argv[1]));
	take(&path, &mix, WARM_UP, false);
	path_count_anew(&path);
	take(&path, &mix, (uint32_t)strtoul(argv[6], NULL, 0), true);
	printf("\npackets %llu buffers %llu\n", (unsigned long long)path.host.pkts, (unsigned long long)path.host.bufs);
	path_close(&path);
	return 0;
}
