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

/*@ // Memory: what init laid out. Nothing else of the queue overlaps; ring memory is the device's too.
    predicate vnrx_vq_memory{L}(struct vnetrx_virtq *vq) =
      \valid(vq) && 1 <= vq->size <= 32768 &&
      \valid(vq->slots + (0 .. vq->size - 1)) && \valid(vq->free + (0 .. vq->size - 1)) &&
      (vq->in_len == \null || \valid(vq->in_len + (0 .. vq->size - 1))) &&
      \separated(vq, vq->slots + (0 .. vq->size - 1), vq->free + (0 .. vq->size - 1)) &&
      \separated(vq, vq->in_len + (0 .. vq->size - 1), vq->slots + (0 .. vq->size - 1)) &&
      \valid(vq->desc + (0 .. VNRX_DESC_SIZE * vq->size - 1));

    predicate vnrx_vq_split{L}(struct vnetrx_virtq *vq) =
      \valid(vq->driver + (0 .. 2 * vq->size + 5)) &&
      \valid_read(vq->device + (0 .. VNRX_USED_SIZE * vq->size + 5));

    // What a look at the ring needs.
    predicate vnrx_vq_look{L}(struct vnetrx_virtq *vq) =
      \valid_read(vq) && 1 <= vq->size <= 32768 && vq->used_wrap <= 1 && vq->avail_wrap <= 1;

    // State: every place, slot and count kept here is in range, whatever the device wrote.
    predicate vnrx_vq_places{L}(struct vnetrx_virtq *vq) =
      vq->take < vq->size && vq->give < vq->size && vq->out <= vq->size;

    predicate vnrx_vq_fifo{L}(struct vnetrx_virtq *vq) =
      \forall integer i; 0 <= i < vq->size ==> vq->free[i] < vq->size;

    predicate vnrx_vq_slots{L}(struct vnetrx_virtq *vq) =
      \forall integer i; 0 <= i < vq->size ==>
        vq->slots[i].segs <= vq->size && (vq->in_len == \null ==> vq->slots[i].link < vq->size);

    predicate vnrx_vq_state{L}(struct vnetrx_virtq *vq) =
      vnrx_vq_places(vq) && vnrx_vq_fifo(vq) && vnrx_vq_slots(vq);

    // Room for n more slots in at most n chains.
    predicate vnrx_vq_room{L}(struct vnetrx_virtq *vq, integer n) =
      n <= vq->free_num && vq->free_num + vq->out <= vq->size && vq->unpub <= vq->out && vq->fresh <= 2 * 65536;

    // Indirect tables: segs_max descriptors for each slot.
    predicate vnrx_vq_tables{L}(struct vnetrx_virtq *vq) =
      vq->segs_max <= 1024 && vq->ring_dma <= 0x7fffffffffffffff &&
      \valid(vq->tables + (0 .. vq->size * vq->segs_max * VNRX_DESC_SIZE - 1));

    predicate vnrx_vq_packed{L}(struct vnetrx_virtq *vq) =
      \valid(vq->driver + (0 .. 3)) && \valid_read(vq->device + (0 .. 3)) &&
      vq->avail < vq->size && vq->used < vq->size && vq->hidden_at < vq->size &&
      vq->avail_wrap <= 1 && vq->used_wrap <= 1;

    predicate vnrx_vq_apart{L}(struct vnetrx_virtq *vq, struct vnetrx_done *done, integer n) =
      \valid(done + (0 .. n - 1)) &&
      \separated(done + (0 .. n - 1), vq, vq->slots + (0 .. vq->size - 1), vq->free + (0 .. vq->size - 1),
                 vq->in_len + (0 .. vq->size - 1));
*/

/* What each format does; called by virtq.c, which has checked the arguments, and that the ring is not broken. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq) && vnrx_vq_state(vq) && vnrx_vq_tables(vq);
    requires 1 <= out + in <= vq->segs_max && \valid_read(segs + (0 .. out + in - 1));
    requires vnrx_vq_room(vq, (vq->flags & VNETRX_VIRTQ_INDIRECT) != 0 && out + in > 1 ? 1 : out + in);
    requires \separated(segs + (0 .. out + in - 1), vq, vq->slots + (0 .. vq->size - 1),
                        vq->in_len + (0 .. vq->size - 1));
    assigns vq->slots[0 .. vq->size - 1], vq->in_len[0 .. vq->size - 1],
            vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1],
            vq->tables[0 .. vq->size * vq->segs_max * VNRX_DESC_SIZE - 1], vq->driver[0 .. 2 * vq->size + 5],
            vq->take, vq->avail, vq->free_num, vq->out, vq->unpub, vq->fresh;
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures vq->free_num < \old(vq->free_num) && vq->out == \old(vq->out) + 1;
*/
void     vnrx_split_add(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned in,
                        uint32_t id);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq) && vnrx_vq_state(vq) && vnrx_vq_room(vq, n) && n > 0;
    requires \valid_read(bufs + (0 .. n - 1));
    requires \separated(bufs + (0 .. n - 1), vq, vq->slots + (0 .. vq->size - 1),
                        vq->in_len + (0 .. vq->size - 1));
    assigns vq->slots[0 .. vq->size - 1], vq->in_len[0 .. vq->size - 1],
            vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1],
            vq->driver[0 .. 2 * vq->size + 5],
            vq->take, vq->avail, vq->free_num, vq->out, vq->unpub, vq->fresh;
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures \result == n;
    ensures vq->free_num == \old(vq->free_num) - n && vq->out == \old(vq->out) + n;
