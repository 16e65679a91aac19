/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small writes of several streams through a transmit ring to a live vhost-user back end.
 *
 *   stream: copies a write into a packet --> driver --> ring --> back end --eventfd--> interrupt thread --> driver
 *
 * A stream may have TX_LIVE_WINDOW bytes at the device and is asleep when they are. Streams run in turns on one thread;
 * interrupts are taken by another on the same CPU, as they interrupt a driver: each costs a switch there and back.
 *
 * "before": after every packet an interrupt is asked for; the queue is stopped when the ring is full and woken by the
 * interrupt. "after": vnetrx_txq.
 */
#ifndef TX_LIVE_H
#define TX_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#define TX_LIVE_RING    256u
#define TX_LIVE_WINDOW  65536u
#define TX_LIVE_STREAMS 128u

struct tx_live_case {
	const char *path;    /* of the back end's socket */
	uint32_t    streams;
	uint32_t    bytes;   /* of a write and a packet  */
	bool        before;
	uint64_t    time_ns; /* of measuring             */
};

struct tx_live_result {
	uint64_t packets;
	uint64_t ns;
	uint64_t cpu_ns;     /* of the process           */
	uint64_t interrupts; /* that the back end sent   */
	uint64_t doorbells;
	uint64_t full;       /* packets that met a full ring */
	uint64_t all;        /* packets sent, those before and after the measured time included */
};

/* Connects, runs, waits until everything was sent, disconnects. Ends the process when something is lost. */
void tx_live(const struct tx_live_case *c, struct tx_live_result *result);

#endif
