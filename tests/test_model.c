/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine against the oracle, on random streams.
 *
 * Two engines get the same packets: one of them one by one, compared with the model after each call (which packets
 * left, of which segments, why; what is held; the next deadline) and checked by laws 1 and 2; the other in batches,
 * which must hand out just what the first did.
 *
 * The model knows no table. Where a place in it decides (a set overflows, two address pairs share a bucket), the engine
 * may let go of a packet early; the model then follows, when the law allows it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gro_rig.h"
#include "support/model.h"
#include "support/stream.h"
#include "support/view.h"

#define PKTS  600u
#define BATCH 64u
#define WAYS  8u /* a set of the table may overflow when so many are held */

struct copy {
	struct vnetrx_pkt *head; /* and its second fragment behind it */
	uint8_t           *data[2];
};

/* One engine and its own copies of all packets. */
struct engine {
	struct vnetrx_gro *gro;
	void              *mem;
	struct copy        copy[PKTS];
	struct vnetrx_pktq out;
};

struct left {
	unsigned members[PKTS];
	unsigned n;
	unsigned reason;
};

struct run {
	struct rng        rng;
	struct stream    *stream;
	struct engine     one, many;
	struct model     *model;
	struct model_cfg  cfg;
	struct laws      *laws;
	uint8_t          *bytes[PKTS]; /* as it came */
	struct view       view[PKTS];
	unsigned          n, batched;
	vnetrx_ns         now;
	struct left      *left;        /* what left engine one since the last batch of the other */
	unsigned          nleft;
	uint8_t          *scratch;
	unsigned          evicted, overflows;
};

static void engine_init(struct engine *e, const struct vnetrx_gro_config *cfg)
{
	size_t size = vnetrx_gro_footprint(cfg, NULL);

	memset(e, 0, sizeof(*e));
	assert_true(size > 0u);
	e->mem = aligned_alloc(64, (size + 63u) / 64u * 64u);
	assert_non_null(e->mem);
	assert_int_equal(vnetrx_gro_init(&e->gro, cfg, e->mem, size), VNETRX_OK);
}

static void engine_fini(struct engine *e, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		free(e->copy[i].data[0]);
		free(e->copy[i].data[1]);
		free(e->copy[i].head);
	}
	free(e->mem);
}

static uint8_t *copy_bytes(const uint8_t *bytes, size_t len)
{
	uint8_t *p = malloc(len);

	assert_non_null(p);
	memcpy(p, bytes, len);
	return p;
}

static struct vnetrx_pkt *engine_copy(struct engine *e, unsigned number, const struct stream_pkt *p, vnetrx_ns now)
{
	struct copy *c = &e->copy[number];
	size_t first = p->split != 0u && p->split < p->len ? p->split : p->len;
	struct vnetrx_pkt *pkt = calloc(2, sizeof(*pkt));

	assert_non_null(pkt);
	c->head = pkt;
	c->data[0] = copy_bytes(p->bytes, first);
	vnetrx_pkt_wrap(pkt, c->data[0], (uint32_t)first, p->flags);
	if (first < p->len) {
		c->data[1] = copy_bytes(p->bytes + first, p->len - first);
		vnetrx_pkt_wrap(pkt + 1, c->data[1], (uint32_t)(p->len - first), 0);
		pkt->chain = pkt + 1;
		pkt->len = (uint32_t)p->len;
		pkt->nfrags = 2;
	}
	pkt->vlan_tci = p->vlan_tci;
	pkt->vlan_proto = p->vlan_proto;
	pkt->gso_size = pkt->rx_gso_size = p->gso_size;
	pkt->csum_start = p->csum_start;
	pkt->csum_offset = p->csum_offset;
	pkt->mark = p->mark;
	pkt->hash = p->hash;
	pkt->tstamp = now > p->tstamp_back ? now - p->tstamp_back : 0u;
	return pkt;
}

static unsigned number_of(const struct engine *e, const struct vnetrx_pkt *pkt, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (e->copy[i].head == pkt)
			return i;
	}
	fail_msg("a packet came out that never went in");
	return 0;
}

/* The numbers of the packets that a delivered one consists of. */
static void members_of(const struct engine *e, const struct vnetrx_pkt *pkt, unsigned n, struct left *left)
{
	const struct vnetrx_pkt *second = NULL;

	left->n = 0;
	left->reason = pkt->reason;
	for (; pkt != NULL; pkt = pkt->chain) {
		if (pkt == second)
			continue;
		left->members[left->n++] = number_of(e, pkt, n);
		second = pkt + 1;
	}
}

/* What left engine one: laws, and a note of it. Returns the index of the first new note. */
static unsigned note_out(struct run *r)
{
	unsigned from = r->nleft;
	struct vnetrx_pkt *pkt;

	while ((pkt = vnetrx_pktq_take(&r->one.out)) != NULL) {
		struct law_pkt law = law_pkt_of(pkt, r->scratch);
		const char *why = laws_out(r->laws, &law, NULL);

		if (why != NULL)
			fail_msg("%s", why);
		members_of(&r->one, pkt, r->n, &r->left[r->nleft++]);
	}
	return from;
}

