/* SPDX-License-Identifier: BSD-3-Clause */
/* vnetrx-lwip: lwIP as it comes from Debian, above a receive queue on a TAP. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli.h"
#include "clock.h"
#include "counters.h"
#include "lwip/tcpip.h"
#include "lwip_port.h"
#include "servers.h"

static const char usage[] =
	"usage: vnetrx-lwip [--gro on|off] [--addr IPV4] [NETNS/]NAME\n"
	"lwIP behind a TAP, made if it is not there: a TCP sink on port 5001 (for iperf 2), an echo on port 7.\n"
	"SIGINT or SIGTERM ends it; then one JSON object with all counters is printed.\n"
	"\n"
	"  --gro on|off  join packets (on); off: the same way through, nothing is joined\n"
	"  --addr IPV4   lwIP's address, in a network of /24 (10.9.0.2)\n"
	"\n"
	"Exit: 0; 1 usage; 2 the interface cannot be had; 4 a buffer was lost.\n";

struct options {
	const char *addr;
	struct cli_interface interface;
	bool        gro;
};

static const struct option longs[] = {
	{ "gro", required_argument, NULL, 'g' },
	{ "addr", required_argument, NULL, 'a' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* A value of --gro; false = it is none, which is said. */
static bool read_gro(struct options *o, const char *text)
{
	o->gro = strcmp(text, "on") == 0;
	if (o->gro || strcmp(text, "off") == 0)
		return true;
	fprintf(stderr, "vnetrx-lwip: --gro %s: not on or off\n", text);
	return false;
}

/* The one operand; false = it is wrong, which is said. */
static bool read_operand(struct options *o, int argc, char **argv)
{
	const char *why;

	if (argc - optind != 1) {
		fprintf(stderr, "vnetrx-lwip: %d operands given, one wanted: [NETNS/]NAME (--help says more)\n",
			argc - optind);
		return false;
	}
	why = cli_interface(argv[optind], &o->interface);
	if (why != NULL)
		fprintf(stderr, "vnetrx-lwip: %s: %s\n", argv[optind], why);
	return why == NULL;
}

/* As cli.h's others: an exit code, or -1 = go on. */
static int read_options(struct options *o, int argc, char **argv)
{
	int option;

	*o = (struct options){ .addr = "10.9.0.2", .gro = true };
	cli_begin(argv);
	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (option == 'h')
			return cli_help("vnetrx-lwip", usage) ? 0 : 2;
		if (option == 'a')
			o->addr = optarg;
		else if (option == '?' || !read_gro(o, optarg))
			return 1;
	}
	return read_operand(o, argc, argv) ? -1 : 1;
}

static int signals(void)
{
	sigset_t set;

	(void)signal(SIGINT, SIG_DFL); /* a shell lets what it starts in the background ignore it */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL); /* before lwIP starts its thread, which inherits it */
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Until a signal. */
static void run(struct lwip_port *port, int signal_fd)
{
	struct pollfd fds[2] = {
		{ .fd = signal_fd, .events = POLLIN },
		{ .fd = port->tap.queue[0]->fd, .events = POLLIN },
	};
	bool asleep = false;

	do {
		vnetrx_ns now = clock_now(), at = vnetrx_rxq_deadline(port->rxq), wait = at > now ? at - now : 0u;
		struct timespec ts = { .tv_sec = (time_t)(wait / SECOND_NS), .tv_nsec = (long)(wait % SECOND_NS) };

		if (!asleep)
			ts = (struct timespec){ .tv_sec = 0 };
		if (ppoll(fds, 2u, asleep && at == VNETRX_NEVER ? NULL : &ts, NULL) < 0)
			break;
		asleep = lwip_port_turn(port, clock_now());
	} while (fds[0].revents == 0);
}

static void report(const struct lwip_port *port, const struct servers *s, vnetrx_ns from)
{
	struct vnetrx_rxq_stats stats;

	vnetrx_rxq_read_stats(port->rxq, &stats);
	printf("{\"seconds\":%.3f,\"cpu_seconds\":%.4f,\"connections\":%" PRIu64 ",\"received_bytes\":%" PRIu64
	       ",\"echoed_bytes\":%" PRIu64 ",\"frames_out\":%" PRIu64 ",\"out_lost\":%" PRIu64 ",\"refused\":%" PRIu64
	       ",\"drops\":%" PRIu64 ",",
	       (double)(clock_now() - from) / 1e9, (double)clock_cpu() / 1e9, s->conns, s->bytes, s->echoed,
	       port->frames_out, port->out_lost, port->refused, counters_drops(&stats.merge));
	counters_json(stdout, "", &stats);
	printf("}\n");
}

int main(int argc, char **argv)
{
	static struct lwip_port port;
	static struct servers servers;
	struct options o;
	int code = read_options(&o, argc, argv), signal_fd;
	vnetrx_ns from = clock_now();
	bool ok;

	if (code >= 0)
		return code;
	signal_fd = signals();
	tcpip_init(NULL, NULL);
	if (signal_fd < 0 || !lwip_port_open(&port, &o.interface, o.addr, o.gro))
		return 2;
	LOCK_TCPIP_CORE();
	ok = servers_start(&servers);
	UNLOCK_TCPIP_CORE();
	if (!ok) {
		fprintf(stderr, "vnetrx-lwip: the servers cannot be started\n");
		return 2;
	}
	run(&port, signal_fd);
	report(&port, &servers, from);
	if (!lwip_port_close(&port)) {
		fprintf(stderr, "vnetrx-lwip: a buffer was lost\n");
		return 4;
	}
	return 0;
}
