/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* sched_setaffinity() */
#include "dpdk_peer.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_gro.h>
#include <rte_mbuf.h>
#include <rte_net.h>
#include <rte_prefetch.h>
#include <rte_version.h>

#include "bench.h"

_Static_assert(sizeof(struct rte_mbuf) == SUPPLY_PEER, "a peer's descriptor is an mbuf");

#define PTYPE_TCP4 (RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP)

/* ---- DPDK ---- */

static bool huge;

static bool huge_pages_free(void)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned n = 0;

	if (f == NULL)
		return false;
	if (fscanf(f, "%u", &n) != 1)
		n = 0;
	fclose(f);
	return n >= 32u;
}

void dpdk_start(void)
{
	static char *in_huge[] = { "vs_dpdk", "--no-pci", "--no-telemetry", "-l", "0", "--log-level=lib.*:error",
	                           "--in-memory", "-m", "48", NULL };
	static char *in_small[] = { "vs_dpdk", "--no-pci", "--no-telemetry", "-l", "0", "--log-level=lib.*:error",
	                            "--no-huge", "--no-shconf", "-m", "48", NULL };
	cpu_set_t cpus;
	bool have_cpus = sched_getaffinity(0, sizeof(cpus), &cpus) == 0;

	huge = huge_pages_free();
	if (rte_eal_init(huge ? 9 : 10, huge ? in_huge : in_small) < 0)
		bench_die("rte_eal_init failed");
	if (have_cpus)
		(void)sched_setaffinity(0, sizeof(cpus), &cpus); /* it had bound this thread to core 0 */
}

const char *dpdk_version(void)
{
	return rte_version();
}

const char *dpdk_pages(void)
{
	return huge ? "2 MiB (hugetlb)" : "small";
}

const char *dpdk_mode_name(enum dpdk_mode mode)
{
	static const char *const names[DPDK_MODES] = { "light", "heavy" };

	return names[mode];
}

/* ---- descriptors ---- */

void dpdk_write(struct supply *s, const struct traffic *t)
{
	uint32_t i;

	for (i = 0; i < s->chunk; i++) {
		struct rte_mbuf *m = (struct rte_mbuf *)s->peers + s->order[i];

		m->buf_addr = supply_buf(s, i);
		m->buf_len = SUPPLY_BUF;
		m->data_off = 0;
		m->refcnt = 1;
		m->nb_segs = 1;
		m->ol_flags = 0;
		m->packet_type = PTYPE_TCP4;
		m->data_len = (uint16_t)t->frame_len;
		m->pkt_len = t->frame_len;
		m->next = NULL;
		m->tx_offload = rte_mbuf_tx_offload(t->l3, t->l4 - t->l3, t->hdr_len - t->l4, 0, 0, 0, 0);
		s->ptrs[i] = m;
	}
}

/* What an application does in front of a device that tells it nothing. */
static void prefetch_and_parse(struct rte_mbuf **pkts, uint32_t n, uint32_t next)
{
	struct rte_net_hdr_lens lens;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (i < next) {
			rte_prefetch0(pkts[n + i]);
			rte_prefetch0(&pkts[n + i]->next);
		}
		rte_prefetch0(rte_pktmbuf_mtod(pkts[i], void *));
		rte_prefetch0(rte_pktmbuf_mtod_offset(pkts[i], void *, 64));
	}
	for (i = 0; i < n; i++) {
		pkts[i]->packet_type = rte_net_get_ptype(pkts[i], &lens, RTE_PTYPE_ALL_MASK);
		pkts[i]->tx_offload = rte_mbuf_tx_offload(lens.l2_len, lens.l3_len, lens.l4_len, 0, 0, 0, 0);
	}
}

/* ---- what came out ---- */

struct outcome {
	struct rte_mbuf *flushed[SUPPLY_PACKETS];
	uint16_t         left[SUPPLY_PACKETS]; /* of each burst: packets that stand in its place in the array */
	uint32_t         nflushed;
};

static struct outcome outcome;

static uint32_t check_packet(const struct dpdk_peer *p, const struct rte_mbuf *m)
{
	const struct rte_mbuf *seg;
	uint32_t len = 0;
	uint32_t segs = 0;

	for (seg = m; seg != NULL; seg = seg->next) {
		len += seg->data_len;
		segs++;
	}
	if (m->pkt_len != len || m->nb_segs != segs || len != p->traffic.hdr_len + segs * p->c->payload)
		bench_die("DPDK: a packet came out with wrong lengths or counts");
	return segs;
}

