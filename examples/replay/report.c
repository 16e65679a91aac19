/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <inttypes.h>

static const char *const reasons[VNETRX_LEFT_NUM] = {
	[VNETRX_LEFT_PASSED] = "passed",
	[VNETRX_LEFT_PUSH] = "push",
	[VNETRX_LEFT_SHORT] = "short",
	[VNETRX_LEFT_FULL] = "full",
	[VNETRX_LEFT_NEXT] = "next",
	[VNETRX_LEFT_ORDER] = "order",
	[VNETRX_LEFT_EVICTED] = "evicted",
	[VNETRX_LEFT_TIMEOUT] = "timeout",
	[VNETRX_LEFT_HOLD] = "hold",
	[VNETRX_LEFT_FLUSH] = "flush",
};

static const char *id_mode(const struct vnetrx_pkt *pkt, uint32_t ipv6, uint32_t fixed)
{
	if ((pkt->flags & ipv6) != 0u)
		return "null"; /* IPv6 has no ids */
	return (pkt->flags & fixed) != 0u ? "\"fixed\"" : "\"rising\"";
}

/* The id mode of each IP level of a merged packet, the outermost first. */
static void id_modes(const struct vnetrx_pkt *pkt, char *text, size_t size)
{
	const char *outer = "";

	text[0] = '\0';
	if ((pkt->flags & VNETRX_PKT_MERGED) == 0u)
		return;
	if ((pkt->flags & VNETRX_PKT_TUNNEL) != 0u)
		outer = id_mode(pkt, VNETRX_PKT_OUTER_IPV6, VNETRX_PKT_OUTER_ID_FIXED);
	snprintf(text, size, "%s%s%s", outer, outer[0] != '\0' ? "," : "",
	         id_mode(pkt, VNETRX_PKT_IPV6, VNETRX_PKT_ID_FIXED));
}

bool replay_meta(FILE *file, uint64_t n, const struct vnetrx_pkt *pkt, vnetrx_ns out_ns)
{
	const char *left = pkt->reason < VNETRX_LEFT_NUM ? reasons[pkt->reason] : "?";
	char ids[32];

	id_modes(pkt, ids, sizeof(ids));
	return fprintf(file,
	               "{\"n\":%" PRIu64 ",\"len\":%" PRIu32 ",\"segs\":%u,\"gso_size\":%u,\"rx_gso_size\":%u,"
	               "\"id\":[%s],\"frags\":%u,\"bufs\":%u,\"truesize\":%" PRIu32 ",\"first_ns\":%" PRIu64
	               ",\"last_ns\":%" PRIu64 ",\"out_ns\":%" PRIu64 ",\"left\":\"%s\"}\n",
	               n, pkt->len, pkt->segs, pkt->gso_size, pkt->rx_gso_size, ids, pkt->nfrags,
	               pkt->nbufs, pkt->truesize, pkt->seen_first, pkt->seen_last, out_ns, left) > 0;
}
