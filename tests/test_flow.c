/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of held packets against a plain list: after every operation for small ones, now and then for large ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/flow_model.h"
#include "support/frames.h"
#include "support/stream.h"
#include "vnetrx/gro.h"

static const uint64_t key[2] = { 0x0123456789abcdef, 0xfedcba9876543210 };

static void valid(const struct flow_model *m)
{
	const char *why = flow_model_check(m);

	if (why != NULL)
		fail_msg("%s", why);
}

static void step(struct flow_model *m, struct rng *rng, uint32_t flows)
{
	m->now += rng_below(rng, 3);
	if (m->n > 0u && rng_once_in(rng, 4))
		flow_model_del(m, rng_below(rng, m->n));
	else if (rng_once_in(rng, 500))
		flow_model_clear(m);
	else
		flow_model_put(m, rng_below(rng, flows), rng_below(rng, rng_once_in(rng, 2) ? 1 : VNRX_WAITS));
}

/* B7: a slot is free or held once, whatever is done in whatever order */
static void slots_stay_a_permutation_after_every_operation(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 7, 8, 9, 64, 100 };
	struct rng rng = { stream_seed() | 1u };

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct flow_model m;

		flow_model_init(&m, sizes[i], key);
		for (unsigned n = 0; n < 3000u; n++) {
			step(&m, &rng, sizes[i] * 3u + 2u);
			valid(&m);
		}
		flow_model_fini(&m);
	}
}

static void tables_of_all_sizes_hold_as_many_as_they_say(void **state)
{
	struct rng rng = { stream_seed() | 1u };

	(void)state;
	for (uint32_t size = 8; size <= 65536u; size *= 8u) {
		struct flow_model m;

		flow_model_init(&m, size, key);
		for (uint32_t i = 0; i < size; i++)
			flow_model_put(&m, i, 0);
		valid(&m);
		assert_true(m.n + m.evicted == size);
		assert_true(m.evicted <= size / 50u + 1u); /* sets rarely overflow */
		for (uint32_t i = 0; i < size; i++)
			step(&m, &rng, size * 2u);
		valid(&m);
		flow_model_clear(&m);
		valid(&m);
		flow_model_put(&m, 1, 0);
		valid(&m);
		flow_model_fini(&m);
	}
}

/* the model looks which one of the set must go */
static void full_set_gives_up_its_quietest(void **state)
{
	struct rng rng = { stream_seed() | 1u };
	struct flow_model m;
	uint32_t number = 0, evicted = 0;

	(void)state;
	flow_model_init(&m, 512, key);
	while (evicted < 30u) {
		m.now++;
		flow_model_put(&m, number++, 0);
		if (m.n > 8u)
			flow_model_put(&m, m.entry[rng_below(&rng, m.n)].number, 0); /* joined: quiet no more */
		assert_true(number < 1000000u);
		if (m.evicted == evicted)
			continue;
		evicted = m.evicted;
		valid(&m);
	}
	flow_model_fini(&m);
}

static size_t gro_size(uint32_t flows, uint32_t flags)
{
	struct vnetrx_gro_config cfg = { .hash_key = { 1, 2 }, .flows = flows, .flags = flags };

	return vnetrx_gro_footprint(&cfg, NULL);
}

/* everything included: slots, tags, header template, address pairs */
static void held_flow_costs_at_most_512_bytes(void **state)
{
	(void)state;
	for (uint32_t n = 64; n <= 32768u; n *= 2u) {
		size_t each = (gro_size(2u * n, 0) - gro_size(n, 0)) / n;

		assert_true(each > 0u && each <= 512u);
		each = (gro_size(2u * n, VNETRX_GRO_ADAPTIVE) - gro_size(n, VNETRX_GRO_ADAPTIVE)) / n;
		assert_true(each > 0u && each <= 512u);
	}
}

/* how many of n hashes fall on the fullest of the sets */
static unsigned fullest(const struct flow_model *m, const uint32_t *hashes, unsigned n)
{
	unsigned *count = calloc(m->t.sets, sizeof(*count));
	unsigned most = 0;

	assert_non_null(count);
	for (unsigned i = 0; i < n; i++) {
		unsigned *c = &count[vnrx_hash_set(&m->t, hashes[i])];

		if (++*c > most)
			most = *c;
	}
	free(count);
	return most;
}

