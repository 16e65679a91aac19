/* SPDX-License-Identifier: BSD-3-Clause */
/* What vnetrx_virtio_net_encode() says of merged and other packets, and what it refuses to say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/frames.h"
#include "support/known.h"
#include "support/stream.h"
#include "support/view.h"
#include "vnetrx.h"

#define ALL (VNETRX_VIRTIO_CSUM | VNETRX_VIRTIO_TSO4 | VNETRX_VIRTIO_TSO6 | VNETRX_VIRTIO_ECN | VNETRX_VIRTIO_USO4 | \
             VNETRX_VIRTIO_USO6 | VNETRX_VIRTIO_TUNNEL | VNETRX_VIRTIO_HASH_REPORT)
#define READ (VNETRX_VIRTIO_MRG_RXBUF | VNETRX_VIRTIO_TUNNEL | VNETRX_VIRTIO_HASH_REPORT | VNETRX_VIRTIO_RSC_EXT)

#define PKTS_MAX 256u

/* What is around a frame. */
enum encap {
	ENCAP_NONE,
	ENCAP_VXLAN4,      /* VXLAN over IPv4, without a UDP checksum */
	ENCAP_VXLAN6,      /* over IPv6                               */
	ENCAP_VXLAN4_CSUM, /* with a UDP checksum                     */
	ENCAP_GRE,
	ENCAP_IPIP,
	ENCAP_PPPOE,
	ENCAP_NUM
};

/* An engine, and all packets that were put into it. */
struct rig {
	struct vnetrx_gro  *gro;
	void               *mem;
	struct vnetrx_pktq  out;
	struct vnetrx_pkt  *pkts[PKTS_MAX];
	uint8_t            *data[PKTS_MAX];
	unsigned            npkts;
};

static struct rig *rig_new(struct vnetrx_gro_config cfg)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	size_t size;

	assert_non_null(rig);
	cfg.hash_key[0] = 1;
	if (cfg.protos == 0u)
		cfg.protos = GRO_KNOWN;
	size = vnetrx_gro_footprint(&cfg, NULL);
	assert_true(size != 0u);
	rig->mem = aligned_alloc(64, (size + 63u) / 64u * 64u);
	assert_non_null(rig->mem);
	assert_int_equal(vnetrx_gro_init(&rig->gro, &cfg, rig->mem, size), VNETRX_OK);
	return rig;
}

static void rig_free(struct rig *rig)
{
	for (unsigned i = 0; i < rig->npkts; i++) {
		free(rig->pkts[i]);
		free(rig->data[i]);
	}
	free(rig->mem);
	free(rig);
}

static struct vnetrx_pkt *rig_pkt(struct rig *rig, const struct frame *f, enum encap how, uint16_t outer_id)
{
	static const unsigned kinds[ENCAP_NUM] = {
		[ENCAP_VXLAN4] = FR_VXLAN, [ENCAP_VXLAN6] = FR_VXLAN, [ENCAP_VXLAN4_CSUM] = FR_VXLAN,
		[ENCAP_GRE] = FR_GRE, [ENCAP_IPIP] = FR_IPIP,
	};
	struct vnetrx_pkt *pkt = calloc(1, sizeof(*pkt));
	uint8_t *data = malloc(FRAME_MAX);
	struct frame whole = *f;
	struct frame_tunnel t;
	size_t len;

	assert_non_null(pkt);
	assert_non_null(data);
	assert_true(rig->npkts < PKTS_MAX);
	frame_tunnel_init(&t, kinds[how], how == ENCAP_VXLAN6);
	t.outer.id = outer_id;
	t.outer.no_csum = how != ENCAP_VXLAN4_CSUM;
	whole.pppoe = how == ENCAP_PPPOE;
	whole.tunnel = how != ENCAP_NONE && how != ENCAP_PPPOE ? &t : NULL;
	len = frame_build(&whole, data);
	vnetrx_pkt_wrap(pkt, data, (uint32_t)len, VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER);
	rig->pkts[rig->npkts] = pkt;
	rig->data[rig->npkts++] = data;
	return pkt;
}

