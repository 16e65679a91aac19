/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a receive queue: set-up, work, device reset with packets in every place, end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rxq/ops.h"

static const struct vnetrx_rxq_config defaults;

static void segments_of_a_burst_become_one_packet(void **state)
{
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	rxq_rig_open(&rig, &defaults, NULL);
	assert_int_equal(vnetrx_rxq_fill(rig.rxq), 64);
	frame_init(&f, 0);
	f.payload_len = 1448;
	for (unsigned i = 0; i < 10u; i++)
		assert_true(rxq_rig_next(&rig, &f));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 10);
	assert_true(rig.host.pkts == 0u);
	assert_true(vnetrx_rxq_complete(rig.rxq, 0));
	assert_true(rig.host.pkts == 1u);
	assert_true(rig.host.segs == 10u);
	assert_true(rig.host.bytes == 54u + 14480u);
	rxq_rig_close(&rig);
}

static void queue_without_gro_hands_up_packets_as_they_are(void **state)
{
	struct vnetrx_rxq_config cfg = { .flags = VNETRX_RXQ_GRO_OFF };
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	rxq_rig_open(&rig, &cfg, NULL);
	(void)vnetrx_rxq_fill(rig.rxq);
	frame_init(&f, 0);
	for (unsigned i = 0; i < 10u; i++)
		assert_true(rxq_rig_next(&rig, &f));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 10);
	assert_true(rig.host.pkts == 10u);
	rxq_rig_close(&rig);
}

static void init_calls_no_op(void **state)
{
	struct rxq_rig rig;
	struct softdev_stats dev;

	(void)state;
	rxq_rig_open(&rig, &defaults, NULL);
	softdev_read_stats(rig.dev, &dev);
	assert_true(dev.posted == 0u && dev.kicks == 0u && dev.arms == 0u);
	assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_SHORT); /* nothing is posted yet */
	assert_true(rig.host.allocs == 0u && rig.host.timer_sets == 0u && rig.host.offers == 0u);
	assert_int_equal(vnetrx_rxq_fini(rig.rxq), VNETRX_OK);
	assert_int_equal(vnetrx_rxq_init(&rig.rxq, &rig.cfg, rig.mem, vnetrx_rxq_footprint(&rig.cfg, NULL)), VNETRX_OK);
	rxq_rig_close(&rig);
}

static void wrong_configurations_are_refused_by_name(void **state)
{
	static const struct {
		struct vnetrx_rxq_config cfg;
		const char *field;
	} bad[] = {
		{ { .ring_size = 32769 }, "ring_size" },
		{ { .frame_len_max = 59 }, "frame_len_max" },
		{ { .frame_len_max = 1048577 }, "frame_len_max" },
		{ { .run_size = 3000 }, "run_size" },
		{ { .run_size = 512 }, "run_size" },
		{ { .buf_len_min = 5000 }, "buf_len_min" },
		{ { .buf_align = 24 }, "buf_align" },
		{ { .buf_align = 8192 }, "buf_align" },
		{ { .hdr_len = 129 }, "hdr_len" },
		{ { .gro_flows = 65537 }, "gro_flows" },
		{ { .gro_bytes_max = 1279 }, "gro_bytes_max" },
		{ { .gro_segs_max = 1 }, "gro_segs_max" },
		{ { .ring_size = 4 }, "ring_size" }, /* holds no longest frame */
		{ { .flags = 0x8000 }, "flags: only" },
		{ { .buf_len_max = 1048577 }, "buf_len_max: must be" },
		{ { .pkts_max = 16777217 }, "pkts_max: must be 1..16777216" },
		{ { .pkt_user_size = 65537 }, "pkt_user_size: must be 0..65536" },
		{ { .gro_protos = 8 }, "gro_protos: only" },
		{ { .gro_flags = 0x8000 }, "gro_flags: only" },
		{ { .gro_flags = VNETRX_GRO_CSUM_BYTES | VNETRX_GRO_PROFILE_VIRTIO }, "gro_flags: with" },
		{ { .gro_timeout_ns = UINT64_C(1) << 57 }, "gro_timeout_ns: must be below 2^57" },
		{ { .gro_hold_max_ns = UINT64_C(1) << 63 }, "gro_hold_max_ns: must be below 2^63" },
	};
	struct rxq_rig rig;
	struct vnetrx_rxq *rxq;

	(void)state;
	rxq_rig_open(&rig, &defaults, NULL);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct vnetrx_rxq_config cfg = bad[i].cfg;
		const char *why = NULL;

		cfg.dev_ops = &softdev_ops;
		cfg.host_ops = &heap_host_ops;
		cfg.hash_key[0] = 1;
		if (cfg.ring_size == 0u)
			cfg.ring_size = 64;
		assert_true(vnetrx_rxq_footprint(&cfg, &why) == 0u);
		assert_non_null(why);
		assert_memory_equal(why, bad[i].field, strlen(bad[i].field)); /* begins with it */
		assert_int_equal(vnetrx_rxq_init(&rxq, &cfg, rig.mem, 1u << 30), VNETRX_ERR_INVALID);
	}
	rxq_rig_close(&rig);
}

