/* SPDX-License-Identifier: BSD-3-Clause */
#include "port.h"

#include <string.h>

#define XDP_PREFIX "xdp:"

static int write_to_tap(void *dev, const struct vnetrx_pkt *pkt)
{
	return tap_write(dev, pkt);
}

static void reset_tap(void *dev)
{
	tap_queue_reset(dev);
}

static int write_to_xdp(void *dev, const struct vnetrx_pkt *pkt)
{
	return xdp_write(dev, pkt);
}

static void reset_xdp(void *dev)
{
	xdp_queue_reset(dev);
}

bool port_is_xdp(const struct port_config *cfg)
{
	return strncmp(cfg->operand, XDP_PREFIX, strlen(XDP_PREFIX)) == 0;
}

const char *port_config_name(struct port_config *cfg, const char *operand)
{
	cfg->operand = operand;
	return cli_interface(operand + (port_is_xdp(cfg) ? strlen(XDP_PREFIX) : 0u), &cfg->interface);
}

int port_open(struct port *port, const struct port_config *cfg)
{
	const struct cli_interface *in = &cfg->interface;
	struct tap_config tap = { .name = in->name, .netns = in->netns, .queues = cfg->queues };
	struct xdp_config xdp = { .name = in->name, .netns = in->netns, .queues = cfg->queues };

	*port = (struct port){ .name = in->name, .is_xdp = port_is_xdp(cfg) };
	tap.hdr_len = cfg->hdr_len;
	tap.offload = cfg->offload;
	xdp.generic = cfg->generic;
	return port->is_xdp ? xdp_open(&port->xdp, &xdp) : tap_open(&port->tap, &tap);
}

void port_close(struct port *port)
{
	if (port->is_xdp)
		xdp_close(&port->xdp);
	else
		tap_close(&port->tap);
}

unsigned port_queues(const struct port *port)
{
	return port->is_xdp ? port->xdp.nqueues : port->tap.nqueues;
}

static struct port_queue queue_of_xdp(struct port *port, unsigned i)
{
	struct xdp_queue *q = port->xdp.queue[i];

	return (struct port_queue){
		.ops = &xdp_ops,
		.dev = q,
		.fd = q->fd,
		.frame_len_max = port->xdp.frame_len_max,
		.buf_len = q->chunk,
		.region = q->region,
		.stats = &q->stats,
		.write = write_to_xdp,
		.reset = reset_xdp,
	};
}

static struct port_queue queue_of_tap(struct port *port, unsigned i)
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

struct port_queue port_queue(struct port *port, unsigned i)
{
	return port->is_xdp ? queue_of_xdp(port, i) : queue_of_tap(port, i);
}

const struct link *port_link(const struct port *port)
{
	return port->is_xdp ? &port->xdp.link : &port->tap.link;
}
