/* SPDX-License-Identifier: BSD-3-Clause */
/* Budget, deadlines, interrupts, a host that takes nothing for a while, and counters read by another thread. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rxq/ops.h"

static const struct vnetrx_rxq_config defaults;

static void open_filled(struct rxq_rig *rig, const struct vnetrx_rxq_config *cfg, struct frame *f)
{
	rxq_rig_open(rig, cfg, NULL);
	assert_int_equal(vnetrx_rxq_fill(rig->rxq), rig->cfg.ring_size);
	frame_init(f, 0);
	f->payload_len = 1000;
}

static void poll_takes_no_more_than_its_budget(void **state)
{
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	open_filled(&rig, &defaults, &f);
	for (unsigned i = 0; i < 25u; i++)
		assert_true(rxq_rig_next(&rig, &f));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 0, 0), 0);
	assert_int_equal(softdev_waiting(rig.dev), 25);
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 10, 0), 10);
	assert_int_equal(softdev_waiting(rig.dev), 15);
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 10, 0), 10);
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 10, 0), 5);
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 10, 0), 0);
	rxq_rig_close(&rig);
}

/* law 3: a flood of bad packets is work too */
static void dropped_packets_count_against_the_budget(void **state)
{
	static const uint8_t runt[10] = { 0 };
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	open_filled(&rig, &defaults, &f);
	rig.lawless = true;
	for (unsigned i = 0; i < 20u; i++)
		assert_true(rxq_rig_send(&rig, runt, sizeof(runt), NULL));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 8, 0), 8);
	assert_int_equal(softdev_waiting(rig.dev), 12);
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 12);
	assert_true(vnetrx_rxq_complete(rig.rxq, 0));
	assert_true(rxq_rig_stats(&rig).merge.drop_short == 20u);
	rxq_rig_close(&rig);
}

static void packet_of_many_buffers_counts_once(void **state)
{
	struct vnetrx_rxq_config cfg = {
		.ring_size = 128, .frame_len_max = 9100, .buf_len_min = 128, .buf_len_max = 128
	};
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	open_filled(&rig, &cfg, &f);
	f.payload_len = 9000;
	assert_true(rxq_rig_next(&rig, &f));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 2, 0), 1);
	rxq_rig_close(&rig);
}

static void poll_keeps_what_may_grow_and_complete_lets_it_go(void **state)
{
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	open_filled(&rig, &defaults, &f);
	for (unsigned i = 0; i < 3u; i++) {
		assert_true(rxq_rig_next(&rig, &f));
		assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, i), 1);
		assert_true(rig.host.pkts == 0u);
	}
	assert_true(vnetrx_rxq_complete(rig.rxq, 3));
	assert_true(rig.host.pkts == 1u);
	assert_true(rig.host.segs == 3u);
	assert_true(vnetrx_rxq_deadline(rig.rxq) == VNETRX_NEVER);
	rxq_rig_close(&rig);
}

static void poll_lets_go_after_hold_max_without_a_complete(void **state)
{
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	open_filled(&rig, &defaults, &f);
	assert_true(rxq_rig_next(&rig, &f));
	(void)vnetrx_rxq_poll(rig.rxq, 64, 0);
	(void)vnetrx_rxq_poll(rig.rxq, 64, 999999);
	assert_true(rig.host.pkts == 0u);
	(void)vnetrx_rxq_poll(rig.rxq, 64, 1000000);
	assert_true(rig.host.pkts == 1u);
	rxq_rig_close(&rig);
}

/* E5: enable, then look again */
static void packet_that_comes_while_interrupts_are_armed_is_not_missed(void **state)
{
	struct ops ops = { .late = false };
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	ops_open(&ops, &rig, &defaults);
	(void)vnetrx_rxq_fill(rig.rxq);
	frame_init(&f, 0);
	assert_true(vnetrx_rxq_complete(rig.rxq, 0));
	ops.late = true;
	ops.frame = &f;
	assert_false(vnetrx_rxq_complete(rig.rxq, 0));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 1);
	assert_true(vnetrx_rxq_complete(rig.rxq, 0));
	assert_true(rig.host.pkts == 1u);
	rxq_rig_close(&rig);
}

static void host_is_told_the_deadline_and_every_change_of_it(void **state)
{
	struct vnetrx_rxq_config cfg = { .gro_timeout_ns = 1000 };
	struct rxq_rig rig;
	struct frame f;
	uint64_t sets;

	(void)state;
	open_filled(&rig, &cfg, &f);
	assert_true(rxq_rig_next(&rig, &f));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 5000), 1);
	assert_true(vnetrx_rxq_complete(rig.rxq, 5000));
	assert_true(rig.host.pkts == 0u);
	assert_true(rig.host.deadline == 6000u);
	sets = rig.host.timer_sets;
	assert_true(vnetrx_rxq_complete(rig.rxq, 5500));
	assert_true(rig.host.timer_sets == sets); /* nothing changed */
	assert_int_equal(vnetrx_rxq_expire(rig.rxq, 64, 6000), 0);
	assert_true(rig.host.pkts == 1u);
	assert_true(rig.host.deadline == VNETRX_NEVER);
	assert_true(rig.host.timer_sets == sets + 1u);
	rxq_rig_close(&rig);
}

/* law 3: first what waits in the ring, then what is due */
static void late_expire_does_not_split_a_train(void **state)
{
	struct vnetrx_rxq_config cfg = { .gro_timeout_ns = 1000 };
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	open_filled(&rig, &cfg, &f);
	for (unsigned i = 0; i < 10u; i++) {
		assert_true(rxq_rig_next(&rig, &f));
		assert_int_equal(vnetrx_rxq_expire(rig.rxq, 64, 5000u * (i + 1u)), 1);
		assert_true(rig.host.pkts == 0u);
	}
	assert_int_equal(vnetrx_rxq_expire(rig.rxq, 64, 51000), 0);
	assert_true(rig.host.pkts == 1u);
	assert_true(rig.host.segs == 10u);
	rxq_rig_close(&rig);
}

