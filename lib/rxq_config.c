/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up of a receive queue: its configuration with defaults, checked, and cut into those of the stages. */
#include "queue.h"

#include "buf/merge.h"
#include "gro/engine.h"
#include "mem.h"

#define FRAME_LEN_MAX 65589u   /* 14 + 40 + 65535: the longest frame a virtio device merges (virtio 1.2, 5.1.6.3.1) */
#define FRAME_LEN_TOP 1048576u
#define BUF_LEN_MTU   1518u    /* Ethernet header, one VLAN tag, 1500 bytes */
#define RETRY_NS      10000000u

#define FLAGS_KNOWN (VNETRX_RXQ_GRO_OFF | VNETRX_RXQ_NO_COALESCE | VNETRX_RXQ_REMOTE_FREE)

/* What the configuration means for each stage. */
struct plan {
	struct vnetrx_rxq_config   cfg; /* with defaults */
	struct vnetrx_pool_config  pool;
	struct vnetrx_merge_config merge;
	struct vnetrx_gro_config   gro;
};

static const char *check_ops(const struct vnetrx_rxq_config *cfg)
{
	if (cfg->dev_ops == NULL || cfg->dev_ops->post == NULL || cfg->dev_ops->reap == NULL)
		return "dev_ops: the table and its post and reap are required";
	if (cfg->host_ops == NULL || cfg->host_ops->page_alloc == NULL || cfg->host_ops->page_free == NULL ||
	    cfg->host_ops->deliver == NULL)
		return "host_ops: the table and its page_alloc, page_free and deliver are required";
	return NULL;
}

static const char *check_ranges(const struct vnetrx_rxq_config *cfg)
{
	if (cfg->ring_size == 0u || cfg->ring_size > 32768u)
		return "ring_size: must be 1..32768";
	if (cfg->frame_len_max != 0u && (cfg->frame_len_max < 60u || cfg->frame_len_max > FRAME_LEN_TOP))
		return "frame_len_max: must be 60..1048576";
	if (cfg->hdr_len > 128u)
		return "hdr_len: must be 0..128";
	if (cfg->buf_align != 0u && (!vnrx_is_pow2(cfg->buf_align) || cfg->buf_align < 16u || cfg->buf_align > 4096u))
		return "buf_align: must be a power of two, 16..4096";
	if ((cfg->flags & ~FLAGS_KNOWN) != 0u)
		return "flags: only VNETRX_RXQ_GRO_OFF, NO_COALESCE, REMOTE_FREE";
	return NULL;
}

/* cfg is complete. With buf_cost the length of least cost instead of the average. */
static VNRX_COLD const char *sizer_open(struct vnetrx_sizer *sizer, const struct vnetrx_rxq_config *cfg)
{
	const struct vnetrx_sizer_prices prices = {
		.buf_cost = cfg->buf_cost,
		.run_size = cfg->run_size,
		.headroom = cfg->headroom,
		.copy_len_max = cfg->copy_len_max != VNRX_COPY_LEN_OFF ? cfg->copy_len_max : 0u,
	};

	if (vnetrx_sizer_init(sizer, cfg->buf_len_min, cfg->buf_len_max, cfg->hdr_len, cfg->buf_align) != VNETRX_OK)
		return "buf_len_min, buf_len_max: no room for a frame behind hdr_len";
	if (cfg->buf_cost != 0u && vnetrx_sizer_by_cost(sizer, &prices) != VNETRX_OK)
		return "buf_cost: must be 0..65535, buf_len_min at least 64, and buf_len_max at most a run";
	return NULL;
}

/* Buffer lengths: rounded to buf_align, and so that the ring holds one longest frame. */
static VNRX_COLD const char *plan_sizes(struct vnetrx_rxq_config *cfg)
{
	struct vnetrx_sizer sizer; /* init makes its own: a plan is large enough */
	uint32_t least = vnetrx_sizer_floor(cfg->ring_size, cfg->frame_len_max, cfg->hdr_len);

	if (cfg->buf_len_max > FRAME_LEN_TOP || cfg->buf_len_max < cfg->buf_align)
		return "buf_len_max: must be buf_align..1048576";
	if (cfg->buf_len_min > cfg->buf_len_max)
		return "buf_len_min: must be at most buf_len_max";
	cfg->buf_len_max &= ~(cfg->buf_align - 1u); /* a power of two, or vnetrx_sizer_init() refuses it */
	if (least > cfg->buf_len_max)
		return "ring_size: must be at least hdr_len + frame_len_max over buf_len_max";
	if (cfg->buf_len_min < least)
		cfg->buf_len_min = least;
	cfg->buf_len_min = vnrx_align_up(cfg->buf_len_min, cfg->buf_align);
	if (cfg->buf_len_min > cfg->buf_len_max)
		cfg->buf_len_min = cfg->buf_len_max;
	return sizer_open(&sizer, cfg);
}

