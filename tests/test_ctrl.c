/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vnetrx/virtio_ctrl.h"

#define N(name) VNETRX_NET_F_##name

static const struct vnetrx_features everything = { { UINT64_MAX, UINT64_MAX } };
static const struct vnetrx_features nothing;

/* The set of one bit, and all sets but that. */
static struct vnetrx_features only(unsigned bit)
{
	struct vnetrx_features set = nothing;

	vnetrx_features_add(&set, bit);
	return set;
}

static struct vnetrx_features all_but(unsigned bit)
{
	struct vnetrx_features set = everything;

	vnetrx_features_drop(&set, bit);
	return set;
}

/* A message is these bytes, and waits for an answer of in_len bytes. */
static void says(const struct vnetrx_ctrl_msg *msg, const char *bytes, size_t len, unsigned in_len)
{
	assert_int_equal(msg->out_len, len);
	assert_memory_equal(msg->out, bytes, len);
	assert_int_equal(msg->in_len, in_len);
	for (unsigned i = 0; i < sizeof(msg->in); i++)
		assert_int_equal(msg->in[i], 0xff);
}

#define SAYS(msg, bytes, in_len) says(msg, bytes, sizeof(bytes) - 1u, in_len)

/* ---- notification coalescing ---- */

static void coalescing_of_all_queues_carries_packets_before_microseconds(void **state)
{
	struct vnetrx_features accepted = only(N(NOTF_COAL));
	struct vnetrx_ctrl_msg msg;

	(void)state;
	assert_int_equal(vnetrx_ctrl_coal_rx(&accepted, 0x01020304, 0x05060708, &msg), VNETRX_OK);
	SAYS(&msg, "\x06\x01\x08\x07\x06\x05\x04\x03\x02\x01", 1);
	assert_int_equal(vnetrx_ctrl_coal_tx(&accepted, 64, 256, &msg), VNETRX_OK);
	SAYS(&msg, "\x06\x00\x00\x01\x00\x00\x40\x00\x00\x00", 1);
}

static void coalescing_of_one_queue_carries_its_index_and_two_zero_bytes(void **state)
{
	struct vnetrx_features accepted = only(N(VQ_NOTF_COAL));
	struct vnetrx_ctrl_msg msg;

	(void)state;
	assert_int_equal(vnetrx_ctrl_coal_set(&accepted, 0x1234, 8, 256, &msg), VNETRX_OK);
	SAYS(&msg, "\x06\x02\x34\x12\x00\x00\x00\x01\x00\x00\x08\x00\x00\x00", 1);
}

static void coalescing_of_one_queue_is_read_from_the_answer(void **state)
{
	struct vnetrx_features accepted = only(N(VQ_NOTF_COAL));
	uint32_t usecs = 1, packets = 2;
	struct vnetrx_ctrl_msg msg;

	(void)state;
	assert_int_equal(vnetrx_ctrl_coal_get(&accepted, 6, &msg), VNETRX_OK);
	SAYS(&msg, "\x06\x03\x06\x00\x00\x00", 9);
	memcpy(msg.in, "\x08\x07\x06\x05\x04\x03\x02\x01\x00", 9);
	assert_int_equal(vnetrx_ctrl_coal_read(&msg, &usecs, &packets), VNETRX_OK);
	assert_int_equal(packets, 0x05060708);
	assert_int_equal(usecs, 0x01020304);
}

static void coalescing_parameters_of_a_refusal_are_ignored(void **state)
{
	struct vnetrx_features accepted = only(N(VQ_NOTF_COAL));
	uint32_t usecs = 1, packets = 2;
	struct vnetrx_ctrl_msg msg;

	(void)state;
	assert_int_equal(vnetrx_ctrl_coal_get(&accepted, 0, &msg), VNETRX_OK);
	assert_int_equal(vnetrx_ctrl_coal_read(&msg, &usecs, &packets), VNETRX_ERR_BAD); /* nothing written */
	memcpy(msg.in, "\x08\x07\x06\x05\x04\x03\x02\x01\x01", 9);
	assert_int_equal(vnetrx_ctrl_coal_read(&msg, &usecs, &packets), VNETRX_ERR_CANNOT);
	assert_int_equal(usecs, 1);
	assert_int_equal(packets, 2);
}

