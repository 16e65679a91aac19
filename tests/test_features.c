/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vnetrx/virtio_features.h"
#include "vnetrx/virtio_net.h"

#define N(name) VNETRX_NET_F_##name
#define F(name) VNETRX_F_##name

/* A set of the bits that are named. */
#define SET(...) set_of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

#define GUEST_TSO N(GUEST_CSUM), N(GUEST_TSO4), N(GUEST_TSO6)
#define HOST_TSO  N(CSUM), N(HOST_TSO4), N(HOST_TSO6)
#define GUEST_TUNNEL GUEST_TSO, N(GUEST_USO4), N(GUEST_USO6), N(GUEST_UDP_TUNNEL_GSO)
#define HOST_TUNNEL  HOST_TSO, N(HOST_USO), N(HOST_UDP_TUNNEL_GSO)

static const struct vnetrx_features everything = { { UINT64_MAX, UINT64_MAX } };

static struct vnetrx_features set_of(const uint8_t *bits, size_t n)
{
	struct vnetrx_features set = { { 0, 0 } };

	for (size_t i = 0; i < n; i++)
		vnetrx_features_add(&set, bits[i]);
	return set;
}

/* What comes of an offer when all of it is wanted. */
static struct vnetrx_virtio_plan take(struct vnetrx_features offer, struct vnetrx_virtio_wants wants)
{
	struct vnetrx_virtio_plan plan;

	wants.want = everything;
	assert_int_equal(vnetrx_virtio_negotiate(&offer, &wants, &plan), VNETRX_OK);
	assert_int_equal(plan.missing, -1);
	assert_int_equal(plan.needed_by, -1);
	return plan;
}

#define WANTS(...) ((struct vnetrx_virtio_wants){ __VA_ARGS__ })
#define PLAIN      WANTS(.pairs = 4, .mtu = 1500)

static bool takes(struct vnetrx_features offer, unsigned bit)
{
	struct vnetrx_virtio_plan plan = take(offer, PLAIN);

	return vnetrx_features_has(&plan.accept, bit);
}

static void refused(struct vnetrx_features offer, struct vnetrx_virtio_wants wants, int missing, int needed_by)
{
	struct vnetrx_virtio_plan plan;

	assert_int_equal(vnetrx_virtio_negotiate(&offer, &wants, &plan), VNETRX_ERR_CANNOT);
	assert_int_equal(plan.missing, missing);
	assert_int_equal(plan.needed_by, needed_by);
}

/* ---- sets ---- */

static void bits_of_both_words_can_be_added_and_dropped(void **state)
{
	struct vnetrx_features set = { { 0, 0 } };

	(void)state;
	for (unsigned bit = 0; bit < 128u; bit++) {
		assert_false(vnetrx_features_has(&set, bit));
		vnetrx_features_add(&set, bit);
		assert_true(vnetrx_features_has(&set, bit));
	}
	assert_memory_equal(&set, &everything, sizeof(set));
	vnetrx_features_drop(&set, 0);
	vnetrx_features_drop(&set, 64);
	assert_true(set.word[0] == UINT64_MAX - 1u && set.word[1] == UINT64_MAX - 1u);
}

static void bits_beyond_the_set_are_in_no_set(void **state)
{
	struct vnetrx_features set = { { 0, 0 } };

	(void)state;
	vnetrx_features_add(&set, 128);
	assert_true(set.word[0] == 0u && set.word[1] == 0u);
	set = everything;
	vnetrx_features_drop(&set, 128);
	assert_false(vnetrx_features_has(&set, 128));
	assert_memory_equal(&set, &everything, sizeof(set));
}

static void features_have_their_numbers_and_names(void **state)
{
	(void)state;
	assert_int_equal(N(GUEST_TSO4), 7);
	assert_int_equal(N(MRG_RXBUF), 15);
	assert_int_equal(F(VERSION_1), 32);
	assert_int_equal(F(NOTIFICATION_DATA), 38);
	assert_int_equal(N(NOTF_COAL), 53);
	assert_int_equal(N(HOST_UDP_TUNNEL_GSO_CSUM), 68);
	assert_string_equal(vnetrx_feature_name(15), "NET_F_MRG_RXBUF");
	assert_string_equal(vnetrx_feature_name(36), "F_ORDER_PLATFORM");
	assert_string_equal(vnetrx_feature_name(30), "unknown");
	assert_string_equal(vnetrx_feature_name(128), "unknown");
}

/* ---- what is accepted ---- */

