/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways in which a host goes through the fragments of a packet. */
#ifndef WALK_H
#define WALK_H

#include <stdbool.h>

struct bench;
struct vnetrx_pkt;

enum walk_kind {
	WALK_NONE,
	WALK_IOVEC, /* builds an array of pieces               */
	WALK_TOUCH, /* reads the first byte of each fragment   */
	WALK_COPY,  /* copies all bytes                        */
	WALK_TAP,   /* one writev() to a TAP device            */
	WALK_LWIP,  /* a chain of pbufs into lwIP's ip4_input  */
	WALK_KINDS
};

const char *walk_name(enum walk_kind kind);

/* Gets what the walk needs; false = not on this machine, and *why says what is missing. */
bool walk_open(struct bench *b, enum walk_kind kind, const char **why);
void walk_close(enum walk_kind kind);

/* Goes through n packets; ends the process when a step fails. */
void walk(enum walk_kind kind, struct vnetrx_pkt *const *pkts, unsigned n);

/* walk_lwip.c, or a stub of it that says why not. */
bool walk_lwip_open(const char **why);
void walk_lwip(struct vnetrx_pkt *const *pkts, unsigned n);

#endif