static void missing_ops_key_and_memory_are_errors(void **state)
{
	static const struct vnetrx_dev_ops no_reap = { .post = NULL };
	static const struct vnetrx_host_ops no_deliver = { .deliver = NULL };
	struct vnetrx_rxq_config cfg = { .ring_size = 64, .dev_ops = &softdev_ops, .host_ops = &heap_host_ops };
	struct vnetrx_rxq_config other;
	struct vnetrx_rxq *rxq;
	const char *why = "old";
	size_t size;
	uint8_t *mem;

	(void)state;
	assert_true(vnetrx_rxq_footprint(&cfg, NULL) == 0u); /* no key */
	cfg.hash_key[1] = 1;
	size = vnetrx_rxq_footprint(&cfg, &why);
	assert_true(size > 0u);
	assert_null(why);
	other = cfg;
	other.buf_len_min = other.buf_len_max = 2000; /* no multiple of buf_align */
	assert_true(vnetrx_rxq_footprint(&other, &why) > 0u);
	other = cfg;
	other.dev_ops = &no_reap;
	assert_true(vnetrx_rxq_footprint(&other, NULL) == 0u);
	other = cfg;
	other.host_ops = &no_deliver;
	assert_true(vnetrx_rxq_footprint(&other, NULL) == 0u);
	other.host_ops = NULL;
	assert_true(vnetrx_rxq_footprint(&other, NULL) == 0u);
	mem = heap_memory(size + 64u);
	assert_non_null(mem);
	assert_int_equal(vnetrx_rxq_init(&rxq, &cfg, mem, size - 1u), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_rxq_init(&rxq, &cfg, mem + 8, size), VNETRX_ERR_NOMEM);
	free(mem);
}

static void fini_is_busy_while_a_buffer_is_out(void **state)
{
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	rxq_rig_open(&rig, &defaults, NULL);
	(void)vnetrx_rxq_fill(rig.rxq);
	assert_int_equal(vnetrx_rxq_fini(rig.rxq), VNETRX_ERR_BUSY);
	frame_init(&f, 0);
	f.payload_len = 1000;
	rig.host.keep = true;
	assert_true(rxq_rig_next(&rig, &f));
	rxq_rig_drain(&rig);
	softdev_reset(rig.dev);
	assert_int_equal(vnetrx_rxq_reclaim(rig.rxq), 64);
	assert_int_equal(vnetrx_rxq_fini(rig.rxq), VNETRX_ERR_BUSY); /* the host has one */
	assert_int_equal(heap_release(&rig.host, 1), 1);
	rxq_rig_close(&rig);
}

/* Where packets are when the device is reset. */
enum place { AT_DEVICE, AT_HOST, IN_GRO, IN_FIFO, ON_RETURN_LIST, PLACES };

static void bring(struct rxq_rig *rig, enum place place)
{
	struct frame f;

	frame_init(&f, (unsigned)place);
	f.payload_len = 700;
	rig->host.keep = place == AT_HOST || place == ON_RETURN_LIST;
	rig->host.limited = place == IN_FIFO;
	for (unsigned i = 0; i < 5u; i++) {
		if (place != IN_GRO)
			f.flags |= FR_PSH;
		assert_true(rxq_rig_next(rig, &f));
	}
	if (place == AT_DEVICE)
		return;
	(void)vnetrx_rxq_poll(rig->rxq, 64, rig->now);
	if (place == ON_RETURN_LIST)
		rxq_rig_release(rig, 5);
	assert_int_equal(vnetrx_rxq_state(rig->rxq), place == IN_FIFO ? VNETRX_RXQ_STALLED : VNETRX_RXQ_RUNNING);
}