static void only_what_is_offered_and_wanted_is_accepted(void **state)
{
	struct vnetrx_features offer = SET(F(VERSION_1), N(MRG_RXBUF), N(STATUS), F(EVENT_IDX));
	struct vnetrx_virtio_wants wants = WANTS(.want = SET(N(MRG_RXBUF), N(MAC), F(EVENT_IDX), F(VERSION_1)));
	struct vnetrx_features right = SET(F(VERSION_1), N(MRG_RXBUF), F(EVENT_IDX));
	struct vnetrx_virtio_plan plan;

	(void)state;
	assert_int_equal(vnetrx_virtio_negotiate(&offer, &wants, &plan), VNETRX_OK);
	assert_memory_equal(&plan.accept, &right, sizeof(right));
}

/* Bit 30 is vhost-user's, 24 was never more than an old device's; 58 and 127 have no meaning. */
static void bits_without_a_known_meaning_are_never_accepted(void **state)
{
	struct vnetrx_virtio_plan plan = take(everything, PLAIN);
	unsigned bit, n = 0;

	(void)state;
	for (bit = 0; bit < 128u; bit++) {
		bool known = strcmp(vnetrx_feature_name(bit), "unknown") != 0;

		assert_int_equal(vnetrx_features_has(&plan.accept, bit), known);
		n += known;
	}
	assert_int_equal(n, 54);
	assert_false(vnetrx_features_has(&plan.accept, 24) || vnetrx_features_has(&plan.accept, 30));
}

static void version_1_is_accepted_even_if_it_was_not_wanted(void **state)
{
	struct vnetrx_features offer = SET(F(VERSION_1));
	struct vnetrx_virtio_wants wants = PLAIN;
	struct vnetrx_virtio_plan plan;

	(void)state;
	assert_int_equal(vnetrx_virtio_negotiate(&offer, &wants, &plan), VNETRX_OK);
	assert_true(vnetrx_features_has(&plan.accept, F(VERSION_1)));
	assert_false(plan.legacy);
}

static void without_version_1_there_are_32_bits(void **state)
{
	struct vnetrx_features offer = everything;
	struct vnetrx_virtio_plan plan;

	(void)state;
	vnetrx_features_drop(&offer, F(VERSION_1));
	vnetrx_features_drop(&offer, F(ACCESS_PLATFORM));
	plan = take(offer, PLAIN);
	assert_true(plan.legacy);
	assert_true(plan.accept.word[0] < (uint64_t)1 << 32 && plan.accept.word[1] == 0u);
	assert_true(plan.mergeable && plan.event_idx && plan.indirect);
	assert_false(plan.packed || plan.in_order || plan.notify_data || plan.ring_reset || plan.dma_barriers);
}

static void access_platform_is_accepted_or_the_device_is_refused(void **state)
{
	struct vnetrx_features offer = SET(F(VERSION_1), F(ACCESS_PLATFORM));

	(void)state;
	refused(offer, WANTS(.want = SET(F(VERSION_1))), F(ACCESS_PLATFORM), F(ACCESS_PLATFORM));
	assert_true(take(offer, PLAIN).dma_addresses);
	assert_false(take(SET(F(VERSION_1)), PLAIN).dma_addresses);
}

/* ---- what requires what ---- */

static void received_segmentation_requires_received_checksums(void **state)
{
	static const uint8_t bits[] = { N(GUEST_TSO4), N(GUEST_TSO6), N(GUEST_UFO), N(GUEST_USO4), N(GUEST_USO6) };

	(void)state;
	for (unsigned i = 0; i < sizeof(bits); i++) {
		assert_false(takes(SET(F(VERSION_1), N(CSUM), bits[i]), bits[i]));
		assert_true(takes(SET(F(VERSION_1), N(GUEST_CSUM), bits[i]), bits[i]));
	}
}

static void sent_segmentation_requires_sent_checksums(void **state)
{
	static const uint8_t bits[] = { N(HOST_TSO4), N(HOST_TSO6), N(HOST_UFO), N(HOST_USO) };

	(void)state;
	for (unsigned i = 0; i < sizeof(bits); i++) {
		assert_false(takes(SET(F(VERSION_1), N(GUEST_CSUM), bits[i]), bits[i]));
		assert_true(takes(SET(F(VERSION_1), N(CSUM), bits[i]), bits[i]));
	}
}

static void ecn_requires_one_of_the_two_tcp_kinds(void **state)
{
	(void)state;
	assert_false(takes(SET(F(VERSION_1), N(GUEST_CSUM), N(GUEST_ECN)), N(GUEST_ECN)));
	assert_true(takes(SET(F(VERSION_1), N(GUEST_CSUM), N(GUEST_TSO4), N(GUEST_ECN)), N(GUEST_ECN)));
	assert_true(takes(SET(F(VERSION_1), N(GUEST_CSUM), N(GUEST_TSO6), N(GUEST_ECN)), N(GUEST_ECN)));
	assert_false(takes(SET(F(VERSION_1), N(CSUM), N(HOST_ECN)), N(HOST_ECN)));
	assert_true(takes(SET(F(VERSION_1), N(CSUM), N(HOST_TSO4), N(HOST_ECN)), N(HOST_ECN)));
	assert_true(takes(SET(F(VERSION_1), N(CSUM), N(HOST_TSO6), N(HOST_ECN)), N(HOST_ECN)));
}

