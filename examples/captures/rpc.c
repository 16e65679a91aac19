/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic for record.sh: requests and replies of random length over a few TCP connections.
 *
 *   rpc serve ADDR PORT                                answers until it is ended
 *   rpc call ADDR PORT CONNS CALLS REQ_MAX REPLY_MAX   lengths are spread evenly over their magnitudes
 *
 * A request is its length and the length of the reply it wants, 4 bytes each, then text.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNS_MAX 64
#define LEN_MAX   (1u << 20)

static char text[LEN_MAX];

static int transfer(int fd, char *buf, size_t len, int sending)
{
	while (len > 0u) {
		ssize_t n = sending ? send(fd, buf, len, MSG_NOSIGNAL) : recv(fd, buf, len, 0);

		if (n <= 0)
			return -1;
		buf += n;
		len -= (size_t)n;
	}
	return 0;
}

/* A socket that listens at, or is connected to, an address; -1 = none. */
static int open_socket(const char *addr, const char *port, int listening)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai;
	int one = 1;
	int fd;

	if (getaddrinfo(addr, port, &hints, &ai) != 0)
		return -1;
	fd = socket(ai->ai_family, ai->ai_socktype, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* accepted sockets inherit it */
	if ((listening ? bind(fd, ai->ai_addr, ai->ai_addrlen) : connect(fd, ai->ai_addr, ai->ai_addrlen)) != 0 ||
	    (listening && listen(fd, CONNS_MAX) != 0)) {
		close(fd);
		fd = -1;
	}
	freeaddrinfo(ai);
	return fd;
}

static int answer(int fd)
{
	static char in[LEN_MAX];
	uint32_t lens[2];

	if (transfer(fd, (char *)lens, sizeof(lens), 0) != 0 || lens[0] > LEN_MAX - 8u || lens[1] > LEN_MAX)
		return -1;
	return transfer(fd, in, lens[0], 0) != 0 || transfer(fd, text, lens[1], 1) != 0 ? -1 : 0;
}

static int serve(int listener)
{
	struct pollfd fds[CONNS_MAX + 1] = { { .fd = listener, .events = POLLIN } };
	nfds_t n = 1u;

	for (;;) {
		if (poll(fds, n, -1) < 0)
			return 1;
		for (nfds_t i = n; i-- > 1u;)
			if (fds[i].revents != 0 && answer(fds[i].fd) != 0) {
				close(fds[i].fd);
				fds[i] = fds[--n];
			}
		if ((fds[0].revents & POLLIN) != 0 && n <= CONNS_MAX)
			fds[n++] = (struct pollfd){ .fd = accept(listener, NULL, NULL), .events = POLLIN };
	}
}

/* 1..max, each magnitude as likely as the next. */
static uint32_t random_len(uint32_t max)
{
	uint32_t top = 16u;

	while (top < max && rand() % 8 != 0)
		top *= 2u;
	if (top > max)
		top = max;
	return 1u + (uint32_t)rand() % top;
}

static int call(const char *addr, const char *port, char *const *args)
{
	int conns = atoi(args[0]);
	int calls = atoi(args[1]);
	static char request[LEN_MAX];
	int fds[CONNS_MAX];

	memcpy(request + 8, text, sizeof(text) - 8u);
	if (conns > CONNS_MAX)
		return 1;
	for (int i = 0; i < conns; i++)
		if ((fds[i] = open_socket(addr, port, 0)) < 0)
			return 1;
	for (int k = 0; k < calls; k++) {
		uint32_t want[CONNS_MAX];

		for (int i = 0; i < conns; i++) {
			uint32_t lens[2] = { random_len((uint32_t)atoi(args[2])), random_len((uint32_t)atoi(args[3])) };

			want[i] = lens[1];
			memcpy(request, lens, sizeof(lens));
			if (transfer(fds[i], request, sizeof(lens) + lens[0], 1) != 0)
				return 1;
		}
		for (int i = 0; i < conns; i++)
			if (transfer(fds[i], text, want[i], 0) != 0)
				return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0u; i < sizeof(text); i++)
		text[i] = "a line of plain text, repeated\n"[i % 31u];
	if (argc == 4 && strcmp(argv[1], "serve") == 0) {
		int fd = open_socket(argv[2], argv[3], 1);

		return fd < 0 ? 1 : serve(fd);
	}
	if (argc == 8 && strcmp(argv[1], "call") == 0)
		return call(argv[2], argv[3], argv + 4);
	fprintf(stderr, "usage: rpc serve ADDR PORT | rpc call ADDR PORT CONNS CALLS REQ_MAX REPLY_MAX\n");
	return 1;
}
