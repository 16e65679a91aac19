/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Driver for a TAP of Linux with virtio-net headers, one or several queues.
 *
 *   kernel --readv into posted buffers--> rxq (tap_ops) --deliver--> host
 *   kernel <--writev of header and fragments-- tap_write() <-- host
 *
 * A frame longer than one buffer fills as many as it needs, like the mergeable buffers of a virtio device; the kernel
 * does not count them (it leaves num_buffers 0), so that VNETRX_DONE_MORE says which belong together.
 *
 * A queue's file is for poll() and epoll, level-triggered: nothing is missed between a look and a sleep, and no op has
 * to turn interrupts on. One queue, one thread. Functions return 0 or a negative errno.
 */
#ifndef EXAMPLES_TAP_H
#define EXAMPLES_TAP_H

#include <sys/uio.h>

#include "link.h"
#include "vnetrx/pkt.h"

#define TAP_QUEUES_MAX 16u
#define TAP_POSTED_MAX 4096u
#define TAP_HDR_MAX    24u
#define TAP_PIECES_MAX 1024u /* of one writev, UIO_MAXIOV of Linux */

/* What the kernel may hand us that is left for the device to do (its TUNSETOFFLOAD). */
#define TAP_CSUM    0x001u /* checksums; without it they are complete, and nothing of the following works */
#define TAP_TSO4    0x002u
#define TAP_TSO6    0x004u
#define TAP_ECN     0x008u
#define TAP_USO     0x060u /* UDP trains, IPv4 and IPv6: the kernel takes both or none (Linux 6.2)        */
#define TAP_TUNNEL  0x180u /* what is in VXLAN and its kin; headers of 24 bytes (Linux 6.17)              */
#define TAP_GSO     (TAP_TSO4 | TAP_TSO6 | TAP_ECN | TAP_USO | TAP_TUNNEL)
#define TAP_DEFAULT 0u     /* in the configuration: all that this kernel offers for the header            */
#define TAP_NOTHING 0x8000u /* in the configuration: nothing at all                                       */

struct tap_config { /* zero = default */
	const char *name;    /* required; made if it is not there                                          */
	const char *netns;   /* the namespace it is in, of `ip netns`; default: ours                       */
	unsigned    queues;  /* 1 to TAP_QUEUES_MAX; default 1                                             */
	uint32_t    hdr_len; /* 10, 12 or 24; default 24, with kernels that offer no tunnels 12            */
	uint32_t    offload; /* TAP_*                                                                      */
};

/* One queue; the `dev` of its rxq. */
struct tap_queue {
	int          fd;
	int          err;      /* why the device counts as broken; 0 = it does not */
	uint32_t     hdr_len;
	uint32_t     features; /* VNETRX_VIRTIO_* of headers read                  */
	uint32_t     want;     /* bytes that must be free before a frame is read   */
	uint32_t     left;     /* bytes of the last frame that are not reaped yet  */
	uint32_t     head;     /* oldest posted buffer                             */
	uint32_t     posted;
	struct link_stats stats;
	struct iovec iov[2u * TAP_POSTED_MAX]; /* ring of posted buffers, twice: a row of them never wraps */
	uint32_t     id[TAP_POSTED_MAX];
	struct iovec out[TAP_PIECES_MAX];      /* of the packet that is being written                      */
	uint8_t      out_hdr[TAP_HDR_MAX];
};

struct tap {
	struct link link;
	unsigned    nqueues;
	uint32_t    hdr_len;
	uint32_t    offload;       /* as agreed with the kernel, TAP_*                                     */
	bool        tunnel;        /* headers have room for tunnels, and the kernel knows them             */
	uint32_t    frame_len_max; /* longest frame the kernel may hand us, for the rxq                    */
	struct tap_queue *queue[TAP_QUEUES_MAX];
};

/* Makes or opens the interface and puts it up. */
int tap_open(struct tap *tap, const struct tap_config *cfg);

/* Closes it; an interface that is not persistent goes away with that. No queue may be used afterwards. */
void tap_close(struct tap *tap);

/* Ops for a queue: `dev` is a struct tap_queue, hdr_len is the tap's, frame_len_max too. */
extern const struct vnetrx_dev_ops tap_ops;

/* Writes a packet, merged or not; it stays the caller's. -EAGAIN: not now, wait for POLLOUT; -EMSGSIZE: the header
 * cannot say it, or too many pieces; others are the kernel's: -EIO = the interface is down, -EBADFD = it is gone,
 * -ENOBUFS and -ENOMEM = no memory now, -EINVAL = it refuses the header. */
int tap_write(struct tap_queue *queue, const struct vnetrx_pkt *pkt);

/* Puts what was posted aside: after it, vnetrx_rxq_reclaim(). */
void tap_queue_reset(struct tap_queue *queue);

#endif
