/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle: GRO written from the rules, the slow and obvious way. Linear lists, one named field after the other, no
 * code shared with the library.
 *
 * The model says, for the same calls, which packets leave in which call, of which segments each consists, and why it
 * leaves. It says nothing about the order between flows.
 */
#ifndef TEST_MODEL_H
#define TEST_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view.h"
#include "vnetrx/gro.h"

struct model_cfg {
	unsigned flows;
	unsigned segs_max;
	uint32_t bytes_max;
	uint64_t timeout_ns; /* 0 = none */
	uint64_t hold_max_ns;
	uint32_t protos;     /* VNETRX_GRO_TCP ... */
	uint32_t flags;      /* VNETRX_GRO_RFC6864 ... but ADAPTIVE */
	uint32_t payload_min;
	struct view_rules rules;
};

#define MODEL_SPLIT_MAX 8u /* held packets whose headers lie in several fragments */

/* What is known about a packet beside its bytes: VNETRX_PKT_* and the fields that they make count. */
struct model_meta {
	uint32_t flags;
	uint16_t vlan_tci, vlan_proto;
	uint16_t gso_size;
	uint8_t  gso_type;
	bool     stamped;    /* seen at `stamp` when that is before now */
	uint64_t stamp;
	uint16_t csum_start, csum_offset; /* with PARTIAL */
	uint32_t mark;
	size_t   split;      /* bytes in the first fragment; 0 = all */
};

/* A packet that left. */
struct model_out {
	unsigned *members; /* numbers of its segments */
	unsigned  n;
	enum vnetrx_reason reason;
};

struct model;

struct model *model_new(const struct model_cfg *cfg);
void model_free(struct model *m);

/* Packet `number` comes in at now; bytes stay the caller's and must not change. */
void model_receive(struct model *m, unsigned number, const uint8_t *bytes, size_t len, const struct model_meta *meta,
                   uint64_t now);
void model_expire(struct model *m, uint64_t now);
void model_flush(struct model *m);

/* vnetrx_gro_set_protos(): everything held leaves. */
void model_protos(struct model *m, uint32_t protos);

/* When the next held packet is due; VNETRX_NEVER = none held. */
uint64_t model_deadline(const struct model *m);
unsigned model_held(const struct model *m);

/* What the library may do though the model would not: a packet leaves for a reason that lies in the table. false: it is
 * not held, or, for EVICTED with `any` false, another has been quiet for longer. */
bool model_force(struct model *m, unsigned first, enum vnetrx_reason reason, bool any);

/* Is packet `number` held, as the first of its packet? */
bool model_holds(const struct model *m, unsigned number);

/* Takes what left since the last call, sorted by first member; returns how many. Valid until the next call. */
unsigned model_take(struct model *m, const struct model_out **out);

#endif
