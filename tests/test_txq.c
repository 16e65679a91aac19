/* SPDX-License-Identifier: BSD-3-Clause */
/* The transmit queue against the examples' device side of a virtqueue: slots, refusals, interrupts, life. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/stream.h"
#include "virtio/tx_rig.h"

#define JOINED VNETRX_TXQ_ANY_LAYOUT

static const struct tx_shape small = { .len = 60, .nsegs = 1, .headroom = TX_HEADROOM };
static const struct tx_shape bare = { .len = 60, .nsegs = 1 };

/* Runs f over every kind of ring with the given options. */
static void for_all_rings(struct tx_options opt, void (*f)(struct tx_rig *r))
{
	uint32_t flags = 0;

	for (unsigned i = 0; ring_pair_kind(i, &flags) != NULL; i++) {
		struct tx_rig *r;

		opt.flags = flags;
		r = tx_rig_new(&opt);
		f(r);
		tx_rig_free(r);
	}
}

/* Sends what the device has finished back to the host until nothing is left on either side. */
static void drain(struct tx_rig *r)
{
	vnetrx_txq_kick(r->txq);
	while (tx_rig_run(r, 64) > 0u)
		;
	(void)vnetrx_txq_poll(r->txq, UINT32_MAX);
	assert_int_equal(vnetrx_txq_outstanding(r->txq), 0);
}

/* ---- frames arrive ---- */

static void send_shapes(struct tx_rig *r)
{
	unsigned packets = 3000u / stream_step(10);

	for (unsigned i = 0; i < packets; i++) {
		struct tx_shape shape = { .len = 60u + i % 1900u, .nsegs = 1u + i % 4u, .headroom = i % 3u * 12u };

		while (tx_rig_add(r, &shape) == VNETRX_ERR_BUSY) {
			vnetrx_txq_kick(r->txq);
			assert_true(tx_rig_run(r, 5) > 0u);
		}
		if (i % 5u == 0u)
			vnetrx_txq_kick(r->txq);
	}
	drain(r);
	assert_int_equal(r->next, packets);
	assert_int_equal(r->back, packets);
}

static void frames_arrive_in_order_and_come_back_once(void **state)
{
	(void)state;
	for_all_rings((struct tx_options){ .size = 64, .tx_flags = JOINED }, send_shapes);
	for_all_rings((struct tx_options){ .size = 64 }, send_shapes);
}

static void header_shares_a_descriptor_when_layout_and_headroom_permit(void **state)
{
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 16, .tx_flags = JOINED });

	(void)state;
	assert_int_equal(tx_rig_add(r, &small), VNETRX_OK);
	vnetrx_txq_kick(r->txq);
	assert_int_equal(tx_rig_run(r, 1), 1);
	assert_int_equal(r->segs_seen, 1);
	assert_int_equal(r->first_seen, 72);
	assert_true(tx_rig_stats(r).hdr_joined == 1u);
	tx_rig_free(r);
}

static void header_has_a_descriptor_of_its_own_when_headroom_is_short(void **state)
{
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 16, .tx_flags = JOINED });
	struct tx_shape shape = { .len = 60, .nsegs = 1, .headroom = 11 };

	(void)state;
	assert_int_equal(tx_rig_add(r, &shape), VNETRX_OK);
	vnetrx_txq_kick(r->txq);
	assert_int_equal(tx_rig_run(r, 1), 1);
	assert_int_equal(r->segs_seen, 2);
	assert_int_equal(r->first_seen, 12);
	assert_true(tx_rig_stats(r).hdr_joined == 0u);
	tx_rig_free(r);
}

static void header_has_a_descriptor_of_its_own_when_the_layout_wants_it(void **state)
{
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 16, .hdr_len = 10 });

	(void)state;
	assert_int_equal(tx_rig_add(r, &small), VNETRX_OK);
	vnetrx_txq_kick(r->txq);
	assert_int_equal(tx_rig_run(r, 1), 1);
	assert_int_equal(r->segs_seen, 2);
	assert_int_equal(r->first_seen, 10);
	tx_rig_free(r);
}

static void indirect_packets_take_one_slot(void **state)
{
	struct tx_options opt = { .size = 16, .flags = VNETRX_VIRTQ_INDIRECT };
	struct tx_shape shape = { .len = 600, .nsegs = 4 };
	struct tx_rig *r = tx_rig_new(&opt);

	(void)state;
	assert_int_equal(tx_rig_fill(r, &shape), 16);
	assert_true(tx_rig_stats(r).slots == 16u);
	assert_int_equal(tx_rig_run(r, 1), 1);
	assert_int_equal(r->segs_seen, 5);
	tx_rig_free(r);
	opt.flags = 0;
	r = tx_rig_new(&opt);
	assert_int_equal(tx_rig_fill(r, &shape), 3);
	assert_true(tx_rig_stats(r).slots == 15u);
	tx_rig_free(r);
}

static void header_of_every_length_is_zero_when_nothing_is_asked(void **state)
{
	static const uint32_t lengths[] = { 10, 12, 20, 24, 32 };
	static const uint8_t zero[32];

	(void)state;
	for (unsigned i = 0; i < 10u; i++) {
		struct tx_options opt = {
			.size = 16, .hdr_len = lengths[i / 2u], .tx_flags = i % 2u != 0u ? JOINED : 0u
		};
		struct tx_rig *r = tx_rig_new(&opt);

		assert_int_equal(tx_rig_add(r, &small), VNETRX_OK);
		vnetrx_txq_kick(r->txq);
		assert_int_equal(tx_rig_run(r, 1), 1);
		assert_memory_equal(r->hdr, zero, opt.hdr_len);
		assert_int_equal(r->len, 60);
		tx_rig_free(r);
	}
}

/* ---- refusal ---- */

