/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packets of a benchmark: buffers, descriptors, and the order in which they come.
 *
 * A descriptor belongs to its buffer, as with a driver whose ring entries carry both: in random order both are random.
 * The peer's descriptors are other memory than ours and describe the same buffers.
 */
#ifndef SUPPLY_H
#define SUPPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "traffic.h"
#include "vnetrx/pkt.h"

#define SUPPLY_PACKETS   32768u
#define SUPPLY_BUF       2176u
#define SUPPLY_PEER      128u    /* bytes of a peer's descriptor */
#define SUPPLY_HOT       1024u   /* buffers of a chunk           */
#define SUPPLY_HOT_LONG  4096u
#define SUPPLY_CHUNKS    8u

struct bench;

enum memory {
	MEMORY_HOT,  /* chunks of 1024 buffers that were just written, for windows above 256 of 4096: second-level cache
		      */
	MEMORY_COLD, /* one chunk of 32768 buffers in random order: last-level cache */
	MEMORY_SMALL, /* cold, and the buffers and descriptors in pages of 4 KiB */
	MEMORIES
};

struct supply {
	uint8_t           *bufs;
	struct vnetrx_pkt *descs; /* ours, by buffer                                   */
	uint8_t           *peers; /* the peer's, by buffer                             */
	uint32_t          *order; /* buffer of each packet                             */
	struct vnetrx_pkt **pkts; /* ours in the order of packets                      */
	void             **ptrs;  /* the peer's in the order of packets                */
	uint32_t           chunk; /* packets written at once                           */
	uint32_t           total; /* packets of one repeat                             */
	uint32_t           piece; /* packets between two looks at the clock            */
	bool               together; /* pieces too short to be judged one by one         */
};

/* What goes through an engine, and how. */
struct gro_case {
	enum traffic_pattern pattern;
	enum traffic_kind    kind;
	enum memory          memory;
	uint32_t             flows;
	uint32_t             payload;
	uint32_t             push_every; /* PSH on so many-th segments of a flow; 0 = on none */
	uint32_t window; /* packets between two complete flushes; 0 = flushed at the end of a chunk only */
	uint32_t             burst;      /* packets given at once                    */
	const uint32_t      *numbers;    /* of the flows; NULL = 0, 1, 2, ...        */
};

const char *memory_name(enum memory memory);

/* Gets the memory, in huge pages unless `small`. */
void supply_init(struct supply *s, struct bench *b, bool small);

/* Chunks and order for a row; the same each time. */
void supply_order(struct supply *s, enum memory memory, uint32_t window);

/* Starts a case's stream. */
void supply_traffic(struct traffic *t, const struct gro_case *c);

static inline uint8_t *supply_buf(const struct supply *s, uint32_t i)
{
	return s->bufs + (size_t)s->order[i] * SUPPLY_BUF;
}

/* Untimed: writes the headers of a chunk; and our descriptors of it. */
void supply_write_headers(const struct supply *s, struct traffic *t);
void supply_write_pkts(struct supply *s, const struct traffic *t);

#endif
