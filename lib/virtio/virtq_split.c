/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Split rings, driver to device (virtio 1.2, 2.7): descriptor table, available ring, notifications.
 *
 * The driver's part is only ever written. Descriptors and available entries are plain stores, made visible all at once
 * by the index; every other access to ring memory is a single whole one.
 */
#include "split.h"

/* ---- descriptors ---- */

/* Length, flags and next as they lie behind the address. */
/*@ assigns \nothing; */
static VNRX_INLINE uint64_t desc_word(uint32_t len, uint32_t flags, uint32_t next, bool big)
{
	if (big)
		return (uint64_t)len << 32 | flags << 16 | next;
	return (uint64_t)next << 48 | (uint64_t)flags << 32 | len;
}

/*@ requires \valid(desc + (0 .. VNRX_DESC_SIZE - 1));
    assigns desc[0 .. VNRX_DESC_SIZE - 1];
*/
static VNRX_INLINE void desc_put(uint8_t *desc, uint64_t dma, uint64_t word, bool big)
{
	vnrx_store64x2(desc, vnrx_order64(dma, big), vnrx_order64(word, big));
}

/*@ requires at <= 32767 && \valid(driver + (SPLIT_ENTRIES + 2 * at .. SPLIT_ENTRIES + 2 * at + 1));
    assigns driver[SPLIT_ENTRIES + 2 * at .. SPLIT_ENTRIES + 2 * at + 1];
*/
static VNRX_INLINE void avail_put(uint8_t *driver, uint32_t at, uint32_t head, bool big)
{
	uint16_t entry = vnrx_order16((uint16_t)head, big);

	vnrx_store16(driver + SPLIT_ENTRIES + 2u * at, entry);
}

/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq) && vnrx_vq_state(vq) && n <= vq->size;
    requires \valid_read(bufs + (0 .. n - 1));
    requires \separated(bufs + (0 .. n - 1), vq->slots + (0 .. vq->size - 1));
    assigns vq->slots[0 .. vq->size - 1], vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1],
            vq->driver[0 .. 2 * vq->size + 5];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
*/
static VNRX_INLINE unsigned add_bufs(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n, bool big)
{
	struct vnrx_vslot *slots = vq->slots;
	const uint16_t    *free = vq->free;
	uint8_t           *desc = vq->desc, *driver = vq->driver;
	uint32_t           size = vq->size, take = vq->take, at = vq->avail;
	unsigned           i;

	/*@ loop invariant i <= n;
	    loop invariant \forall integer k; 0 <= k < size ==> slots[k].segs <= size;
	    loop invariant vq->in_len == \null ==> \forall integer k; 0 <= k < size ==> slots[k].link < size;
	    loop assigns i, slots[0 .. size - 1], desc[0 .. VNRX_DESC_SIZE * size - 1], driver[0 .. 2 * size + 5];
	    loop variant n - i;
	*/
	for (i = 0; i < n; i++) {
		uint32_t slot = free[vnrx_wrap(take + i, size)];
		uint64_t word = desc_word(bufs[i].len, VNRX_DESC_WRITE, 0, big);

		slots[slot] = (struct vnrx_vslot){ bufs[i].id, 1, 0 };
		desc_put(desc + VNRX_DESC_SIZE * slot, bufs[i].dma, word, big);
		avail_put(driver, vnrx_wrap(at + i, size), slot, big);
	}
	return n;
}

/* What in-order reaping needs to know of n buffers just written. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vq->in_len != \null && n <= vq->size;
    requires \valid_read(bufs + (0 .. n - 1));
    requires \separated(bufs + (0 .. n - 1), vq->slots + (0 .. vq->size - 1), vq->in_len + (0 .. vq->size - 1));
    assigns vq->slots[0 .. vq->size - 1].link, vq->in_len[0 .. vq->size - 1];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
*/
static void note_bufs(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n)
{
	struct vnrx_vslot *slots = vq->slots;
	uint32_t          *in_len = vq->in_len;
	uint32_t           size = vq->size, slot = vq->take, at = vq->avail;
	unsigned           i;

	/*@ loop invariant i <= n && slot < size;
	    loop assigns i, slot, slots[0 .. size - 1].link, in_len[0 .. size - 1];
	    loop variant n - i;
	*/
	for (i = 0; i < n; i++) { /* with IN_ORDER slots follow each other */
		slots[slot].link = (uint16_t)(at + i);
		in_len[slot] = bufs[i].len;
		slot = vnrx_wrap(slot + 1u, size);
	}
}

/* `chains` chains in `slots` slots were written. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vnrx_vq_room(vq, slots) && chains <= slots;
    assigns vq->take, vq->avail, vq->free_num, vq->out, vq->unpub, vq->fresh;
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures vq->free_num == \old(vq->free_num) - slots && vq->out == \old(vq->out) + chains;
*/
static VNRX_INLINE void added(struct vnetrx_virtq *vq, uint32_t chains, uint32_t slots)
{
	vq->take = vnrx_wrap(vq->take + slots, vq->size);
	vq->avail = (uint16_t)(vq->avail + chains);
	vq->free_num -= slots;
	vq->out += chains;
	vq->unpub += chains;
	vq->fresh += chains;
}