/* Brings the ring to `used` occupied slots with packets of one slot each. */
static void occupy(struct tx_rig *r, uint32_t used)
{
	for (uint32_t i = 0; i < used; i++)
		assert_int_equal(tx_rig_add(r, &small), VNETRX_OK);
	vnetrx_txq_kick(r->txq);
}

/* Packets of one to five slots at every fill level: taken exactly when they fit, else not a byte changes anywhere. */
static void busy_at_every_level(struct tx_rig *r)
{
	for (uint32_t used = 0; used <= 16u; used++) {
		for (unsigned nsegs = 1; nsegs <= 4u; nsegs++) {
			struct tx_shape shape = { .len = 400, .nsegs = nsegs };
			uint32_t need = (r->opt.flags & VNETRX_VIRTQ_INDIRECT) != 0u ? 1u : nsegs + 1u;
			uint8_t hdrs[16 * 16];
			int err;

			occupy(r, used);
			ring_pair_remember(&r->ring);
			memcpy(hdrs, r->hdrs, sizeof(hdrs));
			err = tx_rig_add(r, &shape);
			if (need <= 16u - used) {
				assert_int_equal(err, VNETRX_OK);
				assert_int_equal(vnetrx_txq_outstanding(r->txq), used + 1u);
			} else {
				assert_int_equal(err, VNETRX_ERR_BUSY);
				assert_int_equal(vnetrx_txq_outstanding(r->txq), used);
				assert_int_equal(vnetrx_virtq_free_slots(r->ring.vq), 16u - used);
				assert_true(ring_pair_same(&r->ring));
				assert_memory_equal(hdrs, r->hdrs, sizeof(hdrs));
				assert_int_equal(vnetrx_txq_state(r->txq), VNETRX_TXQ_FULL);
			}
			drain(r);
			assert_int_equal(vnetrx_txq_state(r->txq), VNETRX_TXQ_RUNNING);
		}
	}
}

static void packet_without_room_is_refused_and_touches_nothing(void **state)
{
	struct tx_options opt = { .size = 16, .tx_flags = JOINED };

	(void)state;
	for_all_rings(opt, busy_at_every_level);
}

static void what_is_finished_makes_room_without_a_poll(void **state)
{
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 128, .tx_flags = JOINED });

	(void)state;
	assert_int_equal(tx_rig_fill(r, &small), 128);
	assert_int_equal(tx_rig_run(r, 100), 100);
	assert_int_equal(r->back, 0);
	assert_int_equal(tx_rig_add(r, &small), VNETRX_OK); /* takes a batch back */
	assert_int_equal(r->back, 64);
	assert_int_equal(r->done_calls, 1);
	for (unsigned i = 1; i < 64u; i++)
		assert_int_equal(tx_rig_add(r, &small), VNETRX_OK);
	assert_int_equal(r->back, 64);
	assert_int_equal(tx_rig_add(r, &small), VNETRX_OK);
	assert_int_equal(r->back, 100);
	assert_int_equal(r->done_calls, 2);
	tx_rig_free(r);
}

static void restart_exactly(struct tx_rig *r)
{
	struct tx_shape large = { .len = 400, .nsegs = 4 };
	uint32_t slots = (r->opt.flags & VNETRX_VIRTQ_INDIRECT) != 0u ? 1u : 5u;

	assert_int_equal(tx_rig_fill(r, &small), 16);
	for (uint32_t freed = 1; freed <= slots; freed++) {
		assert_int_equal(r->resumes, 0);
		assert_int_equal(tx_rig_run(r, 1), 1);
		assert_int_equal(vnetrx_txq_poll(r->txq, 64), 1);
	}
	assert_int_equal(r->resumes, 1);
	assert_int_equal(tx_rig_add(r, &large), VNETRX_OK);
	assert_int_equal(tx_rig_add(r, &large), VNETRX_ERR_BUSY);
	drain(r);
	assert_int_equal(r->resumes, 2);
	assert_true(tx_rig_stats(r).resumes == 2u);
}

static void refused_queue_goes_on_exactly_when_the_largest_packet_fits(void **state)
{
	(void)state;
	for_all_rings((struct tx_options){ .size = 16, .tx_flags = JOINED }, restart_exactly);
}

static void queue_that_never_refused_is_never_resumed(void **state)
{
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 16, .tx_flags = JOINED });

	(void)state;
	for (unsigned i = 0; i < 1000u; i++) {
		occupy(r, 16);
		drain(r);
		assert_true(vnetrx_txq_complete(r->txq));
	}
	assert_int_equal(r->resumes, 0);
	assert_true(tx_rig_stats(r).busy == 0u);
	tx_rig_free(r);
}

static void batch_is_taken_up_to_the_first_that_has_no_room(void **state)
{
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 8, .tx_flags = JOINED });
	struct vnetrx_virtq_seg seg[10];
	struct vnetrx_tx_pkt tx[10];
	int err = 0;

	(void)state;
	memset(tx, 0, sizeof(tx));
	for (unsigned i = 0; i < 10u; i++) {
		seg[i] = (struct vnetrx_virtq_seg){ .dma = (uintptr_t)(r->pkts[i].mem + TX_HEADROOM), .len = 60 };
		r->pkts[i].out = true;
		tx[i].segs = &seg[i];
		tx[i].nsegs = 1;
		tx[i].cookie = &r->pkts[i];
		tx[i].head = r->pkts[i].mem + TX_HEADROOM;
		tx[i].headroom = TX_HEADROOM;
	}
	assert_int_equal(vnetrx_txq_send(r->txq, tx, 10, &err), 8);
	assert_int_equal(err, VNETRX_ERR_BUSY);
	assert_int_equal(r->rings, 1);
	r->taken = 8;
	r->pkts[8].out = r->pkts[9].out = false;
	assert_int_equal(vnetrx_txq_reset(r->txq), 8);
	vnetrx_txq_start(r->txq);
	ring_pair_reset_device(&r->ring);
	assert_int_equal(r->resumes, 1);
	for (unsigned i = 0; i < 3u; i++)
		r->pkts[i].out = true;
	assert_int_equal(vnetrx_txq_send(r->txq, tx, 3, &err), 3);
	assert_int_equal(err, VNETRX_OK);
	r->taken += 3;
	tx_rig_free(r);
}

