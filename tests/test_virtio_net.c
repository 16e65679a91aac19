/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vnetrx/virtio_net.h"

#define NEEDS_CSUM  1u
#define DATA_VALID  2u
#define RSC_INFO    4u
#define TUNNEL_CSUM 8u

#define MRG VNETRX_VIRTIO_MRG_RXBUF
#define ALL (MRG | VNETRX_VIRTIO_HASH_REPORT | VNETRX_VIRTIO_RSC_EXT | VNETRX_VIRTIO_TUNNEL)

/* One header, by field. */
struct hdr {
	unsigned flags, gso_type, gso_size, csum_start, csum_offset, nbufs;
	unsigned hash_lo, hash_hi, hash_type, outer_th, inner_nh;
};

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

/* Decodes h from memory that ends where the header ends, at an odd address. */
static int decode(struct hdr h, uint32_t hdr_len, uint32_t features, struct vnetrx_meta *meta)
{
	uint8_t whole[33] = { 0 }, *at, *mem = malloc(hdr_len + 1u);
	int     ret;

	assert_non_null(mem);
	whole[0] = (uint8_t)h.flags;
	whole[1] = (uint8_t)h.gso_type;
	put16(whole + 2, 54); /* hdr_len: a hint that nobody may follow */
	put16(whole + 4, h.gso_size);
	put16(whole + 6, h.csum_start);
	put16(whole + 8, h.csum_offset);
	put16(whole + 10, h.nbufs);
	put16(whole + 12, h.hash_lo);
	put16(whole + 14, h.hash_hi);
	put16(whole + 16, h.hash_type);
	put16(whole + 20, h.outer_th);
	put16(whole + 22, h.inner_nh);
	at = mem + 1;
	memcpy(at, whole, hdr_len);
	memset(meta, 0, sizeof(*meta));
	ret = vnetrx_virtio_net_decode(at, hdr_len, hdr_len, features, meta);
	free(mem);
	return ret;
}

static struct vnetrx_meta good(struct hdr h, uint32_t hdr_len, uint32_t features)
{
	struct vnetrx_meta meta;

	assert_int_equal(decode(h, hdr_len, features, &meta), VNETRX_OK);
	return meta;
}

static void bad(struct hdr h, uint32_t hdr_len, uint32_t features)
{
	struct vnetrx_meta meta;

	assert_int_equal(decode(h, hdr_len, features, &meta), VNETRX_ERR_BAD);
}

#define H(...) ((struct hdr){ __VA_ARGS__, .nbufs = 1 })

static void a_header_of_zeros_says_nothing(void **state)
{
	static const uint32_t lens[] = { 10, 12, 20, 24, 32 };
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct vnetrx_meta meta = good((struct hdr){ 0 }, lens[i], 0);
		struct vnetrx_meta nothing = { .skip = (uint16_t)lens[i], .nbufs = 1 };

		assert_memory_equal(&meta, &nothing, sizeof(meta));
	}
}

static void num_buffers_counts_with_mergeable_buffers_only(void **state)
{
	(void)state;
	assert_int_equal(good((struct hdr){ .nbufs = 3 }, 12, MRG).nbufs, 3);
	assert_int_equal(good((struct hdr){ .nbufs = 0xabcd }, 12, MRG).nbufs, 0xabcd);
	assert_int_equal(good((struct hdr){ .nbufs = 0xabcd }, 12, 0).nbufs, 1);
	assert_int_equal(good((struct hdr){ .nbufs = 0 }, 12, 0).nbufs, 1);
	assert_int_equal(good((struct hdr){ .nbufs = 0xabcd }, 10, MRG).nbufs, 1);
}

static void num_buffers_of_zero_is_an_error_but_for_a_tap(void **state)
{
	(void)state;
	bad((struct hdr){ .nbufs = 0 }, 12, MRG);
	assert_int_equal(good((struct hdr){ .nbufs = 0 }, 12, MRG | VNETRX_VIRTIO_TAP).nbufs, 1);
}

