/* SPDX-License-Identifier: BSD-3-Clause */
#include "nic.h"

#include "machine.h"
#include "net.h"
#include "print.h"

#define RX_SLOTS     1024u
#define TX_SLOTS     256u
#define BUF_LEN      2048u     /* a merged packet of 64 KB takes 32 of them            */
#define RUN_SIZE     65536u    /* ... which are neighbours in at most three runs       */
#define RUNS         128u
#define NO_COPY      0xffffu   /* small packets are freed as soon as large ones        */
#define BUDGET       64u
#define HEADROOM     64u       /* of a frame that is sent: the device header goes there */
#define QUIET_NS     50000u    /* a held packet leaves after so long without a segment  */
#define FRAMES       TX_SLOTS

/* A doorbell waits for the lock that QEMU holds while it hands us packets: meanwhile nothing is received. So it is rung
 * when nothing has come for a while, or when frames have waited for long, or are many. */
#define RING_QUIET_NS 50000u
#define RING_LATE_NS  1000000u
#define RING_FRAMES   64u

#define FRAME_SIZE   2048u
#define KEPT_SIZE    0x100000u

#define MEMORY __attribute__((section(".memory")))

/* ---- memory ---- */

static MEMORY _Alignas(RUN_SIZE) uint8_t runs[RUNS][RUN_SIZE];
static MEMORY _Alignas(4096) uint8_t frames[FRAMES][FRAME_SIZE];
static MEMORY _Alignas(4096) uint8_t kept[KEPT_SIZE];
static size_t kept_used;
static void *free_runs; /* each begins with the address of the next */
static uint32_t runs_used;

/* `size` bytes for as long as the program runs. */
static void *keep(size_t size)
{
	size_t at = kept_used;

	size = (size + 63u) / 64u * 64u;
	if (size == 0u || size > KEPT_SIZE - at)
		return NULL;
	kept_used = at + size;
	return kept + at;
}

static void *page_alloc(void *host, size_t size, uint64_t *dma)
{
	void *run = free_runs;

	(void)host;
	if (size != RUN_SIZE)
		return NULL;
	if (run != NULL)
		free_runs = *(void **)run;
	else if (runs_used < RUNS)
		run = runs[runs_used++];
	*dma = (uintptr_t)run;
	return run;
}

static void page_free(void *host, void *run, size_t size, uint64_t dma)
{
	(void)host;
	(void)size;
	(void)dma;
	*(void **)run = free_runs;
	free_runs = run;
}

/* ---- receiving ---- */

static void look(struct nic_seen *seen, const struct vnetrx_pkt *pkt)
{
	if ((pkt->flags & VNETRX_PKT_RSC) != 0u) {
		seen->rsc++;
		seen->rsc_segs += pkt->segs;
	} else if (pkt->rx_gso_size != 0u) {
		seen->gso++;
	}
	if ((pkt->flags & VNETRX_PKT_MERGED) == 0u && pkt->nfrags > seen->frags_max)
		seen->frags_max = pkt->nfrags;
	if (pkt->nbufs >= 32u && (pkt->flags & VNETRX_PKT_MERGED) == 0u) {
		seen->many_bufs++;
		seen->many_frags += pkt->nfrags;
	}
	if (pkt->nbufs > seen->nbufs_max && (pkt->flags & VNETRX_PKT_MERGED) == 0u)
		seen->nbufs_max = pkt->nbufs;
	if (pkt->segs > seen->segs_max)
		seen->segs_max = pkt->segs;
}

static unsigned deliver(void *host, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct nic *nic = host;
	unsigned i;

	for (i = 0u; i < n; i++) {
		look(&nic->seen, pkts[i]);
		net_input(nic, pkts[i]);
	}
	vnetrx_pkt_free(pkts, n);
	return n;
}

static const struct vnetrx_host_ops host_ops = { .page_alloc = page_alloc, .page_free = page_free, .deliver = deliver };

/* ---- sending ---- */

uint8_t *nic_frame(struct nic *nic)
{
	uint8_t *frame;

	if (nic->free == NULL)
		(void)vnetrx_txq_poll(nic->txq, FRAMES);
	frame = nic->free;
	if (frame == NULL) {
		nic->seen.tx_lost++;
		return NULL;
	}
	nic->free = *(uint8_t **)(void *)(frame - HEADROOM);
	return frame;
}

static void give_back(struct nic *nic, uint8_t *frame)
{
	*(uint8_t **)(void *)(frame - HEADROOM) = nic->free;
	nic->free = frame;
}

