/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Feature negotiation of a virtio network device: from what the device offers and what the driver wants to what is
 * accepted, and what follows from that for headers, buffers and rings. Nothing here touches the device.
 *
 * Sources: network features and their requirements, virtio 1.2 and 1.3, 5.1.3 and 5.1.3.1; tunnel and outer header bits
 * virtio 1.4, same place; rings and transport, chapter 6; sizes, 5.1.6.3; framing for old devices, 5.1.6.6.
 */
#ifndef VNETRX_VIRTIO_FEATURES_H
#define VNETRX_VIRTIO_FEATURES_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, bit). Bits that are not listed are never accepted; among them is 30, which in vhost-user stands for the
 * protocol's own features and is the transport's to accept. */
#define VNETRX_FEATURES(X) \
	X(NET_F_CSUM,                 0) /* device completes checksums                                    */ \
	X(NET_F_GUEST_CSUM,           1) /* driver takes packets whose checksum is to be completed        */ \
	X(NET_F_CTRL_GUEST_OFFLOADS,  2) /* offloads of received packets can be changed later             */ \
	X(NET_F_MTU,                  3) /* device says its longest MTU                                   */ \
	X(NET_F_MAC,                  5) /* device says its address                                       */ \
	X(NET_F_GUEST_TSO4,           7) /* driver takes TCP over IPv4 merged                             */ \
	X(NET_F_GUEST_TSO6,           8) /* driver takes TCP over IPv6 merged                             */ \
	X(NET_F_GUEST_ECN,            9) /* ... with CWR on the first segment                             */ \
	X(NET_F_GUEST_UFO,           10) /* driver takes UDP to be fragmented                             */ \
	X(NET_F_HOST_TSO4,           11) /* device segments TCP over IPv4                                 */ \
	X(NET_F_HOST_TSO6,           12) /* device segments TCP over IPv6                                 */ \
	X(NET_F_HOST_ECN,            13) /* ... with CWR on the first segment                             */ \
	X(NET_F_HOST_UFO,            14) /* device fragments UDP                                          */ \
	X(NET_F_MRG_RXBUF,           15) /* a received packet may lie in several buffers                  */ \
	X(NET_F_STATUS,              16) /* link state in the configuration                               */ \
	X(NET_F_CTRL_VQ,             17) /* control queue                                                 */ \
	X(NET_F_CTRL_RX,             18) /* promiscuous, all-multicast                                    */ \
	X(NET_F_CTRL_VLAN,           19) /* VLAN filter                                                   */ \
	X(NET_F_CTRL_RX_EXTRA,       20) /* more receive modes                                            */ \
	X(NET_F_GUEST_ANNOUNCE,      21) /* device asks for gratuitous packets                            */ \
	X(NET_F_MQ,                  22) /* several queue pairs, steered by the device                    */ \
	X(NET_F_CTRL_MAC_ADDR,       23) /* address set over the control queue                            */ \
	X(F_ANY_LAYOUT,              27) /* old device that takes header and data in one descriptor       */ \
	X(F_INDIRECT_DESC,           28) /* descriptors that point to tables of descriptors               */ \
	X(F_EVENT_IDX,               29) /* doorbells and interrupts by index                             */ \
	X(F_VERSION_1,               32) /* virtio 1.0 or later; must be accepted                         */ \
	X(F_ACCESS_PLATFORM,         33) /* addresses are those of the platform's DMA; must be accepted   */ \
	X(F_RING_PACKED,             34) /* packed rings                                                  */ \
	X(F_IN_ORDER,                35) /* buffers are used in the order in which they were made available */ \
	X(F_ORDER_PLATFORM,          36) /* memory is ordered as for a hardware device                    */ \
	X(F_SR_IOV,                  37) /* virtual functions                                             */ \
	X(F_NOTIFICATION_DATA,       38) /* doorbell carries the ring's position                          */ \
	X(F_NOTIF_CONFIG_DATA,       39) /* doorbell carries a number that the device gave                */ \
	X(F_RING_RESET,              40) /* single rings can be reset                                     */ \
	X(F_ADMIN_VQ,                41) /* administration queues                                         */ \
	X(NET_F_DEVICE_STATS,        50) /* statistics over the control queue                             */ \
	X(NET_F_HASH_TUNNEL,         51) /* hash of the inner headers                                     */ \
	X(NET_F_VQ_NOTF_COAL,        52) /* notification coalescing of one queue                          */ \
	X(NET_F_NOTF_COAL,           53) /* notification coalescing of all queues of a direction          */ \
	X(NET_F_GUEST_USO4,          54) /* driver takes UDP trains over IPv4                             */ \
	X(NET_F_GUEST_USO6,          55) /* driver takes UDP trains over IPv6                             */ \
	X(NET_F_HOST_USO,            56) /* device cuts UDP trains                                        */ \
	X(NET_F_HASH_REPORT,         57) /* hash in the header of received packets                        */ \
	X(NET_F_GUEST_HDRLEN,        59) /* hdr_len of sent packets is exact                              */ \
	X(NET_F_RSS,                 60) /* receive-side scaling                                          */ \
	X(NET_F_RSC_EXT,             61) /* number of segments and duplicate ACKs of a merged packet      */ \
	X(NET_F_STANDBY,             62) /* stands in for another device                                  */ \
	X(NET_F_SPEED_DUPLEX,        63) /* speed in the configuration                                    */ \
	X(NET_F_RSS_CONTEXT,         64) /* several sets of receive-side scaling                          */ \
	X(NET_F_GUEST_UDP_TUNNEL_GSO, 65) /* driver takes merged packets in UDP tunnels                   */ \
	X(NET_F_GUEST_UDP_TUNNEL_GSO_CSUM, 66) /* ... with an outer checksum                              */ \
	X(NET_F_HOST_UDP_TUNNEL_GSO, 67) /* device segments in UDP tunnels                                */ \
	X(NET_F_HOST_UDP_TUNNEL_GSO_CSUM, 68) /* ... with an outer checksum                               */ \
	X(NET_F_OUT_NET_HEADER,      69) /* outer network offset in the header                            */