static void a_requirement_falls_with_what_it_requires_itself(void **state)
{
	(void)state;
	assert_false(takes(SET(F(VERSION_1), N(GUEST_TSO4), N(GUEST_ECN)), N(GUEST_ECN)));
	assert_false(takes(SET(F(VERSION_1), N(HOST_TSO4), N(RSC_EXT)), N(RSC_EXT)));
	assert_true(takes(SET(F(VERSION_1), N(CSUM), N(HOST_TSO4), N(RSC_EXT)), N(RSC_EXT)));
}

static void whatever_is_sent_over_the_control_queue_requires_it(void **state)
{
	static const uint8_t bits[] = { N(CTRL_GUEST_OFFLOADS), N(CTRL_RX), N(CTRL_RX_EXTRA), N(CTRL_VLAN),
		                        N(CTRL_MAC_ADDR), N(GUEST_ANNOUNCE), N(MQ), N(RSS), N(HASH_REPORT),
		                        N(NOTF_COAL), N(VQ_NOTF_COAL), N(DEVICE_STATS) };

	(void)state;
	for (unsigned i = 0; i < sizeof(bits); i++) {
		assert_false(takes(SET(F(VERSION_1), bits[i]), bits[i]));
		assert_true(takes(SET(F(VERSION_1), N(CTRL_VQ), bits[i]), bits[i]));
	}
}

static void hashes_of_tunnels_and_contexts_require_what_they_extend(void **state)
{
	(void)state;
	assert_false(takes(SET(F(VERSION_1), N(CTRL_VQ), N(HASH_TUNNEL)), N(HASH_TUNNEL)));
	assert_true(takes(SET(F(VERSION_1), N(CTRL_VQ), N(HASH_TUNNEL), N(RSS)), N(HASH_TUNNEL)));
	assert_true(takes(SET(F(VERSION_1), N(CTRL_VQ), N(HASH_TUNNEL), N(HASH_REPORT)), N(HASH_TUNNEL)));
	assert_false(takes(SET(F(VERSION_1), N(CTRL_VQ), N(RSS_CONTEXT)), N(RSS_CONTEXT)));
	assert_true(takes(SET(F(VERSION_1), N(CTRL_VQ), N(RSS_CONTEXT), N(RSS)), N(RSS_CONTEXT)));
}

/* Each of its bases taken away in turn. */
static void tunnels_require_all_inner_kinds(void **state)
{
	struct vnetrx_features guest = SET(F(VERSION_1), GUEST_TUNNEL, N(GUEST_UDP_TUNNEL_GSO_CSUM));
	struct vnetrx_features host = SET(F(VERSION_1), HOST_TUNNEL, N(HOST_UDP_TUNNEL_GSO_CSUM));
	static const uint8_t guest_bases[] = { GUEST_TUNNEL }, host_bases[] = { HOST_TUNNEL };
	unsigned i;

	(void)state;
	assert_true(takes(guest, N(GUEST_UDP_TUNNEL_GSO_CSUM)) && takes(host, N(HOST_UDP_TUNNEL_GSO_CSUM)));
	for (i = 0; i < sizeof(guest_bases); i++) {
		struct vnetrx_features offer = guest;

		vnetrx_features_drop(&offer, guest_bases[i]);
		assert_false(takes(offer, N(GUEST_UDP_TUNNEL_GSO)) || takes(offer, N(GUEST_UDP_TUNNEL_GSO_CSUM)));
	}
	for (i = 0; i < sizeof(host_bases); i++) {
		struct vnetrx_features offer = host;

		vnetrx_features_drop(&offer, host_bases[i]);
		assert_false(takes(offer, N(HOST_UDP_TUNNEL_GSO)) || takes(offer, N(HOST_UDP_TUNNEL_GSO_CSUM)));
	}
}