/* ---- doorbells and interrupts ---- */

static void doorbell_rings_once_for_a_batch(void **state)
{
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 64, .tx_flags = JOINED });

	(void)state;
	for (unsigned i = 1; i <= 20u; i++) {
		for (unsigned k = 0; k < 3u; k++)
			assert_int_equal(tx_rig_add(r, &small), VNETRX_OK);
		assert_int_equal(r->rings, i - 1u);
		vnetrx_txq_kick(r->txq);
		assert_int_equal(r->rings, i);
	}
	assert_int_equal(r->ring_data, 3u | 60u << 16);
	vnetrx_txq_kick(r->txq); /* nothing new */
	assert_int_equal(r->rings, 20);
	assert_true(tx_rig_stats(r).doorbells == 20u && tx_rig_stats(r).batches == 21u);
	tx_rig_free(r);
}

static void send_without_sleeping(struct tx_rig *r)
{
	for (unsigned i = 0; i < 5000u; i++) {
		assert_int_equal(tx_rig_add(r, &small), VNETRX_OK);
		vnetrx_txq_kick(r->txq);
		assert_int_equal(tx_rig_run(r, 1), 1);
	}
	assert_int_equal(r->irqs, 0);
}

static void no_interrupt_is_asked_for_while_packets_are_sent(void **state)
{
	(void)state;
	for_all_rings((struct tx_options){ .size = 256, .tx_flags = JOINED }, send_without_sleeping);
}

/* A host that sends as much as goes and sleeps when it is refused; a device that is slower than it. */
static void send_and_sleep(struct tx_rig *r, const struct tx_shape *shape, unsigned packets)
{
	while (r->taken < packets) {
		unsigned irqs = r->irqs;

		(void)tx_rig_fill(r, shape);
		if (!vnetrx_txq_complete(r->txq)) {
			(void)vnetrx_txq_poll(r->txq, UINT32_MAX);
			continue;
		}
		while (r->irqs == irqs) /* asleep: nothing but an interrupt goes on from here */
			assert_int_equal(tx_rig_run(r, 1), 1);
		(void)vnetrx_txq_poll(r->txq, UINT32_MAX);
		if ((r->opt.flags & VNETRX_VIRTQ_EVENT_IDX) != 0u) /* else it comes with the first one that is sent */
			assert_int_equal(vnetrx_txq_state(r->txq), VNETRX_TXQ_RUNNING);
	}
}

static void many_per_interrupt(struct tx_rig *r)
{
	send_and_sleep(r, &small, 50000u / stream_step(5));
	if ((r->opt.flags & VNETRX_VIRTQ_EVENT_IDX) != 0u)
		assert_true(r->taken / r->irqs >= 100u);
}

static void interrupt_comes_when_a_large_part_of_the_ring_is_sent(void **state)
{
	(void)state;
	for_all_rings((struct tx_options){ .size = 256, .tx_flags = JOINED }, many_per_interrupt);
}

static void header_descriptors_cost_no_interrupts_when_they_are_indirect(void **state)
{
	struct tx_options opt = { .size = 256, .flags = VNETRX_VIRTQ_EVENT_IDX | VNETRX_VIRTQ_INDIRECT };
	struct tx_rig *r = tx_rig_new(&opt);

	(void)state;
	send_and_sleep(r, &bare, 50000);
	assert_true(r->taken / r->irqs >= 100u);
	tx_rig_free(r);
}

/* 128 packets of two slots: a larger part than the default is still a hundred. */
static void part_of_the_ring_is_settable(void **state)
{
	struct tx_options opt = { .size = 256, .flags = VNETRX_VIRTQ_EVENT_IDX, .delay_num = 7, .delay_den = 8 };
	struct tx_rig *r = tx_rig_new(&opt);

	(void)state;
	send_and_sleep(r, &bare, 50000);
	assert_true(r->taken / r->irqs >= 100u);
	tx_rig_free(r);
}

/* Nothing more is sent: all comes back all the same, with an interrupt for 3/4 of what is left each time. */
static void tail_comes_back(struct tx_rig *r)
{
	assert_int_equal(tx_rig_fill(r, &small), 256);
	while (vnetrx_txq_outstanding(r->txq) > 0u) {
		unsigned irqs = r->irqs;

		if (!vnetrx_txq_complete(r->txq)) {
			(void)vnetrx_txq_poll(r->txq, UINT32_MAX);
			continue;
		}
		if (vnetrx_txq_outstanding(r->txq) == 0u)
			break;
		while (r->irqs == irqs)
			assert_int_equal(tx_rig_run(r, 1), 1);
		(void)vnetrx_txq_poll(r->txq, UINT32_MAX);
	}
	if ((r->opt.flags & VNETRX_VIRTQ_EVENT_IDX) != 0u)
		assert_true(r->irqs <= 8u);
}

static void tail_comes_back_with_few_interrupts(void **state)
{
	(void)state;
	for_all_rings((struct tx_options){ .size = 256, .tx_flags = JOINED }, tail_comes_back);
}

