/* SPDX-License-Identifier: BSD-3-Clause */
/* Time, sizes and numbers: every limit at its edge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gro_rig.h"

/* G31 */
static void interleaved_flows_pair_up(void **state)
{
	struct vnetrx_gro_config one = { .flows = 1 };
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	for (unsigned round = 0; round < 2u; round++) {
		for (unsigned flow = 0; flow < 64u; flow++) {
			frame_init(&f, flow);
			f.seq += round * 100u;
			f.id = (uint16_t)(f.id + round);
			gro_rig_frame(rig, &f);
		}
	}
	gro_rig_flush(rig);
	assert_int_equal(rig->nout, 64);
	assert_int_equal(gro_rig_stats(rig).joined, 64);
	assert_int_equal(gro_rig_stats(rig).left_evicted, 0);
	gro_rig_free(rig);

	rig = gro_rig_new(&one);
	frame_init(&f, 1);
	gro_rig_next(rig, &f);
	gro_rig_next(rig, &f);
	frame_init(&f, 2);
	gro_rig_next(rig, &f);
	gro_rig_expect(rig, "200:evicted");
	gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "200:flush");
	gro_rig_free(rig);
}

/* the least recently joined makes room */
static void flow_that_was_quiet_longest_is_evicted(void **state)
{
	struct vnetrx_gro_config cfg = { .flows = 2 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame a, b, c;

	(void)state;
	frame_init(&a, 1);
	frame_init(&b, 2);
	frame_init(&c, 3);
	a.payload_len = 110;
	b.payload_len = 120;
	c.payload_len = 130;
	gro_rig_next(rig, &a);
	rig->now = 1;
	gro_rig_next(rig, &b);
	rig->now = 2;
	gro_rig_next(rig, &a);
	gro_rig_next(rig, &c);
	gro_rig_expect(rig, "120:evicted");
	gro_rig_next(rig, &b);
	gro_rig_expect(rig, "220:evicted");
	gro_rig_free(rig);
}

static void flood_of_flows_costs_evictions_and_nothing_else(void **state)
{
	struct vnetrx_gro_config cfg = { .flows = 16 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	for (unsigned i = 0; i < 3000u; i++) {
		frame_init(&f, i);
		f.dst[3] = (uint8_t)i;
		f.payload_len = 1;
		gro_rig_frame(rig, &f);
		assert_true(vnetrx_gro_held(rig->gro) <= 16u);
	}
	assert_true(gro_rig_stats(rig).left_evicted >= 3000u - 16u);
	gro_rig_free(rig);
}

/* C6 */
static void ipv4_packet_ends_before_its_length_field_does(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 1460;
	for (unsigned i = 0; i < 45u; i++)
		gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "64240:full 1460:flush");
	gro_rig_free(rig);
}

/* G32 */
static void ipv6_packet_fills_up_to_the_last_byte(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	for (unsigned tail = 899; tail <= 900u; tail++) {
		frame_init6(&f, 0);
		f.payload_len = 4036;
		for (unsigned i = 0; i < 16u; i++)
			gro_rig_next(rig, &f);
		f.payload_len = tail;
		gro_rig_next(rig, &f);
		gro_rig_flush(rig);
	}
	gro_rig_expect(rig, "65475:short 64576:full 900:flush");
	gro_rig_free(rig);
}

static void packet_leaves_at_segs_max(void **state)
{
	struct vnetrx_gro_config cfg = { .segs_max = 3 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	for (unsigned i = 0; i < 7u; i++)
		gro_rig_next(rig, &f);
	gro_rig_expect(rig, "300:full 300:full");
	gro_rig_flush(rig);
	gro_rig_expect(rig, "100:flush");
	gro_rig_free(rig);
}

static void default_segs_max_is_128(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 1;
	f.pad = true;
	for (unsigned i = 0; i < 129u; i++)
		gro_rig_next(rig, &f);
	gro_rig_expect(rig, "128:full");
	gro_rig_free(rig);
}

static void bytes_max_counts_the_ip_header(void **state)
{
	struct vnetrx_gro_config cfg = { .bytes_max = 1280 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 620; /* 40 + 2 * 620 = 1280 */
	for (unsigned i = 0; i < 3u; i++)
		gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "1240:full 620:flush");
	frame_init(&f, 1);
	f.payload_len = 621;
	for (unsigned i = 0; i < 2u; i++)
		gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "621:full 621:flush");
	frame_init(&f, 2);
	f.payload_len = 1240; /* nothing can join */
	for (unsigned i = 0; i < 2u; i++)
		gro_rig_next(rig, &f);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "1240:full 1240:flush");
	gro_rig_free(rig);
}

