/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum { OPT_POLL = 256, OPT_TIMEOUT, OPT_HOLD, OPT_BUF, OPT_RING, OPT_FLOWS, OPT_SEED, OPT_UDP, OPT_UDP_ZERO,
       OPT_ADAPTIVE, OPT_RFC6864, OPT_NO_GRO,
       OPT_NO_COALESCE, OPT_TRUST, OPT_META, OPT_STATS, OPT_JSON, OPT_HELP, OPT_VERSION };

static const struct option longs[] = {
	{ "poll", required_argument, NULL, OPT_POLL },
	{ "flush-timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "hold-max", required_argument, NULL, OPT_HOLD },
	{ "buf", required_argument, NULL, OPT_BUF },
	{ "ring", required_argument, NULL, OPT_RING },
	{ "flows", required_argument, NULL, OPT_FLOWS },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "udp", no_argument, NULL, OPT_UDP },
	{ "udp-zero", no_argument, NULL, OPT_UDP_ZERO },
	{ "adaptive", no_argument, NULL, OPT_ADAPTIVE },
	{ "rfc6864", no_argument, NULL, OPT_RFC6864 },
	{ "no-gro", no_argument, NULL, OPT_NO_GRO },
	{ "no-coalesce", no_argument, NULL, OPT_NO_COALESCE },
	{ "trust-csum", no_argument, NULL, OPT_TRUST },
	{ "meta", required_argument, NULL, OPT_META },
	{ "stats", no_argument, NULL, OPT_STATS },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char usage[] =
	"usage: vnetrx-replay [options] IN OUT\n"
	"Sends a capture through the whole receive path and writes what the host received.\n"
	"IN: pcap or pcapng, gzip too; - = standard input. OUT: Ethernet pcap, stamped with the time of delivery;\n"
	"- = standard output. IN, OUT and --meta are different files.\n"
	"\n"
	"  --poll N            end of a burst after every N packets; 0 = once, at the end of the file (64)\n"
	"  --flush-timeout NS  a packet leaves GRO after so long without a new segment, 0 = at the end of a burst (0)\n"
	"  --hold-max NS       and after so long whatever joins (64 times the timeout, at least 1 ms)\n"
	"  --buf LENGTH        auto, mtu (1536), max (4096) or BYTES: receive buffers, device header included,\n"
	"                      rounded up to a multiple of 64 (auto)\n"
	"  --ring N            buffers kept posted (256)\n"
	"  --flows N           packets that GRO holds at once (64)\n"
	"  --seed N            key of the flow hash (1)\n"
	"  --adaptive          each flow waits for a few of its own gaps; the timeout is not used\n"
	"  --udp               UDP datagrams of one size are joined too\n"
	"  --udp-zero          and those over IPv4 without a checksum; implies --udp\n"
	"  --rfc6864           ids of IPv4 datagrams with DF carry no meaning\n"
	"  --no-gro            packets are not joined\n"
	"  --no-coalesce       neighbouring buffers stay fragments of their own\n"
	"  --trust-csum        checksums count as verified by the device (captures taken above offloads)\n"
	"  --meta FILE         one JSON line about each delivered packet; \"id\": how IPv4 ids go on in a merged one,\n"
	"                      fixed or rising, null for IPv6, of each IP level, the outer first; - = standard output\n"
	"  --stats, --json     all counters on standard output, as a table or as one JSON object: one of both\n"
	"\n"
	"Exit: 0; 1 usage; 2 bad input (what was read before is written); 3 output failed.\n";

static bool valued(struct replay_options *opts, int option, const struct cli_option *o)
{
	switch (option) {
	case OPT_POLL:
		return cli_number32(o, 0u, 65536u, &opts->poll);
	case OPT_TIMEOUT:
		return cli_number(o, 0u, 1000000000000u, &opts->flush_timeout);
	case OPT_HOLD:
		return cli_number(o, 0u, 1000000000000u, &opts->hold_max);
	case OPT_BUF:
		return cli_buffers(o, &opts->buf_len_min, &opts->buf_len_max);
	case OPT_RING:
		return cli_number32(o, 1u, 32768u, &opts->ring);
	case OPT_FLOWS:
		return cli_number32(o, 1u, 65536u, &opts->flows);
	case OPT_SEED:
		return cli_number(o, 0u, UINT64_MAX, &opts->seed);
	default:
		opts->meta = o->text;
		return true;
	}
}

/* An option without a value; false = it is not known. */
static bool flag(struct replay_options *opts, int option)
{
	switch (option) {
	case OPT_UDP:
		opts->udp = true;
		return true;
	case OPT_UDP_ZERO:
		opts->udp = true;
		opts->udp_zero = true;
		return true;
	case OPT_ADAPTIVE:
		opts->adaptive = true;
		return true;
	case OPT_RFC6864:
		opts->rfc6864 = true;
		return true;
	case OPT_NO_GRO:
		opts->no_gro = true;
		return true;
	case OPT_NO_COALESCE:
		opts->no_coalesce = true;
		return true;
	case OPT_TRUST:
		opts->trust_csum = true;
		return true;
	case OPT_STATS:
		opts->stats = true;
		return true;
	case OPT_JSON:
		opts->json = true;
		return true;
	default:
		return false;
	}
}

static bool is_stdout(const char *name)
{
	return name != NULL && strcmp(name, "-") == 0;
}

/* How many things are to be printed on standard output. */
static unsigned prints(const struct replay_options *opts)
{
	return (opts->stats ? 1u : 0u) + (opts->json ? 1u : 0u) + (is_stdout(opts->out) ? 1u : 0u) +
	       (is_stdout(opts->meta) ? 1u : 0u);
}

int replay_options_read(struct replay_options *opts, int argc, char **argv)
{
	struct cli_option o = { .program = "vnetrx-replay" };
	int option, at = 0;

	*opts = (struct replay_options){ .poll = 64u, .ring = 256u, .flows = 64u, .seed = 1u };
	cli_begin(argv);
	while ((option = getopt_long(argc, argv, "", longs, &at)) != -1) {
		if (option == OPT_HELP)
			return cli_help(o.program, usage) ? 0 : REPLAY_EXIT_OUTPUT;
		if (option == OPT_VERSION)
			return cli_version(o.program) ? 0 : REPLAY_EXIT_OUTPUT;
		o.name = longs[at].name;
		o.text = optarg;
		if (option == '?' || (optarg != NULL ? !valued(opts, option, &o) : !flag(opts, option)))
			return 1;
	}
	if (argc - optind != 2) {
		fprintf(stderr, "vnetrx-replay: %d operands given, two wanted: IN OUT (--help says more)\n",
		        argc - optind);
		return 1;
	}
	opts->in = argv[optind];
	opts->out = argv[optind + 1];
	if (prints(opts) > 1u) {
		fprintf(stderr, "vnetrx-replay: only one of --stats, --json, --meta - and OUT - has standard output\n");
		return 1;
	}
	return -1;
}