static void sent(void *host, void *const *cookies, unsigned n, uint32_t flags)
{
	unsigned i;

	(void)flags;
	for (i = 0u; i < n; i++)
		give_back(host, cookies[i]);
}

void nic_send(struct nic *nic, uint8_t *frame, uint32_t len)
{
	struct vnetrx_virtq_seg seg = { .dma = (uintptr_t)frame, .len = len };
	struct vnetrx_tx_pkt pkt = { .segs = &seg, .nsegs = 1u, .cookie = frame, .head = frame, .headroom = HEADROOM };

	if (vnetrx_txq_add(nic->txq, &pkt) != VNETRX_OK) {
		nic->seen.tx_lost++;
		give_back(nic, frame);
		return;
	}
	nic->unsent++;
}

static void doorbell(void *host, uint32_t data)
{
	struct nic *nic = host;

	mmio_notify(&nic->dev, data);
}

static const struct vnetrx_tx_ops tx_ops = { .done = sent, .notify = doorbell };

/* ---- setting up ---- */

static bool complain(const char *what, const char *why)
{
	print("%s: %s\n", what, why);
	return false;
}

static struct vnetrx_virtq *make_ring(struct nic *nic, unsigned index, uint32_t slots)
{
	const struct vnetrx_virtio_plan *plan = &nic->dev.plan;
	struct vnetrx_virtq_config cfg = {
		.flags = (plan->packed ? VNETRX_VIRTQ_PACKED : 0u) | (plan->event_idx ? VNETRX_VIRTQ_EVENT_IDX : 0u) |
			 (plan->in_order ? VNETRX_VIRTQ_IN_ORDER : 0u) |
			 (plan->dma_barriers ? VNETRX_VIRTQ_ORDER_PLATFORM : 0u),
		.segs_max = 2u,
	};
	struct vnetrx_virtq *vq;
	size_t size;
	void *mem;

	cfg.size = mmio_queue_max(&nic->dev, index);
	if (cfg.size > slots)
		cfg.size = slots;
	size = vnetrx_virtq_footprint(&cfg, NULL);
	mem = keep(size);
	cfg.ring = keep(vnetrx_virtq_ring_bytes(&cfg));
	cfg.ring_dma = (uintptr_t)cfg.ring;
	if (mem == NULL || cfg.ring == NULL || vnetrx_virtq_init(&vq, &cfg, mem, size) != VNETRX_OK)
		return NULL;
	mmio_queue(&nic->dev, index, vq, cfg.size);
	return vq;
}

static bool make_rxq(struct nic *nic, bool gro, const uint64_t hash_key[2])
{
	struct vnetrx_virtio_rx_config dev = {
		.vq = make_ring(nic, 0u, RX_SLOTS),
		.notify = mmio_notify,
		.transport = &nic->dev,
		.features = nic->dev.plan.rx_features,
		.hdr_len = (uint16_t)nic->dev.plan.hdr_len,
	};
	struct vnetrx_rxq_config cfg = {
		.dev_ops = &vnetrx_virtio_rx_ops,
		.dev = &nic->rx,
		.host_ops = &host_ops,
		.host = nic,
		.hash_key = { hash_key[0], hash_key[1] },
		.frame_len_max = nic->dev.plan.frame_len_max,
		.run_size = RUN_SIZE,
		.buf_len_min = BUF_LEN,
		.buf_len_max = BUF_LEN,
		.hdr_len = dev.hdr_len,
		.copy_len_max = NO_COPY,
		.flags = gro ? 0u : VNETRX_RXQ_GRO_OFF,
		.gro_timeout_ns = QUIET_NS,
	};
	const char *why = "no memory";
	size_t size;
	void *mem;

	if (dev.vq == NULL || vnetrx_virtio_rx_init(&nic->rx, &dev) != VNETRX_OK)
		return complain("receive ring", why);
	cfg.ring_size = nic->rx.bufs_max;
	size = vnetrx_rxq_footprint(&cfg, &why);
	mem = keep(size);
	if (mem == NULL || vnetrx_rxq_init(&nic->rxq, &cfg, mem, size) != VNETRX_OK)
		return complain("receive queue", why);
	return true;
}

