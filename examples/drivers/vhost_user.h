/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport of a virtio-net front end over vhost-user: what a hypervisor does for its guest, done for the process
 * itself. Rings and buffers lie in a region that the back end maps; doorbells and interrupts are eventfds.
 *
 *   new --> open --> (queues on the rings, first time) --> fill --> start --> ... --> stop
 *             ^                                                                        |
 *             +---- reclaim: vnetrx_rxq_reclaim(), vnetrx_txq_reclaim() <--------------+
 *
 * When the back end goes away (vhost_user_up() false), stop, reclaim and open again: it is the same rings, empty, and
 * everything lent to the back end that is gone has come back.
 *
 * Ring 2 * i receives and ring 2 * i + 1 transmits, for each queue pair i. One thread for open, start and stop; each
 * ring belongs to whatever thread its queue does. Functions return 0 or a negative errno, as in vhost_msg.h.
 */
#ifndef EXAMPLES_VHOST_USER_H
#define EXAMPLES_VHOST_USER_H

#include <sys/stat.h>

#include "region.h"
#include "vhost_msg.h"
#include "vnetrx/virtio_features.h"
#include "vnetrx/virtq.h"

#define VHOST_PAIRS_MAX 8u

struct vhost_user_config { /* zero = default; "required" has none */
	const char    *path;     /* required; of the unix socket                                                  */
	struct region *region;   /* required; holds the rings, and whatever buffers are posted                    */
	struct vnetrx_virtio_wants wants; /* its `pairs`, and MQ and CTRL_VQ, are filled in here                  */
	unsigned       pairs;    /* 1 to VHOST_PAIRS_MAX; default 1                                               */
	uint32_t       rx_size;  /* slots of each ring; default 256                                               */
	uint32_t       tx_size;
	uint32_t       tx_segs;  /* longest chain of a transmitted packet; default 1                              */
	uint32_t       rx_segs;  /* of a receive buffer; default 1                                                */
	uint32_t       delay_num; /* of all rings, see struct vnetrx_virtq_config                                 */
	uint32_t       delay_den;
	int            timeout_ms; /* for an answer of the back end; default 5000                                 */
	bool           listen;   /* the back end connects to us; else we connect to it                            */
};

struct vhost_ring {
	struct vnetrx_virtq *vq;
	void     *mem;       /* the queue's private memory */
	void     *shared;    /* its ring memory, in the region */
	size_t    shared_size;
	uint64_t  shared_dma;
	uint32_t  size;
	uint32_t  index;
	int       kick_fd;
	int       call_fd;   /* readable: the back end used buffers; for poll(), epoll */
	uint64_t  kicks;     /* doorbells rung    */
	uint64_t  calls;     /* interrupts that came */
};

struct vhost_user {
	struct vhost_user_config cfg;
	struct vhost_conn conn;     /* conn.sock, for poll(): readable when the back end went away */
	int               listener;
	struct stat       listener_file; /* the file that was made for it     */
	int               unreached; /* errno of the last connect() that found nobody; 0 = none */
	bool              made;     /* the rings exist                         */
	bool              started;
	uint64_t          offered;  /* by the back end                         */
	struct vnetrx_virtio_plan plan; /* what was agreed                     */
	unsigned          nrings;
	struct vhost_ring rings[2u * VHOST_PAIRS_MAX];
};

/* Sets up *vu; with `listen` creates the socket. A socket left over, to which nobody listens, is replaced; -EADDRINUSE:
 * somebody listens there; -EEXIST: what is there is no socket. */
int vhost_user_new(struct vhost_user *vu, const struct vhost_user_config *cfg);

/* One try: a connection, the negotiation, the rings (made, or emptied). -EAGAIN: nobody is there yet; -ENOTSUP: the
 * back end lacks queues or needed features, or came back with others; -ENOTSOCK, -EISDIR: the path is no socket.
 * Nothing may be lent when rings are emptied. */
int vhost_user_open(struct vhost_user *vu);

/* Gives the back end memory and rings: it begins with what is posted. On failure: stop. */
int vhost_user_start(struct vhost_user *vu);

/* Is it still there? */
bool vhost_user_up(const struct vhost_user *vu);

/* Has the back end, if it still answers, let go of each ring, and ends the connection. When it returns nothing is lent
 * any more; the rings' contents stay for reclaim. */
void vhost_user_stop(struct vhost_user *vu);

/* Stops, and gives everything back. */
void vhost_user_delete(struct vhost_user *vu);

/* The doorbell of a ring: `ring` is a struct vhost_ring. Serves as notify of struct vnetrx_virtio_rx_config. */
void vhost_ring_notify(void *ring, uint32_t data);

/* Takes the interrupts that came, so that call_fd is quiet until the next one; returns how many. */
uint64_t vhost_ring_called(struct vhost_ring *ring);

/* The words for what went wrong. */
const char *vhost_user_strerror(int err);

#endif
