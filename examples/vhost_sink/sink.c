/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vnetrx-vhost-sink: receives from a live vhost-user back end.
 *
 *   back end --ring--> rxq --deliver--> counted, freed
 *
 * Asleep, it waits in one epoll for the rings' interrupts, the connection, signals and a timer; the timer is set to the
 * nearest of: a queue's deadline, the next line, the end, the next try to connect.
 */
#define _GNU_SOURCE /* clock_gettime() and signals */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "report.h"

#define BUDGET     256u
#define SECOND     1000000000u
#define RETRY_NS   20000000u /* between two tries to connect               */
#define LOOK_NS    1000000u  /* --busy: between two looks at all the rest  */
#define EVENTS_MAX 16

struct sink {
	struct sink_options opts;
	struct vhost_net net;
	struct sink_sums first;
	struct sink_sums last; /* as of the last line        */
	vnetrx_ns now;
	vnetrx_ns next_line;
	vnetrx_ns end;
	vnetrx_ns next_try; /* to connect                 */
	vnetrx_ns timer;    /* what the timer is set to   */
	bool up;
	bool asleep;  /* all queues wait            */
	bool stopped; /* by a signal                */
	bool waiting; /* for the back end, and that was said */
	bool lost;    /* the back end is gone, and --once is set */
	int code;
	int epoll_fd;
	int signal_fd;
	int timer_fd;
};

static vnetrx_ns clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (vnetrx_ns)ts.tv_sec * SECOND + (vnetrx_ns)ts.tv_nsec;
}

/* ---- the connection ---- */

static void watch(const struct sink *s, int fd, bool on)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP, .data = { .fd = fd } };

	(void)epoll_ctl(s->epoll_fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &event);
}

static void watch_rings(const struct sink *s, bool on)
{
	unsigned i;

	watch(s, s->net.vu.conn.sock, on);
	for (i = 0u; i < s->net.npairs; i++)
		watch(s, s->net.pairs[i].rx_ring->call_fd, on);
}

/* Once: a path with a slip in it looks like a back end that is late. */
static void say_waiting(struct sink *s)
{
	const struct vhost_user *vu = &s->net.vu;

	if (s->waiting)
		return;
	s->waiting = true;
	fprintf(stderr, "vnetrx-vhost-sink: waiting for %s: %s\n", s->opts.net.path,
		vu->unreached != 0 ? strerror(vu->unreached) : "no back end has connected");
}

static void try_connect(struct sink *s)
{
	int err = vhost_net_connect(&s->net, s->now);

	s->next_try = s->now + RETRY_NS;
	if (err == 0) {
		s->up = true;
		s->asleep = false; /* what was received meanwhile told nobody */
		watch_rings(s, true);
	} else if (err != -EAGAIN && err != -EPIPE) {
		fprintf(stderr, "vnetrx-vhost-sink: %s: %s\n", s->opts.net.path, vhost_user_strerror(err));
		s->code = EXIT_BACKEND;
	} else {
		say_waiting(s);
	}
}

static void look_at_connection(struct sink *s)
{
	if (s->up && !vhost_net_up(&s->net)) {
		watch_rings(s, false);
		vhost_net_disconnect(&s->net, s->now);
		s->up = false;
		s->lost = s->opts.once;
		s->next_try = s->now;
	}
	if (!s->up && !s->lost && s->now >= s->next_try)
		try_connect(s);
}

/* ---- receiving ---- */

/* One turn of a queue; true = it may sleep. */
static bool turn(struct sink *s, struct vhost_net_pair *pair)
{
	struct vnetrx_rxq *rxq = pair->rxq;
	unsigned took;

	if (vnetrx_rxq_deadline(rxq) <= s->now)
		took = vnetrx_rxq_expire(rxq, BUDGET, s->now);
	else
		took = vnetrx_rxq_poll(rxq, BUDGET, s->now);
	if (took == BUDGET)
		return false;
	s->now = clock_now();
	return vnetrx_rxq_complete(rxq, s->now);
}

/* Polling without sleep asks for no interrupts: only an end of a burst needs complete(), which does. */
static void turn_busy(struct sink *s, struct vhost_net_pair *pair)
{
	struct vnetrx_rxq *rxq = pair->rxq;

	if (vnetrx_rxq_deadline(rxq) <= s->now)
		(void)vnetrx_rxq_expire(rxq, BUDGET, s->now);
	else
		(void)vnetrx_rxq_poll(rxq, BUDGET, s->now);
	if (s->opts.net.rxq.gro_timeout_ns == 0u)
		vnetrx_rxq_flush(rxq);
}

static void turn_all(struct sink *s)
{
	unsigned i;

	s->asleep = true;
	for (i = 0u; i < s->net.npairs; i++) {
		if (s->opts.busy)
			turn_busy(s, &s->net.pairs[i]);
		else
			s->asleep = turn(s, &s->net.pairs[i]) && s->asleep;
	}
}

/* ---- waiting ---- */

