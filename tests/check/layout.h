/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the headers of a frame lie, as the RFCs say; through one level of tunnel. */
#ifndef CHECK_LAYOUT_H
#define CHECK_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define TYPE_IPV4 0x0800u
#define TYPE_IPV6 0x86ddu
#define PROTO_TCP 6u
#define PROTO_UDP 17u

struct ip {
	unsigned version; /* 4, 6; 0 = none                                           */
	unsigned proto;   /* of what lies at l4                                       */
	uint32_t l3;
	uint32_t l4;      /* 0 = not to be known: a fragment, or cut                  */
	uint32_t end;     /* offset behind the last byte that it announces            */
};

struct layout {
	struct ip first;   /* the outermost IP header                                 */
	struct ip inner;   /* the innermost; the same without a tunnel                */
	bool      tunnel;
	bool      pppoe;   /* a PPPoE header stands before the outermost IP header    */
	bool      ports;   /* TCP or UDP, and its ports are there                     */
	uint32_t  payload; /* offset behind a whole TCP or UDP header; 0 = none       */
};

uint32_t get16(const uint8_t *p);
uint32_t get32(const uint8_t *p);
void put16(uint8_t *p, uint32_t v);
void put32(uint8_t *p, uint32_t v);

void layout_read(struct layout *lay, const uint8_t *data, uint32_t len);

/* Bytes that the frame has without Ethernet padding. `len` is without a frame check sequence. */
uint32_t layout_unpadded(const struct layout *lay, uint32_t len);

/* Where an IP header's addresses lie: both, one behind the other. */
uint32_t layout_addrs(const struct ip *ip, uint32_t *size);

#endif
