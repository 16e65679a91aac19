/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * accept = what is offered, wanted and listed, VERSION_1 added, what the device's figures forbid taken out, settled.
 * Everything else here explains that set: why something is not in it, and what it means for headers and rings.
 */
#include "feature_rules.h"

#include "vnetrx/virtio_net.h"

#include "virtio_hdr.h"

#define ETH_VLAN_HDR 18u /* Ethernet header with one tag                      */
#define MTU_DEFAULT  1500u
#define MTU_MIN      68u    /* of a device, 5.1.4.1                              */
#define MERGED_MAX   65589u /* 14 + 40 + 65535, 5.1.6.3                          */
#define PAIRS_MAX    0x8000u
#define LEGACY_BITS  32u /* the interface before 1.0 has no more              */
#define CHAIN_MAX    8u  /* longer than any chain of requirements             */

#define N(name) VNETRX_NET_F_##name

/* Received packets of up to MERGED_MAX bytes. */
static const uint8_t merged_kinds[] = { N(GUEST_TSO4), N(GUEST_TSO6), N(GUEST_UFO), N(GUEST_USO4), N(GUEST_USO6) };

#define MERGED_KINDS (sizeof(merged_kinds) / sizeof(merged_kinds[0]))

static struct vnetrx_features both(struct vnetrx_features a, struct vnetrx_features b)
{
	return (struct vnetrx_features){ { a.word[0] & b.word[0], a.word[1] & b.word[1] } };
}

static struct vnetrx_features any(struct vnetrx_features a, struct vnetrx_features b)
{
	return (struct vnetrx_features){ { a.word[0] | b.word[0], a.word[1] | b.word[1] } };
}

/* ---- what is accepted ---- */

static bool is_merged_kind(unsigned bit)
{
	for (unsigned i = 0; i < MERGED_KINDS; i++)
		if (merged_kinds[i] == bit)
			return true;
	return false;
}

static bool takes_merged(const struct vnetrx_features *set)
{
	for (unsigned i = 0; i < MERGED_KINDS; i++)
		if (vnetrx_features_has(set, merged_kinds[i]))
			return true;
	return false;
}

/* The first condition that holds decides, as in 5.1.6. */
static uint32_t hdr_len_of(const struct vnetrx_features *set)
{
	if (vnetrx_features_has(set, N(OUT_NET_HEADER)))
		return HDR_OUTER;
	if (vnetrx_features_has(set, N(GUEST_UDP_TUNNEL_GSO)) || vnetrx_features_has(set, N(HOST_UDP_TUNNEL_GSO)))
		return HDR_TUNNEL;
	if (vnetrx_features_has(set, N(HASH_REPORT)))
		return HDR_HASH;
	if (vnetrx_features_has(set, N(MRG_RXBUF)) || vnetrx_features_has(set, VNETRX_F_VERSION_1))
		return HDR_MRG;
	return HDR_LEGACY;
}

/* A tag more than the specification counts, as drivers do: an in-band one is no reason to lose a packet. */
static uint32_t frame_len_of(const struct vnetrx_features *set, const struct vnetrx_virtio_wants *wants)
{
	if (takes_merged(set))
		return MERGED_MAX;
	return ETH_VLAN_HDR + (wants->mtu > MTU_DEFAULT ? wants->mtu : MTU_DEFAULT);
}

/* Without MRG_RXBUF a packet must fit one buffer. */
static bool packet_fits(const struct vnetrx_features *set, const struct vnetrx_virtio_wants *wants)
{
	return vnetrx_features_has(set, N(MRG_RXBUF)) || wants->buf_len_max == 0u ||
	       hdr_len_of(set) + frame_len_of(set, wants) <= wants->buf_len_max;
}