static void check_chunk(struct dpdk_peer *p, uint32_t burst)
{
	const struct supply *s = p->s;
	uint32_t segs = 0;
	uint32_t i, j;

	for (i = 0; i < s->chunk / burst; i++) {
		p->out += outcome.left[i];
		for (j = 0; j < outcome.left[i]; j++)
			segs += check_packet(p, s->ptrs[i * burst + j]);
	}
	p->out += outcome.nflushed;
	for (i = 0; i < outcome.nflushed; i++)
		segs += check_packet(p, outcome.flushed[i]);
	p->pkts += s->chunk;
	if (segs != s->chunk)
		bench_die("DPDK: packets were lost or came out twice");
}

/* ---- timed ---- */

static struct rte_gro_param param_of(const struct gro_case *c, enum dpdk_mode mode)
{
	return (struct rte_gro_param){
		.gro_types = RTE_GRO_TCP_IPV4,
		.max_flow_num = (uint16_t)c->window,
		.max_item_per_flow = mode == DPDK_LIGHT ? (uint16_t)c->window : 1u,
	};
}

/* The array is DPDK's to change, as after a receive of its own: nothing is copied. */
static void light(const struct dpdk_peer *p, uint32_t from, uint32_t to)
{
	const struct rte_gro_param param = param_of(p->c, DPDK_LIGHT);
	struct rte_mbuf **pkts = (struct rte_mbuf **)p->s->ptrs;
	uint32_t window = p->c->window;
	uint32_t i;

	for (i = from; i < to; i += window) {
		if (p->caller)
			prefetch_and_parse(pkts + i, window, i + window < p->s->chunk ? window : 0u);
		outcome.left[i / window] = rte_gro_reassemble_burst(pkts + i, (uint16_t)window, &param);
	}
}

static void heavy(const struct dpdk_peer *p, uint32_t from, uint32_t to)
{
	struct rte_mbuf **pkts = (struct rte_mbuf **)p->s->ptrs;
	uint32_t burst = p->c->burst;
	uint32_t i;

	for (i = from; i < to; i += burst) {
		if (p->caller)
			prefetch_and_parse(pkts + i, burst, i + burst < p->s->chunk ? burst : 0u);
		outcome.left[i / burst] = rte_gro_reassemble(pkts + i, (uint16_t)burst, p->table);
		if ((i + burst) % p->c->window == 0u)
			outcome.nflushed += rte_gro_timeout_flush(p->table, 0, RTE_GRO_TCP_IPV4,
			                                          outcome.flushed + outcome.nflushed,
			                                          (uint16_t)p->c->window);
	}
}

double dpdk_peer_repeat(void *arg)
{
	struct dpdk_peer *p = arg;
	struct bench_pieces pieces = { .together = p->s->together };
	uint32_t piece = p->s->piece;
	uint32_t done, i;

	for (done = 0; done < p->s->total; done += p->s->chunk) {
		supply_write_headers(p->s, &p->traffic);
		dpdk_write(p->s, &p->traffic);
		outcome.nflushed = 0;
		for (i = 0; i < p->s->chunk; i += piece) {
			bench_piece_begin(p->b, &pieces);
			if (p->mode == DPDK_LIGHT)
				light(p, i, i + piece);
			else
				heavy(p, i, i + piece);
			bench_piece_end(p->b, &pieces, piece);
		}
		check_chunk(p, p->mode == DPDK_LIGHT ? p->c->window : p->c->burst);
	}
	return bench_pieces_ns(p->b, &pieces);
}

/* ---- set-up ---- */

void dpdk_peer_init(struct dpdk_peer *p, const struct gro_case *c, enum dpdk_mode mode, bool caller)
{
	struct rte_gro_param param = param_of(c, mode);

	p->c = c;
	p->mode = mode;
	p->caller = caller;
	p->pkts = 0;
	p->out = 0;
	p->table = NULL;
	supply_traffic(&p->traffic, c);
	if (mode == DPDK_LIGHT && c->window > RTE_GRO_MAX_BURST_ITEM_NUM)
		bench_die("DPDK: a burst of light mode has at most 128 packets");
	if (mode == DPDK_HEAVY && (p->table = rte_gro_ctx_create(&param)) == NULL)
		bench_die("DPDK: rte_gro_ctx_create failed");
}

void dpdk_peer_fini(struct dpdk_peer *p)
{
	if (p->table != NULL)
		rte_gro_ctx_destroy(p->table);
	p->table = NULL;
}

double dpdk_peer_segs(const struct dpdk_peer *p)
{
	return p->out != 0u ? (double)p->pkts / (double)p->out : 0.0;
}