/* n segments of flow f, one behind the other, ids rising; what they became. */
static struct vnetrx_pkt *train(struct rig *rig, struct frame *f, enum encap how, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct vnetrx_pkt *pkt = rig_pkt(rig, f, how, (uint16_t)(500u + i));

		vnetrx_gro_receive(rig->gro, &pkt, 1, 0, &rig->out);
		f->seq += f->payload_len;
		f->id++;
	}
	vnetrx_gro_flush(rig->gro, &rig->out);
	return vnetrx_pktq_take(&rig->out);
}

static struct vnetrx_gro_config profile(void)
{
	return (struct vnetrx_gro_config){ .flags = VNETRX_GRO_PROFILE_VIRTIO };
}

static unsigned le16(const uint8_t *p)
{
	return p[0] + p[1] * 256u;
}

static size_t flatten(const struct vnetrx_pkt *pkt, uint8_t *bytes)
{
	return vnetrx_pkt_copy(pkt, 0, bytes, pkt->len);
}

/* The header of a merged packet says what its bytes say, and the decoder reads it back. */
static void check_merged(const struct vnetrx_pkt *pkt, const uint8_t *hdr, size_t hdr_len)
{
	uint8_t *bytes = malloc(pkt->len);
	struct vnetrx_meta meta = { .skip = 0 };
	struct view v;

	assert_non_null(bytes);
	view_frame(&v, bytes, flatten(pkt, bytes));
	assert_true(v.tcp || v.udp);
	assert_int_equal(vnetrx_virtio_net_decode(hdr, (uint32_t)hdr_len, (uint32_t)hdr_len, READ, &meta), VNETRX_OK);
	assert_int_equal(meta.nbufs, 1);
	assert_int_equal(meta.gso_size, pkt->gso_size);
	assert_true((meta.flags & VNETRX_PKT_PARTIAL) != 0u);
	assert_int_equal(meta.csum_start, v.l4);
	assert_int_equal(meta.csum_offset, v.tcp ? 16 : 6);
	assert_int_equal(meta.gso_type & 0x1fu, v.udp ? VNETRX_GSO_UDP_L4 : v.v6 ? VNETRX_GSO_TCPV6 : VNETRX_GSO_TCPV4);
	assert_int_equal(le16(hdr + 2), v.payload);
	if (v.tunnel) {
		assert_true(v.udp_tunnel);
		assert_int_equal(meta.gso_type & 0x60u, v.outer.v6 ? VNETRX_GSO_TUNNEL_IPV6 : VNETRX_GSO_TUNNEL_IPV4);
		assert_int_equal(le16(hdr + 20), v.outer.l4);
		assert_int_equal(le16(hdr + 22), v.l3);
	} else {
		assert_int_equal(meta.gso_type & 0x60u, 0);
	}
	free(bytes);
}

static void said(const struct vnetrx_pkt *pkt, uint32_t features, size_t hdr_len)
{
	uint8_t hdr[32];

	memset(hdr, 0xa5, sizeof(hdr));
	assert_int_equal(vnetrx_virtio_net_encode(pkt, features, hdr, hdr_len), VNETRX_OK);
	check_merged(pkt, hdr, hdr_len);
	for (size_t i = hdr_len; i < sizeof(hdr); i++)
		assert_int_equal(hdr[i], 0xa5);
}

static void refused(const struct vnetrx_pkt *pkt, uint32_t features, size_t hdr_len)
{
	uint8_t hdr[64];

	memset(hdr, 0xa5, sizeof(hdr));
	assert_int_equal(vnetrx_virtio_net_encode(pkt, features, hdr, hdr_len), VNETRX_ERR_CANNOT);
	for (size_t i = 0; i < sizeof(hdr); i++)
		assert_int_equal(hdr[i], 0xa5);
}

static void init(struct frame *f, unsigned kind)
{
	if (kind % 2u != 0u)
		frame_init6(f, 0);
	else
		frame_init(f, 0);
	if (kind >= 2u)
		f->proto = FR_UDP;
}

