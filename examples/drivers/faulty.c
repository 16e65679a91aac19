/* SPDX-License-Identifier: BSD-3-Clause */
/* Each lent buffer has a slot from post until its completion is handed on under its own id; a slot whose completion was
 * swallowed stays taken, so that its buffer is known to be hidden. The wrapped device sees slot numbers as ids. */
#include "faulty.h"

#include <stdlib.h>
#include <string.h>

#include "rng.h"

#define STALE_MAX 64u
#define LOSE_MAX  8u
#define PPM       1000000u

struct faulty {
	struct vnetrx_buf *slots;
	uint32_t *free_slots;
	uint32_t  free_num;
	uint32_t  hidden;
	uint32_t  id_top;             /* largest id ever lent                     */
	uint32_t  stale[STALE_MAX];   /* ids handed back lately                   */
	uint32_t  stale_num;
	uint32_t  lose;               /* completions still to be swallowed        */
	bool      quiet;
	uint64_t  rng;
	uint32_t  ppm[FAULTY_KINDS_NUM];
	uint64_t  count[FAULTY_KINDS_NUM];
	uint64_t  calls[FAULTY_OPS_NUM];
	uint64_t  fail_at[FAULTY_OPS_NUM];
	bool      fail_on[FAULTY_OPS_NUM];
	struct faulty_config cfg;
};

/* Whether a fault happens now. */
static bool hit(struct faulty *f, enum faulty_kind kind)
{
	if (f->quiet || f->ppm[kind] == 0u || rng_below(&f->rng, PPM) >= f->ppm[kind])
		return false;
	f->count[kind]++;
	return true;
}

/* Counts a call of an op; whether it is one that fails. */
static bool op_fails(struct faulty *f, enum faulty_op op)
{
	uint64_t n = ++f->calls[op];

	if (f->quiet || f->fail_at[op] == 0u)
		return false;
	return n == f->fail_at[op] || (f->fail_on[op] && n > f->fail_at[op]);
}

struct faulty *faulty_new(const struct faulty_config *cfg)
{
	struct faulty *f;

	if (cfg->ring_size == 0u || cfg->ring_size > 32768u)
		return NULL;
	f = calloc(1u, sizeof(*f));
	if (f == NULL)
		return NULL;
	f->cfg = *cfg;
	f->rng = cfg->seed;
	f->slots = calloc(cfg->ring_size, sizeof(*f->slots));
	f->free_slots = calloc(cfg->ring_size, sizeof(*f->free_slots));
	if (f->slots == NULL || f->free_slots == NULL) {
		faulty_free(f);
		return NULL;
	}
	faulty_reset(f);
	return f;
}

void faulty_free(struct faulty *f)
{
	free(f->slots);
	free(f->free_slots);
	free(f);
}

void faulty_set(struct faulty *f, enum faulty_kind kind, uint32_t ppm)
{
	f->ppm[kind] = ppm;
}

void faulty_set_all(struct faulty *f, uint32_t ppm)
{
	unsigned kind;

	for (kind = 0u; kind < FAULTY_KINDS_NUM; kind++)
		if (kind != FAULTY_REAP_BROKEN)
			f->ppm[kind] = ppm;
}

void faulty_fail(struct faulty *f, enum faulty_op op, uint64_t n, bool on)
{
	f->fail_at[op] = n == 0u ? 0u : f->calls[op] + n;
	f->fail_on[op] = on;
}

void faulty_quiet(struct faulty *f, bool quiet)
{
	f->quiet = quiet;
	if (quiet)
		f->lose = 0u;
}

void faulty_reset(struct faulty *f)
{
	uint32_t i;

	for (i = 0u; i < f->cfg.ring_size; i++)
		f->free_slots[i] = f->cfg.ring_size - 1u - i;
	f->free_num = f->cfg.ring_size;
	memset(f->slots, 0, f->cfg.ring_size * sizeof(*f->slots));
	f->hidden = 0u;
	f->stale_num = 0u;
	f->lose = 0u;
}

uint32_t faulty_hidden(const struct faulty *f)
{
	return f->hidden;
}

uint64_t faulty_count(const struct faulty *f, enum faulty_kind kind)
{
	return f->count[kind];
}

const char *faulty_text(unsigned kind)
{
#define FAULTY_TEXT(name, text) text,
	static const char *const texts[] = { FAULTY_KINDS(FAULTY_TEXT) };

	return kind < FAULTY_KINDS_NUM ? texts[kind] : NULL;
}

static bool is_lent(const struct faulty *f, uint32_t id)
{
	uint32_t i;

	for (i = 0u; i < f->cfg.ring_size; i++)
		if (f->slots[i].addr != NULL && f->slots[i].id == id)
			return true;
	return false;
}

