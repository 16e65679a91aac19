/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Invariants: a packet is out exactly while its id is not on the stack; room is decided before anything is written, so
 * a refused packet leaves no trace; is_armed holds only while nothing can have made the interrupt unnecessary.
 */
#include "txq.h"

#include "virtio_hdr.h"

/* ---- packets back to the host ---- */

/* Takes up to max (<= VNRX_TX_BATCH) finished packets; returns how many. */
static unsigned take_batch(struct vnetrx_txq *q, unsigned max)
{
	struct vnetrx_done *done = q->reaped;
	void **cookies = q->taken;
	int n = vnetrx_virtq_reap(q->vq, done, max);

	if (n <= 0) {
		if (n < 0 && !q->is_broken) {
			q->is_broken = true;
			q->stats.broken++;
		}
		return 0;
	}
	for (unsigned i = 0; i < (unsigned)n; i++) {
		cookies[i] = q->cookies[done[i].id];
		q->ids[q->free + i] = (uint16_t)done[i].id;
	}
	q->free += (unsigned)n;
	q->stats.done += (unsigned)n;
	q->stats.reaps++;
	q->ops.done(q->host, cookies, (unsigned)n, 0);
	return (unsigned)n;
}

static unsigned take(struct vnetrx_txq *q, unsigned budget)
{
	unsigned taken = 0;

	while (taken < budget) {
		unsigned max = budget - taken < VNRX_TX_BATCH ? budget - taken : VNRX_TX_BATCH;
		unsigned n = take_batch(q, max);

		taken += n;
		if (n < max)
			break;
	}
	return taken;
}

bool vnrx_txq_restart(struct vnetrx_txq *q)
{
	if (q->is_stopped || q->is_broken || q->vq->free_num < q->slots_max)
		return false;
	q->is_refused = false;
	q->stats.resumes++;
	if (q->ops.resume != NULL)
		q->ops.resume(q->host);
	return true;
}

static void disarm(struct vnetrx_txq *q)
{
	if (q->is_armed) {
		q->is_armed = false;
		vnetrx_virtq_disable(q->vq);
	}
}

/* ---- packets to the device ---- */

static VNRX_COLD int refuse(struct vnetrx_txq *q)
{
	q->is_refused = true;
	q->stats.busy++;
	return VNETRX_ERR_BUSY;
}

static VNRX_COLD int wrong(struct vnetrx_txq *q, int err)
{
	q->stats.wrong++;
	return err;
}

/* Whether `need` slots are free, if need be after taking back what is finished. */
static bool has_room(struct vnetrx_txq *q, uint32_t need)
{
	if (VNRX_LIKELY(q->vq->free_num >= need))
		return true;
	return take_batch(q, VNRX_TX_BATCH) > 0u && q->vq->free_num >= need;
}

/* Bytes of the frame; more than 32 bits hold count as that much. */
static uint32_t frame_len(const struct vnetrx_tx_pkt *pkt)
{
	uint64_t len = pkt->segs[0].len;

	for (unsigned i = 1; i < pkt->nsegs; i++)
		len += pkt->segs[i].len;
	return len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
}

static int check(const struct vnetrx_txq *q, const struct vnetrx_tx_pkt *pkt, uint32_t len, bool joined)
{
	if (VNRX_UNLIKELY(!joined && q->hdrs == NULL))
		return VNETRX_ERR_INVALID;
	if (pkt->flags == 0u && pkt->gso_type == VNETRX_GSO_NONE)
		return VNETRX_OK;
	return vnrx_tx_hdr_check(pkt, len, q->features, q->hdr_len);
}

/* A header of 12 bytes that asks for nothing is nearly every one. */
static VNRX_INLINE void write_header(const struct vnetrx_txq *q, const struct vnetrx_tx_pkt *pkt, uint8_t *hdr)
{
	if (pkt->flags != 0u)
		vnrx_tx_hdr_write(pkt, hdr, q->hdr_len);
	else if (VNRX_LIKELY(q->hdr_len == HDR_MRG))
		memset(hdr, 0, HDR_MRG);
	else
		memset(hdr, 0, q->hdr_len);
}

/* Header and data in one descriptor. */
static int add_joined(struct vnetrx_txq *q, const struct vnetrx_tx_pkt *pkt, uint32_t id)
{
	struct vnetrx_virtq_seg *segs = q->segs;

	write_header(q, pkt, pkt->head - q->hdr_len);
	segs[0].dma = pkt->segs[0].dma - q->hdr_len;
	segs[0].len = pkt->segs[0].len + q->hdr_len;
	segs[0].rsvd = 0;
	for (unsigned i = 1; i < pkt->nsegs; i++)
		segs[i] = pkt->segs[i];
	return vnetrx_virtq_add(q->vq, segs, pkt->nsegs, 0, id);
}

