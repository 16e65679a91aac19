/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver's side of one virtqueue, split or packed (virtio 1.2, 2.7 and 2.8), in the caller's memory.
 *
 *   add, add_bufs --> publish --> kick? --> device --> reap
 *
 * A buffer is a chain of segments, first those that the device reads, then those that it writes. It takes one slot per
 * segment, or one slot in all when it goes into an indirect table. Whatever is needed later is kept privately: nothing
 * the device can write is read twice, and of what it wrote only used indices, ids, lengths and flags are read at all,
 * each checked against the private record. A device that contradicts it breaks the ring: that is reported, nothing is
 * followed, and vnetrx_virtq_reset() makes it usable again.
 *
 * No function waits, allocates or calls back. One queue, one thread.
 */
#ifndef VNETRX_VIRTQ_H
#define VNETRX_VIRTQ_H

#include "ops.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vnetrx_virtq;

/* flags of struct vnetrx_virtq_config: what was negotiated. */
#define VNETRX_VIRTQ_PACKED         0x01u /* RING_PACKED (34)                                                      */
#define VNETRX_VIRTQ_EVENT_IDX      0x02u /* RING_EVENT_IDX (29)                                                   */
#define VNETRX_VIRTQ_INDIRECT       0x04u /* RING_INDIRECT_DESC (28): chains of several segments take one slot     */
#define VNETRX_VIRTQ_IN_ORDER       0x08u /* IN_ORDER (35): the device uses buffers in the order they were added   */
#define VNETRX_VIRTQ_ORDER_PLATFORM 0x10u /* ORDER_PLATFORM (36): barriers that also order a device on a bus       */
#define VNETRX_VIRTQ_BIG_ENDIAN     0x20u /* ring in big endian: legacy devices (no VERSION_1) of such guests      */

struct vnetrx_virtq_config { /* zero = default; "required" has none */
	uint32_t size;         /* required; slots: split 2^n from 1 to 32768 (2.7), packed 1 to 32768 (2.8)           */
	uint32_t flags;        /* VNETRX_VIRTQ_*                                                                      */
	void    *ring;         /* required by init; ring memory shared with the device, aligned to ring_align         */
	uint64_t ring_dma;     /* its first byte as the device addresses it; a multiple of 16                         */
	uint32_t ring_align;   /* alignment of ring and used part: 2^n, 16 to 65536; default 64; legacy PCI 4096    */
	uint32_t segs_max;     /* longest chain, 1 to 1024 and at most size; default 1                                */
	uint32_t delay_num;    /* vnetrx_virtq_enable_delayed() waits for delay_num / delay_den of what is out;       */
	uint32_t delay_den;    /* default 3/4; 1 <= num <= den <= 256                                                 */
};

/* Bytes of private memory that init needs; 0: the configuration is wrong. *why, if why is not NULL: what is wrong,
 * "field: range" or "field: what it wants", a constant text; NULL when nothing is. `ring` is not looked at. */
size_t vnetrx_virtq_footprint(const struct vnetrx_virtq_config *cfg, const char **why);

/* Bytes of ring memory that init needs, indirect tables included; 0 as above. */
size_t vnetrx_virtq_ring_bytes(const struct vnetrx_virtq_config *cfg);

/* Sets up an empty queue in mem (aligned to 64) and writes its ring memory. Callbacks start disabled. */
VNETRX_MUST_USE int vnetrx_virtq_init(struct vnetrx_virtq **vq, const struct vnetrx_virtq_config *cfg, void *mem,
                                      size_t mem_size);

/* Where the transport tells the device to look, as the device addresses it. */
struct vnetrx_virtq_areas {
	uint64_t desc;   /* descriptor table, or the packed ring              */
	uint64_t driver; /* available ring, or the driver event suppression   */
	uint64_t device; /* used ring, or the device event suppression        */
};

/* Fills in *areas. */
void vnetrx_virtq_read_areas(const struct vnetrx_virtq *vq, struct vnetrx_virtq_areas *areas);

/* ---- driver to device ---- */

/* Free slots. A chain fits when they are at least what it needs. O(1), the ring is not touched. */
uint32_t vnetrx_virtq_free_slots(const struct vnetrx_virtq *vq);

/* Slots that a chain of `segs` segments takes. */
uint32_t vnetrx_virtq_slots_needed(const struct vnetrx_virtq *vq, unsigned segs);

