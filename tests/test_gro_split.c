/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers that lie in several fragments: the result is that of one piece. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gro_rig.h"
#include "support/stream.h"

#define LAYOUTS 12u
#define SPLIT_MAX 140u

struct layout {
	struct frame        f;
	struct frame_tunnel t;
};

static void layout_init(struct layout *l, unsigned number)
{
	frame_tunnel_init(&l->t, number % FR_TUNNELS, number == 9u);
	if (number == 1u || number == 3u || number == 8u)
		frame_init6(&l->f, 0);
	else
		frame_init(&l->f, 0);
	frame_timestamp(&l->f, 5, 6);
	if (number == 2u || number == 3u) {
		l->f.vlans = number - 1u;
		l->f.vlan_proto[0] = l->f.vlan_proto[1] = 0x8100;
	}
	l->f.pppoe = number == 4u;
	if (number == 5u)
		frame_udp(&l->f);
	if (number == 6u) {
		l->f.v6 = true;
		l->f.exts = 1;
		l->f.ext[0] = (struct frame_ext){ 0, 1, 3 };
	}
	if (number >= 7u) {
		l->f.tunnel = &l->t;
		l->t.outer.no_csum = number != 10u;
	}
}

/* Was the library built to merge it? */
static bool layout_known(unsigned number)
{
	return number < 4u || number == 6u || GRO_KNOWN != VNETRX_GRO_TCP;
}

static void put(struct gro_rig *rig, struct layout *l, size_t split, size_t split2)
{
	uint32_t flags = gro_rig_verified ? VNETRX_PKT_CSUM_OK | VNETRX_PKT_CSUM_INNER : 0u;
	struct vnetrx_pkt *pkt = gro_rig_made(rig, &l->f, split, flags);

	if (split2 > 0u && pkt->chain != NULL && split2 < pkt->chain->frag_len) { /* once more */
		struct vnetrx_pkt *rest =
			gro_rig_pkt(rig, pkt->chain->data + split2, pkt->chain->frag_len - split2, 0, 0);

		pkt->chain->frag_len = (uint32_t)split2;
		pkt->chain->chain = rest;
		pkt->nfrags = 3;
	}
	gro_rig_put(rig, pkt);
	l->f.seq += l->f.payload_len;
	l->f.id++;
	l->t.outer.id++;
}

/* Three segments, each in pieces or not; the bytes and the descriptor of what leaves. */
static size_t merge(struct layout *l, const size_t *split, size_t split2, uint32_t flags, uint8_t *bytes,
                    struct vnetrx_pkt *head)
{
	struct vnetrx_gro_config cfg = { .protos = GRO_KNOWN,
					 .flags = flags };
	struct gro_rig *rig = gro_rig_new(&cfg);
	size_t len;

	for (unsigned i = 0; i < 3u; i++)
		put(rig, l, split[i], split2);
	gro_rig_flush(rig);
	gro_rig_expect(rig, "300:flush");
	len = rig->bytes_len;
	memcpy(bytes, rig->bytes, len);
	*head = *rig->last;
	gro_rig_free(rig);
	return len;
}

static void same(const struct vnetrx_pkt *a, const struct vnetrx_pkt *b)
{
	assert_int_equal(a->len, b->len);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->segs, b->segs);
	assert_int_equal(a->gso_size, b->gso_size);
	assert_int_equal(a->gso_type, b->gso_type);
	assert_int_equal(a->l3_off, b->l3_off);
	assert_int_equal(a->l4_off, b->l4_off);
	assert_int_equal(a->hdr_len, b->hdr_len);
}

static void try_split(unsigned number, const size_t *split, size_t split2, uint32_t flags)
{
	static const size_t whole[3] = { 0, 0, 0 };
	uint8_t want[1024], got[1024];
	struct vnetrx_pkt want_head, got_head;
	struct layout l;
	size_t len;

	layout_init(&l, number);
	len = merge(&l, whole, 0, flags, want, &want_head);
	layout_init(&l, number);
	assert_int_equal(merge(&l, split, split2, flags, got, &got_head), len);
	assert_memory_equal(got, want, len);
	same(&got_head, &want_head);
}