static void finished_before_the_request(struct tx_rig *r)
{
	for (unsigned i = 0; i < 500u; i++) {
		(void)tx_rig_fill(r, &small);
		assert_int_equal(tx_rig_run(r, 1000) > 0u, 1); /* all of it, before an interrupt is asked for */
		if (vnetrx_txq_complete(r->txq))
			assert_int_equal(vnetrx_txq_outstanding(r->txq), 0);
		assert_int_equal(vnetrx_txq_state(r->txq), VNETRX_TXQ_RUNNING);
	}
}

static void what_is_finished_before_the_request_is_not_slept_over(void **state)
{
	(void)state;
	for_all_rings((struct tx_options){ .size = 32, .tx_flags = JOINED }, finished_before_the_request);
}

static void many_come_back_in_one_call(void **state)
{
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 256, .tx_flags = JOINED });

	(void)state;
	assert_int_equal(tx_rig_fill(r, &small), 256);
	assert_int_equal(tx_rig_run(r, 256), 256);
	assert_int_equal(vnetrx_txq_poll(r->txq, 200), 200);
	assert_int_equal(r->done_calls, 4);
	assert_int_equal(r->done_most, 64);
	assert_int_equal(vnetrx_txq_poll(r->txq, 200), 56);
	tx_rig_free(r);
}

/* ---- offloads ---- */

static const struct tx_shape tso = {
	.len = 1500,
	.nsegs = 1,
	.headroom = TX_HEADROOM,
	.ask = { .flags = VNETRX_TX_CSUM, .csum_start = 34, .csum_offset = 16, .gso_type = VNETRX_GSO_TCPV4,
	         .gso_size = 500, .hdr_len = 54 },
};

#define TSO (VNETRX_VIRTIO_CSUM | VNETRX_VIRTIO_TSO4)

static void offloads_stand_in_the_header(void **state)
{
	static const uint8_t want[12] = { 1, 1, 54, 0, 0xf4, 1, 34, 0, 16, 0, 0, 0 };
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 16, .features = TSO, .tx_flags = JOINED });

	(void)state;
	assert_int_equal(tx_rig_add(r, &tso), VNETRX_OK);
	vnetrx_txq_kick(r->txq);
	assert_int_equal(tx_rig_run(r, 1), 1);
	assert_memory_equal(r->hdr, want, 12);
	assert_true(tx_rig_stats(r).csum_pkts == 1u && tx_rig_stats(r).gso_pkts == 1u);
	tx_rig_free(r);
}

static void header_memory_of_an_offload_is_clean_for_the_next_packet(void **state)
{
	static const uint8_t zero[12];
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 16, .features = TSO });

	(void)state;
	assert_int_equal(tx_rig_add(r, &tso), VNETRX_OK);
	drain(r);
	assert_int_equal(r->hdr[0], 1);
	assert_int_equal(tx_rig_add(r, &small), VNETRX_OK); /* the same header memory */
	drain(r);
	assert_memory_equal(r->hdr, zero, 12);
	tx_rig_free(r);
}

static void tunnel_offsets_stand_in_the_header(void **state)
{
	static const uint8_t want[24] = { 1, 0x21, 104, 0, 0xf4, 1, 84, 0, 16, 0, [20] = 34, 0, 64, 0 };
	struct tx_options opt = { .size = 16, .hdr_len = 24, .features = TSO | VNETRX_VIRTIO_TUNNEL };
	struct tx_rig *r = tx_rig_new(&opt);
	struct tx_shape shape = tso;

	(void)state;
	shape.ask.gso_type = VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4;
	shape.ask.outer_l4_off = 34;
	shape.ask.inner_l3_off = 64;
	shape.ask.csum_start = 84;
	shape.ask.hdr_len = 104;
	assert_int_equal(tx_rig_add(r, &shape), VNETRX_OK);
	drain(r);
	assert_memory_equal(r->hdr, want, 24);
	tx_rig_free(r);
}

static void what_the_device_does_not_offer_is_refused(void **state)
{
	static const struct {
		uint32_t features;
		uint8_t  gso_type;
		int      err;
	} rows[] = {
		{ 0, VNETRX_GSO_NONE, VNETRX_ERR_CANNOT },
		{ VNETRX_VIRTIO_CSUM, VNETRX_GSO_NONE, VNETRX_OK },
		{ VNETRX_VIRTIO_CSUM, VNETRX_GSO_TCPV4, VNETRX_ERR_CANNOT },
		{ TSO, VNETRX_GSO_TCPV4, VNETRX_OK },
		{ TSO, VNETRX_GSO_TCPV6, VNETRX_ERR_CANNOT },
		{ VNETRX_VIRTIO_CSUM | VNETRX_VIRTIO_TSO6, VNETRX_GSO_TCPV6, VNETRX_OK },
		{ TSO, VNETRX_GSO_TCPV4 | VNETRX_GSO_ECN, VNETRX_ERR_CANNOT },
		{ TSO | VNETRX_VIRTIO_ECN, VNETRX_GSO_TCPV4 | VNETRX_GSO_ECN, VNETRX_OK },
		{ TSO, VNETRX_GSO_UDP_L4, VNETRX_ERR_CANNOT },
		{ TSO | VNETRX_VIRTIO_USO4, VNETRX_GSO_UDP_L4, VNETRX_ERR_CANNOT },
		{ TSO | VNETRX_VIRTIO_USO4 | VNETRX_VIRTIO_USO6, VNETRX_GSO_UDP_L4, VNETRX_OK },
		{ UINT32_MAX, VNETRX_GSO_UDP, VNETRX_ERR_CANNOT },
		{ UINT32_MAX, 2, VNETRX_ERR_CANNOT },
		{ TSO, VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4, VNETRX_ERR_CANNOT },
		{ UINT32_MAX, VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4, VNETRX_ERR_CANNOT }, /* 12 bytes of header */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 16, .features = rows[i].features });
		struct tx_shape shape = tso;

		shape.ask.gso_type = rows[i].gso_type;
		assert_int_equal(tx_rig_add(r, &shape), rows[i].err);
		vnetrx_txq_kick(r->txq);
		assert_true(tx_rig_stats(r).wrong == (rows[i].err == VNETRX_OK ? 0u : 1u));
		tx_rig_free(r);
	}
}

