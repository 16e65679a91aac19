/* SPDX-License-Identifier: BSD-3-Clause */
/* What arrives at the queues of flush_sim.h, laid out beforehand in the order in which it comes. */
#ifndef FLUSH_WIRE_H
#define FLUSH_WIRE_H

#include "flush_sim.h"

/* A packet on its way; the last four members are for those who take it. */
struct arrival {
	vnetrx_ns at;
	uint32_t  flow;
	uint32_t  nth;
	uint32_t  gap;    /* of its train                     */
	bool      tail;
	bool      push;
	uint32_t  call;   /* that took it                     */
	vnetrx_ns taken;  /* when the call began that took it */
	vnetrx_ns seen;   /* when it counts as seen           */
};

struct arrivals {
	struct arrival *list;
	uint32_t        count, size;
	uint32_t       *of_flow[FLUSH_FLOWS + 1u]; /* index of the flow's nth arrival  */
};

/* Every flow sends `rounds` trains; queues are zero-initialised. */
void flush_wire(const struct flush_case *c, uint32_t rounds, struct arrivals *queues);

/* Frees what flush_wire() laid out for one queue. */
void flush_wire_free(struct arrivals *queue);

#endif
