/* SPDX-License-Identifier: BSD-3-Clause */
/* Invariant: posted buffers are iov[head], iov[head + 1], ... modulo the ring; a frame is read only into buffers that
 * hold the longest one, and its bytes lie in the first of them until they are reaped. */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vnetrx/virtio_net.h"

#define FRAME_GSO   65589u /* 14 + 40 + 65535                       */
#define FRAME_EXTRA 26u    /* Ethernet header and up to three tags  */

/* What the kernel takes in a header, whatever TUNSETOFFLOAD says; TUNNEL where headers have room for it. */
#define TAKES (VNETRX_VIRTIO_CSUM | VNETRX_VIRTIO_TSO4 | VNETRX_VIRTIO_TSO6 | VNETRX_VIRTIO_ECN | \
               VNETRX_VIRTIO_USO4 | VNETRX_VIRTIO_USO6)

/* ---- ops ---- */

static unsigned post(void *dev, const struct vnetrx_buf *bufs, unsigned n)
{
	struct tap_queue *q = dev;
	unsigned i;

	for (i = 0u; i < n && q->posted < TAP_POSTED_MAX; i++) {
		uint32_t at = (q->head + q->posted) % TAP_POSTED_MAX;

		q->iov[at] = (struct iovec){ .iov_base = bufs[i].addr, .iov_len = bufs[i].len };
		q->iov[at + TAP_POSTED_MAX] = q->iov[at];
		q->id[at] = bufs[i].id;
		q->posted++;
	}
	return i;
}

/* How many of the posted buffers a frame may need; 0 = they do not hold the longest. One byte more than that is wanted,
 * so that a frame which is longer, and cut by the kernel without a word, is seen by merge as what it is. */
static unsigned row(const struct tap_queue *q, size_t *room)
{
	unsigned n = 0u;

	*room = 0u;
	while (n < q->posted && *room < q->want)
		*room += q->iov[q->head + n++].iov_len;
	return *room >= q->want ? n : 0u;
}

/* Reads the next frame; false = there is none, or no room. */
static bool read_frame(struct tap_queue *q)
{
	size_t room;
	unsigned n = row(q, &room);
	ssize_t len;

	if (n == 0u) {
		q->stats.no_room++;
		return false;
	}
	do {
		len = n == 1u ? read(q->fd, q->iov[q->head].iov_base, room) : readv(q->fd, &q->iov[q->head], (int)n);
	} while (len < 0 && errno == EINTR);
	if (len <= 0) {
		if (len < 0 && errno != EAGAIN)
			q->err = -errno;
		return false;
	}
	q->stats.reads++;
	q->stats.read_bytes += (size_t)len > q->hdr_len ? (size_t)len - q->hdr_len : 0u;
	q->left = (uint32_t)len;
	return true;
}

/* The next buffer of the frame that was read. */
static struct vnetrx_done next_done(struct tap_queue *q)
{
	uint32_t at = q->head, size = (uint32_t)q->iov[at].iov_len;
	struct vnetrx_done done = { .id = q->id[at], .len = q->left < size ? q->left : size };

	q->left -= done.len;
	if (q->left > 0u)
		done.flags = VNETRX_DONE_MORE;
	q->head = (at + 1u) % TAP_POSTED_MAX;
	q->posted--;
	return done;
}

static int reap(void *dev, struct vnetrx_done *done, unsigned max)
{
	struct tap_queue *q = dev;
	unsigned n = 0u;

	while (n < max && (q->left > 0u || read_frame(q)))
		done[n++] = next_done(q);
	return n == 0u && q->err != 0 ? q->err : (int)n;
}

static int decode(void *dev, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	const struct tap_queue *q = dev;
	int err = vnetrx_virtio_net_decode(head, len, q->hdr_len, q->features, meta);

	meta->nbufs = 0u; /* see tap.h */
	return err;
}

const struct vnetrx_dev_ops tap_ops = {
	.post = post,
	.reap = reap,
	.decode = decode,
};

/* ---- the other way ---- */

int tap_write(struct tap_queue *q, const struct vnetrx_pkt *pkt)
{
	uint32_t takes = TAKES | (q->features & VNETRX_VIRTIO_TUNNEL);
	unsigned n = vnetrx_pkt_iovec(pkt, (struct vnetrx_iov *)(void *)&q->out[1], TAP_PIECES_MAX - 1u);
	ssize_t len;

	if (n >= TAP_PIECES_MAX || vnetrx_virtio_net_encode(pkt, takes, q->out_hdr, q->hdr_len) != VNETRX_OK)
		return -EMSGSIZE;
	q->out[0] = (struct iovec){ .iov_base = q->out_hdr, .iov_len = q->hdr_len };
	do {
		len = writev(q->fd, q->out, (int)n + 1);
	} while (len < 0 && errno == EINTR);
	if (len < 0)
		return -errno;
	q->stats.writes++;
	q->stats.write_bytes += pkt->len;
	return 0;
}