static void queue_resumes_after_a_reset_with_packets_anywhere(void **state)
{
	struct vnetrx_rxq_config cfg = { .flags = VNETRX_RXQ_REMOTE_FREE };

	(void)state;
	for (unsigned place = 0; place < PLACES; place++) {
		struct rxq_rig rig;
		struct frame f;

		rxq_rig_open(&rig, &cfg, NULL);
		(void)vnetrx_rxq_fill(rig.rxq);
		bring(&rig, (enum place)place);
		softdev_reset(rig.dev);
		(void)vnetrx_rxq_reclaim(rig.rxq);
		if (place == AT_DEVICE) {
			laws_forget(rig.laws);
			rig.sent = 0;
		}
		assert_int_equal(vnetrx_rxq_fill(rig.rxq), 64);
		frame_init(&f, (unsigned)place);
		f.seq = 5000;
		rig.host.keep = false;
		rig.host.limited = false;
		for (unsigned i = 0; i < 40u; i++)
			assert_true(rxq_rig_next(&rig, &f));
		rxq_rig_drain(&rig);
		assert_int_equal(laws_missing(rig.laws), 0);
		rxq_rig_close(&rig);
	}
}

static void reclaim_counts_what_the_device_had(void **state)
{
	struct rxq_rig rig;

	(void)state;
	rxq_rig_open(&rig, &defaults, NULL);
	(void)vnetrx_rxq_fill(rig.rxq);
	softdev_reset(rig.dev);
	assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_RUNNING);
	assert_int_equal(vnetrx_rxq_reclaim(rig.rxq), 64);
	assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_SHORT);
	assert_int_equal(vnetrx_rxq_reclaim(rig.rxq), 0);
	assert_true(rxq_rig_stats(&rig).queue.reclaimed == 64u);
	assert_true(rxq_rig_stats(&rig).pool.bufs_lent == 0u);
	rxq_rig_close(&rig);
}

static void broken_device_stops_the_queue_until_it_is_reset(void **state)
{
	struct ops ops = { .broken = true };
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	ops_open(&ops, &rig, &defaults);
	(void)vnetrx_rxq_fill(rig.rxq);
	frame_init(&f, 0);
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 0);
	assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_BROKEN);
	assert_true(vnetrx_rxq_complete(rig.rxq, 0));
	assert_true(rxq_rig_stats(&rig).queue.broken == 1u);
	ops.broken = false;
	assert_true(rxq_rig_next(&rig, &f));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 0); /* still stopped */
	laws_forget(rig.laws);
	rig.sent = 0;
	softdev_reset(rig.dev);
	assert_int_equal(vnetrx_rxq_reclaim(rig.rxq), 64);
	assert_int_equal(vnetrx_rxq_fill(rig.rxq), 64);
	assert_int_equal(vnetrx_rxq_state(rig.rxq), VNETRX_RXQ_RUNNING);
	assert_true(rxq_rig_next(&rig, &f));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 1);
	rxq_rig_close(&rig);
}

static void early_verdicts_are_obeyed(void **state)
{
	struct vnetrx_rxq_config cfg = { .host_ops = &ops_host_early };

	(void)state;
	for (uint8_t verdict = 0; verdict < 3u; verdict++) {
		struct ops ops = { .verdict = verdict };
		struct rxq_rig rig;
		struct vnetrx_rxq_stats s;
		struct vnetrx_pkt *pkt;
		struct frame f;

		ops_open(&ops, &rig, &cfg);
		rig.lawless = true;
		(void)vnetrx_rxq_fill(rig.rxq);
		frame_init(&f, 0);
		f.flags |= FR_PSH;
		for (unsigned i = 0; i < 10u; i++)
			assert_true(rxq_rig_next(&rig, &f));
		assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 10);
		rxq_rig_drain(&rig);
		s = rxq_rig_stats(&rig);
		assert_true(s.queue.early_dropped == (verdict == VNETRX_VERDICT_DROP ? 5u : 0u));
		assert_true(s.queue.early_taken == (verdict == VNETRX_VERDICT_TAKEN ? 5u : 0u));
		assert_true(rig.host.pkts == (verdict == VNETRX_VERDICT_PASS ? 10u : 5u));
		while ((pkt = vnetrx_pktq_take(&ops.taken)) != NULL)
			vnetrx_pkt_free(&pkt, 1);
		rxq_rig_close(&rig);
	}
}

