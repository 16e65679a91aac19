/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of held packets against a plain list: every operation is done on both, and both must say the same.
 *
 * Flows are numbers; every fifth is in a tunnel. The list knows slot, times and waiting list of each that is held.
 */
#ifndef TEST_FLOW_MODEL_H
#define TEST_FLOW_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gro/flow.h"

struct flow_entry {
	uint32_t  number; /* which flow */
	uint32_t  slot;
	unsigned  wait;
	uint64_t  touched; /* when, in operations */
	uint64_t  added;
	vnetrx_ns seen;
	uint8_t  *hdr;
};

struct flow_model {
	struct vnrx_flows  t;
	void              *mem;
	size_t             mem_size;
	struct flow_entry *entry;
	uint32_t           n;
	uint64_t           ops;
	vnetrx_ns          now;
	uint32_t           evicted; /* because a set was full */
	uint32_t          *slot_owner; /* index in entry, or UINT32_MAX */
};

void flow_model_init(struct flow_model *m, uint32_t held_max, const uint64_t key[2]);
void flow_model_fini(struct flow_model *m);

/* Index of the flow in entry, UINT32_MAX = not held; the table must agree. */
uint32_t flow_model_find(struct flow_model *m, uint32_t number);

/* Enters the flow, or touches it when it is held; makes room as the table asks for it. */
void flow_model_put(struct flow_model *m, uint32_t number, unsigned wait);

/* Takes an entry out, by its index. */
void flow_model_del(struct flow_model *m, uint32_t index);
void flow_model_clear(struct flow_model *m);

/* Walks all lists, buckets and tags: NULL, or what differs from the list. */
const char *flow_model_check(const struct flow_model *m);

#endif