/* several in one call are as good as one by one */
static void batch_joins_like_single_packets(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct vnetrx_pkt *pkts[40];
	struct vnetrx_pktq out = { NULL, NULL, 0 };
	struct frame f;
	uint8_t bytes[512];

	(void)state;
	frame_init(&f, 0);
	for (unsigned i = 0; i < 40u; i++) {
		size_t len = frame_build(&f, bytes);

		pkts[i] = gro_rig_pkt(rig, bytes, len, 0, 0);
		f.seq += 100;
		f.id++;
	}
	vnetrx_gro_receive(rig->gro, pkts, 40, 0, &out);
	assert_int_equal(out.count, 0);
	vnetrx_gro_flush(rig->gro, &out);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.first->segs, 40);
	assert_int_equal(out.first->len, 54 + 4000);
	assert_int_equal(out.first->nfrags, 40);
	gro_rig_free(rig);
}

static void bad_configurations_are_refused(void **state)
{
	static const struct vnetrx_gro_config bad[] = {
		{ .flows = 64 },                                       /* no key */
		{ .hash_key = { 1, 2 }, .flows = 65537 },
		{ .hash_key = { 1, 2 }, .bytes_max = 1279 },
		{ .hash_key = { 1, 2 }, .bytes_max = 524281 },
		{ .hash_key = { 1, 2 }, .segs_max = 1 },
		{ .hash_key = { 1, 2 }, .segs_max = 65536 },
		{ .hash_key = { 1, 2 }, .flags = 0x80000000u },
		{ .hash_key = { 1, 2 }, .flags = VNETRX_GRO_PROFILE_VIRTIO, .bytes_max = 524281 },
	};
	struct vnetrx_gro_config good = { .hash_key = { 0, 1 } };
	size_t size = vnetrx_gro_footprint(&good, NULL);
	void *mem = aligned_alloc(64, (size + 63u) / 64u * 64u + 64u);
	struct vnetrx_gro *gro;

	(void)state;
	assert_non_null(mem);
	assert_true(size > 0u);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *why = NULL;

		assert_int_equal(vnetrx_gro_footprint(&bad[i], &why), 0);
		assert_non_null(why);
		assert_int_equal(vnetrx_gro_init(&gro, &bad[i], mem, size), VNETRX_ERR_INVALID);
	}
	assert_int_equal(vnetrx_gro_init(&gro, &good, mem, size - 1u), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_gro_init(&gro, &good, (uint8_t *)mem + 8, size), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_gro_init(&gro, &good, NULL, size), VNETRX_ERR_NOMEM);
	assert_int_equal(vnetrx_gro_init(&gro, &good, mem, size), VNETRX_OK);
	free(mem);
}

/* -Dgro=tcp leaves protocols out: a configuration that wants them says so, and the default is what is there */
static void protocols_are_accepted_as_they_were_built_in(void **state)
{
	static const uint32_t protos[] = { VNETRX_GRO_TCP, VNETRX_GRO_UDP, VNETRX_GRO_TUNNEL, 8 };
	struct vnetrx_gro_config cfg = { .hash_key = { 1, 2 } };

	(void)state;
	assert_true(vnetrx_gro_footprint(&cfg, NULL) > 0u);
	for (unsigned i = 0; i < 4u; i++) {
		const char *why = NULL;

		cfg.protos = protos[i];
		assert_int_equal(vnetrx_gro_footprint(&cfg, &why) > 0u, (protos[i] & GRO_KNOWN) != 0u);
		assert_int_equal(why == NULL, (protos[i] & GRO_KNOWN) != 0u);
	}
}

/* A segment whose payload lies in so many fragments of one byte; fragment 0 holds the headers. */
static struct vnetrx_pkt *crumbs(const struct frame *f, uint8_t *bytes, struct vnetrx_pkt *pkts)
{
	uint32_t len = (uint32_t)frame_build(f, bytes), hdr_len = len - f->payload_len;

	vnetrx_pkt_wrap(&pkts[0], bytes, len, VNETRX_PKT_CSUM_OK);
	pkts[0].frag_len = hdr_len;
	for (uint32_t i = 0; i < f->payload_len; i++) {
		vnetrx_pkt_wrap(&pkts[i + 1u], bytes + hdr_len + i, 1, 0);
		pkts[i].chain = &pkts[i + 1u];
	}
	pkts[0].nfrags = (uint16_t)(f->payload_len + 1u);
	return pkts;
}