/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq) && vnrx_vq_state(vq) && n <= vq->size;
    requires \valid_read(bufs + (0 .. n - 1));
    requires \separated(bufs + (0 .. n - 1), vq->slots + (0 .. vq->size - 1));
    assigns vq->slots[0 .. vq->size - 1], vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1],
            vq->driver[0 .. 2 * vq->size + 5];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
*/
static VNRX_COLD unsigned add_bufs_big(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n)
{
	return add_bufs(vq, bufs, n, true);
}

unsigned vnrx_split_add_bufs(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n)
{
	if (VNRX_LIKELY(!vnrx_virtq_big(vq)))
		(void)add_bufs(vq, bufs, n, false);
	else
		(void)add_bufs_big(vq, bufs, n);
	//@ assert vq->size == \at(vq->size, Pre);
	//@ assert vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vnrx_vq_room(vq, n);
	if (vq->in_len != NULL)
		note_bufs(vq, bufs, n);
	//@ assert vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vnrx_vq_room(vq, n);
	added(vq, n, n);
	return n;
}

/* ---- chains ---- */

/* A chain of one segment. */
/*@ requires vnrx_vq_memory(vq) && \valid_read(seg) && slot < vq->size;
    assigns vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1];
*/
static VNRX_INLINE void put_one(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *seg, unsigned out,
                                uint32_t slot)
{
	bool     big = vnrx_virtq_big(vq);
	uint64_t word = desc_word(seg->len, out == 0u ? VNRX_DESC_WRITE : 0u, 0, big);

	desc_put(vq->desc + VNRX_DESC_SIZE * slot, seg->dma, word, big);
}

/* Writes the chain into the ring, a slot for each segment. Members are linked privately as well, so that nothing has to
 * be read back; with IN_ORDER they follow each other anyway. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && 1 <= n <= vq->size;
    requires \valid_read(segs + (0 .. n - 1)) && \separated(segs + (0 .. n - 1), vq->slots + (0 .. vq->size - 1));
    assigns vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1], vq->slots[0 .. vq->size - 1].link;
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
*/
static void put_direct(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned n)
{
	bool     big = vnrx_virtq_big(vq);
	uint32_t slot = vq->free[vq->take];
	unsigned i;

	/*@ loop invariant i <= n && slot < vq->size;
	    loop invariant vq->in_len == \null ==>
	                   \forall integer k; 0 <= k < vq->size ==> vq->slots[k].link < vq->size;
	    loop assigns i, slot, vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1], vq->slots[0 .. vq->size - 1].link;
	    loop variant n - i;
	*/
	for (i = 0; i < n; i++) {
		uint32_t flags = i < out ? 0u : VNRX_DESC_WRITE;
		uint32_t next = 0;

		if (i + 1u < n) {
			flags |= VNRX_DESC_NEXT;
			next = vq->free[vnrx_wrap(vq->take + i + 1u, vq->size)];
		}
		vq->slots[slot].link = (uint16_t)next;
		desc_put(vq->desc + VNRX_DESC_SIZE * slot, segs[i].dma, desc_word(segs[i].len, flags, next, big), big);
		slot = next;
	}
}

/* Writes the chain into an indirect table. */
/*@ requires n <= 1024 && \valid(table + (0 .. VNRX_DESC_SIZE * n - 1)) && \valid_read(segs + (0 .. n - 1));
    assigns table[0 .. VNRX_DESC_SIZE * n - 1];
*/
static VNRX_INLINE void table_put(uint8_t *table, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned n,
                                  bool big)
{
	unsigned i;

	/*@ loop invariant i <= n;
	    loop assigns i, table[0 .. VNRX_DESC_SIZE * n - 1];
	    loop variant n - i;
	*/
	for (i = 0; i < n; i++) {
		uint32_t flags = i < out ? 0u : VNRX_DESC_WRITE;
		uint32_t next = 0;

		if (i + 1u < n) {
			flags |= VNRX_DESC_NEXT;
			next = i + 1u;
		}
		desc_put(table + VNRX_DESC_SIZE * i, segs[i].dma, desc_word(segs[i].len, flags, next, big), big);
	}
}

