/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices and the host of the examples do what other tests take for granted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "faulty.h"
#include "heap.h"
#include "softdev.h"

#define RING    8u
#define BUF_LEN 128u
#define HDR_LEN 12u

struct rig {
	struct softdev *dev;
	uint8_t bytes[RING][BUF_LEN];
	struct vnetrx_buf bufs[RING];
	struct vnetrx_done done[RING];
};

static void setup(struct rig *rig, uint32_t flags)
{
	memset(rig, 0, sizeof(*rig));
	rig->dev = softdev_new(&(struct softdev_config){ .ring_size = RING, .flags = flags, .seed = 7u });
	assert_non_null(rig->dev);
	for (uint32_t i = 0u; i < RING; i++)
		rig->bufs[i] = (struct vnetrx_buf){ .addr = rig->bytes[i], .len = BUF_LEN, .id = 100u + i };
	assert_int_equal(softdev_ops.post(rig->dev, rig->bufs, RING), RING);
}

static void a_long_frame_fills_all_buffers_but_the_last(void **state)
{
	struct rig rig;
	uint8_t frame[300];

	(void)state;
	for (unsigned i = 0u; i < sizeof(frame); i++)
		frame[i] = (uint8_t)i;
	setup(&rig, 0u);
	assert_int_equal(softdev_send(rig.dev, frame, sizeof(frame), NULL), 0);
	assert_int_equal(softdev_ops.reap(rig.dev, rig.done, RING), 3);
	assert_int_equal(rig.done[0].len, BUF_LEN);
	assert_int_equal(rig.done[1].len, BUF_LEN);
	assert_int_equal(rig.done[2].len, HDR_LEN + sizeof(frame) - 2u * BUF_LEN);
	assert_int_equal(rig.done[2].id, 102u);
	assert_int_equal(rig.bytes[0][10], 3u); /* num_buffers */
	assert_memory_equal(rig.bytes[0] + HDR_LEN, frame, BUF_LEN - HDR_LEN);
	assert_memory_equal(rig.bytes[1], frame + BUF_LEN - HDR_LEN, BUF_LEN);
	assert_memory_equal(rig.bytes[2], frame + 2u * BUF_LEN - HDR_LEN, rig.done[2].len);
	softdev_free(rig.dev);
}

static void a_frame_larger_than_the_ring_is_lost_and_counted(void **state)
{
	static const uint8_t frame[RING * BUF_LEN];
	struct softdev_stats stats;
	struct rig rig;

	(void)state;
	setup(&rig, 0u);
	assert_false(softdev_fits(rig.dev, RING * BUF_LEN - HDR_LEN + 1u));
	assert_true(softdev_fits(rig.dev, RING * BUF_LEN - HDR_LEN));
	assert_int_equal(softdev_send(rig.dev, frame, sizeof(frame), NULL), -1);
	softdev_read_stats(rig.dev, &stats);
	assert_int_equal(stats.drops, 1u);
	assert_int_equal(softdev_room(rig.dev), RING);
	assert_int_equal(softdev_waiting(rig.dev), 0u);
	softdev_free(rig.dev);
}

static void buffers_are_unseen_until_the_kick(void **state)
{
	static const uint8_t frame[60];
	struct rig rig;

	(void)state;
	setup(&rig, SOFTDEV_NEED_KICK);
	assert_int_equal(softdev_send(rig.dev, frame, sizeof(frame), NULL), -1);
	softdev_ops.kick(rig.dev);
	assert_int_equal(softdev_send(rig.dev, frame, sizeof(frame), NULL), 0);
	softdev_free(rig.dev);
}

static void shuffled_buffers_come_back_once_each(void **state)
{
	static const uint8_t frame[60];
	unsigned seen = 0u, in_order = 0u;
	struct rig rig;

	(void)state;
	setup(&rig, SOFTDEV_SHUFFLE);
	for (unsigned i = 0u; i < RING; i++)
		assert_int_equal(softdev_send(rig.dev, frame, sizeof(frame), NULL), 0);
	assert_int_equal(softdev_ops.reap(rig.dev, rig.done, RING), RING);
	for (unsigned i = 0u; i < RING; i++) {
		seen |= 1u << (rig.done[i].id - 100u);
		in_order += rig.done[i].id == 100u + i;
	}
	assert_int_equal(seen, (1u << RING) - 1u);
	assert_true(in_order < RING);
	softdev_free(rig.dev);
}

static void what_is_known_of_a_packet_survives_the_header(void **state)
{
	const struct vnetrx_meta meta = { .flags = VNETRX_PKT_PARTIAL, .csum_start = 34u, .csum_offset = 16u,
	                                  .gso_type = VNETRX_GSO_TCPV4, .gso_size = 1448u };
	struct vnetrx_meta out = { .skip = HDR_LEN };
	static const uint8_t frame[100];
	struct rig rig;

	(void)state;
	setup(&rig, 0u);
	assert_int_equal(softdev_send(rig.dev, frame, sizeof(frame), &meta), 0);
	assert_int_equal(softdev_ops.decode(rig.dev, rig.bytes[0], HDR_LEN, &out), 0);
	assert_int_equal(out.flags, VNETRX_PKT_PARTIAL);
	assert_int_equal(out.nbufs, 1u);
	assert_int_equal(out.gso_type, VNETRX_GSO_TCPV4);
	assert_int_equal(out.gso_size, 1448u);
	assert_int_equal(out.csum_start, 34u);
	assert_int_equal(out.csum_offset, 16u);
	softdev_free(rig.dev);
}