static void requests_that_contradict_the_packet_are_refused(void **state)
{
	struct tx_options opt = { .size = 16, .hdr_len = 24, .features = UINT32_MAX };
	struct tx_rig *r = tx_rig_new(&opt);
	struct tx_shape bad[12];

	(void)state;
	for (unsigned i = 0; i < 12u; i++)
		bad[i] = tso;
	bad[0].ask.csum_start = 13;
	bad[1].ask.csum_start = 1483; /* its field ends one byte behind the packet */
	bad[2].ask.flags = 2;
	bad[3].ask.flags = 0; /* to be cut, but not summed */
	bad[4].ask.gso_size = 0;
	bad[5].ask.hdr_len = 34;
	bad[6].ask.hdr_len = 1500;
	bad[7].ask.gso_type = VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4; /* without offsets */
	bad[8].ask.gso_type = VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4 | VNETRX_GSO_TUNNEL_IPV6;
	for (unsigned i = 9; i < 12u; i++) {
		bad[i].ask.gso_type = VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4;
		bad[i].ask.outer_l4_off = 24;
		bad[i].ask.inner_l3_off = 30;
	}
	bad[9].ask.outer_l4_off = 13;
	bad[10].ask.inner_l3_off = 24;
	bad[11].ask.inner_l3_off = 34; /* where its checksum starts */
	for (unsigned i = 0; i < 12u; i++)
		assert_int_equal(tx_rig_add(r, &bad[i]), VNETRX_ERR_INVALID);
	assert_int_equal(tx_rig_add(r, &tso), VNETRX_OK);
	tx_rig_free(r);
}

static void packet_of_no_or_too_many_segments_is_refused(void **state)
{
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 16, .segs_max = 4 });
	struct tx_shape none = { .len = 60, .nsegs = 0 }, five = { .len = 60, .nsegs = 5 };

	(void)state;
	assert_int_equal(tx_rig_add(r, &none), VNETRX_ERR_INVALID);
	assert_int_equal(tx_rig_add(r, &five), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_txq_state(r->txq), VNETRX_TXQ_RUNNING);
	tx_rig_free(r);
}

static void without_header_memory_a_packet_needs_headroom(void **state)
{
	struct tx_options opt = { .size = 16, .tx_flags = JOINED, .no_hdrs = true };
	struct tx_rig *r = tx_rig_new(&opt);

	(void)state;
	assert_int_equal(tx_rig_add(r, &bare), VNETRX_ERR_INVALID);
	assert_int_equal(tx_rig_add(r, &small), VNETRX_OK);
	tx_rig_free(r);
}

static void merged_packet_asks_to_be_cut_as_it_was_merged(void **state)
{
	static uint8_t frame[1500] = { [12] = 0x08, [14] = 0x45 };
	struct vnetrx_tx_pkt tx = { .nsegs = 7 };
	struct vnetrx_pkt pkt;

	(void)state;
	vnetrx_pkt_wrap(&pkt, frame, sizeof(frame), VNETRX_PKT_MERGED | VNETRX_PKT_PARTIAL);
	pkt.l3_off = 14;
	pkt.l4_off = pkt.csum_start = 34;
	pkt.csum_offset = 16;
	pkt.hdr_len = 54;
	pkt.gso_size = 500;
	pkt.segs = 3;
	pkt.gso_type = VNETRX_GSO_TCPV4;
	assert_int_equal(vnetrx_tx_pkt_offload(&tx, &pkt, VNETRX_VIRTIO_CSUM), VNETRX_ERR_CANNOT);
	assert_int_equal(tx.flags, 0);
	assert_int_equal(vnetrx_tx_pkt_offload(&tx, &pkt, TSO), VNETRX_OK);
	assert_int_equal(tx.flags, VNETRX_TX_CSUM);
	assert_int_equal(tx.csum_start, 34);
	assert_int_equal(tx.csum_offset, 16);
	assert_int_equal(tx.gso_type, VNETRX_GSO_TCPV4);
	assert_int_equal(tx.gso_size, 500);
	assert_int_equal(tx.hdr_len, 54);
	assert_int_equal(tx.nsegs, 7);
}

static void verified_packet_asks_for_nothing(void **state)
{
	static uint8_t frame[60];
	struct vnetrx_tx_pkt tx = { .flags = VNETRX_TX_CSUM, .gso_type = VNETRX_GSO_TCPV4 };
	struct vnetrx_pkt pkt;

	(void)state;
	vnetrx_pkt_wrap(&pkt, frame, sizeof(frame), VNETRX_PKT_CSUM_OK);
	assert_int_equal(vnetrx_tx_pkt_offload(&tx, &pkt, UINT32_MAX), VNETRX_OK);
	assert_int_equal(tx.flags, 0);
	assert_int_equal(tx.gso_type, VNETRX_GSO_NONE);
}

/* ---- life ---- */

static void reset_at_every_level(struct tx_rig *r)
{
	for (unsigned out = 0; out <= 16u; out++) {
		for (unsigned used = 0; used <= out; used += 3u) {
			uint32_t lost = r->lost;

			for (unsigned i = 0; i < out; i++)
				assert_int_equal(tx_rig_add(r, &small), VNETRX_OK);
			vnetrx_txq_kick(r->txq);
			assert_int_equal(tx_rig_run(r, used), used);
			assert_int_equal(tx_rig_reset(r), out); /* finished, but not taken back: lost as well */
			assert_int_equal(r->lost, lost + out);
			assert_int_equal(r->back, r->taken);
			assert_int_equal(vnetrx_txq_state(r->txq), VNETRX_TXQ_STOPPED);
			assert_int_equal(tx_rig_add(r, &small), VNETRX_ERR_BUSY);
			vnetrx_txq_start(r->txq);
			assert_int_equal(vnetrx_txq_state(r->txq), VNETRX_TXQ_RUNNING);
		}
	}
	assert_int_equal(tx_rig_fill(r, &small), 16);
	drain(r);
}