static void a_refused_header_still_says_how_many_buffers_to_drain(void **state)
{
	struct vnetrx_meta meta;

	(void)state;
	assert_int_equal(decode((struct hdr){ .gso_type = 2, .nbufs = 5 }, 12, MRG, &meta), VNETRX_ERR_BAD);
	assert_int_equal(meta.nbufs, 5);
	assert_int_equal(decode((struct hdr){ .gso_type = 2, .nbufs = 0 }, 12, MRG, &meta), VNETRX_ERR_BAD);
	assert_int_equal(meta.nbufs, 1);
}

static void a_header_that_is_cut_short_is_refused(void **state)
{
	struct vnetrx_meta meta = { 0 };
	uint8_t hdr[24] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0 };

	(void)state;
	assert_int_equal(vnetrx_virtio_net_decode(hdr, 12, 20, MRG, &meta), VNETRX_ERR_BAD);
	assert_int_equal(meta.nbufs, 7);
	assert_int_equal(vnetrx_virtio_net_decode(hdr, 10, 12, MRG, &meta), VNETRX_ERR_BAD);
	assert_int_equal(meta.nbufs, 1);
	assert_int_equal(vnetrx_virtio_net_decode(hdr, 0, 12, MRG, &meta), VNETRX_ERR_BAD);
	assert_int_equal(vnetrx_virtio_net_decode(hdr, 8, 8, 0, &meta), VNETRX_ERR_BAD);
}

static void a_checksum_state_is_handed_on(void **state)
{
	struct vnetrx_meta meta = good(H(.flags = DATA_VALID), 12, MRG);

	(void)state;
	assert_int_equal(meta.flags, VNETRX_PKT_CSUM_OK);
	meta = good(H(.flags = NEEDS_CSUM, .csum_start = 34, .csum_offset = 6), 12, MRG);
	assert_int_equal(meta.flags, VNETRX_PKT_PARTIAL);
	assert_int_equal(meta.csum_start, 34);
	assert_int_equal(meta.csum_offset, 6);
}

static void a_checksum_to_be_completed_wins_over_a_verified_one(void **state)
{
	struct hdr h = H(.flags = NEEDS_CSUM | DATA_VALID, .csum_start = 34, .csum_offset = 16);
	struct vnetrx_meta meta = good(h, 12, MRG);

	(void)state;
	assert_int_equal(meta.flags, VNETRX_PKT_PARTIAL);
}

static void a_checksum_inside_the_network_header_is_refused(void **state)
{
	(void)state;
	bad(H(.flags = NEEDS_CSUM, .csum_start = 33, .csum_offset = 6), 12, MRG);
	bad(H(.flags = NEEDS_CSUM, .csum_start = 20, .csum_offset = 16), 12, MRG);
	bad(H(.flags = NEEDS_CSUM, .gso_type = VNETRX_GSO_TCPV6, .gso_size = 1440, .csum_start = 53, .csum_offset = 16),
	    12, MRG);
	(void)good(H(.flags = NEEDS_CSUM, .gso_type = VNETRX_GSO_TCPV6, .gso_size = 1440, .csum_start = 54,
	             .csum_offset = 16), 12, MRG);
}

static void unknown_flag_bits_are_ignored(void **state)
{
	(void)state;
	assert_int_equal(good(H(.flags = 0xf0), 12, MRG).flags, 0);
	assert_int_equal(good(H(.flags = 0xf0 | DATA_VALID), 12, MRG).flags, VNETRX_PKT_CSUM_OK);
	assert_int_equal(good(H(.flags = RSC_INFO | TUNNEL_CSUM), 12, MRG).flags, 0);
}

static void segmentation_fields_are_handed_on(void **state)
{
	struct vnetrx_meta meta = good(H(.flags = NEEDS_CSUM, .gso_type = VNETRX_GSO_TCPV4 | VNETRX_GSO_ECN,
	                                 .gso_size = 1448, .csum_start = 34, .csum_offset = 16), 12, MRG);

	(void)state;
	assert_int_equal(meta.gso_type, VNETRX_GSO_TCPV4 | VNETRX_GSO_ECN);
	assert_int_equal(meta.gso_size, 1448);
	assert_int_equal(meta.segs, 0);
	meta = good(H(.flags = NEEDS_CSUM, .gso_type = VNETRX_GSO_UDP_L4, .gso_size = 1200, .csum_start = 34,
	              .csum_offset = 6), 12, MRG);
	assert_int_equal(meta.gso_type, VNETRX_GSO_UDP_L4);
	meta = good(H(.gso_type = VNETRX_GSO_UDP, .gso_size = 1480), 12, MRG);
	assert_int_equal(meta.gso_type, VNETRX_GSO_UDP);
}

