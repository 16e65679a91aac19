/* SPDX-License-Identifier: BSD-3-Clause */
/* The front end over vhost-user against a small back end on another thread: protocol, failures, life. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "vhost/backend.h"
#include "vhost_net.h"

#define FRAME    200u
#define PATIENCE 20000u /* ms; the machine may be busy */
#define RING     32u

struct rig {
	struct backend b;
	struct vhost_net net;
	unsigned received;
	unsigned wrong;
	unsigned sent;
	unsigned lost;
};

/* ---- the program above the queues ---- */

static void show(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct rig *r = arg;
	uint8_t frame[FRAME];
	unsigned i;

	for (i = 0u; i < n; i++) {
		uint8_t first = (uint8_t)r->received++;
		uint32_t len = vnetrx_pkt_copy(pkts[i], 0u, frame, FRAME);

		if (pkts[i]->len != FRAME || len != FRAME || frame[0] != first || frame[FRAME - 1u] != 255u - first)
			r->wrong++;
	}
}

static void done(void *arg, void *const *cookies, unsigned n, uint32_t flags)
{
	struct rig *r = arg;

	(void)cookies;
	if ((flags & VNETRX_TX_LOST) != 0u)
		r->lost += n;
	else
		r->sent += n;
}

static void send_frame(struct rig *r, unsigned number)
{
	struct vhost_net_pair *pair = &r->net.pairs[0];
	size_t at = number % RING * 256u;
	struct vnetrx_virtq_seg seg = { .dma = r->net.user_dma + at, .len = FRAME };
	struct vnetrx_tx_pkt pkt = { .segs = &seg, .nsegs = 1u };

	memset(r->net.user + at, 0, FRAME);
	r->net.user[at] = (uint8_t)number;
	r->net.user[at + FRAME - 1u] = (uint8_t)(255u - number % 256u);
	assert_int_equal(vnetrx_txq_add(pair->txq, &pkt), VNETRX_OK);
	vnetrx_txq_kick(pair->txq);
}

/* Polls until `n` frames have come in all. */
static void await(struct rig *r, unsigned n)
{
	struct vhost_ring *ring = r->net.pairs[0].rx_ring;
	struct vnetrx_rxq *rxq = r->net.pairs[0].rxq;

	while (r->received < n) {
		struct pollfd pfd = { .fd = ring->call_fd, .events = POLLIN };

		(void)vnetrx_rxq_poll(rxq, 64u, 0u);
		if (!vnetrx_rxq_complete(rxq, 0u))
			continue;
		if (r->received < n)
			assert_int_equal(poll(&pfd, 1, PATIENCE), 1);
		(void)vhost_ring_called(ring);
	}
	assert_int_equal(r->wrong, 0);
}

/* ---- life ---- */

static int open_front_end(struct rig *r, unsigned kinds, unsigned pairs)
{
	struct vhost_net_config cfg = {
		.path = r->b.path,
		.listen = r->b.connects,
		.wants = vhost_net_wants(kinds, 1500u),
		.pairs = pairs,
		.rx_size = RING,
		.tx_size = RING,
		.region_size = 4u << 20,
		.user_size = RING * 256u,
		.rxq = { .flags = VNETRX_RXQ_GRO_OFF },
		.show = show,
		.sent = done,
		.arg = r,
	};

	return vhost_net_new(&r->net, &cfg);
}

static int connect_front_end(struct rig *r)
{
	unsigned ms = 0u;
	int err;

	while ((err = vhost_net_connect(&r->net, 0u)) == -EAGAIN && ms++ < PATIENCE)
		usleep(1000);
	return err;
}

static struct rig *running(struct backend b, unsigned kinds)
{
	struct rig *r = test_calloc(1u, sizeof(*r));

	r->b = b;
	if (!b.connects)
		backend_start(&r->b);
	assert_int_equal(open_front_end(r, kinds, 1u), 0);
	if (b.connects)
		backend_start(&r->b);
	assert_int_equal(connect_front_end(r), 0);
	return r;
}

static void end(struct rig *r)
{
	assert_true(vhost_net_delete(&r->net, 0u));
	backend_stop(&r->b);
	test_free(r);
}

static uint64_t lent(const struct rig *r)
{
	struct vnetrx_rxq_stats stats;

	vnetrx_rxq_read_stats(r->net.pairs[0].rxq, &stats);
	return stats.pool.bufs_lent;
}

