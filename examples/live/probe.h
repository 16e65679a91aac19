/* SPDX-License-Identifier: BSD-3-Clause */
/* What vnetrx-probe sends and expects: bytes that say where they belong. */
#ifndef EXAMPLES_LIVE_PROBE_H
#define EXAMPLES_LIVE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_WAIT_S 10 /* a peer that is silent for so long is gone */

/* Sockets on `port` of `addr`, IPv4 or IPv6; NULL = any of ours, to bind to. -1: said why. */
int probe_listen(const char *port);
int probe_connect(int type, const char *addr, const char *port);
int probe_bind_udp(const char *port);

/* Bytes [at, at + len) of the endless stream `seed`. */
void probe_fill(uint8_t *to, uint64_t seed, uint64_t at, size_t len);
bool probe_same(const uint8_t *bytes, uint64_t seed, uint64_t at, size_t len);

/* Each prints one JSON object and returns an exit code. */
int probe_tcp_source(const char *addr, const char *port, uint64_t bytes);
int probe_tcp_sink(const char *port, uint64_t bytes);
int probe_train_source(const char *addr, const char *port, uint64_t trains);
int probe_train_sink(const char *port, uint64_t trains);
int probe_flow_source(const char *addr, const char *port, uint64_t datagrams);
int probe_flow_sink(const char *port, uint64_t datagrams);

#endif
