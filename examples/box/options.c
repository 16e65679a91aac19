/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

#define TIMEOUT_NS 50000u /* long enough for a train of 1 Gbit/s, short beside what a tail may wait */

#define COPY_OFF   0xffffu /* see struct vnetrx_rxq_config */

enum {
	OPT_GRO = 256,
	OPT_QUEUES,
	OPT_OFFLOAD,
	OPT_GENERIC,
	OPT_HDR,
	OPT_RING,
	OPT_BUF,
	OPT_COPY,
	OPT_TIMEOUT,
	OPT_HOLD,
	OPT_ADAPTIVE,
	OPT_TCP_ONLY,
	OPT_SECONDS,
	OPT_BUSY,
	OPT_QUIET,
	OPT_JSON,
	OPT_HELP,
	OPT_VERSION
};

static const struct option longs[] = {
	{ "gro", required_argument, NULL, OPT_GRO },
	{ "queues", required_argument, NULL, OPT_QUEUES },
	{ "offload", required_argument, NULL, OPT_OFFLOAD },
	{ "generic", no_argument, NULL, OPT_GENERIC },
	{ "hdr", required_argument, NULL, OPT_HDR },
	{ "ring", required_argument, NULL, OPT_RING },
	{ "buf", required_argument, NULL, OPT_BUF },
	{ "copy-max", required_argument, NULL, OPT_COPY },
	{ "flush-timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "hold-max", required_argument, NULL, OPT_HOLD },
	{ "adaptive", no_argument, NULL, OPT_ADAPTIVE },
	{ "tcp-only", no_argument, NULL, OPT_TCP_ONLY },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "busy", no_argument, NULL, OPT_BUSY },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char usage[] =
	"usage: vnetrx-box [options] IN OUT\n"
	"A bump in the wire: what is received on one interface is joined and written to the other, both ways.\n"
	"IN, OUT: [NETNS/]NAME, a TAP, made if it is not there, or xdp:[NETNS/]NAME, an interface by AF_XDP, to which\n"
	"nothing joined can be written. Prints counters each second; SIGINT or SIGTERM ends it.\n"
	"\n"
	"  --gro on|off        join packets (on); off: the same way through, nothing is joined\n"
	"  --queues N          queues of each interface, 1 to 16 (1)\n"
	"  --offload WHAT      what the kernel may leave to the device: all, csum (checksums, but it cuts packets\n"
	"                      to the MTU), none (all)\n"
	"  --generic           AF_XDP in the kernel's generic hook, with any interface; else in its driver's\n"
	"  --hdr BYTES         virtio-net header: 10, 12 or 24 (24 where the kernel knows tunnels, else 12)\n"
	"  --ring N            buffers kept posted on each queue (256, AF_XDP 2048)\n"
	"  --buf LENGTH        auto, mtu (1536), max (4096) or BYTES: receive buffers, device header included,\n"
	"                      rounded up to a multiple of 64 (auto)\n"
	"  --copy-max BYTES    a packet up to so long is copied and its buffer received into again at once, 0 = none\n"
	"                      (128)\n"
	"  --flush-timeout NS  a packet leaves GRO after so long without a new segment, 0 = at the end of a burst\n"
	"                      (50000)\n"
	"  --hold-max NS       and after so long whatever joins (64 times the timeout, at least 1 ms)\n"
	"  --adaptive          each flow waits for a few of its own gaps; the timeout is not used\n"
	"  --tcp-only          UDP and what is in tunnels is not joined\n"
	"  --busy              look at AF_XDP's rings without sleeping; else sleep until there is something\n"
	"  --seconds N         end after so long\n"
	"  --quiet             print the sums at the end only\n"
	"  --json              one JSON object for each line\n"
	"\n"
	"Exit: 0; 1 usage; 2 an interface cannot be had, went down or went away; 3 the counters do not add up; 4 a\n"
	"buffer was lost.\n";

static bool words(const struct cli_option *o, const char *const *word, unsigned n, unsigned *which)
{
	for (*which = 0u; *which < n; (*which)++)
		if (strcmp(o->text, word[*which]) == 0)
			return true;
	fprintf(stderr, "%s: --%s %s: not %s", o->program, o->name, o->text, word[0]);
	for (*which = 1u; *which < n; (*which)++)
		fprintf(stderr, "%s%s", *which + 1u < n ? ", " : " or ", word[*which]);
	fprintf(stderr, "\n");
	return false;
}

static bool gro(struct box_options *opts, const struct cli_option *o)
{
	static const char *const onoff[] = { "on", "off" };
	unsigned which;

	if (!words(o, onoff, 2u, &which))
		return false;
	opts->rxq.flags = which == 0u ? 0u : VNETRX_RXQ_GRO_OFF;
	return true;
}

static bool offload(struct box_options *opts, const struct cli_option *o)
{
	static const char *const names[] = { "all", "csum", "none" };
	static const uint32_t values[] = { TAP_DEFAULT, TAP_CSUM, TAP_NOTHING };
	unsigned which;

	if (!words(o, names, 3u, &which))
		return false;
	opts->in.offload = values[which];
	return true;
}

static bool header(struct box_options *opts, const struct cli_option *o)
{
	static const char *const names[] = { "10", "12", "24" };
	static const uint32_t values[] = { 10u, 12u, 24u };
	unsigned which;

	if (!words(o, names, 3u, &which))
		return false;
	opts->in.hdr_len = values[which];
	return true;
}

static bool copy_max(struct box_options *opts, const struct cli_option *o)
{
	uint32_t most;

	if (!cli_number32(o, 0u, COPY_OFF - 1u, &most))
		return false;
	opts->rxq.copy_len_max = (uint16_t)(most != 0u ? most : COPY_OFF);
	return true;
}

static bool valued(struct box_options *opts, int option, const struct cli_option *o)
{
	switch (option) {
	case OPT_GRO:
		return gro(opts, o);
	case OPT_QUEUES:
		return cli_number32(o, 1u, PORT_QUEUES_MAX, &opts->in.queues);
	case OPT_OFFLOAD:
		return offload(opts, o);
	case OPT_HDR:
		return header(opts, o);
	case OPT_RING:
		return cli_number32(o, 2u, TAP_POSTED_MAX, &opts->rxq.ring_size);
	case OPT_BUF:
		return cli_buffers(o, &opts->rxq.buf_len_min, &opts->rxq.buf_len_max);
	case OPT_COPY:
		return copy_max(opts, o);
	case OPT_TIMEOUT:
		return cli_number(o, 0u, 1000000000u, &opts->rxq.gro_timeout_ns);
	case OPT_HOLD:
		return cli_number(o, 0u, 1000000000000u, &opts->rxq.gro_hold_max_ns);
	default:
		return cli_number(o, 1u, 1000000000u, &opts->seconds);
	}
}

/* An option without a value; false = it is not known. */
static bool flag(struct box_options *opts, int option)
{
	switch (option) {
	case OPT_GENERIC:
		opts->in.generic = true;
		return true;
	case OPT_ADAPTIVE:
		opts->rxq.gro_flags |= VNETRX_GRO_ADAPTIVE;
		return true;
	case OPT_TCP_ONLY:
		opts->rxq.gro_protos = VNETRX_GRO_TCP;
		return true;
	case OPT_BUSY:
		opts->busy = true;
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

static void defaults(struct box_options *opts)
{
	*opts = (struct box_options){ .in = { .queues = 1u } };
	opts->rxq = (struct vnetrx_rxq_config){
		.runs_max = 1536u,  /* the ring, and 64 KiB in each flow that GRO holds, */
		.pkts_max = 16384u, /* in up to 128 segments                             */
		.gro_protos = VNETRX_GRO_TCP | VNETRX_GRO_UDP | VNETRX_GRO_TUNNEL,
		.gro_flags = VNETRX_GRO_PROFILE_VIRTIO,
		.gro_timeout_ns = TIMEOUT_NS,
	};
}

/* An operand; false = it is wrong, which is said. */
static bool named(struct port_config *cfg, const char *operand)
{
	const char *why = port_config_name(cfg, operand);

	if (why != NULL)
		fprintf(stderr, "vnetrx-box: %s: %s\n", operand, why);
	return why == NULL;
}

int box_options_read(struct box_options *opts, int argc, char **argv)
{
	struct cli_option o = { .program = "vnetrx-box" };
	int option, at = 0;

	defaults(opts);
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
	if (argc - optind != 2) {
		fprintf(stderr, "%s: %d operands given, two wanted: IN OUT (--help says more)\n", o.program,
			argc - optind);
		return EXIT_USAGE;
	}
	opts->out = opts->in;
	if (!named(&opts->in, argv[optind]) || !named(&opts->out, argv[optind + 1]))
		return EXIT_USAGE;
	if (port_is_xdp(&opts->in))
		opts->out.offload = TAP_NOTHING;
	if (port_is_xdp(&opts->out))
		opts->in.offload = TAP_NOTHING;
	return -1;
}
