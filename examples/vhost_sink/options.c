/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <getopt.h>
#include <stdio.h>

#include "cli.h"

enum {
	OPT_LISTEN = 256,
	OPT_QUEUES,
	OPT_PACKED,
	OPT_NO_MRG,
	OPT_IN_ORDER,
	OPT_RING,
	OPT_BUF,
	OPT_MTU,
	OPT_MEMORY,
	OPT_BUSY,
	OPT_TIMEOUT,
	OPT_ADAPTIVE,
	OPT_NO_GRO,
	OPT_UDP,
	OPT_SECONDS,
	OPT_COUNT,
	OPT_ONCE,
	OPT_QUIET,
	OPT_JSON,
	OPT_HELP,
	OPT_VERSION
};

static const struct option longs[] = {
	{ "listen", no_argument, NULL, OPT_LISTEN },
	{ "queues", required_argument, NULL, OPT_QUEUES },
	{ "packed", no_argument, NULL, OPT_PACKED },
	{ "no-mrg", no_argument, NULL, OPT_NO_MRG },
	{ "in-order", no_argument, NULL, OPT_IN_ORDER },
	{ "ring", required_argument, NULL, OPT_RING },
	{ "buf", required_argument, NULL, OPT_BUF },
	{ "mtu", required_argument, NULL, OPT_MTU },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "busy", no_argument, NULL, OPT_BUSY },
	{ "flush-timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "adaptive", no_argument, NULL, OPT_ADAPTIVE },
	{ "no-gro", no_argument, NULL, OPT_NO_GRO },
	{ "udp", no_argument, NULL, OPT_UDP },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char usage[] =
	"usage: vnetrx-vhost-sink [options] SOCKET\n"
	"A virtio-net front end: receives from a live vhost-user back end, and prints its counters each second.\n"
	"When the back end goes away it waits for it to come back, with all its buffers. SIGINT or SIGTERM ends it.\n"
	"\n"
	"  --listen            SOCKET is made here, and the back end connects to it; else it is the back end's;\n"
	"                      a socket to which nobody listens is replaced, anything else stays (exit 2)\n"
	"  --queues N          queue pairs, 1 to 8 (1)\n"
	"  --packed            packed rings, else split\n"
	"  --no-mrg            no mergeable buffers: one holds a whole packet\n"
	"  --in-order          buffers are used in order\n"
	"  --ring N            slots of each receive ring (256)\n"
	"  --buf LENGTH        auto, mtu (1536), max (4096) or BYTES: receive buffers, device header included,\n"
	"                      rounded up to a multiple of 64 (auto)\n"
	"  --mtu N             longest packet that is not merged (1500)\n"
	"  --memory MIB        memory shared with the back end (64)\n"
	"  --busy              poll without sleeping; else sleep until an interrupt or a deadline\n"
	"  --flush-timeout NS  a packet leaves GRO after so long without a new segment, 0 = at the end of a burst (0)\n"
	"  --adaptive          each flow waits for a few of its own gaps; the timeout is not used\n"
	"  --no-gro            packets are not joined\n"
	"  --udp               UDP datagrams of one size are joined too\n"
	"  --seconds N         end after so long\n"
	"  --count N           end after so many packets (before they were joined)\n"
	"  --once              end when the back end goes away\n"
	"  --quiet             print the sums at the end only\n"
	"  --json              one JSON object for each line\n"
	"\n"
	"Exit: 0; 1 usage; 2 back end or memory is not as it must be; 3 ended before --count; 4 a buffer was lost.\n";

static bool valued(struct sink_options *opts, int option, const struct cli_option *o)
{
	uint64_t mib = 0u;

	switch (option) {
	case OPT_QUEUES:
		return cli_number32(o, 1u, VHOST_PAIRS_MAX, &opts->net.pairs);
	case OPT_RING:
		return cli_number32(o, 2u, 32768u, &opts->net.rx_size);
	case OPT_BUF:
		return cli_buffers(o, &opts->net.rxq.buf_len_min, &opts->net.rxq.buf_len_max);
	case OPT_MTU:
		return cli_number32(o, 68u, 65535u - 18u, &opts->mtu);
	case OPT_MEMORY:
		if (!cli_number(o, 2u, 65536u, &mib))
			return false;
		opts->net.region_size = (size_t)mib << 20;
		return true;
	case OPT_TIMEOUT:
		return cli_number(o, 0u, 1000000000000u, &opts->net.rxq.gro_timeout_ns);
	case OPT_SECONDS:
		return cli_number(o, 1u, 1000000000u, &opts->seconds);
	default:
		return cli_number(o, 1u, UINT64_MAX, &opts->count);
	}
}

/* An option without a value; false = it is not known. */
static bool flag(struct sink_options *opts, int option)
{
	struct vnetrx_rxq_config *rxq = &opts->net.rxq;

	switch (option) {
	case OPT_LISTEN:
		opts->net.listen = true;
		return true;
	case OPT_PACKED:
		opts->kinds |= VHOST_NET_PACKED;
		return true;
	case OPT_NO_MRG:
		opts->kinds &= ~VHOST_NET_MRG;
		return true;
	case OPT_IN_ORDER:
		opts->kinds |= VHOST_NET_IN_ORDER;
		return true;
	case OPT_BUSY:
		opts->busy = true;
		return true;
	case OPT_ADAPTIVE:
		rxq->gro_flags |= VNETRX_GRO_ADAPTIVE;
		return true;
	case OPT_NO_GRO:
		rxq->flags |= VNETRX_RXQ_GRO_OFF;
		return true;
	case OPT_UDP:
		rxq->gro_protos = VNETRX_GRO_TCP | VNETRX_GRO_UDP | VNETRX_GRO_TUNNEL;
		return true;
	case OPT_ONCE:
		opts->once = true;
		return true;
	case OPT_QUIET:
		opts->quiet = true;
		return true;
	case OPT_JSON:
		opts->json = true;
		return true;
	default:
		return false;
	}
}

int sink_options_read(struct sink_options *opts, int argc, char **argv)
{
	struct cli_option o = { .program = "vnetrx-vhost-sink" };
	int option, at = 0;

	*opts = (struct sink_options){ .kinds = VHOST_NET_MRG, .mtu = 1500u };
	cli_begin(argv);
	while ((option = getopt_long(argc, argv, "", longs, &at)) != -1) {
		if (option == OPT_HELP)
			return cli_help(o.program, usage) ? 0 : 2;
		if (option == OPT_VERSION)
			return cli_version(o.program) ? 0 : 2;
		o.name = longs[at].name;
		o.text = optarg;
		if (option == '?' || (optarg != NULL ? !valued(opts, option, &o) : !flag(opts, option)))
			return EXIT_USAGE;
	}
	if (argc - optind != 1) {
		fprintf(stderr, "vnetrx-vhost-sink: %d operands given, one wanted: SOCKET (--help says more)\n",
			argc - optind);
		return EXIT_USAGE;
	}
	opts->net.path = argv[optind];
	opts->net.wants = vhost_net_wants(opts->kinds, (uint16_t)opts->mtu);
	return -1;
}