/* ---- below the library: post ---- */

static bool post_one(struct faulty *f, const struct vnetrx_buf *buf)
{
	uint32_t slot = f->free_slots[f->free_num - 1u];
	struct vnetrx_buf mine = *buf;

	mine.id = slot;
	if (f->cfg.ops->post(f->cfg.dev, &mine, 1u) != 1u)
		return false;
	f->free_num--;
	f->slots[slot] = *buf;
	if (buf->id > f->id_top)
		f->id_top = buf->id;
	return true;
}

static unsigned post(void *arg, const struct vnetrx_buf *bufs, unsigned n)
{
	struct faulty *f = arg;
	unsigned i;

	if (op_fails(f, FAULTY_OP_POST) || hit(f, FAULTY_POST_NONE))
		return 0u;
	if (n > 1u && hit(f, FAULTY_POST_SHORT))
		n = 1u + rng_below(&f->rng, n - 1u);
	for (i = 0u; i < n && f->free_num > 0u; i++)
		if (!post_one(f, &bufs[i]))
			break;
	return i;
}

/* ---- what is written in the buffers ---- */

static void spoil(struct faulty *f, uint8_t *p, uint32_t n)
{
	while (n-- > 0u)
		*p++ = (uint8_t)rng_next(&f->rng);
}

static void spoil_nbufs(struct faulty *f, uint8_t *hdr)
{
	uint32_t nbufs = hdr[10] + 256u * hdr[11];

	if (hit(f, FAULTY_NBUFS_ZERO))
		nbufs = 0u;
	if (hit(f, FAULTY_NBUFS_FEW))
		nbufs--;
	if (hit(f, FAULTY_NBUFS_MANY))
		nbufs += 1u + rng_below(&f->rng, 8u);
	if (hit(f, FAULTY_NBUFS_WILD))
		nbufs = rng_next(&f->rng);
	hdr[10] = (uint8_t)nbufs;
	hdr[11] = (uint8_t)(nbufs >> 8);
}

static void spoil_buffer(struct faulty *f, const struct vnetrx_buf *buf)
{
	uint8_t *bytes = buf->addr;
	uint32_t span = buf->len < 96u ? buf->len : 96u;
	uint32_t i;

	if (f->cfg.hdr_len >= 10u && f->cfg.hdr_len <= buf->len) {
		if (f->cfg.hdr_len >= 12u)
			spoil_nbufs(f, bytes);
		if (hit(f, FAULTY_GSO)) {
			spoil(f, bytes + 1, 1u);
			spoil(f, bytes + 4, 2u);
		}
		if (hit(f, FAULTY_CSUM)) {
			spoil(f, bytes, 1u);
			spoil(f, bytes + 6, 4u);
		}
		if (hit(f, FAULTY_HEADER))
			spoil(f, bytes, f->cfg.hdr_len);
	}
	if (hit(f, FAULTY_FRAME))
		for (i = 1u + rng_below(&f->rng, 4u); i > 0u; i--)
			spoil(f, bytes + rng_below(&f->rng, span), 1u);
}

/* ---- what is said about the buffers ---- */

static uint32_t wrong_id(struct faulty *f)
{
	uint32_t id = rng_below(&f->rng, 2u) == 0u ? f->id_top + 1u + rng_below(&f->rng, 4u) : rng_next(&f->rng);

	return is_lent(f, id) ? UINT32_MAX : id;
}

/* An id that came back earlier and was not lent since; if there is none, one that was never out. */
static uint32_t stale_id(struct faulty *f)
{
	uint32_t known = f->stale_num < STALE_MAX ? f->stale_num : STALE_MAX;
	uint32_t id = known == 0u ? UINT32_MAX : f->stale[rng_below(&f->rng, known)];

	return is_lent(f, id) ? UINT32_MAX : id;
}

static void spoil_len(struct faulty *f, struct vnetrx_done *done, uint32_t posted)
{
	if (hit(f, FAULTY_LEN_ZERO))
		done->len = 0u;
	if (hit(f, FAULTY_LEN_SHORT))
		done->len = 1u + rng_below(&f->rng, f->cfg.hdr_len + 14u);
	if (hit(f, FAULTY_LEN_LONG))
		done->len = posted + 1u + rng_below(&f->rng, 64u);
	if (hit(f, FAULTY_LEN_HUGE))
		done->len = UINT32_MAX - rng_below(&f->rng, 64u);
	if (hit(f, FAULTY_OFF_SMALL))
		done->off = (uint16_t)(1u + rng_below(&f->rng, 64u));
	if (hit(f, FAULTY_OFF_HUGE))
		done->off = (uint16_t)(UINT16_MAX - rng_below(&f->rng, 64u));
	if (hit(f, FAULTY_FLAGS))
		done->flags = (uint16_t)rng_next(&f->rng);
}

