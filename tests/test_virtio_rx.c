/* SPDX-License-Identifier: BSD-3-Clause */
/* A receive queue over a virtqueue, against the examples' device side: every kind of ring, both header layouts. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/stream.h"
#include "virtio/rx_rig.h"

#define MS 1000000u

/* Runs f over every kind of ring with the given options. */
static void for_all_rings(struct rx_options opt, void (*f)(struct rx_rig *r))
{
	uint32_t flags = 0;

	for (unsigned i = 0; ring_pair_kind(i, &flags) != NULL; i++) {
		struct rx_rig r;

		opt.flags = flags;
		rx_rig_open(&r, &opt);
		assert_int_equal(vnetrx_rxq_fill(r.rxq), r.rx.bufs_max);
		f(&r);
		rx_rig_close(&r);
	}
}

static const struct rx_options mergeable = { .size = 64, .hdr_len = 12, .features = VNETRX_VIRTIO_MRG_RXBUF };

/* ---- frames come up ---- */

static void send_many(struct rx_rig *r)
{
	for (uint32_t i = 0; i < 3000u; i++) {
		assert_true(rx_rig_send(r, 60u + i % 1400u));
		if (i % 7u == 0u)
			rx_rig_drain(r);
	}
	rx_rig_drain(r);
	assert_int_equal(r->came, 3000);
	assert_int_equal(vnetrx_virtq_outstanding(r->ring.vq), r->rx.bufs_max);
}

static void frames_come_up_through_every_ring(void **state)
{
	(void)state;
	for_all_rings(mergeable, send_many);
}

static void frames_come_up_with_every_header_length(void **state)
{
	static const uint32_t lengths[] = { 10, 12, 20, 24, 32 };

	(void)state;
	for (unsigned i = 0; i < 5u; i++) {
		struct rx_options opt = { .size = 32, .hdr_len = lengths[i] };
		struct rx_rig r;

		rx_rig_open(&r, &opt);
		assert_int_equal(vnetrx_rxq_fill(r.rxq), 32);
		send_many(&r);
		rx_rig_close(&r);
	}
}

static void send_merged(struct rx_rig *r)
{
	for (uint32_t i = 0; i < 500u; i++) {
		assert_true(rx_rig_send(r, 100u + i * 17u));
		rx_rig_drain(r);
	}
	assert_int_equal(r->came, 500);
}

static void frames_over_several_buffers_come_up_whole(void **state)
{
	struct rx_options opt = mergeable;

	(void)state;
	opt.buf_len = 512;
	opt.frame_len_max = 9000;
	for_all_rings(opt, send_merged);
}

static void ring_goes_on_when_the_16_bit_indices_wrap(void **state)
{
	struct rx_options opt = mergeable;
	struct rx_rig r;
	uint32_t frames = 140000u / stream_step(2);

	(void)state;
	opt.flags = VNETRX_VIRTQ_EVENT_IDX;
	rx_rig_open(&r, &opt);
	(void)vnetrx_rxq_fill(r.rxq);
	for (uint32_t i = 0; i < frames; i++) {
		assert_true(rx_rig_send(&r, 60));
		if (i % 30u == 0u)
			rx_rig_drain(&r);
	}
	rx_rig_drain(&r);
	assert_int_equal(r.came, frames);
	rx_rig_close(&r);
}

/* ---- the header in a descriptor of its own ---- */

static void check_split(struct rx_rig *r)
{
	send_many(r);
	assert_int_equal(r->segs_seen, 2);
	assert_int_equal(r->first_seen, 10);
}

static void header_may_have_a_descriptor_of_its_own(void **state)
{
	struct rx_options opt = { .size = 64, .hdr_len = 10, .rx_flags = VNETRX_VIRTIO_RX_SPLIT_HDR };

	(void)state;
	for_all_rings(opt, check_split);
}

static void further_buffers_lose_nothing_to_a_header_descriptor(void **state)
{
	struct rx_options opt = mergeable;

	(void)state;
	opt.rx_flags = VNETRX_VIRTIO_RX_SPLIT_HDR;
	opt.buf_len = 512;
	opt.frame_len_max = 9000;
	for_all_rings(opt, send_merged);
}

static void split_header_halves_the_ring_unless_tables_are_indirect(void **state)
{
	struct rx_options opt = { .size = 64, .hdr_len = 10, .rx_flags = VNETRX_VIRTIO_RX_SPLIT_HDR };
	struct rx_rig r;

	(void)state;
	rx_rig_open(&r, &opt);
	assert_int_equal(r.rx.bufs_max, 32);
	assert_int_equal(vnetrx_rxq_fill(r.rxq), 32);
	assert_int_equal(vnetrx_virtq_free_slots(r.ring.vq), 0);
	rx_rig_close(&r);
	opt.flags = VNETRX_VIRTQ_INDIRECT;
	rx_rig_open(&r, &opt);
	assert_int_equal(r.rx.bufs_max, 64);
	assert_int_equal(vnetrx_rxq_fill(r.rxq), 64);
	rx_rig_close(&r);
}

