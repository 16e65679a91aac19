/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "walk.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench.h"
#include "vnetrx/pkt.h"

#define PIECES   64u
#define COPY_MAX 65600u

static struct vnetrx_iov iov[PIECES];
static volatile uint64_t sink;
static uint8_t *copy;
static int      tap = -1;

const char *walk_name(enum walk_kind kind)
{
	static const char *const names[WALK_KINDS] = { "none", "iovec", "first byte", "copy", "TAP", "lwIP" };

	return names[kind];
}

static void walk_iovec(struct vnetrx_pkt *const *pkts, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned pieces = vnetrx_pkt_iovec(pkts[i], iov, PIECES);

		sum += iov[pieces - 1u].len;
	}
	sink = sink + sum;
}

static void walk_touch(struct vnetrx_pkt *const *pkts, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		for (const struct vnetrx_pkt *frag = pkts[i]; frag != NULL; frag = frag->chain)
			sum += frag->data[0];
	}
	sink = sink + sum;
}

static void walk_copy(struct vnetrx_pkt *const *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (vnetrx_pkt_copy(pkts[i], 0, copy, COPY_MAX) != pkts[i]->len)
			bench_die("a packet was not copied whole");
	}
}

static void walk_tap(struct vnetrx_pkt *const *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned pieces = vnetrx_pkt_iovec(pkts[i], iov, PIECES);

		/* laid out as struct iovec is */
		if (writev(tap, (const struct iovec *)(const void *)iov, (int)pieces) != (ssize_t)pkts[i]->len)
			bench_die("a packet was not written to the TAP device");
	}
}

void walk(enum walk_kind kind, struct vnetrx_pkt *const *pkts, unsigned n)
{
	static void (*const walks[WALK_KINDS])(struct vnetrx_pkt *const *pkts, unsigned n) = {
		NULL, walk_iovec, walk_touch, walk_copy, walk_tap, walk_lwip,
	};

	if (walks[kind] != NULL)
		walks[kind](pkts, n);
}

/* A TAP device in a network namespace of this process, up. */
static bool tap_open(const char **why)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	int sock;
	bool up = false;

	*why = "a TAP device needs root and /dev/net/tun";
	if (unshare(CLONE_NEWNET) != 0)
		return false;
	tap = open("/dev/net/tun", O_RDWR);
	if (tap < 0 || ioctl(tap, TUNSETIFF, &ifr) != 0)
		return false;
	sock = socket(AF_INET, SOCK_DGRAM, 0);
	if (sock >= 0) {
		ifr.ifr_flags = IFF_UP;
		up = ioctl(sock, SIOCSIFFLAGS, &ifr) == 0;
		close(sock);
	}
	return up;
}

bool walk_open(struct bench *b, enum walk_kind kind, const char **why)
{
	if (kind == WALK_COPY)
		copy = bench_alloc(b, COPY_MAX);
	if (kind == WALK_TAP)
		return tap_open(why);
	if (kind == WALK_LWIP)
		return walk_lwip_open(why);
	return true;
}

void walk_close(enum walk_kind kind)
{
	if (kind == WALK_COPY)
		bench_free(copy, COPY_MAX);
	if (kind == WALK_TAP && tap >= 0)
		close(tap);
}