static void reset_gives_everything_back_as_lost(void **state)
{
	(void)state;
	for_all_rings((struct tx_options){ .size = 16, .tx_flags = JOINED }, reset_at_every_level);
}

static void break_and_repair(struct tx_rig *r)
{
	for (unsigned round = 0; round < 5u; round++) {
		for (unsigned i = 0; i < 5u; i++)
			assert_int_equal(tx_rig_add(r, &small), VNETRX_OK);
		vnetrx_txq_kick(r->txq);
		(void)tx_rig_take(r, 5);
		ring_pair_break(&r->ring);
		(void)vnetrx_txq_poll(r->txq, 64);
		assert_int_equal(vnetrx_txq_state(r->txq), VNETRX_TXQ_BROKEN);
		assert_int_equal(tx_rig_add(r, &small), VNETRX_ERR_BAD);
		assert_true(vnetrx_txq_complete(r->txq)); /* nothing will come: sleep until someone resets it */
		assert_int_equal(tx_rig_reset(r), 5);
		vnetrx_txq_start(r->txq);
		assert_int_equal(vnetrx_txq_state(r->txq), VNETRX_TXQ_RUNNING);
	}
	assert_true(tx_rig_stats(r).broken == 5u);
	assert_int_equal(tx_rig_fill(r, &small), 16);
	drain(r);
}

static void broken_ring_is_reported_and_works_after_a_reset(void **state)
{
	(void)state;
	for_all_rings((struct tx_options){ .size = 16, .tx_flags = JOINED }, break_and_repair);
}

static void stopped_queue_refuses_and_still_gives_back(void **state)
{
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 16, .tx_flags = JOINED });

	(void)state;
	occupy(r, 5);
	vnetrx_txq_stop(r->txq);
	assert_int_equal(tx_rig_add(r, &small), VNETRX_ERR_BUSY);
	drain(r);
	assert_int_equal(r->back, 5);
	assert_int_equal(r->resumes, 0); /* there is room, but it is stopped */
	vnetrx_txq_start(r->txq);
	assert_int_equal(r->resumes, 1);
	assert_int_equal(tx_rig_add(r, &small), VNETRX_OK);
	drain(r);
	tx_rig_free(r);
}

static void never_done(void *host, void *const *cookies, unsigned n, uint32_t flags)
{
	(void)host;
	(void)cookies;
	(void)n;
	(void)flags;
	fail_msg("nothing was sent");
}

static void wrong_configurations_are_refused_by_name(void **state)
{
	static const struct vnetrx_tx_ops no_done = { .done = NULL };
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 16, .tx_flags = JOINED });
	static const struct vnetrx_tx_ops some = { .done = never_done };
	struct vnetrx_txq_config good = { .vq = r->ring.vq, .ops = &some, .hdr_len = 12, .segs_max = 4 };
	struct vnetrx_txq_config bad[7] = { good, good, good, good, good, good, good };
	static const char *const names[] = { "ops", "ops", "vq", "hdr_len", "segs_max", "flags", "vq" };
	struct vnetrx_virtq_seg seg = { .len = 60 };
	struct vnetrx_txq *q;

	(void)state;
	bad[0].ops = NULL;
	bad[1].ops = &no_done;
	bad[2].vq = NULL;
	bad[3].hdr_len = 14;
	bad[4].segs_max = 65;
	bad[5].flags = 2;
	for (unsigned i = 0; i < 7u; i++) {
		const char *why = NULL;

		if (i == 6u) /* something is in it */
			assert_int_equal(vnetrx_virtq_add(r->ring.vq, &seg, 1, 0, 0), VNETRX_OK);
		assert_true(vnetrx_txq_footprint(&bad[i], &why) == 0u);
		assert_true(vnetrx_txq_hdr_bytes(&bad[i]) == 0u);
		assert_non_null(why);
		assert_memory_equal(why, names[i], strlen(names[i]));
		assert_int_equal(vnetrx_txq_init(&q, &bad[i], r->mem, 1u << 20), VNETRX_ERR_INVALID);
	}
	vnetrx_virtq_reset(r->ring.vq);
	good.segs_max = 16; /* and a header: one more than the ring has */
	assert_true(vnetrx_txq_footprint(&good, NULL) == 0u);
	good.segs_max = 15;
	assert_true(vnetrx_txq_footprint(&good, NULL) > 0u);
	assert_int_equal(vnetrx_txq_init(&q, &good, r->mem, vnetrx_txq_footprint(&good, NULL) - 1u), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_txq_init(&q, &good, (uint8_t *)r->mem + 8, 1u << 20), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_txq_init(&q, &good, NULL, 1u << 20), VNETRX_ERR_NOMEM);
	tx_rig_free(r);
}

/* ---- counters ---- */

static atomic_bool stop_reading;

static void *read_counters(void *arg)
{
	const struct tx_rig *r = arg;
	uintptr_t wrong = 0;

	while (!atomic_load(&stop_reading)) {
		struct vnetrx_txq_stats s = tx_rig_stats(r);

		wrong += s.pkts != s.done + s.out || s.bytes != s.pkts * 60u || s.hdr_joined != s.pkts ? 1u : 0u;
	}
	return (void *)wrong; /* NOLINT */
}

