/* SPDX-License-Identifier: BSD-3-Clause */
#include "pace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli.h"
#include "clock.h"
#include "link.h"

#define BATCH   16u
#define REST_NS 50000000u /* after the last frame, until everything must have come out */

static const char usage[] =
	"usage: vnetrx-pace FROM TO FLOWS PAYLOAD COUNT GAP_NS\n"
	"Sends COUNT segments of FLOWS flows in turn, one each GAP_NS on average, and says how they come out. Prints\n"
	"one JSON object.\n"
	"\n"
	"  FROM  [NETNS/]NAME       an interface to send them on\n"
	"        hash:[NETNS/]NAME  the same, and each frame gets a flow hash\n"
	"        tap:[NETNS/]NAME   a TAP with IFF_NAPI, made here, to write them into\n"
	"  TO    [NETNS/]NAME       an interface by which they come in\n"
	"\n"
	"Exit: 0; 1 usage; 2 an interface cannot be had.\n";

struct pace {
	struct pace_frames frames;
	struct pace_seen   seen;
	struct pace_watch *watch;
	int      out;      /* a packet socket, or a TAP */
	bool     tap;
	uint32_t gap_ns;
	uint64_t took_ns;
	uint64_t refused;  /* frames that were not taken on the way in */
	uint8_t  places[BATCH][PACE_HDR + PACE_PAYLOAD_MAX];
};

/* ---- sending ---- */

static unsigned send_batch(struct pace *p, uint32_t i, unsigned n)
{
	struct mmsghdr msgs[BATCH];
	struct iovec iov[BATCH];
	uint64_t now = clock_of(CLOCK_REALTIME);
	unsigned k;
	int sent;

	for (k = 0u; k < n; k++) {
		pace_frame(&p->frames, p->places[k], i + k);
		iov[k] = (struct iovec){ .iov_base = p->places[k], .iov_len = p->frames.len };
		msgs[k] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &iov[k], .msg_iovlen = 1u } };
		p->frames.sent_ns[i + k] = now;
	}
	if (p->tap)
		return write(p->out, iov[0].iov_base, p->frames.len) == (ssize_t)p->frames.len ? 1u : 0u;
	sent = sendmmsg(p->out, msgs, n, 0);
	return sent > 0 ? (unsigned)sent : 0u;
}

/* As many as are due at each look: a sender that is late catches up. */
static void send_all(struct pace *p)
{
	vnetrx_ns from;
	uint32_t i;

	for (i = 0u; i < BATCH; i++)
		pace_frame_init(&p->frames, p->places[i]);
	from = clock_now();
	i = 0u;
	while (i < p->frames.count) {
		uint64_t due = (clock_now() - from) / p->gap_ns + 1u;
		unsigned n = due > i ? (unsigned)(due - i) : 0u, sent;

		if (n > p->frames.count - i)
			n = p->frames.count - i;
		if (n > BATCH)
			n = BATCH;
		if (n > 1u && p->tap)
			n = 1u;
		if (n == 0u)
			continue;
		sent = send_batch(p, i, n);
		if (sent == 0u)
			p->refused++;
		i += sent != 0u ? sent : 1u;
	}
	p->took_ns = clock_now() - from;
}

/* ---- interfaces ---- */

static int packet_socket(const char *name, bool hash)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET };
	int sock = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), room = 32 << 20;

	addr.sll_ifindex = (int)if_nametoindex(name);
	if (sock < 0 || addr.sll_ifindex == 0)
		return -1;
	if (hash && pace_hash(addr.sll_ifindex) < 0)
		return -1;
	(void)setsockopt(sock, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	return bind(sock, (struct sockaddr *)&addr, sizeof(addr)) == 0 ? sock : -1;
}

static int napi_tap(const char *name)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_NAPI };
	struct link link;
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr) != 0 || link_open(&link, name) != 0)
		return -1;
	errno = -link_set_up(&link);
	link_close(&link);
	return errno == 0 ? fd : -1;
}

