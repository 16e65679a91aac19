/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Split rings, device to driver (virtio 1.2, 2.7.8).
 *
 * The used index is read once for a batch, each used entry once. An entry counts when its id is the head of a chain
 * that is lent at that moment; that also refuses an id that comes twice.
 */
#include "split.h"

/* A used entry, read once. */
/*@ requires \valid_read(device + (0 .. SPLIT_ENTRIES + VNRX_USED_SIZE * (at + 1) - 1)) && at <= 32767;
    assigns \nothing;
*/
static VNRX_INLINE struct vnetrx_done entry_get(const uint8_t *device, uint32_t at, bool big)
{
	const uint8_t *entry = device + SPLIT_ENTRIES + VNRX_USED_SIZE * at;
	uint32_t       id = vnrx_shared_load32(entry);
	uint32_t       len = vnrx_shared_load32(entry + 4);

	return (struct vnetrx_done){ vnrx_order32(id, big), vnrx_order32(len, big), 0, 0, 0 };
}

/* Gives the slots of a chain back to the FIFO's place `give`, along the private links. Returns the next place. */
/*@ requires vnrx_vq_memory(vq) && head < vq->size && give < vq->size && vq->free_num <= 0x7fffffff;
    requires \forall integer i; 0 <= i < vq->size ==> vq->free[i] < vq->size;
    requires \forall integer i; 0 <= i < vq->size ==> vq->slots[i].link < vq->size;
    requires vq->slots[head].segs <= vq->size;
    assigns vq->free[0 .. vq->size - 1], vq->free_num;
    ensures \result < vq->size && vq->free_num == \old(vq->free_num) + vq->slots[head].segs;
    ensures \forall integer i; 0 <= i < vq->size ==> vq->free[i] < vq->size;
*/
static VNRX_COLD uint32_t give_chain(struct vnetrx_virtq *vq, uint32_t head, uint32_t give)
{
	uint32_t segs = vq->slots[head].segs;
	uint32_t slot = head;
	uint32_t i;

	/*@ loop invariant i <= segs && slot < vq->size && give < vq->size;
	    loop invariant \forall integer k; 0 <= k < vq->size ==> vq->free[k] < vq->size;
	    loop assigns i, slot, give, vq->free[0 .. vq->size - 1];
	    loop variant segs - i;
	*/
	for (i = 0; i < segs; i++) {
		vq->free[give] = (uint16_t)slot;
		give = vnrx_wrap(give + 1u, vq->size);
		slot = vq->slots[slot].link;
	}
	vq->free_num += segs;
	return give;
}

void vnrx_split_release(struct vnetrx_virtq *vq, uint32_t head)
{
	uint32_t segs = vq->slots[head].segs;

	if (vq->in_len != NULL) { /* the FIFO holds that order already */
		vq->give = vnrx_wrap(vq->give + segs, vq->size);
		vq->free_num += segs;
	} else {
		vq->give = give_chain(vq, head, vq->give);
	}
	vq->slots[head].segs = 0;
	vq->out--;
}

uint32_t vnrx_split_ready(const struct vnetrx_virtq *vq, uint32_t point)
{
	return vnrx_index_diff(split_load16(vq, SPLIT_INDEX), point);
}

/* How many entries wait, or < 0. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq) && vq->out <= vq->size;
    assigns vq->fault;
    ensures \result <= vq->out && \result >= VNETRX_ERR_BAD;
    ensures \result < 0 ==> vq->fault != VNETRX_VIRTQ_OK;
    ensures \result >= 0 ==> vq->fault == \old(vq->fault);
*/
static int32_t ready_checked(struct vnetrx_virtq *vq)
{
	uint32_t ready = vnrx_split_ready(vq, vq->used);

	if (VNRX_UNLIKELY(ready > vq->out))
		return vnrx_virtq_break(vq, VNETRX_VIRTQ_BAD_INDEX);
	/* The index before the entries and buffers it announces. */
	vnrx_barrier_read(vnrx_virtq_bus(vq));
	vnrx_announced(vq->device + SPLIT_INDEX);
	return (int32_t)ready;
}

/* Takes n entries; stops at the first that is wrong. Returns how many were right. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq) && vnrx_vq_state(vq) && vq->free_num <= vq->size;
    requires vq->in_len == \null && n <= vq->out && vnrx_vq_apart(vq, done, n);
    assigns done[0 .. n - 1], vq->used, vq->give, vq->free_num, vq->out, vq->fault,
            vq->slots[0 .. vq->size - 1].segs, vq->free[0 .. vq->size - 1];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures \result <= n && vq->out + \result == \old(vq->out);
    ensures \result < n ==> vq->fault != VNETRX_VIRTQ_OK;
*/
static VNRX_INLINE unsigned take_entries(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned n, bool big)
{
	struct vnrx_vslot *slots = vq->slots;
	const uint8_t     *device = vq->device;
	uint16_t          *free = vq->free;
	uint32_t           size = vq->size, at = vq->used, give = vq->give, one = 0;
	unsigned           i;

	/*@ loop invariant i <= n && give < size && one <= i;
	    loop invariant vq->free_num <= 32768 + i * 32768;
	    loop invariant \forall integer k; 0 <= k < size ==> free[k] < size;
	    loop invariant \forall integer k; 0 <= k < size ==> slots[k].segs <= size;
	    loop invariant \forall integer k; 0 <= k < size ==> slots[k].link < size;
	    loop assigns i, give, one, done[0 .. n - 1], vq->fault, vq->free_num, slots[0 .. size - 1].segs,
	                 free[0 .. size - 1];
	    loop variant n - i;
	*/
	for (i = 0; i < n; i++) {
		struct vnetrx_done entry = entry_get(device, vnrx_wrap(at + i, size), big);
		uint32_t           head = entry.id;

		if (VNRX_UNLIKELY(head >= size || slots[head].segs == 0u)) {
			(void)vnrx_virtq_break(vq, VNETRX_VIRTQ_BAD_ID);
			break;
		}
		entry.id = slots[head].id;
		done[i] = entry;
		if (VNRX_LIKELY(slots[head].segs == 1u)) {
			free[give] = (uint16_t)head;
			give = vnrx_wrap(give + 1u, size);
			one++;
		} else {
			give = give_chain(vq, head, give);
		}
		slots[head].segs = 0;
	}
	vq->used = (uint16_t)(at + i);
	vq->give = give;
	vq->free_num += one;
	vq->out -= i;
	return i;
}

