/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The virtqueue's interface: what is the same for both formats, and the choice between them, once for a batch.
 *
 * A broken ring stays broken until reset: nothing is added, published or reaped, and whoever asks whether something
 * waits is told so, because reap has something to say.
 */
#include "virtq.h"

#define FRESH_MAX 65535u /* entries that a 16-bit window can tell apart; more are not told from none */

static VNRX_INLINE bool is_packed(const struct vnetrx_virtq *vq)
{
	return (vq->flags & VNETRX_VIRTQ_PACKED) != 0u;
}

static VNRX_INLINE bool is_broken(const struct vnetrx_virtq *vq)
{
	return vq->fault != VNETRX_VIRTQ_OK;
}

uint32_t vnetrx_virtq_free_slots(const struct vnetrx_virtq *vq)
{
	return vq->free_num;
}

uint32_t vnetrx_virtq_slots_needed(const struct vnetrx_virtq *vq, unsigned segs)
{
	return vnrx_virtq_needed(vq, segs);
}

uint32_t vnetrx_virtq_outstanding(const struct vnetrx_virtq *vq)
{
	return vq->out;
}

enum vnetrx_virtq_fault vnetrx_virtq_fault(const struct vnetrx_virtq *vq)
{
	return (enum vnetrx_virtq_fault)vq->fault;
}

/* ---- driver to device ---- */

int vnetrx_virtq_add(struct vnetrx_virtq *vq, const struct vnetrx_virtq_seg *segs, unsigned out, unsigned in,
                     uint32_t id)
{
	if (out > vq->segs_max || in > vq->segs_max - out || out + in == 0u)
		return VNETRX_ERR_INVALID;
	if (is_broken(vq))
		return VNETRX_ERR_BAD;
	if (vnrx_virtq_needed(vq, out + in) > vq->free_num)
		return VNETRX_ERR_BUSY;
	if (is_packed(vq))
		vnrx_packed_add(vq, segs, out, in, id);
	else
		vnrx_split_add(vq, segs, out, in, id);
	return VNETRX_OK;
}

unsigned vnetrx_virtq_add_bufs(struct vnetrx_virtq *vq, const struct vnetrx_buf *bufs, unsigned n)
{
	if (n > vq->free_num)
		n = vq->free_num;
	if (is_broken(vq) || n == 0u)
		return 0;
	return is_packed(vq) ? vnrx_packed_add_bufs(vq, bufs, n) : vnrx_split_add_bufs(vq, bufs, n);
}

void vnetrx_virtq_publish(struct vnetrx_virtq *vq)
{
	if (vq->unpub == 0u) /* nor can anything be when the ring is broken */
		return;
	if (is_packed(vq))
		vnrx_packed_publish(vq);
	else
		vnrx_split_publish(vq);
	vq->unpub = 0;
	if (vq->fresh > FRESH_MAX)
		vq->fresh = FRESH_MAX;
}

bool vnetrx_virtq_kick_needed(struct vnetrx_virtq *vq)
{
	bool kick = true;

	vnetrx_virtq_publish(vq);
	if (vq->fresh == 0u || is_broken(vq))
		return false;
	/* What was published before what the device asks for: else we read that it is awake while it reads that there
	 * is nothing, and falls asleep. */
	vnrx_barrier_full(vnrx_virtq_bus(vq));
	if (vq->fresh < FRESH_MAX)
		kick = is_packed(vq) ? vnrx_packed_wants_kick(vq) : vnrx_split_wants_kick(vq);
	vq->fresh = 0;
	return kick;
}

uint32_t vnetrx_virtq_notification_data(const struct vnetrx_virtq *vq, uint16_t queue)
{
	uint32_t next = vq->avail;

	if (is_packed(vq))
		next += vq->avail_wrap * 32768u;
	return next * 65536u + queue;
}

/* ---- device to driver ---- */

