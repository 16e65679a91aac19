/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packed rings, device to driver (virtio 1.2, 2.8.1, 2.8.2).
 *
 * Whether the next descriptor is used, its flags say; how far the one after it is, our record of that buffer says, and
 * nothing that the device wrote. No more can come back than is lent.
 */
#include "packed.h"

/* The two bits of a descriptor that is used. */
/*@ assigns \nothing;
    ensures \result == (wrap != 0 ? PACKED_BOTH : 0);
*/
static VNRX_INLINE uint32_t used_bits(uint32_t wrap)
{
	return wrap != 0u ? PACKED_BOTH : 0u;
}

/* Reads id and length if the descriptor is used. Where 8 bytes are loaded whole, id and length belong to the flags
 * loaded with them, since the device writes them before; what must be ordered is only left for the buffers' bytes. */
/*@ requires \valid_read(desc + (0 .. VNRX_DESC_SIZE - 1)) && \valid(id) && \valid(len) && \separated(id, len);
    assigns *id, *len;
    ensures \result != 0 ==> *id <= 65535;
*/
static VNRX_INLINE bool used_get(const uint8_t *desc, uint32_t bits, bool bus, uint32_t *id, uint32_t *len)
{
#ifdef VNRX_SHARED_WHOLE64
	uint64_t word = vnrx_order64(vnrx_shared_load64(desc + PACKED_LEN), false);

	(void)bus;
	*len = (uint32_t)word;
	*id = (uint32_t)(word >> 32) % 65536u;
	vnrx_announced(desc + PACKED_FLAGS);
	return ((uint32_t)(word >> 48) & PACKED_BOTH) == bits;
#else
	uint16_t flags = vnrx_order16(vnrx_shared_load16(desc + PACKED_FLAGS), false);

	if ((flags & PACKED_BOTH) != bits)
		return false;
	vnrx_barrier_read(bus); /* the flags before what they say is there */
	vnrx_announced(desc + PACKED_FLAGS);
	*id = vnrx_order16(vnrx_shared_load16(desc + PACKED_ID), false);
	*len = vnrx_order32(vnrx_shared_load32(desc + PACKED_LEN), false);
	return true;
#endif
}

uint32_t vnrx_packed_point(const struct vnetrx_virtq *vq)
{
	return vq->used + vq->used_wrap * PACKED_WRAP_BIT;
}

bool vnrx_packed_ready(const struct vnetrx_virtq *vq, uint32_t point)
{
	uint32_t flags;

	if (point != vnrx_packed_point(vq))
		return true; /* and reaped meanwhile */
	flags = vnrx_order16(vnrx_shared_load16(vq->desc + VNRX_DESC_SIZE * vq->used + PACKED_FLAGS), false);
	return (flags & PACKED_BOTH) == used_bits(vq->used_wrap);
}

void vnrx_packed_release(struct vnetrx_virtq *vq, uint32_t id)
{
	uint32_t segs = vq->slots[id].segs;

	vq->slots[id].segs = 0;
	if (vq->in_len == NULL) /* else the FIFO holds that order already */
		vq->free[vq->give] = (uint16_t)id;
	vq->give = packed_next(vq->give, vq->size);
	vq->free_num += segs;
	vq->out--;
}

/* Nothing is lent, so nothing can be used. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq);
    assigns vq->fault;
    ensures \result == 0 || (\result == VNETRX_ERR_BAD && vq->fault != VNETRX_VIRTQ_OK);
*/
static int reap_nothing(struct vnetrx_virtq *vq)
{
	return vnrx_packed_ready(vq, vnrx_packed_point(vq)) ? vnrx_virtq_break(vq, VNETRX_VIRTQ_BAD_INDEX) : 0;
}

/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq) && vnrx_vq_state(vq) && vq->free_num <= vq->size;
    requires vq->in_len == \null && max <= vq->out && vnrx_vq_apart(vq, done, max);
    assigns done[0 .. max - 1], vq->used, vq->used_wrap, vq->give, vq->free_num, vq->out, vq->fault,
            vq->slots[0 .. vq->size - 1].segs, vq->free[0 .. vq->size - 1];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures vnrx_vq_packed(vq) && \result <= max && vq->out + \result == \old(vq->out);
*/
static VNRX_INLINE unsigned take_descs(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max)
{
	struct vnrx_vslot *slots = vq->slots;
	uint16_t          *free = vq->free;
	const uint8_t     *desc = vq->desc;
	uint32_t           size = vq->size, at = vq->used, give = vq->give, back = 0;
	uint32_t           bits = used_bits(vq->used_wrap);
	bool               bus = vnrx_virtq_bus(vq);
	unsigned           i;

	/*@ loop invariant i <= max && give < size && at < size && back <= i * 32768;
	    loop invariant \forall integer k; 0 <= k < size ==> free[k] < size;
	    loop invariant \forall integer k; 0 <= k < size ==> slots[k].segs <= size;
	    loop invariant \forall integer k; 0 <= k < size ==> slots[k].link < size;
	    loop assigns i, give, at, bits, back, done[0 .. max - 1], vq->fault, slots[0 .. size - 1].segs,
	                 free[0 .. size - 1];
	    loop variant max - i;
	*/
	for (i = 0; i < max; i++) {
		uint32_t id, len, segs;

		if (!used_get(desc + VNRX_DESC_SIZE * at, bits, bus, &id, &len))
			break;
		segs = id < size ? slots[id].segs : 0u;
		if (VNRX_UNLIKELY(segs == 0u)) {
			(void)vnrx_virtq_break(vq, VNETRX_VIRTQ_BAD_ID);
			break;
		}
		done[i] = (struct vnetrx_done){ slots[id].id, len, 0, 0, 0 };
		slots[id].segs = 0;
		free[give] = (uint16_t)id;
		give = packed_next(give, size);
		back += segs;
		at += segs;
		if (VNRX_UNLIKELY(at >= size)) {
			at -= size;
			bits ^= PACKED_BOTH;
		}
	}
	vq->used = (uint16_t)at;
	vq->used_wrap = bits != 0u;
	vq->give = give;
	vq->free_num += back;
	vq->out -= i;
	return i;
}

