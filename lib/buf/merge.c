/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Invariant: of the completions given to add, those with a bad id aside, each is in exactly one place: in a packet
 * that was given out, in the packet under assembly, or drained. Whatever the device writes is read once: ids and
 * lengths from the caller's array, the header from a copy.
 */
#include "merge.h"

#include "../wire.h"
#include "piece.h"
#include "usual.h"

#define AHEAD      8u  /* completions */
#define HEAD_FAST  32u /* bytes: one copy of fixed length serves all device headers up to this */

/*@ requires \valid_read(slot) && \valid_read(done) && slot->len <= 0x7fffffff;
    assigns \nothing;
    ensures \result != 0 <==> done->off + done->len <= slot->len; */
static VNRX_INLINE bool piece_in_buf(const struct vnrx_slot *slot, const struct vnetrx_done *done)
{
	return done->len <= slot->len && done->off + done->len <= slot->len;
}

static VNRX_INLINE struct vnrx_piece piece_open(const struct vnetrx_merge *m, struct vnrx_slot *slot,
                                           const struct vnetrx_done *done)
{
	struct vnrx_piece pc = { slot, slot->addr + done->off, done->len, done->id };

	if (m->sync_cpu != NULL)
		m->sync_cpu(m->dev, pc.data, slot->dma + done->off, pc.len);
	VNRX_TRACK_DEFINED(pc.data, pc.len); /* whatever a device wrote, or only says it wrote */
	return pc;
}

/* `len` bytes are readable at buf, at least hdr_len. */
static VNRX_INLINE int meta_read(struct vnetrx_merge *m, const uint8_t *buf, uint32_t len, struct vnetrx_meta *meta)
{
	uint8_t head[VNRX_MERGE_HDR_MAX];
	int err;

	memset(meta, 0, sizeof(*meta));
	meta->skip = (uint16_t)m->hdr_len;
	if (m->decode == NULL)
		return VNETRX_OK;
	if (VNRX_LIKELY(m->hdr_len <= HEAD_FAST && len >= HEAD_FAST))
		memcpy(head, buf, HEAD_FAST);
	else
		memcpy(head, buf, m->hdr_len);
	err = m->decode(m->dev, head, m->hdr_len, meta);
	if (m->learns && err >= 0 && len >= HEAD_FAST)
		vnrx_usual_learn(m, head, meta);
	return err;
}

/*@ requires start <= 65535 && offset <= 65535;
    assigns \nothing;
    ensures \result != 0 ==> start + offset + 2 <= len; */
static bool csum_fits(uint32_t start, uint32_t offset, uint32_t len)
{
	return start >= VNRX_ETH_HDR + VNRX_IPV4_HDR && start + offset + 2u <= len;
}

/* `more` further buffers belong to a packet that is dropped; 0 with `open`: as many as VNETRX_DONE_MORE says. */
/*@ requires \valid(m);
    assigns m->state, m->left; */
static void drain_start(struct vnetrx_merge *m, uint32_t more, bool open)
{
	m->state = more != 0u || open ? VNRX_MERGE_DRAIN : VNRX_MERGE_IDLE;
	m->left = more;
}

/* Drops a packet at its first buffer. */
static VNRX_COLD struct vnetrx_pkt *drop_first(struct vnetrx_merge *m, struct vnrx_slot *slot,
                                               const struct vnetrx_done *done, uint32_t nbufs, uint64_t *why)
{
	vnrx_slot_put(m->pool, slot, done->id);
	m->stats.drained++;
	(*why)++;
	if (nbufs > m->nbufs_max)
		nbufs = 1; /* nobody knows how many follow: the next completion starts anew */
	drain_start(m, nbufs != 0u ? nbufs - 1u : 0u, nbufs == 0u && (done->flags & VNETRX_DONE_MORE) != 0u);
	return NULL;
}

/* A first buffer of impossible length. Its header, if it is there, still says how many buffers are to be drained. */
static VNRX_COLD struct vnetrx_pkt *first_bad(struct vnetrx_merge *m, struct vnrx_slot *slot,
                                              const struct vnetrx_done *done)
{
	struct vnetrx_done part = *done;
	struct vnetrx_meta meta = { .nbufs = 0 };
	struct vnrx_piece       pc;
	uint64_t          *why = &m->stats.drop_short;

	if (done->len == 0u)
		return drop_first(m, slot, done, 0, &m->stats.drop_error);
	if (!piece_in_buf(slot, done)) {
		why = &m->stats.drop_long;
		if (part.off > slot->len)
			part.off = (uint16_t)slot->len;
		part.len = slot->len - part.off;
	}
	if (part.len >= m->hdr_len && part.len != 0u) {
		pc = piece_open(m, slot, &part);
		(void)meta_read(m, pc.data, pc.len, &meta);
	}
	return drop_first(m, slot, done, meta.nbufs, why);
}

