/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200112L
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- the beginning ---- */

void vqm_configure(struct rng *rng, struct vnetrx_virtq_config *cfg)
{
	static const uint32_t flags[] = { VNETRX_VIRTQ_PACKED,   VNETRX_VIRTQ_EVENT_IDX,      VNETRX_VIRTQ_INDIRECT,
	                                  VNETRX_VIRTQ_IN_ORDER, VNETRX_VIRTQ_ORDER_PLATFORM, VNETRX_VIRTQ_BIG_ENDIAN };

	memset(cfg, 0, sizeof(*cfg));
	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (rng_once_in(rng, i < 4u ? 2 : 8))
			cfg->flags |= flags[i];
	if ((cfg->flags & VNETRX_VIRTQ_PACKED) != 0u)
		cfg->size = 1u + rng_below(rng, rng_once_in(rng, 2) ? 300 : 9);
	else
		cfg->size = 1u << rng_below(rng, rng_once_in(rng, 2) ? 10 : 4);
	if ((cfg->flags & VNETRX_VIRTQ_PACKED) != 0u)
		cfg->flags &= ~VNETRX_VIRTQ_BIG_ENDIAN; /* there is no such ring */
	cfg->segs_max = 1u + rng_below(rng, cfg->size < VQM_SEGS_MAX ? cfg->size : VQM_SEGS_MAX);
	cfg->ring_align = rng_once_in(rng, 2) ? 0u : 16u << rng_below(rng, 9);
	cfg->delay_den = rng_once_in(rng, 2) ? 0u : 1u + rng_below(rng, 256);
	if (cfg->delay_den != 0u)
		cfg->delay_num = rng_once_in(rng, 4) ? cfg->delay_den : 1u + rng_below(rng, cfg->delay_den);
	cfg->ring_dma = VQM_RING_DMA;
}

/* What the device may reach: the ring and the buffers. */
static void *map(void *arg, uint64_t dma, uint32_t len)
{
	struct vqm *m = arg;

	if (dma >= VQM_RING_DMA && dma - VQM_RING_DMA < m->ring_bytes)
		return len <= m->ring_bytes - (dma - VQM_RING_DMA) ? m->ring + (dma - VQM_RING_DMA) : NULL;
	if (dma >= VQM_BUF_DMA && dma - VQM_BUF_DMA < VQM_BUF_SPAN)
		return len <= VQM_BUF_SPAN - (dma - VQM_BUF_DMA) ? m->bufs + (dma - VQM_BUF_DMA) : NULL;
	return NULL;
}

static void *some(size_t num, size_t bytes)
{
	void *p = calloc(num, bytes);

	assert_non_null(p);
	return p;
}

static void open_driver(struct vqm *m)
{
	const char *why = NULL;
	size_t bytes = vnetrx_virtq_footprint(&m->cfg, &why);
	uint32_t align = m->cfg.ring_align != 0u ? m->cfg.ring_align : 64u;
	void *ring = NULL;

	if (why != NULL)
		fail_msg("%s", why);
	assert_int_not_equal(bytes, 0);
	m->ring_bytes = vnetrx_virtq_ring_bytes(&m->cfg);
	assert_int_equal(posix_memalign(&m->mem, 64, bytes), 0);
	assert_int_equal(posix_memalign(&ring, align, m->ring_bytes), 0);
	m->ring = m->cfg.ring = ring;
	memset(ring, 0xa5, m->ring_bytes);
	assert_int_equal(vnetrx_virtq_init(&m->vq, &m->cfg, m->mem, bytes), VNETRX_OK);
}

static void open_device(struct vqm *m)
{
	struct softring_config cfg = { .size = m->cfg.size, .map = map, .map_arg = m };
	struct vnetrx_virtq_areas areas;

	cfg.flags = m->cfg.flags & ~VNETRX_VIRTQ_ORDER_PLATFORM; /* the bits are the same */
	vnetrx_virtq_read_areas(m->vq, &areas);
	cfg.desc = areas.desc;
	cfg.driver = areas.driver;
	cfg.device = areas.device;
	m->soft = softring_new(&cfg);
	assert_non_null(m->soft);
	m->faulty = faulty_ring_new(m->soft, m->rng.state);
	assert_non_null(m->faulty);
}

