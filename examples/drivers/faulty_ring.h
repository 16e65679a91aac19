/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile device on the other side of a virtqueue's memory: it takes chains as struct softring does, and completes
 * them wrongly, or writes where only the driver may write. Each kind of fault happens at random with a set probability.
 *
 * It writes to ring memory, to indirect tables and to segments that it holds, nowhere else: what a device behind an
 * IOMMU can do. Memory errors that a checker sees are the driver's, if `map` of the ring lets nothing else through.
 */
#ifndef EXAMPLES_FAULTY_RING_H
#define EXAMPLES_FAULTY_RING_H

#include "softring.h"

#define FAULTY_RING_KINDS(X) \
	X(ID_WILD,     "an id that no chain can have") \
	X(ID_NOT_HEAD, "an id near the right one: perhaps inside a chain") \
	X(ID_TWICE,    "an id that came back lately") \
	X(ID_OTHER,    "the id of another chain that is out") \
	X(IDX_JUMP,    "more is used than was completed") \
	X(IDX_BACK,    "split: the used index goes back") \
	X(IDX_WILD,    "split: a random used index; packed: random flags") \
	X(WRAP_WRONG,  "packed: a wrong pair of flags for this lap") \
	X(LEN_ZERO,    "length 0") \
	X(LEN_OVER,    "length above what was posted") \
	X(LEN_HUGE,    "length near 2^32") \
	X(NBUFS_ZERO,  "num_buffers 0") \
	X(NBUFS_FEW,   "num_buffers one less") \
	X(NBUFS_MANY,  "num_buffers a few more: the rest never comes, or is another packet") \
	X(NBUFS_WILD,  "num_buffers random") \
	X(HEADER,      "all of the header random") \
	X(LOST,        "a chain that is never completed") \
	X(DESC,        "bytes of a descriptor overwritten") \
	X(DESC_FLAGS,  "flags of a descriptor overwritten: NEXT, WRITE, INDIRECT and the rest") \
	X(TABLE,       "an entry of an indirect table overwritten") \
	X(AVAIL,       "split: the available ring or its index overwritten") \
	X(EVENT,       "a word of event suppression overwritten, of either side") \
	X(ANYWHERE,    "a random 16-bit word anywhere in the ring's memory")

#define FAULTY_RING_ENUM(name, text) FAULTY_RING_##name,
enum faulty_ring_kind {
	FAULTY_RING_KINDS(FAULTY_RING_ENUM)
	FAULTY_RING_KINDS_NUM
};

struct faulty_ring;

/* A hostile device on a ring; without faults it is as honest as the ring, which is kept, not owned. NULL: no memory. */
struct faulty_ring *faulty_ring_new(struct softring *ring, uint64_t seed);

void faulty_ring_free(struct faulty_ring *f);

/* Chance of one kind of fault, in millionths, each time it could happen; the same for all kinds. */
void faulty_ring_set(struct faulty_ring *f, enum faulty_ring_kind kind, uint32_t ppm);
void faulty_ring_set_all(struct faulty_ring *f, uint32_t ppm);

/* As softring_take(), with faults. Faults of the "driver" that it reports may be the device's own doing. */
int faulty_ring_take(struct faulty_ring *f, struct softring_chain *chain, struct softring_seg *segs, unsigned max);

/* As softring_put(), with faults; segs: of the chain. */
void faulty_ring_put(struct faulty_ring *f, const struct softring_chain *chain, const struct softring_seg *segs,
                     uint32_t len);

/* Writes somewhere, if a fault of that sort happens now. */
void faulty_ring_scribble(struct faulty_ring *f);

/* Forgets what came back; with softring_reset(). */
void faulty_ring_reset(struct faulty_ring *f);

/* How often a kind of fault has happened. */
uint64_t faulty_ring_count(const struct faulty_ring *f, enum faulty_ring_kind kind);

/* A short text; NULL past the end. */
const char *faulty_ring_text(unsigned kind);

#endif