/* What is wrong with a packet whose length and meta are known; NULL = nothing. */
/*@ requires \valid(m) && \valid_read(meta) && \separated(m, meta);
    assigns \nothing;
    ensures \result == \null || \valid(\result);
    ensures \result == \null ==> meta->skip + VNRX_ETH_HDR <= len && len - meta->skip <= m->frame_len_max; */
static VNRX_INLINE uint64_t *frame_wrong(struct vnetrx_merge *m, const struct vnetrx_meta *meta, uint32_t len)
{
	if (VNRX_UNLIKELY(meta->skip + VNRX_ETH_HDR > len))
		return &m->stats.drop_meta;
	if (VNRX_UNLIKELY(len - meta->skip > m->frame_len_max))
		return &m->stats.drop_frame_long;
	return NULL;
}

/*@ requires \valid_read(meta);
    assigns \nothing; */
static bool partial_wrong(const struct vnetrx_meta *meta, uint32_t frame_len)
{
	return (meta->flags & VNETRX_PKT_PARTIAL) != 0u && !csum_fits(meta->csum_start, meta->csum_offset, frame_len);
}

/* A packet in one buffer: pc is the frame, and everything about it is checked. meta NULL = it is the usual one. */
static VNRX_INLINE struct vnetrx_pkt *single(struct vnetrx_merge *m, const struct vnrx_piece *pc,
                                             const struct vnetrx_meta *meta)
{
	struct vnetrx_pool *pool = m->pool;
	struct vnetrx_pkt  *pkt = vnrx_pkt_get(pool);
	uint32_t            limit = m->copy_len_max, truesize = pc->slot->truesize, copied = 0;

	if (VNRX_UNLIKELY(pkt == NULL))
		return NULL;
	if (VNRX_UNLIKELY(pool->pages.pinned_bytes > pool->pinned_high))
		limit = m->copy_len_high;
	if (pc->len <= limit)
		copied = vnrx_copy_break(pool, pkt, pc);
	if (copied != 0u) {
		truesize = copied;
	} else {
		vnrx_piece_claim(pool, pc);
		vnrx_link_fill(pkt, pc);
	}
	truesize += pool->pkt_cost;
	if (meta != NULL)
		vnrx_head_fill(pkt, meta, pc->len, truesize);
	else
		vnrx_head_fill_plain(pkt, m->usual.flags, pc->len, truesize);
	if (copied != 0u)
		pkt->flags |= VNETRX_PKT_COPIED;
	return pkt;
}

/* A packet that goes on in further buffers: pc is what the first has of the frame. */
static struct vnetrx_pkt *first_of_many(struct vnetrx_merge *m, const struct vnrx_piece *pc,
                                        const struct vnetrx_meta *meta, const struct vnetrx_done *done)
{
	struct vnetrx_pkt *pkt;

	if (meta->nbufs > m->nbufs_max)
		return drop_first(m, pc->slot, done, 1, &m->stats.drop_nbufs);
	pkt = vnrx_pkt_get(m->pool);
	if (pkt == NULL)
		return drop_first(m, pc->slot, done, meta->nbufs, &m->stats.drop_no_pkt);
	if (done->off + done->len < pc->slot->len)
		m->stats.not_full++;
	vnrx_piece_claim(m->pool, pc);
	vnrx_link_fill(pkt, pc);
	vnrx_head_fill(pkt, meta, pc->len, pc->slot->truesize + m->pool->pkt_cost);
	m->head = pkt;
	m->tail = pkt;
	m->left = meta->nbufs != 0u ? meta->nbufs - 1u : 0u;
	m->state = VNRX_MERGE_JOIN;
	return NULL;
}