*/
unsigned vnrx_split_add_bufs(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq);
    assigns vq->driver[2 .. 3];
*/
void     vnrx_split_publish(struct vnetrx_virtq *vq);
/*@ requires \valid_read(vq) && 1 <= vq->size <= 32768 && vq->fresh <= 65535;
    requires \valid_read(vq->device + (0 .. VNRX_USED_SIZE * vq->size + 5));
    assigns \nothing;
*/
bool     vnrx_split_wants_kick(const struct vnetrx_virtq *vq);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq) && vnrx_vq_state(vq) && vq->free_num <= vq->size;
    requires vq->in_len == \null && max <= INT32_MAX && vnrx_vq_apart(vq, done, max);
    assigns done[0 .. max - 1], vq->used, vq->give, vq->free_num, vq->out, vq->fault,
            vq->slots[0 .. vq->size - 1].segs, vq->free[0 .. vq->size - 1];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures \result <= max && \result <= vq->size;
    ensures \result >= 0 ==> vq->out + \result == \old(vq->out);
    ensures \result < 0 ==> vq->fault != VNETRX_VIRTQ_OK && vq->out == \old(vq->out);
*/
int      vnrx_split_reap(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq) && vnrx_vq_state(vq) && vq->free_num <= vq->size;
    requires vq->in_len != \null && max <= INT32_MAX && vnrx_vq_apart(vq, done, max);
    assigns done[0 .. max - 1], vq->used, vq->give, vq->free_num, vq->out, vq->fault, vq->batch, vq->batch_len,
            vq->slots[0 .. vq->size - 1].segs;
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures \result <= max && \result <= vq->size;
    ensures \result >= 0 ==> vq->out + \result == \old(vq->out);
*/
int      vnrx_split_reap_in_order(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vq->free_num <= vq->size;
    requires head < vq->size && vq->out > 0;
    assigns vq->give, vq->free_num, vq->out, vq->slots[head].segs, vq->free[0 .. vq->size - 1];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures vq->out == \old(vq->out) - 1 && vq->slots[head].segs == 0;
*/
void     vnrx_split_release(struct vnetrx_virtq *vq, uint32_t head);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq) && ahead <= vq->size;
    assigns vq->driver[0 .. 2 * vq->size + 5];
*/
void     vnrx_split_arm(struct vnetrx_virtq *vq, uint32_t ahead);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq);
    assigns vq->driver[0 .. 2 * vq->size + 5];
*/
void     vnrx_split_disarm(struct vnetrx_virtq *vq);
/*@ requires \valid_read(vq) && \valid_read(vq->device + (0 .. 3)) && point <= 65535;
    assigns \nothing;
    ensures \result < 65536;
*/
uint32_t vnrx_split_ready(const struct vnetrx_virtq *vq, uint32_t point); /* how many were used behind it */

/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq) && vnrx_vq_state(vq) && vnrx_vq_tables(vq);
    requires 1 <= out + in <= vq->segs_max && \valid_read(segs + (0 .. out + in - 1));
    requires vnrx_vq_room(vq, (vq->flags & VNETRX_VIRTQ_INDIRECT) != 0 && out + in > 1 ? 1 : out + in);
    requires \separated(segs + (0 .. out + in - 1), vq, vq->slots + (0 .. vq->size - 1),
                        vq->in_len + (0 .. vq->size - 1));
    assigns vq->slots[0 .. vq->size - 1], vq->in_len[0 .. vq->size - 1],
            vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1],
            vq->tables[0 .. vq->size * vq->segs_max * VNRX_DESC_SIZE - 1],
            vq->take, vq->avail, vq->free_num, vq->out, vq->unpub, vq->fresh,
            vq->avail_wrap, vq->hidden_at, vq->hidden_flags;
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures vnrx_vq_packed(vq);
    ensures vq->free_num < \old(vq->free_num) && vq->out == \old(vq->out) + 1;
*/
void     vnrx_packed_add(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned in,
                         uint32_t id);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq) && vnrx_vq_state(vq) && vnrx_vq_room(vq, n) && n > 0;
    requires \valid_read(bufs + (0 .. n - 1));
    requires \separated(bufs + (0 .. n - 1), vq, vq->slots + (0 .. vq->size - 1),
                        vq->in_len + (0 .. vq->size - 1));
    assigns vq->slots[0 .. vq->size - 1], vq->in_len[0 .. vq->size - 1],
            vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1],
            vq->take, vq->avail, vq->free_num, vq->out, vq->unpub, vq->fresh,
            vq->avail_wrap, vq->hidden_at, vq->hidden_flags;
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures vnrx_vq_packed(vq) && \result == n;
    ensures vq->free_num == \old(vq->free_num) - n && vq->out == \old(vq->out) + n;
