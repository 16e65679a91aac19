/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First everything that arrives is laid out, queue by queue; then each queue lives through it alone, because nothing
 * but the wire joins them.
 */
#include "flush_wire.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "traffic.h"
#include "vnetrx/virtio_net.h"

#define RING       512u
#define RUN_SIZE   32768u
#define FIFO_MASK  1023u

/* What the card writes before each frame. */
struct card_hdr {
	vnetrx_ns at;
};

struct queue {
	struct arrivals     in;
	uint32_t            next;      /* first that was not taken                    */
	struct vnetrx_buf   bufs[FIFO_MASK + 1u];
	uint32_t            posted, used;
	const struct flush_case *c;
	struct vnetrx_rxq  *rxq;
	vnetrx_ns           core;      /* until when the core is busy                 */
	vnetrx_ns           irq_at;    /* when the raised interrupt reaches the core  */
	vnetrx_ns           call_now;
	uint32_t            call;
	struct flush_result *r;
	struct sample       *quiet, *hold, *rpc;
};

static struct traffic frames; /* what packets look like */

/* ---- the card ---- */

static unsigned card_post(void *arg, const struct vnetrx_buf *bufs, unsigned n)
{
	struct queue *q = arg;

	for (unsigned i = 0; i < n; i++)
		q->bufs[q->posted++ & FIFO_MASK] = bufs[i];
	return n;
}

static bool waiting(const struct queue *q)
{
	return q->next < q->in.count && q->in.list[q->next].at <= q->core;
}

/* The card wrote the packet when it arrived; here it is written when it is taken, which nobody can tell. */
static void take(struct queue *q, struct vnetrx_done *done)
{
	const struct vnetrx_buf *buf = &q->bufs[q->used++ & FIFO_MASK];
	struct arrival *a = &q->in.list[q->next++];
	struct card_hdr hdr = { .at = a->at };
	uint8_t *addr = buf->addr;

	if (q->used > q->posted || buf->len < sizeof(hdr) + TRAFFIC_FRAME)
		bench_die("the card had no buffer for a packet");
	memcpy(addr, &hdr, sizeof(hdr));
	traffic_frame(&frames, addr + sizeof(hdr), a->flow, a->nth);
	if (a->push)
		traffic_push(&frames, addr + sizeof(hdr));
	a->call = q->call;
	a->taken = q->call_now;
	a->seen = q->c->stamped ? a->at : q->call_now;
	*done = (struct vnetrx_done){ .id = buf->id, .len = sizeof(hdr) + TRAFFIC_FRAME };
	q->core += FLUSH_WORK_NS;
}

static int card_reap(void *arg, struct vnetrx_done *done, unsigned max)
{
	struct queue *q = arg;
	unsigned n = 0;

	while (n < max && waiting(q))
		take(q, &done[n++]);
	return (int)n;
}

static int card_decode(void *arg, const void *head, uint32_t len, struct vnetrx_meta *meta)
{
	const struct queue *q = arg;
	struct card_hdr hdr;

	if (len < sizeof(hdr))
		return -1;
	memcpy(&hdr, head, sizeof(hdr));
	meta->nbufs = 1;
	meta->flags = VNETRX_PKT_CSUM_OK;
	if (q->c->stamped) {
		meta->flags |= VNETRX_PKT_TSTAMP;
		meta->tstamp = hdr.at;
	}
	return 0;
}

/* With a card that waits: when it raises its interrupt for the packets from `i` on. Each packet starts its timer anew,
 * and the rearm_frames-th is the last it waits for. */
static vnetrx_ns rearmed(const struct queue *q, uint32_t i)
{
	uint32_t frames_left = q->c->rearm_frames;

	while (i + 1u < q->in.count && q->in.list[i + 1u].at - q->in.list[i].at < q->c->timeout_ns) {
		if (--frames_left == 0u)
			return q->in.list[i].at;
		i++;
	}
	return q->in.list[i].at + q->c->timeout_ns;
}