/* What one try to connect comes to. */
static int outcome(struct backend b, unsigned pairs)
{
	struct rig *r = test_calloc(1u, sizeof(*r));
	int err;

	r->b = b;
	backend_start(&r->b);
	assert_int_equal(open_front_end(r, VHOST_NET_MRG, pairs), 0);
	if (b.fault == BACKEND_SILENT)
		r->net.vu.cfg.timeout_ms = 100;
	err = connect_front_end(r);
	end(r);
	return err;
}

static int with_fault(enum backend_fault fault, uint32_t at)
{
	struct backend b = backend_honest();

	b.fault = fault;
	b.fault_at = at;
	return outcome(b, 1u);
}

/* ---- the protocol ---- */

static void messages_come_in_the_order_of_the_protocol(void **state)
{
	static const uint32_t want[] = {
		VHOST_SET_OWNER,
		VHOST_GET_FEATURES,
		VHOST_GET_PROTOCOL_FEATURES,
		VHOST_SET_PROTOCOL_FEATURES,
		VHOST_SET_FEATURES,
		VHOST_SET_MEM_TABLE,
		VHOST_SET_VRING_CALL,
		VHOST_SET_VRING_NUM,
		VHOST_SET_VRING_BASE,
		VHOST_SET_VRING_ADDR,
		VHOST_SET_VRING_KICK,
		VHOST_SET_VRING_CALL,
		VHOST_SET_VRING_NUM,
		VHOST_SET_VRING_BASE,
		VHOST_SET_VRING_ADDR,
		VHOST_SET_VRING_KICK,
		VHOST_SET_VRING_ENABLE,
		VHOST_SET_VRING_ENABLE,
	};
	struct rig *r = running(backend_honest(), VHOST_NET_MRG);

	(void)state;
	assert_int_equal(r->b.nrequests, sizeof(want) / sizeof(want[0]));
	assert_memory_equal(r->b.requests, want, sizeof(want));
	end(r);
}

static void back_end_gets_memory_rings_and_features(void **state)
{
	struct rig *r = running(backend_honest(), VHOST_NET_MRG);
	const struct backend *b = &r->b;

	(void)state;
	assert_int_equal(b->accepted & ~VHOST_F_PROTOCOL_FEATURES, r->net.vu.plan.accept.word[0]);
	assert_int_equal(b->memory.guest_addr, REGION_DMA);
	assert_int_equal(b->memory.size, r->net.region->size);
	assert_int_equal(b->rings[0].size, RING);
	assert_true(b->rings[0].addr.desc >= b->memory.user_addr);
	assert_true(b->rings[1].addr.used < b->memory.user_addr + b->memory.size);
	assert_true(b->rings[0].enabled && b->rings[1].enabled);
	end(r);
}

static void rings_are_taken_back_before_the_connection_ends(void **state)
{
	struct rig *r = running(backend_honest(), VHOST_NET_MRG);
	unsigned n;

	(void)state;
	vhost_net_disconnect(&r->net, 0u);
	backend_stop(&r->b); /* from here on its thread writes no more */
	n = r->b.nrequests;
	assert_true(n > 2u);
	assert_int_equal(r->b.requests[n - 1u], VHOST_GET_VRING_BASE);
	assert_int_equal(r->b.requests[n - 2u], VHOST_GET_VRING_BASE);
	assert_int_not_equal(r->b.requests[n - 3u], VHOST_GET_VRING_BASE);
	assert_true(vhost_net_delete(&r->net, 0u));
	test_free(r);
}

static void back_end_without_features_of_the_protocol_is_served(void **state)
{
	struct backend b = backend_honest();

	(void)state;
	b.features &= ~VHOST_F_PROTOCOL_FEATURES;
	assert_int_equal(outcome(b, 1u), 0);
}

static void back_end_without_acknowledgements_is_served(void **state)
{
	struct backend b = backend_honest();

	(void)state;
	b.protocol = 0u;
	assert_int_equal(outcome(b, 1u), 0);
}

static void two_pairs_are_started(void **state)
{
	struct backend b = backend_honest();

	(void)state;
	b.protocol |= VHOST_PROTOCOL_MQ;
	b.features |= 1ull << VNETRX_NET_F_MQ | 1ull << VNETRX_NET_F_CTRL_VQ;
	b.queues = 2u;
	assert_int_equal(outcome(b, 2u), 0);
}