*/
unsigned vnrx_packed_add_bufs(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq);
    assigns vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1];
*/
void     vnrx_packed_publish(struct vnetrx_virtq *vq);
/*@ requires vnrx_vq_look(vq) && \valid_read(vq->device + (0 .. 3)) && vq->fresh <= 65535;
    assigns \nothing;
*/
bool     vnrx_packed_wants_kick(const struct vnetrx_virtq *vq);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq) && vnrx_vq_state(vq) && vq->free_num <= vq->size;
    requires vq->in_len == \null && max <= INT32_MAX && vnrx_vq_apart(vq, done, max);
    assigns done[0 .. max - 1], vq->used, vq->used_wrap, vq->give, vq->free_num, vq->out, vq->fault,
            vq->slots[0 .. vq->size - 1].segs, vq->free[0 .. vq->size - 1];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures vnrx_vq_packed(vq) && \result <= max && \result <= vq->size;
    ensures \result >= 0 ==> vq->out + \result == \old(vq->out);
    ensures \result < 0 ==> vq->fault != VNETRX_VIRTQ_OK && vq->out == \old(vq->out);
*/
int      vnrx_packed_reap(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq) && vnrx_vq_state(vq) && vq->free_num <= vq->size;
    requires vq->in_len != \null && max <= INT32_MAX && vnrx_vq_apart(vq, done, max);
    assigns done[0 .. max - 1], vq->used, vq->used_wrap, vq->give, vq->free_num, vq->out, vq->fault, vq->batch,
            vq->batch_len, vq->slots[0 .. vq->size - 1].segs;
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures vnrx_vq_packed(vq) && \result <= max && \result <= vq->size;
    ensures \result >= 0 ==> vq->out + \result == \old(vq->out);
*/
int      vnrx_packed_reap_in_order(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vq->free_num <= vq->size;
    requires id < vq->size && vq->out > 0;
    assigns vq->give, vq->free_num, vq->out, vq->slots[id].segs, vq->free[0 .. vq->size - 1];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures vq->out == \old(vq->out) - 1 && vq->slots[id].segs == 0;
*/
void     vnrx_packed_release(struct vnetrx_virtq *vq, uint32_t id);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq) && ahead <= vq->size;
    assigns vq->driver[0 .. 3];
*/
void     vnrx_packed_arm(struct vnetrx_virtq *vq, uint32_t ahead);
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq);
    assigns vq->driver[0 .. 3];
*/
void     vnrx_packed_disarm(struct vnetrx_virtq *vq);
/*@ requires vnrx_vq_look(vq) && vq->used < vq->size;
    requires \valid_read(vq->desc + (0 .. VNRX_DESC_SIZE * vq->size - 1));
    assigns \nothing;
*/
bool     vnrx_packed_ready(const struct vnetrx_virtq *vq, uint32_t point); /* whether any was */
/*@ requires vnrx_vq_look(vq) && vq->used < vq->size;
    assigns \nothing;
    ensures \result <= 65535;
*/
uint32_t vnrx_packed_point(const struct vnetrx_virtq *vq);

/* vnetrx_virtq_slots_needed(), without a call. */
/*@ requires \valid_read(vq);
    assigns \nothing;
    ensures \result == ((vq->flags & VNETRX_VIRTQ_INDIRECT) != 0 && segs > 1 ? 1 : segs);
*/
static VNRX_INLINE uint32_t vnrx_virtq_needed(const struct vnetrx_virtq *vq, unsigned segs)
{
	return (vq->flags & VNETRX_VIRTQ_INDIRECT) != 0u && segs > 1u ? 1u : segs;
}

/* Breaks the ring and says so. */
/*@ requires \valid(vq) && 0 <= fault <= 3;
    assigns vq->fault;
    ensures vq->fault == fault && \result == VNETRX_ERR_BAD;
*/
static VNRX_INLINE int vnrx_virtq_break(struct vnetrx_virtq *vq, enum vnetrx_virtq_fault fault)
{
	vq->fault = (uint32_t)fault;
	return VNETRX_ERR_BAD;
}

/* Whether the ring's memory is big endian. */
/*@ requires \valid_read(vq);
    assigns \nothing;
*/
static VNRX_INLINE bool vnrx_virtq_big(const struct vnetrx_virtq *vq)
{
	return (vq->flags & VNETRX_VIRTQ_BIG_ENDIAN) != 0u;
}

/* Whether barriers must order a device on a bus. */
/*@ requires \valid_read(vq);
    assigns \nothing;
*/
static VNRX_INLINE bool vnrx_virtq_bus(const struct vnetrx_virtq *vq)
{
	return (vq->flags & VNETRX_VIRTQ_ORDER_PLATFORM) != 0u;
}

/* a - b of free-running 16-bit indices. */
/*@ requires a <= 65535 + 32768 && b <= 65535 + 32768;
    assigns \nothing;
    ensures \result < 65536;
*/
static VNRX_INLINE uint32_t vnrx_index_diff(uint32_t a, uint32_t b)
{
	return (a + 131072u - b) % 65536u;
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