/* Gives the completion the library's id again and its slot back, unless the id is to be wrong. */
static void name_it(struct faulty *f, struct vnetrx_done *done, uint32_t slot)
{
	bool wrong = hit(f, FAULTY_ID_WRONG);
	bool stale = !wrong && hit(f, FAULTY_ID_STALE);

	if (wrong || stale) {
		done->id = wrong ? wrong_id(f) : stale_id(f);
		f->hidden++;
		return;
	}
	done->id = f->slots[slot].id;
	f->slots[slot].addr = NULL;
	f->free_slots[f->free_num++] = slot;
	f->stale[f->stale_num++ % STALE_MAX] = done->id;
}

static bool swallowed(struct faulty *f)
{
	if (f->lose == 0u && hit(f, FAULTY_LOST))
		f->lose = 1u + rng_below(&f->rng, LOSE_MAX);
	if (f->lose == 0u)
		return false;
	f->lose--;
	f->hidden++;
	return true;
}

static void swap(struct faulty *f, struct vnetrx_done *done, unsigned n)
{
	struct vnetrx_done *a = &done[rng_below(&f->rng, n)];
	struct vnetrx_done *b = &done[rng_below(&f->rng, n)];
	struct vnetrx_done tmp = *a;

	if (hit(f, FAULTY_SWAP_IDS)) {
		a->id = b->id;
		b->id = tmp.id;
	}
	if (hit(f, FAULTY_SWAP)) {
		tmp = *a;
		*a = *b;
		*b = tmp;
	}
}

static int reap(void *arg, struct vnetrx_done *done, unsigned max)
{
	struct faulty *f = arg;
	unsigned ask = max;
	unsigned out = 0u;
	int got;
	int i;

	if (op_fails(f, FAULTY_OP_REAP) || hit(f, FAULTY_REAP_BROKEN))
		return -1;
	if (max == 0u || hit(f, FAULTY_REAP_NONE))
		return 0;
	if (hit(f, FAULTY_REAP_SHORT))
		ask = 1u + rng_below(&f->rng, max);
	got = f->cfg.ops->reap(f->cfg.dev, done, ask);
	for (i = 0; i < got; i++) {
		struct vnetrx_done one = done[i];
		uint32_t slot = one.id;

		if (swallowed(f))
			continue;
		spoil_buffer(f, &f->slots[slot]);
		spoil_len(f, &one, f->slots[slot].len);
		name_it(f, &one, slot);
		done[out++] = one;
	}
	if (got < 0)
		return got;
	if (out > 0u)
		swap(f, done, out);
	if (out > 0u && out < max && hit(f, FAULTY_ID_TWICE)) {
		done[out] = done[rng_below(&f->rng, out)];
		out++;
	}
	return (int)out;
}

/* ---- the other ops ---- */

static void kick(void *arg)
{
	struct faulty *f = arg;

	if (!op_fails(f, FAULTY_OP_KICK) && !hit(f, FAULTY_KICK_LOST) && f->cfg.ops->kick != NULL)
		f->cfg.ops->kick(f->cfg.dev);
}

static int decode(void *arg, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	struct faulty *f = arg;

	if (op_fails(f, FAULTY_OP_DECODE) || hit(f, FAULTY_DECODE_BAD))
		return -1;
	return f->cfg.ops->decode == NULL ? 0 : f->cfg.ops->decode(f->cfg.dev, head, len, meta);
}

static bool arm(void *arg)
{
	struct faulty *f = arg;
	bool lie = op_fails(f, FAULTY_OP_ARM) || hit(f, FAULTY_ARM_LIES);
	bool waits = f->cfg.ops->arm != NULL && f->cfg.ops->arm(f->cfg.dev);

	return lie ? !waits : waits;
}

static void sync_cpu(void *arg, void *addr, uint64_t dma, uint32_t len)
{
	const struct faulty *f = arg;

	if (f->cfg.ops->sync_cpu != NULL)
		f->cfg.ops->sync_cpu(f->cfg.dev, addr, dma, len);
}

static void sync_dev(void *arg, void *addr, uint64_t dma, uint32_t len)
{
	const struct faulty *f = arg;

	if (f->cfg.ops->sync_dev != NULL)
		f->cfg.ops->sync_dev(f->cfg.dev, addr, dma, len);
}

const struct vnetrx_dev_ops faulty_ops = {
	.post = post,
	.reap = reap,
	.kick = kick,
	.decode = decode,
	.arm = arm,
	.sync_cpu = sync_cpu,
	.sync_dev = sync_dev,
};
