/* SPDX-License-Identifier: BSD-3-Clause */
/* Setting up and taking down a pool: footprint() and init() work from one plan, made from the configuration. */
#include "../mem.h"
#include "pool.h"

#define BUFS_MAX      32768u
#define RUN_SIZE_MIN  1024u
#define RUN_SIZE_MAX  1048576u
#define RUNS_MAX      65535u
#define ALIGN_MIN     16u
#define ALIGN_MAX     4096u
#define PKTS_MAX      16777216u
#define USER_SIZE_MAX 65536u
#define FLAGS_KNOWN   (VNETRX_POOL_FIXED | VNETRX_POOL_REMOTE_FREE)

/* The configuration with every default filled in. */
struct plan {
	uint32_t bufs;
	uint32_t run_size;
	uint32_t small_size;
	uint32_t align;
	uint32_t headroom;
	uint32_t len_max;
	uint32_t runs_needed; /* by the ring                                  */
	uint32_t runs_max;    /* of run_size                                  */
	uint32_t runs_num;    /* records: when runs are small there are more  */
	uint32_t pkts;
	uint32_t pkt_cost;
	uint32_t pkt_stride;
};

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
	return value != 0u ? value : fallback;
}

static uint32_t at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

static const char *plan_sizes(struct plan *plan, const struct vnetrx_pool_config *cfg)
{
	uint32_t room;

	plan->run_size = or_default(cfg->run_size, VNRX_RUN_SIZE_STD);
	if (!vnrx_is_pow2(plan->run_size) || plan->run_size < RUN_SIZE_MIN || plan->run_size > RUN_SIZE_MAX)
		return "run_size: must be a power of two, 1024..1048576";
	plan->align = or_default(cfg->buf_align, VNRX_CACHE_LINE);
	if (!vnrx_is_pow2(plan->align) || plan->align < ALIGN_MIN || plan->align > ALIGN_MAX)
		return "buf_align: must be a power of two, 16..4096";
	if (plan->align > plan->run_size)
		return "buf_align: must be at most run_size";
	if (cfg->headroom > plan->run_size - plan->align)
		return "headroom: must leave room for a buffer in run_size";
	plan->headroom = vnrx_align_up(cfg->headroom, plan->align);
	room = plan->run_size - plan->headroom;
	if (cfg->buf_len_max > room)
		return "buf_len_max: must be 1..run_size, headroom taken off";
	plan->len_max = vnrx_align_up(or_default(cfg->buf_len_max, at_most(4096u, room)), plan->align);
	plan->small_size = vnrx_pow2_up(plan->headroom + plan->len_max);
	if (plan->small_size < RUN_SIZE_MIN)
		plan->small_size = RUN_SIZE_MIN;
	return NULL;
}

static const char *plan_counts(struct plan *plan, const struct vnetrx_pool_config *cfg)
{
	uint32_t per_run;

	plan->bufs = cfg->bufs_max;
	if (plan->bufs < 1u || plan->bufs > BUFS_MAX)
		return "bufs_max: must be 1..32768";
	if (cfg->runs_max > RUNS_MAX)
		return "runs_max: must be 1..65535, or 0 for the default";
	per_run = vnrx_div(plan->run_size, plan->headroom + plan->len_max);
	plan->runs_needed = vnrx_div(plan->bufs + per_run - 1u, per_run) + 4u;
	plan->runs_max = or_default(cfg->runs_max, at_most(6u * plan->runs_needed, RUNS_MAX));
	plan->runs_num = plan->runs_max;
	if (plan->small_size < plan->run_size)
		plan->runs_num = at_most(plan->runs_num + plan->bufs, RUNS_MAX);
	plan->pkts = or_default(cfg->pkts_max, 2u * plan->bufs + 64u);
	if (plan->pkts > PKTS_MAX)
		return "pkts_max: must be 1..16777216, or 0 for the default";
	if (cfg->pkt_user_size > USER_SIZE_MAX)
		return "pkt_user_size: must be 0..65536";
	plan->pkt_cost = (uint32_t)sizeof(struct vnetrx_pkt) + vnrx_align_up(cfg->pkt_user_size, 16u);
	plan->pkt_stride = vnrx_align_up(plan->pkt_cost, VNRX_CACHE_LINE);
#ifdef VNRX_POOL_DEBUG
	plan->runs_num = at_most(plan->bufs + plan->pkts + 2u, RUNS_MAX);
#endif
	return NULL;
}

/* NULL = the plan is good, else what is wrong with the configuration. */
static const char *plan_make(struct plan *plan, const struct vnetrx_pool_config *cfg)
{
	const char *why;

	if (cfg->host_ops == NULL || cfg->host_ops->page_alloc == NULL || cfg->host_ops->page_free == NULL)
		return "host_ops: required, with page_alloc and page_free";
	if ((cfg->flags & ~FLAGS_KNOWN) != 0u)
		return "flags: only VNETRX_POOL_FIXED and VNETRX_POOL_REMOTE_FREE";
	why = plan_sizes(plan, cfg);
	return why != NULL ? why : plan_counts(plan, cfg);
}