static bool card_arm(void *arg)
{
	struct queue *q = arg;

	q->irq_at = VNETRX_NEVER;
	if (q->next == q->in.count)
		return false;
	if (!q->c->rearm && waiting(q))
		return true;
	q->irq_at = FLUSH_IRQ_NS + (q->c->rearm ? rearmed(q, q->next) : q->in.list[q->next].at);
	return false;
}

/* ---- the host ---- */

static void *page_alloc(void *arg, size_t size, uint64_t *dma)
{
	void *page = aligned_alloc(size, size);

	(void)arg;
	*dma = (uint64_t)(uintptr_t)page;
	return page;
}

static void page_free(void *arg, void *page, size_t size, uint64_t dma)
{
	(void)arg;
	(void)size;
	(void)dma;
	free(page);
}

static void longest(vnetrx_ns *max, vnetrx_ns value)
{
	if (value > *max)
		*max = value;
}

/* What a request waited; it is no part of the figures of the trains. */
static void note_request(struct queue *q, const struct vnetrx_pkt *pkt, const struct arrival *a)
{
	if (pkt->segs != 1u)
		bench_die("requests were joined");
	q->r->requests++;
	sample_add(q->rpc, q->core - a->at);
	if (a->call != q->call)
		q->r->push_held++;
}

static void note_push(struct queue *q, const struct arrival *last)
{
	if (last->call != q->call)
		q->r->push_held++;
	longest(&q->r->push_max, q->core - last->at);
}

static void note(struct queue *q, const struct vnetrx_pkt *pkt)
{
	struct flush_result *r = q->r;
	struct traffic_id id = traffic_read(&frames, pkt->data);
	const struct arrival *first = &q->in.list[q->in.of_flow[id.number][id.nth]];
	const struct arrival *last = &q->in.list[q->in.of_flow[id.number][id.nth + pkt->segs - 1u]];
	vnetrx_ns here = last->at > last->taken ? last->at : last->taken;
	int64_t beyond = (int64_t)(q->core - here) - 4 * (int64_t)last->gap;

	if (id.push != last->push)
		bench_die("PSH came or went");
	if (id.number == FLUSH_RPC) {
		note_request(q, pkt, first);
		return;
	}
	r->pkts++;
	r->segs += pkt->segs;
	if (id.push)
		note_push(q, last);
	sample_add(q->quiet, q->core - last->seen);
	sample_add(q->hold, q->core - first->seen);
	longest(&r->late_max, q->core - first->at);
	if (!last->tail || last->push)
		return;
	r->tails++;
	if (beyond > r->tail_max)
		r->tail_max = beyond;
}

static unsigned deliver(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		note(arg, pkts[i]);
	vnetrx_pkt_free(pkts, n);
	return n;
}

/* ---- a queue's life ---- */

static void begin(struct queue *q)
{
	q->call++;
	q->call_now = q->core;
}

static void end(struct queue *q)
{
	longest(&q->r->poll_max, q->core - q->call_now);
}

/* Interrupts are off: polls until the card has no more, and turns them on. */
static void polls(struct queue *q, unsigned taken)
{
	vnetrx_ns since = taken == FLUSH_BUDGET ? q->core : q->call_now;
	bool sleep = false;

	while (!sleep) {
		for (; taken == FLUSH_BUDGET; end(q)) {
			begin(q);
			taken = vnetrx_rxq_poll(q->rxq, FLUSH_BUDGET, q->core);
		}
		begin(q);
		sleep = vnetrx_rxq_complete(q->rxq, q->core);
		end(q);
		taken = FLUSH_BUDGET;
	}
	longest(&q->r->busy_max, q->core - since);
}

static void interrupt(struct queue *q)
{
	q->irq_at = VNETRX_NEVER;
	polls(q, FLUSH_BUDGET);
}

static void timer(struct queue *q)
{
	vnetrx_ns due = vnetrx_rxq_deadline(q->rxq);
	unsigned taken;

	q->r->timers++;
	begin(q);
	taken = vnetrx_rxq_expire(q->rxq, FLUSH_BUDGET, q->core);
	end(q);
	if (taken == 0u && vnetrx_rxq_deadline(q->rxq) == due)
		bench_die("the timer did nothing");
	polls(q, taken);
}

