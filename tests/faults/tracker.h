/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stands between the library and its device and host, and knows at each moment whose every piece of memory is.
 *
 *   library --- tracker ops ---> device        library --- tracker ops ---> host
 *
 * A buffer that is lent twice, overlaps another, lies outside a page, or is delivered while the device has it, fails
 * the test at once. A second thread spoils header bytes of buffers wherever they are.
 */
#ifndef FAULTS_TRACKER_H
#define FAULTS_TRACKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "vnetrx.h"

#define TRACKER_PAGES  2048u
#define TRACKER_BUFS   1024u
#define TRACKER_RECENT 256u
#define TRACKER_PIECE  16u    /* bytes whose owner is known apart */

struct tracker_page {
	uint8_t *addr;
	size_t   size;
	bool    *lent;    /* by piece: the device has it */
};

struct tracker {
	const struct vnetrx_dev_ops  *dev_ops;
	const struct vnetrx_host_ops *host_ops;
	void     *dev;
	void     *host;

	struct vnetrx_buf out[TRACKER_BUFS];     /* what the device has, as the library was told */
	unsigned  out_num;
	uint64_t  completions;
	uint64_t  bad_ids;
	uint64_t  posted;

	uint64_t  rng;
	uint32_t  page_fail_ppm;
	uint32_t  early_ppm;     /* chance that a packet is dropped or taken before GRO */
	uint64_t  early_dropped;
	uint64_t  early_taken;
	void    (*taken)(void *arg, struct vnetrx_pkt *pkt); /* where early's packets go */
	void     *taken_arg;

	pthread_mutex_t lock;    /* pages and recent, which the spoiling thread reads */
	struct tracker_page pages[TRACKER_PAGES];
	unsigned  page_num;
	uint8_t  *recent[TRACKER_RECENT];        /* buffers posted lately */
	unsigned  recent_num;
	pthread_t thread;
	bool      running;
	atomic_bool stop;
	uint64_t  spoiled;
};

extern const struct vnetrx_dev_ops tracker_dev_ops;
extern const struct vnetrx_host_ops tracker_host_ops;

void tracker_init(struct tracker *t, uint64_t seed);

/* Every page was given back, or the test fails. */
void tracker_fini(struct tracker *t);

/* The device was reset: it has nothing any more. Returns how many buffers it had. */
unsigned tracker_reset(struct tracker *t);

/* A packet that the host got: lengths and counts agree, and every byte is the host's to read. */
void tracker_check(struct tracker *t, const struct vnetrx_pkt *pkt);

/* Starts and stops the thread that spoils headers. */
void tracker_spoil(struct tracker *t, bool on);

#endif
