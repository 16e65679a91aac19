/* SPDX-License-Identifier: BSD-3-Clause */
#include "path.h"

#include <string.h>

#include "bench.h"
#include "vnetrx/virtio_net.h"

#define WALK_BYTES ((size_t)16 << 20)

/* ---- device ---- */

static unsigned dev_post(void *arg, const struct vnetrx_buf *bufs, unsigned n)
{
	struct path *p = arg;

	for (unsigned i = 0; i < n; i++)
		p->bufs[p->posted++ & p->mask] = bufs[i];
	return n;
}

static int dev_reap(void *arg, struct vnetrx_done *done, unsigned max)
{
	struct path *p = arg;
	uint32_t ready = p->written - p->reaped;
	unsigned n = ready < max ? ready : max;

	for (unsigned i = 0; i < n; i++) {
		uint32_t at = p->reaped++ & p->mask;

		done[i] = (struct vnetrx_done){ .id = p->bufs[at].id, .len = p->lens[at] };
	}
	return (int)n;
}

static int dev_decode(void *arg, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	(void)arg;
	return vnetrx_virtio_net_decode(head, len, PATH_HDR, VNETRX_VIRTIO_MRG_RXBUF, meta);
}

/* Ethernet, IPv4 to nobody's address, and the beginning of TCP: what a host that looks at headers believes. */
static void write_frame(uint8_t *frame, uint32_t len)
{
	static const uint8_t headers[54] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0,
		0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 9, 9, 9,
		4, 0, 0x14, 0x51, [46] = 0x50, 0x10,
	};
	uint32_t ip_len = len - 14u, sum = 0;

	memcpy(frame, headers, sizeof(headers));
	frame[16] = (uint8_t)(ip_len >> 8);
	frame[17] = (uint8_t)ip_len;
	for (unsigned i = 14; i < 34u; i += 2u)
		sum += (uint32_t)(frame[i] << 8 | frame[i + 1u]);
	sum = ~((sum & 0xffffu) + (sum >> 16));
	frame[24] = (uint8_t)(sum >> 8);
	frame[25] = (uint8_t)sum;
}

void path_write(struct path *p, uint32_t len)
{
	uint8_t hdr[PATH_HDR] = { 2 }; /* DATA_VALID */
	uint8_t *first = p->bufs[p->written & p->mask].addr;
	uint32_t left = len + PATH_HDR, nbufs = 0;

	for (; left > 0u; nbufs++) {
		uint32_t at = p->written & p->mask;
		uint32_t part = left < p->bufs[at].len ? left : p->bufs[at].len;

		if (p->written++ == p->posted)
			bench_die("the ring ran short");
		p->lens[at] = part;
		left -= part;
	}
	hdr[10] = (uint8_t)nbufs;
	hdr[11] = (uint8_t)(nbufs >> 8);
	memcpy(first, hdr, sizeof(hdr));
	if (p->gro)
		traffic_write(&p->traffic, first + PATH_HDR);
	else
		write_frame(first + PATH_HDR, len);
}

/* ---- host ---- */

/* One for all paths of a thread: they give everything back. */
static struct arena shared;

static void *page_alloc(void *arg, size_t size, uint64_t *dma)
{
	struct path_host *host = arg;
	void *page = arena_page_alloc(host->arena, size, dma);

	host->runs += page != NULL ? 1u : 0u;
	return page;
}

static void page_free(void *arg, void *page, size_t size, uint64_t dma)
{
	struct path_host *host = arg;

	host->runs--;
	arena_page_free(host->arena, page, size, dma);
}

static unsigned host_deliver(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct path_host *host = arg;

	if (host->ngot + n > sizeof(host->got) / sizeof(host->got[0]))
		bench_die("more packets than were sent");
	for (unsigned i = 0; i < n; i++) {
		host->got[host->ngot++] = pkts[i];
		host->bytes += pkts[i]->len;
		host->bufs += pkts[i]->nbufs;
		host->frags += pkts[i]->nfrags;
		host->truesize += pkts[i]->truesize;
	}
	host->pkts += n;
	return n;
}

void path_poll(struct path *p)
{
	p->now += 1000;
	while (vnetrx_rxq_poll(p->rxq, PATH_PKTS, p->now) == PATH_PKTS)
		;
	(void)!vnetrx_rxq_complete(p->rxq, p->now);
}

