/* SPDX-License-Identifier: BSD-3-Clause */
/* One side of the box: an interface, whichever driver it has, and its queues. */
#ifndef EXAMPLES_BOX_PORT_H
#define EXAMPLES_BOX_PORT_H

#include "cli.h"
#include "af_xdp.h"
#include "tap.h"

#define PORT_QUEUES_MAX TAP_QUEUES_MAX

/* What a driver's queue is to the box. */
struct port_queue {
	const struct vnetrx_dev_ops *ops;
	void    *dev;
	int      fd;
	uint32_t hdr_len;
	uint32_t frame_len_max;
	uint32_t buf_len;      /* of all buffers, and their alignment; 0 = any   */
	struct region *region; /* where they must lie; NULL = anywhere           */
	const struct link_stats *stats;
	int (*write)(void *dev, const struct vnetrx_pkt *pkt); /* as tap_write()       */
	void (*reset)(void *dev);                              /* as tap_queue_reset() */
};

struct port_config {
	const char *operand; /* [xdp:][NETNS/]NAME, as given to port_config_name() */
	struct cli_interface interface;
	unsigned    queues;
	uint32_t    hdr_len; /* as in struct tap_config */
	uint32_t    offload;
	bool        generic; /* as in struct xdp_config */
};

struct port {
	const char *name;
	bool        is_xdp;
	struct tap  tap;
	struct xdp  xdp;
};

/* Reads the operand; NULL, or what is wrong with it. */
const char *port_config_name(struct port_config *cfg, const char *operand);

/* Would the interface be AF_XDP's? Then it takes whole frames only, none that was merged or lacks its checksum. */
bool port_is_xdp(const struct port_config *cfg);

/* 0 or a negative errno. */
int port_open(struct port *port, const struct port_config *cfg);
void port_close(struct port *port);

unsigned port_queues(const struct port *port);
struct port_queue port_queue(struct port *port, unsigned i);
const struct link *port_link(const struct port *port);

#endif
