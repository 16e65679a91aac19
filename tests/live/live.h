/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the modes of vnetrx-live share: a front end whose transmit half sends numbered frames and whose receive half
 * checks what a back end that returns them brings.
 *
 *   next: number of the next frame to send     expected <= next: the lowest number not yet seen
 */
#ifndef LIVE_H
#define LIVE_H

#include "vhost_net.h"

#define LIVE_SLOT     10240u /* bytes: headroom and the longest frame */
#define LIVE_HEADROOM 64u

struct live;

struct live_slot { /* memory of one frame on its way out */
	struct live_pair *pair;
	uint8_t  *frame;
	uint64_t  dma;
};

struct live_pair {
	struct live           *live;
	struct vhost_net_pair *p;
	struct live_slot      *slots;
	struct live_slot     **idle;   /* slots that are not at the device */
	uint32_t nslots;
	uint32_t nidle;
	uint16_t index;
	uint64_t next;
	uint64_t expected;
	bool     full;      /* the queue refused a frame  */
	uint64_t received;
	uint64_t lost;      /* numbers left out           */
	uint64_t cut;       /* on their way when the back end went away */
	uint64_t bad;       /* frames that are not as they were sent, or come late or twice */
};

struct live_options {
	struct vhost_net_config net;
	unsigned kinds;      /* VHOST_NET_*                                       */
	uint32_t len_min;    /* of frames                                         */
	uint32_t len_max;
	uint32_t segs;       /* pieces of each frame                              */
	uint32_t window;     /* frames on their way at once; 0 = as many as fit   */
	uint64_t count;      /* frames to send, all pairs together                */
	uint64_t seconds;    /* and no longer than that                           */
	uint64_t bursts;     /* mode: so many bursts, each after a sleep          */
	unsigned reconnects; /* the back end must go away so often                */
	bool     flood;      /* send without regard for what comes back           */
	bool     oneway;     /* nothing comes back                                */
	bool     interrupt;  /* sleep when there is nothing to do                 */
};

struct live {
	struct live_options opts;
	struct vhost_net net;
	struct live_pair pairs[VHOST_PAIRS_MAX];
	uint8_t  *table;     /* the pattern, in memory of the device */
	uint64_t  table_dma;
	uint64_t  rng;
	uint64_t  before;    /* had come back when the back end came last */
	uint64_t  asleep;    /* times it slept                       */
	uint64_t  overslept; /* a used buffer waited, and no interrupt came */
	uint64_t  leaks;     /* buffers or slots that did not come back after a disconnect */
	int       epoll_fd;
};

int live_options_read(struct live_options *opts, int argc, char **argv);

/* Waits until the back end is there, for at most `seconds`. */
bool live_connect(struct live *l, unsigned seconds);

/* The back end is gone: takes everything back and sees that it is all. */
void live_disconnect(struct live *l);

/* Sends up to n frames; stops early when the window, the slots or the queue are full. Returns how many. */
uint32_t live_send(struct live_pair *pair, uint32_t n);

/* All frames that came back. */
uint64_t live_received(const struct live *l);

/* Frames that may still be sent before the window is full. */
uint32_t live_room(const struct live_pair *pair);

/* Takes what is there; true = nothing is left, and interrupts are on. */
bool live_receive(struct live_pair *pair, vnetrx_ns now);

/* Sleeps until an interrupt, at most `ms`; false = none came. */
bool live_sleep(struct live *l, int ms);

/* Frames on their way count as lost. */
void live_give_up(struct live_pair *pair);

vnetrx_ns live_now(void);

/* The modes; true = all went well. */
bool live_echo(struct live *l);
bool live_burst(struct live *l);

#endif