int vnetrx_virtq_reap(struct vnetrx_virtq *vq, struct vnetrx_done *done, unsigned max)
{
	if (VNRX_UNLIKELY(is_broken(vq)))
		return VNETRX_ERR_BAD;
	vnetrx_virtq_publish(vq); /* so that whatever is lent was offered, and nothing can come back that was not */
	if (max > INT32_MAX)
		max = INT32_MAX;
	if (is_packed(vq))
		return vq->in_len != NULL ? vnrx_packed_reap_in_order(vq, done, max) : vnrx_packed_reap(vq, done, max);
	if (vq->in_len != NULL)
		return vnrx_split_reap_in_order(vq, done, max);
	return vnrx_split_reap(vq, done, max);
}

/* Up to where everything was reaped. */
static uint32_t seen(const struct vnetrx_virtq *vq)
{
	return is_packed(vq) ? vnrx_packed_point(vq) : vq->used;
}

/* Whether reap has something to say, other than what was there at `point`. */
static bool waits(const struct vnetrx_virtq *vq, uint32_t point)
{
	if (is_broken(vq) || vq->batch != 0u)
		return true;
	return is_packed(vq) ? vnrx_packed_ready(vq, point) : vnrx_split_ready(vq, point) != 0u;
}

bool vnetrx_virtq_pending(const struct vnetrx_virtq *vq)
{
	return waits(vq, seen(vq));
}

/* ---- callbacks ---- */

void vnetrx_virtq_disable(struct vnetrx_virtq *vq)
{
	if (vq->armed == 0u)
		return;
	if (is_packed(vq))
		vnrx_packed_disarm(vq);
	else
		vnrx_split_disarm(vq);
	vq->armed = 0;
}

static void arm(struct vnetrx_virtq *vq, uint32_t ahead)
{
	if (is_packed(vq))
		vnrx_packed_arm(vq, ahead);
	else
		vnrx_split_arm(vq, ahead);
	vq->armed = 1;
}

/* The wish for an interrupt before the look: either the device sees that we want one, or we see what it did. */
static void arm_barrier(const struct vnetrx_virtq *vq)
{
	vnrx_barrier_full(vnrx_virtq_bus(vq));
}

bool vnetrx_virtq_enable(struct vnetrx_virtq *vq)
{
	arm(vq, 0);
	arm_barrier(vq);
	return vnetrx_virtq_pending(vq);
}

uint32_t vnetrx_virtq_enable_prepare(struct vnetrx_virtq *vq)
{
	arm(vq, 0);
	return seen(vq);
}

bool vnetrx_virtq_poll(const struct vnetrx_virtq *vq, uint32_t point)
{
	arm_barrier(vq);
	return waits(vq, point);
}

bool vnetrx_virtq_enable_delayed(struct vnetrx_virtq *vq)
{
	uint32_t lent = is_packed(vq) ? vq->size - vq->free_num : vq->out; /* in descriptors, or in entries */
	uint32_t ahead = 0;

	vnetrx_virtq_publish(vq); /* what the device does not see, it cannot use: it must not count */
	if ((vq->flags & VNETRX_VIRTQ_EVENT_IDX) != 0u && lent != 0u)
		ahead = vnrx_virtq_share(vq, lent);
	if (ahead != 0u && ahead == lent) /* all of them: the last one's is the event */
		ahead--;
	arm(vq, ahead);
	arm_barrier(vq);
	if (is_packed(vq) || is_broken(vq))
		return vnetrx_virtq_pending(vq);
	return vnrx_split_ready(vq, vq->used) > ahead;
}

/* ---- trouble ---- */

bool vnetrx_virtq_detach(struct vnetrx_virtq *vq, uint32_t *id)
{
	uint32_t at, n;

	for (n = 0; n < vq->size; n++) { /* goes on where the last call stopped */
		at = vq->detach_at;
		vq->detach_at = at + 1u < vq->size ? at + 1u : 0u;
		if (vq->slots[at].segs == 0u)
			continue;
		*id = vq->slots[at].id;
		if (is_packed(vq))
			vnrx_packed_release(vq, at);
		else
			vnrx_split_release(vq, at);
		return true;
	}
	return false;
}
