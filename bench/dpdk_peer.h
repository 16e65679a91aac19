/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's GRO at work on a case, and the floors of any engine that chains its descriptors, on the same packets. */
#ifndef DPDK_PEER_H
#define DPDK_PEER_H

#include "supply.h"

struct bench;

enum dpdk_mode {
	DPDK_LIGHT, /* rte_gro_reassemble_burst() on each window: no state between calls, at most 128 packets */
	DPDK_HEAVY, /* rte_gro_reassemble() on each burst and rte_gro_timeout_flush() at each window's end */
	DPDK_MODES
};

struct dpdk_peer {
	struct bench          *b;
	struct supply         *s;
	const struct gro_case *c;
	enum dpdk_mode         mode;
	bool                   caller;  /* the caller prefetches and parses; else lengths and types are there already */
	void *table; /* heavy mode                                                                  */
	struct traffic         traffic;
	uint64_t pkts; /* that went in                                                                */
	uint64_t out; /* that came out                                                               */
};

/* Starts DPDK: without devices, files or telemetry, in huge pages if enough are free. */
void dpdk_start(void);

/* Version and memory of what was started. */
const char *dpdk_version(void);
const char *dpdk_pages(void);

const char *dpdk_mode_name(enum dpdk_mode mode);

/* A peer for c, with as many slots as a window has packets. */
void dpdk_peer_init(struct dpdk_peer *p, const struct gro_case *c, enum dpdk_mode mode, bool caller);
void dpdk_peer_fini(struct dpdk_peer *p);

/* ns per packet; arg is a struct dpdk_peer. Every chain that comes out is checked. */
double dpdk_peer_repeat(void *arg);

double dpdk_peer_segs(const struct dpdk_peer *p);

/* ---- dpdk_floor.c ---- */

#define DPDK_FLOORS 4u

struct dpdk_floor {
	struct bench          *b;
	struct supply         *s;
	const struct gro_case *c;
	unsigned               floor; /* 0..3: F0 to F3 */
	void                  *slots; /* DPDK_FLOOR_MEM bytes */
	struct traffic         traffic;
};

#define DPDK_FLOOR_MEM ((size_t)8192 * 16)

void dpdk_floor_init(struct dpdk_floor *f, const struct gro_case *c, unsigned floor);

/* ns per packet; arg is a struct dpdk_floor. */
double dpdk_floor_repeat(void *arg);

/* Writes DPDK's descriptors of a chunk. */
void dpdk_write(struct supply *s, const struct traffic *t);

#endif