/* NULL, or what is wrong. */
static const char *plan_gro(struct plan *p, const struct vnetrx_rxq_config *cfg)
{
	p->gro = (struct vnetrx_gro_config){
		.hash_key = { cfg->hash_key[0], cfg->hash_key[1] },
		.flows = cfg->gro_flows,
		.bytes_max = cfg->gro_bytes_max,
		.segs_max = cfg->gro_segs_max,
		.payload_min = cfg->gro_payload_min,
		.protos = cfg->gro_protos,
		.flags = cfg->gro_flags,
		.vxlan_port = cfg->vxlan_port,
		.vxlan_gpe_port = cfg->vxlan_gpe_port,
		.geneve_port = cfg->geneve_port,
		.timeout_ns = cfg->gro_timeout_ns,
		.hold_max_ns = cfg->gro_hold_max_ns,
	};
	return (cfg->flags & VNETRX_RXQ_GRO_OFF) == 0u ? vnrx_gro_wrong(&p->gro) : NULL;
}

static void plan_stages(struct plan *p)
{
	const struct vnetrx_rxq_config *cfg = &p->cfg;

	p->pool = (struct vnetrx_pool_config){
		.host_ops = cfg->host_ops,
		.host = cfg->host,
		.bufs_max = cfg->ring_size,
		.run_size = cfg->run_size,
		.buf_len_max = cfg->buf_len_max,
		.buf_align = cfg->buf_align,
		.headroom = cfg->headroom,
		.runs_max = cfg->runs_max,
		.pkts_max = cfg->pkts_max,
		.pkt_user_size = cfg->pkt_user_size,
		.flags = (cfg->buf_len_min == cfg->buf_len_max ? VNETRX_POOL_FIXED : 0u) |
		         ((cfg->flags & VNETRX_RXQ_REMOTE_FREE) != 0u ? VNETRX_POOL_REMOTE_FREE : 0u),
	};
	p->merge = (struct vnetrx_merge_config){
		.dev_ops = cfg->dev_ops,
		.dev = cfg->dev,
		.nbufs_max = cfg->ring_size,
		.hdr_len = cfg->hdr_len,
		.frame_len_max = cfg->frame_len_max,
		.copy_len_max = cfg->copy_len_max,
		.flags = (cfg->flags & VNETRX_RXQ_NO_COALESCE) != 0u ? VNETRX_MERGE_NO_COALESCE : 0u,
	};
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* NULL, or what is wrong. */
static const char *plan(struct plan *p, const struct vnetrx_rxq_config *user)
{
	struct vnetrx_rxq_config *cfg = &p->cfg;
	const char *why = check_ops(user);

	if (why == NULL)
		why = check_ranges(user);
	if (why == NULL)
		why = plan_gro(p, user);
	if (why != NULL)
		return why;
	*cfg = *user;
	if (cfg->frame_len_max == 0u)
		cfg->frame_len_max = FRAME_LEN_MAX;
	if (cfg->buf_align == 0u)
		cfg->buf_align = VNRX_CACHE_LINE;
	if (cfg->buf_len_max == 0u)
		cfg->buf_len_max = 4096u;
	if (cfg->buf_len_min == 0u)
		cfg->buf_len_min = lesser(cfg->hdr_len + BUF_LEN_MTU, cfg->buf_len_max);
	if (cfg->run_size == 0u)
		cfg->run_size = VNRX_RUN_SIZE_STD;
	if (cfg->copy_len_max == 0u)
		cfg->copy_len_max = VNRX_COPY_LEN_STD;
	if (cfg->refill_retry_ns == 0u)
		cfg->refill_retry_ns = RETRY_NS;
	why = plan_sizes(cfg);
	if (why == NULL)
		plan_stages(p);
	return why;
}

/* The footprints of the stages, each of which is a multiple of a cache line; 0 = one of them refuses. */
static size_t measure(const struct plan *p, size_t part[3], const char **why)
{
	struct vnrx_mem mem = { .base = NULL };
	bool has_gro = (p->cfg.flags & VNETRX_RXQ_GRO_OFF) == 0u;

	part[0] = vnetrx_pool_footprint(&p->pool, why);
	if (part[0] == 0u)
		return 0;
	part[1] = vnetrx_merge_footprint(&p->merge, why);
	if (part[1] == 0u)
		return 0;
	part[2] = has_gro ? vnetrx_gro_footprint(&p->gro, why) : 0u;
	if (has_gro && part[2] == 0u)
		return 0;
	(void)vnrx_mem_take(&mem, 1, sizeof(struct vnetrx_rxq));
	for (unsigned i = 0; i < 3u; i++) {
		if (part[i] > UINT32_MAX) {
			*why = "ring_size, pkts_max, gro_flows: more memory than can be counted";
			return 0;
		}
		(void)vnrx_mem_take(&mem, 1, (uint32_t)part[i]);
	}
	return vnrx_mem_total(&mem);
}

/* The merge stage wants a pool even to be measured. */
static const char *plan_all(struct plan *p, const struct vnetrx_rxq_config *cfg, size_t part[3], size_t *total)
{
	const char *why = plan(p, cfg);

	*total = 0;
	if (why != NULL)
		return why;
	p->merge.pool = (struct vnetrx_pool *)(void *)p; /* not looked into before init */
	*total = measure(p, part, &why);
	if (*total == 0u && why == NULL)
		why = "ring_size, pkts_max, gro_flows: more memory than can be addressed";
	return why;
}

size_t vnetrx_rxq_footprint(const struct vnetrx_rxq_config *cfg, const char **why)
{
	struct plan p;
	size_t part[3], total;
	const char *error = plan_all(&p, cfg, part, &total);

	if (why != NULL)
		*why = error;
	return total;
}

static int init_stages(struct vnetrx_rxq *q, struct plan *p, struct vnrx_mem *mem, const size_t part[3])
{
	int err = vnetrx_pool_init(&q->pool, &p->pool, vnrx_mem_take(mem, 1, (uint32_t)part[0]), part[0]);

	if (err != VNETRX_OK)
		return err;
	p->merge.pool = q->pool;
	err = vnetrx_merge_init(&q->merge, &p->merge, vnrx_mem_take(mem, 1, (uint32_t)part[1]), part[1]);
	if (err != VNETRX_OK || part[2] == 0u)
		return err;
	return vnetrx_gro_init(&q->gro, &p->gro, vnrx_mem_take(mem, 1, (uint32_t)part[2]), part[2]);
}

int vnetrx_rxq_init(struct vnetrx_rxq **rxq, const struct vnetrx_rxq_config *cfg, void *mem, size_t mem_size)
{
	struct plan p;
	struct vnrx_mem m = { .base = mem, .size = mem_size };
	size_t part[3], total;
	struct vnetrx_rxq *q;
	int err;

	if (plan_all(&p, cfg, part, &total) != NULL)
		return VNETRX_ERR_INVALID;
	if (mem_size < total || !vnrx_mem_usable(mem))
		return VNETRX_ERR_NOMEM;
	q = vnrx_mem_take(&m, 1, sizeof(*q));
	memset(q, 0, sizeof(*q));
	err = init_stages(q, &p, &m, part);
	if (err != VNETRX_OK)
		return err;
	q->dev_ops = *p.cfg.dev_ops;
	q->host_ops = *p.cfg.host_ops;
	q->dev = p.cfg.dev;
	q->host = p.cfg.host;
	if (q->gro == NULL && q->host_ops.early == NULL)
		vnrx_merge_ends_path(q->merge);
	(void)sizer_open(&q->sizer, &p.cfg); /* as it did before */
	q->ring_size = p.cfg.ring_size;
	q->flush_each = p.cfg.gro_timeout_ns == 0u && (p.cfg.gro_flags & VNETRX_GRO_ADAPTIVE) == 0u;
	q->retry_ns = p.cfg.refill_retry_ns;
	q->timer = VNETRX_NEVER;
	vnrx_rxq_publish(q);
	*rxq = q;
	return VNETRX_OK;
}

int vnetrx_rxq_fini(struct vnetrx_rxq *q)
{
	struct vnetrx_pkt *pkt;

	vnetrx_merge_end(q->merge);
	(void)vnetrx_pool_collect(q->pool);
	if (q->gro != NULL)
		vnetrx_gro_flush(q->gro, &q->fifo);
	while ((pkt = vnetrx_pktq_take(&q->fifo)) != NULL)
		vnetrx_pkt_free(&pkt, 1);
	return vnetrx_pool_fini(q->pool);
}