static int by_first(const void *a, const void *b)
{
	unsigned x = ((const struct left *)a)->members[0];
	unsigned y = ((const struct left *)b)->members[0];

	return x < y ? -1 : x > y ? 1 : 0;
}

static void compare(struct run *r, unsigned from)
{
	const struct model_out *want;
	unsigned n = model_take(r->model, &want);
	struct left *sorted = malloc((r->nleft - from + 1u) * sizeof(*sorted));

	assert_non_null(sorted);
	memcpy(sorted, r->left + from, (r->nleft - from) * sizeof(*sorted));
	if (r->nleft - from > 1u)
		qsort(sorted, r->nleft - from, sizeof(*sorted), by_first);
	for (unsigned i = 0; i < n || i < r->nleft - from; i++) {
		if (i >= n || i >= r->nleft - from || want[i].members[0] != sorted[i].members[0])
			fail_msg("after packet %u: model lets %u packets go, the engine %u", r->n - 1u, n,
				 r->nleft - from);
		if (want[i].n != sorted[i].n ||
		    memcmp(want[i].members, sorted[i].members, want[i].n * sizeof(unsigned)) != 0)
			fail_msg("packet %u has %u segments in the model, %u in the engine", want[i].members[0],
				 want[i].n, sorted[i].n);
		if ((unsigned)want[i].reason != sorted[i].reason)
			fail_msg("packet %u left for %s in the model, for %s in the engine", want[i].members[0],
			         reason_name(want[i].reason), reason_name(sorted[i].reason));
	}
	free(sorted);
	assert_int_equal(vnetrx_gro_held(r->one.gro), model_held(r->model));
	assert_true(vnetrx_gro_deadline(r->one.gro) == model_deadline(r->model));
}

/* Lets the model follow where a place in the table decided. Returns true when a packet was evicted. */
static bool follow(struct run *r, unsigned from, unsigned number)
{
	bool evicted = false;

	for (unsigned i = from; i < r->nleft; i++) {
		const struct left *left = &r->left[i];
		const struct view *v = &r->view[left->members[0]];
		bool full = model_held(r->model) == r->cfg.flows;

		if (left->reason == VNETRX_LEFT_EVICTED) {
			assert_false(evicted);
			r->evicted++;
			if (!full || !model_force(r->model, left->members[0], VNETRX_LEFT_EVICTED, false)) {
				r->overflows++;
				assert_true(model_held(r->model) >= WAYS);
				assert_true(model_force(r->model, left->members[0], VNETRX_LEFT_EVICTED, true));
			}
			evicted = true;
		} else if (left->reason == VNETRX_LEFT_ORDER && r->view[number].kind == VIEW_PAIR &&
		           !view_same_pair(v, &r->view[number])) {
			assert_true(model_force(r->model, left->members[0], VNETRX_LEFT_ORDER, true));
		}
	}
	return evicted;
}

static void feed(struct run *r)
{
	uint8_t *bytes = malloc(FRAME_MAX);
	struct stream_pkt p = { .bytes = bytes };
	struct model_meta meta = { .flags = 0 };
	struct law_pkt law;
	struct vnetrx_pkt *pkt;
	unsigned number = r->n, from;
	bool evicted;

	assert_non_null(bytes);
	stream_next(r->stream, &p);
	pkt = engine_copy(&r->one, number, &p, r->now);
	(void)engine_copy(&r->many, number, &p, r->now);
	r->bytes[number] = copy_bytes(p.bytes, p.len);
	view_frame(&r->view[number], r->bytes[number], p.len);
	law = law_pkt_of(pkt, r->scratch);
	laws_in(r->laws, &law);
	meta = (struct model_meta){ p.flags, p.vlan_tci, p.vlan_proto, p.gso_size,
	                            (p.flags & VNETRX_PKT_TSTAMP) != 0u, pkt->tstamp,
	                            p.csum_start != r->view[number].l4 || p.csum_offset != 16u, p.mark };
	r->n++;
	vnetrx_gro_receive(r->one.gro, &pkt, 1, r->now, &r->one.out);
	from = note_out(r);
	evicted = follow(r, from, number);
	model_receive(r->model, number, r->bytes[number], p.len, &meta, r->now);
	assert_true(!evicted || model_holds(r->model, number));
	compare(r, from);
	free(bytes);
}