static void packet_has_at_most_65535_fragments(void **state)
{
	struct vnetrx_gro_config cfg = { .bytes_max = 200000, .hash_key = { 1, 2 } };
	size_t size = vnetrx_gro_footprint(&cfg, NULL);
	struct vnetrx_pktq out = { NULL, NULL, 0 };
	struct vnetrx_pkt *made[2];
	uint8_t *bytes[2];
	struct vnetrx_gro *gro;
	struct frame f;
	void *mem = aligned_alloc(64, (size + 63u) / 64u * 64u);

	(void)state;
	assert_non_null(mem);
	assert_int_equal(vnetrx_gro_init(&gro, &cfg, mem, size), VNETRX_OK);
	frame_init6(&f, 0);
	f.payload_len = 32767;
	for (unsigned i = 0; i < 2u; i++) {
		struct vnetrx_pkt *pkt;

		made[i] = calloc(f.payload_len + 1u, sizeof(*made[i]));
		bytes[i] = malloc(FRAME_MAX);
		assert_true(made[i] != NULL && bytes[i] != NULL);
		pkt = crumbs(&f, bytes[i], made[i]);
		vnetrx_gro_receive(gro, &pkt, 1, 0, &out);
		f.seq += f.payload_len;
	}
	assert_int_equal(out.count, 1); /* with the second it would have 65536 */
	assert_int_equal(out.first->segs, 1);
	vnetrx_gro_flush(gro, &out);
	assert_int_equal(out.count, 2);
	for (unsigned i = 0; i < 2u; i++) {
		free(made[i]);
		free(bytes[i]);
	}
	free(mem);
}

static void packet_has_at_most_65535_buffers(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	for (unsigned i = 0; i < 2u; i++) {
		struct vnetrx_pkt *pkt = gro_rig_made(rig, &f, 0, 0);

		pkt->nbufs = 32768;
		gro_rig_put(rig, pkt);
		f.seq += f.payload_len;
		f.id++;
	}
	gro_rig_flush(rig);
	gro_rig_expect(rig, "100:full 100:flush");
	gro_rig_free(rig);
}

static void packet_longer_than_bytes_max_leaves_alone(void **state)
{
	struct vnetrx_gro_config cfg = { .bytes_max = 1280 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 1241;
	for (unsigned i = 0; i < 2u; i++) {
		gro_rig_put(rig, gro_rig_made(rig, &f, 0, VNETRX_PKT_CSUM_OK));
		f.seq += f.payload_len;
		f.id++;
	}
	gro_rig_flush(rig);
	assert_int_equal(rig->nout, 2);
	assert_int_equal(gro_rig_stats(rig).joined, 0);
	gro_rig_free(rig);
}

static void full_table_evicts_on_the_short_way_too(void **state)
{
	struct vnetrx_gro_config cfg = { .flows = 2 };
	struct gro_rig *rig = gro_rig_new(&cfg);
	struct frame f;

	(void)state;
	for (unsigned i = 0; i < 5u; i++) {
		frame_init(&f, i);
		frame_timestamp(&f, 1, 2);
		gro_rig_put(rig, gro_rig_made(rig, &f, 0, VNETRX_PKT_CSUM_OK));
	}
	gro_rig_expect(rig, "100:evicted 100:evicted 100:evicted");
	gro_rig_flush(rig);
	gro_rig_expect(rig, "100:flush 100:flush");
	gro_rig_free(rig);
}

/* The longest IP packet and its Ethernet header are more than 65535 bytes. */
static void frame_longer_than_a_record_can_say_is_not_held(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct frame f;

	(void)state;
	frame_init(&f, 0);
	f.payload_len = 65495;
	gro_rig_put(rig, gro_rig_made(rig, &f, 0, VNETRX_PKT_CSUM_OK));
	gro_rig_expect(rig, "65495:passed");
	assert_int_equal(gro_rig_stats(rig).held_new, 0);
	gro_rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interleaved_flows_pair_up),
		cmocka_unit_test(flow_that_was_quiet_longest_is_evicted),
		cmocka_unit_test(flood_of_flows_costs_evictions_and_nothing_else),
		cmocka_unit_test(ipv4_packet_ends_before_its_length_field_does),
		cmocka_unit_test(ipv6_packet_fills_up_to_the_last_byte),
		cmocka_unit_test(packet_leaves_at_segs_max),
		cmocka_unit_test(default_segs_max_is_128),
		cmocka_unit_test(bytes_max_counts_the_ip_header),
		cmocka_unit_test(batch_joins_like_single_packets),
		cmocka_unit_test(bad_configurations_are_refused),
		cmocka_unit_test(protocols_are_accepted_as_they_were_built_in),
		cmocka_unit_test(packet_has_at_most_65535_fragments),
		cmocka_unit_test(packet_has_at_most_65535_buffers),
		cmocka_unit_test(packet_longer_than_bytes_max_leaves_alone),
		cmocka_unit_test(full_table_evicts_on_the_short_way_too),
		cmocka_unit_test(frame_longer_than_a_record_can_say_is_not_held),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
