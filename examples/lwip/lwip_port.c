/* SPDX-License-Identifier: BSD-3-Clause */
#include "lwip_port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>

#include "clock.h"
#include "lwip/etharp.h"
#include "lwip/tcpip.h"
#include "netif/ethernet.h"

#define BUDGET     64u
#define TIMEOUT_NS 50000u
#define PIECES_MAX 64
#define HDR_LEN    12u

/* In each fragment's descriptor. `left` counts in the head's. */
struct piece {
	struct pbuf_custom pbuf; /* first: lwIP hands it back as a struct pbuf */
	struct vnetrx_pkt *head;
	struct lwip_port  *port;
	u32_t              left; /* pbufs that are not freed yet; changed under the core lock only */
};

/* ---- in ---- */

static struct piece *piece_of(struct vnetrx_pkt *pkt)
{
	return vnetrx_pkt_user(pkt);
}

static void piece_free(struct pbuf *p)
{
	struct piece *piece = (struct piece *)(void *)p;
	struct vnetrx_pkt *head = piece->head;

	if (--piece_of(head)->left > 0u)
		return;
	if (pthread_equal(pthread_self(), piece->port->thread))
		vnetrx_pkt_free(&head, 1u);
	else
		vnetrx_pkt_free_remote(&head, 1u);
}

/* A pbuf over each fragment with bytes; they are one chain. */
static struct pbuf *wrap(struct lwip_port *port, struct vnetrx_pkt *head)
{
	struct pbuf *first = NULL, *last = NULL;
	struct vnetrx_pkt *frag;
	u32_t rest = head->len;

	piece_of(head)->left = 0u;
	for (frag = head; frag != NULL; frag = frag->chain) {
		struct piece *piece = piece_of(frag);
		struct pbuf *p;

		if (frag->frag_len == 0u)
			continue;
		piece->head = head;
		piece->port = port;
		piece->pbuf.custom_free_function = piece_free;
		p = pbuf_alloced_custom(PBUF_RAW, (u16_t)frag->frag_len, PBUF_REF, &piece->pbuf, frag->data,
					(u16_t)frag->frag_len);
		p->tot_len = (u16_t)rest;
		rest -= frag->frag_len;
		if (last != NULL)
			last->next = p;
		else
			first = p;
		last = p;
		piece_of(head)->left++;
	}
	return first;
}

/* With the core lock held: see lwip_port_turn(). */
static unsigned deliver(void *host, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct lwip_port *port = host;
	unsigned i;

	for (i = 0u; i < n; i++) {
		struct pbuf *p;

		if (pkts[i]->len > 0xffffu) { /* tot_len has 16 bits */
			port->refused++;
			vnetrx_pkt_free(&pkts[i], 1u);
			continue;
		}
		p = wrap(port, pkts[i]);
		if (port->netif.input(p, &port->netif) != ERR_OK) {
			port->refused++;
			pbuf_free(p);
		}
	}
	return n;
}

bool lwip_port_turn(struct lwip_port *port, vnetrx_ns now)
{
	unsigned took;
	bool asleep = false;

	LOCK_TCPIP_CORE();
	if (vnetrx_rxq_deadline(port->rxq) <= now)
		took = vnetrx_rxq_expire(port->rxq, BUDGET, now);
	else
		took = vnetrx_rxq_poll(port->rxq, BUDGET, now);
	if (took < BUDGET)
		asleep = vnetrx_rxq_complete(port->rxq, clock_now());
	UNLOCK_TCPIP_CORE();
	return asleep;
}

/* ---- out ---- */

static err_t output(struct netif *netif, struct pbuf *p)
{
	static const uint8_t hdr[HDR_LEN]; /* nothing is left for the kernel to do */
	struct lwip_port *port = netif->state;
	struct iovec iov[PIECES_MAX] = { { .iov_base = (void *)(uintptr_t)hdr, .iov_len = sizeof(hdr) } };
	int n = 1;

	for (; p != NULL && n < PIECES_MAX; p = p->next)
		iov[n++] = (struct iovec){ .iov_base = p->payload, .iov_len = p->len };
	if (writev(port->tap.queue[0]->fd, iov, n) < 0) {
		port->out_lost++;
		return ERR_IF;
	}
	port->frames_out++;
	return ERR_OK;
}

