/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole virtio-net front end over vhost-user: region, transport, and for each queue pair a vnetrx_rxq and, if it is
 * to send, a vnetrx_txq.
 *
 *   new --> connect --> poll, send, ... --(vhost_net_up() false)--> disconnect --> connect --> ... --> delete
 *
 * One thread. Functions that can fail return 0 or a negative errno, as in vhost_msg.h.
 */
#ifndef EXAMPLES_VHOST_NET_H
#define EXAMPLES_VHOST_NET_H

#include "vhost_user.h"
#include "vnetrx/rxq.h"
#include "vnetrx/txq.h"
#include "vnetrx/virtio_rx.h"

struct vhost_net_config { /* zero = default; "required" has none */
	const char *path;             /* required; of the socket                                              */
	bool        listen;           /* the back end connects to us                                          */
	struct vnetrx_virtio_wants wants; /* features                                                         */
	unsigned    pairs;            /* default 1                                                            */
	uint32_t    rx_size;          /* slots of the rings; default 256                                      */
	uint32_t    tx_size;
	uint32_t    tx_segs;          /* longest packet to send, in segments; default 1                       */
	size_t      region_size;      /* memory of all pairs together; default 64 MiB                         */
	size_t      user_size;        /* of that, bytes for the program's own use: vhost_net.user; default 0  */
	struct vnetrx_rxq_config rxq; /* what the program wants; device, host, ring and header are filled in  */
	uint32_t    delay_num;        /* of the transmit ring, see struct vnetrx_virtq_config                 */
	uint32_t    delay_den;
	void      (*show)(void *arg, struct vnetrx_pkt *const *pkts, unsigned n); /* sees received packets    */
	void      (*sent)(void *arg, void *const *cookies, unsigned n, uint32_t flags); /* `done`; NULL = no sending */
	unsigned  (*deliver)(void *host, struct vnetrx_pkt *const *pkts, unsigned n); /* instead of counting, showing
	                                 and freeing them; host is a struct region_host                       */
	void       *arg;              /* of show and sent                                                     */
};

struct vhost_net;

struct vhost_net_pair {
	struct vhost_net       *net;
	struct region_host      host;
	struct vhost_ring      *rx_ring;
	struct vhost_ring      *tx_ring;
	struct vnetrx_virtio_rx dev;
	struct vnetrx_rxq      *rxq;
	struct vnetrx_txq      *txq; /* NULL: nothing is sent */
	void                   *rx_mem;
	void                   *tx_mem;
	void                   *hdrs;
	size_t                  hdrs_size;
	uint64_t                hdrs_dma;
	bool                    resumed; /* there is room again; the program clears it */
};

struct vhost_net {
	struct vhost_net_config cfg;
	struct region          *region;
	struct vhost_user       vu;
	bool                    made;     /* the queues exist */
	unsigned                npairs;
	uint64_t                connects; /* times that the back end came */
	uint8_t                *user;     /* user_size bytes of the region */
	uint64_t                user_dma;
	struct vhost_net_pair   pairs[VHOST_PAIRS_MAX];
};

/* The features that such a front end usually wants, of these kinds only those that are asked for. */
#define VHOST_NET_PACKED   1u
#define VHOST_NET_MRG      2u /* without it, one buffer holds a whole packet, and merged ones are not taken */
#define VHOST_NET_IN_ORDER 4u
struct vnetrx_virtio_wants vhost_net_wants(unsigned kinds, uint16_t mtu);

int vhost_net_new(struct vhost_net *net, const struct vhost_net_config *cfg);

/* One try; -EAGAIN: nobody is there yet. On success all rings are full and running. */
int vhost_net_connect(struct vhost_net *net, vnetrx_ns now);

/* Is the back end still there, and no ring broken? */
bool vhost_net_up(const struct vhost_net *net);

/* Ends the connection: what the back end had done by then is received, and counts as sent; then all buffers come back,
 * packets on their way out by `sent` with VNETRX_TX_LOST. */
void vhost_net_disconnect(struct vhost_net *net, vnetrx_ns now);

/* Disconnects, and gives all memory back. false: something was not given back before, which is a leak. */
bool vhost_net_delete(struct vhost_net *net, vnetrx_ns now);

#endif
