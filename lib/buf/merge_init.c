/* SPDX-License-Identifier: BSD-3-Clause */
/* Setting up the merge stage. */
#include "../mem.h"
#include "merge.h"
#include "usual.h"

#define NBUFS_MAX     32768u
#define FRAME_LEN_MIN 60u
#define FRAME_LEN_TOP 1048576u
#define FRAME_LEN_STD 65589u /* 14 + 40 + 65535 */

/* NULL = good, else what is wrong. */
static const char *config_check(const struct vnetrx_merge_config *cfg)
{
	if (cfg->dev_ops == NULL)
		return "dev_ops: required";
	if (cfg->pool == NULL)
		return "pool: required";
	if (cfg->nbufs_max < 1u || cfg->nbufs_max > NBUFS_MAX)
		return "nbufs_max: must be 1..32768";
	if (cfg->hdr_len > VNRX_MERGE_HDR_MAX)
		return "hdr_len: must be 0..128";
	if (cfg->frame_len_max != 0u && (cfg->frame_len_max < FRAME_LEN_MIN || cfg->frame_len_max > FRAME_LEN_TOP))
		return "frame_len_max: must be 60..1048576, or 0 for the default";
	if (cfg->copy_len_max > VNRX_COPY_LEN_OFF)
		return "copy_len_max: must be 1..65535, or 0 for the default";
	if ((cfg->flags & ~VNETRX_MERGE_NO_COALESCE) != 0u)
		return "flags: only VNETRX_MERGE_NO_COALESCE";
	return NULL;
}

size_t vnetrx_merge_footprint(const struct vnetrx_merge_config *cfg, const char **why)
{
	struct vnrx_mem mem = { NULL, 0, 0 };
	const char     *wrong = config_check(cfg);

	if (why != NULL)
		*why = wrong;
	if (wrong != NULL)
		return 0;
	(void)vnrx_mem_take(&mem, 1, sizeof(struct vnetrx_merge));
	return vnrx_mem_total(&mem);
}

int vnetrx_merge_init(struct vnetrx_merge **merge, const struct vnetrx_merge_config *cfg, void *mem, size_t mem_size)
{
	struct vnrx_mem      at = { mem, mem_size, 0 };
	struct vnetrx_merge *m;

	if (config_check(cfg) != NULL)
		return VNETRX_ERR_INVALID;
	if (!vnrx_mem_usable(mem))
		return VNETRX_ERR_NOMEM;
	m = vnrx_mem_take(&at, 1, sizeof(*m));
	if (m == NULL)
		return VNETRX_ERR_NOMEM;
	memset(m, 0, sizeof(*m));
	m->pool = cfg->pool;
	m->dev = cfg->dev;
	m->decode = cfg->dev_ops->decode;
	m->sync_cpu = cfg->dev_ops->sync_cpu;
	m->state = VNRX_MERGE_IDLE;
	m->hdr_len = cfg->hdr_len;
	m->nbufs_max = cfg->nbufs_max;
	m->frame_len_max = cfg->frame_len_max != 0u ? cfg->frame_len_max : FRAME_LEN_STD;
	m->no_coalesce = cfg->flags & VNETRX_MERGE_NO_COALESCE;
	m->look_at = VNRX_CACHE_LINE;
	vnrx_usual_init(m, (cfg->dev_ops->flags & VNETRX_DEV_PURE_DECODE) != 0u);
	if (cfg->copy_len_max != VNRX_COPY_LEN_OFF) {
		m->copy_len_max = cfg->copy_len_max != 0u ? cfg->copy_len_max : VNRX_COPY_LEN_STD;
		if (m->copy_len_max > cfg->pool->len_max)
			m->copy_len_max = cfg->pool->len_max;
		m->copy_len_high = cfg->pool->len_max;
	}
	*merge = m;
	return VNETRX_OK;
}

void vnrx_merge_ends_path(struct vnetrx_merge *merge)
{
	if (merge->copy_len_max == 0u)
		merge->look_at = 0;
}

void vnetrx_merge_read_stats(const struct vnetrx_merge *merge, struct vnetrx_merge_stats *stats)
{
	*stats = merge->stats;
}