/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq) && vnrx_vq_state(vq) && vq->free_num <= vq->size;
    requires vq->in_len == \null && n <= vq->out && vnrx_vq_apart(vq, done, n);
    assigns done[0 .. n - 1], vq->used, vq->give, vq->free_num, vq->out, vq->fault,
            vq->slots[0 .. vq->size - 1].segs, vq->free[0 .. vq->size - 1];
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures \result <= n && vq->out + \result == \old(vq->out);
    ensures \result < n ==> vq->fault != VNETRX_VIRTQ_OK;
*/
static VNRX_COLD unsigned take_entries_big(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned n)
{
	return take_entries(vq, done, n, true);
}

int vnrx_split_reap(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max)
{
	int32_t  ready = ready_checked(vq);
	unsigned n;

	if (ready <= 0)
		return ready;
	n = (uint32_t)ready < max ? (uint32_t)ready : max;
	if (VNRX_LIKELY(!vnrx_virtq_big(vq)))
		n = take_entries(vq, done, n, false);
	else
		n = take_entries_big(vq, done, n);
	return n != 0u || vq->fault == VNETRX_VIRTQ_OK ? (int)n : VNETRX_ERR_BAD;
}

/* ---- IN_ORDER (2.7.9): one entry for a batch, at the place of its first buffer, with the id of its last ---- */

/* Reads the entry at hand; false = it does not end a batch of the `ready` buffers that the index announces. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq) && used <= 65535 + 32768 && 0 < ready <= vq->size;
    assigns vq->fault, vq->batch, vq->batch_len;
    ensures \result != 0 ==> 0 < vq->batch <= ready;
*/
static VNRX_INLINE bool batch_start(struct vnetrx_virtq *vq, uint32_t used, uint32_t ready)
{
	struct vnetrx_done entry = entry_get(vq->device, vnrx_wrap(used, vq->size), vnrx_virtq_big(vq));
	uint32_t           before;

	if (VNRX_UNLIKELY(entry.id >= vq->size || vq->slots[entry.id].segs == 0u)) {
		(void)vnrx_virtq_break(vq, VNETRX_VIRTQ_BAD_ID);
		return false;
	}
	before = vnrx_index_diff(vq->slots[entry.id].link, used);
	if (VNRX_UNLIKELY(before >= ready)) {
		(void)vnrx_virtq_break(vq, VNETRX_VIRTQ_BAD_ORDER);
		return false;
	}
	vq->batch = before + 1u;
	vq->batch_len = entry.len;
	return true;
}

/* Takes n buffers, those before the last of a batch with the length that was lent. Returns how many were right. */
/*@ requires vnrx_vq_memory(vq) && vnrx_vq_split(vq) && vnrx_vq_state(vq) && vq->free_num <= vq->size;
    requires vq->in_len != \null && n <= ready <= vq->out && vnrx_vq_apart(vq, done, n);
    assigns done[0 .. n - 1], vq->used, vq->give, vq->free_num, vq->out, vq->fault, vq->batch, vq->batch_len,
            vq->slots[0 .. vq->size - 1].segs;
    ensures vnrx_vq_places(vq);
    ensures vnrx_vq_fifo(vq);
    ensures vnrx_vq_slots(vq);
    ensures \result <= n && vq->out + \result == \old(vq->out);
*/
static unsigned take_in_order(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned n, uint32_t ready)
{
	struct vnrx_vslot *slots = vq->slots;
	const uint32_t    *in_len = vq->in_len;
	uint32_t           size = vq->size, used = vq->used, give = vq->give, back = 0;
	unsigned           i;

	/*@ loop invariant i <= n && give < size && back <= i * 32768;
	    loop invariant \forall integer k; 0 <= k < size ==> slots[k].segs <= size;
	    loop assigns i, give, back, done[0 .. n - 1], vq->fault, vq->batch, vq->batch_len,
	                 slots[0 .. size - 1].segs;
	    loop variant n - i;
	*/
	for (i = 0; i < n; i++) {
		uint32_t head = give, segs = slots[head].segs, len;

		if (vq->batch == 0u && !batch_start(vq, used + i, ready - i))
			break;
		vq->batch--;
		len = vq->batch == 0u ? vq->batch_len : in_len[head];
		done[i] = (struct vnetrx_done){ slots[head].id, len, 0, 0, 0 };
		slots[head].segs = 0;
		give = vnrx_wrap(give + segs, size);
		back += segs;
	}
	vq->used = (uint16_t)(used + i);
	vq->give = give;
	vq->free_num += back;
	vq->out -= i;
	return i;
}

int vnrx_split_reap_in_order(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max)
{
	int32_t  ready = ready_checked(vq);
	unsigned n;

	if (ready <= 0)
		return ready;
	n = take_in_order(vq, done, (uint32_t)ready < max ? (uint32_t)ready : max, (uint32_t)ready);
	return n != 0u || vq->fault == VNETRX_VIRTQ_OK ? (int)n : VNETRX_ERR_BAD;
}