/* ---- doorbells ---- */

static void doorbell_carries_queue_and_offset(void **state)
{
	struct rx_options opt = mergeable;
	struct rx_rig r;

	(void)state;
	opt.size = 32;
	rx_rig_open(&r, &opt);
	(void)vnetrx_rxq_fill(r.rxq);
	assert_int_equal(r.rings, 1);
	assert_int_equal(r.ring_data, 6u | 32u << 16);
	assert_true(r.rx.doorbells == 1u);
	rx_rig_close(&r);
}

static void device_that_polls_gets_no_doorbell(void **state)
{
	struct rx_options opt = mergeable;
	struct rx_rig r;

	(void)state;
	opt.polled = true;
	rx_rig_open(&r, &opt);
	(void)vnetrx_rxq_fill(r.rxq);
	for (uint32_t i = 0; i < 100u; i++) {
		assert_true(rx_rig_send(&r, 60));
		rx_rig_drain(&r);
	}
	assert_int_equal(r.came, 100);
	assert_true(r.rings == 0u && r.rx.doorbells == 0u);
	rx_rig_close(&r);
}

/* What the device finds when the doorbell rings for the first time. */
static void count_available(void *arg, uint32_t data)
{
	struct rx_rig *r = arg;
	struct softring_chain chain;
	struct softring_seg segs[2];

	(void)data;
	if (r->rings++ > 0u)
		return;
	while (softring_take(r->ring.dev, &chain, segs, 2) == 1)
		r->seen_first++;
}

static void empty_ring_is_announced_early_in_a_long_refill(void **state)
{
	struct rx_options opt = mergeable;
	struct rx_rig r;

	(void)state;
	opt.size = 1024;
	rx_rig_open(&r, &opt);
	r.rx.notify = count_available;
	assert_int_equal(vnetrx_rxq_fill(r.rxq), 1024);
	assert_int_equal(r.seen_first, 64);
	assert_int_equal(r.rings, 2);
	rx_rig_close(&r);
}

static void refill_of_a_ring_that_is_not_low_rings_once(void **state)
{
	struct rx_options opt = mergeable;
	struct rx_rig r;
	unsigned rings;

	(void)state;
	opt.size = 1024;
	rx_rig_open(&r, &opt);
	(void)vnetrx_rxq_fill(r.rxq);
	r.host.fail_from = 1; /* nothing comes back to the ring for a while */
	r.host.keep = true;
	for (uint32_t i = 0; i < 600u; i++)
		assert_true(rx_rig_send(&r, 1400));
	rx_rig_drain(&r);
	assert_true(vnetrx_virtq_outstanding(r.ring.vq) < 1024u - 128u);
	assert_true(vnetrx_virtq_outstanding(r.ring.vq) > 256u);
	r.host.fail_from = 0;
	rings = r.rings;
	assert_int_equal(vnetrx_rxq_fill(r.rxq), 1024);
	assert_int_equal(r.rings, rings + 1u);
	rx_rig_close(&r);
}

/* Small bursts: after each poll the device has its whole ring again, and was told. */
static void every_poll_gives_the_buffers_back(void **state)
{
	struct rx_options opt = mergeable;
	struct rx_rig r;

	(void)state;
	opt.size = 16;
	rx_rig_open(&r, &opt);
	(void)vnetrx_rxq_fill(r.rxq);
	for (uint32_t i = 0; i < 1000u; i++) {
		unsigned rings = r.rings;

		for (uint32_t k = 0; k < 1u + i % 16u; k++)
			assert_true(rx_rig_send(&r, 64));
		(void)vnetrx_rxq_poll(r.rxq, 64, i);
		assert_int_equal(vnetrx_virtq_outstanding(r.ring.vq), 16);
		assert_int_equal(r.rings, rings + 1u);
	}
	rx_rig_close(&r);
}

/* ---- interrupts ---- */

static void irq_once(struct rx_rig *r)
{
	rx_rig_drain(r);
	for (uint32_t i = 0; i < 200u; i++) {
		unsigned irqs = r->irqs;

		assert_true(rx_rig_send(r, 1400)); /* over three buffers */
		assert_int_equal(r->irqs, irqs + 1u);
		assert_int_equal(vnetrx_rxq_poll(r->rxq, 64, i), 1);
		irqs = r->irqs;
		assert_true(rx_rig_send(r, 1400)); /* while polling */
		if ((r->opt.flags & VNETRX_VIRTQ_EVENT_IDX) != 0u)
			assert_int_equal(r->irqs, irqs);
		rx_rig_drain(r);
	}
}

