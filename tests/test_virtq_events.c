/* SPDX-License-Identifier: BSD-3-Clause */
/* Kicks and callbacks, in both formats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/ring_rig.h"
#include "virtio/virtq.h"

#define EVENT   VNETRX_VIRTQ_EVENT_IDX
#define PACKED  VNETRX_VIRTQ_PACKED
#define DISABLE 0x10000u /* flags of event suppression, where a wish has them */
#define DESC    0x20000u

static void open_ring(struct ring_rig *rig, uint32_t size, uint32_t flags)
{
	ring_open(rig, (struct vnetrx_virtq_config){ .size = size, .flags = flags });
}

/* After n buffers. */
static void start_at(struct ring_rig *rig, uint32_t n)
{
	if ((rig->cfg.flags & PACKED) != 0u)
		ring_run(rig, n % (2u * rig->cfg.size));
	else
		ring_jump(rig, n);
}

/* Whether the free-running index passes `event` on its way from old to now: what both sides must find (2.7.7.2). */
static bool passes(uint32_t event, uint32_t old, uint32_t now)
{
	for (; old != now; old = (old + 1u) % 65536u)
		if (old == event)
			return true;
	return false;
}

/* The packed wish for the descriptor `ahead` of place `at` in round 0, 1, ... of a ring of `size`. */
static uint32_t wish_at(uint32_t at, uint32_t size)
{
	return DESC | (at / size % 2u == 0u ? 32768u : 0u) | at % size;
}

/* ---- kicks ---- */

static void a_kick_is_due_when_the_index_passes_the_event(void **state)
{
	struct ring_rig rig;
	uint32_t start, added, event;

	(void)state;
	for (start = 65536u - 5u; start < 65536u + 4u; start++) {
		for (added = 0; added <= 4u; added++) {
			for (event = start - 8u; event != start + 9u; event++) {
				open_ring(&rig, 4, start % 2u != 0u ? EVENT : EVENT | VNETRX_VIRTQ_BIG_ENDIAN);
				ring_jump(&rig, start);
				drv_add_bufs(&rig, added, 0);
				dev_set_event(&rig, event);
				assert_int_equal(drv_kick(&rig),
				                 passes(event % 65536u, start % 65536u, (start + added) % 65536u));
				assert_false(drv_kick(&rig)); /* nothing new */
				ring_close(&rig);
			}
		}
	}
}

/* Every place of small rings, every number of new descriptors, every descriptor the device may name. */
static void a_packed_kick_is_due_when_the_descriptor_is_offered(void **state)
{
	struct ring_rig rig;
	uint32_t size, start, added, event;

	(void)state;
	for (size = 1; size <= 9u; size++) {
		for (start = 2u * size; start < 4u * size; start++) {
			for (added = 0; added <= size; added++) {
				for (event = start - size; event < start + size; event++) {
					open_ring(&rig, size, PACKED | EVENT);
					ring_run(&rig, start);
					(void)drv_kick(&rig);
					drv_add_bufs(&rig, added, 0);
					dev_set_wish(&rig, wish_at(event, size));
					assert_int_equal(drv_kick(&rig),
					                 passes(event, start, start + added));
					assert_false(drv_kick(&rig));
					ring_close(&rig);
				}
			}
		}
	}
}

/* Two chains of three: the window is six descriptors long, not two. */
static void a_packed_window_counts_descriptors(void **state)
{
	struct ring_rig rig;
	uint32_t event;

	(void)state;
	for (event = 0; event < 12u; event++) {
		ring_open(&rig, (struct vnetrx_virtq_config){ .size = 16, .flags = PACKED | EVENT, .segs_max = 3 });
		drv_add(&rig, 1, 2, 0);
		drv_add(&rig, 1, 2, 1);
		dev_set_wish(&rig, wish_at(event, 16));
		assert_int_equal(drv_kick(&rig), event < 6u);
		ring_close(&rig);
	}
}

static void flags_alone_decide_without_event_indices(void **state)
{
	struct ring_rig rig;
	uint32_t i;

	(void)state;
	for (i = 0; i < 8u; i++) {
		open_ring(&rig, 8, i % 2u != 0u ? 0u : VNETRX_VIRTQ_BIG_ENDIAN);
		dev_set_event(&rig, i);
		dev_set_flags(&rig, i / 2u);
		assert_false(drv_kick(&rig));
		drv_add_bufs(&rig, 2, 0);
		assert_int_equal(drv_kick(&rig), i / 2u % 2u == 0u);
		ring_close(&rig);

		open_ring(&rig, 8, PACKED);
		dev_set_wish(&rig, i / 2u * 65536u + 5u);
		drv_add_bufs(&rig, 2, 0);
		assert_int_equal(drv_kick(&rig), i / 2u != 1u);
		ring_close(&rig);
	}
}

