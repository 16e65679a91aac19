/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "live.h"
#include "rng.h"

#define SECOND   1000000000u
#define LOOK_NS  1000000u          /* between two looks at the connection           */
#define QUIET_NS (10ull * SECOND)  /* nothing came for so long: what is out is lost */
#define LATE_NS  (120ull * SECOND) /* how much longer than wanted a back end may take to come back */
#define BATCH    32u
#define WAKE_MS  100
#define BURST_MS 5000 /* an interrupt that takes longer never comes    */

/* ---- echo ---- */

/* When something last came, and how much had come then. */
struct progress {
	vnetrx_ns at;
	vnetrx_ns look; /* at the connection */
	uint64_t total;
	unsigned gone; /* times that the back end went away */
};

static uint64_t total(const struct live *l)
{
	uint64_t sum = live_received(l);
	unsigned i;

	for (i = 0u; i < l->net.npairs; i++)
		sum += l->pairs[i].next;
	return sum;
}

/* With oneway: everything was taken by the back end. */
static bool all_back(const struct live *l)
{
	unsigned i;

	for (i = 0u; i < l->net.npairs; i++) {
		struct vnetrx_txq *txq = l->pairs[i].p->txq;

		if (l->pairs[i].next != l->pairs[i].expected)
			return false;
		if (l->opts.oneway && (vnetrx_txq_poll(txq, UINT32_MAX), vnetrx_txq_outstanding(txq)) != 0u)
			return false;
	}
	return true;
}

static bool look(struct live *l, struct progress *p, vnetrx_ns now)
{
	unsigned i;

	if (now < p->look)
		return true;
	p->look = now + LOOK_NS;
	if (!vhost_net_up(&l->net)) {
		p->gone++;
		live_disconnect(l);
		if (!live_connect(l, 30u))
			return false;
		p->at = live_now();
	}
	if (total(l) != p->total) {
		p->total = total(l);
		p->at = now;
	} else if (now > p->at + QUIET_NS) {
		for (i = 0u; i < l->net.npairs; i++)
			live_give_up(&l->pairs[i]);
		p->at = now;
	}
	return true;
}

/* One turn of a pair; true = there is nothing to do until an interrupt. */
static bool turn(struct live_pair *pair, uint64_t count, vnetrx_ns now)
{
	uint64_t left = count > pair->next ? count - pair->next : 0u;
	bool idle;

	(void)live_send(pair, left < BATCH ? (uint32_t)left : BATCH);
	idle = live_receive(pair, now);
	if (pair->full)
		return vnetrx_txq_complete(pair->p->txq) && idle;
	return idle && (left == 0u || live_room(pair) == 0u);
}

bool live_echo(struct live *l)
{
	const struct live_options *o = &l->opts;
	vnetrx_ns end = live_now() + o->seconds * SECOND;
	struct progress p = { .at = live_now() };
	uint64_t count = o->count / l->net.npairs;
	bool more = true;

	while (more || !all_back(l)) {
		vnetrx_ns now = live_now();
		bool idle = true;
		unsigned i;

		if (!look(l, &p, now))
			return false;
		if (now > end && (p.gone >= o->reconnects || now > end + LATE_NS))
			count = 0u; /* no more are sent */
		more = false;
		for (i = 0u; i < l->net.npairs; i++) {
			idle = turn(&l->pairs[i], count, now) && idle;
			more = more || l->pairs[i].next < count;
		}
		if (idle && o->interrupt)
			(void)live_sleep(l, WAKE_MS);
	}
	if (p.gone < o->reconnects)
		fprintf(stderr, "live: the back end went away %u times, not %u\n", p.gone, o->reconnects);
	return p.gone >= o->reconnects;
}

/* ---- bursts ---- */

/* Sends n frames while the receive half is asleep, and takes them as interrupts bring them. */
static bool burst(struct live *l, struct live_pair *pair, uint32_t n)
{
	vnetrx_ns now = live_now();

	while (!live_receive(pair, now))
		;
	if (live_send(pair, n) != n) {
		fprintf(stderr, "live: no room for a burst of %" PRIu32 "\n", n);
		return false;
	}
	while (pair->expected != pair->next) {
		if (!live_sleep(l, BURST_MS)) {
			fprintf(stderr, "live: %" PRIu64 " of a burst of %" PRIu32 " did not come\n",
				pair->next - pair->expected, n);
			return false;
		}
		now = live_now();
		while (!live_receive(pair, now))
			;
	}
	return true;
}

/* Every 16th burst fills the ring. */
bool live_burst(struct live *l)
{
	const struct live_options *o = &l->opts;
	vnetrx_ns end = live_now() + o->seconds * SECOND;
	uint64_t i;

	for (i = 0u; i < o->bursts; i++) {
		struct live_pair *pair = &l->pairs[i % l->net.npairs];
		uint32_t n = i % 16u == 15u ? o->window : 1u + rng_below(&l->rng, o->window);

		if (!burst(l, pair, n))
			return false;
		if (live_now() > end) {
			fprintf(stderr, "live: only %" PRIu64 " bursts in time\n", i + 1u);
			return false;
		}
	}
	return true;
}
