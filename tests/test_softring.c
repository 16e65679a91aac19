/* SPDX-License-Identifier: BSD-3-Clause */
/* The examples' device side of a virtqueue against ring memory that is written here byte by byte (virtio 1.2, 2.7 and
 * 2.8): what the library's driver side is tested with must itself be right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "softring.h"

#define SIZE     8u
#define NEXT     1u
#define WRITE    2u
#define INDIRECT 4u
#define AVAIL    0x80u
#define USED     0x8000u

struct area { /* where a driver has put things */
	uint8_t desc[SIZE * 16u];
	uint8_t driver[6u + 2u * SIZE];
	uint8_t device[6u + 8u * SIZE];
	uint8_t table[4u * 16u];
	uint8_t data[64];
	struct softring      *r;
	struct softring_chain chain;
	struct softring_seg   segs[4];
};

static void put(uint8_t *p, unsigned bytes, uint64_t v)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8u * i);
}

static uint32_t get(const uint8_t *p, unsigned bytes)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint32_t)p[i] << 8u * i;
	return v;
}

static struct area *open_at(uint32_t flags, uint32_t start)
{
	struct softring_config cfg = { .size = SIZE, .flags = flags, .start = start };
	struct area *a = aligned_alloc(64, (sizeof(*a) + 63u) / 64u * 64u);

	assert_non_null(a);
	memset(a, 0, sizeof(*a));
	cfg.desc = (uintptr_t)a->desc;
	cfg.driver = (uintptr_t)a->driver;
	cfg.device = (uintptr_t)a->device;
	a->r = softring_new(&cfg);
	assert_non_null(a->r);
	return a;
}

static void shut(struct area *a)
{
	softring_free(a->r);
	free(a);
}

/* A descriptor; in a packed ring `next` is what comes before the flags, the id. */
static void desc(uint8_t *p, const void *addr, uint32_t len, uint32_t flags, uint32_t next, bool packed)
{
	put(p, 8, (uintptr_t)addr);
	put(p + 8, 4, len);
	put(p + (packed ? 14 : 12), 2, flags);
	put(p + (packed ? 12 : 14), 2, next);
}

static void split_desc(struct area *a, unsigned i, uint32_t len, uint32_t flags, uint32_t next)
{
	desc(a->desc + 16u * i, a->data + i, len, flags, next, false);
}

static void offer(struct area *a, uint32_t index, uint32_t head)
{
	put(a->driver + 4u + 2u * (index % SIZE), 2, head);
	put(a->driver + 2, 2, index + 1u);
}

static int take(struct area *a)
{
	return softring_take(a->r, &a->chain, a->segs, 4);
}

/* ---- split ---- */

static void split_chain_is_taken_with_its_segments_and_used_by_its_head(void **state)
{
	struct area *a = open_at(0, 0xffffu);

	(void)state;
	put(a->driver + 2, 2, 0xffffu);
	assert_int_equal(take(a), 0);
	split_desc(a, 5, 3, NEXT, 2);
	split_desc(a, 2, 7, WRITE, 0);
	offer(a, 0xffffu, 5);
	assert_int_equal(take(a), 1);
	assert_int_equal(a->chain.id, 5);
	assert_int_equal(a->chain.slots, 2);
	assert_int_equal(a->chain.out, 1);
	assert_int_equal(a->chain.in, 1);
	assert_ptr_equal(a->segs[1].addr, a->data + 2);
	assert_int_equal(a->segs[1].len, 7);
	softring_put(a->r, &a->chain, 6);
	softring_publish(a->r);
	assert_int_equal(get(a->device + 4u + 8u * (0xffffu % SIZE), 4), 5);
	assert_int_equal(get(a->device + 8u + 8u * (0xffffu % SIZE), 4), 6);
	assert_int_equal(get(a->device + 2, 2), 0); /* after 0xffff */
	shut(a);
}

static void nothing_is_seen_of_a_completion_before_it_is_published(void **state)
{
	struct area *a = open_at(0, 0), *p = open_at(SOFTRING_PACKED, 0);

	(void)state;
	split_desc(a, 0, 7, WRITE, 0);
	offer(a, 0, 0);
	assert_int_equal(take(a), 1);
	assert_int_equal(softring_write(a->segs, 1, 0, "header", 7), 7);
	softring_put(a->r, &a->chain, 7);
	assert_int_equal(get(a->device + 2, 2), 0);
	assert_string_equal((char *)a->data, "header"); /* what it wrote is there before it says so */
	softring_publish(a->r);
	assert_int_equal(get(a->device + 2, 2), 1);
	desc(p->desc, p->data, 7, WRITE | AVAIL, 3, true);
	assert_int_equal(take(p), 1);
	softring_put(p->r, &p->chain, 7);
	assert_int_equal(get(p->desc + 14, 2), WRITE | AVAIL);
	softring_publish(p->r);
	assert_int_equal(get(p->desc + 14, 2), WRITE | AVAIL | USED);
	shut(a);
	shut(p);
}