/* A faulty device over a softdev that has RING small packets waiting. */
static struct faulty *faulty_setup(struct rig *rig)
{
	static const uint8_t frame[60];
	struct faulty *faulty;

	setup(rig, 0u);
	softdev_reset(rig->dev);
	faulty = faulty_new(&(struct faulty_config){ .ops = &softdev_ops, .dev = rig->dev, .ring_size = RING,
	                                             .hdr_len = HDR_LEN, .seed = 3u });
	assert_non_null(faulty);
	assert_int_equal(faulty_ops.post(faulty, rig->bufs, RING), RING);
	for (unsigned i = 0u; i < RING; i++)
		assert_int_equal(softdev_send(rig->dev, frame, sizeof(frame), NULL), 0);
	return faulty;
}

static void a_quiet_faulty_device_changes_nothing(void **state)
{
	struct rig rig;
	struct faulty *faulty = faulty_setup(&rig);

	(void)state;
	faulty_set_all(faulty, 1000000u);
	faulty_fail(faulty, FAULTY_OP_REAP, 1u, true);
	faulty_quiet(faulty, true);
	assert_int_equal(faulty_ops.reap(faulty, rig.done, RING), RING);
	for (unsigned i = 0u; i < RING; i++) {
		assert_int_equal(rig.done[i].id, 100u + i);
		assert_int_equal(rig.done[i].len, HDR_LEN + 60u);
	}
	faulty_free(faulty);
	softdev_free(rig.dev);
}

static void swallowed_buffers_are_known_until_a_reset(void **state)
{
	struct rig rig;
	struct faulty *faulty = faulty_setup(&rig);

	(void)state;
	faulty_set(faulty, FAULTY_LOST, 1000000u);
	assert_int_equal(faulty_ops.reap(faulty, rig.done, RING), 0);
	assert_int_equal(faulty_hidden(faulty), RING);
	assert_int_equal(faulty_ops.post(faulty, rig.bufs, 1u), 0u);
	softdev_reset(rig.dev);
	faulty_reset(faulty);
	assert_int_equal(faulty_hidden(faulty), 0u);
	assert_int_equal(faulty_ops.post(faulty, rig.bufs, RING), RING);
	faulty_free(faulty);
	softdev_free(rig.dev);
}

static void an_op_fails_at_the_call_it_was_told_to(void **state)
{
	struct rig rig;
	struct faulty *faulty = faulty_setup(&rig);

	(void)state;
	faulty_fail(faulty, FAULTY_OP_REAP, 2u, false);
	assert_int_equal(faulty_ops.reap(faulty, rig.done, 1u), 1);
	assert_true(faulty_ops.reap(faulty, rig.done, 1u) < 0);
	assert_int_equal(faulty_ops.reap(faulty, rig.done, 1u), 1);
	faulty_free(faulty);
	softdev_free(rig.dev);
}

static void a_heap_page_fails_when_told_and_is_counted(void **state)
{
	struct heap_host host = { .fail_at = 2u, .fail_from = 4u };
	uint64_t dma = 0u;
	void *page = heap_host_ops.page_alloc(&host, 4096u, &dma);
	void *third;

	(void)state;
	assert_non_null(page);
	assert_int_equal(dma, (uintptr_t)page);
	assert_int_equal((uintptr_t)page % 4096u, 0u);
	assert_null(heap_host_ops.page_alloc(&host, 4096u, &dma));
	third = heap_host_ops.page_alloc(&host, 4096u, &dma);
	assert_non_null(third);
	assert_null(heap_host_ops.page_alloc(&host, 4096u, &dma));
	assert_null(heap_host_ops.page_alloc(&host, 4096u, &dma));
	assert_int_equal(host.pages_out, 2u);
	assert_int_equal(host.alloc_fails, 3u);
	heap_host_ops.page_free(&host, page, 4096u, dma);
	heap_host_ops.page_free(&host, third, 4096u, dma);
	assert_int_equal(host.pages_out, 0u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_frame_fills_all_buffers_but_the_last),
		cmocka_unit_test(a_frame_larger_than_the_ring_is_lost_and_counted),
		cmocka_unit_test(buffers_are_unseen_until_the_kick),
		cmocka_unit_test(shuffled_buffers_come_back_once_each),
		cmocka_unit_test(what_is_known_of_a_packet_survives_the_header),
		cmocka_unit_test(a_quiet_faulty_device_changes_nothing),
		cmocka_unit_test(swallowed_buffers_are_known_until_a_reset),
		cmocka_unit_test(an_op_fails_at_the_call_it_was_told_to),
		cmocka_unit_test(a_heap_page_fails_when_told_and_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
