/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The virtqueue from inside. Formats: virtio 1.2, 2.7 (split) and 2.8 (packed).
 *
 * Invariants: free_num + the segs of all lent slots == size; out counts the slots with segs != 0; unpub of them are not
 * yet offered to the device. Every id, link and position kept here is below size, whatever the device does.
 *
 * A slot is a private record: of a descriptor in a split ring, of a buffer id in a packed one. Free slots are taken
 * from the front of a FIFO and given back at its end. So when the device uses buffers in the order in which they were
 * added, slots run through the ring one after the other, and with IN_ORDER, where it must, the FIFO never changes.
 */
#ifndef VNRX_VIRTIO_VIRTQ_H
#define VNRX_VIRTIO_VIRTQ_H

#include "../barrier.h"
#include "../check.h"
#include "vnetrx/virtq.h"

#define VNRX_DESC_SIZE 16u
#define VNRX_USED_SIZE 8u

/* Flags of a descriptor. */
#define VNRX_DESC_NEXT     0x0001u
#define VNRX_DESC_WRITE    0x0002u
#define VNRX_DESC_INDIRECT 0x0004u

struct vnrx_vslot {
	uint32_t id;   /* the caller's                                                                    */
	uint16_t segs; /* slots of the ring that the chain takes, at its head while it is lent; else 0    */
	uint16_t link; /* split: next slot of a chain, or with IN_ORDER, at its head, its available index */
};

struct vnetrx_virtq {
	uint8_t           *desc;     /* descriptor table or packed ring                 */
	uint8_t           *driver;   /* available ring or driver event suppression      */
	const uint8_t     *device;   /* used ring or device event suppression           */
	struct vnrx_vslot *slots;
	uint16_t          *free;     /* FIFO of `size` slots                            */
	uint32_t          *in_len;   /* with IN_ORDER: bytes that the device may write, by slot; else NULL */
	uint32_t           size;
	uint32_t           flags;    /* VNETRX_VIRTQ_*                                  */
	uint32_t           take;     /* place in the FIFO of the next free slot         */
	uint32_t           give;     /* place in the FIFO of the next one given back    */
	uint32_t           free_num; /* slots of the ring that are free                 */
	uint32_t           out;      /* chains lent                                     */
	uint32_t           unpub;    /* of those, not published                         */
	uint32_t           fresh;    /* entries (split) or descriptors (packed) since the last look for a kick */
	uint16_t           avail;    /* split: next available index; packed: next descriptor */
	uint16_t           used;     /* split: next used index; packed: next descriptor      */
	uint16_t           avail_wrap; /* packed: wrap counters, 0 or 1                 */
	uint16_t           used_wrap;
	uint16_t           hidden_at;    /* packed: first descriptor that is not published ... */
	uint16_t           hidden_flags; /* ... and the flags that publish it                  */
	uint32_t           fault;    /* enum vnetrx_virtq_fault                         */

	/* IN_ORDER: what the device said with its last entry, and how many buffers of that are to be handed out. */
	uint32_t           batch;
	uint32_t           batch_len; /* of the last one */

	uint32_t           segs_max;
	uint32_t           delay_mul; /* delay_num / delay_den, in 2^-23 */
	uint32_t           armed;     /* callbacks were asked for        */
	uint32_t           detach_at; /* slot at which detach goes on    */
	uint8_t           *tables;    /* indirect tables, segs_max descriptors for each slot */
	uint8_t           *ring;
	uint64_t           ring_dma;
	uint32_t           driver_off; /* from the first byte of the ring */
	uint32_t           device_off;
	uint32_t           tables_off;
};

/* What each format does; called by virtq.c, which has checked the arguments, and that the ring is not broken. */
void     vnrx_split_add(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned in,
                        uint32_t id);
unsigned vnrx_split_add_bufs(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n);
void     vnrx_split_publish(struct vnetrx_virtq *vq);
bool     vnrx_split_wants_kick(const struct vnetrx_virtq *vq);
int      vnrx_split_reap(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max);
int      vnrx_split_reap_in_order(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max);
void     vnrx_split_release(struct vnetrx_virtq *vq, uint32_t head);
void     vnrx_split_arm(struct vnetrx_virtq *vq, uint32_t ahead);
void     vnrx_split_disarm(struct vnetrx_virtq *vq);
uint32_t vnrx_split_ready(const struct vnetrx_virtq *vq, uint32_t point); /* how many were used behind it */

