/* SPDX-License-Identifier: BSD-3-Clause */
/* Internet checksums (RFC 1071) of a TCP or UDP packet, at each level. */
#ifndef CHECK_SUMS_H
#define CHECK_SUMS_H

#include "layout.h"

/* Tells which checksum of the packet, whose payload lies in the bytes given, is wrong; NULL = none. */
const char *sums_wrong(const struct layout *lay, const uint8_t *data);

/* Makes all of them 0, but leaves an outer UDP checksum that says "none" different from one that does not. */
void sums_clear(const struct layout *lay, uint8_t *data);

/* Makes the checksum of the IPv4 header right. */
void sums_ipv4(const struct ip *ip, uint8_t *data);

/* Makes the checksum at `at`, of a UDP or TCP packet, right. */
void sums_l4(const struct ip *ip, uint8_t *data, uint32_t at);

#endif
