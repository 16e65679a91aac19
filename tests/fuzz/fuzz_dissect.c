/* SPDX-License-Identifier: BSD-3-Clause */
/* Input: how much longer the frame is than what is there (16 bits), then the bytes that are there. */
#include <string.h>

#include "fuzz.h"
#include "gro/dissect.h"

static const struct vnrx_tunnels tunnels = { .vxlan_port = 4789, .gpe_port = 4790, .geneve_port = 6081, .ip = true };

static uint32_t hdr_min(const struct vnrx_ip *ip)
{
	return ip->version == 4u ? VNRX_IPV4_HDR : VNRX_IPV6_HDR;
}

static void check_ip(const struct vnrx_ip *ip, const struct vnrx_frame *f, uint32_t l3_min)
{
	FUZZ_CHECK(ip->version == 4 || ip->version == 6);
	FUZZ_CHECK(ip->l3 >= l3_min && ip->l3 + hdr_min(ip) <= f->avail);
	FUZZ_CHECK(f->hdr[ip->l3] / 16u == ip->version);
	FUZZ_CHECK(ip->l4 == 0 || (ip->l4 >= ip->l3 + hdr_min(ip) && ip->l4 <= f->avail));
}

static void check(const struct vnrx_dissect *d, const struct vnrx_frame *f)
{
	FUZZ_CHECK(d->reach <= VNRX_REACH_PORTS);
	FUZZ_CHECK(d->pass <= VNRX_PASS_NOT);
	if (d->reach == VNRX_REACH_NOTHING) {
		FUZZ_CHECK(d->pass != VNRX_PASS_NOT);
		return;
	}
	if (d->outer.version != 0) {
		check_ip(&d->outer, f, VNRX_ETH_HDR);
		FUZZ_CHECK(d->outer.l4 != 0 && d->outer.l4 <= d->ip.l3);
	}
	check_ip(&d->ip, f, VNRX_ETH_HDR);
	if (d->reach < VNRX_REACH_PORTS) {
		FUZZ_CHECK(d->pass != VNRX_PASS_NOT);
		return;
	}
	FUZZ_CHECK(d->proto == VNRX_PROTO_TCP || d->proto == VNRX_PROTO_UDP);
	FUZZ_CHECK(d->l4 >= d->ip.l3 + hdr_min(&d->ip) && d->l4 + 4u <= f->avail);
	if (d->pass != VNRX_PASS_NOT)
		return;
	FUZZ_CHECK(d->l4 + (d->proto == VNRX_PROTO_TCP ? VNRX_TCP_HDR : VNRX_UDP_HDR) <= d->payload);
	FUZZ_CHECK(d->payload <= f->avail && d->payload <= d->ip.end && d->ip.end <= f->len);
	FUZZ_CHECK(d->outer.version == 0 || d->outer.end == d->ip.end);
	FUZZ_CHECK(d->payload <= VNRX_HDR_MAX);
}

/* Bytes behind the headers decide nothing. */
static void check_headers_suffice(const struct vnrx_dissect *d, const struct vnrx_frame *f)
{
	struct vnrx_dissect again;
	uint8_t *exact = malloc(d->payload);
	struct vnrx_frame cut = { exact, d->payload, f->len };

	FUZZ_CHECK(exact != NULL);
	memcpy(exact, f->hdr, d->payload);
	vnrx_dissect(&cut, &tunnels, &again);
	FUZZ_CHECK(again.pass == d->pass && again.reach == d->reach && again.ip.l3 == d->ip.l3 && again.l4 == d->l4);
	FUZZ_CHECK(again.payload == d->payload && again.ip.end == d->ip.end && again.proto == d->proto);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vnrx_dissect d;
	struct vnrx_frame f;
	uint8_t *hdr;

	if (size < 2)
		return 0;
	f.avail = (uint32_t)(size - 2);
	f.len = f.avail + data[0] + 256u * data[1];
	hdr = malloc(f.avail + (f.avail == 0)); /* of just this size: what lies behind is not to be read */
	FUZZ_CHECK(hdr != NULL);
	memcpy(hdr, data + 2, f.avail);
	f.hdr = hdr;
	memset(&d, 0xa5, sizeof(d));
	vnrx_dissect(&f, &tunnels, &d);
	check(&d, &f);
	if (d.pass == VNRX_PASS_NOT)
		check_headers_suffice(&d, &f);
	free(hdr);
	return 0;
}
