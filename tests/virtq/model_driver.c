/* SPDX-License-Identifier: BSD-3-Clause */
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define FORCED 16384u /* a doorbell may be rung without need when so much was published since the last */

/* ---- adding ---- */

static uint32_t slots_of(const struct vqm *m, unsigned segs)
{
	return segs > 1u && vqm_is(m, VNETRX_VIRTQ_INDIRECT) ? 1u : segs;
}

static void lend(struct vqm *m, uint32_t at)
{
	struct vqm_chain *c = &m->chains[at];

	c->lent = true;
	m->lent++;
	m->slots += c->slots;
	m->added[m->added_put++ & m->mask] = at;
	m->add_pos += vqm_units(m, c);
}

/* Place of the n-th chain that is free next. */
static uint32_t idle_at(const struct vqm *m, uint32_t n)
{
	return m->idle[m->cfg.size - 1u - m->lent - n];
}

static void fill_chain(struct vqm *m, struct vqm_chain *c, unsigned out, unsigned in)
{
	memset(c, 0, sizeof(*c));
	c->out = (uint16_t)out;
	c->in = (uint16_t)in;
	c->slots = slots_of(m, out + in);
	for (unsigned i = 0; i < out + in; i++) {
		c->segs[i].len = 1u + rng_below(&m->rng, rng_once_in(&m->rng, 16) ? VQM_BUF_SPAN : 4096);
		c->segs[i].dma = VQM_BUF_DMA + rng_below(&m->rng, VQM_BUF_SPAN + 1u - c->segs[i].len);
		c->in_len += i >= out ? c->segs[i].len : 0u;
	}
}

/* Adds a chain that must be refused with that error, and compares the ring. */
static void add_refused(struct vqm *m, const struct vqm_chain *c, unsigned out, unsigned in, int err)
{
	uint8_t *before = malloc(m->ring_bytes);

	assert_non_null(before);
	memcpy(before, m->ring, m->ring_bytes);
	assert_int_equal(vnetrx_virtq_add(m->vq, c->segs, out, in, 7), err);
	assert_memory_equal(before, m->ring, m->ring_bytes);
	free(before);
}

bool vqm_add(struct vqm *m, unsigned out, unsigned in)
{
	struct vqm_chain spare, *c;
	bool room = m->cfg.size - m->slots >= slots_of(m, out + in);
	bool broken = vnetrx_virtq_fault(m->vq) != VNETRX_VIRTQ_OK;
	uint32_t at;

	assert_int_equal(vnetrx_virtq_slots_needed(m->vq, out + in), slots_of(m, out + in));
	if (!room || broken) {
		fill_chain(m, &spare, out, in);
		add_refused(m, &spare, out, in, broken ? VNETRX_ERR_BAD : VNETRX_ERR_BUSY);
		return false;
	}
	at = idle_at(m, 0);
	c = &m->chains[at];
	fill_chain(m, c, out, in);
	c->id = at ^ m->salt;
	assert_int_equal(vnetrx_virtq_add(m->vq, c->segs, out, in, c->id), VNETRX_OK);
	lend(m, at);
	return true;
}

void vqm_add_bad(struct vqm *m)
{
	struct vqm_chain spare;

	if (vnetrx_virtq_fault(m->vq) != VNETRX_VIRTQ_OK)
		return;
	fill_chain(m, &spare, 0, VQM_SEGS_MAX);
	add_refused(m, &spare, 0, 0, VNETRX_ERR_INVALID);
	add_refused(m, &spare, m->cfg.segs_max, 1, VNETRX_ERR_INVALID);
}

void vqm_add_bufs(struct vqm *m, unsigned n)
{
	struct vnetrx_buf *bufs = calloc(n, sizeof(*bufs));
	unsigned room = m->cfg.size - m->slots < n ? m->cfg.size - m->slots : n;
	unsigned got;

	assert_non_null(bufs);
	if (vnetrx_virtq_fault(m->vq) != VNETRX_VIRTQ_OK)
		room = 0;
	for (unsigned i = 0; i < n; i++) {
		struct vqm_chain *c = i < room ? &m->chains[idle_at(m, i)] : NULL;

		if (c != NULL) {
			fill_chain(m, c, 0, 1);
			c->id = idle_at(m, i) ^ m->salt;
		}
		bufs[i].id = c != NULL ? c->id : 0u;
		bufs[i].dma = c != NULL ? c->segs[0].dma : 1u;
		bufs[i].len = c != NULL ? c->segs[0].len : 1u;
	}
	got = vnetrx_virtq_add_bufs(m->vq, bufs, n);
	assert_int_equal(got, room);
	for (unsigned i = 0; i < room; i++)
		lend(m, bufs[i].id ^ m->salt);
	free(bufs);
}

/* ---- publishing ---- */

static void published(struct vqm *m)
{
	m->added_published = m->added_put;
	m->avail_pos = m->add_pos;
}

