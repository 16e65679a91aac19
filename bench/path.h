/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receive path with packets of any length, over buffers of any length, without GRO, or with packets of some flows
 * and with it: a device that is two arrays and writes headers only, and a host that looks at packets as it likes and
 * frees them.
 *
 *   path_write: device fills buffers --> path_poll: reap, merge, deliver, walk, free, refill
 */
#ifndef PATH_H
#define PATH_H

#include "arena.h"
#include "traffic.h"
#include "vnetrx/rxq.h"

#define PATH_HDR      12u   /* bytes of a virtio-net header       */
#define PATH_RING     512u  /* the default                        */
#define PATH_RING_MAX 4096u
#define PATH_PKTS     64u   /* most packets of a poll             */
#define PATH_BYTES    524288u /* most bytes of a poll             */
#define PATH_KEPT_MAX 256u
#define PATH_RUN      ARENA_RUN
#define PATH_GOT      2048u

struct bench;

struct path_config { /* zero = the queue's default */
	uint32_t buf_len_min;
	uint32_t buf_len_max;
	uint32_t buf_cost;
	uint16_t copy_len_max;
	uint32_t flags;      /* VNETRX_RXQ_*                                             */
	uint32_t ring;       /* 2^n, 64..PATH_RING_MAX; default PATH_RING                        */
	uint32_t flows;      /* of trains of 44 packets of TRAFFIC_FRAME bytes, GRO on; 0 = GRO off */
	struct arena *arena; /* one for each thread; NULL = one for all others                   */
	uint32_t keep_every; /* the host keeps every so-many-th packet, 0 = none         */
	uint32_t placement;  /* order of the arena's runs, when no other path has any; 0 = as they are   */
};

struct path_host { /* and what it saw */
	struct arena      *arena;
	uint32_t           runs;  /* at the queue now */
	struct vnetrx_pkt *got[PATH_GOT];
	uint32_t           ngot;
	struct vnetrx_pkt *kept[PATH_KEPT_MAX];
	uint32_t           nkept;
	uint32_t           keep_every;
	uint64_t           pkts;
	uint64_t           bytes;
	uint64_t           bufs;
	uint64_t           frags;
	uint64_t           truesize;
};

struct path {
	struct bench      *b;
	struct vnetrx_rxq *rxq;
	void              *mem;
	size_t             mem_size;
	vnetrx_ns          now;
	struct vnetrx_buf  bufs[2u * PATH_RING_MAX];
	uint32_t           lens[2u * PATH_RING_MAX]; /* what the device wrote into each */
	uint32_t           mask;
	uint32_t           posted;
	uint32_t           written;
	uint32_t           reaped;
	struct traffic     traffic;
	bool               gro;
	struct path_host   host;
};

void path_open(struct path *p, struct bench *b, const struct path_config *cfg);
void path_close(struct path *p);

/* The device receives a packet of `len` bytes; only its first bytes are written. */
void path_write(struct path *p, uint32_t len);

/* Takes everything the device has and lets the host see it; packets stay in host.got until path_free(). */
void path_poll(struct path *p);
void path_free(struct path *p);

/* Frees what the host kept. */
void path_release(struct path *p);

/* Bytes of page runs that the queue owns now. */
size_t path_pages(const struct path *p);

/* The counts of what the host saw begin anew. */
void path_count_anew(struct path *p);

/* Reads memory of several times the second-level cache, so that nothing else is in it. */
void path_evict(struct bench *b);

#endif
