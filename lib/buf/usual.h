/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short way of merge: a packet in one buffer whose device header equals the last plain one, byte for byte. What
 * decode said of that one holds for this one too (VNETRX_DEV_PURE_DECODE). The header is read once: the words that are
 * compared are all that is ever known of it.
 */
#ifndef VNRX_BUF_USUAL_H
#define VNRX_BUF_USUAL_H

#include "merge.h"

#define VNRX_USUAL_LEN 16u      /* bytes that are read                                  */
#define VNRX_USUAL_OFF (1u << 30) /* as len_min: longer than any buffer, nothing fits     */

/* Is it such a packet, in one piece, of good length? */
static VNRX_INLINE bool vnrx_usual_fits(const struct vnrx_usual *u, const struct vnrx_slot *slot,
                                        const struct vnetrx_done *done)
{
	const uint8_t *at = slot->addr + done->off;

	if (done->len - u->len_min > u->len_range || done->off + done->len > slot->len)
		return false;
	if (VNRX_UNLIKELY((done->flags & VNETRX_DONE_MORE) != 0u))
		return false;
	VNRX_TRACK_DEFINED(at, done->len);
	return (((vnrx_load64(at) ^ u->word[0]) & u->mask[0]) |
	        ((vnrx_load64(at + 8) ^ u->word[1]) & u->mask[1])) == 0u;
}

/* Once, with the rest of the stage set up. */
void vnrx_usual_init(struct vnetrx_merge *m, bool pure_decode);

/* Remembers a header and what decode said of it, if it is plain: head has VNRX_USUAL_LEN bytes. */
void vnrx_usual_learn(struct vnetrx_merge *m, const uint8_t *head, const struct vnetrx_meta *meta);

#endif
