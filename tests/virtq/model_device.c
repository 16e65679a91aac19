/* SPDX-License-Identifier: BSD-3-Clause */
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- chains ---- */

/* The device sees what was added, next in turn. */
static void check_taken(struct vqm *m, struct vqm_held *h)
{
	const struct vqm_chain *c;

	h->at = m->added[m->added_taken++ & m->mask];
	c = &m->chains[h->at];
	assert_int_equal(h->chain.out, c->out);
	assert_int_equal(h->chain.in, c->in);
	assert_int_equal(h->chain.slots, c->slots);
	for (unsigned i = 0; i < (unsigned)c->out + c->in; i++) {
		assert_ptr_equal(h->segs[i].addr, m->bufs + (c->segs[i].dma - VQM_BUF_DMA));
		assert_int_equal(h->segs[i].len, c->segs[i].len);
	}
	m->take_pos += vqm_units(m, c);
}

static void take_hostile(struct vqm *m, struct vqm_held *h)
{
	int got = m->held_num < m->cfg.size ? faulty_ring_take(m->faulty, &h->chain, h->segs, VQM_SEGS_MAX) : 0;

	m->lost = got < 0; /* it wrote over what it had to read */
	if (got > 0)
		m->held_num++;
}

void vqm_take(struct vqm *m)
{
	struct vqm_held *h = &m->held[m->held_num];
	bool waits = m->added_taken != m->added_published;

	if (m->hostile) {
		take_hostile(m, h);
		return;
	}
	if (m->dev_asleep)
		return;
	assert_true(softring_pending(m->soft) == waits);
	assert_int_equal(softring_take(m->soft, &h->chain, h->segs, VQM_SEGS_MAX), waits ? 1 : 0);
	if (!waits)
		return;
	check_taken(m, h);
	m->held_num++;
	if (m->take_pos == m->add_pos)
		assert_int_equal(softring_next(m->soft), vnetrx_virtq_notification_data(m->vq, 0) >> 16);
}

/* ---- completions ---- */

static void completed(struct vqm *m, uint32_t at, uint32_t len)
{
	struct vqm_done *done = &m->used[m->used_put++ & m->mask];

	done->at = at;
	done->len = len;
	m->put_pos += vqm_units(m, &m->chains[at]);
}

static void drop_held(struct vqm *m, uint32_t first, uint32_t n)
{
	m->held_num -= n;
	memmove(&m->held[first], &m->held[first + n], (m->held_num - first) * sizeof(*m->held));
}

/* The first n with one entry; what it does not name counts as written whole. */
static void put_batch(struct vqm *m, uint32_t n, uint32_t len)
{
	struct softring_chain *chains = calloc(n, sizeof(*chains));

	assert_non_null(chains);
	for (uint32_t i = 0; i < n; i++) {
		chains[i] = m->held[i].chain;
		completed(m, m->held[i].at, i + 1u < n ? m->chains[m->held[i].at].in_len : len);
	}
	softring_put_batch(m->soft, chains, n, len);
	free(chains);
	drop_held(m, 0, n);
}

void vqm_put(struct vqm *m)
{
	bool in_order = vqm_is(m, VNETRX_VIRTQ_IN_ORDER);
	uint32_t i, n = 1, len;

	if (m->held_num == 0u)
		return;
	i = in_order ? 0u : rng_below(&m->rng, m->held_num);
	if (in_order && rng_once_in(&m->rng, 2))
		n = 1u + rng_below(&m->rng, m->held_num);
	if (m->hostile) {
		faulty_ring_put(m->faulty, &m->held[i].chain, m->held[i].segs, rng_below(&m->rng, 64));
		drop_held(m, i, 1);
		return;
	}
	len = rng_below(&m->rng, m->chains[m->held[i + n - 1u].at].in_len + 1u);
	if (n > 1u) {
		put_batch(m, n, len);
		return;
	}
	softring_put(m->soft, &m->held[i].chain, len);
	completed(m, m->held[i].at, len);
	drop_held(m, i, 1);
}

/* ---- interrupts ---- */

/* How much must be used before a delayed interrupt comes. */
static uint64_t delay_of(const struct vqm *m)
{
	uint32_t den = m->cfg.delay_den != 0u ? m->cfg.delay_den : 4u;
	uint32_t num = m->cfg.delay_den != 0u ? m->cfg.delay_num : 3u;

	return vqm_is(m, VNETRX_VIRTQ_EVENT_IDX) ? m->arm_out * num / den : 0u;
}

/* No interrupt, though the driver sleeps until one comes. */
static void check_silence(const struct vqm *m)
{
	uint64_t used = m->used_pos - m->arm_pos;

	if (!m->drv_asleep)
		return;
	if (m->arm == VQM_ENABLED)
		assert_int_equal(used, 0);
	if (m->arm == VQM_DELAYED && used > 0u) {
		assert_true(used <= delay_of(m));
		assert_true(used < m->arm_out);
	}
}

/* An interrupt: was it asked for? After disabling, an old event index may still be hit in a split ring. */
static void check_noise(const struct vqm *m)
{
	bool split_event = vqm_is(m, VNETRX_VIRTQ_EVENT_IDX) && !vqm_is(m, VNETRX_VIRTQ_PACKED);

	if (m->arm == VQM_DISABLED)
		assert_true(split_event);
	if (m->arm == VQM_DELAYED && m->drv_asleep)
		assert_true(m->used_pos - m->arm_pos >= delay_of(m));
}

void vqm_interrupt(struct vqm *m)
{
	bool fresh = m->used_published != m->used_put;
	bool got;

	if (m->hostile) {
		(void)softring_interrupt(m->soft);
		return;
	}
	if (rng_once_in(&m->rng, 4))
		softring_publish(m->soft);
	got = softring_interrupt(m->soft);
	m->used_published = m->used_put;
	m->used_pos = m->put_pos;
	if (!fresh) {
		assert_false(got);
		return;
	}
	if (got) {
		check_noise(m);
		m->drv_asleep = false;
	} else {
		check_silence(m);
	}
}

/* ---- doorbells ---- */

void vqm_sleep(struct vqm *m, uint32_t want)
{
	bool there;

	if (!vqm_is(m, VNETRX_VIRTQ_EVENT_IDX))
		want = 1;
	there = softring_sleep(m->soft, want);
	if (m->hostile)
		return;
	m->dev_wants = true;
	m->dev_event = vqm_is(m, VNETRX_VIRTQ_EVENT_IDX);
	m->dev_for = want;
	m->event_pos = m->take_pos + want - 1u;
	assert_true(there == (m->avail_pos - m->take_pos >= want));
	m->dev_asleep = !there;
}

void vqm_wake(struct vqm *m)
{
	softring_wake(m->soft);
	m->dev_asleep = false;
	if (!vqm_is(m, VNETRX_VIRTQ_EVENT_IDX) || vqm_is(m, VNETRX_VIRTQ_PACKED))
		m->dev_wants = false;
}
