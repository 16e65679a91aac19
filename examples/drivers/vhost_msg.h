/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the vhost-user protocol, as the front end sends them (the protocol's document in QEMU's source tree,
 * docs/interop/vhost-user.rst). All numbers are in host byte order.
 *
 * Functions return 0 or a negative errno; -EPROTO: the back end refused, or answered what does not fit the question;
 * -EPIPE: it closed the connection; -ETIMEDOUT: it did not answer.
 */
#ifndef EXAMPLES_VHOST_MSG_H
#define EXAMPLES_VHOST_MSG_H

#include <stdbool.h>
#include <stdint.h>

enum vhost_request {
	VHOST_GET_FEATURES          = 1,
	VHOST_SET_FEATURES          = 2,
	VHOST_SET_OWNER             = 3,
	VHOST_SET_MEM_TABLE         = 5,
	VHOST_SET_VRING_NUM         = 8,
	VHOST_SET_VRING_ADDR        = 9,
	VHOST_SET_VRING_BASE        = 10,
	VHOST_GET_VRING_BASE        = 11,
	VHOST_SET_VRING_KICK        = 12,
	VHOST_SET_VRING_CALL        = 13,
	VHOST_GET_PROTOCOL_FEATURES = 15,
	VHOST_SET_PROTOCOL_FEATURES = 16,
	VHOST_GET_QUEUE_NUM         = 17,
	VHOST_SET_VRING_ENABLE      = 18,
};

#define VHOST_F_PROTOCOL_FEATURES (1ull << 30) /* among the device's features: the protocol has features of its own */
#define VHOST_PROTOCOL_MQ         (1ull << 0)
#define VHOST_PROTOCOL_REPLY_ACK  (1ull << 3)

#define VHOST_VERSION    0x1u /* header flags: version of the protocol, bits 0 and 1 */
#define VHOST_REPLY      0x4u
#define VHOST_NEED_REPLY 0x8u

struct vhost_state {
	uint32_t index;
	uint32_t num;
};

struct vhost_addr {
	uint32_t index;
	uint32_t flags;
	uint64_t desc; /* addresses of the front end's process */
	uint64_t used;
	uint64_t avail;
	uint64_t log;
};

struct vhost_memory { /* of one region */
	uint32_t nregions;
	uint32_t padding;
	uint64_t guest_addr; /* as descriptors say it           */
	uint64_t size;
	uint64_t user_addr;  /* as struct vhost_addr says it    */
	uint64_t offset;     /* of its first byte in the file   */
};

struct vhost_msg {
	uint32_t request;
	uint32_t flags;
	uint32_t size; /* bytes of what follows that count */
	union {
		uint64_t            u64;
		struct vhost_state  state;
		struct vhost_addr   addr;
		struct vhost_memory memory;
	};
};

/* A connection. */
struct vhost_conn {
	int      sock;       /* -1 = none                                  */
	int      timeout_ms; /* how long an answer may take                */
	bool     ack;        /* REPLY_ACK is on: every message is answered */
};

/* Sends a message whose size and content are set, with a file descriptor unless fd is -1; when REPLY_ACK is on, waits
 * for the back end's word that it did it. */
int vhost_msg_set(const struct vhost_conn *c, struct vhost_msg *msg, enum vhost_request request, int fd);

/* Sends a question and waits for the answer, which is as long as `size`. */
int vhost_msg_get(const struct vhost_conn *c, struct vhost_msg *msg, enum vhost_request request, uint32_t size);

/* Short forms. */
int vhost_set_u64(const struct vhost_conn *c, enum vhost_request request, uint64_t value, int fd);
int vhost_set_state(const struct vhost_conn *c, enum vhost_request request, uint32_t index, uint32_t num);
int vhost_get_u64(const struct vhost_conn *c, enum vhost_request request, uint64_t *value);

#endif