/* What the device's own figures forbid. */
static void drop_implausible(struct vnetrx_features *set, const struct vnetrx_virtio_wants *wants)
{
	if (wants->mtu < MTU_MIN)
		vnetrx_features_drop(set, N(MTU));
	if (wants->pairs == 0u || wants->pairs > PAIRS_MAX) {
		vnetrx_features_drop(set, N(MQ));
		vnetrx_features_drop(set, N(RSS));
	}
}

static struct vnetrx_features settle(struct vnetrx_features offer, const struct vnetrx_virtio_wants *wants)
{
	struct vnetrx_features set = both(any(wants->want, wants->need), offer);

	set = both(set, vnrx_features_known());
	if (vnetrx_features_has(&offer, VNETRX_F_VERSION_1))
		vnetrx_features_add(&set, VNETRX_F_VERSION_1);
	else
		set = (struct vnetrx_features){ { set.word[0] % ((uint64_t)1 << LEGACY_BITS), 0 } };
	drop_implausible(&set, wants);
	vnrx_features_settle(&set);
	if (packet_fits(&set, wants))
		return set;
	for (unsigned i = 0; i < MERGED_KINDS; i++)
		vnetrx_features_drop(&set, merged_kinds[i]);
	vnrx_features_settle(&set);
	return set;
}

/* ---- what is missing ---- */

/* The reason why `bit`, which is not in the set, was left out. */
static int reason(unsigned bit, struct vnetrx_features possible, const struct vnetrx_features *set)
{
	for (unsigned i = 0; i < CHAIN_MAX; i++) {
		int next;

		if (!vnetrx_features_has(&possible, bit))
			return (int)bit;
		if (bit >= LEGACY_BITS && !vnetrx_features_has(set, VNETRX_F_VERSION_1))
			return VNETRX_F_VERSION_1;
		next = vnrx_features_unmet(set, bit);
		if (next == VNRX_NO_FEATURE)
			return is_merged_kind(bit) ? N(MRG_RXBUF) : (int)bit;
		bit = (unsigned)next;
	}
	return (int)bit;
}

static int refuse(struct vnetrx_virtio_plan *plan, int missing, int needed_by)
{
	plan->missing = (int16_t)missing;
	plan->needed_by = (int16_t)needed_by;
	return VNETRX_ERR_CANNOT;
}

static int all_needed(const struct vnetrx_features *offer, const struct vnetrx_virtio_wants *wants,
                      struct vnetrx_virtio_plan *plan)
{
	struct vnetrx_features possible = both(both(*offer, vnrx_features_known()), any(wants->want, wants->need));

	for (unsigned bit = 0; bit < VNETRX_FEATURES_MAX; bit++)
		if (vnetrx_features_has(&wants->need, bit) && !vnetrx_features_has(&plan->accept, bit))
			return refuse(plan, reason(bit, possible, &plan->accept), (int)bit);
	if (vnetrx_features_has(offer, VNETRX_F_ACCESS_PLATFORM) &&
	    !vnetrx_features_has(&plan->accept, VNETRX_F_ACCESS_PLATFORM))
		return refuse(plan, VNETRX_F_ACCESS_PLATFORM, VNETRX_F_ACCESS_PLATFORM);
	if (!packet_fits(&plan->accept, wants))
		return refuse(plan, N(MRG_RXBUF), N(MRG_RXBUF));
	return VNETRX_OK;
}

/* ---- what follows ---- */

/* A feature, and the bit of vnetrx_virtio_net_decode() or _encode() that it stands for. */
struct flag {
	uint8_t  bit;
	uint16_t flag;
};

static const struct flag rx_flags[] = {
	{ N(MRG_RXBUF), VNETRX_VIRTIO_MRG_RXBUF },
	{ N(HASH_REPORT), VNETRX_VIRTIO_HASH_REPORT },
	{ N(RSC_EXT), VNETRX_VIRTIO_RSC_EXT },
	{ N(GUEST_UDP_TUNNEL_GSO), VNETRX_VIRTIO_TUNNEL },
};