/* Of the last poll's packets, the number of those before them is host.pkts - host.ngot. */
static void keep_some(struct path_host *host)
{
	uint64_t nth = host->pkts - host->ngot;
	uint32_t left = 0;

	for (uint32_t i = 0; i < host->ngot; i++) {
		if (host->nkept < PATH_KEPT_MAX && (nth + i) % host->keep_every == 0u)
			host->kept[host->nkept++] = host->got[i];
		else
			host->got[left++] = host->got[i];
	}
	host->ngot = left;
}

void path_free(struct path *p)
{
	if (p->host.keep_every != 0u)
		keep_some(&p->host);
	vnetrx_pkt_free(p->host.got, p->host.ngot);
	p->host.ngot = 0;
}

void path_release(struct path *p)
{
	vnetrx_pkt_free(p->host.kept, p->host.nkept);
	p->host.nkept = 0;
}

size_t path_pages(const struct path *p)
{
	return (size_t)p->host.runs * ARENA_RUN;
}

void path_count_anew(struct path *p)
{
	p->host.pkts = p->host.bytes = p->host.bufs = p->host.frags = p->host.truesize = 0;
}

/* ---- set-up ---- */

void path_open(struct path *p, struct bench *b, const struct path_config *c)
{
	static const struct vnetrx_dev_ops dev_ops = {
		.post = dev_post, .reap = dev_reap, .decode = dev_decode, .flags = VNETRX_DEV_PURE_DECODE
	};
	static const struct vnetrx_host_ops host_ops = {
		.page_alloc = page_alloc, .page_free = page_free, .deliver = host_deliver
	};
	const uint32_t ring = c->ring != 0u ? c->ring : PATH_RING;
	const struct vnetrx_rxq_config cfg = {
		.dev_ops = &dev_ops, .host_ops = &host_ops, .dev = p, .host = &p->host,
		.ring_size = ring,
		.hdr_len = PATH_HDR,
		.buf_len_min = c->buf_len_min,
		.buf_len_max = c->buf_len_max,
		.copy_len_max = c->copy_len_max,
		.buf_cost = c->buf_cost,
		.runs_max = ARENA_RUNS,
		.pkts_max = 4u * ring,
		.hash_key = { 0x243f6a8885a308d3u, 0x13198a2e03707344u },
		.flags = (c->flows == 0u ? VNETRX_RXQ_GRO_OFF : 0u) | c->flags,
	};
	const char *why = "";

	p->b = b;
	p->now = 0;
	p->mask = 2u * ring - 1u;
	p->gro = c->flows != 0u;
	if (p->gro)
		traffic_init(&p->traffic, TRAFFIC_TRAIN44, c->flows);
	p->posted = p->written = p->reaped = 0;
	p->host.arena = c->arena != NULL ? c->arena : &shared;
	if (p->host.arena->mem == NULL)
		arena_init(p->host.arena, b);
	if (c->placement != 0u)
		arena_shuffle(p->host.arena, c->placement);
	p->host.runs = 0;
	p->host.ngot = p->host.nkept = 0;
	p->host.keep_every = c->keep_every;
	path_count_anew(p);
	p->mem_size = vnetrx_rxq_footprint(&cfg, &why);
	if (p->mem_size == 0u)
		bench_die(why);
	p->mem = bench_alloc(b, p->mem_size);
	if (vnetrx_rxq_init(&p->rxq, &cfg, p->mem, p->mem_size) != VNETRX_OK)
		bench_die("vnetrx_rxq_init");
	if (vnetrx_rxq_fill(p->rxq) != ring)
		bench_die("the ring could not be filled");
}

void path_close(struct path *p)
{
	path_release(p);
	(void)vnetrx_rxq_reclaim(p->rxq);
	if (vnetrx_rxq_fini(p->rxq) != VNETRX_OK || p->host.runs != 0u)
		bench_die("memory was not given back");
	bench_free(p->mem, p->mem_size);
}

void path_evict(struct bench *b)
{
	static uint8_t *walk;
	static volatile uint64_t sink;
	uint64_t sum = 0;

	if (walk == NULL)
		walk = bench_alloc(b, WALK_BYTES);
	for (size_t i = 0; i < WALK_BYTES; i += 64)
		sum += walk[i];
	sink = sink + sum;
}
