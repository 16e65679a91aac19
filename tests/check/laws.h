/* SPDX-License-Identifier: BSD-3-Clause */
/* Laws 1 and 2 of one capture: what came against what was delivered. */
#ifndef CHECK_LAWS_H
#define CHECK_LAWS_H

#include "flows.h"
#include "frames.h"
#include "meta.h"

#define WHY_MAX 300u

struct laws {
	struct frames in;
	struct frames out;
	struct flows *flows;
	bool   rfc6864;      /* ids of IPv4 packets with DF may change */
	char   why[WHY_MAX]; /* what is broken                         */
};

/* Notes what comes; false: out of memory. */
bool laws_begin(struct laws *laws);

/* Packet n (from 0) of OUT, and what META says about it. false: why. */
bool laws_delivered(struct laws *laws, size_t n, const struct meta *meta);

/* After the last one. false: why. */
bool laws_end(struct laws *laws);

#endif
