/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merged packets behind an encoded header, written into a TAP of a network namespace of our own: the kernel's sockets
 * on its other side must read what was in their segments. Skipped where such a namespace or TAP cannot be had.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/frames.h"
#include "support/known.h"
#include "vnetrx.h"

#define HDR_LEN  12
#define PORT     2000
#define WAIT_MS  5000
#define SEGS     5u
#define SEG_LEN  1000u
#define ACCEPTED (VNETRX_VIRTIO_CSUM | VNETRX_VIRTIO_TSO4 | VNETRX_VIRTIO_TSO6 | VNETRX_VIRTIO_USO4 | \
                  VNETRX_VIRTIO_USO6)

static int tap = -1;

/* What SIOCSIFADDR takes for IPv6; the kernel's own header does not go with the C library's. */
struct in6_request {
	struct in6_addr addr;
	uint32_t        prefix;
	int             index;
};

/* ---- the other side ---- */

static bool add_ipv4(int sock, struct ifreq ifr, const char *addr, unsigned long what)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	(void)inet_pton(AF_INET, addr, &sin.sin_addr);
	memcpy(&ifr.ifr_addr, &sin, sizeof(sin));
	return ioctl(sock, what, &ifr) == 0;
}

static bool add_ipv6(const char *name)
{
	struct in6_request req = { .prefix = 64, .index = (int)if_nametoindex(name) };
	int sock = socket(AF_INET6, SOCK_DGRAM, 0);
	bool done;

	(void)inet_pton(AF_INET6, "fd00::2", &req.addr);
	done = sock >= 0 && ioctl(sock, SIOCSIFADDR, &req) == 0;
	if (sock >= 0)
		(void)close(sock);
	return done;
}

/* The addresses that frames of frame_init() go to; no neighbours are looked for. */
static bool interface_up(struct ifreq ifr)
{
	static const unsigned char mac[6] = { 2, 0, 0, 0, 0, 2 };
	int sock = socket(AF_INET, SOCK_DGRAM, 0);
	bool done = sock >= 0;

	ifr.ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(ifr.ifr_hwaddr.sa_data, mac, 6);
	done = done && ioctl(sock, SIOCSIFHWADDR, &ifr) == 0;
	done = done && add_ipv4(sock, ifr, "10.0.0.2", SIOCSIFADDR) &&
	       add_ipv4(sock, ifr, "255.255.255.0", SIOCSIFNETMASK);
	ifr.ifr_flags = IFF_UP | IFF_NOARP;
	done = done && ioctl(sock, SIOCSIFFLAGS, &ifr) == 0 && add_ipv6(ifr.ifr_name);
	if (sock >= 0)
		(void)close(sock);
	return done;
}

static int open_tap(void **state)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int size = HDR_LEN, fd;

	(void)state;
	if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return 0;
	fd = open("/dev/net/tun", O_RDWR);
	if (fd < 0)
		return 0;
	if (ioctl(fd, TUNSETIFF, &ifr) == 0 && ioctl(fd, TUNSETVNETHDRSZ, &size) == 0 && interface_up(ifr))
		tap = fd;
	else
		(void)close(fd);
	return 0;
}

static int close_tap(void **state)
{
	(void)state;
	return tap >= 0 ? close(tap) : 0;
}