static void a_batch_in_order_is_one_entry_at_its_first_place(void **state)
{
	struct area *a = open_at(SOFTRING_IN_ORDER, 0);
	struct softring_chain chains[3];

	(void)state;
	for (unsigned i = 0; i < 3u; i++) {
		split_desc(a, i, 7, WRITE, 0);
		offer(a, i, i);
		assert_int_equal(take(a), 1);
		chains[i] = a->chain;
	}
	softring_put_batch(a->r, chains, 3, 4);
	softring_publish(a->r);
	assert_int_equal(get(a->device + 4, 4), 2);
	assert_int_equal(get(a->device + 8, 4), 4);
	assert_int_equal(get(a->device + 12, 4), 0); /* not written */
	assert_int_equal(get(a->device + 2, 2), 3);
	shut(a);
}

/* Completes n chains of one segment, one more than the entry before each. */
static bool use(struct area *a, uint32_t from, unsigned n)
{
	struct softring_chain chains[SIZE];

	for (unsigned i = 0; i < n; i++) {
		split_desc(a, i, 7, WRITE, 0);
		offer(a, from + i, i);
		assert_int_equal(take(a), 1);
		chains[i] = a->chain;
	}
	for (unsigned i = 0; i < n; i++)
		softring_put(a->r, &chains[i], 7);
	return softring_interrupt(a->r);
}

static void interrupt_comes_when_the_asked_index_is_passed_in_one_step(void **state)
{
	static const uint32_t starts[] = { 8, 0, 65534, 65535, 32766 };

	(void)state;
	for (unsigned s = 0; s < 5u; s++) {
		for (uint32_t ahead = 0; ahead < 12u; ahead++) {
			struct area *a = open_at(SOFTRING_EVENT_IDX, starts[s]);

			put(a->driver + 4u + 2u * SIZE, 2, starts[s] + ahead);
			put(a->driver + 2, 2, starts[s]);
			assert_true(use(a, starts[s], 4) == (ahead < 4u));
			assert_true(use(a, starts[s] + 4u, 4) == (ahead >= 4u && ahead < 8u));
			assert_false(softring_interrupt(a->r));
			shut(a);
		}
	}
}

static void sleeping_device_says_where_it_wants_a_doorbell(void **state)
{
	struct area *a = open_at(SOFTRING_EVENT_IDX, 65535), *b = open_at(0, 0);

	(void)state;
	put(a->driver + 2, 2, 65535);
	assert_false(softring_sleep(a->r, 3));
	assert_int_equal(get(a->device + 4u + 8u * SIZE, 2), 1);
	put(a->driver + 2, 2, 2);
	assert_true(softring_sleep(a->r, 3));
	softring_wake(b->r);
	assert_int_equal(get(b->device, 2), 1);
	assert_false(softring_sleep(b->r, 3));
	assert_int_equal(get(b->device, 2), 0);
	shut(a);
	shut(b);
}

/* ---- packed ---- */

static void packed_chain_goes_around_the_end_and_turns_the_wrap_bits(void **state)
{
	struct area *a = open_at(SOFTRING_PACKED, SIZE - 1u);

	(void)state;
	assert_int_equal(softring_next(a->r), 0x8000u | (SIZE - 1u));
	desc(a->desc + 16u * (SIZE - 1u), a->data, 3, NEXT | AVAIL, 9, true);
	assert_int_equal(take(a), SOFTRING_BAD_FLAGS); /* its second half is missing */
	desc(a->desc, a->data, 7, WRITE | USED, 6, true);
	assert_int_equal(take(a), 1);
	assert_int_equal(a->chain.id, 6); /* that of the last descriptor */
	assert_int_equal(a->chain.slots, 2);
	assert_int_equal(softring_next(a->r), 1);
	softring_put(a->r, &a->chain, 5);
	softring_publish(a->r);
	assert_int_equal(get(a->desc + 16u * (SIZE - 1u) + 8u, 4), 5);
	assert_int_equal(get(a->desc + 16u * (SIZE - 1u) + 12u, 2), 6);
	assert_int_equal(get(a->desc + 16u * (SIZE - 1u) + 14u, 2), WRITE | AVAIL | USED);
	assert_int_equal(get(a->desc + 14, 2), WRITE | USED); /* skipped */
	desc(a->desc + 16, a->data, 7, WRITE | USED, 6, true);
	assert_int_equal(take(a), 1);
	softring_put(a->r, &a->chain, 0);
	softring_publish(a->r);
	assert_int_equal(get(a->desc + 16 + 14, 2), 0);
	shut(a);
}