static void other_answers_have_no_coalescing_parameters(void **state)
{
	uint32_t usecs = 1, packets = 2;
	struct vnetrx_ctrl_msg msg;

	(void)state;
	assert_int_equal(vnetrx_ctrl_coal_set(&everything, 0, 8, 256, &msg), VNETRX_OK);
	msg.in[0] = 0;
	assert_int_equal(vnetrx_ctrl_coal_read(&msg, &usecs, &packets), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_ctrl_offloads(&everything, &nothing, &msg), VNETRX_OK); /* of another class */
	msg.in[0] = 0;
	assert_int_equal(vnetrx_ctrl_coal_read(&msg, &usecs, &packets), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_ctrl_coal_get(&everything, 0, &msg), VNETRX_OK);
	msg.in_len--;
	assert_int_equal(vnetrx_ctrl_coal_read(&msg, &usecs, &packets), VNETRX_ERR_INVALID);
	assert_int_equal(usecs, 1);
	assert_int_equal(packets, 2);
}

/* ---- queues ---- */

static void queue_pairs_are_from_one_to_what_the_device_has(void **state)
{
	struct vnetrx_features accepted = only(N(MQ));
	struct vnetrx_ctrl_msg msg;

	(void)state;
	assert_int_equal(vnetrx_ctrl_pairs(&accepted, 3, 4, &msg), VNETRX_OK);
	SAYS(&msg, "\x04\x00\x03\x00", 1);
	assert_int_equal(vnetrx_ctrl_pairs(&accepted, 0x8000, 0x8000, &msg), VNETRX_OK);
	SAYS(&msg, "\x04\x00\x00\x80", 1);
	assert_int_equal(vnetrx_ctrl_pairs(&accepted, 0, 4, &msg), VNETRX_ERR_INVALID);
	assert_int_equal(vnetrx_ctrl_pairs(&accepted, 5, 4, &msg), VNETRX_ERR_INVALID);
}