static bool make_txq(struct nic *nic)
{
	struct vnetrx_txq_config cfg = {
		.vq = make_ring(nic, 1u, TX_SLOTS),
		.ops = &tx_ops,
		.host = nic,
		.flags = VNETRX_TXQ_ANY_LAYOUT, /* VERSION_1 is needed below */
		.hdr_len = (uint16_t)nic->dev.plan.hdr_len,
		.segs_max = 1u,
		.queue = 1u,
	};
	const char *why = "no memory";
	size_t size;
	void *mem;
	unsigned i;

	if (cfg.vq == NULL)
		return complain("transmit ring", why);
	size = vnetrx_txq_footprint(&cfg, &why);
	mem = keep(size);
	if (mem == NULL || vnetrx_txq_init(&nic->txq, &cfg, mem, size) != VNETRX_OK)
		return complain("transmit queue", why);
	for (i = 0u; i < FRAMES; i++)
		give_back(nic, frames[i] + HEADROOM);
	return true;
}

bool nic_init(struct nic *nic, bool gro, const uint64_t hash_key[2])
{
	struct vnetrx_virtio_wants wants = { .want = vnetrx_features_usual() };

	if (!mmio_find(&nic->dev))
		return complain("network", "no virtio-mmio device of version 2");
	vnetrx_features_drop(&wants.want, VNETRX_NET_F_MTU);
	vnetrx_features_add(&wants.need, VNETRX_F_VERSION_1);
	vnetrx_features_add(&wants.need, VNETRX_NET_F_MRG_RXBUF);
	if (!mmio_negotiate(&nic->dev, &wants) || !make_rxq(nic, gro, hash_key) || !make_txq(nic))
		return false;
	mmio_start(&nic->dev);
	return vnetrx_rxq_fill(nic->rxq) != 0u || complain("receive ring", "no memory");
}

/* ---- running ---- */

static void ring(struct nic *nic, vnetrx_ns now)
{
	if (nic->unsent_since == 0u)
		nic->unsent_since = now;
	if (now - nic->took_last < RING_QUIET_NS && now - nic->unsent_since < RING_LATE_NS && nic->unsent < RING_FRAMES)
		return;
	nic->unsent = 0u;
	nic->unsent_since = 0u;
	vnetrx_txq_kick(nic->txq);
}

bool nic_poll(struct nic *nic, vnetrx_ns now)
{
	unsigned took;

	if (vnetrx_rxq_deadline(nic->rxq) <= now)
		took = vnetrx_rxq_expire(nic->rxq, BUDGET, now);
	else
		took = vnetrx_rxq_poll(nic->rxq, BUDGET, now);
	if (took != 0u)
		nic->took_last = now;
	if (nic->unsent != 0u)
		ring(nic, now);
	return took != 0u;
}

void nic_flush(struct nic *nic)
{
	vnetrx_rxq_flush(nic->rxq);
	vnetrx_txq_kick(nic->txq);
}

/* ---- counters ---- */

static void counters(const void *stats, const char *(*name)(unsigned), const char *(*text)(unsigned))
{
	const uint64_t *value = stats;
	unsigned i;

	for (i = 0u; name(i) != NULL; i++)
		if (value[i] != 0u)
			print("%s %u  %s\n", name(i), value[i], text(i));
}

static uint64_t drops(const struct vnetrx_merge_stats *m)
{
	return m->drop_bad_id + m->drop_error + m->drop_short + m->drop_long + m->drop_nbufs + m->drop_missing +
	       m->drop_decode + m->drop_meta + m->drop_frame_long + m->drop_no_pkt;
}

bool nic_report(struct nic *nic)
{
	const struct nic_seen *seen = &nic->seen;
	struct vnetrx_rxq_stats rx;
	struct vnetrx_txq_stats tx;

	vnetrx_rxq_read_stats(nic->rxq, &rx);
	vnetrx_txq_read_stats(nic->txq, &tx);
	counters(&rx, vnetrx_stats_name, vnetrx_stats_text);
	counters(&tx, vnetrx_txq_stats_name, vnetrx_txq_stats_text);
	print("rx.doorbells %u  doorbells rung for buffers\n", nic->rx.doorbells);
	print("seen.gso %u  packets that the device had merged, with a segment size\n", seen->gso);
	print("seen.rsc %u  packets that the device had merged, without one\n", seen->rsc);
	print("seen.rsc_segs %u  segments in these\n", seen->rsc_segs);
	print("seen.nbufs_max %u  most buffers of one packet of the device\n", seen->nbufs_max);
	print("seen.frags_max %u  most fragments of one packet of the device\n", seen->frags_max);
	print("seen.many_bufs %u  packets that came in 32 buffers or more\n", seen->many_bufs);
	print("seen.many_frags %u  fragments of these\n", seen->many_frags);
	print("seen.segs_max %u  most segments of one delivered packet\n", seen->segs_max);
	print("seen.tx_lost %u  frames that found no room\n", seen->tx_lost);
	return drops(&rx.merge) == 0u && rx.queue.broken == 0u && tx.broken == 0u;
}
