/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP: a segment joins when its sequence number is the next and every other header bit is equal, but for the
 * checksum, and for PSH and FIN, which a cut sets on the last segment only.
 */
#include "engine.h"

/* TCP byte 12 and 13 (data offset, AE and reserved bits, flags) and the window: equal but for PSH and FIN. */
#define TCP_WORD_MASK 0xfff6ffffu
#define TCP_URGENT    18u

enum vnrx_pass vnrx_tcp_check(const struct vnrx_seg *seg)
{
	uint32_t flags = seg->hdr[seg->d.l4 + VNRX_TCP_FLAGS];

	if ((flags & (VNRX_TCP_SYN | VNRX_TCP_RST | VNRX_TCP_URG | VNRX_TCP_ACKF)) != VNRX_TCP_ACKF)
		return VNRX_PASS_FLAGS;
	return seg->payload == 0u ? VNRX_PASS_EMPTY : VNRX_PASS_NOT;
}

bool vnrx_tcp_closes(const struct vnrx_seg *seg)
{
	return (seg->hdr[seg->d.l4 + VNRX_TCP_FLAGS] & (VNRX_TCP_PSH | VNRX_TCP_FIN)) != 0u;
}

enum vnrx_differ vnrx_tcp_differs(const struct vnrx_flow *f, const struct vnrx_seg *seg)
{
	const uint8_t *held = f->hdr + f->l4;
	const uint8_t *l4 = seg->hdr + seg->d.l4;
	uint32_t word = vnrx_be32(held + VNRX_TCP_DOFF) ^ vnrx_be32(l4 + VNRX_TCP_DOFF);

	if (vnrx_be32(l4 + VNRX_TCP_SEQ) != f->next_seq)
		return VNRX_DIFFER_SEQ;
	if (vnrx_load32(held + VNRX_TCP_ACK) != vnrx_load32(l4 + VNRX_TCP_ACK))
		return VNRX_DIFFER_ACK;
	if (f->hdr_len != seg->d.payload || f->l4 != seg->d.l4) /* by the records: held bytes may have changed since */
		return VNRX_DIFFER_OPTIONS;
	if ((word & TCP_WORD_MASK) != 0u || vnrx_load16(held + TCP_URGENT) != vnrx_load16(l4 + TCP_URGENT))
		return VNRX_DIFFER_FLAGS;
	if (memcmp(held + VNRX_TCP_HDR, l4 + VNRX_TCP_HDR, (uint32_t)f->hdr_len - f->l4 - VNRX_TCP_HDR) != 0)
		return VNRX_DIFFER_OPTIONS;
	return VNRX_DIFFER_NOT;
}
