/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adding words of any width with end-around carry gives the same 16-bit sum, so the loop adds 8-byte words in four
 * independent chains: as fast as vectors at plain -O2, and the same on every machine.
 */
#include "csum.h"

/* s + w, the carry added back. */
/*@ assigns \nothing; */
static VNRX_INLINE uint64_t add_carry(uint64_t s, uint64_t w)
{
	s += w;
	return s + (s < w ? 1u : 0u);
}

uint16_t vnrx_sum(const uint8_t *p, uint32_t len)
{
	uint64_t a = 0, b = 0, c = 0, d = 0;
	uint32_t off = 0;

	/*@ loop invariant off <= len;
	    loop assigns off, a, b, c, d;
	    loop variant len - off;
	*/
	for (; off + 32u <= len; off += 32u) {
		a = add_carry(a, vnrx_load64(p + off));
		b = add_carry(b, vnrx_load64(p + off + 8u));
		c = add_carry(c, vnrx_load64(p + off + 16u));
		d = add_carry(d, vnrx_load64(p + off + 24u));
	}
	/*@ loop invariant off <= len;
	    loop assigns off, a;
	    loop variant len - off;
	*/
	for (; off + 8u <= len; off += 8u)
		a = add_carry(a, vnrx_load64(p + off));
	if (off < len)
		b = add_carry(b, vnrx_load_tail(p + off, len - off));
	return vnrx_fold64(add_carry(add_carry(a, b), add_carry(c, d)));
}

uint16_t vnrx_sum_pkt(const struct vnetrx_pkt *pkt, uint32_t off, uint32_t len)
{
	uint16_t sum = 0;
	uint32_t done = 0;

	//@ ghost uint32_t links = 65535;
	/*@ loop invariant vnrx_chain((struct vnetrx_pkt *)pkt, links);
	    loop invariant done <= len;
	    loop assigns pkt, off, done, sum, links;
	    loop variant links;
	*/
	for (; pkt != NULL && done < len; pkt = pkt->chain) {
		uint32_t n;
		uint16_t part;

		//@ ghost links--;
		if (off >= pkt->frag_len) {
			off -= pkt->frag_len;
			continue;
		}
		n = pkt->frag_len - off;
		if (n > len - done)
			n = len - done;
		part = vnrx_sum(pkt->data + off, n);
		sum = vnrx_sum_add(sum, done % 2u == 0u ? part : vnrx_sum_swap(part));
		done += n;
		off = 0;
	}
	return sum;
}

uint16_t vnrx_sum_pseudo(const uint8_t *l3, unsigned version, uint32_t proto, uint32_t len)
{
	if (version == 4u)
		return vnrx_sum_pseudo4(l3, proto, len);
	return vnrx_sum_add(vnrx_sum(l3 + VNRX_IPV6_SRC, 32u), vnrx_sum_rest(proto, len));
}
