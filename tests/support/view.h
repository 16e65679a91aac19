/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a frame the slow, obvious way, field by field, for the oracle and the law checks. Shares no code with the
 * library.
 */
#ifndef TEST_VIEW_H
#define TEST_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum view_kind {
	VIEW_OPAQUE, /* no addresses reached                       */
	VIEW_PAIR,   /* addresses, but no ports                    */
	VIEW_PORTS,  /* addresses, protocol (TCP or UDP) and ports */
};

struct view {
	const uint8_t *bytes;
	size_t   len;
	enum view_kind kind;
	unsigned tags;
	size_t   l3;         /* network header; with kind PAIR, PORTS                        */
	size_t   l4;         /* transport header; with kind PORTS                            */
	size_t   ip_end;     /* one past the last byte of the IP packet, as its header says  */
	bool     v6;
	uint8_t  src[16], dst[16];
	uint8_t  proto;
	uint16_t sport, dport;
	bool     cut;        /* something that the headers announce lies past the frame      */
	bool     fragment;
	bool     ip_options;
	bool     ip_csum_ok; /* IPv6: true                                                   */
	bool     trailer;    /* bytes behind the IP packet that are no Ethernet padding      */
	bool     tcp;        /* a whole TCP header of at least 20 bytes                      */
	size_t   payload;    /* offset of the first payload byte; with tcp                   */
	size_t   payload_len;
	unsigned flags;      /* FR_*, reserved bits included; with tcp                       */
	bool     l4_csum_ok; /* with tcp                                                     */
};

void view_frame(struct view *v, const uint8_t *bytes, size_t len);

/* Same addresses in the same direction. */
bool view_same_pair(const struct view *a, const struct view *b);

/* Same addresses, protocol and ports; both of kind PORTS. */
bool view_same_flow(const struct view *a, const struct view *b);

/* Length of the frame without Ethernet padding. */
size_t view_trimmed(const struct view *v);

#endif
