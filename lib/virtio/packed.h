/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed rings (virtio 1.2, 2.8): one ring of descriptors that both sides write, and two words about events. All of it
 * is little endian. */
#ifndef VNRX_VIRTIO_PACKED_H
#define VNRX_VIRTIO_PACKED_H

#include "virtq.h"

/* A descriptor: address, length, id, flags. */
#define PACKED_LEN   8u
#define PACKED_ID    12u
#define PACKED_FLAGS 14u

/* Flags: offered when AVAIL is the offering side's wrap counter and USED is not; used when both are. */
#define PACKED_AVAIL 0x0080u
#define PACKED_USED  0x8000u
#define PACKED_BOTH  (PACKED_AVAIL | PACKED_USED)

/* Event suppression (2.8.10): offset in bits 0..14, wrap counter in bit 15, and behind them what is wanted. */
#define PACKED_WRAP_BIT 32768u
#define PACKED_ENABLE   0u
#define PACKED_DISABLE  1u
#define PACKED_DESC     2u /* when that descriptor is used, or offered; only with EVENT_IDX */

/* The next place of a ring or FIFO of any size. */
/*@ requires at < size <= 32768;
    assigns \nothing;
    ensures \result < size && \result == (at + 1 < size ? at + 1 : 0);
*/
static VNRX_INLINE uint32_t packed_next(uint32_t at, uint32_t size)
{
	return at + 1u < size ? at + 1u : 0u;
}

#endif