/* The other engine gets what it has not had yet, in one call, and must hand out the same. */
static void catch_up(struct run *r)
{
	struct vnetrx_pkt *pkts[BATCH];
	struct vnetrx_pkt *pkt;
	unsigned n = r->n - r->batched, i = 0;
	struct left *left = malloc(sizeof(*left));

	assert_non_null(left);
	for (unsigned k = 0; k < n; k++)
		pkts[k] = r->many.copy[r->batched + k].head;
	vnetrx_gro_receive(r->many.gro, pkts, n, r->now, &r->many.out);
	r->batched = r->n;
	while ((pkt = vnetrx_pktq_take(&r->many.out)) != NULL) {
		members_of(&r->many, pkt, r->n, left);
		assert_true(i < r->nleft);
		assert_int_equal(left->n, r->left[i].n);
		assert_int_equal(left->reason, r->left[i].reason);
		assert_memory_equal(left->members, r->left[i].members, left->n * sizeof(unsigned));
		i++;
	}
	assert_int_equal(i, r->nleft);
	r->nleft = 0;
	free(left);
}

/* Time passes, and something other than a packet happens. */
static void between(struct run *r, uint64_t step_max)
{
	unsigned from;

	catch_up(r);
	if (rng_once_in(&r->rng, 20))
		r->now -= r->now < 100u ? r->now : 100u;
	else
		r->now += rng_below(&r->rng, (uint32_t)step_max);
	from = r->nleft;
	if (rng_once_in(&r->rng, 3)) {
		vnetrx_gro_flush(r->one.gro, &r->one.out);
		vnetrx_gro_flush(r->many.gro, &r->many.out);
		model_flush(r->model);
	} else {
		vnetrx_gro_expire(r->one.gro, r->now, &r->one.out);
		vnetrx_gro_expire(r->many.gro, r->now, &r->many.out);
		model_expire(r->model, r->now);
	}
	note_out(r);
	compare(r, from);
	catch_up(r);
}

static void setup(struct run *r, uint64_t seed)
{
	struct vnetrx_gro_config cfg = { .hash_key = { seed, ~seed } };

	memset(r, 0, sizeof(*r));
	r->stream = malloc(sizeof(*r->stream));
	r->left = malloc((PKTS + 1u) * sizeof(*r->left));
	r->scratch = malloc(FRAME_MAX + 65536u * 16u);
	assert_non_null(r->stream);
	assert_non_null(r->left);
	assert_non_null(r->scratch);
	stream_init(r->stream, seed, 1, 0, 1);
	r->rng = r->stream->rng;
	stream_init(r->stream, seed, 1u + rng_below(&r->rng, rng_once_in(&r->rng, 2) ? 4 : 200),
		    2u + rng_below(&r->rng, 30), rng_once_in(&r->rng, 4) ? 1448 : 60);
	r->stream->device_words = rng_once_in(&r->rng, 2);
	cfg.flows = 1u + rng_below(&r->rng, rng_once_in(&r->rng, 2) ? 8 : 200);
	cfg.protos = VNETRX_GRO_TCP;
	cfg.segs_max = 2u + rng_below(&r->rng, 30);
	cfg.bytes_max = 1280u + rng_below(&r->rng, 5000);
	cfg.timeout_ns = rng_once_in(&r->rng, 3) ? 0u : 1u + rng_below(&r->rng, 5000);
	cfg.hold_max_ns = 1u + rng_below(&r->rng, rng_once_in(&r->rng, 2) ? 40 : 20000);
	r->cfg = (struct model_cfg){ cfg.flows, cfg.segs_max, cfg.bytes_max, cfg.timeout_ns, cfg.hold_max_ns };
	r->now = rng_once_in(&r->rng, 3) ? 0u : rng_once_in(&r->rng, 3) ? UINT64_MAX - 100000u : 1000000u;
	engine_init(&r->one, &cfg);
	engine_init(&r->many, &cfg);
	r->model = model_new(&r->cfg);
	r->laws = laws_new();
}

static void teardown(struct run *r)
{
	unsigned from = r->nleft;

	vnetrx_gro_flush(r->one.gro, &r->one.out);
	model_flush(r->model);
	note_out(r);
	compare(r, from);
	assert_int_equal(laws_missing(r->laws), 0);
	assert_true(2u * r->overflows <= r->evicted + 10u);
	for (unsigned i = 0; i < r->n; i++)
		free(r->bytes[i]);
	engine_fini(&r->one, r->n);
	engine_fini(&r->many, r->n);
	model_free(r->model);
	laws_free(r->laws);
	free(r->scratch);
	free(r->left);
	free(r->stream);
}

static void engine_agrees_with_the_oracle_on_random_streams(void **state)
{
	uint64_t seed = stream_seed();
	unsigned count = stream_count(30);
	struct run *r = malloc(sizeof(*r));

	(void)state;
	assert_non_null(r);
	for (unsigned i = 0; i < count; i++) {
		uint64_t step_max;

		setup(r, seed + i);
		step_max = 1u + rng_below(&r->rng, rng_once_in(&r->rng, 2) ? 20 : 3000);
		while (r->n < PKTS) {
			if (r->n - r->batched == BATCH || rng_once_in(&r->rng, 20))
				between(r, step_max);
			else
				feed(r);
		}
		catch_up(r);
		teardown(r);
	}
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engine_agrees_with_the_oracle_on_random_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
