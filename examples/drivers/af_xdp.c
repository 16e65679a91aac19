/* SPDX-License-Identifier: BSD-3-Clause */
/* Invariant: a chunk of the UMEM is at each moment the pool's, in the fill ring or with the kernel, or in the rx ring;
 * a chunk to send from is in tx_free, in the tx ring or with the kernel, or in the completion ring. */
#include "af_xdp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "af_xdp_bpf.h"

#define USE_SG      (1u << 4) /* XDP_USE_SG, Linux 6.6  */
#define CONTD       (1u << 0) /* XDP_PKT_CONTD          */
#define FRAME_EXTRA 26u       /* Ethernet header and up to three tags */
#define NO_ID       0xffffffffu

/* ---- rings ---- */

static uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE); /* what the other side wrote before it, we see */
}

static void store(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE); /* what we wrote before it, the other side sees */
}

static uint32_t room(const struct xdp_ring *r)
{
	return r->mask + 1u - (r->mine - load(r->consumer));
}

static uint32_t waiting(const struct xdp_ring *r)
{
	return load(r->producer) - r->mine;
}

static uint64_t *place_at(const struct xdp_ring *r, uint32_t i)
{
	return (uint64_t *)r->entries + (i & r->mask);
}

static struct xdp_desc *desc_at(const struct xdp_ring *r, uint32_t i)
{
	return (struct xdp_desc *)r->entries + (i & r->mask);
}

/* ---- ops ---- */

static unsigned post(void *dev, const struct vnetrx_buf *bufs, unsigned n)
{
	struct xdp_queue *q = dev;
	uint32_t free = q->fd >= 0 ? room(&q->fill) : 0u;
	unsigned i;

	if (n > free)
		n = free;
	for (i = 0u; i < n; i++) {
		uint64_t place = bufs[i].dma - REGION_DMA;

		q->ids[place / q->chunk] = bufs[i].id;
		*place_at(&q->fill, q->fill.mine++) = place;
	}
	store(q->fill.producer, q->fill.mine);
	return n;
}

static struct vnetrx_done done_of(struct xdp_queue *q, const struct xdp_desc *desc)
{
	struct vnetrx_done done = { .len = desc->len, .off = (uint16_t)(desc->addr % q->chunk) };
	bool more = (desc->options & CONTD) != 0u;

	done.id = desc->addr < q->region->size ? q->ids[desc->addr / q->chunk] : NO_ID;
	done.flags = more ? VNETRX_DONE_MORE : 0u;
	q->stats.reads += q->open ? 0u : 1u;
	q->stats.read_bytes += desc->len;
	q->open = more;
	return done;
}

static int reap(void *dev, struct vnetrx_done *done, unsigned max)
{
	struct xdp_queue *q = dev;
	uint32_t n, i;

	if (q->fd < 0)
		return -EBADFD;
	n = waiting(&q->rx);
	if (n > max)
		n = max;
	for (i = 0u; i < n; i++) {
		struct xdp_desc desc = *desc_at(&q->rx, q->rx.mine++);

		done[i] = done_of(q, &desc);
	}
	store(q->rx.consumer, q->rx.mine);
	return (int)n;
}

const struct vnetrx_dev_ops xdp_ops = {
	.post = post,
	.reap = reap,
};

/* ---- the other way ---- */

static void take_back(struct xdp_queue *q)
{
	uint32_t n = waiting(&q->completion);

	while (n-- > 0u && q->tx_free_num < XDP_TX_CHUNKS)
		q->tx_free[q->tx_free_num++] = *place_at(&q->completion, q->completion.mine++);
	store(q->completion.consumer, q->completion.mine);
}

/* In copy mode the kernel sends within this call; what it does not get to stays in the ring for the next. */
static void kick(const struct xdp_queue *q)
{
	(void)sendto(q->fd, NULL, 0u, MSG_DONTWAIT, NULL, 0u);
}

static void put(struct xdp_queue *q, const struct vnetrx_pkt *pkt, uint32_t off, uint32_t len)
{
	uint64_t place = q->tx_free[--q->tx_free_num];

	(void)vnetrx_pkt_copy(pkt, off, q->region->base + place, len);
	*desc_at(&q->tx, q->tx.mine++) = (struct xdp_desc){
		.addr = place,
		.len = len,
		.options = off + len < pkt->len ? CONTD : 0u,
	};
}