/* ---- what back ends do wrong ---- */

static void make_file(const char *path)
{
	FILE *file = fopen(path, "wx");

	assert_non_null(file);
	assert_int_equal(fputc('x', file), 'x');
	assert_int_equal(fclose(file), 0);
}

static void nobody_there_is_said(void **state)
{
	struct rig r = { .b = backend_honest() };

	(void)state;
	assert_int_equal(open_front_end(&r, VHOST_NET_MRG, 1u), 0);
	assert_int_equal(vhost_net_connect(&r.net, 0u), -EAGAIN);
	assert_true(vhost_net_delete(&r.net, 0u));
}

static int connected_to_path(const char *path)
{
	struct rig r = { .b = backend_honest() };
	int err;

	snprintf(r.b.path, sizeof(r.b.path), "%s", path);
	assert_int_equal(open_front_end(&r, VHOST_NET_MRG, 1u), 0);
	err = vhost_net_connect(&r.net, 0u);
	assert_true(vhost_net_delete(&r.net, 0u));
	return err;
}

static void path_that_is_no_socket_is_said(void **state)
{
	struct backend b = backend_honest();

	(void)state;
	make_file(b.path);
	assert_int_equal(connected_to_path(b.path), -ENOTSOCK);
	assert_int_equal(unlink(b.path), 0);
	assert_int_equal(connected_to_path("/tmp"), -EISDIR);
	assert_int_equal(connected_to_path(""), -ENOENT);
}

/* ---- what is at the path already ---- */

/* What comes of listening at the path of `b`. */
static int listening(const struct backend *b)
{
	struct rig r = { .b = *b };
	int err;

	r.b.connects = true;
	err = open_front_end(&r, VHOST_NET_MRG, 1u);
	assert_true(vhost_net_delete(&r.net, 0u));
	return err;
}

static void listening_leaves_a_file_alone(void **state)
{
	struct backend b = backend_honest();
	struct stat st;

	(void)state;
	make_file(b.path);
	assert_int_equal(listening(&b), -EEXIST);
	assert_int_equal(stat(b.path, &st), 0);
	assert_int_equal(st.st_size, 1);
	assert_int_equal(unlink(b.path), 0);
}

static void listening_leaves_a_symbolic_link_alone(void **state)
{
	struct backend b = backend_honest();

	(void)state;
	assert_int_equal(symlink("/nowhere", b.path), 0);
	assert_int_equal(listening(&b), -EEXIST);
	assert_int_equal(unlink(b.path), 0);
}

static void listening_leaves_a_live_listener_alone(void **state)
{
	struct rig r = { .b = backend_honest() };

	(void)state;
	r.b.connects = true; /* nobody has begun to */
	assert_int_equal(open_front_end(&r, VHOST_NET_MRG, 1u), 0);
	assert_int_equal(listening(&r.b), -EADDRINUSE);
	assert_int_equal(listening(&r.b), -EADDRINUSE);
	assert_int_equal(listening(&r.b), -EADDRINUSE); /* its queue is full now */
	assert_int_equal(access(r.b.path, F_OK), 0);
	assert_true(vhost_net_delete(&r.net, 0u));
	assert_int_equal(access(r.b.path, F_OK), -1);
}

static void listening_replaces_a_socket_that_was_left_over(void **state)
{
	struct rig r = { .b = backend_honest() };

	(void)state;
	r.b.connects = true;
	assert_int_equal(open_front_end(&r, VHOST_NET_MRG, 1u), 0);
	close(r.net.vu.listener); /* as if killed: the file stays */
	r.net.vu.listener = -1;
	assert_true(vhost_net_delete(&r.net, 0u));
	assert_int_equal(access(r.b.path, F_OK), 0);
	assert_int_equal(listening(&r.b), 0);
	assert_int_equal(access(r.b.path, F_OK), -1);
}

static void what_took_the_place_of_the_socket_stays(void **state)
{
	struct rig r = { .b = backend_honest() };

	(void)state;
	r.b.connects = true;
	assert_int_equal(open_front_end(&r, VHOST_NET_MRG, 1u), 0);
	assert_int_equal(unlink(r.b.path), 0);
	make_file(r.b.path);
	assert_true(vhost_net_delete(&r.net, 0u));
	assert_int_equal(unlink(r.b.path), 0);
}

