/* SPDX-License-Identifier: BSD-3-Clause */
/* What a network card would have said about a captured frame: captures keep the frame, not the words beside it. */
#ifndef EXAMPLES_VOUCH_H
#define EXAMPLES_VOUCH_H

#include "vnetrx/ops.h"

/* Looks at TCP and UDP right behind Ethernet (802.1Q too) and IPv4 or IPv6. A right checksum gives CSUM_OK; a checksum
 * field with the pseudo-header sum gives PARTIAL and, when the frame is longer than mtu allows, the GSO fields of a TCP
 * packet in segments of that mtu. Everything else: *meta is all zero. */
void vouch(const uint8_t *frame, uint32_t len, uint32_t mtu, struct vnetrx_meta *meta);

#endif