static void merged_packets_come_back_as_they_are(void **state)
{
	static const size_t lens[] = { 10, 12, 20, 24, 32 };

	(void)state;
	for (unsigned kind = 0; kind < KNOWN_KINDS; kind++) {
		struct rig *rig = rig_new(profile());
		struct vnetrx_pkt *pkt;
		struct frame f;

		init(&f, kind);
		pkt = train(rig, &f, ENCAP_NONE, 5);
		assert_int_equal(pkt->segs, 5);
		for (unsigned i = 0; i < 5u; i++)
			said(pkt, ALL, lens[i]);
		rig_free(rig);
	}
}

static void tags_and_extension_headers_move_all_offsets(void **state)
{
	struct rig *rig = rig_new(profile());
	struct frame f;

	(void)state;
	frame_init6(&f, 0);
	f.vlans = 2;
	f.vlan_proto[0] = 0x88a8;
	f.vlan_proto[1] = 0x8100;
	f.exts = 1;
	f.ext[0] = (struct frame_ext){ .type = 60, .len8 = 1, .fill = 0 };
	said(train(rig, &f, ENCAP_NONE, 3), ALL, 12);
	rig_free(rig);
}

static void udp_tunnels_are_said_in_24_bytes_where_negotiated(void **state)
{
	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	for (unsigned kind = 0; kind < KNOWN_KINDS; kind++) {
		for (unsigned how = ENCAP_VXLAN4; how <= ENCAP_VXLAN6; how++) {
			struct rig *rig = rig_new(profile());
			struct vnetrx_pkt *pkt;
			struct frame f;

			init(&f, kind);
			pkt = train(rig, &f, how, 4);
			assert_int_equal(pkt->segs, 4);
			said(pkt, ALL, 24);
			said(pkt, ALL, 32);
			refused(pkt, ALL, 20);
			refused(pkt, ALL, 12);
			refused(pkt, ALL & ~VNETRX_VIRTIO_TUNNEL, 24);
			rig_free(rig);
		}
	}
}

static void what_is_not_accepted_is_refused(void **state)
{
	static const uint32_t needs[] = {
		VNETRX_VIRTIO_TSO4, VNETRX_VIRTIO_TSO6, VNETRX_VIRTIO_USO4, VNETRX_VIRTIO_USO6,
	};

	(void)state;
	for (unsigned kind = 0; kind < KNOWN_KINDS; kind++) {
		struct rig *rig = rig_new(profile());
		struct vnetrx_pkt *pkt;
		struct frame f;

		init(&f, kind);
		pkt = train(rig, &f, ENCAP_NONE, 2);
		said(pkt, needs[kind] | VNETRX_VIRTIO_CSUM, 12);
		refused(pkt, needs[kind], 12);
		refused(pkt, ALL & ~needs[kind], 12);
		rig_free(rig);
	}
}

static void headers_of_no_known_length_are_refused(void **state)
{
	struct rig *rig = rig_new(profile());
	struct vnetrx_pkt *pkt;
	struct frame f;

	(void)state;
	init(&f, 0);
	pkt = train(rig, &f, ENCAP_NONE, 2);
	for (size_t len = 0; len <= 64u; len++) {
		if (len != 10u && len != 12u && len != 20u && len != 24u && len != 32u)
			refused(pkt, ALL, len);
	}
	rig_free(rig);
}

/* Without the profile the engine merges more than the header can say. */
static void merges_that_a_cut_would_not_undo_are_refused(void **state)
{
	(void)state;
	for (unsigned why = 0; why < 2u; why++) {
		struct rig *rig = rig_new((struct vnetrx_gro_config){ .flags = 0 });
		struct frame f;

		frame_init(&f, 0);
		if (why == 0u)
			f.flags |= FR_CWR;
		for (unsigned i = 0; i < 3u; i++) {
			struct vnetrx_pkt *pkt = rig_pkt(rig, &f, ENCAP_NONE, 0);

			vnetrx_gro_receive(rig->gro, &pkt, 1, 0, &rig->out);
			f.seq += f.payload_len;
			f.id = (uint16_t)(f.id + (why == 0u ? 1u : 0u)); /* else fixed */
		}
		vnetrx_gro_flush(rig->gro, &rig->out);
		assert_int_equal(rig->out.count, 1);
		refused(vnetrx_pktq_take(&rig->out), ALL, 24);
		rig_free(rig);
	}
}