/* Both sides are new, or reset. */
static void begin(struct vqm *m)
{
	m->held_num = 0;
	m->added_taken = m->added_published = m->added_put = 0;
	m->used_reaped = m->used_published = m->used_put = 0;
	m->add_pos = m->avail_pos = m->kick_pos = m->look_pos = m->take_pos = m->event_pos = 0;
	m->put_pos = m->used_pos = m->reap_pos = 0;
	m->dev_asleep = m->drv_asleep = m->hostile = m->lost = false;
	m->dev_wants = true; /* ring memory is zero at first */
	m->dev_event = vqm_is(m, VNETRX_VIRTQ_EVENT_IDX) && !vqm_is(m, VNETRX_VIRTQ_PACKED);
	m->dev_for = 1;
	m->arm = VQM_DISABLED;
}

void vqm_open(struct vqm *m, const struct vnetrx_virtq_config *cfg, uint64_t seed)
{
	memset(m, 0, sizeof(*m));
	m->rng.state = seed;
	m->cfg = *cfg;
	m->salt = rng_below(&m->rng, UINT32_MAX);
	m->mask = 1;
	while (m->mask < cfg->size)
		m->mask *= 2u;
	m->mask--;
	m->chains = some(cfg->size, sizeof(*m->chains));
	m->idle = some(cfg->size, sizeof(*m->idle));
	m->dones = some(cfg->size + 1u, sizeof(*m->dones));
	m->held = some(cfg->size, sizeof(*m->held));
	m->added = some(m->mask + 1u, sizeof(*m->added));
	m->used = some(m->mask + 1u, sizeof(*m->used));
	m->bufs = some(1, VQM_BUF_SPAN);
	for (uint32_t i = 0; i < cfg->size; i++)
		m->idle[i] = i;
	open_driver(m);
	open_device(m);
	begin(m);
	vqm_check(m);
}

void vqm_close(struct vqm *m)
{
	faulty_ring_free(m->faulty);
	softring_free(m->soft);
	free(m->mem);
	free(m->ring);
	free(m->chains);
	free(m->idle);
	free(m->dones);
	free(m->held);
	free(m->added);
	free(m->used);
	free(m->bufs);
}

/* ---- what is lent ---- */

struct vqm_chain *vqm_unlend(struct vqm *m, uint32_t id)
{
	uint32_t at = id ^ m->salt;
	struct vqm_chain *c;

	assert_true(at < m->cfg.size);
	c = &m->chains[at];
	assert_true(c->lent);
	c->lent = false;
	m->lent--;
	m->slots -= c->slots;
	m->idle[m->cfg.size - 1u - m->lent] = at;
	return c;
}

void vqm_check(const struct vqm *m)
{
	assert_int_equal(vnetrx_virtq_outstanding(m->vq), m->lent);
	assert_int_equal(vnetrx_virtq_free_slots(m->vq), m->cfg.size - m->slots);
	if (!m->hostile) {
		assert_int_equal(vnetrx_virtq_fault(m->vq), VNETRX_VIRTQ_OK);
		assert_true(vnetrx_virtq_pending(m->vq) == (m->used_published != m->used_reaped));
	}
}

/* A broken ring does nothing more. */
static void check_broken(struct vqm *m)
{
	struct vnetrx_virtq_seg seg = { .dma = VQM_BUF_DMA, .len = 1 };
	struct vnetrx_buf buf = { .dma = VQM_BUF_DMA, .len = 1 };

	assert_int_equal(vnetrx_virtq_add(m->vq, &seg, 0, 1, 0), VNETRX_ERR_BAD);
	assert_int_equal(vnetrx_virtq_add_bufs(m->vq, &buf, 1), 0);
	assert_int_equal(vnetrx_virtq_reap(m->vq, m->dones, 1), VNETRX_ERR_BAD);
	vqm_check(m);
}

