/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device's side of one virtqueue in process memory, split or packed, written from virtio 1.2 (2.7 and 2.8) alone:
 * what the library's driver side is tested and measured against.
 *
 *   driver publishes --> softring_take --> segments --> softring_put, in any order --> softring_interrupt --> reap
 *
 * It is honest, and it checks that the driver is: a chain against the rules is reported, not used. One ring, one thread
 * (the driver may run on another).
 */
#ifndef EXAMPLES_SOFTRING_H
#define EXAMPLES_SOFTRING_H

#include <stdbool.h>
#include <stdint.h>

#define SOFTRING_PACKED     0x01u
#define SOFTRING_EVENT_IDX  0x02u
#define SOFTRING_INDIRECT   0x04u
#define SOFTRING_IN_ORDER   0x08u /* the caller completes chains in the order it took them                        */
#define SOFTRING_BIG_ENDIAN 0x20u

struct softring_config {
	uint32_t size;     /* slots: split 2^n up to 32768, packed 1 to 32768                                      */
	uint32_t flags;    /* SOFTRING_*                                                                           */
	uint64_t desc;     /* descriptor table, or packed ring; these three as in struct vnetrx_virtq_areas        */
	uint64_t driver;   /* available ring, or driver event suppression                                          */
	uint64_t device;   /* used ring, or device event suppression                                               */
	uint32_t start;    /* position of the first chain and of the first completion: split, the 16-bit index;
	                    * packed, offset in bits 0..14 and 0x8000 when in the second lap (wrap counter 0)      */
	void *(*map)(void *arg, uint64_t dma, uint32_t len); /* NULL = an address is a pointer; returns NULL: bad  */
	void    *map_arg;
};

struct softring;

/* NULL: no memory, size out of range, or an area that cannot be mapped. The areas are neither read nor written. */
struct softring *softring_new(const struct softring_config *cfg);

void softring_free(struct softring *r);

/* The device was reset: nothing is held, everything begins at `start` again. */
void softring_reset(struct softring *r);

/* ---- chains from the driver ---- */

struct softring_seg {
	void    *addr;
	uint32_t len;
	bool     write; /* the device writes it, else it reads it */
};

struct softring_chain {
	uint16_t id;    /* split: first descriptor; packed: buffer id     */
	uint16_t slots; /* descriptors of the ring itself                 */
	uint32_t out;   /* segments that the device reads: the first ones */
	uint32_t in;    /* segments that it writes: the rest              */
};

enum softring_fault {
	SOFTRING_BAD_INDEX  = -1, /* more chains available than the ring has slots          */
	SOFTRING_BAD_HEAD   = -2, /* no such descriptor                                     */
	SOFTRING_BAD_TWICE  = -3, /* the id of a chain that the device still holds          */
	SOFTRING_BAD_CHAIN  = -4, /* never ends, or has more segments than there is room    */
	SOFTRING_BAD_ORDER  = -5, /* a segment to read behind one to write                  */
	SOFTRING_BAD_TABLE  = -6, /* an indirect table that may not be here, or not so      */
	SOFTRING_BAD_LEN    = -7, /* a segment of no bytes                                  */
	SOFTRING_BAD_ADDR   = -8, /* cannot be mapped                                       */
	SOFTRING_BAD_NEXT   = -9, /* IN_ORDER: not the descriptor that follows in the table */
	SOFTRING_BAD_FLAGS  = -10, /* packed: a part of the chain was not made available    */
};

/* Takes the oldest available chain and up to max segments of it: 1, 0 = there is none, or a fault of the driver, after
 * which only softring_reset() helps. */
int softring_take(struct softring *r, struct softring_chain *chain, struct softring_seg *segs, unsigned max);

/* Whether a chain waits to be taken. */
bool softring_pending(const struct softring *r);

/* Where the next chain will be: split the index, packed the offset and, in bit 15, the wrap counter: the upper half of
 * the value with which a driver rings the doorbell when all is taken (2.9). */
uint16_t softring_next(const struct softring *r);

/* Copies from the segments to buf, or from buf to the segments, from byte `off` of their sum on; returns how much. */
uint32_t softring_read(const struct softring_seg *segs, unsigned n, uint32_t off, void *buf, uint32_t len);
uint32_t softring_write(const struct softring_seg *segs, unsigned n, uint32_t off, const void *buf, uint32_t len);

/* ---- completions to the driver ---- */

/* Completes a chain, len bytes written; seen by the driver after softring_publish(). */
void softring_put(struct softring *r, const struct softring_chain *chain, uint32_t len);

/* IN_ORDER: completes n > 0 chains, taken one after the other, with one entry that names the last (2.7.9, 2.8.8). */
void softring_put_batch(struct softring *r, const struct softring_chain *chains, unsigned n, uint32_t len_last);

void softring_publish(struct softring *r);

/* Publishes, and says whether the driver wants an interrupt for what came since the last call. */
bool softring_interrupt(struct softring *r);

/* ---- doorbells ---- */

/* Asks for a doorbell when `slots` more slots than taken are available (1 = at the next chain; without EVENT_IDX always
 * that). true: so much is there already and perhaps no doorbell comes; do not sleep. */
bool softring_sleep(struct softring *r, uint32_t slots);

/* Asks for none; one may still come. */
void softring_wake(struct softring *r);

#endif