/* The upper half of the doorbell's value, from the position alone. */
static void check_notification_data(struct vqm *m)
{
	uint32_t next = (uint32_t)(m->avail_pos & 0xffffu);

	if (vqm_is(m, VNETRX_VIRTQ_PACKED)) {
		next = (uint32_t)(m->avail_pos % m->cfg.size);
		next |= m->avail_pos / m->cfg.size % 2u == 0u ? 0x8000u : 0u;
	}
	assert_int_equal(vnetrx_virtq_notification_data(m->vq, 0x1234), next << 16 | 0x1234u);
}

void vqm_publish(struct vqm *m)
{
	vnetrx_virtq_publish(m->vq);
	published(m);
	if (vnetrx_virtq_fault(m->vq) == VNETRX_VIRTQ_OK)
		check_notification_data(m);
}

/* Whether the device's wish lies among what was published since the last doorbell. */
static bool wished(const struct vqm *m)
{
	uint64_t lap = vqm_is(m, VNETRX_VIRTQ_PACKED) ? 2u * m->cfg.size : 65536u;

	if (!m->dev_wants || !m->dev_event)
		return m->dev_wants && m->avail_pos != m->kick_pos;
	return (m->event_pos + lap - m->kick_pos % lap) % lap < m->avail_pos - m->kick_pos;
}

void vqm_kick(struct vqm *m)
{
	bool got = vnetrx_virtq_kick_needed(m->vq);
	uint64_t since;

	published(m);
	since = m->avail_pos - m->kick_pos;
	if (!m->hostile) {
		check_notification_data(m);
		assert_false(got && since == 0u);
		assert_false(got && !wished(m) && since < FORCED && since < m->cfg.size);
		/* A device that sleeps for something that is there will not look again. */
		assert_false(!got && m->dev_asleep && m->avail_pos - m->take_pos >= m->dev_for);
		/* Of more than the index can count, an event index says nothing. */
		assert_false(!got && m->avail_pos - m->look_pos > UINT16_MAX);
	}
	m->look_pos = m->avail_pos;
	if (got) {
		m->kick_pos = m->avail_pos;
		m->dev_asleep = false;
	}
}

/* ---- reaping ---- */

static void check_done(struct vqm *m, const struct vnetrx_done *done)
{
	struct vqm_chain *c = vqm_unlend(m, done->id);
	const struct vqm_done *want;

	assert_int_equal(done->off, 0);
	assert_int_equal(done->flags, 0);
	assert_int_equal(done->rsvd, 0);
	m->reap_pos += vqm_units(m, c);
	if (m->hostile)
		return;
	want = &m->used[m->used_reaped++ & m->mask];
	assert_ptr_equal(c, &m->chains[want->at]);
	assert_int_equal(done->len, want->len);
}

void vqm_reap(struct vqm *m, unsigned max)
{
	uint32_t waiting = m->used_published - m->used_reaped;
	int got;

	if (m->drv_asleep && !m->hostile)
		return;
	got = vnetrx_virtq_reap(m->vq, m->dones, max);
	published(m); /* so that nothing comes back that was not offered */
	if (!m->hostile)
		assert_int_equal(got, waiting < max ? waiting : max);
	if (got < 0) {
		assert_int_equal(got, VNETRX_ERR_BAD);
		assert_int_not_equal(vnetrx_virtq_fault(m->vq), VNETRX_VIRTQ_OK);
	}
	assert_true(got <= (int)max);
	for (int i = 0; i < got; i++)
		check_done(m, &m->dones[i]);
}

/* ---- callbacks ---- */

static void ask(struct vqm *m, enum vqm_arm arm)
{
	m->arm = arm;
	m->arm_pos = m->reap_pos;
	m->arm_out = m->avail_pos - m->reap_pos;
}

void vqm_enable(struct vqm *m)
{
	bool more;

	ask(m, VQM_ENABLED);
	more = vnetrx_virtq_enable(m->vq);
	m->drv_asleep = !more;
	if (!m->hostile)
		assert_true(more == (m->used_pos != m->reap_pos));
}

void vqm_enable_in_two(struct vqm *m)
{
	uint32_t point;
	bool more;

	ask(m, VQM_ENABLED);
	point = vnetrx_virtq_enable_prepare(m->vq);
	m->drv_asleep = false; /* it is the rest that decides */
	while (!m->lost && rng_once_in(&m->rng, 2)) {
		vqm_put(m);
		vqm_interrupt(m);
	}
	more = vnetrx_virtq_poll(m->vq, point);
	m->drv_asleep = !more;
	if (!m->hostile)
		assert_true(more == (m->used_pos != m->reap_pos));
}

void vqm_enable_delayed(struct vqm *m)
{
	bool more;

	published(m); /* a share of what the device sees */
	ask(m, VQM_DELAYED);
	more = vnetrx_virtq_enable_delayed(m->vq);
	m->drv_asleep = !more;
	if (m->hostile)
		return;
	if (more)
		assert_true(m->used_pos != m->reap_pos);
	else
		assert_true(m->arm_out == 0u || m->used_pos - m->reap_pos < m->arm_out);
}

void vqm_disable(struct vqm *m)
{
	vnetrx_virtq_disable(m->vq);
	m->arm = VQM_DISABLED;
	m->drv_asleep = false;
}
