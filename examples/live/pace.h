/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vnetrx-pace: segments of several TCP flows, one after the other at a steady pace, and what comes out of whatever
 * joins them: how many segments are in each packet, and how long each packet was held.
 */
#ifndef EXAMPLES_LIVE_PACE_H
#define EXAMPLES_LIVE_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACE_HDR       54u    /* Ethernet, IPv4 and TCP headers                       */
#define PACE_PORT      20000u /* flow i comes from port PACE_PORT + i                 */
#define PACE_FLOWS_MAX 1024u

struct pace_frames {
	uint32_t  count;
	uint32_t  flows;   /* frame i belongs to flow i % flows    */
	uint32_t  payload; /* bytes of TCP in each                 */
	uint32_t  len;     /* of each frame                        */
	uint8_t  *bytes;   /* frame i begins at i * len            */
	uint64_t *sent_ns; /* when each was sent, CLOCK_REALTIME   */
};

struct pace_seen {
	uint64_t  packets;
	uint64_t  segs;
	uint64_t  wrong;   /* packets that are not what was sent                                      */
	uint64_t  lost;    /* packets that the kernel could not show us                               */
	uint64_t *hold_ns; /* of each packet: from the sending of its first segment to its coming out */
};

/* Builds the frames; false = no memory. */
bool pace_frames_new(struct pace_frames *f);
void pace_frames_delete(struct pace_frames *f);

/* From now on frames that are sent on the interface carry a flow hash; -1: see errno. Ends with the process. */
int pace_hash(int ifindex);

/* Opens a watch on interface `name` of the namespace we are in; -1: said why. Packets that come in by it are kept in
 * memory until pace_watch_read(), as many as `packets`. */
struct pace_watch;
struct pace_watch *pace_watch_new(const char *name, uint32_t packets);
void pace_watch_read(struct pace_watch *w, const struct pace_frames *f, struct pace_seen *seen);
void pace_watch_delete(struct pace_watch *w);

#endif
