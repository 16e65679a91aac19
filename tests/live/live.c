/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* clock_gettime() */
#include "live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "pattern.h"
#include "rng.h"

#define BUDGET   64u
#define SEGS_MAX 16u
#define RETRY_US 10000u
#define SECOND   1000000000u

vnetrx_ns live_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (vnetrx_ns)ts.tv_sec * SECOND + (vnetrx_ns)ts.tv_nsec;
}

/* ---- what comes back ---- */

static void received(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct live_pair *pair = arg;
	uint64_t number;
	unsigned i;

	for (i = 0u; i < n; i++) {
		if (!pattern_check(pkts[i], pair->index, &number) || number < pair->expected || number >= pair->next) {
			pair->bad++;
			continue;
		}
		pair->lost += number - pair->expected;
		pair->expected = number + 1u;
		pair->received++;
	}
}

bool live_receive(struct live_pair *pair, vnetrx_ns now)
{
	struct vnetrx_rxq *rxq = pair->p->rxq;

	while (vnetrx_rxq_poll(rxq, BUDGET, now) == BUDGET)
		;
	return vnetrx_rxq_complete(rxq, now);
}

void live_give_up(struct live_pair *pair)
{
	pair->lost += pair->next - pair->expected;
	pair->expected = pair->next;
}

/* ---- what is sent ---- */

static void sent(void *arg, void *const *cookies, unsigned n, uint32_t flags)
{
	unsigned i;

	(void)arg;
	(void)flags;
	for (i = 0u; i < n; i++) {
		struct live_slot *slot = cookies[i];

		slot->pair->idle[slot->pair->nidle++] = slot;
	}
}

/* In one piece: a copy with headroom. In several: the header here, the payload where it lies, cut anywhere. */
static uint16_t cut(struct live *l, struct live_slot *slot, uint64_t number, uint32_t len,
		    struct vnetrx_virtq_seg *segs)
{
	uint32_t at = pattern_at(number);
	uint32_t left = len - PATTERN_HDR;
	uint16_t n = 1u;

	segs[0] = (struct vnetrx_virtq_seg){ .dma = slot->dma, .len = PATTERN_HDR };
	if (l->opts.segs == 1u) {
		memcpy(slot->frame + PATTERN_HDR, l->table + at, left);
		segs[0].len = len;
		return 1u;
	}
	while (left > 0u) {
		uint32_t part = n + 1u == l->opts.segs ? left : 1u + rng_below(&l->rng, left);

		segs[n++] = (struct vnetrx_virtq_seg){ .dma = l->table_dma + at, .len = part };
		at += part;
		left -= part;
	}
	return n;
}

static bool send_one(struct live_pair *pair)
{
	struct live *l = pair->live;
	const struct live_options *o = &l->opts;
	struct live_slot *slot = pair->idle[--pair->nidle]; /* before add, which gives others back */
	struct vnetrx_virtq_seg segs[SEGS_MAX];
	uint32_t len = o->len_min + (o->len_max > o->len_min ? rng_below(&l->rng, o->len_max - o->len_min + 1u) : 0u);
	struct vnetrx_tx_pkt pkt = {
		.segs = segs,
		.cookie = slot,
		.head = slot->frame,
		.headroom = o->segs == 1u ? LIVE_HEADROOM : 0u,
	};

	pattern_header(slot->frame, pair->next, len, pair->index);
	pkt.nsegs = cut(l, slot, pair->next, len, segs);
	if (vnetrx_txq_add(pair->p->txq, &pkt) != VNETRX_OK) {
		pair->idle[pair->nidle++] = slot;
		return false;
	}
	pair->next++;
	if (o->oneway)
		pair->expected = pair->next;
	return true;
}

uint32_t live_room(const struct live_pair *pair)
{
	uint64_t out = pair->next - pair->expected;
	uint32_t window = pair->live->opts.window;

	return pair->live->opts.flood || pair->live->opts.oneway ? UINT32_MAX
	       : out < window                                    ? window - (uint32_t)out
								 : 0u;
}

uint32_t live_send(struct live_pair *pair, uint32_t n)
{
	uint32_t room = live_room(pair);
	uint32_t done = 0u;

	if (n > room)
		n = room;
	pair->full = false;
	while (done < n && !pair->full) {
		if (pair->nidle == 0u)
			(void)vnetrx_txq_poll(pair->p->txq, BUDGET);
		if (pair->nidle == 0u || !send_one(pair))
			pair->full = true;
		else
			done++;
	}
	vnetrx_txq_kick(pair->p->txq);
	return done;
}