int xdp_write(struct xdp_queue *q, const struct vnetrx_pkt *pkt)
{
	uint32_t n = (pkt->len + q->chunk - 1u) / q->chunk, off;

	if (q->fd < 0)
		return -EBADFD;
	if ((pkt->flags & (VNETRX_PKT_MERGED | VNETRX_PKT_PARTIAL)) != 0u || pkt->gso_size != 0u || n > XDP_TX_CHUNKS)
		return -EMSGSIZE;
	take_back(q);
	if (n > q->tx_free_num || n > room(&q->tx)) {
		kick(q);
		take_back(q);
		if (n > q->tx_free_num || n > room(&q->tx))
			return -EAGAIN;
	}
	for (off = 0u; off < pkt->len; off += q->chunk)
		put(q, pkt, off, pkt->len - off < q->chunk ? pkt->len - off : q->chunk);
	store(q->tx.producer, q->tx.mine);
	kick(q);
	q->stats.writes++;
	q->stats.write_bytes += pkt->len;
	return 0;
}

/* ---- sockets ---- */

static int set(int fd, int option, const void *value, size_t size)
{
	return setsockopt(fd, SOL_XDP, option, value, (socklen_t)size) == 0 ? 0 : -errno;
}

static int ring_map(const struct xdp_queue *q, struct xdp_ring *r, const struct xdp_ring_offset *at, size_t entry,
		    uint64_t where)
{
	uint8_t *base;

	r->map_size = at->desc + (r->mask + 1u) * entry;
	base = mmap(NULL, r->map_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, q->fd, (off_t)where);
	if (base == MAP_FAILED)
		return -errno;
	r->map = base;
	r->producer = (uint32_t *)(void *)(base + at->producer);
	r->consumer = (uint32_t *)(void *)(base + at->consumer);
	r->entries = base + at->desc;
	return 0;
}

static int rings_map(struct xdp_queue *q)
{
	struct xdp_mmap_offsets at;
	socklen_t len = sizeof(at);
	int err;

	if (getsockopt(q->fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &len) != 0)
		return -errno;
	err = ring_map(q, &q->rx, &at.rx, sizeof(struct xdp_desc), XDP_PGOFF_RX_RING);
	if (err == 0)
		err = ring_map(q, &q->tx, &at.tx, sizeof(struct xdp_desc), XDP_PGOFF_TX_RING);
	if (err == 0)
		err = ring_map(q, &q->fill, &at.fr, sizeof(uint64_t), XDP_UMEM_PGOFF_FILL_RING);
	if (err == 0)
		err = ring_map(q, &q->completion, &at.cr, sizeof(uint64_t), XDP_UMEM_PGOFF_COMPLETION_RING);
	return err;
}

static int umem(struct xdp_queue *q, uint32_t entries)
{
	struct xdp_umem_reg reg = {
		.addr = (uintptr_t)q->region->base,
		.len = q->region->size,
		.chunk_size = q->chunk,
	};
	int err = set(q->fd, XDP_UMEM_REG, &reg, sizeof(reg));

	if (err == 0)
		err = set(q->fd, XDP_UMEM_FILL_RING, &entries, sizeof(entries));
	if (err == 0)
		err = set(q->fd, XDP_UMEM_COMPLETION_RING, &entries, sizeof(entries));
	if (err == 0)
		err = set(q->fd, XDP_RX_RING, &entries, sizeof(entries));
	if (err == 0)
		err = set(q->fd, XDP_TX_RING, &entries, sizeof(entries));
	return err;
}

static bool memory(struct xdp_queue *q, size_t size)
{
	uint64_t dma;

	q->region = region_new(size);
	if (q->region == NULL || region_keep(q->region, XDP_TX_CHUNKS * q->chunk, &dma) == NULL)
		return false;
	for (; q->tx_free_num < XDP_TX_CHUNKS; q->tx_free_num++)
		q->tx_free[q->tx_free_num] = dma - REGION_DMA + q->tx_free_num * (uint64_t)q->chunk;
	q->ids = calloc(q->region->size / q->chunk, sizeof(*q->ids));
	return q->ids != NULL;
}

