/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lwIP on a receive queue: a netif whose input comes from a TAP, joined, as chains of pbufs that lie over the packet's
 * fragments; nothing is copied. A packet goes back to its queue when lwIP has freed the last of its pbufs.
 *
 * lwIP runs in a thread of its own, and in ours while we hold its core lock; pbufs may be freed on either.
 */
#ifndef EXAMPLES_LWIP_PORT_H
#define EXAMPLES_LWIP_PORT_H

#include <pthread.h>

#include "cli.h"
#include "lwip/netif.h"
#include "tap.h"
#include "vnetrx/rxq.h"

#include "heap.h"

struct lwip_port {
	struct heap_host   heap; /* first: the queue's host */
	struct tap         tap;
	struct vnetrx_rxq *rxq;
	void              *mem;
	struct netif       netif;
	pthread_t          thread; /* the queue's */
	uint64_t           frames_out;
	uint64_t           out_lost;
	uint64_t           refused; /* packets for which lwIP had no use */
};

/* Opens the TAP and adds the netif; addr is dotted, the network is /24. False: said why. */
bool lwip_port_open(struct lwip_port *port, const struct cli_interface *interface, const char *addr, bool gro);

/* Takes what there is, at `now`; true = sleep until the TAP is readable or the queue's deadline. */
bool lwip_port_turn(struct lwip_port *port, vnetrx_ns now);

/* False: a buffer did not come back. */
bool lwip_port_close(struct lwip_port *port);

#endif
