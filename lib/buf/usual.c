/* SPDX-License-Identifier: BSD-3-Clause */
#include "usual.h"

#include "../wire.h"
#include "piece.h"

static bool is_plain(const struct vnetrx_meta *meta)
{
	return (meta->flags & VNRX_META_FLAGS & ~VNRX_META_CSUM) == 0u && meta->nbufs <= 1u && meta->gso_size == 0u &&
	       meta->gso_type == 0u;
}

void vnrx_usual_init(struct vnetrx_merge *m, bool pure_decode)
{
	static const uint8_t nothing[VNRX_USUAL_LEN];

	m->usual.len_min = VNRX_USUAL_OFF;
	if (m->sync_cpu != NULL)
		return;
	if (m->decode == NULL) { /* no byte of a header means anything */
		vnrx_usual_learn(m, nothing, &(struct vnetrx_meta){ .skip = (uint16_t)m->hdr_len });
	} else if (pure_decode && m->hdr_len <= VNRX_USUAL_LEN) {
		memset(m->usual.mask, 0xff, m->hdr_len);
		m->learns = true;
	}
}

void vnrx_usual_learn(struct vnetrx_merge *m, const uint8_t *head, const struct vnetrx_meta *meta)
{
	struct vnrx_usual *u = &m->usual;
	uint32_t len_min = m->hdr_len > meta->skip ? m->hdr_len : meta->skip;

	if (!is_plain(meta))
		return;
	len_min += VNRX_ETH_HDR;
	u->len_min = len_min > VNRX_USUAL_LEN ? len_min : VNRX_USUAL_LEN;
	u->len_range = meta->skip + m->frame_len_max - u->len_min;
	u->skip = meta->skip;
	u->flags = meta->flags & VNRX_META_FLAGS;
	memcpy(u->word, head, sizeof(u->word));
}