/* The requirements of 5.1.3.1 once more, as one sentence each. */
static bool lawful(const struct vnetrx_features *s)
{
#define HAS(name)         vnetrx_features_has(s, N(name))
#define IF(name, requires) (!HAS(name) || (requires))
	bool guest = (IF(GUEST_TSO4, HAS(GUEST_CSUM)) && IF(GUEST_TSO6, HAS(GUEST_CSUM)) &&
	              IF(GUEST_ECN, HAS(GUEST_TSO4) || HAS(GUEST_TSO6)) && IF(GUEST_UFO, HAS(GUEST_CSUM)) &&
	              IF(GUEST_USO4, HAS(GUEST_CSUM)) && IF(GUEST_USO6, HAS(GUEST_CSUM)) &&
	              IF(GUEST_UDP_TUNNEL_GSO,
	                 HAS(GUEST_TSO4) && HAS(GUEST_TSO6) && HAS(GUEST_USO4) && HAS(GUEST_USO6)) &&
	              IF(GUEST_UDP_TUNNEL_GSO_CSUM, HAS(GUEST_UDP_TUNNEL_GSO)));
	bool host = (IF(HOST_TSO4, HAS(CSUM)) && IF(HOST_TSO6, HAS(CSUM)) && IF(HOST_UFO, HAS(CSUM)) &&
	             IF(HOST_USO, HAS(CSUM)) && IF(HOST_ECN, HAS(HOST_TSO4) || HAS(HOST_TSO6)) &&
	             IF(RSC_EXT, HAS(HOST_TSO4) || HAS(HOST_TSO6)) &&
	             IF(HOST_UDP_TUNNEL_GSO, HAS(HOST_TSO4) && HAS(HOST_TSO6) && HAS(HOST_USO)) &&
	             IF(HOST_UDP_TUNNEL_GSO_CSUM, HAS(HOST_UDP_TUNNEL_GSO)));
	bool ctrl = (HAS(CTRL_VQ) ||
	             !(HAS(CTRL_GUEST_OFFLOADS) || HAS(CTRL_RX) || HAS(CTRL_RX_EXTRA) || HAS(CTRL_VLAN) ||
	               HAS(CTRL_MAC_ADDR) || HAS(GUEST_ANNOUNCE) || HAS(MQ) || HAS(RSS) || HAS(HASH_REPORT) ||
	               HAS(NOTF_COAL) || HAS(VQ_NOTF_COAL) || HAS(DEVICE_STATS) || HAS(HASH_TUNNEL) ||
	               HAS(RSS_CONTEXT)));

	return guest && host && ctrl && IF(RSS_CONTEXT, HAS(RSS)) && IF(HASH_TUNNEL, HAS(RSS) || HAS(HASH_REPORT));
#undef IF
#undef HAS
}

static uint64_t next_random(uint64_t *seed)
{
	uint64_t word = 0;

	for (unsigned i = 0; i < 4; i++) {
		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		word = word << 16 | *seed >> 48;
	}
	return word;
}

/* Mostly ones, so that long chains of requirements occur. */
static struct vnetrx_features random_set(uint64_t *seed)
{
	struct vnetrx_features set;

	for (unsigned i = 0; i < 2; i++)
		set.word[i] = next_random(seed) | next_random(seed) | next_random(seed);
	return set;
}

static void of_any_offer_as_much_as_the_rules_allow_is_accepted(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct vnetrx_features offer = random_set(&seed);
		struct vnetrx_virtio_wants wants = WANTS(.want = random_set(&seed), .pairs = 4, .mtu = 1500);
		struct vnetrx_virtio_plan plan;

		vnetrx_features_add(&offer, F(VERSION_1));
		vnetrx_features_add(&wants.want, F(VERSION_1));
		vnetrx_features_drop(&offer, F(ACCESS_PLATFORM));
		assert_int_equal(vnetrx_virtio_negotiate(&offer, &wants, &plan), VNETRX_OK);
		assert_true(lawful(&plan.accept));
		for (unsigned bit = 0; bit < 128u; bit++) {
			struct vnetrx_features more = plan.accept;
			bool possible = vnetrx_features_has(&offer, bit) && vnetrx_features_has(&wants.want, bit);

			vnetrx_features_add(&more, bit);
			if (vnetrx_features_has(&plan.accept, bit))
				assert_true(possible);
			else if (possible && strcmp(vnetrx_feature_name(bit), "unknown") != 0)
				assert_false(lawful(&more));
		}
	}
}

/* ---- what is missing ---- */

static void a_needed_feature_that_is_not_offered_is_named(void **state)
{
	(void)state;
	refused(SET(F(VERSION_1)), WANTS(.need = SET(N(MRG_RXBUF))), N(MRG_RXBUF), N(MRG_RXBUF));
	refused(SET(N(MRG_RXBUF)), WANTS(.need = SET(F(VERSION_1))), F(VERSION_1), F(VERSION_1));
	refused(everything, WANTS(.want = SET(F(ACCESS_PLATFORM)), .need = SET(127)), 127, 127);
}

