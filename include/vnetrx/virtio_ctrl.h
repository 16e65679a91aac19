/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the virtio-net control queue (virtio 1.2 and 1.3, 5.1.6.5): made here, sent by the driver, answer checked
 * here.
 *
 *   device reads   class, command, data                    msg.out, out_len bytes
 *   device writes  what was asked for (VQ_GET only), ack   msg.in,  in_len bytes
 *
 * Copy `out` to memory that the device can read and `in` to memory that it can write; lend both as one chain, out
 * first; copy `in` back when the device has used it. An old device that lacks ANY_LAYOUT wants class and command in one
 * descriptor of 2 bytes and the data in another (5.1.6.6). The used length is of no use: old devices count wrongly.
 *
 * Every function that makes a message returns VNETRX_ERR_CANNOT when the feature it belongs to was not accepted, and
 * VNETRX_ERR_INVALID when an argument is out of range; the message is untouched then.
 */
#ifndef VNETRX_VIRTIO_CTRL_H
#define VNETRX_VIRTIO_CTRL_H

#include "virtio_features.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VNETRX_CTRL_OUT_MAX 56u /* bytes of the longest message: a hash key of 40 bytes */
#define VNETRX_CTRL_IN_MAX  9u  /* coalescing parameters and ack                        */
#define VNETRX_CTRL_KEY_MAX 40u /* bytes of a Toeplitz key; every device takes 40       */

struct vnetrx_ctrl_msg {
	uint8_t out[VNETRX_CTRL_OUT_MAX];
	uint8_t in[VNETRX_CTRL_IN_MAX]; /* filled with 0xff, so that what the device does not write is no answer */
	uint8_t out_len;                /* 2 bytes of class and command, then the data                           */
	uint8_t in_len;
};

/* Notification coalescing of all receive queues: an interrupt `usecs` after the first packet or after `packets`,
 * whichever comes first; after every packet when either is 0. Needs NOTF_COAL. */
VNETRX_MUST_USE int vnetrx_ctrl_coal_rx(const struct vnetrx_features *accepted, uint32_t usecs, uint32_t packets,
                                        struct vnetrx_ctrl_msg *msg);

/* The same for all transmit queues. */
VNETRX_MUST_USE int vnetrx_ctrl_coal_tx(const struct vnetrx_features *accepted, uint32_t usecs, uint32_t packets,
                                        struct vnetrx_ctrl_msg *msg);

/* The same for one queue, by its index among all queues (receive queue i: 2 * i, transmit queue i: 2 * i + 1); it must
 * be enabled. Of all these commands the last one counts; a queue that is reset falls back to what was set for all.
 * Needs VQ_NOTF_COAL. */
VNETRX_MUST_USE int vnetrx_ctrl_coal_set(const struct vnetrx_features *accepted, uint16_t index, uint32_t usecs,
                                         uint32_t packets, struct vnetrx_ctrl_msg *msg);

/* Asks for what one queue has. Needs VQ_NOTF_COAL. */
VNETRX_MUST_USE int vnetrx_ctrl_coal_get(const struct vnetrx_features *accepted, uint16_t index,
                                         struct vnetrx_ctrl_msg *msg);

/* How many queue pairs the device may use from now on, 1..max, where max is pairs_max of the plan. They must be set up
 * and filled before. Needs MQ. */
VNETRX_MUST_USE int vnetrx_ctrl_pairs(const struct vnetrx_features *accepted, uint16_t pairs, uint16_t max,
                                      struct vnetrx_ctrl_msg *msg);

/* The hash that HASH_REPORT puts into headers: without this command, none. `types`: the device's supported_hash_types,
 * or some of them; key: key_len bytes, up to what the device says and VNETRX_CTRL_KEY_MAX. Needs HASH_REPORT. */
VNETRX_MUST_USE int vnetrx_ctrl_hash(const struct vnetrx_features *accepted, uint32_t types, const uint8_t *key,
                                     uint32_t key_len, struct vnetrx_ctrl_msg *msg);

/* Which frames the device hands on. */
enum vnetrx_rx_mode {
	VNETRX_RX_PROMISC  = 0, /* all                               */
	VNETRX_RX_ALLMULTI = 1, /* all multicast                     */
	VNETRX_RX_ALLUNI   = 2, /* all unicast; needs CTRL_RX_EXTRA  */
	VNETRX_RX_NOMULTI  = 3, /* no multicast; needs CTRL_RX_EXTRA */
	VNETRX_RX_NOUNI    = 4, /* no unicast; needs CTRL_RX_EXTRA   */
	VNETRX_RX_NOBCAST  = 5, /* no broadcast; needs CTRL_RX_EXTRA */
};

/* Turns one mode on or off. Needs CTRL_RX, or what its comment says. */
VNETRX_MUST_USE int vnetrx_ctrl_rx_mode(const struct vnetrx_features *accepted, enum vnetrx_rx_mode mode, bool on,
                                        struct vnetrx_ctrl_msg *msg);

/* The request of the configuration's ANNOUNCE bit was seen. Needs GUEST_ANNOUNCE. */
VNETRX_MUST_USE int vnetrx_ctrl_announced(const struct vnetrx_features *accepted, struct vnetrx_ctrl_msg *msg);

/* Which of the accepted offloads of received packets (GUEST_CSUM, GUEST_TSO4...) are on from now on; all others are
 * off. VNETRX_ERR_INVALID for one that was not accepted or is no such offload, or that requires one that is to be off.
 * Needs CTRL_GUEST_OFFLOADS. */
VNETRX_MUST_USE int vnetrx_ctrl_offloads(const struct vnetrx_features *accepted, const struct vnetrx_features *on,
                                         struct vnetrx_ctrl_msg *msg);

/* The answer, when `in` has come back: VNETRX_OK; VNETRX_ERR_CANNOT when the device refused; VNETRX_ERR_BAD when it
 * said neither, or nothing. */
VNETRX_MUST_USE int vnetrx_ctrl_answer(const struct vnetrx_ctrl_msg *msg);

/* What the answer to vnetrx_ctrl_coal_get() says; for any other message VNETRX_ERR_INVALID, else as above. The values
 * are set only on VNETRX_OK. */
VNETRX_MUST_USE int vnetrx_ctrl_coal_read(const struct vnetrx_ctrl_msg *msg, uint32_t *usecs, uint32_t *packets);

#ifdef __cplusplus
}
#endif

#endif