static void a_hash_has_types_eight_zero_bytes_and_a_key(void **state)
{
	struct vnetrx_features accepted = only(N(HASH_REPORT));
	struct vnetrx_ctrl_msg msg;
	uint8_t key[41];

	(void)state;
	for (unsigned i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(i + 1u);
	assert_int_equal(vnetrx_ctrl_hash(&accepted, 0x1ff, key, 3, &msg), VNETRX_OK);
	SAYS(&msg, "\x04\x02\xff\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x01\x02\x03", 1);
	assert_int_equal(vnetrx_ctrl_hash(&accepted, 0, NULL, 0, &msg), VNETRX_OK);
	SAYS(&msg, "\x04\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 1);
	assert_int_equal(vnetrx_ctrl_hash(&accepted, 1, key, 40, &msg), VNETRX_OK);
	assert_int_equal(msg.out_len, 55);
	assert_memory_equal(msg.out + 15, key, 40);
	assert_int_equal(vnetrx_ctrl_hash(&accepted, 1, key, 41, &msg), VNETRX_ERR_INVALID);
}

/* ---- what is received ---- */

static void a_receive_mode_is_turned_on_and_off(void **state)
{
	struct vnetrx_ctrl_msg msg;

	(void)state;
	assert_int_equal(vnetrx_ctrl_rx_mode(&everything, VNETRX_RX_PROMISC, true, &msg), VNETRX_OK);
	SAYS(&msg, "\x00\x00\x01", 1);
	assert_int_equal(vnetrx_ctrl_rx_mode(&everything, VNETRX_RX_ALLMULTI, false, &msg), VNETRX_OK);
	SAYS(&msg, "\x00\x01\x00", 1);
	assert_int_equal(vnetrx_ctrl_rx_mode(&everything, VNETRX_RX_NOBCAST, true, &msg), VNETRX_OK);
	SAYS(&msg, "\x00\x05\x01", 1);
	assert_int_equal(vnetrx_ctrl_rx_mode(&everything, (enum vnetrx_rx_mode)6, true, &msg), VNETRX_ERR_INVALID);
}

static void an_announcement_is_acknowledged_without_data(void **state)
{
	struct vnetrx_ctrl_msg msg;

	(void)state;
	assert_int_equal(vnetrx_ctrl_announced(&everything, &msg), VNETRX_OK);
	SAYS(&msg, "\x03\x00", 1);
}

static void offloads_are_a_mask_of_64_bits(void **state)
{
	struct vnetrx_features on = only(N(GUEST_CSUM));
	struct vnetrx_ctrl_msg msg;

	(void)state;
	assert_int_equal(vnetrx_ctrl_offloads(&everything, &nothing, &msg), VNETRX_OK);
	SAYS(&msg, "\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00", 1);
	vnetrx_features_add(&on, N(GUEST_TSO4));
	vnetrx_features_add(&on, N(GUEST_TSO6));
	vnetrx_features_add(&on, N(GUEST_USO4));
	vnetrx_features_add(&on, N(GUEST_USO6));
	assert_int_equal(vnetrx_ctrl_offloads(&everything, &on, &msg), VNETRX_OK);
	SAYS(&msg, "\x05\x00\x82\x01\x00\x00\x00\x00\xc0\x00", 1);
	vnetrx_features_add(&on, N(GUEST_ECN));
	vnetrx_features_add(&on, N(GUEST_UFO));
	vnetrx_features_add(&on, N(GUEST_UDP_TUNNEL_GSO)); /* 65 and 66 have no bit of their own: 46 and 47 */
	vnetrx_features_add(&on, N(GUEST_UDP_TUNNEL_GSO_CSUM));
	assert_int_equal(vnetrx_ctrl_offloads(&everything, &on, &msg), VNETRX_OK);
	SAYS(&msg, "\x05\x00\x82\x07\x00\x00\x00\xc0\xc0\x00", 1);
}

static struct vnetrx_features everything_offloaded(void)
{
	static const unsigned bits[] = { N(GUEST_CSUM), N(GUEST_TSO4), N(GUEST_TSO6), N(GUEST_USO4),
		                         N(GUEST_USO6), N(GUEST_UDP_TUNNEL_GSO) };
	struct vnetrx_features set = nothing;

	for (unsigned i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		vnetrx_features_add(&set, bits[i]);
	return set;
}

static void offloads_that_cannot_be_on_are_refused(void **state)
{
	struct vnetrx_features accepted = all_but(N(GUEST_TSO6)), on = only(N(GUEST_CSUM));
	struct vnetrx_ctrl_msg msg;

	(void)state;
	vnetrx_features_add(&on, N(GUEST_TSO6)); /* not accepted */
	assert_int_equal(vnetrx_ctrl_offloads(&accepted, &on, &msg), VNETRX_ERR_INVALID);
	accepted = all_but(N(GUEST_UDP_TUNNEL_GSO)); /* of the upper 64 */
	on = everything_offloaded();
	assert_int_equal(vnetrx_ctrl_offloads(&everything, &on, &msg), VNETRX_OK);
	assert_int_equal(vnetrx_ctrl_offloads(&accepted, &on, &msg), VNETRX_ERR_INVALID);
	on = only(N(GUEST_TSO4)); /* requires GUEST_CSUM */
	assert_int_equal(vnetrx_ctrl_offloads(&everything, &on, &msg), VNETRX_ERR_INVALID);
	on = only(N(MRG_RXBUF)); /* cannot be changed */
	assert_int_equal(vnetrx_ctrl_offloads(&everything, &on, &msg), VNETRX_ERR_INVALID);
	on = only(VNETRX_NET_F_RSS_CONTEXT);
	assert_int_equal(vnetrx_ctrl_offloads(&everything, &on, &msg), VNETRX_ERR_INVALID);
}

/* ---- all of them ---- */

/* Makes message i of all; *bit is the feature it needs. */
static int make(unsigned i, const struct vnetrx_features *accepted, struct vnetrx_ctrl_msg *msg, unsigned *bit)
{
	static const uint8_t bits[] = { N(NOTF_COAL), N(NOTF_COAL), N(VQ_NOTF_COAL), N(VQ_NOTF_COAL), N(MQ),
		                        N(HASH_REPORT), N(GUEST_ANNOUNCE), N(CTRL_GUEST_OFFLOADS), N(CTRL_RX),
		                        N(CTRL_RX), N(CTRL_RX_EXTRA), N(CTRL_RX_EXTRA), N(CTRL_RX_EXTRA),
		                        N(CTRL_RX_EXTRA) };

	*bit = bits[i];
	switch (i) {
	case 0:
		return vnetrx_ctrl_coal_rx(accepted, 1, 2, msg);
	case 1:
		return vnetrx_ctrl_coal_tx(accepted, 1, 2, msg);
	case 2:
		return vnetrx_ctrl_coal_set(accepted, 0, 1, 2, msg);
	case 3:
		return vnetrx_ctrl_coal_get(accepted, 0, msg);
	case 4:
		return vnetrx_ctrl_pairs(accepted, 1, 1, msg);
	case 5:
		return vnetrx_ctrl_hash(accepted, 0, NULL, 0, msg);
	case 6:
		return vnetrx_ctrl_announced(accepted, msg);
	case 7:
		return vnetrx_ctrl_offloads(accepted, &nothing, msg);
	default:
		return vnetrx_ctrl_rx_mode(accepted, (enum vnetrx_rx_mode)(i - 8u), true, msg);
	}
}

#define MESSAGES 14u

static void each_message_needs_its_feature_and_only_that(void **state)
{
	(void)state;
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct vnetrx_ctrl_msg msg, before;
		struct vnetrx_features accepted;
		unsigned bit;

		assert_int_equal(make(i, &everything, &msg, &bit), VNETRX_OK);
		accepted = only(bit);
		assert_int_equal(make(i, &accepted, &msg, &bit), VNETRX_OK);
		memset(&msg, 0x5a, sizeof(msg));
		before = msg;
		accepted = all_but(bit);
		assert_int_equal(make(i, &accepted, &msg, &bit), VNETRX_ERR_CANNOT);
		assert_memory_equal(&msg, &before, sizeof(msg));
	}
}

static void an_answer_is_ok_refused_or_bad(void **state)
{
	(void)state;
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct vnetrx_ctrl_msg msg;
		unsigned bit, ack;

		assert_int_equal(make(i, &everything, &msg, &bit), VNETRX_OK);
		assert_int_equal(vnetrx_ctrl_answer(&msg), VNETRX_ERR_BAD); /* the device wrote nothing */
		for (ack = 0; ack < 256u; ack++) {
			int right = ack == 0u ? VNETRX_OK : ack == 1u ? VNETRX_ERR_CANNOT : VNETRX_ERR_BAD;

			msg.in[msg.in_len - 1u] = (uint8_t)ack;
			assert_int_equal(vnetrx_ctrl_answer(&msg), right);
		}
	}
}

static void an_answer_of_an_impossible_length_is_bad(void **state)
{
	struct vnetrx_ctrl_msg msg = { .in_len = 0 };

	(void)state;
	assert_int_equal(vnetrx_ctrl_answer(&msg), VNETRX_ERR_BAD);
	msg.in_len = VNETRX_CTRL_IN_MAX + 1u;
	assert_int_equal(vnetrx_ctrl_answer(&msg), VNETRX_ERR_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(coalescing_of_all_queues_carries_packets_before_microseconds),
		cmocka_unit_test(coalescing_of_one_queue_carries_its_index_and_two_zero_bytes),
		cmocka_unit_test(coalescing_of_one_queue_is_read_from_the_answer),
		cmocka_unit_test(coalescing_parameters_of_a_refusal_are_ignored),
		cmocka_unit_test(other_answers_have_no_coalescing_parameters),
		cmocka_unit_test(queue_pairs_are_from_one_to_what_the_device_has),
		cmocka_unit_test(a_hash_has_types_eight_zero_bytes_and_a_key),
		cmocka_unit_test(a_receive_mode_is_turned_on_and_off),
		cmocka_unit_test(an_announcement_is_acknowledged_without_data),
		cmocka_unit_test(offloads_are_a_mask_of_64_bits),
		cmocka_unit_test(offloads_that_cannot_be_on_are_refused),
		cmocka_unit_test(each_message_needs_its_feature_and_only_that),
		cmocka_unit_test(an_answer_is_ok_refused_or_bad),
		cmocka_unit_test(an_answer_of_an_impossible_length_is_bad),
	};

	return cmocka_run_group_tests_name("ctrl", tests, NULL, NULL);
}