static void packed_flags_count_with_event_indices_too(void **state)
{
	struct ring_rig rig;

	(void)state;
	open_ring(&rig, 8, PACKED | EVENT);
	dev_set_wish(&rig, DISABLE);
	drv_add_bufs(&rig, 1, 0);
	assert_false(drv_kick(&rig));
	dev_set_wish(&rig, 0); /* always */
	drv_add_bufs(&rig, 1, 0);
	assert_true(drv_kick(&rig));
	dev_set_wish(&rig, DESC | 32768u | 3u); /* the fourth */
	drv_add_bufs(&rig, 1, 0);
	assert_false(drv_kick(&rig));
	drv_add_bufs(&rig, 1, 0);
	assert_true(drv_kick(&rig));
	ring_close(&rig);
}

/* The window runs from the last look, however often was published since. */
static void publishing_alone_does_not_use_up_the_kick(void **state)
{
	struct ring_rig rig;
	unsigned i;

	(void)state;
	open_ring(&rig, 8, EVENT); /* avail_event 0: a kick for the first buffer */
	for (i = 0; i < 5u; i++) {
		drv_add_bufs(&rig, 1, i);
		vnetrx_virtq_publish(rig.vq);
	}
	assert_true(drv_kick(&rig));
	drv_add_bufs(&rig, 1, 5);
	assert_false(drv_kick(&rig));
	ring_close(&rig);
}

/* An event set inside what was looked at before is answered: the device found that by itself. */
static void the_window_ends_with_each_look(void **state)
{
	struct ring_rig rig;

	(void)state;
	open_ring(&rig, 8, EVENT);
	dev_set_event(&rig, 7);
	drv_add_bufs(&rig, 3, 0);
	assert_false(drv_kick(&rig));
	dev_set_event(&rig, 2);
	drv_add_bufs(&rig, 1, 3);
	assert_false(drv_kick(&rig));
	dev_set_event(&rig, 4);
	drv_add_bufs(&rig, 1, 4);
	assert_true(drv_kick(&rig));
	ring_close(&rig);
}

/* So many were published without a look that the window cannot tell: 65534 still can. */
static void a_kick_is_forced_before_the_window_wraps(void **state)
{
	static const struct {
		uint32_t flags, published;
		bool     kick;
	} cases[] = {
		{ EVENT, 65534, false },         { EVENT, 65535, true },          { EVENT, 65536, true },
		{ EVENT, 131072, true },         { PACKED | EVENT, 65535, true }, { PACKED | EVENT, 65536, true },
		{ PACKED | EVENT, 200000, true },
	};
	struct ring_rig rig;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_ring(&rig, 4, cases[i].flags);
		dev_set_event(&rig, 1);
		ring_run(&rig, 2);
		(void)drv_kick(&rig);
		ring_run(&rig, cases[i].published);
		if ((cases[i].flags & PACKED) == 0u) {
			dev_set_event(&rig, 2u + cases[i].published); /* the next one */
			assert_int_equal(drv_kick(&rig), cases[i].kick);
		} else {
			dev_set_wish(&rig, DESC | vnetrx_virtq_notification_data(rig.vq, 0) >> 16);
			assert_true(drv_kick(&rig));
		}
		ring_close(&rig);
	}
}

/* ---- callbacks ---- */

static void callbacks_start_disabled(void **state)
{
	struct ring_rig rig;

	(void)state;
	open_ring(&rig, 8, 0);
	assert_int_equal(dev_flags(&rig), 1);
	ring_close(&rig);
	open_ring(&rig, 8, EVENT);
	assert_int_equal(dev_flags(&rig), 0);
	assert_int_equal(dev_event(&rig), 65535);
	ring_close(&rig);
	open_ring(&rig, 8, PACKED | EVENT);
	assert_int_equal(dev_wish(&rig), DISABLE);
	ring_close(&rig);
}

