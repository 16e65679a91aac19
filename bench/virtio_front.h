/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two front ends that receive from a vhost-user back end by the same loop, ours and DPDK's net_virtio_user: bursts of
 * VIRTIO_BURST packets, the first eight bytes of each read, then freed. Only bursts that brought something are busy.
 */
#ifndef VIRTIO_FRONT_H
#define VIRTIO_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#define VIRTIO_BURST     32u
#define VIRTIO_RING      256u
#define VIRTIO_BUF       2048u     /* bytes of each buffer, device header included */
#define VIRTIO_WINDOW_NS 1000000u
#define VIRTIO_WARM_NS   300000000u
#define VIRTIO_WINDOWS   2000u     /* at most */

struct bench;

/* What one window of time saw. */
struct virtio_window {
	uint64_t ns;    /* how long it was           */
	uint64_t busy;  /* ticks in bursts that brought something, reading the clock subtracted */
	uint64_t pkts;
	uint64_t bytes;
	uint64_t bursts;
	uint64_t ticks; /* of the whole window       */
};

struct virtio_task {
	const char *path;     /* of the socket */
	bool     packed;
	bool     autosize;    /* ours: buffers of whatever length it finds best, small packets moved; else VIRTIO_BUF */
	unsigned windows;     /* wanted        */

	/* what came of it, written by the process that ran it */
	unsigned n;
	uint64_t touched;     /* the bytes that were read, so that they are */
	struct virtio_window window[VIRTIO_WINDOWS];
};

/* One burst: receives, reads, frees; returns the number of packets and adds their bytes. */
typedef unsigned (*virtio_burst)(void *front, uint64_t *bytes, uint64_t *touched);

/* Bursts until all windows are full. */
void virtio_measure(struct bench *b, struct virtio_task *t, virtio_burst burst, void *front);

/* Connects, measures, disconnects; in a process of its own, whose exit code this is. */
int virtio_ours(struct bench *b, struct virtio_task *t);
int virtio_dpdk(struct bench *b, struct virtio_task *t);

#endif