static vnetrx_ns earlier(vnetrx_ns a, vnetrx_ns b)
{
	return a < b ? a : b;
}

static void set_timer(struct sink *s)
{
	vnetrx_ns at = earlier(s->next_line, s->end);
	struct itimerspec spec = { .it_value = { .tv_nsec = 1 } };
	unsigned i;

	if (!s->up)
		at = earlier(at, s->next_try);
	for (i = 0u; i < s->net.npairs && s->up; i++)
		at = earlier(at, vnetrx_rxq_deadline(s->net.pairs[i].rxq));
	if (at == s->timer)
		return;
	s->timer = at;
	if (at != VNETRX_NEVER && at != 0u) {
		spec.it_value.tv_sec = (time_t)(at / SECOND);
		spec.it_value.tv_nsec = (long)(at % SECOND);
	} else if (at == VNETRX_NEVER) {
		spec.it_value.tv_nsec = 0; /* off */
	}
	(void)timerfd_settime(s->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void wait_for_events(struct sink *s)
{
	struct epoll_event events[EVENTS_MAX];
	uint64_t ticks;
	unsigned i;
	int n;

	set_timer(s);
	n = epoll_wait(s->epoll_fd, events, EVENTS_MAX, -1);
	s->now = clock_now();
	for (i = 0u; n > 0 && i < (unsigned)n; i++) {
		if (events[i].data.fd == s->timer_fd && read(s->timer_fd, &ticks, sizeof(ticks)) > 0)
			s->timer = 0u; /* it is off now */
	}
	for (i = 0u; i < s->net.npairs; i++)
		(void)vhost_ring_called(s->net.pairs[i].rx_ring);
}

/* Signals, lines, the end; true = go on. */
static bool look_around(struct sink *s)
{
	struct signalfd_siginfo info;
	struct sink_sums sums;

	if (read(s->signal_fd, &info, sizeof(info)) > 0)
		s->stopped = true;
	look_at_connection(s);
	if (s->now >= s->next_line) {
		sink_sums_read(&sums, &s->net, s->now);
		if (!s->opts.quiet)
			sink_report_line(&s->last, &sums, s->opts.json);
		s->last = sums;
		s->next_line += SECOND;
	}
	return !s->stopped && !s->lost && s->code == 0 && s->now < s->end;
}

static uint64_t received(const struct sink *s)
{
	struct sink_sums sums;

	sink_sums_read(&sums, &s->net, s->now);
	return sums.stats.merge.pkts;
}

static void run(struct sink *s)
{
	vnetrx_ns look = 0u;

	for (;;) {
		s->now = clock_now();
		if (!s->opts.busy || s->now >= look) {
			if (!look_around(s) || (s->opts.count != 0u && received(s) >= s->opts.count))
				return;
			look = s->now + LOOK_NS;
		}
		if (s->up)
			turn_all(s);
		if (!s->up || (!s->opts.busy && s->asleep))
			wait_for_events(s);
	}
}

/* ---- life ---- */

static int complain(const char *what)
{
	fprintf(stderr, "vnetrx-vhost-sink: %s: %s\n", what, strerror(errno));
	return EXIT_BACKEND;
}

static int set_up(struct sink *s)
{
	sigset_t signals;
	int err;

	(void)signal(SIGINT, SIG_DFL); /* a shell lets what it starts in the background ignore it */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (s->epoll_fd < 0 || s->signal_fd < 0 || s->timer_fd < 0)
		return complain("descriptors");
	watch(s, s->signal_fd, true);
	watch(s, s->timer_fd, true);
	if (getrandom(s->opts.net.rxq.hash_key, sizeof(s->opts.net.rxq.hash_key), 0u) < 0)
		return complain("random key");
	err = vhost_net_new(&s->net, &s->opts.net);
	if (err != 0) {
		fprintf(stderr, "vnetrx-vhost-sink: %s: %s\n", s->opts.net.path, vhost_user_strerror(err));
		return EXIT_BACKEND;
	}
	s->now = clock_now();
	s->next_line = s->now + SECOND;
	s->end = s->opts.seconds != 0u ? s->now + s->opts.seconds * SECOND : VNETRX_NEVER;
	sink_sums_read(&s->first, &s->net, s->now);
	s->last = s->first;
	return 0;
}

int main(int argc, char **argv)
{
	static struct sink s;
	struct sink_sums sums;
	int code = sink_options_read(&s.opts, argc, argv);

	if (code >= 0)
		return code;
	s.code = set_up(&s);
	if (s.code == 0)
		run(&s);
	s.now = clock_now();
	vhost_net_disconnect(&s.net, s.now);
	sink_sums_read(&sums, &s.net, s.now);
	sink_report_end(&s.first, &sums, s.opts.json);
	if (s.code == 0 && sums.stats.merge.pkts < s.opts.count)
		s.code = EXIT_LIMIT;
	if (!vhost_net_delete(&s.net, s.now)) {
		fprintf(stderr, "vnetrx-vhost-sink: a buffer was lost\n");
		s.code = EXIT_LEAK;
	}
	return s.code;
}