/* At every index around the wrap: the next used buffer interrupts, and one that came before the look is told. */
static void enable_asks_for_the_next_used_buffer(void **state)
{
	struct ring_rig rig;
	uint32_t start;

	(void)state;
	for (start = 65536u - 3u; start < 65536u + 3u; start++) {
		open_ring(&rig, 4, EVENT | (start % 2u != 0u ? VNETRX_VIRTQ_BIG_ENDIAN : 0u));
		ring_jump(&rig, start);
		assert_false(vnetrx_virtq_enable(rig.vq));
		assert_int_equal(dev_event(&rig), start % 65536u);
		drv_add_bufs(&rig, 1, 0);
		vnetrx_virtq_publish(rig.vq);
		assert_int_equal(dev_echo(&rig, 1), 1);
		assert_true(passes(dev_event(&rig), start % 65536u, (start + 1u) % 65536u));
		assert_true(vnetrx_virtq_enable(rig.vq));
		assert_int_equal(dev_event(&rig), start % 65536u); /* not reaped yet */
		drv_expect(&rig, 0, 1);
		assert_false(vnetrx_virtq_enable(rig.vq));
		assert_int_equal(dev_event(&rig), (start + 1u) % 65536u);
		ring_close(&rig);
	}
}

static void packed_enable_asks_for_the_next_used_descriptor(void **state)
{
	struct ring_rig rig;
	uint32_t size, start;

	(void)state;
	for (size = 1; size <= 9u; size++) {
		for (start = 0; start < 4u * size; start++) {
			open_ring(&rig, size, PACKED | EVENT);
			ring_run(&rig, start);
			assert_false(vnetrx_virtq_enable(rig.vq));
			assert_int_equal(dev_wish(&rig), wish_at(start, size));
			drv_add_bufs(&rig, 1, 0);
			vnetrx_virtq_publish(rig.vq);
			assert_int_equal(dev_echo(&rig, 1), 1);
			assert_true(vnetrx_virtq_enable(rig.vq));
			vnetrx_virtq_disable(rig.vq);
			assert_int_equal(dev_wish(&rig), DISABLE);
			ring_close(&rig);
		}
	}
}

static void without_event_indices_the_flags_ask(void **state)
{
	struct ring_rig rig;

	(void)state;
	open_ring(&rig, 8, 0);
	assert_false(vnetrx_virtq_enable(rig.vq));
	assert_int_equal(dev_flags(&rig), 0);
	vnetrx_virtq_disable(rig.vq);
	assert_int_equal(dev_flags(&rig), 1);
	assert_false(vnetrx_virtq_enable_delayed(rig.vq));
	assert_int_equal(dev_flags(&rig), 0);
	ring_close(&rig);

	open_ring(&rig, 8, PACKED);
	assert_false(vnetrx_virtq_enable(rig.vq));
	assert_int_equal(dev_wish(&rig), 0);
	vnetrx_virtq_disable(rig.vq);
	assert_int_equal(dev_wish(&rig), DISABLE);
	assert_false(vnetrx_virtq_enable_delayed(rig.vq));
	assert_int_equal(dev_wish(&rig), 0);
	ring_close(&rig);
}

/* The lost wake-up: used between asking and looking, or between prepare and poll. */
static void what_is_used_between_prepare_and_poll_is_seen(void **state)
{
	static const uint32_t flags[] = { 0, EVENT, EVENT | VNETRX_VIRTQ_IN_ORDER, PACKED, PACKED | EVENT,
		                          PACKED | EVENT | VNETRX_VIRTQ_IN_ORDER };
	struct ring_rig       rig;
	uint32_t f, start, point;

	(void)state;
	for (f = 0; f < 6u; f++) {
		for (start = 65536u - 10u; start < 65536u + 10u; start++) {
			open_ring(&rig, 8, flags[f]);
			start_at(&rig, start);
			drv_add_bufs(&rig, 2, 0);
			point = vnetrx_virtq_enable_prepare(rig.vq);
			assert_false(vnetrx_virtq_poll(rig.vq, point));
			drv_expect_none(&rig);
			assert_false(vnetrx_virtq_poll(rig.vq, point)); /* published is not used */
			assert_int_equal(dev_echo(&rig, 1), 2);
			assert_true(vnetrx_virtq_poll(rig.vq, point));
			drv_expect(&rig, 0, 1);
			drv_expect(&rig, 1, 1);
			assert_true(vnetrx_virtq_poll(rig.vq, point)); /* it was behind that point */
			point = vnetrx_virtq_enable_prepare(rig.vq);
			assert_false(vnetrx_virtq_poll(rig.vq, point));
			ring_close(&rig);
		}
	}
}

/* No interrupt for any of the next 65535 used buffers. */
static void a_disabled_event_index_is_as_far_away_as_can_be(void **state)
{
	struct ring_rig rig;
	uint32_t start;

	(void)state;
	for (start = 65530; start < 65540u; start++) {
		open_ring(&rig, 4, EVENT);
		ring_jump(&rig, start);
		assert_false(vnetrx_virtq_enable(rig.vq));
		vnetrx_virtq_disable(rig.vq);
		assert_false(passes(dev_event(&rig), start % 65536u, (start + 65535u) % 65536u));
		assert_int_equal(dev_flags(&rig), 0); /* 2.7.7.1: 0 with event indices */
		ring_close(&rig);
	}
}

