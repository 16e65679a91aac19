/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts a built frame into a tunnel or behind PPPoE. Shares no code with the library. */
#ifndef TEST_ENCAP_H
#define TEST_ENCAP_H

#include <stddef.h>
#include <stdint.h>

enum encap {
	ENCAP_NONE,
	ENCAP_VXLAN4,      /* VXLAN over IPv4, the whole frame inside, no UDP checksum */
	ENCAP_VXLAN6,      /* over IPv6                                                */
	ENCAP_VXLAN4_CSUM, /* with a UDP checksum                                      */
	ENCAP_GRE,         /* GRE over IPv4, the IP packet inside                      */
	ENCAP_IPIP,        /* in IPv4                                                  */
	ENCAP_PPPOE,
	ENCAP_NUM
};

#define ENCAP_ROOM 80u /* bytes by which a frame may grow */

/* Wraps the frame of len bytes, without VLAN tags, in place; returns its new length. id is that of an outer IPv4 header. */
size_t encap_frame(enum encap how, uint8_t *frame, size_t len, uint16_t id);

#endif
