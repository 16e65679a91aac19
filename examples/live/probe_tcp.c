/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define BLOCK (1u << 18) /* bytes of one call */
#define SEED  1u

static uint8_t block[BLOCK];

/* Waits until the other side has closed too: it closes when it has all. */
static bool finish(int sock)
{
	uint8_t byte;

	return shutdown(sock, SHUT_WR) == 0 && recv(sock, &byte, 1u, 0) == 0;
}

int probe_tcp_source(const char *addr, const char *port, uint64_t bytes)
{
	int sock = probe_connect(SOCK_STREAM, addr, port);
	uint64_t at = 0u;
	bool done;

	while (sock >= 0 && at < bytes) {
		size_t len = bytes - at < BLOCK ? (size_t)(bytes - at) : BLOCK;
		ssize_t n;

		probe_fill(block, SEED, at, len);
		n = send(sock, block, len, MSG_NOSIGNAL);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	done = at == bytes && finish(sock);
	printf("{\"sent\":%" PRIu64 "}\n", at);
	if (sock >= 0)
		close(sock);
	return done ? 0 : 2;
}

int probe_tcp_sink(const char *port, uint64_t bytes)
{
	int sock = probe_listen(port);
	uint64_t at = 0u, wrong = 0u;
	ssize_t n = -1;

	while (sock >= 0 && (n = recv(sock, block, BLOCK, 0)) > 0) {
		if (!probe_same(block, SEED, at, (size_t)n))
			wrong++;
		at += (size_t)n;
	}
	printf("{\"received\":%" PRIu64 ",\"wrong\":%" PRIu64 ",\"ended\":%d}\n", at, wrong, n == 0);
	if (sock >= 0)
		close(sock);
	return n == 0 && at == bytes && wrong == 0u ? 0 : 2;
}