void     vnrx_packed_add(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned in,
                         uint32_t id);
unsigned vnrx_packed_add_bufs(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n);
void     vnrx_packed_publish(struct vnetrx_virtq *vq);
bool     vnrx_packed_wants_kick(const struct vnetrx_virtq *vq);
int      vnrx_packed_reap(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max);
int      vnrx_packed_reap_in_order(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max);
void     vnrx_packed_release(struct vnetrx_virtq *vq, uint32_t id);
void     vnrx_packed_arm(struct vnetrx_virtq *vq, uint32_t ahead);
void     vnrx_packed_disarm(struct vnetrx_virtq *vq);
bool     vnrx_packed_ready(const struct vnetrx_virtq *vq, uint32_t point); /* whether any was */
uint32_t vnrx_packed_point(const struct vnetrx_virtq *vq);

/* vnetrx_virtq_slots_needed(), without a call. */
static VNRX_INLINE uint32_t vnrx_virtq_needed(const struct vnetrx_virtq *vq, unsigned segs)
{
	return (vq->flags & VNETRX_VIRTQ_INDIRECT) != 0u && segs > 1u ? 1u : segs;
}

/* Breaks the ring and says so. */
static VNRX_INLINE int vnrx_virtq_break(struct vnetrx_virtq *vq, enum vnetrx_virtq_fault fault)
{
	vq->fault = (uint32_t)fault;
	return VNETRX_ERR_BAD;
}

/* Whether the ring's memory is big endian. */
static VNRX_INLINE bool vnrx_virtq_big(const struct vnetrx_virtq *vq)
{
	return (vq->flags & VNETRX_VIRTQ_BIG_ENDIAN) != 0u;
}

/* Whether barriers must order a device on a bus. */
static VNRX_INLINE bool vnrx_virtq_bus(const struct vnetrx_virtq *vq)
{
	return (vq->flags & VNETRX_VIRTQ_ORDER_PLATFORM) != 0u;
}

/* a - b of free-running 16-bit indices. */
/*@ requires a <= 65535 + 32768 && b <= 65535;
    assigns \nothing;
    ensures \result < 65536;
    ensures (b + \result) % 65536 == a % 65536;
*/
static VNRX_INLINE uint32_t vnrx_index_diff(uint32_t a, uint32_t b)
{
	return (a + 65536u - b) % 65536u;
}

/* Whether a published range that ends before index `now` and has `fresh` entries contains entry `event` (2.7.10). */
/*@ requires event <= 131071 - 65536 + 32768 && now <= 65535 && fresh <= 65535;
    assigns \nothing;
    ensures \result != 0 <==> (now + 131072 - event - 1) % 65536 < fresh;
*/
static VNRX_INLINE bool vnrx_event_in(uint32_t event, uint32_t now, uint32_t fresh)
{
	return (now + 131072u - event - 1u) % 65536u < fresh;
}

/* The given share of n, n at most 32768: exact, because delay_den is at most 256 (see delay_of()). */
/*@ requires \valid_read(vq) && n <= 32768 && vq->delay_mul <= 8388608;
    assigns \nothing;
    ensures \result <= n;
*/
static VNRX_INLINE uint32_t vnrx_virtq_share(const struct vnetrx_virtq *vq, uint32_t n)
{
	return (uint32_t)((uint64_t)n * vq->delay_mul / 8388608u);
}

/* Bytes of a chain that the device may write. */
/*@ requires \valid_read(segs + (0 .. n - 1));
    assigns \nothing;
*/
static inline uint32_t vnrx_segs_len(const struct vnetrx_virtq_seg *segs, unsigned n)
{
	uint64_t sum = 0;
	unsigned i;

	/*@ loop invariant i <= n && sum <= i * (uint64_t)UINT32_MAX;
	    loop assigns i, sum;
	    loop variant n - i;
	*/
	for (i = 0; i < n; i++)
		sum += segs[i].len;
	return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

#endif