static void the_requirement_that_a_needed_feature_lacks_is_named(void **state)
{
	struct vnetrx_features need = SET(N(GUEST_UDP_TUNNEL_GSO_CSUM));
	struct vnetrx_features offer = SET(F(VERSION_1), GUEST_TUNNEL, N(GUEST_UDP_TUNNEL_GSO_CSUM));

	(void)state;
	vnetrx_features_drop(&offer, N(GUEST_CSUM));
	refused(offer, WANTS(.want = everything, .need = need), N(GUEST_CSUM), N(GUEST_UDP_TUNNEL_GSO_CSUM));
	vnetrx_features_add(&offer, N(GUEST_CSUM));
	vnetrx_features_drop(&offer, N(GUEST_USO6));
	refused(offer, WANTS(.want = everything, .need = need), N(GUEST_USO6), N(GUEST_UDP_TUNNEL_GSO_CSUM));
	refused(SET(F(VERSION_1), N(NOTF_COAL)), WANTS(.need = SET(N(NOTF_COAL))), N(CTRL_VQ), N(NOTF_COAL));
}

static void a_requirement_that_was_offered_but_not_wanted_is_named(void **state)
{
	refused(SET(F(VERSION_1), N(GUEST_CSUM), N(GUEST_TSO4)), WANTS(.need = SET(N(GUEST_TSO4))), N(GUEST_CSUM),
	        N(GUEST_TSO4));
	(void)state;
}

static void what_needs_virtio_1_names_it_with_an_old_device(void **state)
{
	(void)state;
	refused(SET(F(RING_PACKED)), WANTS(.need = SET(F(RING_PACKED))), F(VERSION_1), F(RING_PACKED));
	refused(SET(N(HASH_REPORT), N(CTRL_VQ)), WANTS(.want = everything, .need = SET(N(HASH_REPORT))), F(VERSION_1),
	        N(HASH_REPORT));
}

/* ---- headers ---- */

static void the_header_is_as_long_as_the_features_make_it(void **state)
{
	(void)state;
	assert_int_equal(take(SET(N(CSUM)), PLAIN).hdr_len, 10);
	assert_int_equal(take(SET(N(MRG_RXBUF)), PLAIN).hdr_len, 12);
	assert_int_equal(take(SET(F(VERSION_1)), PLAIN).hdr_len, 12);
	assert_int_equal(take(SET(F(VERSION_1), N(CTRL_VQ), N(HASH_REPORT)), PLAIN).hdr_len, 20);
	assert_int_equal(take(SET(F(VERSION_1), GUEST_TUNNEL), PLAIN).hdr_len, 24);
	assert_int_equal(take(SET(F(VERSION_1), HOST_TUNNEL), PLAIN).hdr_len, 24);
	assert_int_equal(take(SET(F(VERSION_1), N(OUT_NET_HEADER)), PLAIN).hdr_len, 32);
	assert_int_equal(take(everything, PLAIN).hdr_len, 32);
}

/* A device whose num_buffers is garbage because MRG_RXBUF was not negotiated: it counts as 1. */
static void without_mergeable_buffers_num_buffers_of_the_device_does_not_count(void **state)
{
	static const uint8_t hdr[12] = { [10] = 0xad, [11] = 0xde };
	struct vnetrx_virtio_plan plan = take(SET(F(VERSION_1)), PLAIN);
	struct vnetrx_meta meta = { 0 };

	(void)state;
	assert_false(plan.mergeable);
	assert_int_equal(vnetrx_virtio_net_decode(hdr, 12, plan.hdr_len, plan.rx_features, &meta), VNETRX_OK);
	assert_int_equal(meta.nbufs, 1);
	plan = take(SET(F(VERSION_1), N(MRG_RXBUF)), PLAIN);
	assert_true(plan.mergeable);
	assert_int_equal(vnetrx_virtio_net_decode(hdr, 12, plan.hdr_len, plan.rx_features, &meta), VNETRX_OK);
	assert_int_equal(meta.nbufs, 0xdead);
}

static void the_decoder_is_told_what_may_come(void **state)
{
	(void)state;
	assert_int_equal(take(SET(F(VERSION_1), GUEST_TSO, HOST_TSO), PLAIN).rx_features, 0);
	assert_int_equal(take(SET(N(MRG_RXBUF)), PLAIN).rx_features, VNETRX_VIRTIO_MRG_RXBUF);
	assert_int_equal(take(SET(F(VERSION_1), GUEST_TUNNEL), PLAIN).rx_features, VNETRX_VIRTIO_TUNNEL);
	assert_int_equal(take(SET(F(VERSION_1), HOST_TUNNEL), PLAIN).rx_features, 0);
	assert_int_equal(take(everything, PLAIN).rx_features, VNETRX_VIRTIO_MRG_RXBUF | VNETRX_VIRTIO_HASH_REPORT |
	                                                                 VNETRX_VIRTIO_RSC_EXT | VNETRX_VIRTIO_TUNNEL);
}

