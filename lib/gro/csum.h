/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ones-complement sums (RFC 1071). A sum is 16 bits wide and in memory order: the sum of the 16-bit words as they lie
 * in memory, which is the same on both kinds of machine; vnrx_put_sum() writes it back as it is. Not inverted.
 */
#ifndef VNRX_CSUM_H
#define VNRX_CSUM_H

#include "vnetrx/pkt.h"

#include "wire.h"

/* Folds 32 bits to 16 with end-around carry; 0 only for 0. */
static VNRX_INLINE uint16_t vnrx_fold(uint32_t sum)
{
	return (uint16_t)((sum + (sum << 16 | sum >> 16)) >> 16);
}

/* The sum of two sums. */
static VNRX_INLINE uint16_t vnrx_sum_add(uint16_t a, uint16_t b)
{
	return vnrx_fold((uint32_t)a + (uint32_t)b);
}

/* A sum whose bytes begin at an odd offset. */
static VNRX_INLINE uint16_t vnrx_sum_swap(uint16_t sum)
{
	return (uint16_t)((uint32_t)sum << 8 | (uint32_t)sum >> 8);
}

static VNRX_INLINE void vnrx_put_sum(uint8_t *p, uint16_t sum)
{
	memcpy(p, &sum, sizeof(sum));
}

/* The sum of len bytes; an odd last byte counts as the first byte of a word. */
uint16_t vnrx_sum(const uint8_t *p, uint32_t len);

/* The sum of len bytes of a packet from offset off on, over all its fragments. */
uint16_t vnrx_sum_pkt(const struct vnetrx_pkt *pkt, uint32_t off, uint32_t len);

/* The sum of the pseudo header (RFC 9293 3.1, RFC 8200 8.1): addresses of an IPv4 or IPv6 header at l3, protocol,
 * length. */
uint16_t vnrx_sum_pseudo(const uint8_t *l3, unsigned version, uint32_t proto, uint32_t len);

/* ---- of few bytes: inline ---- */

static VNRX_INLINE uint16_t vnrx_fold64(uint64_t s)
{
	uint64_t half = s % 4294967296u + s / 4294967296u; /* at most 33 bits */

	half = half % 65536u + half / 65536u; /* at most 18 bits */
	return vnrx_fold((uint32_t)half);
}

/* Protocol and length of a pseudo header. */
static VNRX_INLINE uint16_t vnrx_sum_rest(uint32_t proto, uint32_t len)
{
	return vnrx_fold64((uint64_t)vnrx_wire16(len / 65536u) + vnrx_wire16(len) + vnrx_wire16(proto));
}

/* The pseudo header of IPv4. */
static VNRX_INLINE uint16_t vnrx_sum_pseudo4(const uint8_t *l3, uint32_t proto, uint32_t len)
{
	uint64_t rest = (uint64_t)vnrx_wire16(len / 65536u) + vnrx_wire16(len) + vnrx_wire16(proto);

	return vnrx_fold64(rest + vnrx_load32(l3 + VNRX_IPV4_SRC) + vnrx_load32(l3 + VNRX_IPV4_SRC + 4u));
}

/* An IPv4 header without options; 0xffff = its checksum is right. */
static VNRX_INLINE uint16_t vnrx_sum_ipv4(const uint8_t *l3)
{
	uint64_t sum = (uint64_t)vnrx_load32(l3) + vnrx_load32(l3 + 4) + vnrx_load32(l3 + 8) + vnrx_load32(l3 + 12) +
	               vnrx_load32(l3 + 16);

	return vnrx_fold64(sum);
}

#endif
