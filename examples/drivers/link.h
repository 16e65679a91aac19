/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network interface of the kernel, in a network namespace that may be another than ours: put up, asked, watched.
 *
 * Functions return 0 or a negative errno.
 */
#ifndef EXAMPLES_LINK_H
#define EXAMPLES_LINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct link {
	char name[IFNAMSIZ];
	int  index;
	int  ctl;   /* a socket of its namespace, for ioctl()                            */
	int  watch; /* for poll(), epoll: readable when something about links changed there */
};

/* What a queue of a driver counts. */
struct link_stats {
	uint64_t reads;       /* frames that the kernel handed us                               */
	uint64_t read_bytes;  /* of these, device headers left out                     */
	uint64_t lost;        /* frames that the kernel says it lost at this queue; as of the end */
	uint64_t no_room;     /* times nothing was read because too few buffers were posted     */
	uint64_t writes;      /* packets that the kernel took                                   */
	uint64_t write_bytes;
};

/* Enters the namespace that `ip netns add` made (NULL, "" = stays); *back is for netns_leave(). A process that wants to
 * do that has one thread, or does it before it starts others. */
int netns_enter(const char *netns, int *back);
void netns_leave(int back);

/* Takes hold of interface `name` of the namespace we are in. */
int link_open(struct link *link, const char *name);
void link_close(struct link *link);

int link_set_up(const struct link *link);
int link_mtu(const struct link *link, uint32_t *mtu);

/* Empties `watch` and looks: 0, -ENETDOWN = it is down, -ENODEV = it is gone. */
int link_look(const struct link *link);

#endif
