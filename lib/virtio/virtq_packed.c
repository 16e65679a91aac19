/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packed rings, driver to device (virtio 1.2, 2.8).
 *
 * A device takes descriptors one after the other, so the first one that is not published hides all behind it: its flags
 * are written last, by publish, and those of the others together with the rest of them. One barrier for a batch.
 */
#include "packed.h"

/* ---- descriptors ---- */

/*@ requires \valid(desc + (0 .. VNRX_DESC_SIZE - 1));
    assigns desc[0 .. VNRX_DESC_SIZE - 1];
*/
static VNRX_INLINE void desc_put(uint8_t *desc, uint64_t dma, uint32_t len, uint32_t id, uint32_t flags)
{
	uint64_t word = (uint64_t)flags << 48 | (uint64_t)id << 32 | len;

	vnrx_store64x2(desc, vnrx_order64(dma, false), vnrx_order64(word, false));
}

/* The two bits of a descriptor that is offered. */
/*@ assigns \nothing; */
static VNRX_INLINE uint32_t offered(uint32_t wrap)
{
	return wrap != 0u ? PACKED_AVAIL : PACKED_USED;
}

/* What to change in the flags of the next descriptor so that it is not yet offered: nothing, when one before it hides
 * it. With AVAIL turned over both bits are those of the round before, which no side takes for anything of this one. */
/*@ requires \valid(vq) && vq->avail < vq->size && vq->hidden_at < vq->size;
    assigns vq->hidden_at, vq->hidden_flags;
    ensures vq->hidden_at < vq->size;
*/
static VNRX_INLINE uint32_t hide(struct vnetrx_virtq *vq, uint32_t flags)
{
	if (vq->unpub != 0u)
		return 0;
	vq->hidden_at = vq->avail;
	vq->hidden_flags = (uint16_t)flags;
	return PACKED_AVAIL;
}

/* `chains` chains in `descs` descriptors were written. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vnrx_vq_packed(vq) && 1 <= chains <= descs;
    requires vnrx_vq_room(vq, descs);
    assigns vq->take, vq->avail, vq->avail_wrap, vq->free_num, vq->out, vq->unpub, vq->fresh;
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures vnrx_vq_packed(vq);
    ensures vq->free_num == \old(vq->free_num) - descs && vq->out == \old(vq->out) + chains;
*/
static VNRX_INLINE void added(struct vnetrx_virtq *vq, uint32_t chains, uint32_t descs)
{
	uint32_t at = (uint32_t)vq->avail + descs;
	uint32_t take = vq->take + chains;

	if (at >= vq->size) {
		at -= vq->size;
		vq->avail_wrap = (uint16_t)(1u - vq->avail_wrap);
	}
	vq->avail = (uint16_t)at;
	vq->take = take < vq->size ? take : take - vq->size;
	vq->free_num -= descs;
	vq->out += chains;
	vq->unpub += chains;
	vq->fresh += descs;
}

/* What in-order reaping needs to know of n buffers just written. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vq->in_len != \null && n <= vq->size;
    requires \valid_read(bufs + (0 .. n - 1));
    requires \separated(bufs + (0 .. n - 1), vq, vq->in_len + (0 .. vq->size - 1));
    assigns vq->in_len[0 .. vq->size - 1];
*/
static void note_bufs(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n)
{
	uint32_t *in_len = vq->in_len;
	uint32_t  size = vq->size, take = vq->take;
	unsigned  i;

	/*@ loop invariant i <= n && take < size;
	    loop assigns i, take, in_len[0 .. size - 1];
	    loop variant n - i;
	*/
	for (i = 0; i < n; i++) {
		in_len[take] = bufs[i].len;
		take = packed_next(take, size);
	}
}

/* Writes n buffers into the ring, the first with `hidden` turned over in its flags. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq) && vnrx_vq_state(vq) && n <= vq->size;
    requires \valid_read(bufs + (0 .. n - 1));
    requires \separated(bufs + (0 .. n - 1), vq, vq->slots + (0 .. vq->size - 1));
    assigns vq->slots[0 .. vq->size - 1], vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
*/
static VNRX_INLINE void add_bufs(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n, uint32_t flags,
                                 uint32_t hidden)
{
	struct vnrx_vslot *slots = vq->slots;
	const uint16_t    *free = vq->free;
	uint8_t           *desc = vq->desc;
	uint32_t           size = vq->size, take = vq->take, at = vq->avail;
	unsigned           i;

	/*@ loop invariant i <= n && take < size && at < size;
	    loop invariant \forall integer k; 0 <= k < size ==> slots[k].segs <= size;
	    loop invariant vq->in_len == \null ==> \forall integer k; 0 <= k < size ==> slots[k].link < size;
	    loop assigns i, take, at, hidden, flags, slots[0 .. size - 1], desc[0 .. VNRX_DESC_SIZE * size - 1];
	    loop variant n - i;
	*/
	for (i = 0; i < n; i++) {
		uint32_t id = free[take];

		slots[id] = (struct vnrx_vslot){ bufs[i].id, 1, 0 };
		desc_put(desc + VNRX_DESC_SIZE * at, bufs[i].dma, bufs[i].len, id, flags ^ hidden);
		hidden = 0;
		take = packed_next(take, size);
		at++;
		if (VNRX_UNLIKELY(at == size)) {
			at = 0;
			flags ^= PACKED_BOTH;
		}
	}
}