static void live(struct queue *q)
{
	(void)vnetrx_rxq_fill(q->rxq);
	(void)card_arm(q);
	for (;;) {
		vnetrx_ns due = vnetrx_rxq_deadline(q->rxq);
		vnetrx_ns at = q->irq_at < due ? q->irq_at : due;

		if (at == VNETRX_NEVER)
			break;
		if (at > q->core)
			q->core = at;
		if (q->irq_at <= q->core && q->irq_at <= due)
			interrupt(q);
		else
			timer(q);
	}
	if (q->next != q->in.count)
		bench_die("packets were left on the ring");
}

static void run_queue(struct queue *q)
{
	static const struct vnetrx_dev_ops dev_ops = {
		.post = card_post, .reap = card_reap, .decode = card_decode, .arm = card_arm
	};
	static const struct vnetrx_host_ops host_ops = {
		.page_alloc = page_alloc, .page_free = page_free, .deliver = deliver
	};
	const struct vnetrx_rxq_config cfg = {
		.dev_ops = &dev_ops, .host_ops = &host_ops, .dev = q, .host = q,
		.hash_key = { 0x243f6a8885a308d3u, 0x13198a2e03707344u },
		.ring_size = RING,
		.run_size = RUN_SIZE,
		.hdr_len = sizeof(struct card_hdr),
		.pkts_max = 8u * RING,
		.gro_flags = q->c->adaptive ? VNETRX_GRO_ADAPTIVE : 0u,
		.gro_timeout_ns = q->c->adaptive || q->c->rearm ? 0u : q->c->timeout_ns,
	};
	const char *why = "";
	size_t size = vnetrx_rxq_footprint(&cfg, &why);
	void *mem = size != 0u ? aligned_alloc(64, (size + 63u) / 64u * 64u) : NULL;

	if (mem == NULL)
		bench_die(size == 0u ? why : "out of memory");
	if (vnetrx_rxq_init(&q->rxq, &cfg, mem, size) != VNETRX_OK)
		bench_die("vnetrx_rxq_init");
	live(q);
	(void)vnetrx_rxq_reclaim(q->rxq);
	if (vnetrx_rxq_fini(q->rxq) != VNETRX_OK)
		bench_die("a buffer was lost");
	free(mem);
}

/* Lives through all queues; returns how many packets there were. */
static uint64_t live_all(const struct flush_case *c, struct queue *queues, struct flush_result *result)
{
	struct sample quiet = { NULL, 0, 0 }, hold = { NULL, 0, 0 }, rpc = { NULL, 0, 0 };
	uint64_t pkts = 0;

	for (unsigned i = 0; i < FLUSH_QUEUES; i++) {
		struct queue *q = &queues[i];

		q->c = c;
		q->r = result;
		q->quiet = &quiet;
		q->hold = &hold;
		q->rpc = &rpc;
		run_queue(q);
		pkts += q->in.count;
		longest(&result->end_ns, q->core);
	}
	result->quiet = sample_end(&quiet);
	result->hold = sample_end(&hold);
	result->rpc = sample_end(&rpc);
	return pkts;
}

void flush_sim(const struct flush_case *c, uint32_t rounds, struct flush_result *result)
{
	struct arrivals arrivals[FLUSH_QUEUES];
	struct queue *queues = calloc(FLUSH_QUEUES, sizeof(*queues));
	uint64_t pkts;

	if (queues == NULL)
		bench_die("out of memory");
	traffic_init(&frames, TRAFFIC_RR, 1);
	memset(result, 0, sizeof(*result));
	memset(arrivals, 0, sizeof(arrivals));
	result->tail_max = INT64_MIN;
	flush_wire(c, rounds, arrivals);
	for (unsigned i = 0; i < FLUSH_QUEUES; i++)
		queues[i].in = arrivals[i];
	pkts = live_all(c, queues, result);
	for (unsigned i = 0; i < FLUSH_QUEUES; i++)
		flush_wire_free(&arrivals[i]);
	free(queues);
	if (pkts != result->segs + result->requests || result->segs != (uint64_t)rounds * FLUSH_FLOWS * FLUSH_TRAIN)
		bench_die("packets were lost");
}