/* Bytes that the device reads or writes; addr is not used by the ring. */
struct vnetrx_virtq_seg {
	uint64_t dma;
	uint32_t len; /* 1 to 2^31 */
	uint32_t rsvd;
};

/* Adds one chain: `out` segments that the device reads, then `in` that it writes (together 1..segs_max); `id` (any
 * value) comes back in reap. VNETRX_ERR_BUSY, and the ring untouched, when slots are missing; VNETRX_ERR_BAD when the
 * ring is broken; VNETRX_ERR_INVALID for a chain of no or too many segments. */
VNETRX_MUST_USE int vnetrx_virtq_add(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *segs, unsigned out,
                                     unsigned in, uint32_t id);

/* Adds receive buffers, one slot each, in order; returns how many had room (0 when broken). */
unsigned vnetrx_virtq_add_bufs(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n);

/* Makes everything added visible to the device; so do kick_needed, reap and enable_delayed. */
void vnetrx_virtq_publish(struct vnetrx_virtq *vq);

/* Publishes, and says whether the device wants a doorbell for what was published since the last call; always true when
 * that is so much that the 16-bit window of the event index could wrap. */
VNETRX_MUST_USE bool vnetrx_virtq_kick_needed(struct vnetrx_virtq *vq);

/* The value for a doorbell with NOTIFICATION_DATA (38) (2.9): queue index in bits 0..15, then the next offset (and wrap
 * counter, in packed rings in bit 31). */
uint32_t vnetrx_virtq_notification_data(const struct vnetrx_virtq *vq, uint16_t queue);

/* ---- device to driver ---- */

/* Takes up to max used buffers, oldest first: id as added; len as the device says it, unchecked (for buffers that it
 * only reads, devices say anything); off, flags, rsvd zero. With IN_ORDER, buffers skipped by the device have the
 * length that it may write. Returns how many, or VNETRX_ERR_BAD when the ring is broken and none was taken before.
 * Publishes first: nothing can come back that the device was not offered. */
int vnetrx_virtq_reap(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max);

/* Whether a used buffer waits, or the ring is broken: reap says which. The functions below that ask agree. */
bool vnetrx_virtq_pending(const struct vnetrx_virtq *vq);

/* Chains lent to the device: added and not reaped. */
uint32_t vnetrx_virtq_outstanding(const struct vnetrx_virtq *vq);

/* ---- callbacks (interrupts) ---- */

/* A hint: an interrupt may still come. */
void vnetrx_virtq_disable(struct vnetrx_virtq *vq);

/* Asks for an interrupt at the next used buffer. true: one came meanwhile, and perhaps no interrupt will; reap once
 * more. */
VNETRX_MUST_USE bool vnetrx_virtq_enable(struct vnetrx_virtq *vq);

/* The same in two steps, for what must lie between them. The first asks, and returns the point up to which all was
 * reaped. */
uint32_t vnetrx_virtq_enable_prepare(struct vnetrx_virtq *vq);

/* The second: whether anything was used behind that point. */
VNETRX_MUST_USE bool vnetrx_virtq_poll(const struct vnetrx_virtq *vq, uint32_t point);

/* Asks for an interrupt when delay_num/delay_den of what is out has been used; like enable without EVENT_IDX. true:
 * so much is used already (packed rings: anything). */
VNETRX_MUST_USE bool vnetrx_virtq_enable_delayed(struct vnetrx_virtq *vq);

/* ---- trouble ---- */

enum vnetrx_virtq_fault {
	VNETRX_VIRTQ_OK = 0,
	VNETRX_VIRTQ_BAD_INDEX, /* the used index is ahead of everything lent               */
	VNETRX_VIRTQ_BAD_ID,    /* a used id that is not the head of a lent chain           */
	VNETRX_VIRTQ_BAD_ORDER, /* IN_ORDER: an id that does not end a batch of what is out */
};

/* What broke the ring, if anything. */
enum vnetrx_virtq_fault vnetrx_virtq_fault(const struct vnetrx_virtq *vq);

/* With the device stopped (reset, or this queue by RING_RESET): takes back one lent chain, in no order; false = none is
 * left. Reset the queue before it is used again. */
VNETRX_MUST_USE bool vnetrx_virtq_detach(struct vnetrx_virtq *vq, uint32_t *id);

/* With the device stopped: an empty queue again, as after init; what is still lent is forgotten. */
void vnetrx_virtq_reset(struct vnetrx_virtq *vq);

#ifdef __cplusplus
}
#endif

#endif
