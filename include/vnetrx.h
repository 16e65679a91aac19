/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libvnetrx: the receive path of a network driver.
 *
 *        host memory
 *            |  page_alloc / page_free (runs of pages)
 *   +--------v---------+   len    +--------+
 *   |  pool (carve)    |<---------| sizer  |<---------------- length of each packet (EWMA)
 *   +--------+---------+          +--------+
 *            | post                                   held flows, deadlines
 *   +--------v---------+  reap  +-------+   +---------+   +------+  one FIFO  +------+
 *   | device (ops)     |------->| merge |-->| dissect |-->| gro  |----------->| host |
 *   +------------------+        +-------+   +---------+   +------+  deliver   +------+
 *
 * Start with vnetrx/rxq.h (call this), vnetrx/ops.h (implement this) and vnetrx/pkt.h (receive this). Each stage can
 * also be used alone.
 *
 * Conventions, stated once:
 *   NULL       No pointer argument may be NULL unless its comment says so.
 *   Memory     footprint() says how much, init() uses the caller's memory; pages come from the host's ops. Nothing else
 *              is ever allocated, and no pointer into the memory is needed by the caller but the one init() returns.
 *   Ownership  A call takes all it was given, or returns how many it took, from the first on.
 *   Threads    An object belongs to one thread at a time. Exceptions say so.
 *   Time       The library reads no clock. `now` goes in, a deadline comes out; a `now` below the last one counts as
 *              equal to it. VNETRX_NEVER means "no deadline".
 *   Errors     Negative enum vnetrx_err. Conditions of the normal run (no memory now, host full) are counts and states.
 *   Lengths    Bytes. `len` counts what is there, `truesize` what it costs: the carved bytes of a packet's buffers, the
 *              hole at the end of a run included, and its descriptors.
 *   Flags      Unused flag bits and reserved fields must be zero.
 */
#ifndef VNETRX_H
#define VNETRX_H

#include "vnetrx/base.h"
#include "vnetrx/ops.h"
#include "vnetrx/pkt.h"
#include "vnetrx/stats.h"
#include "vnetrx/sizer.h"
#include "vnetrx/moderate.h"
#include "vnetrx/pool.h"
#include "vnetrx/merge.h"
#include "vnetrx/gro.h"
#include "vnetrx/rxq.h"
#include "vnetrx/virtio_net.h"
#include "vnetrx/virtio_features.h"
#include "vnetrx/virtio_ctrl.h"
#include "vnetrx/virtq.h"
#include "vnetrx/virtio_rx.h"
#include "vnetrx/txq.h"

#endif