/* ---- the back end comes and goes ---- */

uint64_t live_received(const struct live *l)
{
	uint64_t sum = 0u;
	unsigned i;

	for (i = 0u; i < l->net.npairs; i++)
		sum += l->pairs[i].received;
	return sum;
}

static void watch(struct live *l, int fd, int op)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP, .data = { .fd = fd } };

	(void)epoll_ctl(l->epoll_fd, op, fd, &event);
}

static void watch_all(struct live *l, int op)
{
	unsigned i;

	watch(l, l->net.vu.conn.sock, op);
	for (i = 0u; i < l->net.npairs; i++) {
		watch(l, l->net.pairs[i].rx_ring->call_fd, op);
		watch(l, l->net.pairs[i].tx_ring->call_fd, op);
	}
}

/* Every buffer that the rings hold is lent. */
static void count_lent(struct live *l)
{
	struct vnetrx_rxq_stats stats;
	unsigned i;

	for (i = 0u; i < l->net.npairs; i++) {
		vnetrx_rxq_read_stats(l->net.pairs[i].rxq, &stats);
		if (stats.pool.bufs_lent != l->net.pairs[i].dev.bufs_max) {
			fprintf(stderr, "live: %" PRIu64 " of %" PRIu32 " buffers are lent\n", stats.pool.bufs_lent,
				l->net.pairs[i].dev.bufs_max);
			l->leaks++;
		}
	}
}

bool live_connect(struct live *l, unsigned seconds)
{
	vnetrx_ns end = live_now() + (vnetrx_ns)seconds * SECOND;
	int err;

	while ((err = vhost_net_connect(&l->net, live_now())) != 0) {
		if ((err != -EAGAIN && err != -EPIPE) || live_now() > end) {
			fprintf(stderr, "live: %s\n", vhost_user_strerror(err));
			return false;
		}
		usleep(RETRY_US);
	}
	watch_all(l, EPOLL_CTL_ADD);
	count_lent(l);
	l->before = live_received(l);
	return true;
}

void live_disconnect(struct live *l)
{
	struct vnetrx_rxq_stats stats;
	unsigned i;

	watch_all(l, EPOLL_CTL_DEL);
	vhost_net_disconnect(&l->net, live_now());
	for (i = 0u; i < l->net.npairs; i++) {
		struct live_pair *pair = &l->pairs[i];

		pair->cut += pair->next - pair->expected;
		pair->expected = pair->next;
		vnetrx_rxq_read_stats(pair->p->rxq, &stats);
		if (stats.pool.bufs_lent != 0u || pair->nidle != pair->nslots) {
			fprintf(stderr, "live: %" PRIu64 " buffers and %" PRIu32 " frames did not come back\n",
				stats.pool.bufs_lent, pair->nslots - pair->nidle);
			l->leaks++;
		}
	}
}

bool live_sleep(struct live *l, int ms)
{
	struct epoll_event events[4];
	unsigned i;
	int n = epoll_wait(l->epoll_fd, events, 4, ms);

	l->asleep++;
	for (i = 0u; i < l->net.npairs; i++) {
		(void)vhost_ring_called(l->net.pairs[i].rx_ring);
		(void)vhost_ring_called(l->net.pairs[i].tx_ring);
		if (n == 0 && vnetrx_virtq_pending(l->net.pairs[i].rx_ring->vq))
			l->overslept++;
	}
	return n > 0;
}

/* ---- life ---- */

/* As many frames as surely find a place in the receive ring. */
static uint32_t fitting(const struct live_options *o, uint32_t buf_len)
{
	uint32_t bufs = (o->kinds & VHOST_NET_MRG) != 0u ? (o->len_max + 12u + buf_len - 1u) / buf_len : 1u;

	return o->net.rx_size / bufs;
}

