/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small vhost-user back end on a thread of its own: it answers the protocol, notes what it was told, and returns each
 * frame that it is sent on the same queue pair. What it does wrong can be chosen.
 */
#ifndef VHOST_BACKEND_H
#define VHOST_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "softring.h"
#include "vhost_msg.h"

#define BACKEND_RINGS    4u
#define BACKEND_MESSAGES 128u

enum backend_fault {
	BACKEND_HONEST = 0,
	BACKEND_SILENT,  /* does not answer          */
	BACKEND_CLOSES,  /* ends the connection      */
	BACKEND_REFUSES, /* answers that it did not  */
	BACKEND_SHORT,   /* answers too little       */
	BACKEND_OTHER,   /* answers another question */
};

struct backend_ring {
	uint32_t size;
	uint32_t base;
	struct vhost_addr addr;
	int      kick_fd;
	int      call_fd;
	bool     enabled;
	struct softring *ring;
};

struct backend {
	char      path[64];
	bool      connects;  /* it connects to the front end, else it listens    */
	uint64_t  features;
	uint64_t  protocol;
	uint64_t  queues;
	enum backend_fault fault;
	uint32_t  fault_at;  /* the request that it gets wrong                   */

	/* what it was told by the front end of now; read when it is stopped, or the front end waits for nothing */
	uint32_t  requests[BACKEND_MESSAGES];
	unsigned  nrequests;
	uint64_t  accepted;
	struct vhost_memory memory;
	uint8_t  *mapped;
	struct backend_ring rings[BACKEND_RINGS];
	atomic_uint returned; /* frames */

	pthread_t thread;
	int       listener;
	int       sock;
	atomic_bool stop;
};

/* Begins to listen (or to connect, again and again) and runs until backend_stop(), which drops the front end. */
void backend_start(struct backend *b);
void backend_stop(struct backend *b);

/* A back end that offers what the library handles, one queue pair, at a path of its own. */
struct backend backend_honest(void);

#endif
