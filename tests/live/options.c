/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "live.h"
#include "pattern.h"

enum {
	OPT_QUEUES = 256,
	OPT_PACKED,
	OPT_NO_MRG,
	OPT_IN_ORDER,
	OPT_LISTEN,
	OPT_RING,
	OPT_TX_RING,
	OPT_BUF,
	OPT_MIN,
	OPT_MAX,
	OPT_SEGS,
	OPT_WINDOW,
	OPT_COUNT,
	OPT_SECONDS,
	OPT_BURSTS,
	OPT_RECONNECTS,
	OPT_FLOOD,
	OPT_ONEWAY,
	OPT_INTERRUPT,
	OPT_HELP
};

static const struct option longs[] = {
	{ "queues", required_argument, NULL, OPT_QUEUES },
	{ "packed", no_argument, NULL, OPT_PACKED },
	{ "no-mrg", no_argument, NULL, OPT_NO_MRG },
	{ "in-order", no_argument, NULL, OPT_IN_ORDER },
	{ "listen", no_argument, NULL, OPT_LISTEN },
	{ "ring", required_argument, NULL, OPT_RING },
	{ "tx-ring", required_argument, NULL, OPT_TX_RING },
	{ "buf", required_argument, NULL, OPT_BUF },
	{ "min", required_argument, NULL, OPT_MIN },
	{ "max", required_argument, NULL, OPT_MAX },
	{ "segs", required_argument, NULL, OPT_SEGS },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "bursts", required_argument, NULL, OPT_BURSTS },
	{ "reconnects", required_argument, NULL, OPT_RECONNECTS },
	{ "flood", no_argument, NULL, OPT_FLOOD },
	{ "oneway", no_argument, NULL, OPT_ONEWAY },
	{ "interrupt", no_argument, NULL, OPT_INTERRUPT },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static const char usage[] =
	"usage: vnetrx-live [options] SOCKET\n"
	"Sends numbered frames to a back end that returns them, and checks each byte that comes back. Prints JSON.\n"
	"Exit 1: a frame was lost (not with --flood: compare the back end's counter), or is wrong, late or twice;\n"
	"an interrupt was missed; memory did not come back.\n"
	"\n"
	"  --queues N, --packed, --no-mrg, --in-order, --listen, --ring N   as of vnetrx-vhost-sink\n"
	"  --tx-ring N      slots of the transmit ring (256)\n"
	"  --buf BYTES      shortest receive buffer (1536)\n"
	"  --min N, --max N length of frames (64)\n"
	"  --segs N         pieces of each frame, 1 to 8 (1)\n"
	"  --window N       frames on their way at once (as many as fit the receive ring)\n"
	"  --count N        frames (100000)\n"
	"  --seconds N      no longer than that (60)\n"
	"  --bursts N       instead: N bursts of 1 to --window frames, each while the receiver sleeps\n"
	"  --reconnects N   the back end must go away and come back so often\n"
	"  --flood          send as fast as the back end takes it\n"
	"  --oneway         the same, and nothing comes back\n"
	"  --interrupt      sleep when there is nothing to do\n";

/* The whole of `text` as a decimal number from low to high. */
static bool number(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	char *end = NULL;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	*value = v;
	return isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && v >= low && v <= high;
}

static bool number32(const char *text, uint32_t low, uint32_t high, uint32_t *value)
{
	uint64_t v = 0u;

	if (!number(text, low, high, &v))
		return false;
	*value = (uint32_t)v;
	return true;
}

static bool valued(struct live_options *o, int option, const char *arg)
{
	switch (option) {
	case OPT_QUEUES:
		return number32(arg, 1u, VHOST_PAIRS_MAX, &o->net.pairs);
	case OPT_RING:
		return number32(arg, 2u, 32768u, &o->net.rx_size);
	case OPT_TX_RING:
		return number32(arg, 2u, 32768u, &o->net.tx_size);
	case OPT_BUF:
		return number32(arg, 128u, 32768u, &o->net.rxq.buf_len_min);
	case OPT_MIN:
		return number32(arg, 64u, PATTERN_FRAME, &o->len_min);
	case OPT_MAX:
		return number32(arg, 64u, PATTERN_FRAME, &o->len_max);
	case OPT_SEGS:
		return number32(arg, 1u, 8u, &o->segs);
	case OPT_WINDOW:
		return number32(arg, 1u, 32768u, &o->window);
	case OPT_COUNT:
		return number(arg, 1u, UINT64_MAX, &o->count);
	case OPT_SECONDS:
		return number(arg, 1u, 1000000u, &o->seconds);
	case OPT_RECONNECTS:
		return number32(arg, 0u, 1000u, &o->reconnects);
	default:
		return number(arg, 1u, UINT64_MAX, &o->bursts);
	}
}

/* An option without a value; false = it is not known. */
static bool flag(struct live_options *o, int option)
{
	switch (option) {
	case OPT_PACKED:
		o->kinds |= VHOST_NET_PACKED;
		return true;
	case OPT_NO_MRG:
		o->kinds &= ~VHOST_NET_MRG;
		return true;
	case OPT_IN_ORDER:
		o->kinds |= VHOST_NET_IN_ORDER;
		return true;
	case OPT_LISTEN:
		o->net.listen = true;
		return true;
	case OPT_FLOOD:
		o->flood = true;
		return true;
	case OPT_ONEWAY:
		o->oneway = true;
		return true;
	case OPT_INTERRUPT:
		o->interrupt = true;
		return true;
	default:
		return false;
	}
}

int live_options_read(struct live_options *o, int argc, char **argv)
{
	int option;

	*o = (struct live_options){
		.kinds = VHOST_NET_MRG, .len_min = 64u, .segs = 1u, .count = 100000u, .seconds = 60u
	};
	o->net.pairs = 1u;
	o->net.rx_size = o->net.tx_size = 256u;
	o->net.rxq.buf_len_min = 1536u;
	o->net.rxq.flags = VNETRX_RXQ_GRO_OFF;
	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (option == OPT_HELP) {
			fputs(usage, stdout);
			return 0;
		}
		if (option == '?')
			return 2;
		if (optarg != NULL ? !valued(o, option, optarg) : !flag(o, option)) {
			fprintf(stderr, "vnetrx-live: %s: out of range\n", argv[optind - 1]);
			return 2;
		}
	}
	if (argc - optind != 1) {
		fprintf(stderr, "vnetrx-live: one operand wanted: SOCKET (--help says more)\n");
		return 2;
	}
	if (o->len_max < o->len_min)
		o->len_max = o->len_min;
	o->net.path = argv[optind];
	o->net.wants = vhost_net_wants(o->kinds, (uint16_t)(o->len_max > 1518u ? o->len_max - 18u : 1500u));
	return -1;
}
