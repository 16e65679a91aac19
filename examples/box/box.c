/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vnetrx-box: a bump in the wire between two interfaces.
 *
 *   IN [queue i] --lane i--> OUT [queue i]      OUT [queue i] --lane n + i--> IN [queue i]
 *
 * What is read from queue i of one side is written to queue i of the other. The kernel sends the answers of a flow to
 * the queue that the flow was last written to, so that a flow stays on one queue of each side, and thereby in order.
 *
 * Asleep, it waits in one epoll for the queues, signals, news about the interfaces, and a timer; the timer is set to
 * the nearest of: a lane's deadline, the next line, the end.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "lane.h"
#include "options.h"
#include "report.h"

#define LANES_MAX  (2u * PORT_QUEUES_MAX)
#define EVENTS_MAX 64
#define LOOK_NS    20000u /* --busy: between two looks at all that is not a ring */

/* What an event is about: a lane's number, or one of these. */
enum { EVENT_SIGNAL = LANES_MAX, EVENT_TIMER, EVENT_IN, EVENT_OUT };

struct box {
	struct box_options opts;
	struct port  in;
	struct port  out;
	unsigned     queues;
	struct lane  lanes[LANES_MAX];
	uint32_t     watched[LANES_MAX]; /* what epoll looks for at lane i's input */
	struct box_sums first;
	struct box_sums last; /* as of the last line      */
	vnetrx_ns now;
	vnetrx_ns next_line;
	vnetrx_ns end;
	vnetrx_ns timer;      /* what the timer is set to */
	bool stopped;
	int  code;
	int  epoll_fd;
	int  signal_fd;
	int  timer_fd;
};

/* ---- why it ends ---- */

static void stop(struct box *b, int code, const char *what, const char *why)
{
	if (!b->stopped)
		fprintf(stderr, "vnetrx-box: %s: %s\n", what, why);
	b->stopped = true;
	b->code = b->code != 0 ? b->code : code;
}

static const char *text_of(int err)
{
	switch (err) {
	case -ENETDOWN:
	case -EIO:
		return "the interface is down";
	case -ENODEV:
	case -EBADFD:
		return "the interface is gone";
	case -ENOBUFS:
	case -ENOMEM:
		return "the kernel has no memory for packets";
	default:
		return strerror(-err);
	}
}

