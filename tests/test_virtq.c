/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration, memory, areas, detach and reset of virtqueues; what is the same in both formats. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/ring_rig.h"
#include "support/test_host.h"

static void expect_wrong(struct vnetrx_virtq_config cfg, const char *field)
{
	struct vnetrx_virtq *vq = NULL;
	const char *why = NULL;
	void *mem = test_mem(4096);

	assert_int_equal(vnetrx_virtq_footprint(&cfg, &why), 0);
	assert_non_null(why);
	assert_int_equal(strncmp(why, field, strlen(field)), 0);
	assert_int_equal(vnetrx_virtq_footprint(&cfg, NULL), 0);
	assert_int_equal(vnetrx_virtq_ring_bytes(&cfg), 0);
	cfg.ring = mem;
	assert_int_equal(vnetrx_virtq_init(&vq, &cfg, mem, 4096), VNETRX_ERR_INVALID);
	assert_null(vq);
	free(mem);
}

/* A good configuration but for one field, or two. */
#define EXPECT_WRONG2(field, value, other, its_value) \
	do { \
		struct vnetrx_virtq_config cfg_ = { .size = 64 }; \
		cfg_.other = (its_value); \
		cfg_.field = (value); \
		expect_wrong(cfg_, #field ":"); \
	} while (0)
#define EXPECT_WRONG(field, value) EXPECT_WRONG2(field, value, ring, NULL)

static void a_wrong_configuration_is_refused_with_the_fields_name(void **state)
{
	(void)state;
	EXPECT_WRONG(size, 0);
	EXPECT_WRONG(size, 3);
	EXPECT_WRONG(size, 65536);
	EXPECT_WRONG(size, UINT32_MAX);
	EXPECT_WRONG2(size, 32769, flags, VNETRX_VIRTQ_PACKED);
	EXPECT_WRONG2(size, 0, flags, VNETRX_VIRTQ_PACKED);
	EXPECT_WRONG(flags, 0x40);
	EXPECT_WRONG(flags, VNETRX_VIRTQ_PACKED | VNETRX_VIRTQ_BIG_ENDIAN);
	EXPECT_WRONG(ring_align, 8);
	EXPECT_WRONG(ring_align, 96);
	EXPECT_WRONG(ring_align, 131072);
	EXPECT_WRONG(segs_max, 65);
	EXPECT_WRONG2(segs_max, 1025, size, 2048);
	EXPECT_WRONG(segs_max, UINT32_MAX);
	EXPECT_WRONG2(delay_den, 0, delay_num, 3);
	EXPECT_WRONG2(delay_num, 5, delay_den, 4);
	EXPECT_WRONG2(delay_den, 257, delay_num, 1);
	EXPECT_WRONG2(delay_num, 0, delay_den, 4);
	EXPECT_WRONG2(delay_num, UINT32_MAX, delay_den, 256);
}

static void memory_that_is_too_small_or_misaligned_is_refused(void **state)
{
	struct vnetrx_virtq_config cfg = { .size = 64, .flags = VNETRX_VIRTQ_IN_ORDER };
	struct vnetrx_virtq *vq = NULL;
	size_t   n = vnetrx_virtq_footprint(&cfg, NULL);
	uint8_t *mem = test_mem(n + 64u);
	uint8_t *ring = test_mem(vnetrx_virtq_ring_bytes(&cfg) + 64u);

	(void)state;
	assert_int_equal(vnetrx_virtq_init(&vq, &cfg, mem, n), VNETRX_ERR_INVALID); /* no ring */
	cfg.ring = ring + 32;
	assert_int_equal(vnetrx_virtq_init(&vq, &cfg, mem, n), VNETRX_ERR_INVALID);
	cfg.ring = ring;
	cfg.ring_dma = 8;
	assert_int_equal(vnetrx_virtq_init(&vq, &cfg, mem, n), VNETRX_ERR_INVALID);
	cfg.ring_dma = 16;
	assert_int_equal(vnetrx_virtq_init(&vq, &cfg, mem, n - 1u), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_virtq_init(&vq, &cfg, mem, 0), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_virtq_init(&vq, &cfg, mem + 32, n), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_virtq_init(&vq, &cfg, NULL, n), VNETRX_ERR_NOMEM);
	assert_null(vq);
	assert_int_equal(vnetrx_virtq_init(&vq, &cfg, mem, n), VNETRX_OK);
	assert_non_null(vq);
	free(ring);
	free(mem);
}

static void areas_lie_where_the_specification_wants_them(void **state)
{
	struct vnetrx_virtq_areas areas;
	struct ring_rig rig;

	(void)state;
	ring_open(&rig, (struct vnetrx_virtq_config){ .size = 256 }); /* 2.7: 16 n, 6 + 2 n, 6 + 8 n bytes */
	vnetrx_virtq_read_areas(rig.vq, &areas);
	assert_true(areas.driver == RIG_DMA + 4096u);
	assert_true(areas.device == RIG_DMA + 4096u + 576u);
	assert_int_equal(vnetrx_virtq_ring_bytes(&rig.cfg), 4096u + 576u + 2112u);
	ring_close(&rig);

	ring_open(&rig, (struct vnetrx_virtq_config){ .size = 256, .ring_align = 4096 }); /* 2.7.2, legacy */
	vnetrx_virtq_read_areas(rig.vq, &areas);
	assert_true(areas.driver == RIG_DMA + 4096u);
	assert_true(areas.device == RIG_DMA + 8192u);
	assert_int_equal(vnetrx_virtq_ring_bytes(&rig.cfg), 12288);
	ring_close(&rig);

	ring_open(&rig, (struct vnetrx_virtq_config){ .size = 5, .flags = VNETRX_VIRTQ_PACKED }); /* 2.8: 16 n, 4, 4 */
	vnetrx_virtq_read_areas(rig.vq, &areas);
	assert_true(areas.driver == RIG_DMA + 128u);
	assert_true(areas.device == RIG_DMA + 192u);
	assert_int_equal(vnetrx_virtq_ring_bytes(&rig.cfg), 256);
	ring_close(&rig);

	rig.cfg.flags |= VNETRX_VIRTQ_INDIRECT;
	rig.cfg.segs_max = 5;
	assert_int_equal(vnetrx_virtq_ring_bytes(&rig.cfg), 256u + 5u * 5u * 16u);
}

static void the_largest_configurations_can_be_had(void **state)
{
	struct vnetrx_virtq_config cfg = { .size = 32768, .flags = VNETRX_VIRTQ_INDIRECT, .segs_max = 1024,
		                           .ring_align = 65536 };

	(void)state;
	assert_true(vnetrx_virtq_footprint(&cfg, NULL) != 0u);
	assert_int_equal(vnetrx_virtq_ring_bytes(&cfg), 524288u + 131072u + 327680u + 536870912u);
	cfg.flags |= VNETRX_VIRTQ_PACKED | VNETRX_VIRTQ_IN_ORDER;
	assert_true(vnetrx_virtq_footprint(&cfg, NULL) != 0u);
	assert_int_equal(vnetrx_virtq_ring_bytes(&cfg), 524288u + 131072u + 536870912u);
}

static void a_chain_of_no_or_too_many_segments_is_refused(void **state)
{
	struct vnetrx_virtq_seg segs[4] = { { 4096, 1, 0 } };
	struct ring_rig         rig;

	(void)state;
	ring_open(&rig, (struct vnetrx_virtq_config){ .size = 8, .segs_max = 3 });
	assert_int_equal(vnetrx_virtq_add(rig.vq, segs, 0, 0, 1), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_virtq_add(rig.vq, segs, 2, 2, 1), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_virtq_add(rig.vq, segs, 4, 0, 1), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_virtq_add(rig.vq, segs, UINT32_MAX, 2, 1), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_virtq_add(rig.vq, segs, 2, UINT32_MAX, 1), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_virtq_outstanding(rig.vq), 0);
	ring_close(&rig);
}

static void slots_needed_follow_from_indirect(void **state)
{
	struct ring_rig rig;

	(void)state;
	ring_open(&rig, (struct vnetrx_virtq_config){ .size = 8, .segs_max = 3 });
	assert_int_equal(vnetrx_virtq_slots_needed(rig.vq, 1), 1);
	assert_int_equal(vnetrx_virtq_slots_needed(rig.vq, 3), 3);
	ring_close(&rig);
	ring_open(&rig, (struct vnetrx_virtq_config){ .size = 8, .segs_max = 3, .flags = VNETRX_VIRTQ_INDIRECT });
	assert_int_equal(vnetrx_virtq_slots_needed(rig.vq, 1), 1);
	assert_int_equal(vnetrx_virtq_slots_needed(rig.vq, 3), 1);
	ring_close(&rig);
}

/* In every mode: what is lent is taken back once, whether it was published, used or neither, and after a reset both
 * sides start anew. */
static void a_stopped_queue_gives_everything_back_and_starts_anew(void **state)
{
	struct ring_rig rig;
	uint32_t flags, id, seen;
	unsigned i, round;

	(void)state;
	for (flags = 0; flags < 16u; flags++) {
		ring_open(&rig, (struct vnetrx_virtq_config){ .size = 16, .flags = flags, .segs_max = 3 });
		for (round = 0; round < 5u; round++) {
			ring_run(&rig, 7u * round);
			drv_add(&rig, 1, 2, 0);
			drv_add_bufs(&rig, 3, 1);
			vnetrx_virtq_publish(rig.vq);
			assert_int_equal(dev_echo(&rig, 60), 4);
			drv_expect(&rig, 0, 60);
			drv_add(&rig, 2, 1, 4);
			for (seen = 0, i = 0; i < 4u; i++) {
				assert_true(vnetrx_virtq_detach(rig.vq, &id));
				seen |= 1u << id;
			}
			assert_int_equal(seen, 0x1e);
			assert_false(vnetrx_virtq_detach(rig.vq, &id));
			assert_int_equal(vnetrx_virtq_free_slots(rig.vq), 16);
			vnetrx_virtq_reset(rig.vq);
			ring_restart(&rig);
			drv_expect_none(&rig);
		}
		ring_close(&rig);
	}
}

static void a_reset_forgets_what_is_lent(void **state)
{
	struct ring_rig rig;
	uint32_t flags, id;

	(void)state;
	for (flags = 0; flags < 16u; flags++) {
		ring_open(&rig, (struct vnetrx_virtq_config){ .size = 4, .flags = flags });
		drv_add_bufs(&rig, 4, 0);
		vnetrx_virtq_publish(rig.vq);
		assert_int_equal(dev_echo(&rig, 1), 4);
		drv_expect(&rig, 0, 1);
		vnetrx_virtq_reset(rig.vq);
		ring_restart(&rig);
		assert_int_equal(vnetrx_virtq_outstanding(rig.vq), 0);
		assert_int_equal(vnetrx_virtq_free_slots(rig.vq), 4);
		assert_false(vnetrx_virtq_detach(rig.vq, &id));
		assert_false(vnetrx_virtq_kick_needed(rig.vq));
		drv_expect_none(&rig);
		assert_int_equal(dev_take_all(&rig), 0);
		ring_run(&rig, 13);
		ring_close(&rig);
	}
}

static void as_many_as_an_unsigned_says_may_be_reaped_at_once(void **state)
{
	static const uint32_t flags[] = { 0, VNETRX_VIRTQ_PACKED, VNETRX_VIRTQ_IN_ORDER,
		                          VNETRX_VIRTQ_PACKED | VNETRX_VIRTQ_IN_ORDER };

	(void)state;
	for (unsigned i = 0; i < 4u; i++) {
		struct vnetrx_done done[8];
		struct ring_rig rig;

		ring_open(&rig, (struct vnetrx_virtq_config){ .size = 8, .flags = flags[i] });
		drv_add_bufs(&rig, 3, 10);
		vnetrx_virtq_publish(rig.vq);
		assert_int_equal(dev_echo(&rig, 77), 3);
		assert_int_equal(vnetrx_virtq_reap(rig.vq, done, UINT_MAX), 3);
		for (uint32_t k = 0; k < 3u; k++)
			assert_true(done[k].id == 10u + k && done[k].len == 77u);
		ring_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_configuration_is_refused_with_the_fields_name),
		cmocka_unit_test(memory_that_is_too_small_or_misaligned_is_refused),
		cmocka_unit_test(areas_lie_where_the_specification_wants_them),
		cmocka_unit_test(the_largest_configurations_can_be_had),
		cmocka_unit_test(a_chain_of_no_or_too_many_segments_is_refused),
		cmocka_unit_test(slots_needed_follow_from_indirect),
		cmocka_unit_test(a_stopped_queue_gives_everything_back_and_starts_anew),
		cmocka_unit_test(a_reset_forgets_what_is_lent),
		cmocka_unit_test(as_many_as_an_unsigned_says_may_be_reaped_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
