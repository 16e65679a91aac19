/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A virtqueue between a driver and a device that both do anything that is allowed, and a model of what must come of it:
 * lists and counters without a ring. With a hostile device only the driver's own laws remain.
 *
 *   model.c (what is lent, the beginning, the end)  model_driver.c  model_device.c
 */
#ifndef TESTS_VIRTQ_MODEL_H
#define TESTS_VIRTQ_MODEL_H

#include "faulty_ring.h"
#include "softring.h"
#include "support/stream.h"
#include "vnetrx/virtq.h"

#define VQM_SEGS_MAX 8u
#define VQM_RING_DMA UINT64_C(0x7000000000) /* of the ring's first byte            */
#define VQM_BUF_DMA  UINT64_C(0x9000000000) /* segments lie in the 64 KiB from here */
#define VQM_BUF_SPAN 65536u

struct vqm_chain {
	uint32_t id;
	bool     lent;
	uint16_t out, in;
	uint32_t slots;
	uint32_t in_len; /* bytes that the device may write */
	struct vnetrx_virtq_seg segs[VQM_SEGS_MAX];
};

struct vqm_held { /* at the device */
	struct softring_chain chain;
	struct softring_seg   segs[VQM_SEGS_MAX];
	uint32_t at;      /* of chains */
};

struct vqm_done { /* completed, not reaped */
	uint32_t at;
	uint32_t len;
};

enum vqm_arm { VQM_DISABLED, VQM_ENABLED, VQM_DELAYED };

/* Positions count what the event indices count: chains in a split ring, slots in a packed one. */
struct vqm {
	struct rng rng;
	bool       hostile;       /* the device is, from now on; then nothing is known about the ring's other side */
	bool       lost;          /* hostile: the device has stopped                                              */
	uint64_t   ops;

	struct vnetrx_virtq_config cfg;
	struct vnetrx_virtq *vq;
	void     *mem;
	uint8_t  *ring;
	size_t    ring_bytes;
	struct vqm_chain *chains; /* size of them                            */
	uint32_t *idle;           /* places in chains that are not lent      */
	uint32_t  lent;
	uint32_t  slots;          /* of all that are lent                    */
	uint32_t  salt;           /* id of a chain = its place ^ salt        */
	struct vnetrx_done *dones;

	struct softring    *soft;
	struct faulty_ring *faulty;
	struct vqm_held    *held;
	uint32_t  held_num;
	uint8_t  *bufs;           /* what VQM_BUF_DMA is                     */

	/* Queues of `mask` + 1 entries with counters that never go back. */
	uint32_t  mask;
	uint32_t *added;          /* taken <= published <= put               */
	uint32_t  added_taken, added_published, added_put;
	struct vqm_done *used;    /* reaped <= published <= put              */
	uint32_t  used_reaped, used_published, used_put;

	uint64_t  add_pos;        /* end of what was added                   */
	uint64_t  avail_pos;      /* end of what was published               */
	uint64_t  kick_pos;       /* the same at the last doorbell           */
	uint64_t  look_pos;       /* the same when the driver last asked     */
	uint64_t  take_pos;       /* end of what the device took             */
	uint64_t  event_pos;      /* the device asked for a doorbell there   */
	bool      dev_event;      /* ... and not at every chain              */
	bool      dev_asleep;
	bool      dev_wants;      /* doorbells at all                        */
	uint32_t  dev_for;        /* it sleeps until so much is there        */

	uint64_t  put_pos;        /* end of what the device completed        */
	uint64_t  used_pos;       /* end of what it published                */
	uint64_t  reap_pos;
	enum vqm_arm arm;
	bool      drv_asleep;
	uint64_t  arm_pos;        /* reap_pos when callbacks were asked for  */
	uint64_t  arm_out;        /* published and not reaped, then          */
};

static inline bool vqm_is(const struct vqm *m, uint32_t flag)
{
	return (m->cfg.flags & flag) != 0u;
}

static inline uint32_t vqm_units(const struct vqm *m, const struct vqm_chain *c)
{
	return vqm_is(m, VNETRX_VIRTQ_PACKED) ? c->slots : 1u;
}

/* A configuration of every kind. */
void vqm_configure(struct rng *rng, struct vnetrx_virtq_config *cfg);

/* cfg without ring memory; fails the test when the library refuses it. */
void vqm_open(struct vqm *m, const struct vnetrx_virtq_config *cfg, uint64_t seed);
void vqm_close(struct vqm *m);

/* What must be true after every operation. */
void vqm_check(const struct vqm *m);

/* The device is stopped; the driver takes everything back and begins anew, with an honest device. */
void vqm_recover(struct vqm *m);

/* Takes the chain with that id off the list of what is lent. */
struct vqm_chain *vqm_unlend(struct vqm *m, uint32_t id);

/* One random operation of either side, and its checks. */
void vqm_step(struct vqm *m);

/* One chain around while both sides sleep: the doorbell and the interrupt must come. */
void vqm_single(struct vqm *m, unsigned segs);

/* Goes on, ring full after ring full, until the used position is at least `pos`. */
void vqm_forward(struct vqm *m, uint64_t pos);

/* ---- model_driver.c ---- */
bool vqm_add(struct vqm *m, unsigned out, unsigned in);
void vqm_add_bad(struct vqm *m);
void vqm_add_bufs(struct vqm *m, unsigned n);
void vqm_publish(struct vqm *m);
void vqm_kick(struct vqm *m);
void vqm_reap(struct vqm *m, unsigned max);
void vqm_enable(struct vqm *m);
void vqm_enable_in_two(struct vqm *m);
void vqm_enable_delayed(struct vqm *m);
void vqm_disable(struct vqm *m);

/* ---- model_device.c ---- */
void vqm_take(struct vqm *m);
void vqm_put(struct vqm *m);
void vqm_interrupt(struct vqm *m);
void vqm_sleep(struct vqm *m, uint32_t want);
void vqm_wake(struct vqm *m);

#endif
