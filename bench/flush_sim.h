/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The world around the flush timer, in simulated time: a wire, a network card with several queues, a core for each.
 *
 *   wire --one packet per slot--> queue of the flow --interrupt--> core: poll, complete --deadline--> core: expire
 *
 * Interrupts reach the core FLUSH_IRQ_NS after the packet that raised them, are off from then to the end of the poll's
 * complete, and may find the core busy. Each packet costs the core FLUSH_WORK_NS, spent as it is taken off the ring, so
 * that what arrives meanwhile is taken by the same poll. The timer fires at the queue's deadline, or when the core
 * becomes idle. Nothing else costs time, and no clock is read: the same case gives the same figures on any machine.
 */
#ifndef FLUSH_SIM_H
#define FLUSH_SIM_H

#include "sample.h"
#include "vnetrx/rxq.h"

#define FLUSH_QUEUES  8u
#define FLUSH_FLOWS   200u /* flow f goes to queue f % FLUSH_QUEUES */
#define FLUSH_RPC     FLUSH_FLOWS /* the flow of requests: queue 0 */
#define FLUSH_TRAIN   44u  /* packets */
#define FLUSH_IRQ_NS  2000u
#define FLUSH_WORK_NS 400u
#define FLUSH_BUDGET  64u

struct flush_case {
	const char *name;
	uint32_t  slot_ns;  /* between packets on the wire                                              */
	uint32_t  trains;   /* on the wire at once, a packet of each in turn                            */
	uint32_t  slow;     /* further trains that share every second slot; flows are then of two kinds */
	uint32_t  jitter;   /* each packet arrives late by up to so many percent of a slot              */
	bool      shuffled; /* flows take turns in random order, else in their own                      */
	bool      stamped;  /* the card stamps packets                                                  */
	bool      adaptive;
	bool      rearm;    /* the card holds its interrupt until no packet came for timeout_ns         */
	uint32_t  rearm_frames; /* or so many came; 0 = any number                                      */
	vnetrx_ns rpc_ns;   /* a request, with PSH, once in each such time; 0 = none                    */
	vnetrx_ns timeout_ns;
};

/* Waits are from when a packet's segment counts as seen: its timestamp, or the time of the call that took it. A tail
 * waits from when that call began, or from its arrival if it came during the call. */
struct flush_result {
	uint64_t  pkts;        /* delivered                                                  */
	uint64_t  segs;        /* in them                                                    */
	uint64_t  push_held;   /* packets with PSH that did not leave in the call they came  */
	vnetrx_ns push_max;    /* longest time from the arrival of a segment with PSH to its delivery */
	struct sample_sum quiet; /* wait of a last segment                                   */
	struct sample_sum hold; /* of a first one                                            */
	struct sample_sum rpc; /* of requests, from arrival to delivery                      */
	uint64_t  requests;
	vnetrx_ns end_ns;      /* when the last queue fell asleep                            */
	vnetrx_ns poll_max;    /* longest call                                               */
	vnetrx_ns busy_max;    /* longest time from an interrupt or timer to sleep           */
	vnetrx_ns late_max;    /* longest time from a first segment's arrival to delivery    */
	int64_t   tail_max;    /* of tails without PSH: the longest wait beyond four gaps    */
	uint64_t  tails;       /* how many there were                                        */
	uint64_t  timers;      /* times that the timer fired                                 */
};

/* Every flow sends `rounds` trains. Ends the process when a packet is lost. */
void flush_sim(const struct flush_case *c, uint32_t rounds, struct flush_result *result);

#endif