static void fixed_ids_around_a_tunnel_are_refused(void **state)
{
	struct rig *rig;
	struct frame f;

	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	rig = rig_new((struct vnetrx_gro_config){ .flags = 0 });
	frame_init6(&f, 0);
	for (unsigned i = 0; i < 3u; i++) {
		struct vnetrx_pkt *pkt = rig_pkt(rig, &f, ENCAP_VXLAN4, 500);

		vnetrx_gro_receive(rig->gro, &pkt, 1, 0, &rig->out);
		f.seq += f.payload_len;
	}
	vnetrx_gro_flush(rig->gro, &rig->out);
	assert_int_equal(rig->out.count, 1);
	refused(vnetrx_pktq_take(&rig->out), ALL, 24);
	rig_free(rig);
}

static void other_tunnels_and_pppoe_are_refused(void **state)
{
	static const enum encap hows[] = { ENCAP_VXLAN4_CSUM, ENCAP_GRE, ENCAP_IPIP, ENCAP_PPPOE };

	(void)state;
	NEEDS(VNETRX_GRO_TUNNEL);
	for (unsigned i = 0; i < 4u; i++) {
		struct rig *rig = rig_new((struct vnetrx_gro_config){ .flags = 0 });
		struct vnetrx_pkt *pkt;
		struct frame f;

		frame_init(&f, 0);
		pkt = train(rig, &f, hows[i], 3);
		assert_int_equal(pkt->segs, 3);
		refused(pkt, ALL, 24);
		rig_free(rig);
	}
}

static void more_than_64_kib_are_refused(void **state)
{
	struct rig *rig = rig_new((struct vnetrx_gro_config){ .bytes_max = 200000, .segs_max = 200 });
	struct vnetrx_pkt *pkt;
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 1448;
	pkt = train(rig, &f, ENCAP_NONE, 60);
	assert_int_equal(pkt->segs, 60);
	refused(pkt, ALL, 12);
	rig_free(rig);
}

static void complete_checksums_of_merged_packets_are_refused(void **state)
{
	struct rig *rig = rig_new((struct vnetrx_gro_config){ .flags = VNETRX_GRO_CSUM_BYTES });
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	refused(train(rig, &f, ENCAP_NONE, 3), ALL, 12);
	rig_free(rig);
}

static void profile_and_complete_checksums_contradict(void **state)
{
	struct vnetrx_gro_config cfg = profile();
	const char *why = NULL;

	(void)state;
	cfg.hash_key[0] = 1;
	cfg.flags |= VNETRX_GRO_CSUM_BYTES;
	assert_int_equal(vnetrx_gro_footprint(&cfg, &why), 0);
	assert_non_null(why);
}

static void single_packets_say_what_is_known_of_their_checksum(void **state)
{
	struct rig *rig = rig_new(profile());
	struct vnetrx_meta meta = { .skip = 0 };
	struct vnetrx_pkt *pkt;
	uint8_t hdr[12];
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	pkt = train(rig, &f, ENCAP_NONE, 1);
	assert_int_equal(vnetrx_virtio_net_encode(pkt, ALL, hdr, 12), VNETRX_OK);
	assert_memory_equal(hdr, ((const uint8_t[12]){ 2, [10] = 1 }), 12);
	assert_int_equal(vnetrx_virtio_net_encode(pkt, 0, hdr, 12), VNETRX_OK);
	assert_memory_equal(hdr, ((const uint8_t[12]){ [10] = 1 }), 12);
	pkt->flags = VNETRX_PKT_PARTIAL;
	pkt->csum_start = 34;
	pkt->csum_offset = 16;
	assert_int_equal(vnetrx_virtio_net_encode(pkt, VNETRX_VIRTIO_CSUM, hdr, 12), VNETRX_OK);
	assert_int_equal(vnetrx_virtio_net_decode(hdr, 12, 12, READ, &meta), VNETRX_OK);
	assert_int_equal(meta.flags, VNETRX_PKT_PARTIAL);
	assert_int_equal(meta.csum_start, 34);
	assert_int_equal(meta.csum_offset, 16);
	refused(pkt, 0, 12);
	pkt->csum_start = (uint16_t)(pkt->len - 17u);
	refused(pkt, ALL, 12);
	pkt->csum_start = 33;
	refused(pkt, ALL, 12);
	rig_free(rig);
}