unsigned vnrx_packed_add_bufs(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n)
{
	uint32_t flags = offered(vq->avail_wrap) | VNRX_DESC_WRITE;
	uint32_t hidden = hide(vq, flags);

	//@ assert vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vnrx_vq_packed(vq) && vnrx_vq_room(vq, n);
	add_bufs(vq, bufs, n, flags, hidden);
	//@ assert vq->size == \at(vq->size, Pre) && vnrx_vq_memory(vq);
	//@ assert vq->free_num == \at(vq->free_num, Pre) && vq->out == \at(vq->out, Pre);
	//@ assert vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vnrx_vq_packed(vq) && vnrx_vq_room(vq, n);
	if (vq->in_len != NULL)
		note_bufs(vq, bufs, n);
	//@ assert vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vnrx_vq_packed(vq) && vnrx_vq_room(vq, n);
	added(vq, n, n);
	return n;
}

/* ---- chains ---- */

/*@ requires i <= 65535;
    assigns \nothing;
*/
static uint32_t seg_flags(unsigned i, unsigned out, unsigned n)
{
	return (i < out ? 0u : VNRX_DESC_WRITE) | (i + 1u < n ? VNRX_DESC_NEXT : 0u);
}

/* A chain of one segment. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vnrx_vq_packed(vq) && \valid_read(seg);
    requires \separated(vq, seg);
    assigns vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1], vq->hidden_at, vq->hidden_flags;
    ensures vnrx_vq_packed(vq);
*/
static VNRX_INLINE void put_one(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *seg, unsigned out)
{
	uint32_t flags = offered(vq->avail_wrap) | (out == 0u ? VNRX_DESC_WRITE : 0u);
	uint32_t hidden = hide(vq, flags);

	desc_put(vq->desc + VNRX_DESC_SIZE * vq->avail, seg->dma, seg->len, vq->free[vq->take], flags ^ hidden);
}

/* Writes the chain into the ring, a descriptor for each segment; each with its id, though the last would do. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vnrx_vq_packed(vq) && 1 <= n <= vq->size;
    requires \valid_read(segs + (0 .. n - 1)) && \separated(segs + (0 .. n - 1), vq);
    assigns vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1], vq->hidden_at, vq->hidden_flags;
    ensures vnrx_vq_packed(vq);
*/
static void put_direct(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned n)
{
	uint32_t id = vq->free[vq->take], at = vq->avail;
	uint32_t state = offered(vq->avail_wrap);
	uint32_t hidden = hide(vq, state | seg_flags(0, out, n));
	unsigned i;

	/*@ loop invariant i <= n && at < vq->size;
	    loop assigns i, at, hidden, state, vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1];
	    loop variant n - i;
	*/
	for (i = 0; i < n; i++) {
		uint32_t flags = state | seg_flags(i, out, n);

		desc_put(vq->desc + VNRX_DESC_SIZE * at, segs[i].dma, segs[i].len, id, flags ^ hidden);
		hidden = 0;
		at = packed_next(at, vq->size);
		if (at == 0u)
			state ^= PACKED_BOTH;
	}
}

/* Writes the chain into an indirect table, where only WRITE counts (2.8.7). */
/*@ requires n <= 1024 && \valid(table + (0 .. VNRX_DESC_SIZE * n - 1)) && \valid_read(segs + (0 .. n - 1));
    assigns table[0 .. VNRX_DESC_SIZE * n - 1];
*/
static VNRX_INLINE void table_put(uint8_t *table, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned n)
{
	unsigned i;

	/*@ loop invariant i <= n;
	    loop assigns i, table[0 .. VNRX_DESC_SIZE * n - 1];
	    loop variant n - i;
	*/
	for (i = 0; i < n; i++)
		desc_put(table + VNRX_DESC_SIZE * i, segs[i].dma, segs[i].len, 0, i < out ? 0u : VNRX_DESC_WRITE);
}

