/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What requires what is one table. A rule stands after the rules of the bits that it names, so that one pass over the
 * table settles a set.
 */
#include "feature_rules.h"

#define N(name) VNETRX_NET_F_##name

/* `bit` requires one of two others (or one, named twice). */
struct rule {
	uint8_t bit, one, other;
};

#define REQUIRES(bit, one)         { N(bit), N(one), N(one) }
#define EITHER(bit, one, other)    { N(bit), N(one), N(other) }

/* 5.1.3.1. Not in its list, but of no use without: CTRL_GUEST_OFFLOADS, DEVICE_STATS; there as SHOULD NOT in 5.1.4.2:
 * CTRL_RX_EXTRA, HASH_REPORT. */
static const struct rule rules[] = {
	REQUIRES(GUEST_TSO4, GUEST_CSUM),
	REQUIRES(GUEST_TSO6, GUEST_CSUM),
	REQUIRES(GUEST_UFO, GUEST_CSUM),
	REQUIRES(GUEST_USO4, GUEST_CSUM),
	REQUIRES(GUEST_USO6, GUEST_CSUM),
	EITHER(GUEST_ECN, GUEST_TSO4, GUEST_TSO6),
	REQUIRES(GUEST_UDP_TUNNEL_GSO, GUEST_TSO4),
	REQUIRES(GUEST_UDP_TUNNEL_GSO, GUEST_TSO6),
	REQUIRES(GUEST_UDP_TUNNEL_GSO, GUEST_USO4),
	REQUIRES(GUEST_UDP_TUNNEL_GSO, GUEST_USO6),
	REQUIRES(GUEST_UDP_TUNNEL_GSO_CSUM, GUEST_UDP_TUNNEL_GSO),
	REQUIRES(HOST_TSO4, CSUM),
	REQUIRES(HOST_TSO6, CSUM),
	REQUIRES(HOST_UFO, CSUM),
	REQUIRES(HOST_USO, CSUM),
	EITHER(HOST_ECN, HOST_TSO4, HOST_TSO6),
	REQUIRES(HOST_UDP_TUNNEL_GSO, HOST_TSO4),
	REQUIRES(HOST_UDP_TUNNEL_GSO, HOST_TSO6),
	REQUIRES(HOST_UDP_TUNNEL_GSO, HOST_USO),
	REQUIRES(HOST_UDP_TUNNEL_GSO_CSUM, HOST_UDP_TUNNEL_GSO),
	EITHER(RSC_EXT, HOST_TSO4, HOST_TSO6),
	REQUIRES(CTRL_GUEST_OFFLOADS, CTRL_VQ),
	REQUIRES(CTRL_RX, CTRL_VQ),
	REQUIRES(CTRL_RX_EXTRA, CTRL_VQ),
	REQUIRES(CTRL_VLAN, CTRL_VQ),
	REQUIRES(CTRL_MAC_ADDR, CTRL_VQ),
	REQUIRES(GUEST_ANNOUNCE, CTRL_VQ),
	REQUIRES(DEVICE_STATS, CTRL_VQ),
	REQUIRES(NOTF_COAL, CTRL_VQ),
	REQUIRES(VQ_NOTF_COAL, CTRL_VQ),
	REQUIRES(MQ, CTRL_VQ),
	REQUIRES(RSS, CTRL_VQ),
	REQUIRES(HASH_REPORT, CTRL_VQ),
	REQUIRES(RSS_CONTEXT, RSS),
	EITHER(HASH_TUNNEL, RSS, HASH_REPORT),
};

#define RULES (sizeof(rules) / sizeof(rules[0]))

#define FEATURE_CASE(name, bit) \
	case bit: \
		return #name;

const char *vnetrx_feature_name(unsigned bit)
{
	switch (bit) {
		VNETRX_FEATURES(FEATURE_CASE)
	default:
		return "unknown";
	}
}

#define FEATURE_MASK(name, bit) known.word[(bit) / 64] |= (uint64_t)1 << (bit) % 64;

struct vnetrx_features vnrx_features_known(void)
{
	struct vnetrx_features known = { { 0, 0 } };

	VNETRX_FEATURES(FEATURE_MASK)
	return known;
}

struct vnetrx_features vnetrx_features_usual(void)
{
	static const uint8_t usual[] = {
		N(CSUM), N(GUEST_CSUM), N(MTU), N(MAC), N(GUEST_TSO4), N(GUEST_TSO6), N(GUEST_ECN), N(HOST_TSO4),
		N(HOST_TSO6), N(HOST_ECN), N(MRG_RXBUF), N(STATUS), N(GUEST_USO4), N(GUEST_USO6), N(HOST_USO),
		N(RSC_EXT), VNETRX_F_ANY_LAYOUT, VNETRX_F_INDIRECT_DESC, VNETRX_F_EVENT_IDX, VNETRX_F_VERSION_1,
		VNETRX_F_RING_PACKED, VNETRX_F_IN_ORDER, VNETRX_F_ORDER_PLATFORM,
	};
	struct vnetrx_features set = { { 0, 0 } };

	for (unsigned i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		vnetrx_features_add(&set, usual[i]);
	return set;
}

static bool rule_kept(const struct rule *rule, const struct vnetrx_features *set)
{
	return vnetrx_features_has(set, rule->one) || vnetrx_features_has(set, rule->other);
}

void vnrx_features_settle(struct vnetrx_features *set)
{
	for (unsigned i = 0; i < RULES; i++)
		if (!rule_kept(&rules[i], set))
			vnetrx_features_drop(set, rules[i].bit);
}

int vnrx_features_unmet(const struct vnetrx_features *set, unsigned bit)
{
	for (unsigned i = 0; i < RULES; i++)
		if (rules[i].bit == bit && !rule_kept(&rules[i], set))
			return rules[i].one;
	return VNRX_NO_FEATURE;
}
