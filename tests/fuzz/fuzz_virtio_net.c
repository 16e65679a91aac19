/* SPDX-License-Identifier: BSD-3-Clause */
/* Input: header length, features, bytes. What the decoder lets through must make sense; what it refuses must still be
 * drainable. */
#include <string.h>

#include "fuzz.h"
#include "vnetrx/virtio_net.h"

#define FIRST_GROUP \
	(VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER | VNETRX_PKT_PARTIAL | VNETRX_PKT_HASH | VNETRX_PKT_RSC)

static void check_gso(const struct vnetrx_meta *m, uint32_t features)
{
	unsigned base = m->gso_type & ~(unsigned)(VNETRX_GSO_ECN | VNETRX_GSO_TUNNEL_IPV4 | VNETRX_GSO_TUNNEL_IPV6);

	if (m->gso_type == VNETRX_GSO_NONE) {
		FUZZ_CHECK(m->gso_size == 0 && m->segs == 0);
		return;
	}
	FUZZ_CHECK(base == VNETRX_GSO_TCPV4 || base == VNETRX_GSO_UDP || base == VNETRX_GSO_TCPV6 ||
	           base == VNETRX_GSO_UDP_L4);
	FUZZ_CHECK(m->gso_size != 0 || (m->flags & VNETRX_PKT_RSC) != 0);
	if (base != m->gso_type && (m->gso_type & VNETRX_GSO_ECN) == 0)
		FUZZ_CHECK((features & VNETRX_VIRTIO_TUNNEL) != 0);
}

static void check_meta(const struct vnetrx_meta *m, uint32_t hdr_len, uint32_t features)
{
	FUZZ_CHECK((m->flags & ~FIRST_GROUP) == 0);
	FUZZ_CHECK(m->skip == hdr_len);
	FUZZ_CHECK(m->nbufs != 0);
	FUZZ_CHECK((features & VNETRX_VIRTIO_MRG_RXBUF) != 0 || m->nbufs == 1);
	FUZZ_CHECK((m->flags & VNETRX_PKT_PARTIAL) == 0 || (m->flags & VNETRX_PKT_CSUM_OK) == 0);
	FUZZ_CHECK((m->flags & VNETRX_PKT_PARTIAL) == 0 || m->csum_start >= 14);
	FUZZ_CHECK((m->flags & VNETRX_PKT_HASH) == 0 || (features & VNETRX_VIRTIO_HASH_REPORT) != 0);
	FUZZ_CHECK((m->flags & VNETRX_PKT_RSC) == 0 || (features & VNETRX_VIRTIO_RSC_EXT) != 0);
	FUZZ_CHECK(m->rsvd == 0 && m->vlan_tci == 0 && m->vlan_proto == 0 && m->mark == 0 && m->tstamp == 0);
	check_gso(m, features);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t hdr_lens[] = { 10, 12, 20, 24, 32 };
	struct vnetrx_meta first, again;
	uint32_t hdr_len, features, len;
	uint8_t *hdr;
	int err;

	if (size < 2)
		return 0;
	hdr_len = hdr_lens[data[0] % sizeof(hdr_lens)];
	features = data[1] % 32u;
	len = size - 2 < hdr_len ? (uint32_t)(size - 2) : hdr_len;
	hdr = malloc(len + (len == 0)); /* of just this size: what lies behind is not to be read */
	FUZZ_CHECK(hdr != NULL);
	memcpy(hdr, data + 2, len);
	memset(&first, 0, sizeof(first));
	memset(&again, 0, sizeof(again));
	first.skip = again.skip = (uint16_t)hdr_len;
	err = vnetrx_virtio_net_decode(hdr, len, hdr_len, features, &first);
	FUZZ_CHECK(err == VNETRX_OK || err == VNETRX_ERR_BAD);
	FUZZ_CHECK(vnetrx_virtio_net_decode(hdr, len, hdr_len, features, &again) == err);
	FUZZ_CHECK(memcmp(&first, &again, sizeof(first)) == 0);
	FUZZ_CHECK(err != VNETRX_OK || len == hdr_len);
	if (err == VNETRX_OK)
		check_meta(&first, hdr_len, features);
	free(hdr);
	return 0;
}