/* Writes the chain into its id's table and the table's address into the ring. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && vnrx_vq_packed(vq) && vnrx_vq_tables(vq);
    requires 1 <= n <= vq->segs_max && \valid_read(segs + (0 .. n - 1)) && \separated(segs + (0 .. n - 1), vq);
    assigns vq->desc[0 .. VNRX_DESC_SIZE * vq->size - 1], vq->hidden_at, vq->hidden_flags,
            vq->tables[0 .. vq->size * vq->segs_max * VNRX_DESC_SIZE - 1];
    ensures vnrx_vq_packed(vq);
*/
static void put_indirect(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned n)
{
	uint32_t id = vq->free[vq->take];
	uint32_t off = id * vq->segs_max * VNRX_DESC_SIZE;
	uint32_t flags = offered(vq->avail_wrap) | VNRX_DESC_INDIRECT;
	uint32_t hidden = hide(vq, flags);

	//@ assert (id + 1) * vq->segs_max <= vq->size * vq->segs_max;
	//@ assert off + VNRX_DESC_SIZE * n <= vq->size * vq->segs_max * VNRX_DESC_SIZE;
	table_put(vq->tables + off, segs, out, n);
	desc_put(vq->desc + VNRX_DESC_SIZE * vq->avail, vq->ring_dma + vq->tables_off + off, n * VNRX_DESC_SIZE, id,
	         flags ^ hidden);
}

/* The record of a chain just written. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_state(vq) && slot < vq->size && descs <= vq->size;
    assigns vq->slots[slot], vq->in_len[slot];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
*/
static VNRX_INLINE void note_chain(struct vnetrx_virtq *vq, uint32_t slot, uint32_t id, uint32_t descs, uint32_t in_len)
{
	vq->slots[slot] = (struct vnrx_vslot){ id, (uint16_t)descs, 0 };
	if (vq->in_len != NULL)
		vq->in_len[slot] = in_len;
}

void vnrx_packed_add(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned in,
                     uint32_t id)
{
	unsigned n = out + in;
	uint32_t descs = vnrx_virtq_needed(vq, n);
	uint32_t slot = vq->free[vq->take];

	if (n == 1u)
		put_one(vq, segs, out);
	else if (descs == n)
		put_direct(vq, segs, out, n);
	else
		put_indirect(vq, segs, out, n);
	//@ assert vq->size == \at(vq->size, Pre) && vnrx_vq_memory(vq);
	//@ assert vnrx_vq_state(vq);
	//@ assert vnrx_vq_packed(vq) && vnrx_vq_room(vq, descs);
	note_chain(vq, slot, id, descs, vq->in_len != NULL ? vnrx_segs_len(segs + out, in) : 0u);
	//@ assert vq->size == \at(vq->size, Pre) && vnrx_vq_memory(vq);
	//@ assert vq->free_num == \at(vq->free_num, Pre) && vq->out == \at(vq->out, Pre);
	//@ assert vnrx_vq_state(vq) && vnrx_vq_packed(vq) && vnrx_vq_room(vq, descs);
	added(vq, 1, descs);
}

/* ---- publishing ---- */

void vnrx_packed_publish(struct vnetrx_virtq *vq)
{
	uint8_t *flags = vq->desc + VNRX_DESC_SIZE * vq->hidden_at + PACKED_FLAGS;

	/* All descriptors before the flags that stop hiding them. */
	vnrx_barrier_write(vnrx_virtq_bus(vq), flags);
	vnrx_shared_store16(flags, vnrx_order16(vq->hidden_flags, false));
}

/* The device's wish is read at once, offset and flags, so that one does not belong to an older wish than the other. An
 * offset with the other wrap counter lies one round back. */
bool vnrx_packed_wants_kick(const struct vnetrx_virtq *vq)
{
	uint32_t wish = vnrx_order32(vnrx_shared_load32(vq->device), false);
	uint32_t what = wish / 65536u % 4u;
	uint32_t event = wish % PACKED_WRAP_BIT;

	if (what == PACKED_DISABLE)
		return false;
	if (what != PACKED_DESC || (vq->flags & VNETRX_VIRTQ_EVENT_IDX) == 0u)
		return true;
	if (wish / PACKED_WRAP_BIT % 2u != vq->avail_wrap)
		event += 65536u - vq->size;
	return vnrx_event_in(event, vq->avail, vq->fresh);
}

/* ---- callbacks ---- */

/* Stored at once, for the same reason. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq) && what <= 3 && at <= 65535;
    assigns vq->driver[0 .. 3];
*/
static void set_wish(struct vnetrx_virtq *vq, uint32_t what, uint32_t at)
{
	vnrx_shared_store32(vq->driver, vnrx_order32(what * 65536u + at, false));
}

/* Asks for an interrupt when `ahead` more than the next descriptor have been used, at most `size`; without EVENT_IDX at
 * the next one. */
void vnrx_packed_arm(struct vnetrx_virtq *vq, uint32_t ahead)
{
	uint32_t at = (uint32_t)vq->used + ahead;
	uint32_t wrap = vq->used_wrap;

	if (at >= vq->size) {
		at -= vq->size;
		wrap = 1u - wrap;
	}
	if ((vq->flags & VNETRX_VIRTQ_EVENT_IDX) != 0u)
		set_wish(vq, PACKED_DESC, at + wrap * PACKED_WRAP_BIT);
	else
		set_wish(vq, PACKED_ENABLE, 0);
}

void vnrx_packed_disarm(struct vnetrx_virtq *vq)
{
	set_wish(vq, PACKED_DISABLE, 0);
}
