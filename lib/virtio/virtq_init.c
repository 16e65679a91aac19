/* SPDX-License-Identifier: BSD-3-Clause */
/* Setting up a virtqueue: footprint(), ring_bytes() and init() work from one plan, made from the configuration. */
#include "../mem.h"
#include "virtq.h"

#define SIZE_MAX_SLOTS 32768u
#define SEGS_MAX       1024u
#define ALIGN_MIN      16u
#define ALIGN_MAX      65536u
#define DELAY_MAX      256u
#define SPLIT_HEAD     4u /* flags and index before the entries of both split rings */
#define SPLIT_EVENT    2u /* the other side's event index behind them               */
#define PACKED_EVENT   4u /* an event suppression structure                         */
#define FLAGS_KNOWN                                                                                                    \
	(VNETRX_VIRTQ_PACKED | VNETRX_VIRTQ_EVENT_IDX | VNETRX_VIRTQ_INDIRECT | VNETRX_VIRTQ_IN_ORDER |                \
	 VNETRX_VIRTQ_ORDER_PLATFORM | VNETRX_VIRTQ_BIG_ENDIAN)

/* The configuration with every default filled in. */
struct plan {
	uint32_t size;
	uint32_t flags;
	uint32_t align;
	uint32_t segs_max;
	uint32_t delay_mul;
	uint32_t driver_off; /* of the parts of ring memory */
	uint32_t device_off;
	uint32_t tables_off;
	uint32_t ring_bytes;
};

static const char *plan_limits(struct plan *plan, const struct vnetrx_virtq_config *cfg)
{
	bool packed = (cfg->flags & VNETRX_VIRTQ_PACKED) != 0u;

	if (cfg->size < 1u || cfg->size > SIZE_MAX_SLOTS)
		return "size: must be 1..32768";
	if (!packed && !vnrx_is_pow2(cfg->size))
		return "size: must be a power of two in a split ring";
	if ((cfg->flags & ~FLAGS_KNOWN) != 0u)
		return "flags: only VNETRX_VIRTQ_*";
	if (packed && (cfg->flags & VNETRX_VIRTQ_BIG_ENDIAN) != 0u)
		return "flags: a packed ring is never big endian";
	plan->size = cfg->size;
	plan->flags = cfg->flags;
	plan->align = cfg->ring_align != 0u ? cfg->ring_align : 64u;
	if (!vnrx_is_pow2(plan->align) || plan->align < ALIGN_MIN || plan->align > ALIGN_MAX)
		return "ring_align: must be a power of two, 16..65536";
	plan->segs_max = cfg->segs_max != 0u ? cfg->segs_max : 1u;
	if (plan->segs_max > SEGS_MAX || plan->segs_max > plan->size)
		return "segs_max: must be 1..1024 and at most size";
	return NULL;
}

/* num / den in 2^-23, rounded up or one too much. Of n slots, n <= 2^15, the product is too large by at most n / 2^23
 * <= 1/256 <= 1/den, and reaches that only where n * num / den is whole: rounded down, it is exact. */
static uint32_t delay_of(uint32_t num, uint32_t den)
{
	return vnrx_div(num * 8388608u, den) + 1u;
}

static const char *plan_delay(struct plan *plan, const struct vnetrx_virtq_config *cfg)
{
	uint32_t num = cfg->delay_num, den = cfg->delay_den;

	if (num == 0u && den == 0u) {
		num = 3;
		den = 4;
	}
	if (den < 1u || den > DELAY_MAX)
		return "delay_den: must be 1..256, or 0 together with delay_num";
	if (num < 1u || num > den)
		return "delay_num: must be 1..delay_den, or 0 together with delay_den";
	plan->delay_mul = delay_of(num, den);
	return NULL;
}

/* Where the parts lie. At most 2^20 + 2^19 + 2^29 bytes and their alignment. */
static void plan_ring(struct plan *plan)
{
	uint32_t n = plan->size;
	uint32_t end;

	plan->driver_off = n * VNRX_DESC_SIZE;
	if ((plan->flags & VNETRX_VIRTQ_PACKED) != 0u) {
		plan->driver_off = vnrx_align_up(plan->driver_off, plan->align);
		plan->device_off = vnrx_align_up(plan->driver_off + PACKED_EVENT, plan->align);
		end = plan->device_off + PACKED_EVENT;
	} else {
		plan->device_off =
			vnrx_align_up(plan->driver_off + SPLIT_HEAD + 2u * n + SPLIT_EVENT, plan->align);
		end = plan->device_off + SPLIT_HEAD + VNRX_USED_SIZE * n + SPLIT_EVENT;
	}
	end = vnrx_align_up(end, plan->align);
	plan->tables_off = end;
	if ((plan->flags & VNETRX_VIRTQ_INDIRECT) != 0u && plan->segs_max > 1u)
		end += n * plan->segs_max * VNRX_DESC_SIZE;
	plan->ring_bytes = end;
}

