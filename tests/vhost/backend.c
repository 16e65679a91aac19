/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "backend.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "vnetrx/virtio_features.h"

#define WIRE_HEADER 12u
#define NET_HEADER  12u
#define FRAME_MAX   16384u
#define SEGS_MAX    32u

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

struct backend backend_honest(void)
{
	static unsigned number;
	struct backend b = {
		.features = vnetrx_features_usual().word[0] | VHOST_F_PROTOCOL_FEATURES,
		.protocol = VHOST_PROTOCOL_REPLY_ACK,
		.queues = 1u,
		.listener = -1,
		.sock = -1,
	};

	snprintf(b.path, sizeof(b.path), "/tmp/vnetrx-backend-%d-%u", (int)getpid(), number++);
	return b;
}

/* ---- rings ---- */

static void *map(void *arg, uint64_t dma, uint32_t len)
{
	const struct backend *b = arg;
	uint64_t at = dma - b->memory.guest_addr;

	return at <= b->memory.size && len <= b->memory.size - at ? b->mapped + at : NULL;
}

/* The address that descriptors would use for one of the front end's process. */
static uint64_t guest(const struct backend *b, uint64_t user)
{
	return user - b->memory.user_addr + b->memory.guest_addr;
}

static void open_ring(struct backend *b, struct backend_ring *ring)
{
	bool packed = (b->accepted >> VNETRX_F_RING_PACKED & 1u) != 0u;
	struct softring_config cfg = {
		.size = ring->size,
		.flags = (packed ? SOFTRING_PACKED : 0u) |
			 ((b->accepted >> VNETRX_F_EVENT_IDX & 1u) != 0u ? SOFTRING_EVENT_IDX : 0u) |
			 ((b->accepted >> VNETRX_F_INDIRECT_DESC & 1u) != 0u ? SOFTRING_INDIRECT : 0u) |
			 ((b->accepted >> VNETRX_F_IN_ORDER & 1u) != 0u ? SOFTRING_IN_ORDER : 0u),
		.desc = guest(b, ring->addr.desc),
		.driver = guest(b, ring->addr.avail),
		.device = guest(b, ring->addr.used),
		.map = map,
		.map_arg = b,
	};

	CHECK(ring->base == (packed ? 0x80008000u : 0u));
	ring->ring = softring_new(&cfg);
	CHECK(ring->ring != NULL);
}

static void interrupt(struct backend_ring *ring)
{
	uint64_t one = 1u;

	if (softring_interrupt(ring->ring))
		CHECK(write(ring->call_fd, &one, sizeof(one)) == sizeof(one));
}

/* One frame from `from` into one buffer of `to`; false = there is none. */
static bool return_frame(struct backend_ring *from, struct backend_ring *to)
{
	static const uint8_t header[NET_HEADER] = { [10] = 1u };
	struct softring_seg out[SEGS_MAX], in[SEGS_MAX];
	struct softring_chain sent, back;
	uint8_t frame[FRAME_MAX];
	uint32_t len;

	if (!softring_pending(from->ring) || !softring_pending(to->ring))
		return false;
	CHECK(softring_take(from->ring, &sent, out, SEGS_MAX) == 1);
	CHECK(softring_take(to->ring, &back, in, SEGS_MAX) == 1);
	len = softring_read(out, sent.out, NET_HEADER, frame, FRAME_MAX);
	CHECK(softring_write(in, back.in, 0u, header, NET_HEADER) == NET_HEADER);
	CHECK(softring_write(in, back.in, NET_HEADER, frame, len) == len);
	softring_put(from->ring, &sent, 0u);
	softring_put(to->ring, &back, NET_HEADER + len);
	return true;
}

static void serve(struct backend *b)
{
	unsigned i;

	for (i = 0u; i + 1u < BACKEND_RINGS; i += 2u) {
		struct backend_ring *rx = &b->rings[i], *tx = &b->rings[i + 1u];
		unsigned n = 0u;

		if (!rx->enabled || !tx->enabled)
			continue;
		while (return_frame(tx, rx))
			n++;
		if (n != 0u) {
			interrupt(rx);
			interrupt(tx);
			atomic_fetch_add(&b->returned, n);
		}
	}
}

/* ---- the protocol ---- */

static bool answer(struct backend *b, struct vhost_msg *msg, uint32_t size)
{
	struct iovec iov[2] = { { msg, WIRE_HEADER }, { &msg->u64, size } };
	struct msghdr out = { .msg_iov = iov, .msg_iovlen = 2u };

	if (b->fault != BACKEND_HONEST && msg->request == b->fault_at) {
		if (b->fault == BACKEND_SILENT)
			return true;
		if (b->fault == BACKEND_CLOSES)
			return false;
		if (b->fault == BACKEND_REFUSES)
			msg->u64 = 1u;
		if (b->fault == BACKEND_OTHER)
			msg->request++;
		if (b->fault == BACKEND_SHORT)
			iov[1].iov_len = size /= 2u;
	}
	msg->flags = VHOST_VERSION | VHOST_REPLY;
	msg->size = size;
	return sendmsg(b->sock, &out, MSG_NOSIGNAL) == (ssize_t)(WIRE_HEADER + size);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void share(struct backend *b, const struct vhost_msg *msg, int fd)
{
	void *mapped;

	CHECK(msg->memory.nregions == 1u && fd >= 0);
	b->memory = msg->memory;
	mapped = mmap(NULL, (size_t)b->memory.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)b->memory.offset);
	CHECK(mapped != MAP_FAILED);
	b->mapped = mapped;
	close(fd);
}