/* The specification wants NEEDS_CSUM with every GSO packet; real devices send TCP without. */
static void tcp_segmentation_without_a_partial_checksum_is_taken(void **state)
{
	(void)state;
	assert_int_equal(good(H(.flags = DATA_VALID, .gso_type = VNETRX_GSO_TCPV4, .gso_size = 1448, .csum_offset = 99),
	                      12, MRG).flags, VNETRX_PKT_CSUM_OK);
}

static void a_size_without_a_type_is_no_segmentation(void **state)
{
	struct vnetrx_meta meta = good(H(.gso_size = 1448), 12, MRG);

	(void)state;
	assert_int_equal(meta.gso_size, 0);
	assert_int_equal(meta.gso_type, VNETRX_GSO_NONE);
}

static void unknown_types_are_refused(void **state)
{
	unsigned base;

	(void)state;
	for (base = 0; base < 32u; base++) {
		if (base == VNETRX_GSO_TCPV4 || base == VNETRX_GSO_TCPV6 || base == VNETRX_GSO_UDP || base == 0u ||
		    base == VNETRX_GSO_UDP_L4)
			continue;
		bad(H(.flags = NEEDS_CSUM, .gso_type = base, .gso_size = 1000, .csum_start = 54, .csum_offset = 16),
		    12, MRG);
	}
}

static void types_that_contradict_other_fields_are_refused(void **state)
{
	(void)state;
	bad(H(.flags = NEEDS_CSUM, .gso_type = VNETRX_GSO_UDP_L4 | VNETRX_GSO_ECN, .gso_size = 1000, .csum_start = 34,
	      .csum_offset = 6), 12, MRG);
	bad(H(.gso_type = VNETRX_GSO_UDP | VNETRX_GSO_ECN, .gso_size = 1000), 12, MRG);
	bad(H(.gso_type = VNETRX_GSO_ECN, .gso_size = 1000), 12, MRG);
	bad(H(.gso_type = VNETRX_GSO_TCPV4, .gso_size = 0), 12, MRG);
	bad(H(.gso_type = VNETRX_GSO_TCPV4, .gso_size = 0xffff), 12, MRG);
	bad(H(.gso_type = VNETRX_GSO_UDP_L4, .gso_size = 1000, .csum_offset = 6), 12, MRG);
	bad(H(.flags = NEEDS_CSUM, .gso_type = VNETRX_GSO_UDP_L4, .gso_size = 1000, .csum_start = 34,
	      .csum_offset = 16), 12, MRG);
	bad(H(.flags = NEEDS_CSUM, .gso_type = VNETRX_GSO_TCPV4, .gso_size = 1000, .csum_start = 34, .csum_offset = 6),
	    12, MRG);
}

static void packets_merged_by_the_device_carry_their_count(void **state)
{
	struct vnetrx_meta meta = good(H(.flags = RSC_INFO | DATA_VALID, .gso_type = VNETRX_GSO_TCPV4, .csum_start = 17,
	                                 .csum_offset = 2), 12, MRG | VNETRX_VIRTIO_RSC_EXT);

	(void)state;
	assert_int_equal(meta.flags, VNETRX_PKT_RSC | VNETRX_PKT_CSUM_OK);
	assert_int_equal(meta.segs, 17);
	assert_int_equal(meta.gso_size, 0);
	meta = good(H(.flags = RSC_INFO, .gso_type = VNETRX_GSO_TCPV6, .gso_size = 1440, .csum_start = 9), 12,
	            MRG | VNETRX_VIRTIO_RSC_EXT);
	assert_int_equal(meta.flags, 0);
	assert_int_equal(meta.segs, 9);
	assert_int_equal(meta.gso_size, 1440);
}