void vqm_recover(struct vqm *m)
{
	uint32_t id;

	if (vnetrx_virtq_fault(m->vq) != VNETRX_VIRTQ_OK)
		check_broken(m);
	while (vnetrx_virtq_detach(m->vq, &id)) {
		(void)vqm_unlend(m, id);
		assert_int_equal(vnetrx_virtq_outstanding(m->vq), m->lent);
	}
	assert_int_equal(m->lent, 0);
	vnetrx_virtq_reset(m->vq);
	softring_reset(m->soft);
	faulty_ring_reset(m->faulty);
	begin(m);
	vqm_check(m);
}

/* ---- both sides ---- */

static void step_driver(struct vqm *m)
{
	unsigned segs = 1u + rng_below(&m->rng, rng_once_in(&m->rng, 2) ? 1 : m->cfg.segs_max);
	unsigned in = rng_below(&m->rng, segs + 1u);

	switch (rng_below(&m->rng, 24)) {
	case 0: case 1: case 2: case 3: case 4: case 5: case 6:
		(void)vqm_add(m, segs - in, in);
		break;
	case 7:
		vqm_add_bufs(m, 1u + rng_below(&m->rng, m->cfg.size));
		break;
	case 8:
		vqm_add_bad(m);
		break;
	case 9:
		vqm_publish(m);
		break;
	case 10: case 11: case 12: case 13:
		vqm_kick(m);
		break;
	case 14:
		vqm_disable(m);
		break;
	case 15:
		vqm_enable(m);
		break;
	case 16:
		vqm_enable_in_two(m);
		break;
	case 17:
		vqm_enable_delayed(m);
		break;
	default:
		vqm_reap(m, 1u + rng_below(&m->rng, rng_once_in(&m->rng, 2) ? m->cfg.size + 1u : 3));
		break;
	}
}

static void step_device(struct vqm *m)
{
	switch (rng_below(&m->rng, 20)) {
	case 0: case 1: case 2: case 3: case 4: case 5: case 6:
		vqm_take(m);
		break;
	case 7: case 8: case 9: case 10: case 11: case 12: case 13:
		vqm_put(m);
		break;
	case 14:
		vqm_wake(m);
		break;
	case 15:
		vqm_sleep(m, 1);
		break;
	case 16:
		vqm_sleep(m, 1u + rng_below(&m->rng, m->cfg.size));
		break;
	default:
		vqm_interrupt(m);
		break;
	}
}

void vqm_step(struct vqm *m)
{
	m->ops++;
	if (rng_once_in(&m->rng, 2))
		step_driver(m);
	else if (!m->lost)
		step_device(m);
	if (rng_once_in(&m->rng, 64)) /* a timer of its own */
		m->drv_asleep = m->dev_asleep = false;
	vqm_check(m);
}

void vqm_forward(struct vqm *m, uint64_t pos)
{
	while (m->reap_pos < pos) {
		m->drv_asleep = m->dev_asleep = false;
		while (vqm_add(m, 0, 1))
			;
		vqm_kick(m);
		m->dev_asleep = false;
		while (m->added_taken != m->added_published)
			vqm_take(m);
		while (m->held_num > 0)
			vqm_put(m);
		vqm_interrupt(m);
		m->drv_asleep = false;
		vqm_reap(m, m->cfg.size);
		vqm_check(m);
	}
}

void vqm_single(struct vqm *m, unsigned segs)
{
	vqm_enable(m);
	vqm_sleep(m, 1);
	assert_true(m->drv_asleep && m->dev_asleep);
	assert_true(vqm_add(m, segs / 2u, segs - segs / 2u));
	vqm_kick(m);
	assert_false(m->dev_asleep);
	vqm_take(m);
	vqm_put(m);
	vqm_interrupt(m);
	assert_false(m->drv_asleep);
	vqm_reap(m, 1);
	assert_int_equal(m->lent, 0);
	vqm_check(m);
}
