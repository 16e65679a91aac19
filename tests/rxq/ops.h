/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ops of the in-process device and of the heap host with a counter around each: the n-th call of one of them can
 * fail, or take less than it could.
 */
#ifndef TEST_RXQ_OPS_H
#define TEST_RXQ_OPS_H

#include "rig.h"

enum op { OP_POST, OP_REAP, OP_PAGE_ALLOC, OP_DELIVER, OP_NUM };

struct ops {
	struct rxq_rig *rig;
	enum op   op;         /* which fails                                                       */
	unsigned  at;         /* at which call, counted from 1; 0 = none                            */
	unsigned  most;       /* what the failing call still takes: 0 = nothing                     */
	unsigned  calls[OP_NUM];
	bool      broken;     /* reap says that the device is broken                                */
	bool      late;       /* one more packet comes while interrupts are being turned on         */
	struct frame *frame;  /* that one                                                           */
	uint8_t   verdict;    /* of `early`, for every second packet                                */
	unsigned  seen_early;
	struct vnetrx_pktq taken; /* by `early`                                                     */
};

extern const struct vnetrx_dev_ops  ops_dev;
extern const struct vnetrx_host_ops ops_host;
extern const struct vnetrx_host_ops ops_host_early;

/* rxq_rig_open() with these ops. */
void ops_open(struct ops *ops, struct rxq_rig *rig, const struct vnetrx_rxq_config *cfg);

#endif