static const struct flag tx_flags[] = {
	{ N(CSUM), VNETRX_VIRTIO_CSUM },
	{ N(HOST_TSO4), VNETRX_VIRTIO_TSO4 },
	{ N(HOST_TSO6), VNETRX_VIRTIO_TSO6 },
	{ N(HOST_ECN), VNETRX_VIRTIO_ECN },
	{ N(HOST_USO), VNETRX_VIRTIO_USO4 | VNETRX_VIRTIO_USO6 },
	{ N(HOST_UDP_TUNNEL_GSO), VNETRX_VIRTIO_TUNNEL },
};

static uint32_t flags_of(const struct vnetrx_features *set, const struct flag *flags, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (vnetrx_features_has(set, flags[i].bit))
			sum |= flags[i].flag;
	return sum;
}

static void plan_headers(struct vnetrx_virtio_plan *plan, const struct vnetrx_virtio_wants *wants)
{
	const struct vnetrx_features *set = &plan->accept;
	bool any_layout = vnetrx_features_has(set, VNETRX_F_ANY_LAYOUT) || vnetrx_features_has(set, VNETRX_F_VERSION_1);

	plan->rx_features = flags_of(set, rx_flags, sizeof(rx_flags) / sizeof(rx_flags[0]));
	plan->tx_features = flags_of(set, tx_flags, sizeof(tx_flags) / sizeof(tx_flags[0]));
	plan->mergeable = vnetrx_features_has(set, N(MRG_RXBUF));
	plan->legacy = !vnetrx_features_has(set, VNETRX_F_VERSION_1);
	plan->hdr_len = hdr_len_of(set);
	plan->frame_len_max = frame_len_of(set, wants);
	plan->buf_len_min = plan->hdr_len + (plan->mergeable ? 0u : plan->frame_len_max);
	plan->tx_hdr_apart = !any_layout;
	plan->rx_hdr_apart = !any_layout && !plan->mergeable; /* else it lies in the buffer, whatever its layout */
}

static void plan_rings(struct vnetrx_virtio_plan *plan, const struct vnetrx_virtio_wants *wants)
{
	const struct vnetrx_features *set = &plan->accept;
	bool many = vnetrx_features_has(set, N(MQ)) || vnetrx_features_has(set, N(RSS));

	plan->pairs_max = many ? wants->pairs : 1u;
	plan->ctrl_index = vnetrx_features_has(set, N(CTRL_VQ)) ? 2u * plan->pairs_max : 0u;
	plan->packed = vnetrx_features_has(set, VNETRX_F_RING_PACKED);
	plan->in_order = vnetrx_features_has(set, VNETRX_F_IN_ORDER);
	plan->indirect = vnetrx_features_has(set, VNETRX_F_INDIRECT_DESC);
	plan->event_idx = vnetrx_features_has(set, VNETRX_F_EVENT_IDX);
	plan->notify_data = vnetrx_features_has(set, VNETRX_F_NOTIFICATION_DATA);
	plan->ring_reset = vnetrx_features_has(set, VNETRX_F_RING_RESET);
	plan->dma_barriers = vnetrx_features_has(set, VNETRX_F_ORDER_PLATFORM);
	plan->dma_addresses = vnetrx_features_has(set, VNETRX_F_ACCESS_PLATFORM);
}

int vnetrx_virtio_negotiate(const struct vnetrx_features *offer, const struct vnetrx_virtio_wants *wants,
                            struct vnetrx_virtio_plan *plan)
{
	int ret;

	memset(plan, 0, sizeof(*plan));
	plan->accept = settle(*offer, wants);
	ret = all_needed(offer, wants, plan);
	if (ret != VNETRX_OK)
		return ret;
	plan->missing = VNRX_NO_FEATURE;
	plan->needed_by = VNRX_NO_FEATURE;
	plan_headers(plan, wants);
	plan_rings(plan, wants);
	return VNETRX_OK;
}
