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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/engine.h"
#include "support/known.h"
#include "support/model.h"
#include "support/stream.h"
#include "support/view.h"

#define PKTS  ENGINE_PKTS
#define BATCH 64u
#define WAYS  8u /* a set of the table may overflow when so many are held */

struct run {
	struct rng        rng;
	struct stream    *stream;
	struct engine     one, many;
	struct model     *model;
	struct model_cfg  cfg;
	struct laws      *laws;
	uint8_t          *bytes[PKTS]; /* as it came */
	struct view       view[PKTS];
	bool              all;         /* all protocols                       */
	bool              big;         /* beyond 64 KiB                       */
	unsigned          n, batched;
	vnetrx_ns         now;
	struct left      *left;        /* what left engine one since the last batch of the other */
	unsigned          nleft;
	uint8_t          *scratch;
	unsigned          evicted, overflows;
};

/* What was joined in all rounds, so that nobody believes in a test that tries nothing. */
static struct {
	unsigned long tcp, udp, tunnel, pppoe, by_device, fixed_ids, without_csum, long_ones;
} joined;

static void count(const struct vnetrx_pkt *pkt, const struct view *v)
{
	if ((pkt->flags & VNETRX_PKT_MERGED) == 0u)
		return;
	joined.tcp += v->tcp ? 1u : 0u;
	joined.udp += v->udp ? 1u : 0u;
	joined.tunnel += v->tunnel ? 1u : 0u;
	joined.pppoe += v->pppoe ? 1u : 0u;
	joined.by_device += pkt->segs > pkt->nbufs ? 1u : 0u;
	joined.fixed_ids += (pkt->flags & (VNETRX_PKT_ID_FIXED | VNETRX_PKT_OUTER_ID_FIXED)) != 0u ? 1u : 0u;
	joined.without_csum += v->l4_csum_none ? 1u : 0u;
	joined.long_ones += pkt->len > 65535u ? 1u : 0u;
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
		engine_members(&r->one, pkt, &r->left[r->nleft++]);
		count(pkt, &r->view[r->left[r->nleft - 1u].members[0]]);
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

/* Does the engine not reach the ports? Of headers in several fragments it sees the first 256 bytes. */
static bool hides_ports(const struct run *r, unsigned number)
{
	const struct view *v = &r->view[number];

	return v->kind == VIEW_PAIR || (r->one.copy[number]->pkt->nfrags > 1u && v->l4 + 4u > 256u);
}

/* Would the model, which sees everything, push it out? */
static bool pushes_out(const struct view *v, const struct view *held)
{
	return view_same_flow(v, held) || (v->kind == VIEW_PAIR && view_covers(v, held));
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
		} else if (left->reason == VNETRX_LEFT_ORDER && hides_ports(r, number) &&
		           !pushes_out(&r->view[number], v)) {
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
	r->bytes[number] = malloc(p.len);
	assert_non_null(r->bytes[number]);
	memcpy(r->bytes[number], p.bytes, p.len);
	view_frame_by(&r->view[number], &r->cfg.rules, r->bytes[number], p.len);
	law = law_pkt_of(pkt, r->scratch);
	laws_in(r->laws, &law);
	meta = (struct model_meta){ p.flags, p.vlan_tci, p.vlan_proto, p.gso_size, p.gso_type,
	                            (p.flags & VNETRX_PKT_TSTAMP) != 0u, pkt->tstamp,
	                            p.csum_start, p.csum_offset, p.mark, p.split };
	r->n++;
	vnetrx_gro_receive(r->one.gro, &pkt, 1, r->now, &r->one.out);
	from = note_out(r);
	evicted = follow(r, from, number);
	model_receive(r->model, number, r->bytes[number], p.len, &meta, r->now);
	assert_true(!evicted || model_holds(r->model, number) || p.split != 0u);
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
		pkts[k] = r->many.copy[r->batched + k]->pkt;
	vnetrx_gro_receive(r->many.gro, pkts, n, r->now, &r->many.out);
	r->batched = r->n;
	while ((pkt = vnetrx_pktq_take(&r->many.out)) != NULL) {
		engine_members(&r->many, pkt, left);
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

/* What is merged changes; everything held leaves. */
static void switch_protocols(struct run *r)
{
	uint32_t protos = rng_below(&r->rng, 8) & GRO_KNOWN;
	unsigned from;

	catch_up(r);
	from = r->nleft;
	vnetrx_gro_set_protos(r->one.gro, protos, &r->one.out);
	vnetrx_gro_set_protos(r->many.gro, protos, &r->many.out);
	model_protos(r->model, protos);
	note_out(r);
	compare(r, from);
	catch_up(r);
	r->cfg.rules.tunnels = (protos & VNETRX_GRO_TUNNEL) != 0u;
	laws_rules(r->laws, &r->cfg.rules, (r->cfg.flags & VNETRX_GRO_RFC6864) != 0u);
}

static bool half(struct run *r)
{
	return rng_once_in(&r->rng, 2);
}

static void configure_any(struct run *r, struct vnetrx_gro_config *cfg)
{
	cfg->protos = (half(r) ? 7 : 1u + rng_below(&r->rng, 7)) & GRO_KNOWN;
	if (cfg->protos == 0u) /* would mean the default */
		cfg->protos = VNETRX_GRO_TCP;
	cfg->flags = rng_below(&r->rng, 8); /* RFC6864, CSUM_BYTES, UDP_ZERO */
	if (rng_once_in(&r->rng, 5))
		cfg->flags = (cfg->flags & ~VNETRX_GRO_CSUM_BYTES) | VNETRX_GRO_PROFILE_VIRTIO;
	cfg->payload_min = rng_once_in(&r->rng, 3) ? rng_below(&r->rng, 100) : 0u;
	if (r->big || rng_once_in(&r->rng, 4))
		cfg->segs_max = 60u + rng_below(&r->rng, 100);
	if (r->big || rng_once_in(&r->rng, 4))
		cfg->bytes_max = 60000u + rng_below(&r->rng, half(r) ? 10000 : 200000);
	if (rng_once_in(&r->rng, 6)) {
		cfg->vxlan_port = 4790;
		cfg->vxlan_gpe_port = 4789;
		cfg->geneve_port = VNETRX_PORT_OFF;
	}
}

static void start_stream(struct run *r, uint64_t seed)
{
	uint32_t payload_max, odd;
	unsigned nflows;

	r->rng.state = seed * 7919u + 104729u;
	for (unsigned i = 0; i < 8u; i++)
		rng_below(&r->rng, 2);
	r->big = r->all && rng_once_in(&r->rng, 10);
	nflows = 1u + rng_below(&r->rng, r->big ? 2 : half(r) ? 4 : 200);
	payload_max = r->big ? 9000 : rng_once_in(&r->rng, 4) ? 1448 : 60;
	odd = 2u + rng_below(&r->rng, r->big ? 300 : 30);
	if (r->all)
		stream_init_all(r->stream, seed, nflows, odd, payload_max);
	else
		stream_init(r->stream, seed, nflows, odd, payload_max);
	r->stream->device_words = half(r);
	r->stream->gso = r->all && half(r);
}

static void setup(struct run *r, uint64_t seed, bool all)
{
	struct vnetrx_gro_config cfg = { .hash_key = { seed, ~seed } };

	memset(r, 0, sizeof(*r));
	r->all = all;
	r->stream = malloc(sizeof(*r->stream));
	r->left = malloc((PKTS + 1u) * sizeof(*r->left));
	r->scratch = malloc(FRAME_MAX + 65536u * 16u);
	assert_non_null(r->stream);
	assert_non_null(r->left);
	assert_non_null(r->scratch);
	start_stream(r, seed);
	cfg.flows = 1u + rng_below(&r->rng, half(r) ? 8 : 200);
	cfg.protos = VNETRX_GRO_TCP;
	cfg.segs_max = 2u + rng_below(&r->rng, 30);
	cfg.bytes_max = 1280u + rng_below(&r->rng, 5000);
	cfg.timeout_ns = rng_once_in(&r->rng, 3) ? 0u : 1u + rng_below(&r->rng, 5000);
	cfg.hold_max_ns = 1u + rng_below(&r->rng, half(r) ? 40 : 20000);
	if (all)
		configure_any(r, &cfg);
	r->cfg = (struct model_cfg){ cfg.flows, cfg.segs_max, cfg.bytes_max, cfg.timeout_ns, cfg.hold_max_ns,
		                     cfg.protos, cfg.flags, cfg.payload_min, gro_rules(&cfg) };
	r->now = rng_once_in(&r->rng, 3) ? 0u : rng_once_in(&r->rng, 3) ? UINT64_MAX - 100000u : 1000000u;
	engine_init(&r->one, &cfg);
	engine_init(&r->many, &cfg);
	r->model = model_new(&r->cfg);
	r->laws = laws_new();
	laws_rules(r->laws, &r->cfg.rules, (cfg.flags & VNETRX_GRO_RFC6864) != 0u);
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

static void agree(bool all)
{
	uint64_t seed = stream_seed();
	unsigned count = all ? stream_count(30) : stream_count(30) / 4u + 1u; /* the others are in all */
	struct run *r = malloc(sizeof(*r));

	assert_non_null(r);
	for (unsigned i = 0; i < count; i++) {
		uint64_t step_max;

		setup(r, seed + i, all);
		step_max = 1u + rng_below(&r->rng, half(r) ? 20 : 3000);
		while (r->n < PKTS) {
			if (all && rng_once_in(&r->rng, 300))
				switch_protocols(r);
			else if (r->n - r->batched == BATCH || rng_once_in(&r->rng, 20))
				between(r, step_max);
			else
				feed(r);
		}
		catch_up(r);
		teardown(r);
	}
	free(r);
}

static void engine_agrees_with_the_oracle_on_random_streams(void **state)
{
	(void)state;
	agree(false);
}

static void engine_agrees_with_the_oracle_on_streams_of_all_protocols(void **state)
{
	(void)state;
	memset(&joined, 0, sizeof(joined));
	agree(true);
	printf("# joined: tcp %lu udp %lu tunnel %lu pppoe %lu by device %lu fixed ids %lu no checksum %lu long %lu\n",
	       joined.tcp, joined.udp, joined.tunnel, joined.pppoe, joined.by_device, joined.fixed_ids,
	       joined.without_csum, joined.long_ones);
	if (stream_count(30) < 30u)
		return;
	assert_true(joined.tcp > 0u);
	assert_int_equal(joined.udp > 0u, (GRO_KNOWN & VNETRX_GRO_UDP) != 0u);
	assert_int_equal(joined.tunnel > 0u, (GRO_KNOWN & VNETRX_GRO_TUNNEL) != 0u);
	assert_int_equal(joined.pppoe > 0u, (GRO_KNOWN & VNETRX_GRO_TUNNEL) != 0u);
	assert_true(joined.by_device > 0u && joined.fixed_ids > 0u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engine_agrees_with_the_oracle_on_random_streams),
		cmocka_unit_test(engine_agrees_with_the_oracle_on_streams_of_all_protocols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