static void silent_back_end_is_given_up(void **state)
{
	(void)state;
	assert_int_equal(with_fault(BACKEND_SILENT, VHOST_GET_FEATURES), -ETIMEDOUT);
	assert_int_equal(with_fault(BACKEND_SILENT, VHOST_SET_VRING_ADDR), -ETIMEDOUT);
}

static void back_end_that_goes_during_the_negotiation_is_seen(void **state)
{
	(void)state;
	assert_int_equal(with_fault(BACKEND_CLOSES, VHOST_GET_FEATURES), -EPIPE);
	assert_int_equal(with_fault(BACKEND_CLOSES, VHOST_SET_MEM_TABLE), -EPIPE);
	assert_int_equal(with_fault(BACKEND_CLOSES, VHOST_SET_VRING_ENABLE), -EPIPE);
}

static void refused_message_is_a_failure(void **state)
{
	(void)state;
	assert_int_equal(with_fault(BACKEND_REFUSES, VHOST_SET_FEATURES), -EPROTO);
	assert_int_equal(with_fault(BACKEND_REFUSES, VHOST_SET_MEM_TABLE), -EPROTO);
	assert_int_equal(with_fault(BACKEND_REFUSES, VHOST_SET_VRING_KICK), -EPROTO);
}

static void answer_that_does_not_fit_is_a_failure(void **state)
{
	(void)state;
	assert_int_equal(with_fault(BACKEND_SHORT, VHOST_GET_FEATURES), -EPROTO);
	assert_int_equal(with_fault(BACKEND_OTHER, VHOST_GET_PROTOCOL_FEATURES), -EPROTO);
	assert_int_equal(with_fault(BACKEND_OTHER, VHOST_SET_VRING_NUM), -EPROTO);
}

static void too_few_queues_are_a_failure(void **state)
{
	struct backend b = backend_honest();

	(void)state;
	b.protocol |= VHOST_PROTOCOL_MQ;
	b.features |= 1ull << VNETRX_NET_F_MQ | 1ull << VNETRX_NET_F_CTRL_VQ;
	assert_int_equal(outcome(b, 2u), -ENOTSUP);
}

/* ---- frames ---- */

static void frames_return(unsigned kinds)
{
	struct rig *r = running(backend_honest(), kinds);
	unsigned i;

	for (i = 0u; i < 4u * RING; i++) {
		send_frame(r, i);
		await(r, i + 1u);
	}
	for (i = 0u; i < PATIENCE && r->sent < 4u * RING; i++) {
		(void)vnetrx_txq_poll(r->net.pairs[0].txq, UINT32_MAX);
		usleep(1000);
	}
	assert_int_equal(r->sent, 4u * RING);
	end(r);
}

static void frames_return_by_split_rings(void **state)
{
	(void)state;
	frames_return(VHOST_NET_MRG);
}

static void frames_return_by_packed_rings(void **state)
{
	(void)state;
	frames_return(VHOST_NET_MRG | VHOST_NET_PACKED);
}

static void frames_return_in_order_and_without_mergeable_buffers(void **state)
{
	(void)state;
	frames_return(VHOST_NET_IN_ORDER);
	frames_return(VHOST_NET_IN_ORDER | VHOST_NET_PACKED);
}

static void back_end_may_connect_to_the_front_end(void **state)
{
	struct backend b = backend_honest();
	struct rig *r;

	(void)state;
	b.connects = true;
	r = running(b, VHOST_NET_MRG);
	send_frame(r, 0u);
	await(r, 1u);
	end(r);
}

/* ---- the back end comes back ---- */

static void everything_comes_back_with_the_back_end_gone(void **state)
{
	struct rig *r = running(backend_honest(), VHOST_NET_MRG);

	(void)state;
	send_frame(r, 0u);
	await(r, 1u);
	backend_stop(&r->b);
	assert_false(vhost_net_up(&r->net));
	assert_int_equal(lent(r), RING);
	send_frame(r, 1u); /* to nobody */
	vhost_net_disconnect(&r->net, 0u);
	assert_int_equal(lent(r), 0);
	assert_int_equal(r->sent + r->lost, 2);
	backend_start(&r->b);
	end(r);
}