/* What is set; true = it is known. */
static bool set(struct backend *b, const struct vhost_msg *msg, int fd)
{
	struct backend_ring *ring = &b->rings[msg->state.index % BACKEND_RINGS];

	switch (msg->request) {
	case VHOST_SET_OWNER:
	case VHOST_SET_PROTOCOL_FEATURES:
		return true;
	case VHOST_SET_FEATURES:
		b->accepted = msg->u64;
		return true;
	case VHOST_SET_MEM_TABLE:
		share(b, msg, fd);
		return true;
	case VHOST_SET_VRING_NUM:
		ring->size = msg->state.num;
		return true;
	case VHOST_SET_VRING_BASE:
		ring->base = msg->state.num;
		return true;
	case VHOST_SET_VRING_ADDR:
		ring->addr = msg->addr;
		return true;
	case VHOST_SET_VRING_KICK:
		ring->kick_fd = fd;
		return true;
	case VHOST_SET_VRING_CALL:
		ring->call_fd = fd;
		return true;
	case VHOST_SET_VRING_ENABLE:
		open_ring(b, ring);
		ring->enabled = msg->state.num == 1u;
		return true;
	default:
		return false;
	}
}

/* What is asked; true = it is known, and answered in *msg. */
static bool get(struct backend *b, struct vhost_msg *msg)
{
	switch (msg->request) {
	case VHOST_GET_FEATURES:
		msg->u64 = b->features;
		return true;
	case VHOST_GET_PROTOCOL_FEATURES:
		msg->u64 = b->protocol;
		return true;
	case VHOST_GET_QUEUE_NUM:
		msg->u64 = b->queues;
		return true;
	case VHOST_GET_VRING_BASE:
		b->rings[msg->state.index % BACKEND_RINGS].enabled = false;
		return true;
	default:
		return false;
	}
}

/* One message with the descriptor that came with it, or -1; false = the front end is gone. */
static bool receive(struct backend *b, struct vhost_msg *msg, int *fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { msg, WIRE_HEADER };
	struct msghdr in = {
		.msg_iov = &iov, .msg_iovlen = 1u, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)
	};
	struct cmsghdr *cmsg;

	*fd = -1;
	if (recvmsg(b->sock, &in, MSG_CMSG_CLOEXEC) != (ssize_t)WIRE_HEADER)
		return false;
	cmsg = CMSG_FIRSTHDR(&in);
	if (cmsg != NULL)
		memcpy(fd, CMSG_DATA(cmsg), sizeof(int));
	CHECK(msg->size <= sizeof(*msg) - offsetof(struct vhost_msg, u64));
	return msg->size == 0u || recv(b->sock, &msg->u64, msg->size, MSG_WAITALL) == (ssize_t)msg->size;
}

static bool message(struct backend *b)
{
	struct vhost_msg msg;
	int fd = -1;

	if (!receive(b, &msg, &fd))
		return false;
	if (b->nrequests < BACKEND_MESSAGES)
		b->requests[b->nrequests++] = msg.request;
	if (get(b, &msg))
		return answer(b, &msg, 8u);
	CHECK(set(b, &msg, fd));
	if ((msg.flags & VHOST_NEED_REPLY) == 0u)
		return true;
	msg.u64 = 0u;
	return answer(b, &msg, 8u);
}

/* ---- life ---- */

static void drop_front_end(struct backend *b)
{
	unsigned i;

	for (i = 0u; i < BACKEND_RINGS; i++) {
		if (b->rings[i].ring != NULL)
			softring_free(b->rings[i].ring);
		close_fd(&b->rings[i].kick_fd);
		close_fd(&b->rings[i].call_fd);
		b->rings[i].ring = NULL;
		b->rings[i].enabled = false;
	}
	if (b->mapped != NULL)
		munmap(b->mapped, (size_t)b->memory.size);
	b->mapped = NULL;
	close_fd(&b->sock);
}

static struct sockaddr_un address(const struct backend *b)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	memcpy(addr.sun_path, b->path, strlen(b->path));
	return addr;
}

/* Waits up to 10 ms for a front end. */
static void meet(struct backend *b)
{
	struct sockaddr_un addr = address(b);
	struct pollfd pfd = { .fd = b->listener, .events = POLLIN };

	if (b->connects) {
		b->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(b->sock, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
			close_fd(&b->sock);
			usleep(1000);
		}
	} else if (poll(&pfd, 1, 10) > 0) {
		b->sock = accept4(b->listener, NULL, NULL, SOCK_CLOEXEC);
	}
	if (b->sock >= 0)
		b->nrequests = 0u;
}

static void *run(void *arg)
{
	struct backend *b = arg;

	while (!atomic_load(&b->stop)) {
		struct pollfd pfd = { .events = POLLIN };

		if (b->sock < 0) {
			meet(b);
			continue;
		}
		pfd.fd = b->sock;
		if (poll(&pfd, 1, 1) > 0 && !message(b))
			drop_front_end(b);
		serve(b);
	}
	drop_front_end(b);
	return NULL;
}

void backend_start(struct backend *b)
{
	struct sockaddr_un addr = address(b);
	unsigned i;

	for (i = 0u; i < BACKEND_RINGS; i++)
		b->rings[i] = (struct backend_ring){ .kick_fd = -1, .call_fd = -1 };
	atomic_store(&b->stop, false);
	if (!b->connects) {
		b->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		(void)unlink(b->path);
		CHECK(bind(b->listener, (struct sockaddr *)&addr, sizeof(addr)) == 0 && listen(b->listener, 1) == 0);
	}
	CHECK(pthread_create(&b->thread, NULL, run, b) == 0);
}

void backend_stop(struct backend *b)
{
	atomic_store(&b->stop, true);
	pthread_join(b->thread, NULL);
	close_fd(&b->listener);
	if (!b->connects)
		(void)unlink(b->path);
}