static void time_that_steps_back_does_no_harm(void **state)
{
	struct vnetrx_rxq_config cfg = { .gro_timeout_ns = 1000 };
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	open_filled(&rig, &cfg, &f);
	assert_true(rxq_rig_next(&rig, &f));
	(void)vnetrx_rxq_poll(rig.rxq, 64, 5000);
	assert_true(rxq_rig_next(&rig, &f));
	(void)vnetrx_rxq_poll(rig.rxq, 64, 10);
	assert_true(vnetrx_rxq_complete(rig.rxq, 0));
	assert_true(vnetrx_rxq_deadline(rig.rxq) == 6000u);
	(void)vnetrx_rxq_expire(rig.rxq, 64, 6000);
	assert_true(rig.host.segs == 2u);
	rxq_rig_close(&rig);
}

static void stalled_queue_leaves_packets_in_the_ring(void **state)
{
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	open_filled(&rig, &defaults, &f);
	rig.host.limited = true;
	f.flags |= FR_PSH;
	assert_true(rxq_rig_next(&rig, &f));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 1);
	assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_STALLED);
	for (unsigned i = 0; i < 63u; i++)
		assert_true(rxq_rig_next(&rig, &f));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 0); /* nothing more is taken */
	assert_true(vnetrx_rxq_complete(rig.rxq, 0));         /* and there is nothing to poll for */
	assert_int_equal(softdev_waiting(rig.dev), 63);
	rig.host.take_max = 5;
	while (rig.host.pkts < 64u)
		(void)vnetrx_rxq_poll(rig.rxq, 64, 0);
	assert_int_equal(softdev_waiting(rig.dev), 0);
	assert_true(rxq_rig_stats(&rig).queue.stalls > 0u);
	rxq_rig_close(&rig);
}

/* more than are offered at once */
static void packets_that_the_host_refuses_keep_their_order(void **state)
{
	struct vnetrx_rxq_config cfg = { .ring_size = 256, .gro_flows = 200 };
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	open_filled(&rig, &cfg, &f);
	for (unsigned flow = 0; flow < 150u; flow++) {
		frame_init(&f, flow);
		assert_true(rxq_rig_next(&rig, &f));
	}
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 1000, 0), 150);
	frame_init(&f, 0);
	f.frag_off = 1; /* pushes all of them out: it must come last */
	f.df = false;
	assert_true(rxq_rig_next(&rig, &f));
	rig.host.limited = true;
	for (rig.host.take_max = 0; rig.host.pkts < 151u; rig.host.take_max = 7)
		(void)vnetrx_rxq_poll(rig.rxq, 64, 0);
	rxq_rig_close(&rig);
}

/* ---- counters from another thread ---- */

struct watch {
	const struct vnetrx_rxq *rxq;
	atomic_bool              stop;
	unsigned                 reads, wrong;
};

static void *watch_main(void *arg)
{
	struct watch *w = arg;
	struct vnetrx_rxq_stats s;
	uint64_t last = 0;

	while (!atomic_load(&w->stop)) {
		vnetrx_rxq_read_stats(w->rxq, &s);
		w->reads++;
		if (s.gro.pkts != s.gro.held_new + s.gro.joined + s.gro.passed ||
		    s.gro.out + s.gro.held != s.gro.held_new + s.gro.passed || s.gro.pkts != s.merge.pkts ||
		    s.queue.delivered + s.queue.waiting != s.gro.out || s.merge.pkts < last)
			w->wrong++;
		last = s.merge.pkts;
	}
	return NULL;
}

static void counters_read_by_another_thread_fit_together(void **state)
{
	struct rxq_rig rig;
	struct watch w = { .reads = 0 };
	pthread_t thread;
	struct frame f;

	(void)state;
	open_filled(&rig, &defaults, &f);
	f.payload_len = 100;
	w.rxq = rig.rxq;
	assert_int_equal(pthread_create(&thread, NULL, watch_main, &w), 0);
	for (unsigned i = 0; i < 3000u; i++) {
		f.flags = i % 7u == 0u ? FR_ACK | FR_PSH : FR_ACK;
		assert_true(rxq_rig_next(&rig, &f));
		if (i % 5u == 0u)
			rxq_rig_drain(&rig);
	}
	rxq_rig_drain(&rig);
	atomic_store(&w.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(w.wrong, 0);
	rxq_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poll_takes_no_more_than_its_budget),
		cmocka_unit_test(dropped_packets_count_against_the_budget),
		cmocka_unit_test(packet_of_many_buffers_counts_once),
		cmocka_unit_test(poll_keeps_what_may_grow_and_complete_lets_it_go),
		cmocka_unit_test(poll_lets_go_after_hold_max_without_a_complete),
		cmocka_unit_test(packet_that_comes_while_interrupts_are_armed_is_not_missed),
		cmocka_unit_test(host_is_told_the_deadline_and_every_change_of_it),
		cmocka_unit_test(late_expire_does_not_split_a_train),
		cmocka_unit_test(time_that_steps_back_does_no_harm),
		cmocka_unit_test(stalled_queue_leaves_packets_in_the_ring),
		cmocka_unit_test(packets_that_the_host_refuses_keep_their_order),
		cmocka_unit_test(counters_read_by_another_thread_fit_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
