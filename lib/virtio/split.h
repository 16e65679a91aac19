/* SPDX-License-Identifier: BSD-3-Clause */
/* Split rings (virtio 1.2, 2.7): where things lie in the two rings. */
#ifndef VNRX_VIRTIO_SPLIT_H
#define VNRX_VIRTIO_SPLIT_H

#include "virtq.h"

/* Both rings: flags, free-running index, entries, and behind them the index at which the other side wants an event. */
#define SPLIT_FLAGS   0u
#define SPLIT_INDEX   2u
#define SPLIT_ENTRIES 4u

#define SPLIT_NO_NOTIFY    1u /* used ring's flags: no doorbell wanted       */
#define SPLIT_NO_INTERRUPT 1u /* available ring's flags: no interrupt wanted */

/* A half-word of the used ring. */
/*@ requires \valid_read(vq) && \valid_read(vq->device + (off .. off + 1));
    assigns \nothing;
*/
static VNRX_INLINE uint16_t split_load16(const struct vnetrx_virtq *vq, uint32_t off)
{
	return vnrx_order16(vnrx_shared_load16(vq->device + off), vnrx_virtq_big(vq));
}

#endif