#define VNETRX_FEATURE_BIT(name, bit) VNETRX_##name = (bit),

/* VNETRX_NET_F_CSUM = 0 and so on: numbers of bits, not masks. */
enum vnetrx_feature {
	VNETRX_FEATURES(VNETRX_FEATURE_BIT)
	VNETRX_FEATURES_MAX = 128 /* as many bits as a struct vnetrx_features has */
};

/* A set of features: bit n is word[n / 64] >> n % 64. */
struct vnetrx_features {
	uint64_t word[2];
};

/* Is the bit in the set? Bits from 128 on never are. */
static inline bool vnetrx_features_has(const struct vnetrx_features *set, unsigned bit);

/* Adds a bit; from 128 on nothing. */
static inline void vnetrx_features_add(struct vnetrx_features *set, unsigned bit);

/* Takes a bit out. */
static inline void vnetrx_features_drop(struct vnetrx_features *set, unsigned bit);

/* "NET_F_CSUM" and so on; "unknown" for a bit that is not listed. Never NULL. */
const char *vnetrx_feature_name(unsigned bit);

/* What the library's rings, decoder and encoder handle without further help of the driver: mergeable buffers, checksum,
 * TCP and UDP segmentation in both directions, RSC_EXT, MTU, MAC, STATUS; VERSION_1, ANY_LAYOUT, both kinds of ring,
 * IN_ORDER, INDIRECT_DESC, EVENT_IDX, ORDER_PLATFORM. Left to the driver to add, because it must do its part:
 * everything on the control queue, tunnels, ACCESS_PLATFORM, NOTIFICATION_DATA, RING_RESET. */
struct vnetrx_features vnetrx_features_usual(void);

/* What the driver wants. Zero = default. */
struct vnetrx_virtio_wants {
	struct vnetrx_features want; /* to be accepted if offered, and if what they require is accepted           */
	struct vnetrx_features need; /* the same, and to fail without them                                        */
	uint32_t buf_len_max; /* bytes that the driver can post for one packet without MRG_RXBUF; default: any    */
	uint16_t mtu;         /* longest packet that is not merged, without Ethernet header: the device's `mtu`, read
	                         once, or the network's; below 68 it is not believed; default 1500                */
	uint16_t pairs;       /* the device's `max_virtqueue_pairs`, read once; not 1..0x8000: no MQ, no RSS      */
};