/* ---- delayed callbacks ---- */

/* How far behind the next used buffer the interrupt is asked for, with n out. */
static uint32_t delay(struct vnetrx_virtq_config cfg, uint32_t start, uint32_t n)
{
	struct ring_rig rig;
	uint32_t at, wish;

	cfg.flags |= EVENT;
	ring_open(&rig, cfg);
	start_at(&rig, start);
	drv_add_bufs(&rig, n, 0);
	vnetrx_virtq_publish(rig.vq);
	assert_false(vnetrx_virtq_enable_delayed(rig.vq));
	if ((cfg.flags & PACKED) == 0u) {
		at = dev_event(&rig);
		ring_close(&rig);
		return (at + 131072u - start) % 65536u;
	}
	wish = dev_wish(&rig);
	ring_close(&rig);
	assert_int_equal(wish & DESC, DESC);
	at = wish % 32768u;
	if ((wish / 32768u % 2u == 0u) != (start / cfg.size % 2u != 0u)) { /* in the next round */
		assert_true(at <= start % cfg.size);
		at += cfg.size;
	}
	return at - start % cfg.size;
}

static void three_quarters_of_what_is_out_is_waited_for(void **state)
{
	static const uint32_t out[][2] = { { 0, 0 }, { 1, 0 }, { 2, 1 }, { 3, 2 }, { 4, 3 }, { 5, 3 }, { 255, 191 },
		                           { 256, 192 } };
	unsigned i;

	(void)state;
	for (i = 0; i < 8u; i++) {
		assert_int_equal(delay((struct vnetrx_virtq_config){ .size = 256 }, 0, out[i][0]), out[i][1]);
		assert_int_equal(delay((struct vnetrx_virtq_config){ .size = 256 }, 65500, out[i][0]), out[i][1]);
		assert_int_equal(delay((struct vnetrx_virtq_config){ .size = 256, .flags = PACKED }, 0, out[i][0]),
		                 out[i][1]);
		assert_int_equal(delay((struct vnetrx_virtq_config){ .size = 300, .flags = PACKED }, 299, out[i][0]),
		                 out[i][1]);
	}
}

/* num/den of n, but the last one's at most: what is out and no more has to bring the interrupt. */
static uint32_t part_of(uint32_t n, uint32_t num, uint32_t den)
{
	return num == den && n > 0u ? n - 1u : n * num / den;
}

static void the_delay_can_be_set(void **state)
{
	static const uint32_t parts[][2] = { { 1, 1 }, { 1, 2 }, { 1, 3 }, { 2, 3 }, { 7, 8 },
		                             { 1, 256 }, { 255, 256 } };
	unsigned i, n;

	(void)state;
	for (i = 0; i < 7u; i++) {
		for (n = 0; n <= 300u; n += n < 10u ? 1u : 29u) {
			struct vnetrx_virtq_config cfg = { .size = 512,
							   .delay_num = parts[i][0],
							   .delay_den = parts[i][1] };

			assert_int_equal(delay(cfg, 3, n), part_of(n, parts[i][0], parts[i][1]));
			cfg.flags = PACKED;
			assert_int_equal(delay(cfg, 500, n), part_of(n, parts[i][0], parts[i][1]));
		}
	}
}

/* Packed rings count descriptors: three chains of three are nine, of which 6 are waited for. */
static void a_packed_delay_counts_descriptors(void **state)
{
	struct ring_rig rig;
	unsigned i;

	(void)state;
	ring_open(&rig, (struct vnetrx_virtq_config){ .size = 16, .flags = PACKED | EVENT, .segs_max = 3 });
	for (i = 0; i < 3u; i++)
		drv_add(&rig, 1, 2, i);
	vnetrx_virtq_publish(rig.vq);
	assert_false(vnetrx_virtq_enable_delayed(rig.vq));
	assert_int_equal(dev_wish(&rig), DESC | 32768u | 6u);
	ring_close(&rig);
}

/* Against division, from inside, for numbers that no ring of a test reaches. */
static void the_share_is_exact(void **state)
{
	uint32_t num, den, n;

	(void)state;
	for (den = 1; den <= 256u; den++) {
		for (num = 1; num <= den; num += num + 8u < den ? 7u : 1u) {
			struct ring_rig rig;

			ring_open(&rig, (struct vnetrx_virtq_config){ .size = 1, .delay_num = num, .delay_den = den });
			for (n = 0; n <= 32768u; n += n < 300u || n > 32700u ? 1u : 211u)
				assert_int_equal(vnrx_virtq_share(rig.vq, n), n * num / den);
			ring_close(&rig);
		}
	}
}