/* flows that share one set under one key are spread by another: nobody who does not know the key can aim */
static void another_key_spreads_what_one_key_gathers(void **state)
{
	static const uint64_t other[2] = { 77, 88 };
	uint32_t gathered[256], spread[256];
	struct flow_model a, b;
	unsigned n = 0;

	(void)state;
	flow_model_init(&a, 256, key);
	flow_model_init(&b, 256, other);
	for (uint32_t addr = 0; n < 256u; addr++) {
		uint8_t hdr[64] = { 0 };
		struct vnrx_dissect d = {
			.ip = { .l3 = 14, .version = 4 }, .l4 = 34, .proto = 6, .reach = VNRX_REACH_PORTS
		};
		struct vnrx_hash h;

		fr_put32(hdr + 26, addr);
		vnrx_flows_hash(&a.t, hdr, &d, &h);
		if (vnrx_hash_set(&a.t, h.flow) != 5u)
			continue;
		gathered[n] = h.flow;
		vnrx_flows_hash(&b.t, hdr, &d, &h);
		spread[n++] = h.flow;
	}
	assert_int_equal(fullest(&a, gathered, 256), 256);
	assert_true(fullest(&b, spread, 256) < 32u);
	flow_model_fini(&a);
	flow_model_fini(&b);
}

/* Sees the walker that `what` of type t is not `wrong`? */
#define EXPECT_SEEN(type, what, wrong) \
	do { \
		type saved_ = (what); \
		(what) = (type)(wrong); \
		assert_false(vnrx_flows_valid(&m.t)); \
		(what) = saved_; \
		assert_true(vnrx_flows_valid(&m.t)); \
	} while (0)

/* Two wait in list 0 and two in list 1, a nanosecond apart. */
static void the_walker_sees_what_is_broken(void **state)
{
	struct vnrx_links *first, *second;
	struct flow_model m;
	uint32_t slot;

	(void)state;
	flow_model_init(&m, 8, key);
	for (uint32_t i = 0; i < 4u; i++) {
		m.now++;
		flow_model_put(&m, i, i / 2u);
	}
	assert_true(vnrx_flows_valid(&m.t));
	slot = m.entry[0].slot;
	first = &m.t.links[slot];
	second = &m.t.links[m.entry[1].slot];
	EXPECT_SEEN(vnetrx_ns, first->seen, second->seen + 1u);        /* out of order in its list */
	EXPECT_SEEN(uint32_t, second->seen_prev, m.entry[2].slot);     /* does not lead back       */
	EXPECT_SEEN(uint32_t, second->seen_next, m.entry[0].slot);     /* a ring without an end    */
	EXPECT_SEEN(uint8_t, second->wait, 1);                         /* in the list of another   */
	EXPECT_SEEN(vnetrx_ns, first->first, m.now + 1u);              /* out of order by age      */
	EXPECT_SEEN(vnetrx_ns, second->first, second->seen + 1u);      /* seen before it came      */
	EXPECT_SEEN(uint32_t, second->first_next, m.entry[0].slot);
	EXPECT_SEEN(uint32_t, first->hook[VNRX_PAIR].next, slot);
	EXPECT_SEEN(uint64_t, m.t.tags[slot / VNRX_WAYS], 0);
	EXPECT_SEEN(uint32_t, m.t.held, m.t.held - 1u);
	EXPECT_SEEN(uint32_t, m.t.held_max, m.t.held - 1u);
	flow_model_fini(&m);
}

/* All came at the same time, so that no order tells. */
static void the_walker_ends_in_lists_that_do_not(void **state)
{
	struct vnrx_links *first, *second;
	struct flow_model m;
	uint32_t slot, prev, next;

	(void)state;
	flow_model_init(&m, 8, key);
	for (uint32_t i = 0; i < 3u; i++)
		flow_model_put(&m, i, 0);
	slot = m.entry[0].slot;
	first = &m.t.links[slot];
	second = &m.t.links[m.entry[1].slot];
	prev = first->seen_prev;
	next = second->seen_next;
	first->seen_prev = m.entry[1].slot; /* the ring agrees with itself */
	second->seen_next = slot;
	assert_false(vnrx_flows_valid(&m.t));
	first->seen_prev = prev;
	second->seen_next = next;
	assert_true(vnrx_flows_valid(&m.t));
	EXPECT_SEEN(uint32_t, second->first_next, slot);
	flow_model_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_stay_a_permutation_after_every_operation),
		cmocka_unit_test(tables_of_all_sizes_hold_as_many_as_they_say),
		cmocka_unit_test(full_set_gives_up_its_quietest),
		cmocka_unit_test(held_flow_costs_at_most_512_bytes),
		cmocka_unit_test(another_key_spreads_what_one_key_gathers),
		cmocka_unit_test(the_walker_sees_what_is_broken),
		cmocka_unit_test(the_walker_ends_in_lists_that_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