/* The event index counts entries of the ring, not packets. */
static void first_packet_after_complete_interrupts_and_no_other(void **state)
{
	struct rx_options opt = mergeable;

	(void)state;
	opt.buf_len = 576;
	for_all_rings(opt, irq_once);
}

static void no_irq(struct rx_rig *r)
{
	for (uint32_t i = 0; i < 500u; i++) {
		assert_true(rx_rig_send(r, 60));
		(void)vnetrx_rxq_poll(r->rxq, 64, i);
	}
	assert_int_equal(r->irqs, 0);
}

static void queue_that_is_only_polled_gets_no_interrupt(void **state)
{
	(void)state;
	for_all_rings(mergeable, no_irq);
}

static void late_packet(struct rx_rig *r)
{
	for (uint32_t i = 0; i < 200u; i++) {
		(void)vnetrx_rxq_poll(r->rxq, 64, i);
		assert_true(rx_rig_send(r, 60)); /* after the last look, before interrupts are on */
		assert_false(vnetrx_rxq_complete(r->rxq, i));
		rx_rig_drain(r);
		assert_int_equal(r->came, r->sent);
	}
}

static void packet_that_comes_before_interrupts_are_on_is_not_slept_over(void **state)
{
	(void)state;
	for_all_rings(mergeable, late_packet);
}

/* ---- trouble ---- */

/* The host has no memory, and the device uses up the ring. */
static void run_dry(struct rx_rig *r)
{
	r->host.keep = true;
	r->host.fail_from = 1;
	while (rx_rig_send(r, 1400))
		(void)vnetrx_rxq_poll(r->rxq, 64, r->now);
	rx_rig_drain(r);
	assert_int_equal(vnetrx_virtq_outstanding(r->ring.vq), 0);
	assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_SHORT);
	assert_false(rx_rig_send(r, 60));
}

static void dry_recovers_by_timer(struct rx_rig *r)
{
	vnetrx_ns due;

	run_dry(r);
	due = vnetrx_rxq_deadline(r->rxq);
	assert_true(due > r->now && due <= r->now + 10u * MS);
	r->host.fail_from = 0;
	(void)vnetrx_rxq_expire(r->rxq, 64, due);
	assert_int_equal(vnetrx_virtq_outstanding(r->ring.vq), r->rx.bufs_max);
	r->now = due;
	assert_true(rx_rig_send(r, 60));
	rx_rig_drain(r);
	assert_int_equal(r->came, r->sent);
}

static void dry_ring_recovers_by_timer_without_an_interrupt(void **state)
{
	(void)state;
	for_all_rings(mergeable, dry_recovers_by_timer);
}

static void dry_recovers_by_free(struct rx_rig *r)
{
	unsigned wakes;

	run_dry(r);
	wakes = atomic_load(&r->host.wakes);
	(void)heap_release(&r->host, UINT32_MAX);
	assert_true(atomic_load(&r->host.wakes) > wakes);
	assert_true(vnetrx_rxq_fill(r->rxq) > 0u); /* from what came back: the host still has no page */
	assert_true(rx_rig_send(r, 60));
	rx_rig_drain(r);
	assert_int_equal(r->came, r->sent);
}

static void dry_ring_recovers_when_the_host_returns_buffers(void **state)
{
	(void)state;
#ifdef VNRX_POOL_DEBUG
	skip(); /* a run goes back to the host, who gives none */
#endif
	for_all_rings(mergeable, dry_recovers_by_free);
}

static void break_and_repair(struct rx_rig *r)
{
	for (unsigned round = 0; round < 5u; round++) {
		for (uint32_t i = 0; i < 100u; i++) {
			assert_true(rx_rig_send(r, 1400));
			rx_rig_drain(r);
		}
		ring_pair_break(&r->ring);
		(void)vnetrx_rxq_poll(r->rxq, 64, r->now);
		assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_BROKEN);
		assert_int_equal(vnetrx_rxq_poll(r->rxq, 64, r->now), 0);
		ring_pair_reset_device(&r->ring);
		vnetrx_virtq_reset(r->ring.vq);
		assert_int_equal(vnetrx_rxq_reclaim(r->rxq), r->rx.bufs_max);
		assert_int_equal(vnetrx_rxq_fill(r->rxq), r->rx.bufs_max);
		assert_int_equal(vnetrx_rxq_state(r->rxq), VNETRX_RXQ_RUNNING);
	}
	assert_true(rx_rig_send(r, 60));
	rx_rig_drain(r);
	assert_int_equal(r->came, r->sent);
}

