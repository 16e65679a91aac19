/* SPDX-License-Identifier: BSD-3-Clause */
/* An engine with copies of its own of all packets of a stream, so that several can be given the same. */
#ifndef TEST_ENGINE_H
#define TEST_ENGINE_H

#include "gro_rig.h"
#include "stream.h"

#define ENGINE_PKTS 600u

/* A packet, in one or two fragments. */
struct copy {
	struct vnetrx_pkt pkt[2];
	unsigned          number;
	uint8_t          *data[2];
};

struct engine {
	struct vnetrx_gro *gro;
	void              *mem;
	struct copy       *copy[ENGINE_PKTS];
	struct vnetrx_pktq out;
};

/* A packet that left: the numbers of those that it consists of. */
struct left {
	unsigned members[ENGINE_PKTS];
	unsigned n;
	unsigned reason;
};

void engine_init(struct engine *e, const struct vnetrx_gro_config *cfg);
void engine_fini(struct engine *e, unsigned n);

/* The engine's own copy of a packet. */
struct vnetrx_pkt *engine_copy(struct engine *e, unsigned number, const struct stream_pkt *p, vnetrx_ns now);

/* Reads off what a packet that left consists of. */
void engine_members(const struct engine *e, const struct vnetrx_pkt *pkt, struct left *left);

#endif
