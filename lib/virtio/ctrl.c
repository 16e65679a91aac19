/* SPDX-License-Identifier: BSD-3-Clause */
/* A message is begun with class, command and the feature it needs, and its data is appended; out_len never passes
 * VNETRX_CTRL_OUT_MAX because the longest is the one with a key of VNETRX_CTRL_KEY_MAX bytes. */
#include "vnetrx/virtio_ctrl.h"

#include "../wire.h"
#include "feature_rules.h"

#define N(name) VNETRX_NET_F_##name

/* 5.1.6.5: classes and commands. */
#define CLASS_RX       0u
#define CLASS_ANNOUNCE 3u
#define ANNOUNCE_ACK   0u
#define CLASS_MQ       4u
#define MQ_PAIRS_SET   0u
#define MQ_HASH_CONFIG 2u
#define CLASS_OFFLOADS 5u
#define OFFLOADS_SET   0u
#define CLASS_COAL     6u
#define COAL_TX_SET    0u
#define COAL_RX_SET    1u
#define COAL_VQ_SET    2u
#define COAL_VQ_GET    3u

#define ACK_OK    0u
#define ACK_ERR   1u
#define NO_ANSWER 0xffu

#define COAL_LEN      8u /* packets and microseconds                                   */
#define HASH_RESERVED 8u /* bytes where the command for RSS has its table              */

_Static_assert(2u + 4u + HASH_RESERVED + 1u + VNETRX_CTRL_KEY_MAX <= VNETRX_CTRL_OUT_MAX, "the longest message fits");
_Static_assert(COAL_LEN + 1u <= VNETRX_CTRL_IN_MAX, "the longest answer fits");

static void put8(struct vnetrx_ctrl_msg *msg, uint32_t v)
{
	msg->out[msg->out_len++] = (uint8_t)v;
}

static void put16(struct vnetrx_ctrl_msg *msg, uint32_t v)
{
	put8(msg, v);
	put8(msg, v >> 8);
}

static void put32(struct vnetrx_ctrl_msg *msg, uint32_t v)
{
	put16(msg, v);
	put16(msg, v >> 16);
}

static void begin(struct vnetrx_ctrl_msg *msg, uint32_t class, uint32_t command)
{
	memset(msg, 0, sizeof(*msg));
	memset(msg->in, (int)NO_ANSWER, sizeof(msg->in));
	msg->in_len = 1;
	put8(msg, class);
	put8(msg, command);
}

/* ---- notification coalescing ---- */

static int coal_all(const struct vnetrx_features *accepted, uint32_t command, uint32_t usecs, uint32_t packets,
                    struct vnetrx_ctrl_msg *msg)
{
	if (!vnetrx_features_has(accepted, N(NOTF_COAL)))
		return VNETRX_ERR_CANNOT;
	begin(msg, CLASS_COAL, command);
	put32(msg, packets);
	put32(msg, usecs);
	return VNETRX_OK;
}

int vnetrx_ctrl_coal_rx(const struct vnetrx_features *accepted, uint32_t usecs, uint32_t packets,
                        struct vnetrx_ctrl_msg *msg)
{
	return coal_all(accepted, COAL_RX_SET, usecs, packets, msg);
}

int vnetrx_ctrl_coal_tx(const struct vnetrx_features *accepted, uint32_t usecs, uint32_t packets,
                        struct vnetrx_ctrl_msg *msg)
{
	return coal_all(accepted, COAL_TX_SET, usecs, packets, msg);
}

static int coal_one(const struct vnetrx_features *accepted, uint32_t command, uint32_t index,
                    struct vnetrx_ctrl_msg *msg)
{
	if (!vnetrx_features_has(accepted, N(VQ_NOTF_COAL)))
		return VNETRX_ERR_CANNOT;
	begin(msg, CLASS_COAL, command);
	put16(msg, index);
	put16(msg, 0); /* reserved */
	return VNETRX_OK;
}

int vnetrx_ctrl_coal_set(const struct vnetrx_features *accepted, uint16_t index, uint32_t usecs, uint32_t packets,
                         struct vnetrx_ctrl_msg *msg)
{
	int ret = coal_one(accepted, COAL_VQ_SET, index, msg);

	if (ret != VNETRX_OK)
		return ret;
	put32(msg, packets);
	put32(msg, usecs);
	return VNETRX_OK;
}

int vnetrx_ctrl_coal_get(const struct vnetrx_features *accepted, uint16_t index, struct vnetrx_ctrl_msg *msg)
{
	int ret = coal_one(accepted, COAL_VQ_GET, index, msg);

	if (ret != VNETRX_OK)
		return ret;
	msg->in_len = COAL_LEN + 1u;
	return VNETRX_OK;
}

/* ---- queues ---- */

int vnetrx_ctrl_pairs(const struct vnetrx_features *accepted, uint16_t pairs, uint16_t max,
                      struct vnetrx_ctrl_msg *msg)
{
	if (!vnetrx_features_has(accepted, N(MQ)))
		return VNETRX_ERR_CANNOT;
	if (pairs == 0u || pairs > max)
		return VNETRX_ERR_INVALID;
	begin(msg, CLASS_MQ, MQ_PAIRS_SET);
	put16(msg, pairs);
	return VNETRX_OK;
}

