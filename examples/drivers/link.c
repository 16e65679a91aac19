/* SPDX-License-Identifier: BSD-3-Clause */
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- namespaces ---- */

int netns_enter(const char *netns, int *back)
{
	char path[128];
	int there, err = 0;

	*back = -1;
	if (netns == NULL || netns[0] == '\0')
		return 0;
	if (snprintf(path, sizeof(path), "/run/netns/%s", netns) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	there = open(path, O_RDONLY | O_CLOEXEC);
	*back = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (there < 0 || *back < 0 || setns(there, CLONE_NEWNET) != 0)
		err = -errno;
	if (there >= 0)
		close(there);
	if (err != 0 && *back >= 0) {
		close(*back);
		*back = -1;
	}
	return err;
}

void netns_leave(int back)
{
	if (back < 0)
		return;
	if (setns(back, CLONE_NEWNET) != 0)
		perror("setns"); /* the namespace we came from cannot be gone: *back holds it */
	close(back);
}

/* ---- one interface ---- */

static struct ifreq request(const struct link *link)
{
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	memcpy(ifr.ifr_name, link->name, sizeof(ifr.ifr_name));
	return ifr;
}

static int ask(const struct link *link, unsigned long what, struct ifreq *ifr)
{
	return ioctl(link->ctl, what, ifr) == 0 ? 0 : -errno;
}

static int watch_links(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (sock >= 0 && bind(sock, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
		int err = -errno;

		close(sock);
		return err;
	}
	return sock >= 0 ? sock : -errno;
}

int link_open(struct link *link, const char *name)
{
	struct ifreq ifr;
	int err;

	*link = (struct link){ .ctl = -1, .watch = -1 };
	if (strlen(name) >= sizeof(link->name))
		return -ENAMETOOLONG;
	memcpy(link->name, name, strlen(name));
	link->ctl = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	err = link->ctl >= 0 ? 0 : -errno;
	ifr = request(link);
	if (err == 0)
		err = ask(link, SIOCGIFINDEX, &ifr);
	if (err == 0) {
		link->index = ifr.ifr_ifindex;
		link->watch = watch_links();
		err = link->watch < 0 ? link->watch : 0;
	}
	if (err != 0)
		link_close(link);
	return err;
}

void link_close(struct link *link)
{
	if (link->watch >= 0)
		close(link->watch);
	if (link->ctl >= 0)
		close(link->ctl);
	link->watch = -1;
	link->ctl = -1;
}

int link_set_up(const struct link *link)
{
	struct ifreq ifr = request(link);
	int err = ask(link, SIOCGIFFLAGS, &ifr);

	ifr.ifr_flags |= IFF_UP;
	return err == 0 ? ask(link, SIOCSIFFLAGS, &ifr) : err;
}

int link_mtu(const struct link *link, uint32_t *mtu)
{
	struct ifreq ifr = request(link);
	int err = ask(link, SIOCGIFMTU, &ifr);

	*mtu = err == 0 ? (uint32_t)ifr.ifr_mtu : 0u;
	return err;
}

/* 0, -ENETDOWN, -ENODEV */
static int look_once(const struct link *link)
{
	struct ifreq ifr = request(link);
	int err = ask(link, SIOCGIFFLAGS, &ifr);

	if (err != 0)
		return err;
	return (ifr.ifr_flags & IFF_UP) != 0 ? 0 : -ENETDOWN;
}

/* Who takes an interface away puts it down first, both under the kernel's lock for links (rtnetlink). A question that
 * needs this lock is answered when he is done. */
static void wait_for_change(const struct link *link)
{
	struct ethtool_value value = { .cmd = ETHTOOL_GLINK };
	struct ifreq ifr = request(link);

	ifr.ifr_data = (char *)&value;
	(void)ask(link, SIOCETHTOOL, &ifr);
}

int link_look(const struct link *link)
{
	char news[8192];
	int err;

	while (recv(link->watch, news, sizeof(news), MSG_DONTWAIT) > 0)
		continue; /* what changed is asked for below */
	err = look_once(link);
	if (err != -ENETDOWN)
		return err;
	wait_for_change(link);
	return look_once(link);
}