static err_t netif_made(struct netif *netif)
{
	static const u8_t mac[6] = { 2, 0, 0, 0, 0x1e, 0x1f };

	netif->name[0] = 'v';
	netif->name[1] = 'n';
	netif->output = etharp_output;
	netif->linkoutput = output;
	netif->mtu = 1500;
	netif->hwaddr_len = sizeof(mac);
	memcpy(netif->hwaddr, mac, sizeof(mac));
	netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
	return ERR_OK;
}

/* ---- life ---- */

/* Merged packets carry right checksum bytes: lwIP verifies them, and knows of no other way to be told. */
static bool queue_open(struct lwip_port *port, bool gro)
{
	struct vnetrx_host_ops host_ops = heap_host_ops;
	struct vnetrx_rxq_config cfg = {
		.dev_ops = &tap_ops,
		.host_ops = &host_ops,
		.dev = port->tap.queue[0],
		.host = port,
		.ring_size = 256u,
		.hdr_len = HDR_LEN,
		.frame_len_max = port->tap.frame_len_max,
		.pkt_user_size = sizeof(struct piece),
		.gro_bytes_max = 0xffffu - SIZEOF_ETH_HDR,
		.gro_flags = VNETRX_GRO_CSUM_BYTES,
		.gro_timeout_ns = TIMEOUT_NS,
		.flags = VNETRX_RXQ_REMOTE_FREE | (gro ? 0u : VNETRX_RXQ_GRO_OFF),
	};
	const char *why = NULL;
	size_t size;

	host_ops.deliver = deliver;
	host_ops.timer_set = NULL; /* deadlines are asked for */
	if (getrandom(cfg.hash_key, sizeof(cfg.hash_key), 0u) < 0)
		return false;
	size = vnetrx_rxq_footprint(&cfg, &why);
	port->mem = size != 0u ? heap_memory(size) : NULL;
	if (port->mem == NULL || vnetrx_rxq_init(&port->rxq, &cfg, port->mem, size) != VNETRX_OK) {
		fprintf(stderr, "vnetrx-lwip: queue: %s\n", why != NULL ? why : "out of memory");
		return false;
	}
	return vnetrx_rxq_fill(port->rxq) > 0u;
}

static bool netif_open(struct lwip_port *port, const char *addr)
{
	ip4_addr_t ip, mask, gateway;
	bool added;

	IP4_ADDR(&mask, 255, 255, 255, 0);
	ip4_addr_set_zero(&gateway);
	if (!ip4addr_aton(addr, &ip)) {
		fprintf(stderr, "vnetrx-lwip: %s: no IPv4 address\n", addr);
		return false;
	}
	LOCK_TCPIP_CORE();
	added = netif_add(&port->netif, &ip, &mask, &gateway, port, netif_made, ethernet_input) != NULL;
	if (added) {
		netif_set_default(&port->netif);
		netif_set_up(&port->netif);
	}
	UNLOCK_TCPIP_CORE();
	return added;
}

bool lwip_port_open(struct lwip_port *port, const struct cli_interface *interface, const char *addr, bool gro)
{
	struct tap_config cfg = {
		.name = interface->name,
		.netns = interface->netns,
		.hdr_len = HDR_LEN,
		.offload = TAP_NOTHING,
	};
	int err;

	*port = (struct lwip_port){ .thread = pthread_self() };
	err = tap_open(&port->tap, &cfg);
	if (err != 0)
		fprintf(stderr, "vnetrx-lwip: %s%s%s: %s\n", cfg.netns, cfg.netns[0] != '\0' ? "/" : "", cfg.name,
			strerror(-err));
	return err == 0 && queue_open(port, gro) && netif_open(port, addr);
}

/* Connections that are still open may keep pbufs: then the queue waits for lwIP in vain, and says so. */
bool lwip_port_close(struct lwip_port *port)
{
	int err = VNETRX_OK;

	LOCK_TCPIP_CORE();
	if (port->rxq != NULL) {
		vnetrx_rxq_flush(port->rxq);
		netif_remove(&port->netif);
		tap_queue_reset(port->tap.queue[0]);
		(void)vnetrx_rxq_reclaim(port->rxq);
		err = vnetrx_rxq_fini(port->rxq);
	}
	UNLOCK_TCPIP_CORE();
	free(port->mem);
	tap_close(&port->tap);
	return err == VNETRX_OK && port->heap.pages_out == 0u;
}
