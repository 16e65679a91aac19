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
/*@ assigns \nothing; */
static VNRX_INLINE uint16_t vnrx_fold(uint32_t sum)
{
	return (uint16_t)((sum + (sum << 16 | sum >> 16)) >> 16);
}

/* The sum of two sums. */
/*@ assigns \nothing; */
static VNRX_INLINE uint16_t vnrx_sum_add(uint16_t a, uint16_t b)
{
	return vnrx_fold((uint32_t)a + (uint32_t)b);
}

/* A sum whose bytes begin at an odd offset. */
/*@ assigns \nothing; */
static VNRX_INLINE uint16_t vnrx_sum_swap(uint16_t sum)
{
	return (uint16_t)((uint32_t)sum << 8 | (uint32_t)sum >> 8);
}

/*@ requires \valid(p + (0 .. 1));
    assigns p[0 .. 1];
*/
static VNRX_INLINE void vnrx_put_sum(uint8_t *p, uint16_t sum)
{
	vnrx_store16(p, sum);
}

/* Longest that may be summed: no packet or fragment comes near it. */
#define VNRX_SUM_MAX 0x7fffffffu

/* The sum of len bytes; an odd last byte counts as the first byte of a word. */
/*@ requires \valid_read(p + (0 .. len - 1)) && len <= VNRX_SUM_MAX;
    assigns \nothing;
*/
uint16_t vnrx_sum(const uint8_t *p, uint32_t len);

/* What may be read of a packet: up to n links, each with its fragment. */
/*@ predicate vnrx_chain{L}(struct vnetrx_pkt *pkt, integer n) =
      pkt == \null || (n > 0 && \valid_read(pkt) && pkt->frag_len <= VNRX_SUM_MAX &&
                       \valid_read(pkt->data + (0 .. pkt->frag_len - 1)) && vnrx_chain(pkt->chain, n - 1));
*/

/* The sum of len bytes of a packet from offset off on, over all its fragments. */
/*@ requires vnrx_chain((struct vnetrx_pkt *)pkt, 65535);
    assigns \nothing;
*/
uint16_t vnrx_sum_pkt(const struct vnetrx_pkt *pkt, uint32_t off, uint32_t len);

/* The sum of the pseudo header (RFC 9293 3.1, RFC 8200 8.1): addresses of an IPv4 or IPv6 header at l3, protocol,
 * length. */
/*@ requires \valid_read(l3 + (0 .. (version == 4 ? VNRX_IPV4_HDR : VNRX_IPV6_HDR) - 1));
    assigns \nothing;
*/
uint16_t vnrx_sum_pseudo(const uint8_t *l3, unsigned version, uint32_t proto, uint32_t len);

/* ---- of few bytes: inline ---- */

/*@ assigns \nothing; */
static VNRX_INLINE uint16_t vnrx_fold64(uint64_t s)
{
	uint64_t half = s % 4294967296u + s / 4294967296u; /* at most 33 bits */

	half = half % 65536u + half / 65536u; /* at most 18 bits */
	return vnrx_fold((uint32_t)half);
}

/* Protocol and length of a pseudo header. */
/*@ assigns \nothing; */
static VNRX_INLINE uint16_t vnrx_sum_rest(uint32_t proto, uint32_t len)
{
	return vnrx_fold64((uint64_t)vnrx_wire16(len / 65536u) + vnrx_wire16(len) + vnrx_wire16(proto));
}

/* The pseudo header of IPv4. */
/*@ requires \valid_read(l3 + (0 .. VNRX_IPV4_HDR - 1));
    assigns \nothing;
*/
static VNRX_INLINE uint16_t vnrx_sum_pseudo4(const uint8_t *l3, uint32_t proto, uint32_t len)
{
	uint64_t rest = (uint64_t)vnrx_wire16(len / 65536u) + vnrx_wire16(len) + vnrx_wire16(proto);

	return vnrx_fold64(rest + vnrx_load32(l3 + VNRX_IPV4_SRC) + vnrx_load32(l3 + VNRX_IPV4_SRC + 4u));
}

/* An IPv4 header without options; 0xffff = its checksum is right. */
/*@ requires \valid_read(l3 + (0 .. VNRX_IPV4_HDR - 1));
    assigns \nothing;
*/
static VNRX_INLINE uint16_t vnrx_sum_ipv4(const uint8_t *l3)
{
	uint64_t sum = (uint64_t)vnrx_load32(l3) + vnrx_load32(l3 + 4) + vnrx_load32(l3 + 8) + vnrx_load32(l3 + 12) +
	               vnrx_load32(l3 + 16);

	return vnrx_fold64(sum);
}

#endif