/* Every place in a packed ring: the asked descriptor is in this round or the next. */
static void a_packed_delay_crosses_the_end(void **state)
{
	uint32_t size, start, n;

	(void)state;
	for (size = 1; size <= 9u; size++)
		for (start = 0; start < 4u * size; start++)
			for (n = 0; n <= size; n++) {
				struct vnetrx_virtq_config cfg = { .size = size, .flags = PACKED };

				assert_int_equal(delay(cfg, start, n), n * 3u / 4u);
				cfg.delay_num = cfg.delay_den = 1;
				assert_int_equal(delay(cfg, start, n), part_of(n, 1, 1));
			}
}

/* 8 out, 6 waited for: with 6 used an interrupt will come, with 7 it may be late already. Packed rings say so at 1. */
static void a_delay_that_is_over_is_told(void **state)
{
	struct ring_rig   rig;
	struct ring_chain chain;
	unsigned packed, n, k;

	(void)state;
	for (packed = 0; packed < 2u; packed++) {
		for (n = 0; n <= 8u; n++) {
			open_ring(&rig, 8, EVENT | (packed != 0u ? PACKED : 0u));
			start_at(&rig, 65533);
			drv_add_bufs(&rig, 8, 0);
			vnetrx_virtq_publish(rig.vq);
			for (k = 0; k < n; k++) {
				assert_true(dev_take(&rig, &chain));
				dev_use(&rig, chain.id, 1, 1);
			}
			assert_int_equal(vnetrx_virtq_enable_delayed(rig.vq), packed != 0u ? n > 0u : n > 6u);
			if (packed == 0u) /* and then its interrupt has come */
				assert_int_equal(passes(dev_event(&rig), 65533, (65533u + n) % 65536u), n > 6u);
			ring_close(&rig);
		}
	}
}

/* A used index that jumps past the event interrupts as one that steps on it: the window, not equality. */
static void a_device_that_jumps_past_the_event_still_interrupts(void **state)
{
	struct ring_rig   rig;
	struct ring_chain chain;
	uint32_t event, k;

	(void)state;
	open_ring(&rig, 16, EVENT);
	ring_run(&rig, 8);
	drv_add_bufs(&rig, 4, 0);
	vnetrx_virtq_publish(rig.vq);
	assert_false(vnetrx_virtq_enable_delayed(rig.vq)); /* 3 of 4: event 11 */
	event = dev_event(&rig);
	assert_int_equal(event, 11);
	for (k = 0; k < 4u; k++) {
		assert_true(dev_take(&rig, &chain));
		dev_entry(&rig, 8u + k, chain.id, 1);
	}
	dev_index(&rig, 12); /* at once */
	assert_true(vnrx_event_in(event, 12, 4));
	assert_false(vnrx_event_in(event, 11, 3));
	assert_false(vnrx_event_in(event, 16, 4));
	drv_expect_run(&rig, 4, 0);
	ring_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kick_is_due_when_the_index_passes_the_event),
		cmocka_unit_test(a_packed_kick_is_due_when_the_descriptor_is_offered),
		cmocka_unit_test(a_packed_window_counts_descriptors),
		cmocka_unit_test(flags_alone_decide_without_event_indices),
		cmocka_unit_test(packed_flags_count_with_event_indices_too),
		cmocka_unit_test(publishing_alone_does_not_use_up_the_kick),
		cmocka_unit_test(the_window_ends_with_each_look),
		cmocka_unit_test(a_kick_is_forced_before_the_window_wraps),
		cmocka_unit_test(callbacks_start_disabled),
		cmocka_unit_test(enable_asks_for_the_next_used_buffer),
		cmocka_unit_test(packed_enable_asks_for_the_next_used_descriptor),
		cmocka_unit_test(without_event_indices_the_flags_ask),
		cmocka_unit_test(what_is_used_between_prepare_and_poll_is_seen),
		cmocka_unit_test(a_disabled_event_index_is_as_far_away_as_can_be),
		cmocka_unit_test(three_quarters_of_what_is_out_is_waited_for),
		cmocka_unit_test(the_delay_can_be_set),
		cmocka_unit_test(a_packed_delay_counts_descriptors),
		cmocka_unit_test(the_share_is_exact),
		cmocka_unit_test(a_packed_delay_crosses_the_end),
		cmocka_unit_test(a_delay_that_is_over_is_told),
		cmocka_unit_test(a_device_that_jumps_past_the_event_still_interrupts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
