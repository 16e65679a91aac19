/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First everything that arrives is laid out, queue by queue; then each queue lives through it alone, because nothing
 * but the wire joins them.
 */
#include "flush_sim.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "traffic.h"
#include "vnetrx/virtio_net.h"

#define RING       512u
#define RUN_SIZE   32768u
#define FIFO_MASK  1023u
#define PUSH_ONE_IN 4u /* trains end with PSH */
#define LANES_MAX  64u

/* A packet on its way. */
struct arrival {
	vnetrx_ns at;
	vnetrx_ns taken;  /* when the call began that took it */
	vnetrx_ns seen;   /* when it counts as seen           */
	uint32_t  flow;
	uint32_t  nth;
	uint32_t  gap;    /* of its train                     */
	uint32_t  call;   /* that took it                     */
	bool      tail;
	bool      push;
};

/* What the card writes before each frame. */
struct card_hdr {
	vnetrx_ns at;
};

struct queue {
	struct arrival     *arrivals;
	uint32_t            count, size;
	uint32_t            next;      /* first that was not taken                    */
	struct vnetrx_buf   bufs[FIFO_MASK + 1u];
	uint32_t            posted, used;
	const struct flush_case *c;
	struct vnetrx_rxq  *rxq;
	vnetrx_ns           core;      /* until when the core is busy                 */
	vnetrx_ns           irq_at;    /* when the raised interrupt reaches the core  */
	vnetrx_ns           call_now;
	uint32_t            call;
	uint32_t           *of_flow[FLUSH_FLOWS]; /* index of the flow's nth arrival  */
	struct flush_result *r;
};

static struct traffic frames; /* what packets look like */

static void *grown(void *old, size_t size)
{
	void *mem = realloc(old, size);

	if (mem == NULL)
		bench_die("out of memory");
	return mem;
}

/* ---- the wire ---- */

struct lane {
	uint32_t flow;
	uint32_t left;  /* packets of its train */
	uint32_t gap;
	bool     push;
};

struct wire {
	const struct flush_case *c;
	struct queue *queues;
	uint32_t rnd;
	uint32_t order[2][FLUSH_FLOWS]; /* flows of each kind, shuffled */
	uint32_t kinds[2];              /* how many there are           */
	uint32_t at[2];                 /* next in order                */
	uint32_t trains_left[2];
	uint32_t sent[FLUSH_FLOWS];
	bool     active[FLUSH_FLOWS];
	struct lane lane[LANES_MAX];
};

static uint32_t draw(struct wire *w, uint32_t below)
{
	w->rnd ^= w->rnd << 13;
	w->rnd ^= w->rnd >> 17;
	w->rnd ^= w->rnd << 5;
	return (uint32_t)((uint64_t)w->rnd * below >> 32);
}

static void shuffle(struct wire *w, unsigned kind)
{
	uint32_t *order = w->order[kind];

	for (uint32_t i = w->kinds[kind]; i > 1u; i--) {
		uint32_t j = draw(w, i);
		uint32_t t = order[i - 1u];

		order[i - 1u] = order[j];
		order[j] = t;
	}
}

/* The next flow in order that sends nothing now: a flow's trains follow each other. */
static uint32_t next_flow(struct wire *w, unsigned kind)
{
	uint32_t *order = w->order[kind];
	uint32_t at = w->at[kind]++ % w->kinds[kind];
	uint32_t i, t;

	if (at == 0u && w->c->shuffled)
		shuffle(w, kind);
	for (i = at; i + 1u < w->kinds[kind] && w->active[order[i]]; i++)
		;
	t = order[i];
	order[i] = order[at];
	order[at] = t;
	return t;
}

static void start_train(struct wire *w, struct lane *l, unsigned kind)
{
	l->flow = next_flow(w, kind);
	if (w->active[l->flow])
		bench_die("every flow of a kind is busy");
	w->active[l->flow] = true;
	w->trains_left[kind]--;
	l->left = FLUSH_TRAIN;
	l->push = draw(w, PUSH_ONE_IN) == 0u;
}

static void put(struct wire *w, struct lane *l, vnetrx_ns at)
{
	struct queue *q = &w->queues[l->flow % FLUSH_QUEUES];
	uint32_t nth = w->sent[l->flow]++;

	if (q->count == q->size) {
		q->size = q->size * 2u + 1024u;
		q->arrivals = grown(q->arrivals, q->size * sizeof(*q->arrivals));
	}
	l->left--;
	if (nth % 1024u == 0u)
		q->of_flow[l->flow] = grown(q->of_flow[l->flow], (nth + 1024u) * sizeof(uint32_t));
	q->of_flow[l->flow][nth] = q->count;
	q->arrivals[q->count++] = (struct arrival){
		.at = at, .flow = l->flow, .nth = nth, .gap = l->gap,
		.tail = l->left == 0u, .push = l->left == 0u && l->push,
	};
	if (l->left == 0u)
		w->active[l->flow] = false;
}