static void the_encoder_is_told_what_the_device_takes(void **state)
{
	(void)state;
	assert_int_equal(take(SET(F(VERSION_1), GUEST_TUNNEL, N(MRG_RXBUF)), PLAIN).tx_features, 0);
	assert_int_equal(take(SET(N(CSUM), N(HOST_TSO6)), PLAIN).tx_features,
	                 VNETRX_VIRTIO_CSUM | VNETRX_VIRTIO_TSO6);
	assert_int_equal(take(SET(N(CSUM), N(HOST_TSO4), N(HOST_ECN)), PLAIN).tx_features,
	                 VNETRX_VIRTIO_CSUM | VNETRX_VIRTIO_TSO4 | VNETRX_VIRTIO_ECN);
	assert_int_equal(take(SET(F(VERSION_1), HOST_TUNNEL), PLAIN).tx_features,
	                 VNETRX_VIRTIO_CSUM | VNETRX_VIRTIO_TSO4 | VNETRX_VIRTIO_TSO6 | VNETRX_VIRTIO_USO4 |
	                         VNETRX_VIRTIO_USO6 | VNETRX_VIRTIO_TUNNEL);
}

/* Hosts that want the header of 10 or 12 bytes in a descriptor of its own say so by offering neither bit. */
static void without_any_layout_and_version_1_the_header_lies_apart(void **state)
{
	struct vnetrx_virtio_plan plan = take(SET(N(CSUM)), PLAIN);

	(void)state;
	assert_true(plan.rx_hdr_apart && plan.tx_hdr_apart);
	plan = take(SET(F(ANY_LAYOUT)), PLAIN);
	assert_false(plan.rx_hdr_apart || plan.tx_hdr_apart);
	plan = take(SET(F(VERSION_1)), PLAIN);
	assert_false(plan.rx_hdr_apart || plan.tx_hdr_apart);
}

static void a_mergeable_buffer_holds_its_header_itself(void **state)
{
	struct vnetrx_virtio_plan plan = take(SET(N(MRG_RXBUF)), PLAIN);

	(void)state;
	assert_false(plan.rx_hdr_apart);
	assert_true(plan.tx_hdr_apart);
}

/* ---- buffers ---- */

static void without_merged_kinds_a_buffer_holds_header_and_a_tagged_frame(void **state)
{
	struct vnetrx_virtio_plan plan = take(SET(F(VERSION_1), N(GUEST_CSUM), N(MTU)), WANTS(.mtu = 9000));

	(void)state;
	assert_int_equal(plan.frame_len_max, 9018);
	assert_int_equal(plan.buf_len_min, 9030);
	plan = take(SET(F(VERSION_1)), (struct vnetrx_virtio_wants){ 0 });
	assert_int_equal(plan.frame_len_max, 1518);
	assert_true(plan.buf_len_min >= 1526); /* 5.1.6.3 */
	plan = take(SET(N(MTU)), WANTS(.mtu = 1280));
	assert_int_equal(plan.buf_len_min, 10 + 1518);
}

/* Merged packets accepted without mergeable buffers: 65601 bytes, or 65609 with the hash. */
static void segmentation_without_mergeable_buffers_needs_buffers_of_64_kib(void **state)
{
	static const uint8_t bits[] = { N(GUEST_TSO4), N(GUEST_TSO6), N(GUEST_UFO), N(GUEST_USO4), N(GUEST_USO6) };

	(void)state;
	for (unsigned i = 0; i < sizeof(bits); i++) {
		struct vnetrx_virtio_plan plan = take(SET(F(VERSION_1), N(GUEST_CSUM), bits[i]), PLAIN);

		assert_int_equal(plan.frame_len_max, 65589);
		assert_int_equal(plan.buf_len_min, 65601);
	}
	assert_int_equal(take(SET(F(VERSION_1), GUEST_TSO, N(CTRL_VQ), N(HASH_REPORT)), PLAIN).buf_len_min, 65609);
}

