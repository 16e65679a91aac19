/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trains: 42,000 bytes each, one on its way at a time; the sink answers with the number of each that it has whole.
 * Flows: numbered datagrams of 16 ports, as fast as they go; what must hold is their order.
 */
#include "probe.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DATAGRAM 1400u
#define TRAIN    42000u
#define FLOWS    16u
#define PAUSE    64u   /* datagrams, after which a source of flows lets others run */

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#define UDP_GRO     104
#endif

static uint8_t bytes[65536];

static bool set(int sock, int option, int value)
{
	return setsockopt(sock, IPPROTO_UDP, option, &value, sizeof(value)) == 0;
}

/* ---- trains ---- */

int probe_train_source(const char *addr, const char *port, uint64_t trains)
{
	int sock = probe_connect(SOCK_DGRAM, addr, port);
	uint64_t i, answer = 0u;

	if (sock < 0 || !set(sock, UDP_SEGMENT, DATAGRAM))
		return 2;
	for (i = 0u; i < trains; i++) {
		probe_fill(bytes, i, 0u, TRAIN);
		if (send(sock, bytes, TRAIN, 0) != TRAIN)
			break;
		if (recv(sock, &answer, sizeof(answer), 0) != sizeof(answer) || answer != i)
			break;
	}
	printf("{\"sent\":%" PRIu64 "}\n", i);
	close(sock);
	return i == trains ? 0 : 2;
}

int probe_train_sink(const char *port, uint64_t trains)
{
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	uint64_t i = 0u, joined = 0u, wrong = 0u, reads = 0u;
	size_t at = 0u;
	int sock = probe_bind_udp(port);
	ssize_t n;

	if (sock < 0 || !set(sock, UDP_GRO, 1))
		return 2;
	while (i < trains) {
		n = recvfrom(sock, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &from_len);
		if (n <= 0 || at + (size_t)n > TRAIN)
			break;
		reads++;
		joined += n == TRAIN;
		wrong += !probe_same(bytes, i, at, (size_t)n);
		at += (size_t)n;
		if (at < TRAIN)
			continue;
		if (sendto(sock, &i, sizeof(i), 0, (struct sockaddr *)&from, from_len) != sizeof(i))
			break;
		i++;
		at = 0u;
	}
	printf("{\"trains\":%" PRIu64 ",\"joined\":%" PRIu64 ",\"reads\":%" PRIu64 ",\"wrong\":%" PRIu64 "}\n", i,
	       joined, reads, wrong);
	close(sock);
	return i == trains && wrong == 0u ? 0 : 2;
}

/* ---- flows ---- */

int probe_flow_source(const char *addr, const char *port, uint64_t datagrams)
{
	int socks[FLOWS];
	uint64_t i, sent = 0u;

	for (i = 0u; i < FLOWS; i++) {
		socks[i] = probe_connect(SOCK_DGRAM, addr, port);
		if (socks[i] < 0)
			return 2;
	}
	for (i = 0u; i < datagrams; i++) {
		probe_fill(bytes, i % FLOWS, i, DATAGRAM);
		memcpy(bytes, &i, sizeof(i));
		sent += send(socks[i % FLOWS], bytes, DATAGRAM, 0) == DATAGRAM;
		if (i % PAUSE == PAUSE - 1u)
			usleep(300u);
	}
	for (i = 0u; i < FLOWS; i++)
		close(socks[i]);
	printf("{\"sent\":%" PRIu64 "}\n", sent);
	return 0;
}

struct flow_sums {
	uint64_t expected[FLOWS]; /* the least number that may come next */
	uint64_t received;
	uint64_t late;
	uint64_t wrong;
	uint64_t reads;
};

static void datagram(struct flow_sums *sums, const uint8_t *data, size_t len)
{
	uint64_t number;

	sums->received++;
	if (len != DATAGRAM) {
		sums->wrong++;
		return;
	}
	memcpy(&number, data, sizeof(number));
	if (!probe_same(data + sizeof(number), number % FLOWS, number + sizeof(number), len - sizeof(number)))
		sums->wrong++;
	if (number < sums->expected[number % FLOWS])
		sums->late++;
	sums->expected[number % FLOWS] = number + 1u;
}

int probe_flow_sink(const char *port, uint64_t datagrams)
{
	struct flow_sums sums = { .received = 0u };
	int sock = probe_bind_udp(port);
	bool over = false;
	ssize_t n;

	if (sock < 0 || !set(sock, UDP_GRO, 1))
		return 2;
	while (!over && (n = recv(sock, bytes, sizeof(bytes), 0)) > 0) {
		size_t at;

		sums.reads++;
		for (at = 0u; at < (size_t)n; at += DATAGRAM)
			datagram(&sums, bytes + at, (size_t)n - at < DATAGRAM ? (size_t)n - at : DATAGRAM);
		for (at = 0u; at < FLOWS; at++)
			over = over || sums.expected[at] >= datagrams - FLOWS; /* the last of a flow */
	}
	printf("{\"received\":%" PRIu64 ",\"late\":%" PRIu64 ",\"wrong\":%" PRIu64 ",\"reads\":%" PRIu64 "}\n",
	       sums.received, sums.late, sums.wrong, sums.reads);
	close(sock);
	return sums.received > 0u && sums.late == 0u && sums.wrong == 0u ? 0 : 2;
}