static void rsc_info_excludes_what_shares_its_fields(void **state)
{
	uint32_t rsc = MRG | VNETRX_VIRTIO_RSC_EXT;

	(void)state;
	bad(H(.flags = RSC_INFO | NEEDS_CSUM, .gso_type = VNETRX_GSO_TCPV4, .csum_start = 34, .csum_offset = 16),
	    12, rsc);
	bad(H(.flags = RSC_INFO, .gso_type = VNETRX_GSO_NONE, .csum_start = 2), 12, rsc);
	bad(H(.flags = RSC_INFO, .gso_type = VNETRX_GSO_UDP, .csum_start = 2), 12, rsc);
	bad(H(.flags = RSC_INFO, .gso_type = VNETRX_GSO_TCPV4, .csum_start = 2), 12, MRG);
}

static void the_hash_is_read_in_two_halves(void **state)
{
	struct hdr h = H(.hash_lo = 0x5678, .hash_hi = 0x1234, .hash_type = 2);
	struct vnetrx_meta meta = good(h, 20, ALL);

	(void)state;
	assert_int_equal(meta.flags, VNETRX_PKT_HASH);
	assert_int_equal(meta.hash, 0x12345678);
	assert_int_equal(meta.hash_type, 2);
	assert_int_equal(good(h, 20, MRG).flags, 0);
	assert_int_equal(good(h, 12, ALL).flags, 0);
}

static void a_hash_of_no_type_does_not_count(void **state)
{
	(void)state;
	assert_int_equal(good(H(.hash_lo = 1, .hash_type = 0), 20, ALL).flags, 0);
	assert_int_equal(good(H(.hash_lo = 1, .hash_type = 256), 20, ALL).flags, 0);
}

/* A good header of a VXLAN packet: outer IPv4 and UDP, 8 bytes VXLAN, inner Ethernet, IPv4 and TCP. */
static struct hdr tunnel(void)
{
	return H(.flags = NEEDS_CSUM, .gso_type = VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4, .gso_size = 1398,
	         .csum_start = 84, .csum_offset = 16, .outer_th = 34, .inner_nh = 64);
}

static void tunnels_are_taken_when_negotiated(void **state)
{
	struct vnetrx_meta meta = good(tunnel(), 24, ALL);
	struct hdr h = tunnel();

	(void)state;
	assert_int_equal(meta.gso_type, VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4);
	assert_int_equal(meta.gso_size, 1398);
	assert_int_equal(meta.csum_start, 84);
	bad(tunnel(), 24, ALL & ~VNETRX_VIRTIO_TUNNEL);
	bad(tunnel(), 20, ALL);
	h.flags |= TUNNEL_CSUM;
	(void)good(h, 24, ALL);
}

/* virtio 1.4: "verified" alone is about the outer checksum, with UDP_TUNNEL_CSUM about both */
static void verified_tunnel_is_verified_inside_only_with_the_flag(void **state)
{
	(void)state;
	assert_int_equal(good(H(.flags = DATA_VALID), 24, ALL).flags, VNETRX_PKT_CSUM_OK);
	assert_int_equal(good(H(.flags = DATA_VALID | TUNNEL_CSUM), 24, ALL).flags,
	                 VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER);
	assert_int_equal(good(H(.flags = DATA_VALID | TUNNEL_CSUM), 24, ALL & ~VNETRX_VIRTIO_TUNNEL).flags,
	                 VNETRX_PKT_CSUM_OK);
}

static void tunnels_that_contradict_themselves_are_refused(void **state)
{
	static const struct {
		unsigned flags, gso_type;
	} wrong[] = {
		{ NEEDS_CSUM, VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4 | VNETRX_GSO_TUNNEL_IPV6 },
		{ NEEDS_CSUM, VNETRX_GSO_NONE | VNETRX_GSO_TUNNEL_IPV4 },
		{ NEEDS_CSUM, VNETRX_GSO_UDP | VNETRX_GSO_TUNNEL_IPV4 },
		{ 0, VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4 },
		{ NEEDS_CSUM | DATA_VALID, VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV4 },
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct hdr h = tunnel();

		h.flags = wrong[i].flags;
		h.gso_type = wrong[i].gso_type;
		bad(h, 24, ALL);
	}
	bad(H(.flags = NEEDS_CSUM | TUNNEL_CSUM, .csum_start = 34, .csum_offset = 16), 24, ALL);
}