static void segmentation_is_not_accepted_where_buffers_are_too_short_for_it(void **state)
{
	struct vnetrx_features offer = SET(F(VERSION_1), GUEST_TUNNEL, N(GUEST_ECN), N(GUEST_UFO), HOST_TSO);
	struct vnetrx_virtio_plan plan = take(offer, WANTS(.buf_len_max = 1530));
	struct vnetrx_features right = SET(F(VERSION_1), N(GUEST_CSUM), HOST_TSO);

	(void)state;
	assert_memory_equal(&plan.accept, &right, sizeof(right));
	assert_int_equal(plan.buf_len_min, 1530);
	assert_int_equal(plan.hdr_len, 12);
	plan = take(SET(F(VERSION_1), GUEST_TSO), WANTS(.buf_len_max = 65600));
	assert_false(vnetrx_features_has(&plan.accept, N(GUEST_TSO4)));
	plan = take(SET(F(VERSION_1), GUEST_TSO), WANTS(.buf_len_max = 65601));
	assert_true(vnetrx_features_has(&plan.accept, N(GUEST_TSO4)));
}

static void mergeable_buffers_may_be_short(void **state)
{
	struct vnetrx_virtio_plan plan = take(SET(F(VERSION_1), N(MRG_RXBUF), GUEST_TSO), WANTS(.buf_len_max = 1530));

	(void)state;
	assert_true(vnetrx_features_has(&plan.accept, N(GUEST_TSO4)));
	assert_int_equal(plan.frame_len_max, 65589);
	assert_int_equal(plan.buf_len_min, 12);
}

static void buffers_too_short_for_what_is_needed_name_mergeable_buffers(void **state)
{
	struct vnetrx_virtio_wants wants = WANTS(.want = everything, .need = SET(N(GUEST_TSO6)), .buf_len_max = 4096);

	(void)state;
	refused(SET(F(VERSION_1), GUEST_TSO), wants, N(MRG_RXBUF), N(GUEST_TSO6));
	refused(SET(F(VERSION_1)), WANTS(.mtu = 9000, .buf_len_max = 4096), N(MRG_RXBUF), N(MRG_RXBUF));
}

/* ---- figures of the device ---- */

static void an_mtu_below_68_is_not_believed(void **state)
{
	(void)state;
	assert_true(take(SET(N(MTU)), WANTS(.mtu = 67)).accept.word[0] == 0u);
	assert_true(take(SET(N(MTU)), WANTS(.mtu = 68)).accept.word[0] == 1u << N(MTU));
	assert_int_equal(take(SET(N(MTU)), WANTS(.mtu = 67)).frame_len_max, 1518);
	refused(SET(N(MTU)), WANTS(.need = SET(N(MTU)), .mtu = 67), N(MTU), N(MTU));
	assert_int_equal(take(SET(N(MTU)), WANTS(.mtu = 65535)).frame_len_max, 65553);
}

static void a_number_of_queue_pairs_out_of_range_ends_multiqueue(void **state)
{
	struct vnetrx_features offer = SET(F(VERSION_1), N(CTRL_VQ), N(MQ), N(RSS));
	struct vnetrx_virtio_plan plan = take(offer, WANTS(.pairs = 0x8000));

	(void)state;
	assert_int_equal(plan.pairs_max, 0x8000);
	assert_int_equal(plan.ctrl_index, 0x10000);
	plan = take(offer, WANTS(.pairs = 0x8001));
	assert_false(vnetrx_features_has(&plan.accept, N(MQ)) || vnetrx_features_has(&plan.accept, N(RSS)));
	assert_int_equal(plan.pairs_max, 1);
	assert_int_equal(plan.ctrl_index, 2);
	assert_int_equal(take(offer, WANTS(.pairs = 0)).pairs_max, 1);
}

static void the_control_queue_comes_after_all_pairs_the_device_has(void **state)
{
	(void)state;
	assert_int_equal(take(SET(F(VERSION_1), N(CTRL_VQ)), WANTS(.pairs = 4)).ctrl_index, 2);
	assert_int_equal(take(SET(F(VERSION_1), N(CTRL_VQ), N(MQ)), WANTS(.pairs = 4)).ctrl_index, 8);
	assert_int_equal(take(SET(F(VERSION_1), N(CTRL_VQ), N(RSS)), WANTS(.pairs = 3)).ctrl_index, 6);
	assert_int_equal(take(SET(F(VERSION_1), N(MQ)), WANTS(.pairs = 4)).ctrl_index, 0);
	assert_int_equal(take(SET(F(VERSION_1), N(MQ)), WANTS(.pairs = 4)).pairs_max, 1);
}

/* ---- rings ---- */