/* The first buffer of a packet with another header than the last plain one, or in several buffers. */
static VNRX_APART struct vnetrx_pkt *first_other(struct vnetrx_merge *m, struct vnrx_slot *slot,
                                                 const struct vnetrx_done *done)
{
	struct vnetrx_meta meta;
	struct vnrx_piece       pc;
	struct vnetrx_pkt *pkt;
	uint64_t          *why;

	if (VNRX_UNLIKELY(!piece_in_buf(slot, done) || done->len < m->hdr_len + VNRX_ETH_HDR))
		return first_bad(m, slot, done);
	pc = piece_open(m, slot, done);
	if (VNRX_UNLIKELY(meta_read(m, pc.data, pc.len, &meta) < 0))
		return drop_first(m, slot, done, meta.nbufs, &m->stats.drop_decode);
	why = frame_wrong(m, &meta, pc.len);
	if (VNRX_UNLIKELY(why != NULL))
		return drop_first(m, slot, done, meta.nbufs, why);
	pc.data += meta.skip;
	pc.len -= meta.skip;
	if (meta.nbufs > 1u || (meta.nbufs == 0u && (done->flags & VNETRX_DONE_MORE) != 0u))
		return first_of_many(m, &pc, &meta, done);
	if (VNRX_UNLIKELY(partial_wrong(&meta, pc.len)))
		return drop_first(m, slot, done, 1, &m->stats.drop_meta);
	pkt = single(m, &pc, &meta);
	if (VNRX_UNLIKELY(pkt == NULL))
		return drop_first(m, slot, done, 1, &m->stats.drop_no_pkt);
	return pkt;
}

/* The first buffer of a packet: gives out the packet when it is the only one. */
static VNRX_INLINE struct vnetrx_pkt *first(struct vnetrx_merge *m, struct vnrx_slot *slot,
                                            const struct vnetrx_done *done)
{
	struct vnetrx_pkt *pkt;
	struct vnrx_piece pc;

	if (!vnrx_usual_fits(&m->usual, slot, done))
		return first_other(m, slot, done);
	pc.slot = slot;
	pc.data = slot->addr + done->off + m->usual.skip;
	pc.len = done->len - m->usual.skip;
	pc.id = done->id;
	pkt = single(m, &pc, NULL);
	if (VNRX_UNLIKELY(pkt == NULL))
		return drop_first(m, slot, done, 1, &m->stats.drop_no_pkt);
	return pkt;
}

/* Takes the packet under assembly away. */
static void assembly_free(struct vnetrx_merge *m, uint64_t *why)
{
	m->stats.drained += m->head->nbufs;
	(*why)++;
	vnetrx_pkt_free(&m->head, 1);
	m->head = NULL;
	m->tail = NULL;
}

/* Counts one buffer of the packet; true = it was the last. */
/*@ requires \valid(m) && \valid_read(done) && \separated(m, done);
    assigns m->left;
    ensures m->left == (\old(m->left) != 0 ? \old(m->left) - 1 : 0) && (\result != 0 ==> m->left == 0); */
static VNRX_INLINE bool count_down(struct vnetrx_merge *m, const struct vnetrx_done *done)
{
	if (m->left == 0u)
		return (done->flags & VNETRX_DONE_MORE) == 0u;
	m->left--;
	return m->left == 0u;
}

/* One more buffer of a dropped packet. */
static VNRX_COLD struct vnetrx_pkt *drain(struct vnetrx_merge *m, struct vnrx_slot *slot,
                                          const struct vnetrx_done *done)
{
	vnrx_slot_put(m->pool, slot, done->id);
	m->stats.drained++;
	m->state = count_down(m, done) ? VNRX_MERGE_IDLE : VNRX_MERGE_DRAIN;
	return NULL;
}

/* Drops the packet under assembly at one of its further buffers. */
static VNRX_COLD struct vnetrx_pkt *drop_further(struct vnetrx_merge *m, struct vnrx_slot *slot,
                                                 const struct vnetrx_done *done, uint64_t *why)
{
	assembly_free(m, why);
	return drain(m, slot, done);
}

/* What is wrong with a further buffer; NULL = nothing. */
/*@ requires \valid(m) && \valid_read(m->head) && \valid_read(slot) && \valid_read(done);
    requires slot->len <= 0x7fffffff && m->head->len <= 0x7fffffff;
    assigns \nothing;
    ensures \result == \null || \valid(\result);
    ensures \result == \null ==>
            0 < done->len && done->off + done->len <= slot->len && m->head->nbufs < m->nbufs_max &&
            m->head->len + done->len <= m->frame_len_max; */
