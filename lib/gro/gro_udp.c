/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UDP: datagrams of one size join into a train; a shorter one joins and ends it. Nothing numbers them, so the order
 * in which they came is all there is: only the last may be continued.
 */
#include "engine.h"

enum vnrx_pass vnrx_udp_check(const struct vnetrx_gro *gro, const struct vnrx_seg *seg)
{
	if ((gro->protos & VNETRX_GRO_UDP) == 0u)
		return VNRX_PASS_OFF;
	if (seg->count == 1u && vnrx_be16(seg->hdr + seg->d.l4 + VNRX_UDP_LEN) != seg->d.ip.end - seg->d.l4)
		return VNRX_PASS_CUT;
	return seg->payload == 0u ? VNRX_PASS_EMPTY : VNRX_PASS_NOT;
}

enum vnrx_differ vnrx_udp_differs(const struct vnrx_flow *f, const struct vnrx_seg *seg)
{
	uint16_t held = vnrx_load16(f->hdr + f->l4 + VNRX_UDP_CSUM);
	uint16_t csum = vnrx_load16(seg->hdr + seg->d.l4 + VNRX_UDP_CSUM);

	return (held == 0u) == (csum == 0u) ? VNRX_DIFFER_NOT : VNRX_DIFFER_META;
}