static void each_ring_feature_stands_alone_in_the_plan(void **state)
{
	struct vnetrx_virtio_plan none = take(SET(F(VERSION_1)), PLAIN);

	(void)state;
	assert_false(none.packed || none.in_order || none.indirect || none.event_idx || none.notify_data);
	assert_false(none.ring_reset || none.dma_barriers || none.dma_addresses);
	assert_true(take(SET(F(VERSION_1), F(RING_PACKED)), PLAIN).packed);
	assert_true(take(SET(F(VERSION_1), F(IN_ORDER)), PLAIN).in_order);
	assert_true(take(SET(F(VERSION_1), F(INDIRECT_DESC)), PLAIN).indirect);
	assert_true(take(SET(F(VERSION_1), F(EVENT_IDX)), PLAIN).event_idx);
	assert_true(take(SET(F(VERSION_1), F(NOTIFICATION_DATA)), PLAIN).notify_data);
	assert_true(take(SET(F(VERSION_1), F(RING_RESET)), PLAIN).ring_reset);
	assert_true(take(SET(F(VERSION_1), F(ORDER_PLATFORM)), PLAIN).dma_barriers);
}

/* What the driver must do its part for is left out; what is in is lawful whatever the device offers. */
static void the_usual_set_needs_nothing_else(void **state)
{
	struct vnetrx_features usual = vnetrx_features_usual();
	struct vnetrx_virtio_wants wants = WANTS(.need = usual, .mtu = 1500);
	struct vnetrx_features offer = everything;
	struct vnetrx_virtio_plan plan;

	(void)state;
	vnetrx_features_drop(&offer, F(ACCESS_PLATFORM));
	assert_int_equal(vnetrx_virtio_negotiate(&offer, &wants, &plan), VNETRX_OK);
	assert_memory_equal(&plan.accept, &usual, sizeof(usual));
	assert_true(plan.mergeable && plan.packed && plan.in_order && plan.event_idx && plan.indirect);
	assert_false(plan.notify_data || plan.ring_reset || plan.dma_addresses || plan.ctrl_index != 0u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bits_of_both_words_can_be_added_and_dropped),
		cmocka_unit_test(bits_beyond_the_set_are_in_no_set),
		cmocka_unit_test(features_have_their_numbers_and_names),
		cmocka_unit_test(only_what_is_offered_and_wanted_is_accepted),
		cmocka_unit_test(bits_without_a_known_meaning_are_never_accepted),
		cmocka_unit_test(version_1_is_accepted_even_if_it_was_not_wanted),
		cmocka_unit_test(without_version_1_there_are_32_bits),
		cmocka_unit_test(access_platform_is_accepted_or_the_device_is_refused),
		cmocka_unit_test(received_segmentation_requires_received_checksums),
		cmocka_unit_test(sent_segmentation_requires_sent_checksums),
		cmocka_unit_test(ecn_requires_one_of_the_two_tcp_kinds),
		cmocka_unit_test(a_requirement_falls_with_what_it_requires_itself),
		cmocka_unit_test(whatever_is_sent_over_the_control_queue_requires_it),
		cmocka_unit_test(hashes_of_tunnels_and_contexts_require_what_they_extend),
		cmocka_unit_test(tunnels_require_all_inner_kinds),
		cmocka_unit_test(of_any_offer_as_much_as_the_rules_allow_is_accepted),
		cmocka_unit_test(a_needed_feature_that_is_not_offered_is_named),
		cmocka_unit_test(the_requirement_that_a_needed_feature_lacks_is_named),
		cmocka_unit_test(a_requirement_that_was_offered_but_not_wanted_is_named),
		cmocka_unit_test(what_needs_virtio_1_names_it_with_an_old_device),
		cmocka_unit_test(the_header_is_as_long_as_the_features_make_it),
		cmocka_unit_test(without_mergeable_buffers_num_buffers_of_the_device_does_not_count),
		cmocka_unit_test(the_decoder_is_told_what_may_come),
		cmocka_unit_test(the_encoder_is_told_what_the_device_takes),
		cmocka_unit_test(without_any_layout_and_version_1_the_header_lies_apart),
		cmocka_unit_test(a_mergeable_buffer_holds_its_header_itself),
		cmocka_unit_test(without_merged_kinds_a_buffer_holds_header_and_a_tagged_frame),
		cmocka_unit_test(segmentation_without_mergeable_buffers_needs_buffers_of_64_kib),
		cmocka_unit_test(segmentation_is_not_accepted_where_buffers_are_too_short_for_it),
		cmocka_unit_test(mergeable_buffers_may_be_short),
		cmocka_unit_test(buffers_too_short_for_what_is_needed_name_mergeable_buffers),
		cmocka_unit_test(an_mtu_below_68_is_not_believed),
		cmocka_unit_test(a_number_of_queue_pairs_out_of_range_ends_multiqueue),
		cmocka_unit_test(the_control_queue_comes_after_all_pairs_the_device_has),
		cmocka_unit_test(each_ring_feature_stands_alone_in_the_plan),
		cmocka_unit_test(the_usual_set_needs_nothing_else),
	};

	return cmocka_run_group_tests_name("features", tests, NULL, NULL);
}