/* Writes the chain into the slot's table and the table's address into the ring. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vnrx_vq_tables(vq) && 1 <= n <= vq->segs_max;
    requires \valid_read(segs + (0 .. n - 1));
    assigns vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1],
            vq->tables[0 .. vq->size * vq->segs_max * VNRX_DESC_SIZE - 1];
*/
static void put_indirect(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned n)
{
	bool     big = vnrx_virtq_big(vq);
	uint32_t slot = vq->free[vq->take];
	uint32_t room = vq->segs_max;
	//@ assert slot + 1 <= vq->size <= 32768 && room <= 1024;
	//@ assert 0 <= (vq->size - slot - 1) * room;
	//@ assert (slot + 1) * room <= vq->size * room;
	//@ assert slot * room <= 32768 * 1024;
	uint32_t off = slot * room * VNRX_DESC_SIZE;

	//@ assert (slot + 1) * vq->segs_max <= vq->size * vq->segs_max;
	//@ assert off + VNRX_DESC_SIZE * n <= vq->size * vq->segs_max * VNRX_DESC_SIZE;
	table_put(vq->tables + off, segs, out, n, big);
	desc_put(vq->desc + VNRX_DESC_SIZE * slot, vq->ring_dma + vq->tables_off + off,
	         desc_word(n * VNRX_DESC_SIZE, VNRX_DESC_INDIRECT, 0, big), big);
}

/* The record of a chain just written. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && head < vq->size && slots <= vq->size;
    assigns vq->slots[head], vq->in_len[head];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
*/
static VNRX_INLINE void note_chain(struct vnetrx_virtq *vq, uint32_t head, uint32_t id, uint32_t slots,
                                   uint32_t in_len)
{
	vq->slots[head].id = id;
	vq->slots[head].segs = (uint16_t)slots;
	if (vq->in_len != NULL) {
		vq->slots[head].link = vq->avail;
		vq->in_len[head] = in_len;
	}
}

void vnrx_split_add(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned in,
                    uint32_t id)
{
	unsigned n = out + in;
	uint32_t head = vq->free[vq->take];
	uint32_t slots = vnrx_virtq_needed(vq, n);

	if (n == 1u)
		put_one(vq, segs, out, head);
	else if (slots == n)
		put_direct(vq, segs, out, n);
	else
		put_indirect(vq, segs, out, n);
	//@ assert vq->size == \at(vq->size, Pre) && vnrx_vq_memory(vq);
	//@ assert vnrx_vq_state(vq);
	//@ assert vnrx_vq_room(vq, slots);
	note_chain(vq, head, id, slots, vq->in_len != NULL ? vnrx_segs_len(segs + out, in) : 0u);
	//@ assert vq->size == \at(vq->size, Pre);
	//@ assert vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vnrx_vq_room(vq, slots);
	avail_put(vq->driver, vnrx_wrap(vq->avail, vq->size), head, vnrx_virtq_big(vq));
	added(vq, 1, slots);
}

/* ---- publishing ---- */

void vnrx_split_publish(struct vnetrx_virtq *vq)
{
	/* Entries and what they point to before the index that offers them. */
	vnrx_barrier_write(vnrx_virtq_bus(vq), vq->driver + SPLIT_INDEX);
	vnrx_shared_store16(vq->driver + SPLIT_INDEX, vnrx_order16(vq->avail, vnrx_virtq_big(vq)));
}

bool vnrx_split_wants_kick(const struct vnetrx_virtq *vq)
{
	if ((vq->flags & VNETRX_VIRTQ_EVENT_IDX) != 0u) {
		uint16_t event = split_load16(vq, SPLIT_ENTRIES + VNRX_USED_SIZE * vq->size);

		return vnrx_event_in(event, vq->avail, vq->fresh);
	}
	return (split_load16(vq, SPLIT_FLAGS) & SPLIT_NO_NOTIFY) == 0u;
}

/* ---- callbacks ---- */

/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq);
    assigns vq->driver[0 .. 2 * vq->size + 5];
*/
static void set_event(struct vnetrx_virtq *vq, uint32_t index)
{
	vnrx_shared_store16(vq->driver + SPLIT_ENTRIES + 2u * vq->size,
	                    vnrx_order16((uint16_t)index, vnrx_virtq_big(vq)));
}

/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq);
    assigns vq->driver[0 .. 1];
*/
static void set_flags(struct vnetrx_virtq *vq, uint16_t flags)
{
	vnrx_shared_store16(vq->driver + SPLIT_FLAGS, vnrx_order16(flags, vnrx_virtq_big(vq)));
}

/* Asks for an interrupt when `ahead` more than the next entry have been used; without EVENT_IDX at the next one. */
void vnrx_split_arm(struct vnetrx_virtq *vq, uint32_t ahead)
{
	if ((vq->flags & VNETRX_VIRTQ_EVENT_IDX) != 0u)
		set_event(vq, vq->used + ahead);
	else if (vq->armed == 0u)
		set_flags(vq, 0);
}

/* With EVENT_IDX the flags must stay 0 (2.7.7.1). The entry before the next one is the farthest away: 65535 more must
 * be used before the device comes past it. */
void vnrx_split_disarm(struct vnetrx_virtq *vq)
{
	if ((vq->flags & VNETRX_VIRTQ_EVENT_IDX) != 0u)
		set_event(vq, vq->used + 65535u);
	else
		set_flags(vq, SPLIT_NO_INTERRUPT);
}
