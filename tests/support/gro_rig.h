/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine alone, on wrapped packets: every packet that leaves is checked by laws 1 and 2 and noted in a line of
 * text.
 *
 *   "200:push 100:passed -:passed"   payload bytes and the reason it left; "-" = no whole TCP or UDP header
 */
#ifndef TEST_GRO_RIG_H
#define TEST_GRO_RIG_H

#include "frames.h"
#include "known.h"
#include "laws.h"
#include "view.h"
#include "vnetrx/gro.h"

struct gro_rig {
	struct vnetrx_gro  *gro;
	void               *mem;
	struct laws        *laws;
	struct view_rules   rules;    /* what the engine looks into                    */
	uint32_t            flags;    /* of the configuration                          */
	struct vnetrx_pkt **pkts;     /* all that went in, fragments too                */
	uint8_t           **data;     /* and the bytes made for each                    */
	unsigned            npkts, room;
	struct vnetrx_pkt  *last;     /* the last that left                            */
	uint8_t            *bytes;    /* and its bytes in one piece, until another does */
	size_t              bytes_len;
	vnetrx_ns           now;      /* for gro_rig_put() and gro_rig_frame()         */
	unsigned            nout;     /* left since gro_rig_expect()                   */
	char                text[16384];
};

/* NULL = defaults. Fails the test when the engine cannot be set up. */
struct gro_rig *gro_rig_new(const struct vnetrx_gro_config *cfg);

/* Flushes, checks that nothing is missing and that the counters balance, frees everything. */
void gro_rig_free(struct gro_rig *rig);

/* A packet of these bytes for the rig to put in; split > 0: in two fragments, the first of `split` bytes. The caller
 * may set meta fields before gro_rig_put(). */
struct vnetrx_pkt *gro_rig_pkt(struct gro_rig *rig, const uint8_t *bytes, size_t len, size_t split, uint32_t flags);
void gro_rig_put(struct gro_rig *rig, struct vnetrx_pkt *pkt);

/* The same of a frame. */
struct vnetrx_pkt *gro_rig_made(struct gro_rig *rig, const struct frame *f, size_t split, uint32_t flags);

/* Builds the frame and puts it in. */
void gro_rig_frame(struct gro_rig *rig, const struct frame *f);

/* The same, flow f moved on: seq by its payload, ids by one. */
void gro_rig_next(struct gro_rig *rig, struct frame *f);

/* That n times. */
void gro_rig_train(struct gro_rig *rig, struct frame *f, unsigned n);

/* vnetrx_gro_set_protos(); nothing may be held by an earlier setting that the new one does not know. */
void gro_rig_protos(struct gro_rig *rig, uint32_t protos);

void gro_rig_expire(struct gro_rig *rig, vnetrx_ns now);
void gro_rig_flush(struct gro_rig *rig);

/* Frames of gro_rig_frame() say that the device verified their checksum (unless it is made wrong): the short way. */
extern bool gro_rig_verified;

/* What left since the last time must be just this. */
void gro_rig_expect(struct gro_rig *rig, const char *text);

struct vnetrx_gro_stats gro_rig_stats(const struct gro_rig *rig);

/* The short name of an enum vnetrx_reason. */
const char *reason_name(unsigned reason);

/* What a configuration looks into. */
struct view_rules gro_rules(const struct vnetrx_gro_config *cfg);

/* Any packet as the law checks want it; bytes has room for it. */
struct law_pkt law_pkt_of(const struct vnetrx_pkt *pkt, uint8_t *bytes);

#endif