static void counters_agree_with_each_other_on_another_thread(void **state)
{
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 64, .tx_flags = JOINED });
	pthread_t thread;
	void *wrong = NULL;

	(void)state;
	atomic_store(&stop_reading, false);
	assert_int_equal(pthread_create(&thread, NULL, read_counters, r), 0);
	for (unsigned i = 0; i < 2000u; i++) {
		(void)tx_rig_fill(r, &small);
		(void)tx_rig_run(r, 1u + i % 64u);
		(void)vnetrx_txq_poll(r->txq, 1u + i % 70u);
	}
	atomic_store(&stop_reading, true);
	assert_int_equal(pthread_join(thread, &wrong), 0);
	assert_null(wrong);
	tx_rig_free(r);
}

static void every_counter_has_a_name_and_a_text(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VNETRX_TXQ_STATS_NUM; i++) {
		assert_memory_equal(vnetrx_txq_stats_name(i), "tx.", 3);
		assert_true(strlen(vnetrx_txq_stats_text(i)) > 0u);
	}
	assert_string_equal(vnetrx_txq_stats_name(0), "tx.pkts");
	assert_null(vnetrx_txq_stats_name(VNETRX_TXQ_STATS_NUM));
	assert_null(vnetrx_txq_stats_text(VNETRX_TXQ_STATS_NUM));
}

/* ---- everything at once ---- */

/* Host and device take turns at random; whoever sleeps is only woken by the other. Nothing may be lost or stuck. */
struct storm {
	struct tx_rig *r;
	struct rng rng;
	bool     asleep;   /* host: until an interrupt */
	unsigned irqs;     /* that it has seen         */
	unsigned resets;
};

static void storm_host(struct storm *s)
{
	struct tx_rig *r = s->r;
	struct tx_shape shape = { .len = 64u + rng_below(&s->rng, 1500), .nsegs = 1u + rng_below(&s->rng, 4),
		                  .headroom = rng_below(&s->rng, 2) * TX_HEADROOM };
	int err = VNETRX_OK;

	for (uint32_t n = rng_below(&s->rng, 20); n > 0u && err == VNETRX_OK; n--)
		err = tx_rig_add(r, &shape);
	assert_true(err == VNETRX_OK || err == VNETRX_ERR_BUSY);
	vnetrx_txq_kick(r->txq);
	if (rng_below(&s->rng, 4) == 0u)
		(void)vnetrx_txq_poll(r->txq, rng_below(&s->rng, 40));
	s->irqs = r->irqs;
	if (err == VNETRX_ERR_BUSY)
		s->asleep = vnetrx_txq_complete(r->txq);
}

static void storm_turn(struct storm *s)
{
	struct tx_rig *r = s->r;

	(void)tx_rig_take(r, rng_below(&s->rng, 10));
	(void)tx_rig_finish(r, rng_below(&s->rng, 10));
	if (rng_below(&s->rng, 5000) == 0u) {
		(void)tx_rig_reset(r);
		vnetrx_txq_start(r->txq);
		s->asleep = false;
		s->resets++;
	}
	if (s->asleep && r->irqs != s->irqs) {
		(void)vnetrx_txq_poll(r->txq, UINT32_MAX);
		s->asleep = false;
	}
	if (s->asleep)
		assert_true(r->got != r->put || softring_pending(r->ring.dev)); /* else it sleeps for ever */
	else
		storm_host(s);
}

static uint64_t storm_seed;

static void storm(struct tx_rig *r)
{
	struct storm s = { .r = r };
	unsigned turns = stream_count(20) * 1000u / stream_step(4);

	s.rng.state = storm_seed;
	for (unsigned i = 0; i < turns; i++)
		storm_turn(&s);
	drain(r);
	assert_int_equal(r->next, r->taken);
	assert_true(r->taken > turns);
}

static void nothing_is_lost_or_stuck_whatever_the_order_of_events(void **state)
{
	(void)state;
	storm_seed = stream_seed();
	for_all_rings((struct tx_options){ .size = 8, .tx_flags = JOINED, .segs_max = 4 }, storm);
	for_all_rings((struct tx_options){ .size = 64, .tx_flags = JOINED }, storm);
}

static void break_when_full(struct tx_rig *r)
{
	assert_int_equal(tx_rig_fill(r, &small), 16);
	assert_int_equal(vnetrx_txq_state(r->txq), VNETRX_TXQ_FULL);
	(void)tx_rig_take(r, 16);
	ring_pair_break(&r->ring);
	assert_int_equal(tx_rig_add(r, &small), VNETRX_ERR_BAD);
	assert_int_equal(vnetrx_txq_state(r->txq), VNETRX_TXQ_BROKEN);
	(void)vnetrx_txq_poll(r->txq, 64);
	assert_int_equal(r->resumes, 0); /* it was refused before, but there is no going on */
	assert_int_equal(tx_rig_reset(r), 16);
	vnetrx_txq_start(r->txq);
}

static void ring_that_breaks_while_room_is_looked_for_is_reported(void **state)
{
	(void)state;
	for_all_rings((struct tx_options){ .size = 16, .tx_flags = JOINED }, break_when_full);
}

static void count_done(void *host, void *const *cookies, unsigned n, uint32_t flags)
{
	unsigned *back = host;

	assert_int_equal(flags, 0);
	for (unsigned i = 0; i < n; i++)
		assert_ptr_equal(cookies[i], back);
	*back += n;
}

