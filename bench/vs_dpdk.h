/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of vs_dpdk share. */
#ifndef VS_DPDK_H
#define VS_DPDK_H

#include "bench.h"
#include "dpdk_peer.h"
#include "gro_work.h"

#define VS_OURS 6u

struct vs {
	struct bench     *b;
	struct supply     huge;
	struct supply     small;
	struct gro_work   ours[VS_OURS];
	struct dpdk_peer  peers[4]; /* light, heavy; the same with the caller's prefetching and parsing */
	struct dpdk_floor floor[DPDK_FLOORS];
};

/* "hot train44 8 W64", and what is not usual about the case. */
void vs_name(const struct gro_case *c, char *name, unsigned size);

/* The buffers for a case, in its order. */
struct supply *vs_supply(struct vs *vs, const struct gro_case *c);

/* Sets up ours[i] for a case. */
struct gro_work *vs_ours(struct vs *vs, unsigned i, const struct gro_case *c, uint32_t protos, uint64_t key);

/* Sets up floor[i] for a case. */
struct dpdk_floor *vs_floor(struct vs *vs, unsigned i, const struct gro_case *c);

/* Begins the table of rows. */
void vs_table(struct bench *b);

/* Measures a case without a peer, or against DPDK, and prints its rows. False: not wanted. *ours, if not NULL, gets our
 * figure. */
bool vs_row_alone(struct vs *vs, const struct gro_case *c, uint32_t protos, struct bench_stat *ours);
bool vs_row(struct vs *vs, const struct gro_case *c, struct bench_stat *ours);

/* ---- dpdk_beside.c: what stands beside the comparison ---- */

/* Payload of 64 bytes, small pages, PSH, short polls, UDP that only passes: rows of the same table. */
void vs_other_rows(struct vs *vs);

/* Protocols beside TCP over IPv4; the checksum; the floors: tables of their own. */
void vs_protocols(struct vs *vs);
void vs_checksum(struct vs *vs);
void vs_floors(struct vs *vs);

/* ---- dpdk_flood.c ---- */

/* Floods aimed at one set, or with one device hash, beside random flows. */
void vs_floods(struct vs *vs);

#endif