/* The header in a descriptor of its own. */
static int add_apart(struct vnetrx_txq *q, const struct vnetrx_tx_pkt *pkt, uint32_t id)
{
	struct vnetrx_virtq_seg *segs = q->segs;
	size_t off = (size_t)id * q->stride;

	write_header(q, pkt, q->hdrs + off);
	segs[0].dma = q->hdrs_dma + off;
	segs[0].len = q->hdr_len;
	segs[0].rsvd = 0;
	for (unsigned i = 0; i < pkt->nsegs; i++)
		segs[i + 1u] = pkt->segs[i];
	return vnetrx_virtq_add(q->vq, segs, pkt->nsegs + 1u, 0, id);
}

/* There is room: the packet goes into the ring. */
static int put(struct vnetrx_txq *q, const struct vnetrx_tx_pkt *pkt, bool joined)
{
	uint32_t id = q->ids[q->free - 1u];
	int err = joined ? add_joined(q, pkt, id) : add_apart(q, pkt, id);

	if (VNRX_UNLIKELY(err != VNETRX_OK))
		return err;
	q->free--;
	q->cookies[id] = pkt->cookie;
	disarm(q); /* the host sends, so it is awake */
	return VNETRX_OK;
}

static void count(struct vnetrx_txq *q, const struct vnetrx_tx_pkt *pkt, uint32_t len, uint32_t slots)
{
	q->stats.pkts++;
	q->stats.bytes += len;
	q->stats.slots += slots;
	if (pkt->flags != 0u) {
		q->stats.csum_pkts++;
		q->stats.gso_pkts += pkt->gso_type != VNETRX_GSO_NONE ? 1u : 0u;
	}
}

int vnetrx_txq_add(struct vnetrx_txq *q, const struct vnetrx_tx_pkt *pkt)
{
	bool joined = pkt->headroom >= q->hdr_room && pkt->head != NULL;
	uint32_t len, need;
	int err;

	if (VNRX_UNLIKELY(pkt->nsegs == 0u || pkt->nsegs > q->segs_max))
		return wrong(q, VNETRX_ERR_INVALID);
	len = frame_len(pkt);
	err = check(q, pkt, len, joined);
	if (VNRX_UNLIKELY(err != VNETRX_OK))
		return wrong(q, err);
	if (VNRX_UNLIKELY(q->is_broken))
		return VNETRX_ERR_BAD;
	need = vnrx_virtq_needed(q->vq, pkt->nsegs + (joined ? 0u : 1u));
	if (q->is_stopped || !has_room(q, need))
		return q->is_broken ? VNETRX_ERR_BAD : refuse(q);
	err = put(q, pkt, joined);
	if (VNRX_UNLIKELY(err != VNETRX_OK))
		return err;
	q->stats.hdr_joined += joined ? 1u : 0u;
	count(q, pkt, len, need);
	return VNETRX_OK;
}

void vnetrx_txq_kick(struct vnetrx_txq *q)
{
	q->stats.batches++;
	if (vnetrx_virtq_kick_needed(q->vq) && q->ops.notify != NULL) {
		q->stats.doorbells++;
		q->ops.notify(q->host, vnetrx_virtq_notification_data(q->vq, q->queue));
	}
	vnrx_txq_publish(q);
}

unsigned vnetrx_txq_send(struct vnetrx_txq *q, const struct vnetrx_tx_pkt *pkts, unsigned n, int *err)
{
	unsigned taken = 0;

	*err = VNETRX_OK;
	while (taken < n) {
		*err = vnetrx_txq_add(q, &pkts[taken]);
		if (*err != VNETRX_OK)
			break;
		taken++;
	}
	vnetrx_txq_kick(q);
	return taken;
}

/* ---- interrupts ---- */

unsigned vnetrx_txq_poll(struct vnetrx_txq *q, unsigned budget)
{
	unsigned taken;

	disarm(q);
	q->stats.polls++;
	taken = take(q, budget);
	if (VNRX_UNLIKELY(q->is_refused))
		(void)vnrx_txq_restart(q);
	vnrx_txq_publish(q);
	return taken;
}

bool vnetrx_txq_complete(struct vnetrx_txq *q)
{
	bool more = false;

	(void)take(q, q->size);
	if (q->is_refused && vnrx_txq_restart(q)) {
		more = true;
	} else if (q->free < q->size && !q->is_broken) {
		q->is_armed = true;
		q->stats.arms++;
		more = vnetrx_virtq_enable_delayed(q->vq);
	}
	vnrx_txq_publish(q);
	return !more;
}