static bool make_pair(struct live *l, unsigned i)
{
	struct live_pair *pair = &l->pairs[i];
	uint32_t n = l->opts.net.tx_size;
	uint32_t j;

	*pair = (struct live_pair){ .live = l, .p = &l->net.pairs[i], .index = (uint16_t)i, .nslots = n };
	l->net.pairs[i].host.heap.arg = pair;
	pair->slots = calloc(n, sizeof(pair->slots[0]));
	pair->idle = calloc(n, sizeof(struct live_slot *));
	if (pair->slots == NULL || pair->idle == NULL)
		return false;
	for (j = 0u; j < n; j++) {
		size_t at = PATTERN_SIZE + ((size_t)i * n + j) * LIVE_SLOT + LIVE_HEADROOM;

		pair->slots[j] = (struct live_slot){ pair, l->net.user + at, l->net.user_dma + at };
		pair->idle[pair->nidle++] = &pair->slots[j];
	}
	return true;
}

static bool live_new(struct live *l)
{
	struct live_options *o = &l->opts;
	bool ok = true;
	unsigned i;

	o->net.user_size = PATTERN_SIZE + (size_t)o->net.pairs * o->net.tx_size * LIVE_SLOT;
	o->net.tx_segs = o->segs;
	o->net.show = received;
	o->net.sent = sent;
	if (o->window == 0u)
		o->window = fitting(o, o->net.rxq.buf_len_min);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0 || vhost_net_new(&l->net, &o->net) != 0)
		return false;
	l->table = l->net.user;
	l->table_dma = l->net.user_dma;
	if (l->table == NULL)
		return false;
	pattern_init(l->table);
	for (i = 0u; i < l->net.npairs; i++)
		ok = make_pair(l, i) && ok;
	return ok;
}

static bool live_delete(struct live *l)
{
	bool clean = vhost_net_delete(&l->net, live_now());
	unsigned i;

	for (i = 0u; i < VHOST_PAIRS_MAX; i++) {
		free(l->pairs[i].slots);
		free(l->pairs[i].idle);
	}
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	return clean;
}

/* ---- the end ---- */

/* One line of JSON; true = nothing in it is wrong. What was lost is for the caller to compare. */
static bool report(struct live *l, vnetrx_ns from)
{
	uint64_t frames = 0u, back = live_received(l), lost = 0u, gone = 0u, bad = 0u, interrupts = 0u, drops = 0u,
		 bufs = 0u;
	unsigned i;

	for (i = 0u; i < l->net.npairs; i++) {
		struct vnetrx_rxq_stats stats = { .queue = { 0 } };

		if (l->net.made)
			vnetrx_rxq_read_stats(l->net.pairs[i].rxq, &stats);
		frames += l->pairs[i].next;
		lost += l->pairs[i].lost;
		gone += l->pairs[i].cut;
		bad += l->pairs[i].bad;
		bufs += stats.merge.bufs;
		drops += stats.merge.drained + stats.merge.drop_bad_id;
		interrupts += l->net.pairs[i].rx_ring->calls;
	}
	printf("{\"sent\":%" PRIu64 ",\"received\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"cut\":%" PRIu64
	       ",\"bad\":%" PRIu64 ",\"buffers\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"connects\":%" PRIu64
	       ",\"interrupts\":%" PRIu64 ",\"asleep\":%" PRIu64 ",\"overslept\":%" PRIu64 ",\"leaks\":%" PRIu64
	       ",\"seconds\":%.3f}\n",
	       frames, back, lost, gone, bad, bufs, drops, l->net.connects, interrupts, l->asleep, l->overslept,
	       l->leaks, (double)(live_now() - from) / 1e9);
	if (bad != 0u || drops != 0u || l->overslept != 0u || l->leaks != 0u || (lost != 0u && !l->opts.flood))
		return false;
	return l->opts.oneway || (frames == back + lost + gone && back > l->before);
}

int main(int argc, char **argv)
{
	static struct live l = { .epoll_fd = -1, .rng = 1u };
	vnetrx_ns from = live_now();
	int code = live_options_read(&l.opts, argc, argv);
	bool ok;

	if (code >= 0)
		return code;
	ok = live_new(&l) && live_connect(&l, 30u);
	if (ok) {
		ok = l.opts.bursts != 0u ? live_burst(&l) : live_echo(&l);
		live_disconnect(&l);
		ok = report(&l, from) && ok;
	}
	if (!live_delete(&l)) {
		fprintf(stderr, "live: memory was lost\n");
		ok = false;
	}
	return ok ? 0 : 1;
}
