/* SPDX-License-Identifier: BSD-3-Clause */
/* A part of view.c: where a tunnel's inner network header lies. */
#ifndef TEST_VIEW_TUNNEL_H
#define TEST_VIEW_TUNNEL_H

#include "view.h"

enum view_inside {
	IN_NONE,    /* no tunnel                                      */
	IN_UNKNOWN, /* a tunnel, but nothing in it that is understood */
	IN_CUT,     /* what is inside lies past the packet            */
	IN_IP,      /* l3, version                                    */
};

struct view_reader {
	const uint8_t *bytes;
	size_t   limit; /* nothing from here on is looked at */
	size_t   l3;
	unsigned version;
};

enum view_inside view_look_inside(struct view_reader *r, const struct view_rules *rules, const struct view_ip *ip);

#endif
