/* SPDX-License-Identifier: BSD-3-Clause */
/* Random traffic, the same for the same seed: flows that mostly go on as they should, and sometimes do not. */
#ifndef TEST_STREAM_H
#define TEST_STREAM_H

#include "frames.h"

struct rng {
	uint64_t state;
};

/* A number below n. */
uint32_t rng_below(struct rng *rng, uint32_t n);

/* True once in n times. */
bool rng_once_in(struct rng *rng, uint32_t n);

/* The seed to use: VNETRX_SEED, or one that differs from run to run; printed as a comment line. */
uint64_t stream_seed(void);

/* How many rounds to do: VNETRX_COUNT, or `usual`. */
unsigned stream_count(unsigned usual);

/* The step of a loop over all cases: 1; `few` where VNETRX_COUNT asks for fewer rounds than ten, as under Valgrind. */
unsigned stream_step(unsigned few);

#define STREAM_FLOWS 256u

struct stream {
	struct rng   rng;
	unsigned     nflows;              /* 1..STREAM_FLOWS                                  */
	uint32_t     odd;                 /* one frame in so many is changed; 0 = none        */
	uint32_t     payload_max;
	bool         device_words;        /* tags taken off, marks, timestamps, fragments    */
	bool         gso;                 /* the device merges packets too                   */
	bool         all;                 /* UDP, PPPoE and tunnels too                      */
	unsigned     last;
	struct frame flow[STREAM_FLOWS];
	struct frame_tunnel tunnel[STREAM_FLOWS];
};

/* A frame, and what the device says beside it: VNETRX_PKT_* bits in flags. */
struct stream_pkt {
	uint8_t *bytes; /* room of FRAME_MAX */
	size_t   len;
	size_t   split; /* bytes in its first fragment; 0 = all */
	uint32_t flags;
	uint16_t vlan_tci, vlan_proto, gso_size, csum_start, csum_offset;
	uint8_t  gso_type;
	uint32_t mark, hash;
	uint64_t tstamp_back; /* its timestamp is so much before now */
};

void stream_init(struct stream *s, uint64_t seed, unsigned nflows, uint32_t odd, uint32_t payload_max);
void stream_next(struct stream *s, struct stream_pkt *pkt);

/* The same with UDP, PPPoE and tunnels. */
void stream_init_all(struct stream *s, uint64_t seed, unsigned nflows, uint32_t odd, uint32_t payload_max);

/* ---- stream_all.c ---- */

/* Makes of a plain flow one of any protocol. */
void stream_start_any(struct stream *s, unsigned i);

/* One change of what only these have: PPPoE, the tunnel's headers, UDP. */
void stream_change_any(struct rng *rng, struct frame *f);

#endif