static void hash_is_reported_where_there_is_room(void **state)
{
	struct rig *rig = rig_new(profile());
	struct vnetrx_meta meta = { .skip = 0 };
	struct vnetrx_pkt *pkt;
	uint8_t hdr[20];
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	pkt = train(rig, &f, ENCAP_NONE, 1);
	pkt->flags |= VNETRX_PKT_HASH;
	pkt->hash = 0x12345678;
	pkt->hash_type = 2;
	assert_int_equal(vnetrx_virtio_net_encode(pkt, ALL, hdr, 20), VNETRX_OK);
	assert_int_equal(vnetrx_virtio_net_decode(hdr, 20, 20, READ, &meta), VNETRX_OK);
	assert_int_equal(meta.hash, 0x12345678);
	assert_int_equal(meta.hash_type, 2);
	assert_int_equal(vnetrx_virtio_net_encode(pkt, ALL & ~VNETRX_VIRTIO_HASH_REPORT, hdr, 20), VNETRX_OK);
	assert_int_equal(le16(hdr + 16), 0);
	rig_free(rig);
}

static void what_lies_beside_the_frame_is_refused(void **state)
{
	struct rig *rig = rig_new(profile());
	struct vnetrx_pkt *pkt;
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	pkt = train(rig, &f, ENCAP_NONE, 1);
	pkt->flags = VNETRX_PKT_VLAN;
	refused(pkt, ALL, 12);
	pkt->flags = VNETRX_PKT_RSC;
	refused(pkt, ALL, 12);
	rig_free(rig);
}

/* A packet that the device merged and nobody cut goes on as it came. */
static void device_merged_packets_come_back_as_they_came(void **state)
{
	struct rig *rig = rig_new(profile());
	struct vnetrx_meta meta = { .skip = 0 };
	struct vnetrx_pkt *pkt;
	uint8_t hdr[12];
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 1000;
	f.opts_len = 12;
	memset(f.opts, 1, 12);
	pkt = rig_pkt(rig, &f, ENCAP_NONE, 0);
	pkt->flags = VNETRX_PKT_PARTIAL;
	pkt->csum_start = 34;
	pkt->csum_offset = 16;
	pkt->gso_size = 300;
	pkt->gso_type = VNETRX_GSO_TCPV4 | VNETRX_GSO_ECN;
	assert_int_equal(vnetrx_virtio_net_encode(pkt, ALL, hdr, 12), VNETRX_OK);
	assert_int_equal(le16(hdr + 2), 66);
	assert_int_equal(vnetrx_virtio_net_decode(hdr, 12, 12, READ, &meta), VNETRX_OK);
	assert_int_equal(meta.gso_type, VNETRX_GSO_TCPV4 | VNETRX_GSO_ECN);
	assert_int_equal(meta.gso_size, 300);
	refused(pkt, ALL & ~VNETRX_VIRTIO_ECN, 12);
	pkt->gso_type = VNETRX_GSO_UDP_L4;
	refused(pkt, ALL, 12); /* csum_offset */
	pkt->csum_offset = 6;
	assert_int_equal(vnetrx_virtio_net_encode(pkt, ALL, hdr, 12), VNETRX_OK);
	pkt->gso_size = 5;
	refused(pkt, ALL, 12); /* more than 128 datagrams */
	pkt->gso_size = 0xffff;
	refused(pkt, ALL, 12);
	pkt->gso_size = 300;
	pkt->gso_type = VNETRX_GSO_UDP;
	refused(pkt, ALL, 12);
	pkt->gso_type = VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4;
	pkt->csum_offset = 16;
	refused(pkt, ALL, 24); /* where its headers lie is not known */
	pkt->gso_type = VNETRX_GSO_TCPV4;
	pkt->flags = VNETRX_PKT_CSUM_OK;
	refused(pkt, ALL, 12);
	rig_free(rig);
}

/* ---- the profile ---- */

