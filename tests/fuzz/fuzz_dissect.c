/* SPDX-License-Identifier: BSD-3-Clause */
/* Input: how much longer the frame is than what is there (16 bits), then the bytes that are there. */
#include <string.h>

#include "fuzz.h"
#include "gro/dissect.h"

static void check(const struct vnrx_dissect *d, const uint8_t *hdr, uint32_t avail, uint32_t frame_len)
{
	FUZZ_CHECK(d->reach <= VNRX_REACH_PORTS);
	FUZZ_CHECK(d->pass <= VNRX_PASS_NOT);
	if (d->reach == VNRX_REACH_NOTHING) {
		FUZZ_CHECK(d->pass != VNRX_PASS_NOT);
		return;
	}
	FUZZ_CHECK(d->version == 4 || d->version == 6);
	FUZZ_CHECK(d->l3 >= VNRX_ETH_HDR && d->l3 <= VNRX_ETH_HDR + 2u * VNRX_VLAN_HDR);
	FUZZ_CHECK(d->l3 + (d->version == 4 ? VNRX_IPV4_HDR : VNRX_IPV6_HDR) <= avail);
	FUZZ_CHECK(hdr[d->l3] / 16u == d->version);
	if (d->reach < VNRX_REACH_PORTS) {
		FUZZ_CHECK(d->pass != VNRX_PASS_NOT);
		return;
	}
	FUZZ_CHECK(d->proto == VNRX_PROTO_TCP || d->proto == VNRX_PROTO_UDP);
	FUZZ_CHECK(d->l4 >= d->l3 + (d->version == 4 ? VNRX_IPV4_HDR : VNRX_IPV6_HDR) && d->l4 + 4u <= avail);
	if (d->pass != VNRX_PASS_NOT)
		return;
	FUZZ_CHECK(d->proto == VNRX_PROTO_TCP);
	FUZZ_CHECK(d->l4 + VNRX_TCP_HDR <= d->payload && d->payload <= avail);
	FUZZ_CHECK(d->payload <= d->end && d->end <= frame_len);
	FUZZ_CHECK(d->payload <= VNRX_HDR_MAX);
}

/* Bytes behind the headers decide nothing. */
static void check_headers_suffice(const struct vnrx_dissect *d, const uint8_t *hdr, uint32_t frame_len)
{
	struct vnrx_dissect again;
	uint8_t *exact = malloc(d->payload);

	FUZZ_CHECK(exact != NULL);
	memcpy(exact, hdr, d->payload);
	vnrx_dissect(exact, d->payload, frame_len, &again);
	FUZZ_CHECK(again.pass == d->pass && again.reach == d->reach && again.l3 == d->l3 && again.l4 == d->l4);
	FUZZ_CHECK(again.payload == d->payload && again.end == d->end && again.proto == d->proto);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vnrx_dissect d;
	uint32_t avail, frame_len;
	uint8_t *hdr;

	if (size < 2)
		return 0;
	avail = (uint32_t)(size - 2);
	frame_len = avail + data[0] + 256u * data[1];
	hdr = malloc(avail + (avail == 0)); /* of just this size: what lies behind is not to be read */
	FUZZ_CHECK(hdr != NULL);
	memcpy(hdr, data + 2, avail);
	memset(&d, 0xa5, sizeof(d));
	vnrx_dissect(hdr, avail, frame_len, &d);
	check(&d, hdr, avail, frame_len);
	if (d.pass == VNRX_PASS_NOT)
		check_headers_suffice(&d, hdr, frame_len);
	free(hdr);
	return 0;
}