/* Enters the namespace of an operand and returns the name in it. */
static const char *enter(const char *operand, int *back)
{
	struct cli_interface interface;
	const char *why = cli_interface(operand, &interface);
	int err = 0;

	*back = -1;
	if (why == NULL)
		err = netns_enter(interface.netns, back);
	if (why == NULL && err == 0)
		return interface.name;
	fprintf(stderr, "vnetrx-pace: %s: %s\n", operand, why != NULL ? why : strerror(-err));
	exit(why != NULL ? 1 : 2);
}

static bool open_out(struct pace *p, const char *operand)
{
	bool hash = strncmp(operand, "hash:", 5u) == 0;
	int back;
	const char *name;

	p->tap = strncmp(operand, "tap:", 4u) == 0;
	name = enter(operand + (p->tap ? 4 : hash ? 5 : 0), &back);
	p->out = p->tap ? napi_tap(name) : packet_socket(name, hash);
	if (p->out < 0)
		fprintf(stderr, "vnetrx-pace: %s: %s\n", operand, strerror(errno));
	netns_leave(back);
	return p->out >= 0;
}

static bool open_watch(struct pace *p, const char *operand)
{
	int back;

	p->watch = pace_watch_new(enter(operand, &back), p->frames.count);
	netns_leave(back);
	return p->watch != NULL;
}

/* ---- what came of it ---- */

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void report(struct pace *p)
{
	struct pace_seen *s = &p->seen;
	uint64_t *hold = s->hold_ns;
	uint64_t n = s->packets;

	qsort(hold, n, sizeof(*hold), by_size);
	printf("{\"sent\":%u,\"refused\":%" PRIu64 ",\"pace_ns\":%.0f,\"segs\":%" PRIu64 ",\"packets\":%" PRIu64
	       ",\"per_packet\":%.2f,\"wrong\":%" PRIu64 ",\"unseen\":%" PRIu64 ",\"hold_ns\":%" PRIu64
	       ",\"hold_median_ns\":%" PRIu64 "}\n",
	       p->frames.count, p->refused, (double)p->took_ns / p->frames.count, s->segs, n,
	       n != 0u ? (double)s->segs / (double)n : 0.0, s->wrong, s->lost, n != 0u ? hold[n - 1u] : 0u,
	       n != 0u ? hold[n / 2u] : 0u);
}

static bool read_options(struct pace *p, char **argv)
{
	static const char *const names[] = { "flows", "payload", "count", "gap" };
	static const uint32_t lows[] = { 1u, 2u, 1u, 1u };
	static const uint32_t highs[] = { PACE_FLOWS_MAX, PACE_PAYLOAD_MAX, 1u << 20, 1000000000u };
	uint32_t *const values[] = { &p->frames.flows, &p->frames.payload, &p->frames.count, &p->gap_ns };
	unsigned i;

	for (i = 0u; i < 4u; i++) {
		struct cli_option o = { .program = "vnetrx-pace", .name = names[i], .text = argv[i] };

		if (!cli_number32(&o, lows[i], highs[i], values[i]))
			return false;
	}
	p->frames.payload &= ~1u;
	return true;
}

int main(int argc, char **argv)
{
	static struct pace p;
	const struct timespec rest = { .tv_nsec = REST_NS };

	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return cli_help("vnetrx-pace", usage) ? 0 : 2;
	if (argc != 7) {
		fputs(usage, stderr);
		return 1;
	}
	if (!read_options(&p, argv + 3))
		return 1;
	p.seen.hold_ns = calloc(p.frames.count, sizeof(*p.seen.hold_ns));
	if (p.seen.hold_ns == NULL || !pace_frames_new(&p.frames) || !open_out(&p, argv[1]) || !open_watch(&p, argv[2]))
		return 2;
	send_all(&p);
	nanosleep(&rest, NULL);
	pace_watch_read(p.watch, &p.frames, &p.seen);
	report(&p);
	pace_watch_delete(p.watch);
	pace_frames_delete(&p.frames);
	free(p.seen.hold_ns);
	close(p.out);
	return 0;
}