int vnrx_packed_reap(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max)
{
	unsigned n;

	if (VNRX_UNLIKELY(vq->out == 0u))
		return reap_nothing(vq);
	n = take_descs(vq, done, max < vq->out ? max : vq->out);
	/* The flags before the bytes of the buffers, which the caller reads now. */
	vnrx_barrier_read(vnrx_virtq_bus(vq));
	return n != 0u || vq->fault == VNETRX_VIRTQ_OK ? (int)n : VNETRX_ERR_BAD;
}

/* ---- IN_ORDER (2.8.8): one descriptor for a batch, at the place of its first buffer, with the id of its last ---- */

/* Reads descriptor `at`; false = it is not used, or its id is not lent. Ids are given out in turn: those that are lent
 * are the `out` ones from `give` on, and each of them ends a batch. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq) && at < vq->size && give < vq->size && out <= vq->size;
    assigns vq->fault, vq->batch, vq->batch_len;
    ensures \result != 0 ==> 0 < vq->batch <= out;
*/
static VNRX_INLINE bool batch_start(struct vnetrx_virtq *vq, uint32_t at, uint32_t bits, uint32_t give, uint32_t out)
{
	uint32_t id, len, before;

	if (!used_get(vq->desc + VNRX_DESC_SIZE * at, bits, vnrx_virtq_bus(vq), &id, &len))
		return false;
	before = id >= give ? id - give : id + vq->size - give;
	if (VNRX_UNLIKELY(id >= vq->size || before >= out)) {
		(void)vnrx_virtq_break(vq, VNETRX_VIRTQ_BAD_ID);
		return false;
	}
	vq->batch = before + 1u;
	vq->batch_len = len;
	return true;
}

/* Takes up to max buffers; those before the last of a batch with the length that was lent. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_packed(vq) && vnrx_vq_state(vq) && vq->free_num <= vq->size;
    requires vq->in_len != \null && max <= vq->out && vnrx_vq_apart(vq, done, max);
    assigns done[0 .. max - 1], vq->used, vq->used_wrap, vq->give, vq->free_num, vq->out, vq->fault, vq->batch,
            vq->batch_len, vq->slots[0 .. vq->size - 1].segs;
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures vnrx_vq_packed(vq) && \result <= max && vq->out + \result == \old(vq->out);
*/
static unsigned take_in_order(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max)
{
	struct vnrx_vslot *slots = vq->slots;
	const uint32_t    *in_len = vq->in_len;
	uint32_t           size = vq->size, at = vq->used, give = vq->give, back = 0;
	uint32_t           bits = used_bits(vq->used_wrap);
	unsigned           i;

	/*@ loop invariant i <= max && give < size && at < size && back <= i * 32768;
	    loop invariant \forall integer k; 0 <= k < size ==> slots[k].segs <= size;
	    loop assigns i, give, at, bits, back, done[0 .. max - 1], vq->fault, vq->batch, vq->batch_len,
	                 slots[0 .. size - 1].segs;
	    loop variant max - i;
	*/
	for (i = 0; i < max; i++) {
		uint32_t segs = slots[give].segs, len;

		if (vq->batch == 0u && !batch_start(vq, at, bits, give, vq->out - i))
			break;
		vq->batch--;
		len = vq->batch == 0u ? vq->batch_len : in_len[give];
		done[i] = (struct vnetrx_done){ slots[give].id, len, 0, 0, 0 };
		slots[give].segs = 0;
		give = packed_next(give, size);
		back += segs;
		at += segs;
		if (VNRX_UNLIKELY(at >= size)) {
			at -= size;
			bits ^= PACKED_BOTH;
		}
	}
	vq->used = (uint16_t)at;
	vq->used_wrap = bits != 0u;
	vq->give = give;
	vq->free_num += back;
	vq->out -= i;
	return i;
}

int vnrx_packed_reap_in_order(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max)
{
	unsigned n;

	if (VNRX_UNLIKELY(vq->out == 0u))
		return reap_nothing(vq);
	n = take_in_order(vq, done, max < vq->out ? max : vq->out);
	vnrx_barrier_read(vnrx_virtq_bus(vq)); /* as above */
	return n != 0u || vq->fault == VNETRX_VIRTQ_OK ? (int)n : VNETRX_ERR_BAD;
}