/* Which lane a slot belongs to: all in turn, or the first ones in every second and the slow ones in the others. */
static uint32_t lane_of(const struct flush_case *c, uint64_t slot)
{
	if (c->slow == 0u)
		return (uint32_t)(slot % c->trains);
	return (uint32_t)(slot % 2u == 0u ? slot / 2u % c->trains : c->trains + slot / 2u % c->slow);
}

static void set_kinds(struct wire *w, uint32_t rounds)
{
	const struct flush_case *c = w->c;

	w->kinds[0] = c->slow != 0u ? FLUSH_FLOWS / 2u : FLUSH_FLOWS;
	w->kinds[1] = FLUSH_FLOWS - w->kinds[0];
	for (uint32_t f = 0; f < FLUSH_FLOWS; f++)
		w->order[f >= w->kinds[0]][f % w->kinds[0]] = f;
	w->trains_left[0] = w->kinds[0] * rounds;
	w->trains_left[1] = w->kinds[1] * rounds;
	for (uint32_t i = 0; i < c->trains + c->slow; i++)
		w->lane[i].gap = c->slot_ns * (c->slow == 0u ? c->trains : 2u * (i < c->trains ? c->trains : c->slow));
}

static void lay_out(const struct flush_case *c, uint32_t rounds, struct queue *queues)
{
	struct wire w = { .c = c, .queues = queues, .rnd = 2463534242u };
	uint32_t lanes = c->trains + c->slow, idle = 0;
	uint64_t slot = 0;

	set_kinds(&w, rounds);
	while (idle < 2u * lanes) {
		uint32_t n = lane_of(c, slot);
		struct lane *l = &w.lane[n];
		vnetrx_ns late = (vnetrx_ns)draw(&w, c->slot_ns) * c->jitter / 100u;

		if (l->left == 0u && w.trains_left[n >= c->trains] > 0u)
			start_train(&w, l, n >= c->trains);
		idle = l->left == 0u ? idle + 1u : 0u;
		if (l->left != 0u)
			put(&w, l, 1000000u + slot * c->slot_ns + late);
		slot++;
	}
}

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
	return q->next < q->count && q->arrivals[q->next].at <= q->core;
}

/* The card wrote the packet when it arrived; here it is written when it is taken, which nobody can tell. */
static void take(struct queue *q, struct vnetrx_done *done)
{
	const struct vnetrx_buf *buf = &q->bufs[q->used++ & FIFO_MASK];
	struct arrival *a = &q->arrivals[q->next++];
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

/* The packet that raises the interrupt: the next, or, when each one starts the card's timer anew, the last before a
 * pause. */
static bool card_arm(void *arg)
{
	struct queue *q = arg;
	uint32_t i = q->next;

	q->irq_at = VNETRX_NEVER;
	if (i == q->count)
		return false;
	if (!q->c->rearm && waiting(q))
		return true;
	while (q->c->rearm && i + 1u < q->count && q->arrivals[i + 1u].at - q->arrivals[i].at < q->c->timeout_ns)
		i++;
	q->irq_at = q->arrivals[i].at + FLUSH_IRQ_NS + (q->c->rearm ? q->c->timeout_ns : 0u);
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

static void note(struct queue *q, const struct vnetrx_pkt *pkt)
{
	struct flush_result *r = q->r;
	struct traffic_id id = traffic_read(&frames, pkt->data);
	const struct arrival *first = &q->arrivals[q->of_flow[id.number][id.nth]];
	const struct arrival *last = &q->arrivals[q->of_flow[id.number][id.nth + pkt->segs - 1u]];
	vnetrx_ns wait = q->core - last->seen;
	vnetrx_ns here = last->at > last->taken ? last->at : last->taken;
	int64_t beyond = (int64_t)(q->core - here) - 4 * (int64_t)last->gap;

	r->pkts++;
	r->segs += pkt->segs;
	if (id.push != last->push)
		bench_die("PSH came or went");
	if (id.push && last->call != q->call)
		r->push_held++;
	if (id.push)
		longest(&r->push_max, q->core - last->at);
	longest(&r->quiet_max, wait);
	longest(&r->hold_max, q->core - first->seen);
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
	if (q->next != q->count)
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

void flush_sim(const struct flush_case *c, uint32_t rounds, struct flush_result *result)
{
	struct queue *queues = calloc(FLUSH_QUEUES, sizeof(*queues));
	uint64_t segs = 0;

	if (queues == NULL)
		bench_die("out of memory");
	traffic_init(&frames, TRAFFIC_RR, 1);
	memset(result, 0, sizeof(*result));
	result->tail_max = INT64_MIN;
	lay_out(c, rounds, queues);
	for (unsigned i = 0; i < FLUSH_QUEUES; i++) {
		struct queue *q = &queues[i];

		q->c = c;
		q->r = result;
		run_queue(q);
		segs += q->count;
		free(q->arrivals);
		for (unsigned f = 0; f < FLUSH_FLOWS; f++)
			free(q->of_flow[f]);
	}
	free(queues);
	if (segs != result->segs || segs != (uint64_t)rounds * FLUSH_FLOWS * FLUSH_TRAIN)
		bench_die("packets were lost");
}