int vnetrx_ctrl_hash(const struct vnetrx_features *accepted, uint32_t types, const uint8_t *key, uint32_t key_len,
                     struct vnetrx_ctrl_msg *msg)
{
	if (!vnetrx_features_has(accepted, N(HASH_REPORT)))
		return VNETRX_ERR_CANNOT;
	if (key_len > VNETRX_CTRL_KEY_MAX)
		return VNETRX_ERR_INVALID;
	begin(msg, CLASS_MQ, MQ_HASH_CONFIG);
	put32(msg, types);
	msg->out_len = (uint8_t)(msg->out_len + HASH_RESERVED);
	put8(msg, key_len);
	for (uint32_t i = 0; i < key_len; i++)
		put8(msg, key[i]);
	return VNETRX_OK;
}

/* ---- what is received ---- */

int vnetrx_ctrl_rx_mode(const struct vnetrx_features *accepted, enum vnetrx_rx_mode mode, bool on,
                        struct vnetrx_ctrl_msg *msg)
{
	uint32_t command = (uint32_t)mode;

	if (command > (uint32_t)VNETRX_RX_NOBCAST)
		return VNETRX_ERR_INVALID;
	if (!vnetrx_features_has(accepted, command > (uint32_t)VNETRX_RX_ALLMULTI ? N(CTRL_RX_EXTRA) : N(CTRL_RX)))
		return VNETRX_ERR_CANNOT;
	begin(msg, CLASS_RX, command);
	put8(msg, on);
	return VNETRX_OK;
}

int vnetrx_ctrl_announced(const struct vnetrx_features *accepted, struct vnetrx_ctrl_msg *msg)
{
	if (!vnetrx_features_has(accepted, N(GUEST_ANNOUNCE)))
		return VNETRX_ERR_CANNOT;
	begin(msg, CLASS_ANNOUNCE, ANNOUNCE_ACK);
	return VNETRX_OK;
}

/* Offloads of received packets, and their bits in the command: those of the features, but for the two that lie beyond
 * its 64 bits (46 and 47: virtio 1.4, and Linux since 6.17). */
static const struct {
	uint8_t feature, bit;
} offloads[] = {
	{ N(GUEST_CSUM), 1 },
	{ N(GUEST_TSO4), 7 },
	{ N(GUEST_TSO6), 8 },
	{ N(GUEST_ECN), 9 },
	{ N(GUEST_UFO), 10 },
	{ N(GUEST_UDP_TUNNEL_GSO), 46 },
	{ N(GUEST_UDP_TUNNEL_GSO_CSUM), 47 },
	{ N(GUEST_USO4), 54 },
	{ N(GUEST_USO6), 55 },
};

static bool is_subset(const struct vnetrx_features *part, const struct vnetrx_features *of)
{
	return (part->word[0] & ~of->word[0]) == 0u && (part->word[1] & ~of->word[1]) == 0u;
}

/* Does nothing in the set require something that is not in it? */
static bool is_settled(const struct vnetrx_features *set)
{
	struct vnetrx_features settled = *set;

	vnrx_features_settle(&settled);
	return is_subset(set, &settled);
}

int vnetrx_ctrl_offloads(const struct vnetrx_features *accepted, const struct vnetrx_features *on,
                         struct vnetrx_ctrl_msg *msg)
{
	struct vnetrx_features rest = *on;
	uint64_t bits = 0;

	if (!vnetrx_features_has(accepted, N(CTRL_GUEST_OFFLOADS)))
		return VNETRX_ERR_CANNOT;
	for (unsigned i = 0; i < sizeof(offloads) / sizeof(offloads[0]); i++) {
		if (vnetrx_features_has(on, offloads[i].feature))
			bits |= vnetrx_feature_bit(offloads[i].bit);
		vnetrx_features_drop(&rest, offloads[i].feature);
	}
	if (rest.word[0] != 0u || rest.word[1] != 0u || !is_subset(on, accepted) || !is_settled(on))
		return VNETRX_ERR_INVALID;
	begin(msg, CLASS_OFFLOADS, OFFLOADS_SET);
	put32(msg, (uint32_t)bits);
	put32(msg, (uint32_t)(bits >> 32));
	return VNETRX_OK;
}

/* ---- the answer ---- */

int vnetrx_ctrl_answer(const struct vnetrx_ctrl_msg *msg)
{
	uint32_t len = msg->in_len;

	if (len == 0u || len > VNETRX_CTRL_IN_MAX)
		return VNETRX_ERR_BAD;
	switch (msg->in[len - 1u]) {
	case ACK_OK:
		return VNETRX_OK;
	case ACK_ERR:
		return VNETRX_ERR_CANNOT;
	default:
		return VNETRX_ERR_BAD;
	}
}

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)vnrx_le16(p) | (uint32_t)vnrx_le16(p + 2) << 16;
}

int vnetrx_ctrl_coal_read(const struct vnetrx_ctrl_msg *msg, uint32_t *usecs, uint32_t *packets)
{
	int ret = vnetrx_ctrl_answer(msg);

	if (msg->out[0] != CLASS_COAL || msg->out[1] != COAL_VQ_GET || msg->in_len != COAL_LEN + 1u)
		return VNETRX_ERR_INVALID;
	if (ret != VNETRX_OK)
		return ret;
	*packets = le32(msg->in);
	*usecs = le32(msg->in + 4);
	return VNETRX_OK;
}