static void traffic_goes_on_when_the_back_end_is_back(void **state)
{
	struct rig *r = running(backend_honest(), VHOST_NET_MRG | VHOST_NET_PACKED);
	unsigned i;

	(void)state;
	for (i = 0u; i < 5u; i++) {
		send_frame(r, i);
		await(r, i + 1u);
		backend_stop(&r->b);
		vhost_net_disconnect(&r->net, 0u);
		backend_start(&r->b);
		assert_int_equal(connect_front_end(r), 0);
		assert_int_equal(lent(r), RING);
	}
	assert_int_equal(r->net.connects, 6);
	end(r);
}

static void back_end_that_comes_back_with_less_is_refused(void **state)
{
	struct rig *r = running(backend_honest(), VHOST_NET_MRG);

	(void)state;
	backend_stop(&r->b);
	vhost_net_disconnect(&r->net, 0u);
	r->b.features &= ~(1ull << VNETRX_NET_F_MRG_RXBUF);
	backend_start(&r->b);
	assert_int_equal(connect_front_end(r), -ENOTSUP);
	end(r);
}

/* ---- the region ---- */

static void pages_are_aligned_and_reused(void **state)
{
	struct region *region = region_new(4u << 20);
	uint64_t dma = 0u, again = 0u;
	void *page;
	size_t size;

	(void)state;
	assert_non_null(region);
	for (size = REGION_PAGE; size <= REGION_HUGE_PAGE; size *= 2u) {
		page = region_alloc(region, size, &dma);
		assert_non_null(page);
		assert_int_equal((uintptr_t)page % size, 0);
		assert_int_equal(dma % size, 0);
		assert_ptr_equal(region_at(region, dma), page);
		region_give(region, page, size);
		assert_ptr_equal(region_alloc(region, size, &again), page);
		assert_int_equal(again, dma);
		region_give(region, page, size);
	}
	assert_int_equal(region->out, 0);
	region_delete(region);
}

static void full_region_and_odd_sizes_give_nothing(void **state)
{
	struct region *region = region_new(2u << 20);
	uint64_t dma = 0u;
	unsigned n = 0u;

	(void)state;
	assert_non_null(region);
	assert_null(region_alloc(region, 3000u, &dma));
	assert_null(region_alloc(region, REGION_HUGE_PAGE * 2u, &dma));
	while (region_alloc(region, 32768u, &dma) != NULL)
		n++;
	assert_int_equal(n, 64);
	assert_null(region_keep(region, 1u, &dma));
	region_delete(region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_come_in_the_order_of_the_protocol),
		cmocka_unit_test(back_end_gets_memory_rings_and_features),
		cmocka_unit_test(rings_are_taken_back_before_the_connection_ends),
		cmocka_unit_test(back_end_without_features_of_the_protocol_is_served),
		cmocka_unit_test(back_end_without_acknowledgements_is_served),
		cmocka_unit_test(two_pairs_are_started),
		cmocka_unit_test(nobody_there_is_said),
		cmocka_unit_test(path_that_is_no_socket_is_said),
		cmocka_unit_test(listening_leaves_a_file_alone),
		cmocka_unit_test(listening_leaves_a_symbolic_link_alone),
		cmocka_unit_test(listening_leaves_a_live_listener_alone),
		cmocka_unit_test(listening_replaces_a_socket_that_was_left_over),
		cmocka_unit_test(what_took_the_place_of_the_socket_stays),
		cmocka_unit_test(silent_back_end_is_given_up),
		cmocka_unit_test(back_end_that_goes_during_the_negotiation_is_seen),
		cmocka_unit_test(refused_message_is_a_failure),
		cmocka_unit_test(answer_that_does_not_fit_is_a_failure),
		cmocka_unit_test(too_few_queues_are_a_failure),
		cmocka_unit_test(frames_return_by_split_rings),
		cmocka_unit_test(frames_return_by_packed_rings),
		cmocka_unit_test(frames_return_in_order_and_without_mergeable_buffers),
		cmocka_unit_test(back_end_may_connect_to_the_front_end),
		cmocka_unit_test(everything_comes_back_with_the_back_end_gone),
		cmocka_unit_test(traffic_goes_on_when_the_back_end_is_back),
		cmocka_unit_test(back_end_that_comes_back_with_less_is_refused),
		cmocka_unit_test(pages_are_aligned_and_reused),
		cmocka_unit_test(full_region_and_odd_sizes_give_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