/* One field after the other of what a flow may do. */
static void vary(struct rng *rng, struct frame *f)
{
	switch (rng_below(rng, 8)) {
	case 0: f->flags ^= FR_CWR; break;
	case 1: f->flags ^= FR_ECE; break;
	case 2: f->id = (uint16_t)(f->id - 1u); break;
	case 3: f->payload_len = 1u + rng_below(rng, 1400); break;
	case 4: f->df = !f->df; break;
	case 5: f->ttl++; break;
	case 6: f->proto = f->proto == FR_UDP ? FR_TCP : FR_UDP; break;
	default: f->flags ^= FR_PSH; break;
	}
}

/* A stream of one flow in one wrapping; counts what was merged, all of which must be said. */
static unsigned stream(struct rng *rng, struct frame *f, enum encap how, struct vnetrx_gro_config cfg)
{
	bool fixed = rng_once_in(rng, 4), outer_fixed = rng_once_in(rng, 4), stripped = rng_once_in(rng, 8);
	bool no_csum = rng_once_in(rng, 4);
	struct rig *rig = rig_new(cfg);
	struct vnetrx_pkt *pkt;
	unsigned merged = 0;

	for (unsigned i = 0; i < 100u; i++) {
		pkt = rig_pkt(rig, f, how, (uint16_t)(outer_fixed ? 7u : i));
		if (no_csum && f->proto == FR_UDP && how == ENCAP_NONE)
			memset(pkt->data + (f->v6 ? 60 : 40), 0, 2);
		if (stripped)
			pkt->flags |= VNETRX_PKT_VLAN;
		vnetrx_gro_receive(rig->gro, &pkt, 1, 0, &rig->out);
		f->seq += f->payload_len;
		f->id = (uint16_t)(f->id + (fixed ? 0u : 1u));
		if (rng_once_in(rng, 12))
			vary(rng, f);
	}
	vnetrx_gro_flush(rig->gro, &rig->out);
	while ((pkt = vnetrx_pktq_take(&rig->out)) != NULL) {
		if ((pkt->flags & VNETRX_PKT_MERGED) != 0u) {
			merged++;
			said(pkt, ALL, 24);
		}
	}
	rig_free(rig);
	return merged;
}

static void whatever_the_profile_merges_can_be_said(void **state)
{
	static const uint32_t flags[] = { 0, VNETRX_GRO_RFC6864, VNETRX_GRO_UDP_ZERO, VNETRX_GRO_ADAPTIVE };
	bool tunnels = (GRO_KNOWN & VNETRX_GRO_TUNNEL) != 0u;
	struct rng rng = { .state = stream_seed() | 1u };
	unsigned merged[ENCAP_NUM] = { 0 };

	(void)state;
	for (unsigned i = 0; i < stream_count(300); i++) {
		enum encap how = i % ENCAP_NUM;
		struct vnetrx_gro_config cfg = {
			.flags = VNETRX_GRO_PROFILE_VIRTIO | flags[rng_below(&rng, 4)],
			.bytes_max = rng_once_in(&rng, 2) ? 0u : 524280u,
			.segs_max = rng_once_in(&rng, 2) ? 0u : 1000u,
		};
		struct frame f;

		init(&f, rng_below(&rng, 4));
		f.payload_len = 1u + rng_below(&rng, 1400);
		merged[how] += stream(&rng, &f, how, cfg);
	}
	if (stream_count(300) >= 300u) { /* of a few, all may be too short */
		assert_true(merged[ENCAP_NONE] > 0u);
		assert_int_equal(merged[ENCAP_VXLAN4] > 0u, tunnels);
		assert_int_equal(merged[ENCAP_VXLAN6] > 0u, tunnels);
	}
	for (unsigned how = ENCAP_VXLAN4_CSUM; how < ENCAP_NUM; how++)
		assert_int_equal(merged[how], 0);
}

static void profile_leaves_tunnels_alone_unless_asked(void **state)
{
	struct vnetrx_gro_config cfg = profile();
	struct rig *rig;
	struct frame f;

	(void)state;
	cfg.protos = VNETRX_GRO_TCP; /* rig_new() asks for all otherwise */
	rig = rig_new(cfg);
	frame_init(&f, 0);
	assert_int_equal(train(rig, &f, ENCAP_VXLAN4, 3)->flags & VNETRX_PKT_MERGED, 0);
	rig_free(rig);
}