static void tunnel_offsets_leave_room_for_the_headers_between(void **state)
{
	struct hdr h = tunnel();

	(void)state;
	h.outer_th = 33;
	bad(h, 24, ALL);
	h = tunnel();
	h.inner_nh = 41;
	bad(h, 24, ALL);
	h = tunnel();
	h.csum_start = 83;
	bad(h, 24, ALL);
	h = tunnel();
	h.gso_type = VNETRX_GSO_TCPV4 | VNETRX_GSO_TUNNEL_IPV6;
	bad(h, 24, ALL);
	h.outer_th = 54;
	(void)good(h, 24, ALL);
	h = tunnel();
	h.gso_type = VNETRX_GSO_TCPV6 | VNETRX_GSO_TUNNEL_IPV4;
	bad(h, 24, ALL);
	h.csum_start = 104;
	(void)good(h, 24, ALL);
}

/* Whatever the bytes are: an answer, nbufs set, and only fields of the first group. */
static void any_bytes_get_an_answer(void **state)
{
	static const uint32_t lens[] = { 10, 12, 20, 24, 32 };
	uint32_t seed = 12345, i, k;

	(void)state;
	for (i = 0; i < 200000u; i++) {
		struct vnetrx_meta meta = { 0 };
		uint8_t  hdr[32];
		uint32_t len = lens[i % 5u];
		int      ret;

		for (k = 0; k < sizeof(hdr); k++) {
			seed = seed * 1664525u + 1013904223u;
			hdr[k] = (seed >> 24) % 3u == 0u ? 0u : (uint8_t)(seed >> 16);
		}
		ret = vnetrx_virtio_net_decode(hdr, len, len, seed >> 27, &meta);
		assert_true(ret == VNETRX_OK || ret == VNETRX_ERR_BAD);
		assert_true(meta.nbufs >= 1u);
		assert_int_equal(meta.skip, len);
		assert_int_equal(meta.flags & ~0xffu, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_of_zeros_says_nothing),
		cmocka_unit_test(num_buffers_counts_with_mergeable_buffers_only),
		cmocka_unit_test(num_buffers_of_zero_is_an_error_but_for_a_tap),
		cmocka_unit_test(a_refused_header_still_says_how_many_buffers_to_drain),
		cmocka_unit_test(a_header_that_is_cut_short_is_refused),
		cmocka_unit_test(a_checksum_state_is_handed_on),
		cmocka_unit_test(a_checksum_to_be_completed_wins_over_a_verified_one),
		cmocka_unit_test(a_checksum_inside_the_network_header_is_refused),
		cmocka_unit_test(unknown_flag_bits_are_ignored),
		cmocka_unit_test(segmentation_fields_are_handed_on),
		cmocka_unit_test(tcp_segmentation_without_a_partial_checksum_is_taken),
		cmocka_unit_test(a_size_without_a_type_is_no_segmentation),
		cmocka_unit_test(unknown_types_are_refused),
		cmocka_unit_test(types_that_contradict_other_fields_are_refused),
		cmocka_unit_test(packets_merged_by_the_device_carry_their_count),
		cmocka_unit_test(rsc_info_excludes_what_shares_its_fields),
		cmocka_unit_test(the_hash_is_read_in_two_halves),
		cmocka_unit_test(a_hash_of_no_type_does_not_count),
		cmocka_unit_test(tunnels_are_taken_when_negotiated),
		cmocka_unit_test(verified_tunnel_is_verified_inside_only_with_the_flag),
		cmocka_unit_test(tunnels_that_contradict_themselves_are_refused),
		cmocka_unit_test(tunnel_offsets_leave_room_for_the_headers_between),
		cmocka_unit_test(any_bytes_get_an_answer),
	};

	return cmocka_run_group_tests_name("virtio_net", tests, NULL, NULL);
}