void tap_queue_reset(struct tap_queue *q)
{
	q->left = 0u;
	q->head = 0u;
	q->posted = 0u;
}

/* ---- life ---- */

static int set_int(int fd, unsigned long what, int value)
{
	return ioctl(fd, what, &value) == 0 ? 0 : -errno;
}

static bool offers(int fd, uint32_t offload)
{
	return ioctl(fd, TUNSETOFFLOAD, (unsigned long)offload) == 0;
}

/* Tunnels need headers that have room for them: with those bits and a shorter one the kernel drops every frame. */
static int agree(struct tap *tap, int fd, uint32_t wanted)
{
	uint32_t base = TAP_CSUM | TAP_TSO4 | TAP_TSO6 | TAP_ECN, best = base;
	int err;

	if (offers(fd, base | TAP_USO))
		best |= TAP_USO;
	if (offers(fd, best | TAP_TUNNEL) && (tap->hdr_len == 0u || tap->hdr_len >= 24u))
		best |= TAP_TUNNEL;
	if (tap->hdr_len == 0u)
		tap->hdr_len = (best & TAP_TUNNEL) != 0u ? 24u : 12u;
	tap->tunnel = (best & TAP_TUNNEL) != 0u;
	tap->offload = wanted == TAP_DEFAULT ? best : wanted & ~TAP_NOTHING;
	if (!offers(fd, tap->offload))
		return -errno;
	err = set_int(fd, TUNSETVNETHDRSZ, (int)tap->hdr_len);
	return err == 0 ? set_int(fd, TUNSETVNETLE, 1) : err;
}

static int queue_open(struct tap *tap, const struct tap_config *cfg)
{
	struct tap_queue *q = calloc(1u, sizeof(*q));
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int err = 0;

	if (q == NULL)
		return -ENOMEM;
	tap->queue[tap->nqueues++] = q;
	if (cfg->queues > 1u)
		ifr.ifr_flags |= IFF_MULTI_QUEUE;
	memcpy(ifr.ifr_name, cfg->name, strlen(cfg->name));
	q->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (q->fd < 0 || ioctl(q->fd, TUNSETIFF, &ifr) != 0)
		err = -errno;
	if (err == 0)
		err = agree(tap, q->fd, cfg->offload);
	return err;
}

/* What depends on the interface being there. */
static int queues_ready(struct tap *tap)
{
	uint32_t mtu;
	unsigned i;
	int err = link_mtu(&tap->link, &mtu);

	tap->frame_len_max = (tap->offload & TAP_GSO) != 0u ? FRAME_GSO : mtu + FRAME_EXTRA;
	for (i = 0u; i < tap->nqueues; i++) {
		struct tap_queue *q = tap->queue[i];

		q->hdr_len = tap->hdr_len;
		q->want = tap->hdr_len + tap->frame_len_max + 1u;
		q->features = VNETRX_VIRTIO_TAP | (tap->tunnel ? VNETRX_VIRTIO_TUNNEL : 0u);
	}
	return err == 0 ? link_set_up(&tap->link) : err;
}

static int open_all(struct tap *tap, const struct tap_config *cfg)
{
	unsigned i, n = cfg->queues != 0u ? cfg->queues : 1u;
	int err = 0;

	for (i = 0u; i < n && err == 0; i++)
		err = queue_open(tap, cfg);
	if (err == 0)
		err = link_open(&tap->link, cfg->name);
	return err == 0 ? queues_ready(tap) : err;
}

int tap_open(struct tap *tap, const struct tap_config *cfg)
{
	int back, err;

	*tap = (struct tap){ .hdr_len = cfg->hdr_len, .link = { .ctl = -1, .watch = -1 } };
	if (strlen(cfg->name) >= IFNAMSIZ)
		return -ENAMETOOLONG;
	if (cfg->queues > TAP_QUEUES_MAX)
		return -EINVAL;
	err = netns_enter(cfg->netns, &back);
	if (err != 0)
		return err;
	err = open_all(tap, cfg);
	netns_leave(back);
	if (err != 0)
		tap_close(tap);
	return err;
}

void tap_close(struct tap *tap)
{
	unsigned i;

	for (i = 0u; i < tap->nqueues; i++) {
		if (tap->queue[i]->fd >= 0)
			close(tap->queue[i]->fd);
		free(tap->queue[i]);
	}
	tap->nqueues = 0u;
	link_close(&tap->link);
}