/* What was agreed, and what follows. */
struct vnetrx_virtio_plan {
	struct vnetrx_features accept; /* to be written to the device                                             */
	uint32_t rx_features;   /* for vnetrx_virtio_net_decode()                                                 */
	uint32_t tx_features;   /* for vnetrx_virtio_net_encode(); num_buffers of sent packets must be 0          */
	uint32_t hdr_len;       /* device header in both directions: 10, 12, 20, 24 or 32                         */
	uint32_t frame_len_max; /* longest received frame: 65589 with any merged kind, else 18 + MTU              */
	uint32_t buf_len_min;   /* shortest receive buffer: all of the above, or with MRG_RXBUF only hdr_len      */
	uint16_t pairs_max;     /* queue pairs that may be enabled; 1 without MQ and RSS                          */
	uint32_t ctrl_index;    /* of the control queue, 2 * pairs_max; 0 without CTRL_VQ                         */
	bool     mergeable;     /* num_buffers counts                                                             */
	bool     legacy;        /* no VERSION_1: header and control data are in the machine's byte order, which the
	                           library reads and writes only where that is little-endian; ignore the used length
	                           of sent packets                                                                */
	bool     rx_hdr_apart;  /* the header of a received packet needs a descriptor of its own                  */
	bool     tx_hdr_apart;  /* that of a sent one, and each part of a control message                         */
	bool     packed;        /* packed rings, else split                                                       */
	bool     in_order;      /* IN_ORDER                                                                       */
	bool     indirect;      /* INDIRECT_DESC                                                                  */
	bool     event_idx;     /* EVENT_IDX                                                                      */
	bool     notify_data;   /* the doorbell carries the position                                              */
	bool     ring_reset;    /* single rings can be reset                                                      */
	bool     dma_barriers;  /* barriers as for a hardware device, else as between processors                  */
	bool     dma_addresses; /* addresses are those of the platform's DMA                                      */
	int16_t  missing;       /* when it failed: the bit that is missing...                                     */
	int16_t  needed_by;     /* ... and the bit that needs it, itself if the driver does; both -1 on success   */
};

/* Works out what to accept. Whatever was not asked for, what lacks a feature that it requires, and without VERSION_1
 * everything from bit 32 on is left out. VERSION_1 is accepted whenever it is offered. Merged kinds are left out where
 * buf_len_max is too short for them and MRG_RXBUF is not accepted.
 * VNETRX_ERR_CANNOT when something needed is missing: a feature in wants->need, or one that it requires (`missing` was
 * not offered, or not wanted); ACCESS_PLATFORM, when offered but not wanted; MRG_RXBUF, when not even an ordinary
 * packet fits buf_len_max. Then only `missing` and `needed_by` of *plan count, and the device must not be used. */
VNETRX_MUST_USE int vnetrx_virtio_negotiate(const struct vnetrx_features *offer,
                                            const struct vnetrx_virtio_wants *wants, struct vnetrx_virtio_plan *plan);

/* ---- inline bodies ---- */

/* Of a word, without a 64-bit shift by a variable, which small machines do not have. */
static inline uint64_t vnetrx_feature_bit(unsigned bit)
{
	uint64_t half = (uint32_t)1 << bit % 32u;

	return bit % 64u < 32u ? half : half << 32;
}

static inline bool vnetrx_features_has(const struct vnetrx_features *set, unsigned bit)
{
	return bit < VNETRX_FEATURES_MAX && (set->word[bit / 64u] & vnetrx_feature_bit(bit)) != 0u;
}

static inline void vnetrx_features_add(struct vnetrx_features *set, unsigned bit)
{
	if (bit < VNETRX_FEATURES_MAX)
		set->word[bit / 64u] |= vnetrx_feature_bit(bit);
}

static inline void vnetrx_features_drop(struct vnetrx_features *set, unsigned bit)
{
	if (bit < VNETRX_FEATURES_MAX)
		set->word[bit / 64u] &= ~vnetrx_feature_bit(bit);
}

#ifdef __cplusplus
}
#endif

#endif