static void look_at_signal(struct box *b)
{
	struct signalfd_siginfo info;

	if (read(b->signal_fd, &info, sizeof(info)) == sizeof(info))
		stop(b, 0, "stopped", info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
}

static void look_at_link(struct box *b, const struct port *port)
{
	int err = link_look(port_link(port));

	if (err != 0)
		stop(b, EXIT_PORT, port->name, text_of(err));
}

static void look_at_lane(struct box *b, const struct lane *lane)
{
	bool forward = lane < &b->lanes[b->queues];
	const struct port *port = forward == lane->in_broken ? &b->in : &b->out;

	if (lane->err == 0)
		return;
	look_at_link(b, port); /* it may know better */
	stop(b, EXIT_PORT, port->name, text_of(lane->err));
}

/* ---- waiting ---- */

static bool watch(const struct box *b, int fd, uint32_t what, uint32_t about)
{
	struct epoll_event event = { .events = what, .data = { .u32 = about } };

	return epoll_ctl(b->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* A ring that is looked at all the time, in and out: nobody need say that something is there, and the kernel is spared
 * the effort for each frame. */
static bool looked_at(const struct box *b, const struct lane *lane)
{
	return b->opts.busy && lane->in.region != NULL;
}

/* Lane i's input is the output of the lane the other way. */
static void watch_lane(struct box *b, unsigned i)
{
	const struct lane *lane = &b->lanes[i], *back = &b->lanes[(i + b->queues) % (2u * b->queues)];
	uint32_t what = (lane->blocked ? 0u : (uint32_t)EPOLLIN) | (back->blocked ? (uint32_t)EPOLLOUT : 0u);
	struct epoll_event event = { .events = what, .data = { .u32 = i } };

	if (what != b->watched[i] && !looked_at(b, lane))
		(void)epoll_ctl(b->epoll_fd, EPOLL_CTL_MOD, lane->in.fd, &event);
	b->watched[i] = what;
}

static void event_at_lane(struct box *b, unsigned i, uint32_t what)
{
	struct lane *lane = &b->lanes[i], *back = &b->lanes[(i + b->queues) % (2u * b->queues)];

	if ((what & (uint32_t)(EPOLLERR | EPOLLHUP)) != 0u) {
		look_at_link(b, &b->in);
		look_at_link(b, &b->out);
	}
	if ((what & (uint32_t)EPOLLOUT) != 0u && back->blocked)
		back->ready = true;
	if ((what & (uint32_t)EPOLLIN) != 0u)
		lane->ready = true;
}

static void handle(struct box *b, const struct epoll_event *event)
{
	uint64_t ticks;

	switch (event->data.u32) {
	case EVENT_SIGNAL:
		look_at_signal(b);
		break;
	case EVENT_TIMER:
		if (read(b->timer_fd, &ticks, sizeof(ticks)) > 0)
			b->timer = 0u; /* it is off now */
		break;
	case EVENT_IN:
		look_at_link(b, &b->in);
		break;
	case EVENT_OUT:
		look_at_link(b, &b->out);
		break;
	default:
		event_at_lane(b, event->data.u32, event->events);
	}
}

static void set_timer(struct box *b)
{
	vnetrx_ns at = b->next_line < b->end ? b->next_line : b->end;
	struct itimerspec spec = { .it_value = { .tv_nsec = 1 } };
	unsigned i;

	for (i = 0u; i < 2u * b->queues; i++) {
		vnetrx_ns deadline = vnetrx_rxq_deadline(b->lanes[i].rxq);

		at = deadline < at ? deadline : at;
	}
	if (at == b->timer)
		return;
	b->timer = at;
	if (at != 0u) {
		spec.it_value.tv_sec = (time_t)(at / SECOND_NS);
		spec.it_value.tv_nsec = (long)(at % SECOND_NS);
	}
	(void)timerfd_settime(b->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* Sleeps when nobody wants a turn; else only looks. */
static void wait_for_events(struct box *b, bool sleep)
{
	struct epoll_event events[EVENTS_MAX];
	unsigned i;
	int n;

	for (i = 0u; i < 2u * b->queues; i++)
		watch_lane(b, i);
	if (sleep)
		set_timer(b);
	n = epoll_wait(b->epoll_fd, events, EVENTS_MAX, sleep ? -1 : 0);
	b->now = clock_now();
	for (i = 0u; n > 0 && i < (unsigned)n; i++)
		handle(b, &events[i]);
}

/* ---- running ---- */

/* A look at AF_XDP's ring costs nothing, at a TAP a system call: that waits for epoll to say so, busy or not. */
static bool wants_turn(const struct box *b, unsigned i)
{
	const struct lane *lane = &b->lanes[i], *back = &b->lanes[(i + b->queues) % (2u * b->queues)];

	if (lane->blocked)
		return lane->ready || looked_at(b, back);
	return lane->ready || looked_at(b, lane) || vnetrx_rxq_deadline(lane->rxq) <= b->now;
}

/* true = nobody wants another turn. */
static bool turn_all(struct box *b)
{
	bool asleep = true;
	unsigned i;

	for (i = 0u; i < 2u * b->queues; i++) {
		struct lane *lane = &b->lanes[i];

		if (!wants_turn(b, i))
			continue;
		b->now = lane_turn(lane, b->now);
		look_at_lane(b, lane);
		asleep = asleep && !lane->ready;
	}
	return asleep;
}

static void print_line(struct box *b)
{
	struct box_sums sums;

	box_sums_read(&sums, b->lanes, b->queues);
	if (!b->opts.quiet)
		box_report_line(&b->last, &sums, b->opts.json);
	b->last = sums;
	b->next_line += SECOND_NS;
}

static void run(struct box *b)
{
	vnetrx_ns look = 0u;

	while (!b->stopped && b->now < b->end) {
		bool asleep = turn_all(b);

		if (b->opts.busy && b->now < look) {
			b->now = clock_now(); /* nobody may have had a turn: every lane blocked */
			continue;
		}
		wait_for_events(b, asleep && !b->opts.busy);
		look = b->now + LOOK_NS;
		if (b->now >= b->next_line)
			print_line(b);
	}
}

/* ---- life ---- */

static int complain(const char *what)
{
	fprintf(stderr, "vnetrx-box: %s: %s\n", what, strerror(errno));
	return EXIT_PORT;
}

static int open_descriptors(struct box *b)
{
	sigset_t signals;

	(void)signal(SIGINT, SIG_DFL); /* a shell lets what it starts in the background ignore it */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	b->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	b->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	b->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (b->epoll_fd < 0 || b->signal_fd < 0 || b->timer_fd < 0 || !watch(b, b->signal_fd, EPOLLIN, EVENT_SIGNAL) ||
	    !watch(b, b->timer_fd, EPOLLIN, EVENT_TIMER))
		return complain("descriptors");
	if (getrandom(b->opts.rxq.hash_key, sizeof(b->opts.rxq.hash_key), 0u) < 0)
		return complain("random key");
	return 0;
}

static int open_port(struct box *b, struct port *port, const struct port_config *cfg, uint32_t event)
{
	int err = port_open(port, cfg);

	if (err != 0) {
		errno = -err;
		return complain(cfg->operand);
	}
	return watch(b, port_link(port)->watch, EPOLLIN, event) ? 0 : complain(cfg->operand);
}

static int open_lanes(struct box *b)
{
	unsigned i, n = port_queues(&b->in);

	for (i = 0u; i < 2u * n; i++) {
		struct port_queue in = port_queue(i < n ? &b->in : &b->out, i % n);
		struct port_queue out = port_queue(i < n ? &b->out : &b->in, i % n);

		struct vnetrx_rxq_config cfg = b->opts.rxq;

		if (i < n ? b->out.is_xdp : b->in.is_xdp)
			cfg.flags |= VNETRX_RXQ_GRO_OFF;
		if (!lane_new(&b->lanes[i], &cfg, in, out))
			return EXIT_USAGE;
		b->queues = n;
		b->watched[i] = EPOLLIN;
		if (!looked_at(b, &b->lanes[i]) && !watch(b, in.fd, EPOLLIN, i))
			return complain("epoll");
	}
	return 0;
}

static int set_up(struct box *b)
{
	int code = open_descriptors(b);

	if (code == 0)
		code = open_port(b, &b->in, &b->opts.in, EVENT_IN);
	if (code == 0)
		code = open_port(b, &b->out, &b->opts.out, EVENT_OUT);
	if (code == 0)
		code = open_lanes(b);
	if (code != 0)
		return code;
	b->opts.busy = b->opts.busy && (b->in.is_xdp || b->out.is_xdp); /* else there is no ring to look at */
	box_sums_read(&b->first, b->lanes, b->queues);
	b->last = b->first;
	b->now = b->first.now;
	b->next_line = b->now + SECOND_NS;
	b->end = b->opts.seconds != 0u ? b->now + b->opts.seconds * SECOND_NS : VNETRX_NEVER;
	return 0;
}

/* Hands on what is held, prints the sums, and looks whether they are right. */
static void wind_up(struct box *b)
{
	struct box_sums sums;
	unsigned i;

	for (i = 0u; i < 2u * b->queues; i++)
		lane_flush(&b->lanes[i]);
	for (i = 0u; i < 2u * b->queues; i++)
		lane_end(&b->lanes[i]);
	box_sums_read(&sums, b->lanes, b->queues);
	box_report_end(&b->first, &sums, b->opts.json);
	for (i = 0u; i < 2u * b->queues; i++) {
		struct vnetrx_rxq_stats stats;
		const char *wrong;

		vnetrx_rxq_read_stats(b->lanes[i].rxq, &stats);
		wrong = lane_wrong(&b->lanes[i], &stats);
		if (wrong != NULL) {
			fprintf(stderr, "vnetrx-box: %s %u: %s\n", i < b->queues ? "forward" : "back", i % b->queues,
				wrong);
			b->code = EXIT_SUMS;
		}
	}
}

static void tear_down(struct box *b)
{
	bool whole = true;
	unsigned i;

	for (i = 0u; i < 2u * b->queues; i++)
		whole = lane_delete(&b->lanes[i]) && whole;
	port_close(&b->in);
	port_close(&b->out);
	if (!whole) {
		fprintf(stderr, "vnetrx-box: a buffer was lost\n");
		b->code = EXIT_LEAK;
	}
}

int main(int argc, char **argv)
{
	static struct box b;
	int code = box_options_read(&b.opts, argc, argv);

	if (code >= 0)
		return code;
	b.code = set_up(&b);
	if (b.code == 0) {
		run(&b);
		wind_up(&b);
	}
	tear_down(&b);
	return b.code;
}