/* G5, G4 */
static void header_split_at_any_byte_gives_the_same(void **state)
{
	(void)state;
	for (unsigned number = 0; number < LAYOUTS; number++) {
		for (size_t at = 1; at < SPLIT_MAX && layout_known(number); at += stream_step(7)) {
			try_split(number, (const size_t[3]){ at, at, at }, 0, 0);
			try_split(number, (const size_t[3]){ at, 0, 0 }, 0, VNETRX_GRO_CSUM_BYTES);
			try_split(number, (const size_t[3]){ 0, at, 0 }, 0, 0);
			try_split(number, (const size_t[3]){ at, 0, SPLIT_MAX - at }, 0, 0);
		}
	}
}

static void header_in_three_pieces_gives_the_same(void **state)
{
	(void)state;
	for (unsigned number = 0; number < LAYOUTS; number++) {
		for (size_t at = 1; at < 60u && layout_known(number); at += 7)
			try_split(number, (const size_t[3]){ at, at, at }, at / 2u + 1u, VNETRX_GRO_CSUM_BYTES);
	}
}

/* one that leaves alone is not touched */
static void single_packet_in_pieces_leaves_as_it_came(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	struct layout l;

	(void)state;
	for (unsigned number = 0; number < LAYOUTS; number++) {
		for (size_t at = 1; at < SPLIT_MAX; at += 3) {
			layout_init(&l, number);
			put(rig, &l, at, 0);
			gro_rig_flush(rig);
			assert_int_equal(rig->last->nfrags, 2);
		}
	}
	gro_rig_free(rig);
}

/* the last segment's flags end up in the gathered headers, and from there in the first fragments */
static void push_reaches_headers_in_pieces(void **state)
{
	(void)state;
	for (size_t at = 10; at < 80u; at++) {
		struct gro_rig *rig = gro_rig_new(NULL);
		struct layout l;

		layout_init(&l, 0);
		put(rig, &l, at, 0);
		put(rig, &l, at, 0);
		l.f.flags |= FR_PSH | FR_FIN;
		put(rig, &l, at, 0);
		gro_rig_expect(rig, "300:push");
		assert_int_equal(rig->bytes[14 + 20 + 13], FR_ACK | FR_PSH | FR_FIN);
		gro_rig_free(rig);
	}
}

/* there is room to gather the headers of a few; one more passes, in order, and room comes back */
static void more_split_headers_than_can_be_gathered_pass(void **state)
{
	struct gro_rig *rig = gro_rig_new(NULL);
	unsigned held;
	struct layout l;

	(void)state;
	for (unsigned round = 0; round < 3u; round++) {
		for (unsigned i = 0; i < 30u; i++) {
			layout_init(&l, 0);
			l.f.sport = (uint16_t)(3000u + i);
			put(rig, &l, 20, 0);
		}
		held = vnetrx_gro_held(rig->gro);
		assert_true(held >= 4u && held < 30u);
		assert_int_equal(rig->nout, 30u - held);
		layout_init(&l, 0);
		l.f.sport = 3000;
		l.f.seq += 100;
		l.f.id++;
		put(rig, &l, 33, 0);
		gro_rig_flush(rig);
		rig->nout = 0;
		rig->text[0] = '\0';
	}
	assert_true(gro_rig_stats(rig).joined == 3u);
	gro_rig_free(rig);
}

static void padding_goes_from_whichever_piece_it_lies_in(void **state)
{
	(void)state;
	for (size_t at = 53; at < 60u; at++) {
		struct gro_rig *rig = gro_rig_new(NULL);
		struct frame f;

		frame_init(&f, 0);
		f.payload_len = 2; /* 56 bytes, and four of padding */
		f.pad = true;
		for (unsigned i = 0; i < 2u; i++) {
			gro_rig_put(rig, gro_rig_made(rig, &f, at, gro_rig_verified ? VNETRX_PKT_CSUM_OK : 0u));
			f.seq += 2u;
			f.id++;
		}
		gro_rig_flush(rig);
		gro_rig_expect(rig, "4:flush");
		assert_int_equal(rig->last->len, 58);
		gro_rig_free(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_split_at_any_byte_gives_the_same),
		cmocka_unit_test(header_in_three_pieces_gives_the_same),
		cmocka_unit_test(single_packet_in_pieces_leaves_as_it_came),
		cmocka_unit_test(push_reaches_headers_in_pieces),
		cmocka_unit_test(more_split_headers_than_can_be_gathered_pass),
		cmocka_unit_test(padding_goes_from_whichever_piece_it_lies_in),
	};

	gro_rig_verified = getenv("VNETRX_VERIFIED") != NULL; /* else checksums are verified here */
	return cmocka_run_group_tests_name(gro_rig_verified ? "device-verified" : "verified here", tests, NULL, NULL);
}
