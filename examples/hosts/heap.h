/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host on malloc: pages from aligned_alloc, packets counted, shown to a callback and freed.
 *
 * Zero-initialise struct heap_host, set what should differ, and give it with heap_host_ops to a queue. Every field may
 * be changed while the queue runs, between calls of the library.
 */
#ifndef EXAMPLES_HEAP_H
#define EXAMPLES_HEAP_H

#include <stdatomic.h>

#include "vnetrx/ops.h"
#include "vnetrx/pkt.h"

struct heap_host {
	/* what to do with packets */
	void (*show)(void *arg, struct vnetrx_pkt *const *pkts, unsigned n); /* sees taken packets; NULL = none    */
	void    *arg;
	bool keep;         /* taken packets stay in `kept` until heap_release(); else they are freed at once        */
	bool limited;      /* deliver takes only take_max packets a call                                            */
	unsigned take_max; /* with limited; 0 = nothing                                                             */

	/* when page_alloc fails; calls are counted from 1 */
	uint64_t fail_at;   /* this call; 0 = none                                                                   */
	uint64_t fail_from; /* this call and all later ones; 0 = none                                                */

	/* what happened */
	uint64_t allocs; /* calls of page_alloc                                                                   */
	uint64_t alloc_fails; /* of these, failed */
	uint64_t pages_out; /* pages not given back yet: 0 after fini, or the queue leaks                            */
	uint64_t bytes_out;
	uint64_t offers; /* calls of deliver                                                                      */
	uint64_t pkts; /* packets taken                                                                         */
	uint64_t segs;
	uint64_t bytes;
	uint64_t frags;
	uint64_t truesize;
	uint64_t timer_sets; /* calls of timer_set                                                                    */
	vnetrx_ns deadline; /* its last argument; meaningful when timer_sets is not 0                                */
	atomic_uint wakes; /* calls of wake, from any thread                                                        */
	struct vnetrx_pktq kept;
};

extern const struct vnetrx_host_ops heap_host_ops;

/* Frees up to n of the kept packets, oldest first; returns how many. On the queue's thread. */
unsigned heap_release(struct heap_host *host, unsigned n);

/* `size` bytes aligned to 64, for the memory that footprint() asks for; NULL = no memory. Give back with free(). */
void *heap_memory(size_t size);

#endif