/* NULL = the plan is good, else what is wrong with the configuration. */
static const char *plan_make(struct plan *plan, const struct vnetrx_virtq_config *cfg)
{
	const char *why = plan_limits(plan, cfg);

	if (why == NULL)
		why = plan_delay(plan, cfg);
	if (why == NULL)
		plan_ring(plan);
	return why;
}

/* Places everything in mem; with a base of NULL it only measures. */
static struct vnetrx_virtq *place(const struct plan *plan, struct vnrx_mem *mem)
{
	bool                 in_order = (plan->flags & VNETRX_VIRTQ_IN_ORDER) != 0u;
	struct vnetrx_virtq *vq = vnrx_mem_take(mem, 1, sizeof(*vq));
	void                *slots = vnrx_mem_take(mem, plan->size, sizeof(struct vnrx_vslot));
	void                *free = vnrx_mem_take(mem, plan->size, sizeof(uint16_t));
	void                *in_len = in_order ? vnrx_mem_take(mem, plan->size, sizeof(uint32_t)) : NULL;

	if (mem->base == NULL || vnrx_mem_total(mem) == 0u)
		return NULL;
	memset(vq, 0, sizeof(*vq));
	vq->slots = slots;
	vq->free = free;
	vq->in_len = in_len;
	return vq;
}

size_t vnetrx_virtq_footprint(const struct vnetrx_virtq_config *cfg, const char **why)
{
	struct vnrx_mem mem = { NULL, 0, 0 };
	struct plan     plan;
	const char     *wrong = plan_make(&plan, cfg);

	if (wrong == NULL)
		(void)place(&plan, &mem);
	if (why != NULL)
		*why = wrong;
	return wrong == NULL ? vnrx_mem_total(&mem) : 0u;
}

size_t vnetrx_virtq_ring_bytes(const struct vnetrx_virtq_config *cfg)
{
	struct plan plan;

	return plan_make(&plan, cfg) == NULL ? plan.ring_bytes : 0u;
}

/* Whether ring memory lies as it must: for us by ring_align, for the device by what descriptors need (2.7, 2.8). */
static bool ring_fits(const struct plan *plan, const struct vnetrx_virtq_config *cfg)
{
	/* align is a power of two; a remainder would be a division, which small targets take from a library */
	return cfg->ring != NULL && ((uintptr_t)cfg->ring & (plan->align - 1u)) == 0u &&
	       cfg->ring_dma % VNRX_DESC_SIZE == 0u;
}

int vnetrx_virtq_init(struct vnetrx_virtq **vq, const struct vnetrx_virtq_config *cfg, void *mem, size_t mem_size)
{
	struct vnrx_mem      space = { mem, mem_size, 0 };
	struct vnetrx_virtq *q;
	struct plan          plan;

	if (plan_make(&plan, cfg) != NULL || !ring_fits(&plan, cfg))
		return VNETRX_ERR_INVALID;
	if (!vnrx_mem_usable(mem))
		return VNETRX_ERR_NOMEM;
	q = place(&plan, &space);
	if (q == NULL)
		return VNETRX_ERR_NOMEM;
	q->size = plan.size;
	q->flags = plan.flags;
	q->segs_max = plan.segs_max;
	q->delay_mul = plan.delay_mul;
	q->ring = cfg->ring;
	q->ring_dma = cfg->ring_dma;
	q->driver_off = plan.driver_off;
	q->device_off = plan.device_off;
	q->tables_off = plan.tables_off;
	q->desc = q->ring;
	q->driver = q->ring + plan.driver_off;
	q->device = q->ring + plan.device_off;
	q->tables = q->ring + plan.tables_off;
	vnetrx_virtq_reset(q);
	*vq = q;
	return VNETRX_OK;
}

void vnetrx_virtq_reset(struct vnetrx_virtq *vq)
{
	uint32_t i;

	memset(vq->ring, 0, vq->tables_off);
	memset(vq->slots, 0, vq->size * sizeof(*vq->slots));
	for (i = 0; i < vq->size; i++)
		vq->free[i] = (uint16_t)i;
	vq->take = vq->give = 0;
	vq->free_num = vq->size;
	vq->out = vq->unpub = vq->fresh = 0;
	vq->avail = vq->used = 0;
	vq->avail_wrap = vq->used_wrap = 1;
	vq->batch = 0;
	vq->detach_at = 0;
	vq->fault = VNETRX_VIRTQ_OK;
	vq->armed = 1;
	vnetrx_virtq_disable(vq);
}

void vnetrx_virtq_read_areas(const struct vnetrx_virtq *vq, struct vnetrx_virtq_areas *areas)
{
	areas->desc = vq->ring_dma;
	areas->driver = vq->ring_dma + vq->driver_off;
	areas->device = vq->ring_dma + vq->device_off;
}
