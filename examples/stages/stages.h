/* SPDX-License-Identifier: BSD-3-Clause */
/* What each stage of the receive path gains, on captured traffic. */
#ifndef STAGES_H
#define STAGES_H

#include "burst.h"
#include "vnetrx/ops.h"

/* A capture in memory, with what the device says about each frame. */
struct capture {
	const char  *path;
	struct burst frames;
	struct vnetrx_meta *meta;
	uint64_t     left_out;  /* frames that are not in it: too short or too long */
};

/* One way to set up the queue. */
struct row {
	const char *label;
	uint32_t    buf_len;    /* fixed; 0 = auto-sized      */
	uint32_t    flags;      /* VNETRX_RXQ_*               */
	bool        timer;
};

/* What came of it, over one capture or several. */
struct result {
	uint64_t  received;     /* packets from the device    */
	uint64_t  delivered;    /* packets to the host        */
	uint64_t  segs;         /* the rest: sums over those  */
	uint64_t  frags;
	uint64_t  bufs;
	uint64_t  bytes;
	uint64_t  truesize;
	vnetrx_ns hold_max;     /* longest from first segment to delivery   */
	double    path_ns;      /* time spent in the queue and its host     */
};

struct settings {
	vnetrx_ns irq_ns;       /* a poll takes what arrives within this of its first packet */
	vnetrx_ns timeout_ns;   /* of rows with a timer                                      */
	vnetrx_ns hold_max_ns;
	unsigned  repeats;      /* runs to time; the median counts                           */
};

extern const struct row rows[];
extern const unsigned rows_num;

/* Reads a capture, and says on standard error what of it is damaged, cut or left out; false: `error` (PCAP_ERROR_MAX
 * bytes) says why there is nothing. */
bool capture_load(struct capture *cap, const char *path, char *error);

void capture_free(struct capture *cap);

/* Sends a capture through a queue set up as `row` says and adds to *result; NULL = done, else what went wrong. */
const char *measure(const struct capture *cap, const struct row *row, const struct settings *set,
                    struct result *result);

#endif