/* What a device said and nobody checked: the header must not promise what is not in the packet. */
static void device_merged_packets_that_end_within_their_headers_are_refused(void **state)
{
	uint8_t bytes[100] = { 0 };
	struct vnetrx_pkt pkt;
	uint8_t hdr[12];

	(void)state;
	vnetrx_pkt_wrap(&pkt, bytes, sizeof(bytes), VNETRX_PKT_PARTIAL);
	pkt.gso_type = VNETRX_GSO_TCPV4;
	pkt.gso_size = 10;
	pkt.csum_start = 34;
	pkt.csum_offset = 16;
	bytes[34 + 12] = 0x50;
	assert_int_equal(vnetrx_virtio_net_encode(&pkt, ALL, hdr, 12), VNETRX_OK);
	assert_int_equal(le16(hdr + 2), 54);
	bytes[34 + 12] = 0x40; /* a data offset below the fixed header */
	refused(&pkt, ALL, 12);
	bytes[34 + 12] = 0xf0;
	pkt.len = pkt.frag_len = 94; /* headers and nothing else */
	refused(&pkt, ALL, 12);
	pkt.len = 54;
	pkt.frag_len = 47; /* the fragment is shorter than the packet says: no data offset in it */
	refused(&pkt, ALL, 12);
}

static void segmentation_without_a_place_for_its_headers_is_refused(void **state)
{
	uint8_t bytes[200] = { 0 };
	struct vnetrx_pkt pkt;

	(void)state;
	vnetrx_pkt_wrap(&pkt, bytes, sizeof(bytes), VNETRX_PKT_PARTIAL);
	bytes[53 + 12] = 0x50;
	pkt.gso_size = 10;
	pkt.csum_start = 53; /* an IPv6 header ends one byte behind */
	pkt.csum_offset = 16;
	pkt.gso_type = VNETRX_GSO_TCPV6;
	refused(&pkt, ALL, 12);
	pkt.gso_type = VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4; /* where its layers lie is not known */
	refused(&pkt, ALL, 24);
	pkt.gso_type = VNETRX_GSO_TCPV4;
	pkt.len = 65536u + 100u; /* more than tags and an IP packet */
	refused(&pkt, ALL, 12);
	pkt.len = sizeof(bytes);
	pkt.flags |= VNETRX_PKT_MERGED;
	pkt.l3_off = 13;
	refused(&pkt, ALL, 12);
	pkt.l3_off = 40; /* no EtherType of IP before it */
	refused(&pkt, ALL, 12);
	pkt.l3_off = 202; /* past the end */
	refused(&pkt, ALL, 12);
	pkt.flags |= VNETRX_PKT_TUNNEL;
	bytes[12] = 8;
	pkt.outer_l3_off = 14;
	pkt.outer_l4_off = 195; /* its checksum lies past the end */
	refused(&pkt, ALL, 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_packets_come_back_as_they_are),
		cmocka_unit_test(tags_and_extension_headers_move_all_offsets),
		cmocka_unit_test(udp_tunnels_are_said_in_24_bytes_where_negotiated),
		cmocka_unit_test(what_is_not_accepted_is_refused),
		cmocka_unit_test(headers_of_no_known_length_are_refused),
		cmocka_unit_test(merges_that_a_cut_would_not_undo_are_refused),
		cmocka_unit_test(fixed_ids_around_a_tunnel_are_refused),
		cmocka_unit_test(other_tunnels_and_pppoe_are_refused),
		cmocka_unit_test(more_than_64_kib_are_refused),
		cmocka_unit_test(complete_checksums_of_merged_packets_are_refused),
		cmocka_unit_test(profile_and_complete_checksums_contradict),
		cmocka_unit_test(single_packets_say_what_is_known_of_their_checksum),
		cmocka_unit_test(hash_is_reported_where_there_is_room),
		cmocka_unit_test(what_lies_beside_the_frame_is_refused),
		cmocka_unit_test(device_merged_packets_come_back_as_they_came),
		cmocka_unit_test(whatever_the_profile_merges_can_be_said),
		cmocka_unit_test(profile_leaves_tunnels_alone_unless_asked),
		cmocka_unit_test(device_merged_packets_that_end_within_their_headers_are_refused),
		cmocka_unit_test(segmentation_without_a_place_for_its_headers_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