static uint64_t *further_wrong(struct vnetrx_merge *m, const struct vnrx_slot *slot, const struct vnetrx_done *done)
{
	if (done->len == 0u)
		return &m->stats.drop_error;
	if (!piece_in_buf(slot, done))
		return &m->stats.drop_long;
	if (m->head->len + done->len > m->frame_len_max)
		return &m->stats.drop_frame_long;
	if (m->head->nbufs >= m->nbufs_max)
		return &m->stats.drop_nbufs;
	return NULL;
}

/* Adds a buffer's bytes to the packet: to its last fragment when they go on there, else as a further one. */
static bool append(struct vnetrx_merge *m, const struct vnrx_piece *pc)
{
	struct vnetrx_pool *pool = m->pool;
	struct vnetrx_pkt  *head = m->head, *pkt;

	if (m->no_coalesce == 0u && vnrx_frag_adjacent(m->tail, pc->data, pc->slot->run)) {
		m->tail->frag_len += pc->len;
		vnrx_slot_claim(pool, pc->slot, pc->id);
		m->stats.joined_bufs++;
	} else {
		pkt = vnrx_pkt_get(pool);
		if (pkt == NULL)
			return false;
		vnrx_piece_claim(pool, pc);
		vnrx_link_fill(pkt, pc);
		m->tail->chain = pkt;
		m->tail = pkt;
		head->nfrags++;
		head->truesize += pool->pkt_cost;
	}
	head->len += pc->len;
	head->truesize += pc->slot->truesize;
	head->nbufs++;
	return true;
}

/* A further buffer: gives out the packet when it was the last. */
static struct vnetrx_pkt *further(struct vnetrx_merge *m, struct vnrx_slot *slot, const struct vnetrx_done *done)
{
	struct vnetrx_pkt *head = m->head;
	struct vnrx_piece       pc;
	uint64_t          *why;

	if (m->state == VNRX_MERGE_DRAIN)
		return drain(m, slot, done);
	why = further_wrong(m, slot, done);
	if (why != NULL)
		return drop_further(m, slot, done, why);
	pc = piece_open(m, slot, done);
	if (!append(m, &pc))
		return drop_further(m, slot, done, &m->stats.drop_no_pkt);
	if (!count_down(m, done)) {
		m->stats.not_full += done->off + done->len < slot->len ? 1u : 0u;
		return NULL;
	}
	m->state = VNRX_MERGE_IDLE;
	if ((head->flags & VNETRX_PKT_PARTIAL) != 0u && !csum_fits(head->csum_start, head->csum_offset, head->len)) {
		assembly_free(m, &m->stats.drop_meta);
		return NULL;
	}
	m->stats.bufs += head->nbufs - 1u;
	m->stats.frags += head->nfrags - 1u;
	return head;
}

unsigned vnetrx_merge_add(struct vnetrx_merge *merge, const struct vnetrx_done *done, unsigned n,
                          struct vnetrx_pkt **out)
{
	struct vnetrx_pool *pool = merge->pool;
	uint64_t            bytes = 0;
	uint32_t            look_at = merge->look_at;
	unsigned            i, count = 0;

	for (i = 0; i < n && i < AHEAD; i++)
		vnrx_look_ahead(pool, &done[i], look_at);
	for (i = 0; i < n; i++) {
		struct vnrx_slot  *slot = vnrx_slot_lent(pool, done[i].id);
		struct vnetrx_pkt *pkt;

		if (i + AHEAD < n)
			vnrx_look_ahead(pool, &done[i + AHEAD], look_at);
		vnrx_look_ahead_pkt(pool, AHEAD);
		if (VNRX_UNLIKELY(slot == NULL)) {
			merge->stats.drop_bad_id++;
			continue;
		}
		pkt = merge->state == VNRX_MERGE_IDLE ? first(merge, slot, &done[i]) : further(merge, slot, &done[i]);
		if (pkt == NULL)
			continue;
		out[count++] = pkt;
		bytes += pkt->len;
	}
	merge->stats.pkts += count;
	merge->stats.bytes += bytes;
	merge->stats.bufs += count; /* further ones are counted where they come */
	merge->stats.frags += count;
	return count;
}

void vnetrx_merge_end(struct vnetrx_merge *merge)
{
	if (merge->state == VNRX_MERGE_JOIN)
		assembly_free(merge, &merge->stats.drop_missing);
	merge->state = VNRX_MERGE_IDLE;
}
