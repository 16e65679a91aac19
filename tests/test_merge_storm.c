/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions that are wrong at random in every field, a host whose pages run out, packets freed late: after every call
 * the pool is walked, and at the end every completion is accounted for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buf/pool.h"
#include "support/buf_rig.h"

#define ROUNDS 4000u

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* A completion that is now and then wrong in each of its fields, with a header that is now and then wrong too. */
static struct vnetrx_done hostile(struct buf_rig *rig, uint32_t *seed, uint32_t id)
{
	static const uint32_t lens[] = { 0, 1, 11, 12, 25, 26, 60, 128, 129, 1536, 1537, 4096, 65536, UINT32_MAX };
	struct vnetrx_done done = { .id = id, .len = 26u + random_next(seed) % 1510u };
	uint8_t *h = rig->bufs[id].addr;
	unsigned i;

	memset(h, 0, RIG_HDR);
	h[10] = random_next(seed) % 4u == 0u ? (uint8_t)(random_next(seed) % 20u) : 1u;
	for (i = 0; random_next(seed) % 8u == 0u; i++)
		h[random_next(seed) % RIG_HDR] = (uint8_t)random_next(seed);
	if (random_next(seed) % 16u == 0u)
		done.id = random_next(seed) % 8u == 0u ? random_next(seed) : random_next(seed) % 80u;
	if (random_next(seed) % 8u == 0u)
		done.len = lens[random_next(seed) % (sizeof(lens) / sizeof(lens[0]))];
	if (random_next(seed) % 16u == 0u)
		done.off = (uint16_t)random_next(seed);
	done.flags = (uint16_t)(random_next(seed) % 4u == 0u ? VNETRX_DONE_MORE : 0u);
	return done;
}

struct storm {
	struct buf_rig     rig;
	struct vnetrx_pkt *kept[64]; /* at the host for a while */
	unsigned           kept_num;
	uint64_t           given;
};

static void storm_round(struct storm *st, uint32_t *seed)
{
	struct vnetrx_done done[24];
	struct vnetrx_pkt *out[24];
	struct vnetrx_buf  bufs[64];
	unsigned i, n, got;

	got = vnetrx_pool_get(st->rig.pool, 64u + random_next(seed) % 4033u, bufs, random_next(seed) % 65u);
	for (i = 0; i < got; i++)
		st->rig.bufs[bufs[i].id] = bufs[i];
	n = random_next(seed) % 25u;
	for (i = 0; i < n; i++) {
		uint32_t id = random_next(seed) % 64u;

		while (st->rig.bufs[id].addr == NULL)
			id = random_next(seed) % 64u;
		if (st->rig.pool->slots[id].state == VNRX_SLOT_LENT)
			done[i] = hostile(&st->rig, seed, id);
		else
			done[i] = (struct vnetrx_done){ .id = id, .len = 100 };
	}
	got = rig_add(&st->rig, done, n, out);
	st->given += n;
	if (random_next(seed) % 4u == 0u)
		vnetrx_merge_end(st->rig.merge);
	if (st->kept_num + got > 40u) {
		vnetrx_pkt_free(st->kept, st->kept_num);
		st->kept_num = 0;
	}
	memcpy(st->kept + st->kept_num, out, got * sizeof(out[0]));
	st->kept_num += got;
}

/* VNETRX_SEED in the environment, or a fixed one; printed, so that a failure can be had again. */
static uint32_t seed_of_today(void)
{
	const char *text = getenv("VNETRX_SEED");
	uint32_t seed = text != NULL ? (uint32_t)strtoul(text, NULL, 0) : 20240607u;

	print_message("# seed %lu\n", (unsigned long)seed);
	return seed;
}

static void whatever_the_device_says_the_books_balance(void **state)
{
	uint32_t seed = seed_of_today();
	struct vnetrx_merge_stats s;
	static struct storm st;
	struct vnetrx_buf first[64];
	unsigned i;

	(void)state;
	memset(&st, 0, sizeof(st));
	rig_pool(&st.rig, &(struct vnetrx_pool_config){ .bufs_max = 64, .runs_max = 30, .pkts_max = 100 });
	rig_merge(&st.rig, &(struct vnetrx_merge_config){ .nbufs_max = 16 });
	(void)vnetrx_pool_get(st.rig.pool, 4096, first, 1);
	st.rig.bufs[first[0].id] = first[0];
	for (i = 0; i < ROUNDS; i++) {
		st.rig.host.fail_at = random_next(&seed) % 4u == 0u ? st.rig.host.calls + 1u : 0u;
		storm_round(&st, &seed);
	}
	vnetrx_merge_end(st.rig.merge);
	vnetrx_pkt_free(st.kept, st.kept_num);
	s = rig_merge_stats(&st.rig);
	assert_true(st.given == s.drop_bad_id + s.bufs + s.drained);
	assert_true(s.pkts > 1000u && s.drop_short > 100u && s.drop_long > 100u && s.drop_error > 50u);
	assert_true(s.drop_decode > 50u && s.drop_nbufs > 20u && s.drop_missing > 20u && s.drop_bad_id > 100u);
	assert_int_equal(rig_pool_stats(&st.rig).pkts_used, 0);
	rig_close(&st.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_the_device_says_the_books_balance),
	};

	return cmocka_run_group_tests_name("merge_storm", tests, NULL, NULL);
}