static void packed_interrupt_comes_for_the_asked_slot_of_the_asked_lap(void **state)
{
	(void)state;
	for (uint32_t ahead = 0; ahead < 2u * SIZE; ahead++) {
		struct area *a = open_at(SOFTRING_PACKED | SOFTRING_EVENT_IDX, 6);
		uint32_t at = (6u + ahead) % (2u * SIZE);

		put(a->driver, 2, at % SIZE | (at < SIZE ? 0x8000u : 0u));
		put(a->driver + 2, 2, 2);
		for (unsigned i = 0; i < 4u; i++)
			desc(a->desc + 16u * ((6u + i) % SIZE), a->data, 7, WRITE | (i < 2u ? AVAIL : USED), i, true);
		for (unsigned i = 0; i < 4u; i++) {
			assert_int_equal(take(a), 1);
			softring_put(a->r, &a->chain, 1);
		}
		assert_true(softring_interrupt(a->r) == (ahead < 4u));
		shut(a);
	}
}

/* ---- drivers that break the rules ---- */

static void split_fault(uint32_t flags, uint32_t first, uint32_t len, uint32_t next, int fault)
{
	struct area *a = open_at(flags, 0);

	split_desc(a, 1, len, first, next);
	split_desc(a, 2, 5, 0, 0);
	split_desc(a, 3, 5, NEXT, 1);
	offer(a, 0, 1);
	assert_int_equal(take(a), fault);
	shut(a);
}

static void chains_against_the_rules_are_reported(void **state)
{
	struct area *a = open_at(0, 0);

	(void)state;
	split_fault(0, 0, 0, 0, SOFTRING_BAD_LEN);
	split_fault(0, NEXT, 5, SIZE, SOFTRING_BAD_HEAD);
	split_fault(0, NEXT, 5, 3, SOFTRING_BAD_CHAIN); /* a circle */
	split_fault(0, NEXT | WRITE, 5, 2, SOFTRING_BAD_ORDER);
	split_fault(0, INDIRECT, 16, 0, SOFTRING_BAD_TABLE);
	split_fault(SOFTRING_INDIRECT, INDIRECT, 17, 0, SOFTRING_BAD_TABLE);
	split_fault(SOFTRING_INDIRECT, INDIRECT | NEXT, 16, 2, SOFTRING_BAD_TABLE);
	split_fault(SOFTRING_IN_ORDER, NEXT, 5, 3, SOFTRING_BAD_NEXT);
	offer(a, 0, SIZE);
	assert_int_equal(take(a), SOFTRING_BAD_HEAD);
	put(a->driver + 2, 2, SIZE + 1u);
	assert_int_equal(take(a), SOFTRING_BAD_INDEX);
	split_desc(a, 1, 5, 0, 0);
	softring_reset(a->r);
	offer(a, 0, 1);
	assert_int_equal(take(a), 1);
	offer(a, 1, 1);
	assert_int_equal(take(a), SOFTRING_BAD_TWICE);
	shut(a);
}

static void indirect_tables_are_walked_by_next_or_in_a_row(void **state)
{
	struct area *a = open_at(SOFTRING_INDIRECT, 0), *p = open_at(SOFTRING_PACKED | SOFTRING_INDIRECT, 0);

	(void)state;
	desc(a->table, a->data, 3, NEXT, 2, false);
	desc(a->table + 16u * 2, a->data + 3, 4, NEXT | WRITE, 1, false);
	desc(a->table + 16, a->data + 7, 5, WRITE, 0, false);
	desc(a->desc + 16u * 4, a->table, 48, INDIRECT, 0, false);
	offer(a, 0, 4);
	assert_int_equal(take(a), 1);
	assert_int_equal(a->chain.slots, 1);
	assert_int_equal(a->chain.in, 2);
	assert_int_equal(a->segs[2].len, 5);
	desc(p->table, p->data, 3, 0, 0, true);
	desc(p->table + 16, p->data + 3, 4, WRITE, 0, true);
	desc(p->desc, p->table, 32, INDIRECT | AVAIL, 77, true);
	assert_int_equal(take(p), 1);
	assert_int_equal(p->chain.id, 77);
	assert_int_equal(p->chain.out, 1);
	assert_int_equal(p->segs[1].len, 4);
	shut(a);
	shut(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(split_chain_is_taken_with_its_segments_and_used_by_its_head),
		cmocka_unit_test(nothing_is_seen_of_a_completion_before_it_is_published),
		cmocka_unit_test(a_batch_in_order_is_one_entry_at_its_first_place),
		cmocka_unit_test(interrupt_comes_when_the_asked_index_is_passed_in_one_step),
		cmocka_unit_test(sleeping_device_says_where_it_wants_a_doorbell),
		cmocka_unit_test(packed_chain_goes_around_the_end_and_turns_the_wrap_bits),
		cmocka_unit_test(packed_interrupt_comes_for_the_asked_slot_of_the_asked_lap),
		cmocka_unit_test(chains_against_the_rules_are_reported),
		cmocka_unit_test(indirect_tables_are_walked_by_next_or_in_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
