/* SPDX-License-Identifier: BSD-3-Clause */
#include "port.h"

#include <errno.h>
#include <string.h>

static int write_to_tap(void *dev, const struct vnetrx_pkt *pkt)
{
	return tap_write(dev, pkt);
}

static void reset_tap(void *dev)
{
	tap_queue_reset(dev);
}

int port_open(struct port *port, const struct port_config *cfg)
{
	const char *slash = strchr(cfg->operand, '/');
	size_t len = slash != NULL ? (size_t)(slash - cfg->operand) : 0u;
	struct tap_config tap = { .queues = cfg->queues, .hdr_len = cfg->hdr_len, .offload = cfg->offload };

	*port = (struct port){ .name = slash != NULL ? slash + 1 : cfg->operand };
	if (len >= sizeof(port->netns))
		return -ENAMETOOLONG;
	memcpy(port->netns, cfg->operand, len);
	tap.name = port->name;
	tap.netns = len != 0u ? port->netns : NULL;
	return tap_open(&port->tap, &tap);
}

void port_close(struct port *port)
{
	tap_close(&port->tap);
}

unsigned port_queues(const struct port *port)
{
	return port->tap.nqueues;
}

struct port_queue port_queue(struct port *port, unsigned i)
{
	struct tap_queue *q = port->tap.queue[i];

	return (struct port_queue){
		.ops = &tap_ops,
		.dev = q,
		.fd = q->fd,
		.hdr_len = q->hdr_len,
		.frame_len_max = port->tap.frame_len_max,
		.stats = &q->stats,
		.write = write_to_tap,
		.reset = reset_tap,
	};
}

const struct link *port_link(const struct port *port)
{
	return &port->tap.link;
}