static int queue_open(struct xdp *xdp, const struct xdp_config *cfg)
{
	uint32_t entries = cfg->ring != 0u ? cfg->ring : 2048u;
	struct xdp_queue *q = calloc(1u, sizeof(*q));
	struct sockaddr_xdp addr = { .sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY | USE_SG };
	int err;

	if (q == NULL)
		return -ENOMEM;
	addr.sxdp_ifindex = (uint32_t)xdp->link.index;
	addr.sxdp_queue_id = xdp->nqueues;
	xdp->queue[xdp->nqueues++] = q;
	q->chunk = cfg->chunk != 0u ? cfg->chunk : 2048u;
	q->fill.mask = q->completion.mask = q->rx.mask = q->tx.mask = entries - 1u;
	q->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (q->fd < 0)
		return -errno;
	if (!memory(q, cfg->memory != 0u ? cfg->memory : (size_t)64u << 20))
		return -ENOMEM;
	err = umem(q, entries);
	if (err == 0)
		err = rings_map(q);
	if (err == 0 && bind(q->fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		err = -errno;
	return err;
}

/* What the kernel could not give us: no room in the rx ring, or no buffer for it. */
static uint64_t lost(const struct xdp_queue *q)
{
	struct xdp_statistics stats;
	socklen_t len = sizeof(stats);

	memset(&stats, 0, sizeof(stats));
	if (q->fd < 0 || getsockopt(q->fd, SOL_XDP, XDP_STATISTICS, &stats, &len) != 0)
		return 0u;
	return stats.rx_dropped + stats.rx_invalid_descs + stats.rx_ring_full;
}

void xdp_queue_reset(struct xdp_queue *q)
{
	struct xdp_ring *rings[] = { &q->fill, &q->completion, &q->rx, &q->tx };
	unsigned i;

	q->stats.lost += lost(q);
	for (i = 0u; i < 4u; i++) {
		if (rings[i]->map != NULL)
			munmap(rings[i]->map, rings[i]->map_size);
		rings[i]->map = NULL;
	}
	if (q->fd >= 0)
		close(q->fd);
	q->fd = -1;
}

/* ---- life ---- */

static int open_all(struct xdp *xdp, const struct xdp_config *cfg)
{
	unsigned i, n = cfg->queues != 0u ? cfg->queues : 1u;
	uint32_t mtu = 0u;
	int err = link_open(&xdp->link, cfg->name);

	if (err == 0)
		err = link_set_up(&xdp->link);
	if (err == 0)
		err = link_mtu(&xdp->link, &mtu);
	xdp->frame_len_max = mtu + FRAME_EXTRA;
	for (i = 0u; i < n && err == 0; i++)
		err = queue_open(xdp, cfg);
	return err;
}

static int attach(struct xdp *xdp, const struct xdp_config *cfg)
{
	unsigned i;
	int err = 0;

	xdp->map_fd = xdp_map(xdp->nqueues);
	if (xdp->map_fd < 0)
		return xdp->map_fd;
	for (i = 0u; i < xdp->nqueues && err >= 0; i++)
		err = xdp_map_set(xdp->map_fd, i, xdp->queue[i]->fd);
	if (err < 0)
		return err;
	xdp->prog_fd = xdp_program(xdp->map_fd);
	if (xdp->prog_fd < 0)
		return xdp->prog_fd;
	xdp->attach_fd = xdp_attach(xdp->prog_fd, xdp->link.index, cfg->generic);
	return xdp->attach_fd < 0 ? xdp->attach_fd : 0;
}

int xdp_open(struct xdp *xdp, const struct xdp_config *cfg)
{
	int back, err;

	*xdp = (struct xdp){ .link = { .ctl = -1, .watch = -1 }, .map_fd = -1, .prog_fd = -1, .attach_fd = -1 };
	if (cfg->queues > XDP_QUEUES_MAX)
		return -EINVAL;
	err = netns_enter(cfg->netns, &back);
	if (err != 0)
		return err;
	err = open_all(xdp, cfg);
	if (err == 0)
		err = attach(xdp, cfg);
	netns_leave(back);
	if (err != 0)
		xdp_close(xdp);
	return err;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void xdp_close(struct xdp *xdp)
{
	unsigned i;

	close_fd(&xdp->attach_fd); /* detaches */
	close_fd(&xdp->prog_fd);
	close_fd(&xdp->map_fd);
	for (i = 0u; i < xdp->nqueues; i++) {
		xdp_queue_reset(xdp->queue[i]);
		region_delete(xdp->queue[i]->region);
		free(xdp->queue[i]->ids);
		free(xdp->queue[i]);
	}
	xdp->nqueues = 0u;
	link_close(&xdp->link);
}