/* Places everything in mem; with a base of NULL it only measures, and the pool is not touched. */
static struct vnetrx_pool *place(const struct plan *plan, struct vnrx_mem *mem)
{
	struct vnetrx_pool *p = vnrx_mem_take(mem, 1, sizeof(*p));
	void               *runs = vnrx_mem_take(mem, plan->runs_num, sizeof(struct vnrx_run));
	void               *slots = vnrx_mem_take(mem, plan->bufs, sizeof(struct vnrx_slot));
	void               *ids = vnrx_mem_take(mem, plan->bufs, sizeof(uint16_t));
	void               *stack = vnrx_mem_take(mem, plan->pkts, sizeof(struct vnetrx_pkt *));
	void               *pkts = vnrx_mem_take(mem, plan->pkts, plan->pkt_stride);

	if (mem->base == NULL || vnrx_mem_total(mem) == 0u)
		return NULL;
	memset(p, 0, sizeof(*p));
	p->pages.runs = runs;
	p->slots = slots;
	p->ids = ids;
	p->pkts = stack;
	p->pkt_mem = pkts;
	return p;
}

size_t vnetrx_pool_footprint(const struct vnetrx_pool_config *cfg, const char **why)
{
	struct vnrx_mem mem = { NULL, 0, 0 };
	struct plan     plan;
	const char     *wrong = plan_make(&plan, cfg);

	if (wrong == NULL) {
		(void)place(&plan, &mem);
		if (vnrx_mem_total(&mem) == 0u)
			wrong = "pkts_max and pkt_user_size: more memory than can be addressed";
	}
	if (why != NULL)
		*why = wrong;
	return wrong == NULL ? vnrx_mem_total(&mem) : 0u;
}

static void init_pages(struct vnrx_pages *pg, const struct plan *plan, const struct vnetrx_pool_config *cfg)
{
	pg->runs_num = plan->runs_num;
	pg->run_size = plan->run_size;
	pg->small_size = plan->small_size;
	pg->run_bytes_max = (uint64_t)plan->runs_max * plan->run_size;
#ifndef VNRX_POOL_DEBUG
	/* Enough for a ring whose packets all came back at once; what is above that was a peak. */
	pg->spare_bytes_max = (uint64_t)plan->runs_needed * plan->run_size;
#endif
	pg->host = cfg->host;
	pg->page_alloc = cfg->host_ops->page_alloc;
	pg->page_free = cfg->host_ops->page_free;
	vnrx_pages_init(pg);
}

static void init_stacks(struct vnetrx_pool *p)
{
	uint32_t i;

	memset(p->slots, 0, p->slots_num * sizeof(*p->slots));
	for (i = 0; i < p->slots_num; i++)
		p->ids[i] = (uint16_t)(p->slots_num - 1u - i);
	for (i = 0; i < p->pkts_num; i++) {
		void              *at = p->pkt_mem + (size_t)i * p->pkt_stride;
		struct vnetrx_pkt *pkt = at;

		memset(pkt, 0, p->pkt_stride);
		pkt->owner = p;
		p->pkts[p->pkts_num - 1u - i] = pkt;
		VNRX_TRACK_NOACCESS(pkt, p->pkt_stride);
	}
	p->ids_free = p->slots_num;
	p->pkts_free = p->pkts_num;
}

int vnetrx_pool_init(struct vnetrx_pool **pool, const struct vnetrx_pool_config *cfg, void *mem, size_t mem_size)
{
	struct vnrx_mem     at = { mem, mem_size, 0 };
	struct vnetrx_pool *p;
	struct plan         plan;

	if (plan_make(&plan, cfg) != NULL)
		return VNETRX_ERR_INVALID;
	if (!vnrx_mem_usable(mem))
		return VNETRX_ERR_NOMEM;
	VNRX_TRACK_UNDEFINED(mem, mem_size);
	p = place(&plan, &at);
	if (p == NULL)
		return VNETRX_ERR_NOMEM;
	p->mem_size = mem_size;
	p->slots_num = plan.bufs;
	p->pkts_num = plan.pkts;
	p->pkt_cost = plan.pkt_cost;
	p->pkt_stride = plan.pkt_stride;
	p->headroom = plan.headroom;
	p->align = plan.align;
	p->len_max = plan.len_max;
	p->fixed = cfg->flags & VNETRX_POOL_FIXED;
	p->remote_free = cfg->flags & VNETRX_POOL_REMOTE_FREE;
	p->host = cfg->host;
	p->wake = cfg->host_ops->wake;
	p->cut.run = VNRX_RUN_NONE;
	p->copy.run = VNRX_RUN_NONE;
	init_pages(&p->pages, &plan, cfg);
	init_stacks(p);
	p->pinned_high = p->pages.run_bytes_max / 4u * 3u;
	*pool = p;
	return VNETRX_OK;
}

int vnetrx_pool_fini(struct vnetrx_pool *pool)
{
	size_t mem_size = pool->mem_size;

	(void)vnetrx_pool_collect(pool);
	if (pool->ids_free + pool->recycled != pool->slots_num || pool->pkts_free != pool->pkts_num)
		return VNETRX_ERR_BUSY;
	vnrx_pages_fini(&pool->pages);
	VNRX_TRACK_UNDEFINED(pool, mem_size);
	return VNETRX_OK;
}