/* No doorbell, nobody to tell that there is room again, and as many segments as by default. */
static void queue_with_the_required_op_alone_sends(void **state)
{
	static const struct vnetrx_tx_ops done_only = { .done = count_done };
	static uint8_t hdrs[64u * 16u], frame[60];
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 64, .segs_max = 8 });
	struct vnetrx_virtq_seg seg = { .dma = (uintptr_t)frame, .len = sizeof(frame) };
	unsigned back = 0;
	struct vnetrx_txq_config cfg = { .vq = r->ring.vq, .ops = &done_only, .host = &back, .hdr_len = 12,
		                         .hdrs = hdrs, .hdrs_dma = (uintptr_t)hdrs, .flags = JOINED };
	struct vnetrx_tx_pkt pkt = { .segs = &seg, .nsegs = 1, .cookie = &back, .headroom = 64 };
	size_t size = vnetrx_txq_footprint(&cfg, NULL);
	struct softring_chain chain;
	struct softring_seg segs[2];
	struct vnetrx_txq *q;
	void *mem = aligned_alloc(64, (size + 63u) / 64u * 64u);

	(void)state;
	assert_non_null(mem);
	assert_int_equal(vnetrx_txq_init(&q, &cfg, mem, size), VNETRX_OK);
	for (unsigned i = 0; i < 32u; i++) /* headroom, but no address of it: the header lies apart */
		assert_int_equal(vnetrx_txq_add(q, &pkt), VNETRX_OK);
	assert_int_equal(vnetrx_txq_add(q, &pkt), VNETRX_ERR_BUSY);
	vnetrx_txq_kick(q);
	for (unsigned i = 0; i < 32u; i++) {
		assert_int_equal(softring_take(r->ring.dev, &chain, segs, 2), 1);
		assert_int_equal(chain.out, 2);
		softring_put(r->ring.dev, &chain, 0);
	}
	softring_publish(r->ring.dev);
	assert_int_equal(vnetrx_txq_poll(q, 64), 32);
	assert_int_equal(back, 32);
	assert_int_equal(vnetrx_txq_state(q), VNETRX_TXQ_RUNNING);
	free(mem);
	tx_rig_free(r);
}

static void frame_of_more_than_32_bits_counts_as_that_many(void **state)
{
	struct tx_rig *r = tx_rig_new(&(struct tx_options){ .size = 16 });
	const struct vnetrx_virtq_seg segs[2] = { { .dma = 4096, .len = UINT32_MAX }, { .dma = 4096, .len = 10 } };
	struct vnetrx_tx_pkt pkt = { .segs = segs, .nsegs = 2, .cookie = &r->pkts[0] };

	(void)state;
	assert_int_equal(vnetrx_txq_add(r->txq, &pkt), VNETRX_OK);
	vnetrx_txq_kick(r->txq);
	assert_true(tx_rig_stats(r).bytes == UINT32_MAX);
	r->pkts[0].out = true;
	r->taken++;
	tx_rig_free(r); /* a reset gives it back */
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_arrive_in_order_and_come_back_once),
		cmocka_unit_test(header_shares_a_descriptor_when_layout_and_headroom_permit),
		cmocka_unit_test(header_has_a_descriptor_of_its_own_when_headroom_is_short),
		cmocka_unit_test(header_has_a_descriptor_of_its_own_when_the_layout_wants_it),
		cmocka_unit_test(indirect_packets_take_one_slot),
		cmocka_unit_test(header_of_every_length_is_zero_when_nothing_is_asked),
		cmocka_unit_test(packet_without_room_is_refused_and_touches_nothing),
		cmocka_unit_test(what_is_finished_makes_room_without_a_poll),
		cmocka_unit_test(refused_queue_goes_on_exactly_when_the_largest_packet_fits),
		cmocka_unit_test(queue_that_never_refused_is_never_resumed),
		cmocka_unit_test(batch_is_taken_up_to_the_first_that_has_no_room),
		cmocka_unit_test(doorbell_rings_once_for_a_batch),
		cmocka_unit_test(no_interrupt_is_asked_for_while_packets_are_sent),
		cmocka_unit_test(interrupt_comes_when_a_large_part_of_the_ring_is_sent),
		cmocka_unit_test(header_descriptors_cost_no_interrupts_when_they_are_indirect),
		cmocka_unit_test(part_of_the_ring_is_settable),
		cmocka_unit_test(tail_comes_back_with_few_interrupts),
		cmocka_unit_test(what_is_finished_before_the_request_is_not_slept_over),
		cmocka_unit_test(many_come_back_in_one_call),
		cmocka_unit_test(offloads_stand_in_the_header),
		cmocka_unit_test(header_memory_of_an_offload_is_clean_for_the_next_packet),
		cmocka_unit_test(tunnel_offsets_stand_in_the_header),
		cmocka_unit_test(what_the_device_does_not_offer_is_refused),
		cmocka_unit_test(requests_that_contradict_the_packet_are_refused),
		cmocka_unit_test(packet_of_no_or_too_many_segments_is_refused),
		cmocka_unit_test(without_header_memory_a_packet_needs_headroom),
		cmocka_unit_test(merged_packet_asks_to_be_cut_as_it_was_merged),
		cmocka_unit_test(verified_packet_asks_for_nothing),
		cmocka_unit_test(reset_gives_everything_back_as_lost),
		cmocka_unit_test(broken_ring_is_reported_and_works_after_a_reset),
		cmocka_unit_test(stopped_queue_refuses_and_still_gives_back),
		cmocka_unit_test(wrong_configurations_are_refused_by_name),
		cmocka_unit_test(counters_agree_with_each_other_on_another_thread),
		cmocka_unit_test(every_counter_has_a_name_and_a_text),
		cmocka_unit_test(nothing_is_lost_or_stuck_whatever_the_order_of_events),
		cmocka_unit_test(ring_that_breaks_while_room_is_looked_for_is_reported),
		cmocka_unit_test(queue_with_the_required_op_alone_sends),
		cmocka_unit_test(frame_of_more_than_32_bits_counts_as_that_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
