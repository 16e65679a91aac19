/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of a ring of SIZE slots from any state with its invariant, whatever the device has written by then and
 * writes meanwhile. RING 0: split, 1: split with IN_ORDER, 2: packed, 3: packed with IN_ORDER. */
#include "__fc_builtin.h"

#include "virtio/virtq.h"

#define PACKED   (RING >= 2)
#define IN_ORDER (RING % 2 == 1)
#define MAX      8u
#define SEGS     4u

static struct vnrx_vslot slots[SIZE];
static uint16_t free_slots[SIZE];
static uint32_t in_len[SIZE];
static uint8_t desc[SIZE * VNRX_DESC_SIZE], driver[2 * SIZE + 6], device[VNRX_USED_SIZE * SIZE + 6];
static uint8_t tables[SIZE * SEGS * VNRX_DESC_SIZE];

static uint32_t upto(uint32_t last)
{
	return Frama_C_unsigned_int_interval(0, last);
}

static void any_state(struct vnetrx_virtq *vq)
{
	for (unsigned i = 0; i < SIZE; i++) {
		slots[i].id = upto(UINT32_MAX);
		slots[i].segs = (uint16_t)upto(SIZE);
		slots[i].link = (uint16_t)upto(IN_ORDER ? 65535u : SIZE - 1u);
		free_slots[i] = (uint16_t)upto(SIZE - 1u);
		in_len[i] = upto(UINT32_MAX);
	}
	*vq = (struct vnetrx_virtq){ .desc = desc, .driver = driver, .device = device, .slots = slots };
	vq->free = free_slots;
	vq->in_len = IN_ORDER ? in_len : NULL;
	vq->size = SIZE;
	vq->segs_max = SEGS;
	vq->tables = tables;
	vq->flags = upto(UINT32_MAX);
	vq->take = upto(SIZE - 1u);
	vq->give = upto(SIZE - 1u);
	vq->free_num = upto(SIZE);
	vq->out = upto(SIZE);
	vq->fresh = upto(65535u);
	vq->avail = (uint16_t)upto(PACKED ? SIZE - 1u : 65535u);
	vq->used = (uint16_t)upto(PACKED ? SIZE - 1u : 65535u);
	vq->avail_wrap = (uint16_t)upto(1u);
	vq->used_wrap = (uint16_t)upto(1u);
	vq->hidden_at = (uint16_t)upto(SIZE - 1u);
	vq->batch = upto(SIZE);
	vq->batch_len = upto(UINT32_MAX);
}

int main(void)
{
	struct vnetrx_virtq vq;
	struct vnetrx_done done[MAX];
	struct vnetrx_buf bufs[MAX];
	unsigned max = upto(MAX), n = upto(MAX < SIZE ? MAX : SIZE);
	unsigned out = upto(SEGS / 2u), in = upto(SEGS / 2u);
	struct vnetrx_virtq_seg segs[SEGS];
	uint32_t lent = upto(SIZE - 1u);

	any_state(&vq);
	for (unsigned i = 0; i < MAX; i++)
		bufs[i] = (struct vnetrx_buf){ NULL, upto(UINT32_MAX), upto(UINT32_MAX), upto(UINT32_MAX) };
	for (unsigned i = 0; i < SEGS; i++)
		segs[i] = (struct vnetrx_virtq_seg){ upto(UINT32_MAX), upto(UINT32_MAX), 0 };
#if RING == 0
	(void)vnrx_split_reap(&vq, done, max);
#elif RING == 1
	(void)vnrx_split_reap_in_order(&vq, done, max);
#elif RING == 2
	(void)vnrx_packed_reap(&vq, done, max);
#else
	(void)vnrx_packed_reap_in_order(&vq, done, max);
#endif
#if PACKED
	(void)vnrx_packed_add_bufs(&vq, bufs, n);
	if (out + in > 0u && out + in <= SIZE)
		vnrx_packed_add(&vq, segs, out, in, upto(UINT32_MAX));
	vnrx_packed_publish(&vq);
	(void)vnrx_packed_wants_kick(&vq);
	vnrx_packed_arm(&vq, upto(SIZE));
	vnrx_packed_disarm(&vq);
	vnrx_packed_release(&vq, lent);
#else
	(void)vnrx_split_add_bufs(&vq, bufs, n);
	if (out + in > 0u && out + in <= SIZE)
		vnrx_split_add(&vq, segs, out, in, upto(UINT32_MAX));
	vnrx_split_publish(&vq);
	(void)vnrx_split_wants_kick(&vq);
	vnrx_split_arm(&vq, upto(SIZE));
	vnrx_split_disarm(&vq);
	vnrx_split_release(&vq, lent);
#endif
	/*@ check vq.take < SIZE && vq.give < SIZE; */
	/*@ check \forall integer i; 0 <= i < SIZE ==> free_slots[i] < SIZE && slots[i].segs <= SIZE; */
	return 0;
}