static void broken_ring_stops_the_queue_and_works_after_a_reset(void **state)
{
	(void)state;
	for_all_rings(mergeable, break_and_repair);
}

static void wrong_configurations_are_refused(void **state)
{
	struct vnetrx_virtio_rx rx;
	struct vnetrx_virtio_rx_config cfg = { .hdr_len = 12 };
	struct vnetrx_buf buf = { .len = 64 };
	struct ring_pair ring;

	(void)state;
	assert_int_equal(vnetrx_virtio_rx_init(&rx, &cfg), VNETRX_ERR_INVALID); /* no ring */
	ring_pair_open(&ring, 8, 0, 1);
	cfg.vq = ring.vq;
	assert_int_equal(vnetrx_virtio_rx_init(&rx, &cfg), VNETRX_OK);
	cfg.hdr_len = 11;
	assert_int_equal(vnetrx_virtio_rx_init(&rx, &cfg), VNETRX_ERR_INVALID);
	cfg.hdr_len = 12;
	cfg.flags = 2;
	assert_int_equal(vnetrx_virtio_rx_init(&rx, &cfg), VNETRX_ERR_INVALID);
	cfg.flags = 0;
	assert_int_equal(vnetrx_virtq_add_bufs(ring.vq, &buf, 1), 1);
	assert_int_equal(vnetrx_virtio_rx_init(&rx, &cfg), VNETRX_ERR_INVALID); /* in use */
	ring_pair_close(&ring);
	ring_pair_open(&ring, 1, 0, 1);
	cfg.vq = ring.vq;
	cfg.flags = VNETRX_VIRTIO_RX_SPLIT_HDR;
	assert_int_equal(vnetrx_virtio_rx_init(&rx, &cfg), VNETRX_ERR_INVALID); /* not one buffer fits */
	ring_pair_close(&ring);
}

static void post_takes_what_fits_and_no_buffer_without_room_for_a_frame(void **state)
{
	struct vnetrx_virtio_rx rx;
	struct vnetrx_virtio_rx_config cfg = { .hdr_len = 12, .flags = VNETRX_VIRTIO_RX_SPLIT_HDR };
	struct vnetrx_buf bufs[6];
	struct ring_pair ring;

	(void)state;
	ring_pair_open(&ring, 8, 0, 2);
	cfg.vq = ring.vq;
	assert_int_equal(vnetrx_virtio_rx_init(&rx, &cfg), VNETRX_OK);
	for (uint32_t i = 0; i < 6u; i++)
		bufs[i] = (struct vnetrx_buf){ .dma = 4096u * (i + 1u), .len = i == 1u ? 12 : 64, .id = i };
	assert_int_equal(vnetrx_virtio_rx_ops.post(&rx, bufs, 2), 1); /* the second is all header */
	assert_int_equal(vnetrx_virtio_rx_ops.post(&rx, bufs + 2, 4), 3); /* of eight slots two were taken */
	assert_int_equal(vnetrx_virtq_outstanding(ring.vq), 4);
	ring_pair_close(&ring);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_come_up_through_every_ring),
		cmocka_unit_test(frames_come_up_with_every_header_length),
		cmocka_unit_test(frames_over_several_buffers_come_up_whole),
		cmocka_unit_test(ring_goes_on_when_the_16_bit_indices_wrap),
		cmocka_unit_test(header_may_have_a_descriptor_of_its_own),
		cmocka_unit_test(further_buffers_lose_nothing_to_a_header_descriptor),
		cmocka_unit_test(split_header_halves_the_ring_unless_tables_are_indirect),
		cmocka_unit_test(doorbell_carries_queue_and_offset),
		cmocka_unit_test(device_that_polls_gets_no_doorbell),
		cmocka_unit_test(empty_ring_is_announced_early_in_a_long_refill),
		cmocka_unit_test(refill_of_a_ring_that_is_not_low_rings_once),
		cmocka_unit_test(every_poll_gives_the_buffers_back),
		cmocka_unit_test(first_packet_after_complete_interrupts_and_no_other),
		cmocka_unit_test(queue_that_is_only_polled_gets_no_interrupt),
		cmocka_unit_test(packet_that_comes_before_interrupts_are_on_is_not_slept_over),
		cmocka_unit_test(dry_ring_recovers_by_timer_without_an_interrupt),
		cmocka_unit_test(dry_ring_recovers_when_the_host_returns_buffers),
		cmocka_unit_test(broken_ring_stops_the_queue_and_works_after_a_reset),
		cmocka_unit_test(wrong_configurations_are_refused),
		cmocka_unit_test(post_takes_what_fits_and_no_buffer_without_room_for_a_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