/* A socket of the kernel's, bound to the port that frames go to. */
static int bound(bool v6, int type)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	struct timeval limit = { .tv_sec = WAIT_MS / 1000 };
	int sock = socket(v6 ? AF_INET6 : AF_INET, type, 0), on = 1;

	assert_true(sock >= 0);
	if (v6)
		assert_int_equal(setsockopt(sock, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	if (v6)
		assert_int_equal(bind(sock, (struct sockaddr *)&sin6, sizeof(sin6)), 0);
	else
		assert_int_equal(bind(sock, (struct sockaddr *)&sin, sizeof(sin)), 0);
	return sock;
}

/* ---- this side ---- */

static void write_pkt(const struct vnetrx_pkt *pkt)
{
	size_t size = HDR_LEN + pkt->len;
	uint8_t *bytes = malloc(size);

	assert_non_null(bytes);
	assert_int_equal(vnetrx_virtio_net_encode(pkt, ACCEPTED, bytes, HDR_LEN), VNETRX_OK);
	assert_int_equal(vnetrx_pkt_copy(pkt, 0, bytes + HDR_LEN, pkt->len), pkt->len);
	assert_int_equal(write(tap, bytes, size), size);
	free(bytes);
}

static void write_frame(const struct frame *f)
{
	static uint8_t bytes[FRAME_MAX];
	struct vnetrx_pkt pkt;

	vnetrx_pkt_wrap(&pkt, bytes, (uint32_t)frame_build(f, bytes), 0);
	write_pkt(&pkt);
}

/* Joins SEGS segments of the flow and writes them as one packet. */
static void write_merged(struct frame *f)
{
	static uint8_t bytes[SEGS][SEG_LEN + 256u];
	const struct vnetrx_gro_config cfg = {
		.hash_key = { 1, 2 }, .protos = GRO_KNOWN & ~VNETRX_GRO_TUNNEL, .flags = VNETRX_GRO_PROFILE_VIRTIO,
	};
	size_t size = vnetrx_gro_footprint(&cfg, NULL);
	void *mem = aligned_alloc(64, (size + 63u) / 64u * 64u);
	struct vnetrx_pktq out = { .first = NULL };
	struct vnetrx_pkt pkts[SEGS], *pkt;
	struct vnetrx_gro *gro;

	assert_non_null(mem);
	assert_int_equal(vnetrx_gro_init(&gro, &cfg, mem, size), VNETRX_OK);
	for (unsigned i = 0; i < SEGS; i++) {
		f->payload_len = SEG_LEN;
		pkt = &pkts[i];
		vnetrx_pkt_wrap(pkt, bytes[i], (uint32_t)frame_build(f, bytes[i]), 0);
		vnetrx_gro_receive(gro, &pkt, 1, 0, &out);
		f->seq += SEG_LEN;
		f->id++;
	}
	vnetrx_gro_flush(gro, &out);
	assert_int_equal(out.count, 1);
	pkt = vnetrx_pktq_take(&out);
	assert_int_equal(pkt->segs, SEGS);
	write_pkt(pkt);
	free(mem);
}

/* Sends a SYN, again when nothing answers: a new address is not in use at once. Returns the sequence number of the
 * SYN-ACK. */
static uint32_t connect_to(const struct frame *syn)
{
	uint8_t bytes[2048];
	bool v6 = syn->v6;
	size_t l3 = HDR_LEN + 14u, l4 = l3 + (v6 ? 40u : 20u);
	struct pollfd ready = { .fd = tap, .events = POLLIN };
	unsigned tries = 0;

	write_frame(syn);
	for (;;) {
		ssize_t n;

		if (poll(&ready, 1, WAIT_MS / 10) != 1) {
			if (++tries == 40u)
				fail_msg("no SYN-ACK");
			write_frame(syn);
			continue;
		}
		n = read(tap, bytes, sizeof(bytes));

		assert_true(n > 0);
		if ((size_t)n >= l4 + 20u && fr_get16(bytes + l3 - 2u) == (v6 ? 0x86ddu : 0x0800u) &&
		    bytes[l3 + (v6 ? 6u : 9u)] == FR_TCP && (bytes[l4 + 13u] & (FR_SYN | FR_ACK)) == (FR_SYN | FR_ACK))
			return fr_get32(bytes + l4 + 4u);
	}
}

static void check_payload(const uint8_t *bytes, size_t len, uint32_t seq)
{
	for (size_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], frame_payload(seq + (uint32_t)i));
}

static void init(struct frame *f, bool v6)
{
	if (tap < 0)
		skip();
	if (v6)
		frame_init6(f, 0);
	else
		frame_init(f, 0);
}

/* ---- the tests ---- */

static void tcp(bool v6)
{
	uint8_t bytes[SEGS * SEG_LEN];
	size_t got = 0;
	struct frame f;
	int listener, sock;

	init(&f, v6);
	listener = bound(v6, SOCK_STREAM);
	assert_int_equal(listen(listener, 1), 0);
	f.flags = FR_SYN;
	f.payload_len = 0;
	f.ack = connect_to(&f) + 1u;
	f.seq++;
	f.flags = FR_ACK;
	write_frame(&f);
	sock = accept(listener, NULL, NULL);
	assert_true(sock >= 0);
	write_merged(&f);
	while (got < sizeof(bytes)) {
		ssize_t n = recv(sock, bytes + got, sizeof(bytes) - got, MSG_WAITALL);

		assert_true(n > 0);
		got += (size_t)n;
	}
	check_payload(bytes, sizeof(bytes), 2);
	(void)close(sock);
	(void)close(listener);
}

static void udp(bool v6)
{
	uint8_t bytes[2u * SEG_LEN];
	struct frame f;
	uint32_t seq;
	int sock;

	init(&f, v6);
	f.proto = FR_UDP;
	seq = f.seq;
	sock = bound(v6, SOCK_DGRAM);
	write_merged(&f);
	for (unsigned i = 0; i < SEGS; i++) {
		assert_int_equal(recv(sock, bytes, sizeof(bytes), 0), SEG_LEN);
		check_payload(bytes, SEG_LEN, seq + i * SEG_LEN);
	}
	(void)close(sock);
}

static void merged_tcp_over_ipv4_reaches_a_socket(void **state)
{
	(void)state;
	tcp(false);
}

static void merged_tcp_over_ipv6_reaches_a_socket(void **state)
{
	(void)state;
	tcp(true);
}

static void merged_udp_over_ipv4_reaches_a_socket_datagram_by_datagram(void **state)
{
	(void)state;
	NEEDS(VNETRX_GRO_UDP);
	udp(false);
}

static void merged_udp_over_ipv6_reaches_a_socket_datagram_by_datagram(void **state)
{
	(void)state;
	NEEDS(VNETRX_GRO_UDP);
	udp(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_tcp_over_ipv4_reaches_a_socket),
		cmocka_unit_test(merged_tcp_over_ipv6_reaches_a_socket),
		cmocka_unit_test(merged_udp_over_ipv4_reaches_a_socket_datagram_by_datagram),
		cmocka_unit_test(merged_udp_over_ipv6_reaches_a_socket_datagram_by_datagram),
	};

	return cmocka_run_group_tests(tests, open_tap, close_tap);
}
