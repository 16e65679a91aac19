/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wraps any device and makes it lie, forget and refuse: at random with set probabilities, or at the n-th call of an op.
 *
 *   library --- faulty_ops ---> struct faulty --- its own ids ---> wrapped device
 *
 * It stays inside what a device may do at all: it never makes the wrapped device write to a buffer that the library was
 * told about, so memory errors that a checker sees are the library's.
 */
#ifndef EXAMPLES_FAULTY_H
#define EXAMPLES_FAULTY_H

#include "vnetrx/ops.h"

#define FAULTY_KINDS(X) \
	X(POST_NONE,   "post takes nothing") \
	X(POST_SHORT,  "post takes a part") \
	X(REAP_NONE,   "reap returns nothing though completions wait") \
	X(REAP_SHORT,  "reap returns a part of what it could") \
	X(REAP_BROKEN, "reap reports the device as broken") \
	X(KICK_LOST,   "a kick is lost") \
	X(DECODE_BAD,  "decode refuses the header") \
	X(ARM_LIES,    "arm says the opposite") \
	X(LOST,        "up to 8 completions in a row never come") \
	X(ID_WRONG,    "a completion has an id that was never out") \
	X(ID_STALE,    "a completion has an id that is not out any more") \
	X(ID_TWICE,    "a completion comes twice") \
	X(SWAP,        "two completions change places") \
	X(SWAP_IDS,    "two completions change their ids") \
	X(LEN_ZERO,    "length 0") \
	X(LEN_SHORT,   "length shorter than the headers") \
	X(LEN_LONG,    "length somewhat above what was posted") \
	X(LEN_HUGE,    "length near 2^32") \
	X(OFF_SMALL,   "an offset of up to 64 bytes") \
	X(OFF_HUGE,    "an offset near 2^16") \
	X(FLAGS,       "random completion flags") \
	X(NBUFS_ZERO,  "num_buffers 0") \
	X(NBUFS_FEW,   "num_buffers one less") \
	X(NBUFS_MANY,  "num_buffers a few more") \
	X(NBUFS_WILD,  "num_buffers random") \
	X(GSO,         "random gso_type and gso_size") \
	X(CSUM,        "random checksum flags, start and offset") \
	X(HEADER,      "all of the device header random") \
	X(FRAME,       "a few random bytes in the first 96 of the buffer")

#define FAULTY_ENUM(name, text) FAULTY_##name,
enum faulty_kind {
	FAULTY_KINDS(FAULTY_ENUM)
	FAULTY_KINDS_NUM
};

enum faulty_op {
	FAULTY_OP_POST,   /* fails: takes nothing        */
	FAULTY_OP_REAP,   /* fails: the device is broken */
	FAULTY_OP_KICK,   /* fails: is lost              */
	FAULTY_OP_DECODE, /* fails: refuses the header   */
	FAULTY_OP_ARM,    /* fails: says the opposite    */
	FAULTY_OPS_NUM
};

struct faulty_config {
	const struct vnetrx_dev_ops *ops; /* of the wrapped device; kept, not copied         */
	void    *dev;
	uint32_t ring_size;               /* buffers that may be out at once, 1..32768       */
	uint32_t hdr_len;                 /* device header, for the faults that spoil it     */
	uint64_t seed;
};

struct faulty;

extern const struct vnetrx_dev_ops faulty_ops;

/* A wrapper without faults; NULL: no memory, or ring_size out of range. */
struct faulty *faulty_new(const struct faulty_config *cfg);

void faulty_free(struct faulty *dev);

/* Chance of one kind of fault, in millionths, each time it could happen. */
void faulty_set(struct faulty *dev, enum faulty_kind kind, uint32_t ppm);

/* The same for all kinds but REAP_BROKEN. */
void faulty_set_all(struct faulty *dev, uint32_t ppm);

/* The n-th call of an op from now on fails (1 = the next), and with `on` all later ones too; 0 = none. */
void faulty_fail(struct faulty *dev, enum faulty_op op, uint64_t n, bool on);

/* true: everything passes through unchanged until false. */
void faulty_quiet(struct faulty *dev, bool quiet);

/* Forgets all buffers, hidden ones too. The wrapped device must be reset as well; then vnetrx_rxq_reclaim(). */
void faulty_reset(struct faulty *dev);

/* Buffers that the library lent and that will not come back before a reset. */
uint32_t faulty_hidden(const struct faulty *dev);

/* How often a kind of fault has happened. */
uint64_t faulty_count(const struct faulty *dev, enum faulty_kind kind);

/* A short text; NULL past the end. */
const char *faulty_text(unsigned kind);

#endif
