/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* clock_gettime() */
#include "vhost_msg.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define HEADER       offsetof(struct vhost_msg, u64)
#define VERSION_MASK 0x3u

/* The union is aligned to 8, the header on the wire is 12 bytes: they are sent as two pieces. */
#define WIRE_HEADER 12u

_Static_assert(sizeof(struct vhost_state) == 8u && sizeof(struct vhost_addr) == 40u, "as on the wire");
_Static_assert(sizeof(struct vhost_memory) == 40u, "as on the wire");
_Static_assert(HEADER >= WIRE_HEADER, "the header comes first");

static int send_msg(const struct vhost_conn *c, struct vhost_msg *msg, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec iov[2] = { { msg, WIRE_HEADER }, { &msg->u64, msg->size } };
	struct msghdr out = { .msg_iov = iov, .msg_iovlen = msg->size != 0u ? 2u : 1u };
	ssize_t n;

	if (fd >= 0) {
		struct cmsghdr *cmsg;

		out.msg_control = control.bytes;
		out.msg_controllen = sizeof(control.bytes);
		cmsg = CMSG_FIRSTHDR(&out);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	}
	do {
		n = sendmsg(c->sock, &out, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return (size_t)n == WIRE_HEADER + msg->size ? 0 : -EPROTO;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Exactly `len` bytes before `until`. */
static int receive(const struct vhost_conn *c, void *to, size_t len, int64_t until)
{
	size_t have = 0u;

	while (have < len) {
		struct pollfd pfd = { .fd = c->sock, .events = POLLIN };
		int64_t left = until - now_ms();
		ssize_t n;

		if (left <= 0 || poll(&pfd, 1, (int)left) == 0)
			return -ETIMEDOUT;
		n = recv(c->sock, (uint8_t *)to + have, len - have, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return -EPIPE;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0)
			have += (size_t)n;
	}
	return 0;
}

/* The answer to `request`, `size` bytes long. */
static int receive_reply(const struct vhost_conn *c, struct vhost_msg *msg, uint32_t request, uint32_t size)
{
	int64_t until = now_ms() + c->timeout_ms;
	int err = receive(c, msg, WIRE_HEADER, until);

	if (err != 0)
		return err;
	if (msg->request != request || msg->size != size || (msg->flags & VERSION_MASK) != VHOST_VERSION ||
	    (msg->flags & VHOST_REPLY) == 0u)
		return -EPROTO;
	return receive(c, &msg->u64, size, until);
}

int vhost_msg_set(const struct vhost_conn *c, struct vhost_msg *msg, enum vhost_request request, int fd)
{
	int err;

	msg->request = (uint32_t)request;
	msg->flags = VHOST_VERSION | (c->ack ? VHOST_NEED_REPLY : 0u);
	err = send_msg(c, msg, fd);
	if (err == 0 && c->ack) {
		err = receive_reply(c, msg, (uint32_t)request, sizeof(msg->u64));
		if (err == 0 && msg->u64 != 0u)
			err = -EPROTO;
	}
	return err;
}

int vhost_msg_get(const struct vhost_conn *c, struct vhost_msg *msg, enum vhost_request request, uint32_t size)
{
	int err;

	msg->request = (uint32_t)request;
	msg->flags = VHOST_VERSION;
	err = send_msg(c, msg, -1);
	return err != 0 ? err : receive_reply(c, msg, (uint32_t)request, size);
}

int vhost_set_u64(const struct vhost_conn *c, enum vhost_request request, uint64_t value, int fd)
{
	struct vhost_msg msg = { .size = sizeof(msg.u64), .u64 = value };

	return vhost_msg_set(c, &msg, request, fd);
}

int vhost_set_state(const struct vhost_conn *c, enum vhost_request request, uint32_t index, uint32_t num)
{
	struct vhost_msg msg = { .size = sizeof(msg.state), .state = { index, num } };

	return vhost_msg_set(c, &msg, request, -1);
}

int vhost_get_u64(const struct vhost_conn *c, enum vhost_request request, uint64_t *value)
{
	struct vhost_msg msg = { .size = 0u };
	int err = vhost_msg_get(c, &msg, request, sizeof(msg.u64));

	*value = err == 0 ? msg.u64 : 0u;
	return err;
}
