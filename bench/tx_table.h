/* SPDX-License-Identifier: BSD-3-Clause */
/* What delayed interrupts of the transmit queue are worth, SIMULATED: see bench_txq.c and tx_sim.h. */
#ifndef TX_TABLE_H
#define TX_TABLE_H

struct bench;

void tx_table(struct bench *b);

#endif