static void gro_can_be_switched_off_while_it_holds(void **state)
{
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	rxq_rig_open(&rig, &defaults, NULL);
	(void)vnetrx_rxq_fill(rig.rxq);
	frame_init(&f, 0);
	assert_true(rxq_rig_next(&rig, &f));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 1);
	assert_true(rig.host.pkts == 0u);
	vnetrx_rxq_set_gro_protos(rig.rxq, 0);
	assert_true(rig.host.pkts == 1u);
	for (unsigned i = 0; i < 4u; i++)
		assert_true(rxq_rig_next(&rig, &f));
	assert_int_equal(vnetrx_rxq_poll(rig.rxq, 64, 0), 4);
	assert_true(rig.host.pkts == 5u);
	rxq_rig_close(&rig);
}

static void buffers_grow_and_shrink_with_the_packets(void **state)
{
	struct vnetrx_rxq_config cfg = { .ring_size = 256 };
	struct rxq_rig rig;
	struct frame f;
	uint32_t start, grown;

	(void)state;
	rxq_rig_open(&rig, &cfg, NULL);
	(void)vnetrx_rxq_fill(rig.rxq);
	start = vnetrx_rxq_buf_len(rig.rxq);
	frame_init(&f, 0);
	f.payload_len = 9000;
	for (unsigned i = 0; i < 20u; i++) {
		assert_true(rxq_rig_next(&rig, &f));
		rxq_rig_drain(&rig);
	}
	grown = vnetrx_rxq_buf_len(rig.rxq);
	assert_true(start < 2000u);
	assert_int_equal(grown, 4096);
	f.payload_len = 100;
	for (unsigned i = 0; i < 400u; i++) {
		assert_true(rxq_rig_next(&rig, &f));
		rxq_rig_drain(&rig);
	}
	assert_int_equal(vnetrx_rxq_buf_len(rig.rxq), start);
	rxq_rig_close(&rig);
}

/* The average of these packets is above 4096 bytes. */
static void by_cost_buffers_stay_short_for_many_short_packets_and_few_long_ones(void **state)
{
	struct vnetrx_rxq_config cfg = { .ring_size = 256, .buf_cost = 200 };
	struct rxq_rig rig;
	struct frame f;

	(void)state;
	rxq_rig_open(&rig, &cfg, NULL);
	(void)vnetrx_rxq_fill(rig.rxq);
	frame_init(&f, 0);
	for (unsigned i = 0; i < 2000u; i++) { /* one in sixteen is weighed */
		f.payload_len = i % 2u != 0u ? 300 : 8900;
		assert_true(rxq_rig_next(&rig, &f));
		rxq_rig_drain(&rig);
		if (i >= 400u)
			assert_in_range(vnetrx_rxq_buf_len(rig.rxq), 1536, 2304);
	}
	rxq_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_of_a_burst_become_one_packet),
		cmocka_unit_test(queue_without_gro_hands_up_packets_as_they_are),
		cmocka_unit_test(init_calls_no_op),
		cmocka_unit_test(wrong_configurations_are_refused_by_name),
		cmocka_unit_test(missing_ops_key_and_memory_are_errors),
		cmocka_unit_test(fini_is_busy_while_a_buffer_is_out),
		cmocka_unit_test(queue_resumes_after_a_reset_with_packets_anywhere),
		cmocka_unit_test(reclaim_counts_what_the_device_had),
		cmocka_unit_test(broken_device_stops_the_queue_until_it_is_reset),
		cmocka_unit_test(early_verdicts_are_obeyed),
		cmocka_unit_test(gro_can_be_switched_off_while_it_holds),
		cmocka_unit_test(buffers_grow_and_shrink_with_the_packets),
		cmocka_unit_test(by_cost_buffers_stay_short_for_many_short_packets_and_few_long_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
