/* SPDX-License-Identifier: BSD-3-Clause */
/* vnetrx-probe: what is sent through a path, compared byte by byte with what arrives. */
#include "probe.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli.h"

static const char usage[] =
	"usage: vnetrx-probe WHAT\n"
	"Sends bytes that say where they belong, and checks them on arrival. Prints one JSON object.\n"
	"\n"
	"  tcp-sink PORT COUNT               receives COUNT bytes of TCP\n"
	"  tcp-source ADDRESS PORT COUNT     sends them\n"
	"  train-sink PORT COUNT             receives COUNT trains of 42,000 bytes of UDP, with UDP_GRO\n"
	"  train-source ADDRESS PORT COUNT   sends them, each in one call, in datagrams of 1,400 bytes (UDP_SEGMENT)\n"
	"  flow-sink PORT COUNT              receives COUNT numbered datagrams in all of 16 flows\n"
	"  flow-source ADDRESS PORT COUNT    sends them, each flow from a port of its own\n"
	"\n"
	"Exit: 0; 1 usage; 2 something is missing, wrong, out of order, or does not come.\n";

/* ---- sockets ---- */

static int complain(const char *what)
{
	fprintf(stderr, "vnetrx-probe: %s: %s\n", what, strerror(errno));
	return -1;
}

static int limit(int sock)
{
	struct timeval wait = { .tv_sec = PROBE_WAIT_S };

	(void)setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	(void)setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	return sock;
}

/* A socket that `use` (bind or connect) was done with; -1: said why. */
static int made(int type, const char *addr, const char *port,
		int (*use)(int sock, const struct sockaddr *addr, socklen_t len))
{
	struct addrinfo hints = { .ai_socktype = type, .ai_family = addr != NULL ? AF_UNSPEC : AF_INET6 };
	struct addrinfo *info = NULL;
	int sock, on = 1;

	hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | (addr == NULL ? AI_PASSIVE : 0);
	if (getaddrinfo(addr, port, &hints, &info) != 0) {
		fprintf(stderr, "vnetrx-probe: %s, %s: no such address\n", addr != NULL ? addr : "any", port);
		return -1;
	}
	sock = socket(info->ai_family, type, 0);
	if (sock >= 0)
		(void)setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (sock < 0 || use(limit(sock), info->ai_addr, info->ai_addrlen) != 0) {
		(void)complain(addr != NULL ? addr : port);
		if (sock >= 0)
			close(sock);
		sock = -1;
	}
	freeaddrinfo(info);
	return sock;
}

int probe_listen(const char *port)
{
	int sock = made(SOCK_STREAM, NULL, port, bind), conn;

	if (sock < 0)
		return -1;
	if (listen(sock, 1) != 0)
		return complain("listen");
	conn = accept(sock, NULL, NULL);
	close(sock);
	return conn >= 0 ? limit(conn) : complain("accept");
}

int probe_connect(int type, const char *addr, const char *port)
{
	return made(type, addr, port, connect);
}

int probe_bind_udp(const char *port)
{
	int sock = made(SOCK_DGRAM, NULL, port, bind), room = 4 << 20;

	if (sock >= 0)
		(void)setsockopt(sock, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	return sock;
}

/* ---- bytes ---- */

/* A word for each eight bytes, by its number (the finalizer of SplitMix64, public domain). */
static uint64_t word(uint64_t seed, uint64_t n)
{
	uint64_t z = seed * 0x9e3779b97f4a7c15u + n;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void probe_fill(uint8_t *to, uint64_t seed, uint64_t at, size_t len)
{
	while (len > 0u) {
		uint64_t w = word(seed, at / 8u);
		size_t off = at % 8u, part = 8u - off < len ? 8u - off : len;

		memcpy(to, (const uint8_t *)&w + off, part);
		to += part;
		at += part;
		len -= part;
	}
}

bool probe_same(const uint8_t *bytes, uint64_t seed, uint64_t at, size_t len)
{
	while (len > 0u) {
		uint64_t w = word(seed, at / 8u);
		size_t off = at % 8u, part = 8u - off < len ? 8u - off : len;

		if (memcmp(bytes, (const uint8_t *)&w + off, part) != 0)
			return false;
		bytes += part;
		at += part;
		len -= part;
	}
	return true;
}

/* ---- command line ---- */

static const struct {
	const char *name;
	int (*source)(const char *addr, const char *port, uint64_t count);
	int (*sink)(const char *port, uint64_t count);
} probes[] = {
	{ "tcp-sink", NULL, probe_tcp_sink },
	{ "tcp-source", probe_tcp_source, NULL },
	{ "train-sink", NULL, probe_train_sink },
	{ "train-source", probe_train_source, NULL },
	{ "flow-sink", NULL, probe_flow_sink },
	{ "flow-source", probe_flow_source, NULL },
};

int main(int argc, char **argv)
{
	struct cli_option o = { .program = "vnetrx-probe", .name = "count" };
	uint64_t count;
	unsigned i;

	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return cli_help("vnetrx-probe", usage) ? 0 : 2;
	for (i = 0u; argc > 1 && i < sizeof(probes) / sizeof(probes[0]); i++) {
		bool sink = probes[i].sink != NULL;

		if (strcmp(argv[1], probes[i].name) != 0 || argc != (sink ? 4 : 5))
			continue;
		o.text = argv[argc - 1];
		if (!cli_number(&o, 1u, UINT64_MAX, &count))
			return 1;
		return sink ? probes[i].sink(argv[2], count) : probes[i].source(argv[2], argv[3], count);
	}
	fputs(usage, stderr);
	return 1;
}
