/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small packets through a transmit queue, in SIMULATED time: a guest with its streams, a device on a core of its own.
 *
 *   stream: write, stack, driver, doorbell --> ring (real) --> device: a packet at a time --interrupt--> guest
 *
 * Ring, queue and device side are the real code; what takes time is below, in nanoseconds, and nothing else does. A
 * stream may have TX_SIM_WINDOW bytes at the device, and is asleep when they are. Streams are spread over TX_SIM_CORES
 * cores: writes and interrupts go on side by side, the driver's part is under one lock. The device asks for a doorbell
 * when it finds nothing, and for no other. No clock is read: the same case gives the same figures on any machine.
 */
#ifndef TX_SIM_H
#define TX_SIM_H

#include <stdbool.h>
#include <stdint.h>

#define TX_SIM_RING     256u
#define TX_SIM_WINDOW   65536u

#define TX_SIM_CORES    4u

/* Of one of the guest's cores. Roughly a virtual machine of 2011: an exit costs about two microseconds. */
#define TX_SIM_WRITE    700u  /* a write, and the stack down to the driver    */
#define TX_SIM_COPY_KB  250u  /* each KiB of it                               */
#define TX_SIM_ADD      80u   /* a packet into the ring                       */
#define TX_SIM_REAP     40u   /* a packet taken back                          */
#define TX_SIM_DOORBELL 2000u /* an exit                                      */
#define TX_SIM_IRQ      3000u /* taken, handled, acknowledged: exits included */
#define TX_SIM_WAKE     1500u /* a stopped queue: what waits is put to run    */

/* Of the device. */
#define TX_SIM_SIGNAL   3000u /* from a doorbell to its first look            */
#define TX_SIM_SEND     900u  /* a packet                                     */
#define TX_SIM_SEND_KB  150u  /* each KiB of it                               */
#define TX_SIM_INJECT   1000u /* an interrupt: an event signalled, a core of the guest kicked */

struct tx_sim_case {
	uint32_t streams;
	uint32_t bytes;   /* of a write, and a packet                                            */
	uint32_t packets; /* to be sent                                                          */
	bool     before;  /* an interrupt asked for after every packet, queue stopped when full  */
};

struct tx_sim_result {
	uint64_t packets;
	uint64_t ns;        /* until the last was sent                        */
	uint64_t busy_ns;   /* of all the guest's cores                       */
	uint64_t irqs;
	uint64_t doorbells;
	uint64_t full;      /* packets that met a full ring                   */
};

/* Ends the process when a packet is lost or nothing goes on any more. */
void tx_sim(const struct tx_sim_case *c, struct tx_sim_result *result);

#endif
