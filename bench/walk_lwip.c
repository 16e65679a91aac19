/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets into lwIP without copying: a custom pbuf for each fragment. The address is nobody's, so lwIP looks at the
 * headers and drops the packet. */
#include "walk.h"

#include "bench.h"
#include "vnetrx/pkt.h"

#ifdef HAVE_LWIP
#include <lwip/init.h>
#include <lwip/ip4.h>
#include <lwip/netif.h>
#include <lwip/pbuf.h>
#include <lwip/tcpip.h>

#define PBUFS 64u
#define ETHER 14u

static struct pbuf_custom pbufs[PBUFS];
static unsigned           freed;
static struct netif       netif;

static void give_back(struct pbuf *p)
{
	(void)p;
	freed++;
}

static err_t no_output(struct netif *to, struct pbuf *p)
{
	(void)to;
	(void)p;
	return ERR_OK;
}

static err_t netif_ready(struct netif *n)
{
	n->mtu = 1500;
	n->linkoutput = no_output;
	return ERR_OK;
}

bool walk_lwip_open(const char **why)
{
	ip4_addr_t addr, mask, gateway;

	*why = "lwIP does not take an interface";
	IP4_ADDR(&addr, 10, 0, 0, 2);
	IP4_ADDR(&mask, 255, 0, 0, 0);
	IP4_ADDR(&gateway, 10, 0, 0, 1);
	tcpip_init(NULL, NULL);
	LOCK_TCPIP_CORE();
	if (netif_add(&netif, &addr, &mask, &gateway, NULL, netif_ready, ip4_input) == NULL) {
		UNLOCK_TCPIP_CORE();
		return false;
	}
	netif_set_link_up(&netif);
	netif_set_up(&netif);
	UNLOCK_TCPIP_CORE();
	return true;
}

/* From the IP header on; the last fragment first, for a chain is made by putting one in front. */
static struct pbuf *chain(const struct vnetrx_pkt *pkt)
{
	const struct vnetrx_pkt *frag = pkt;
	struct pbuf *first = NULL, *last = NULL;
	u16_t left = (u16_t)(pkt->len - ETHER);

	for (unsigned i = 0; frag != NULL; frag = frag->chain, i++) {
		u16_t skip = i == 0u ? ETHER : 0u;
		u16_t len = (u16_t)(frag->frag_len - skip);
		struct pbuf *p;

		pbufs[i].custom_free_function = give_back;
		p = pbuf_alloced_custom(PBUF_RAW, len, PBUF_REF, &pbufs[i], frag->data + skip, len);
		p->tot_len = left;
		left = (u16_t)(left - len);
		if (last != NULL)
			last->next = p;
		else
			first = p;
		last = p;
	}
	return first;
}

void walk_lwip(struct vnetrx_pkt *const *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned pieces = pkts[i]->nfrags;

		freed = 0;
		LOCK_TCPIP_CORE();
		(void)ip4_input(chain(pkts[i]), &netif);
		UNLOCK_TCPIP_CORE();
		if (freed != pieces)
			bench_die("lwIP kept a pbuf");
	}
}
#else
bool walk_lwip_open(const char **why)
{
	*why = "built without lwIP (liblwip-dev)";
	return false;
}

void walk_lwip(struct vnetrx_pkt *const *pkts, unsigned n)
{
	(void)pkts;
	(void)n;
}
#endif
