/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* accept4() */
#include "vhost_user.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Where a packed ring begins: index 0, wrap counter 1, for what is available and what is used. */
#define PACKED_BASE 0x80008000u

/* ---- the socket ---- */

static int address(const char *path, struct sockaddr_un *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	if (path[0] == '\0')
		return -ENOENT; /* it would be another kind of name */
	if (strlen(path) >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	memcpy(addr->sun_path, path, strlen(path));
	return 0;
}

/* Makes room for a socket: removes one that is there and to which nobody listens any more, and nothing else. */
static int put_away(const char *path, const struct sockaddr_un *addr)
{
	struct stat st;
	int probe, err;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (probe < 0)
		return -errno;
	err = connect(probe, (const struct sockaddr *)addr, sizeof(*addr)) == 0 ? EADDRINUSE : errno;
	close(probe);
	if (err == ECONNREFUSED)
		return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
	/* EAGAIN: its queue is full; EPROTOTYPE: it is another kind of socket. */
	return err == EAGAIN || err == EPROTOTYPE ? -EADDRINUSE : -err;
}

/* A listening socket that accepts without waiting. */
static int listen_at(struct vhost_user *vu)
{
	const char *path = vu->cfg.path;
	struct sockaddr_un addr;
	int err = address(path, &addr);
	int sock;

	if (err == 0)
		err = put_away(path, &addr);
	if (err != 0)
		return err;
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return -errno;
	if (bind(sock, (struct sockaddr *)&addr, sizeof(addr)) != 0 || listen(sock, 1) != 0 ||
	    lstat(path, &vu->listener_file) != 0) {
		err = -errno;
		close(sock);
		return err;
	}
	return sock;
}

/* Removes the listener's file, unless something else has taken its place. */
static void remove_listener(const struct vhost_user *vu)
{
	const struct stat *own = &vu->listener_file;
	struct stat st;

	if (lstat(vu->cfg.path, &st) == 0 && st.st_dev == own->st_dev && st.st_ino == own->st_ino)
		(void)unlink(vu->cfg.path);
}

/* What it means that nobody can be reached: -EAGAIN = it may come yet. Linux refuses what is no socket, too. */
static int unreached(const char *path, int err)
{
	struct stat st;

	if (err == ECONNREFUSED && stat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTSOCK;
	return err == ENOENT || err == ECONNREFUSED ? -EAGAIN : -err;
}

static int connect_to(struct vhost_user *vu)
{
	struct sockaddr_un addr;
	int sock = address(vu->cfg.path, &addr);

	if (sock < 0)
		return sock;
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return sock;
	vu->unreached = errno;
	close(sock);
	return unreached(vu->cfg.path, vu->unreached);
}

static int accept_from(int listener)
{
	int sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	return sock >= 0 ? sock : -errno;
}

/* ---- rings ---- */

static uint32_t ring_flags(const struct vnetrx_virtio_plan *plan)
{
	return (plan->packed ? VNETRX_VIRTQ_PACKED : 0u) | (plan->event_idx ? VNETRX_VIRTQ_EVENT_IDX : 0u) |
	       (plan->indirect ? VNETRX_VIRTQ_INDIRECT : 0u) | (plan->in_order ? VNETRX_VIRTQ_IN_ORDER : 0u) |
	       (plan->dma_barriers ? VNETRX_VIRTQ_ORDER_PLATFORM : 0u);
}

static size_t power_of_two(size_t size)
{
	size_t p = 4096u;

	while (p < size)
		p *= 2u;
	return p;
}

/* What is not there yet is NULL or -1, for ring_delete(). */
static int ring_make(struct vhost_user *vu, struct vhost_ring *ring)
{
	bool tx = ring->index % 2u != 0u;
	struct vnetrx_virtq_config cfg = {
		.size = tx ? vu->cfg.tx_size : vu->cfg.rx_size,
		.flags = ring_flags(&vu->plan),
		.segs_max = tx ? vu->cfg.tx_segs : vu->cfg.rx_segs,
		.delay_num = vu->cfg.delay_num,
		.delay_den = vu->cfg.delay_den,
	};
	const char *why = NULL;
	size_t footprint = vnetrx_virtq_footprint(&cfg, &why);

	if (footprint == 0u) {
		fprintf(stderr, "vhost_user: ring: %s\n", why);
		return -EINVAL;
	}
	ring->size = cfg.size;
	ring->shared_size = power_of_two(vnetrx_virtq_ring_bytes(&cfg));
	ring->shared = region_alloc(vu->cfg.region, ring->shared_size, &ring->shared_dma);
	ring->mem = aligned_alloc(64u, (footprint + 63u) / 64u * 64u);
	ring->kick_fd = eventfd(0u, EFD_NONBLOCK | EFD_CLOEXEC);
	ring->call_fd = eventfd(0u, EFD_NONBLOCK | EFD_CLOEXEC);
	if (ring->shared == NULL || ring->mem == NULL || ring->kick_fd < 0 || ring->call_fd < 0)
		return -ENOMEM;
	cfg.ring = ring->shared;
	cfg.ring_dma = ring->shared_dma;
	return vnetrx_virtq_init(&ring->vq, &cfg, ring->mem, footprint) == VNETRX_OK ? 0 : -EINVAL;
}

static void ring_delete(struct vhost_user *vu, struct vhost_ring *ring)
{
	if (ring->kick_fd >= 0)
		close(ring->kick_fd);
	if (ring->call_fd >= 0)
		close(ring->call_fd);
	free(ring->mem);
	if (ring->shared != NULL)
		region_give(vu->cfg.region, ring->shared, ring->shared_size);
}

/* The first time makes the rings, later empties them. */
static int rings_ready(struct vhost_user *vu)
{
	unsigned i;
	int err = 0;

	for (i = 0u; i < vu->nrings && err == 0; i++) {
		if (vu->made)
			vnetrx_virtq_reset(vu->rings[i].vq);
		else
			err = ring_make(vu, &vu->rings[i]);
	}
	vu->made = vu->made || err == 0;
	return err;
}

/* Tells the back end where a ring is, and lets it begin. */
static int ring_start(struct vhost_user *vu, const struct vhost_ring *ring)
{
	const struct region *region = vu->cfg.region;
	const struct vhost_conn *c = &vu->conn;
	struct vnetrx_virtq_areas areas;
	struct vhost_msg msg = { .size = sizeof(msg.addr) };
	uint32_t base = vu->plan.packed ? PACKED_BASE : 0u;
	int err;

	vnetrx_virtq_read_areas(ring->vq, &areas);
	msg.addr = (struct vhost_addr){
		.index = ring->index,
		.desc = (uintptr_t)region_at(region, areas.desc),
		.avail = (uintptr_t)region_at(region, areas.driver),
		.used = (uintptr_t)region_at(region, areas.device),
	};
	err = vhost_set_u64(c, VHOST_SET_VRING_CALL, ring->index, ring->call_fd);
	if (err == 0)
		err = vhost_set_state(c, VHOST_SET_VRING_NUM, ring->index, ring->size);
	if (err == 0)
		err = vhost_set_state(c, VHOST_SET_VRING_BASE, ring->index, base);
	if (err == 0)
		err = vhost_msg_set(c, &msg, VHOST_SET_VRING_ADDR, -1);
	if (err == 0)
		err = vhost_set_u64(c, VHOST_SET_VRING_KICK, ring->index, ring->kick_fd);
	return err;
}

/* ---- life ---- */

int vhost_user_new(struct vhost_user *vu, const struct vhost_user_config *cfg)
{
	unsigned i;

	*vu = (struct vhost_user){ .cfg = *cfg, .conn = { .sock = -1 }, .listener = -1 };
	if (cfg->pairs == 0u)
		vu->cfg.pairs = 1u;
	if (cfg->rx_size == 0u)
		vu->cfg.rx_size = 256u;
	if (cfg->tx_size == 0u)
		vu->cfg.tx_size = 256u;
	if (cfg->timeout_ms == 0)
		vu->cfg.timeout_ms = 5000;
	if (vu->cfg.pairs > VHOST_PAIRS_MAX)
		return -EINVAL;
	vu->nrings = 2u * vu->cfg.pairs;
	for (i = 0u; i < vu->nrings; i++)
		vu->rings[i] = (struct vhost_ring){ .index = i, .kick_fd = -1, .call_fd = -1 };
	if (cfg->listen)
		vu->listener = listen_at(vu);
	return cfg->listen && vu->listener < 0 ? vu->listener : 0;
}

/* The protocol's own features, if the back end has any; then *pairs is what it can have. */
static int negotiate_protocol(struct vhost_user *vu, uint64_t *pairs)
{
	struct vhost_conn *c = &vu->conn;
	uint64_t offered = 0u;
	int err;

	*pairs = 1u;
	if ((vu->offered & VHOST_F_PROTOCOL_FEATURES) == 0u)
		return 0;
	err = vhost_get_u64(c, VHOST_GET_PROTOCOL_FEATURES, &offered);
	if (err == 0)
		err = vhost_set_u64(c, VHOST_SET_PROTOCOL_FEATURES,
				    offered & (VHOST_PROTOCOL_REPLY_ACK | VHOST_PROTOCOL_MQ), -1);
	c->ack = err == 0 && (offered & VHOST_PROTOCOL_REPLY_ACK) != 0u;
	if (err == 0 && (offered & VHOST_PROTOCOL_MQ) != 0u)
		err = vhost_get_u64(c, VHOST_GET_QUEUE_NUM, pairs);
	return err;
}

static bool same(const struct vnetrx_features *a, const struct vnetrx_features *b)
{
	return a->word[0] == b->word[0] && a->word[1] == b->word[1];
}

/* What to accept: the same as before, if there was a before. */
static int negotiate_features(struct vhost_user *vu, uint64_t pairs)
{
	struct vnetrx_features offer = { .word = { vu->offered & ~VHOST_F_PROTOCOL_FEATURES, 0u } };
	struct vnetrx_virtio_wants wants = vu->cfg.wants;
	struct vnetrx_virtio_plan plan;

	wants.pairs = (uint16_t)(pairs < VHOST_PAIRS_MAX ? pairs : VHOST_PAIRS_MAX);
	if (vu->cfg.pairs > 1u) { /* the control queue would be served here, and there is nothing to ask it */
		vnetrx_features_add(&wants.need, VNETRX_NET_F_MQ);
		vnetrx_features_add(&wants.want, VNETRX_NET_F_CTRL_VQ);
	}
	if (vnetrx_virtio_negotiate(&offer, &wants, &plan) != VNETRX_OK || plan.pairs_max < vu->cfg.pairs ||
	    (vu->made && !same(&plan.accept, &vu->plan.accept)))
		return -ENOTSUP;
	vu->plan = plan;
	return 0;
}

static int negotiate(struct vhost_user *vu)
{
	struct vhost_msg owner = { .size = 0u };
	uint64_t pairs = 0u;
	int err = vhost_msg_set(&vu->conn, &owner, VHOST_SET_OWNER, -1);

	if (err == 0)
		err = vhost_get_u64(&vu->conn, VHOST_GET_FEATURES, &vu->offered);
	if (err == 0)
		err = negotiate_protocol(vu, &pairs);
	if (err == 0)
		err = negotiate_features(vu, pairs);
	if (err == 0)
		err = vhost_set_u64(&vu->conn, VHOST_SET_FEATURES,
				    vu->plan.accept.word[0] | (vu->offered & VHOST_F_PROTOCOL_FEATURES), -1);
	return err;
}

static void hang_up(struct vhost_user *vu)
{
	if (vu->conn.sock >= 0)
		close(vu->conn.sock);
	vu->conn.sock = -1;
	vu->conn.ack = false;
	vu->started = false;
}

int vhost_user_open(struct vhost_user *vu)
{
	int err;

	if (vu->conn.sock >= 0)
		return -EISCONN;
	vu->conn.timeout_ms = vu->cfg.timeout_ms;
	vu->conn.sock = vu->cfg.listen ? accept_from(vu->listener) : connect_to(vu);
	if (vu->conn.sock < 0) {
		err = vu->conn.sock;
		vu->conn.sock = -1;
		return err;
	}
	err = negotiate(vu);
	if (err == 0)
		err = rings_ready(vu);
	if (err != 0)
		hang_up(vu);
	return err;
}

static int share_memory(const struct vhost_user *vu)
{
	const struct region *region = vu->cfg.region;
	struct vhost_msg msg = { .size = sizeof(msg.memory) };

	msg.memory = (struct vhost_memory){
		.nregions = 1u,
		.guest_addr = REGION_DMA,
		.size = region->size,
		.user_addr = (uintptr_t)region->base,
	};
	return vhost_msg_set(&vu->conn, &msg, VHOST_SET_MEM_TABLE, region->fd);
}

int vhost_user_start(struct vhost_user *vu)
{
	bool enable = (vu->offered & VHOST_F_PROTOCOL_FEATURES) != 0u;
	int err = share_memory(vu);
	unsigned i;

	vu->started = true;
	for (i = 0u; i < vu->nrings && err == 0; i++)
		err = ring_start(vu, &vu->rings[i]);
	for (i = 0u; i < vu->nrings && err == 0 && enable; i++)
		err = vhost_set_state(&vu->conn, VHOST_SET_VRING_ENABLE, i, 1u);
	return err;
}

bool vhost_user_up(const struct vhost_user *vu)
{
	char byte;
	ssize_t n;

	if (vu->conn.sock < 0)
		return false;
	do {
		n = recv(vu->conn.sock, &byte, 1u, MSG_PEEK | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	return n < 0 && errno == EAGAIN; /* nothing comes that was not asked for */
}

void vhost_user_stop(struct vhost_user *vu)
{
	unsigned i;
	int err = vhost_user_up(vu) && vu->started ? 0 : -EPIPE;

	for (i = 0u; i < vu->nrings && err == 0; i++) {
		struct vhost_msg msg = { .size = sizeof(msg.state), .state = { .index = i } };

		err = vhost_msg_get(&vu->conn, &msg, VHOST_GET_VRING_BASE, sizeof(msg.state));
	}
	hang_up(vu);
}

void vhost_user_delete(struct vhost_user *vu)
{
	unsigned i;

	vhost_user_stop(vu);
	for (i = 0u; i < vu->nrings; i++)
		ring_delete(vu, &vu->rings[i]);
	if (vu->listener >= 0) {
		close(vu->listener);
		remove_listener(vu);
	}
}

/* ---- doorbells ---- */

void vhost_ring_notify(void *arg, uint32_t data)
{
	struct vhost_ring *ring = arg;
	uint64_t one = 1u;

	(void)data;
	ring->kicks++;
	(void)!write(ring->kick_fd, &one, sizeof(one)); /* fails only when it is as loud as it can be */
}

uint64_t vhost_ring_called(struct vhost_ring *ring)
{
	uint64_t n = 0u;

	if (read(ring->call_fd, &n, sizeof(n)) != sizeof(n))
		return 0u;
	ring->calls += n;
	return n;
}

const char *vhost_user_strerror(int err)
{
	switch (err) {
	case -EPROTO:
		return "the back end refused a message, or its answer does not fit";
	case -EPIPE:
		return "the back end closed the connection";
	case -ETIMEDOUT:
		return "the back end did not answer";
	case -ENOTSUP:
		return "the back end lacks queues or features that are needed, or came back with others";
	case -EAGAIN:
		return "no back end is there";
	case -EADDRINUSE:
		return "another program listens there: end that one, or choose another path";
	case -EEXIST:
		return "what is there is no socket, and stays: move it away, or choose another path";
	case -ENOTSOCK:
		return "what is there is no socket: choose the one of a back end";
	case -EISDIR:
		return "a directory is no socket: choose that of a back end";
	default:
		return strerror(-err);
	}
}
