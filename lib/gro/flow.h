/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of held packets: bounded, keyed, in age order.
 *
 * Sets of eight ways. A tag byte per way (0 = free) is compared first, all eight at once; a record's index is
 * set * 8 + way. Four ways per held packet are there, so that sets rarely overflow; when one does, its least recently
 * joined packet is evicted. Beside the sets three lists run through the records:
 *
 *   by_seen    in order of the last join: its head is the next to be quiet for too long
 *   by_first   in order of the first segment: its head is the next to be held for too long
 *   pair[b]    all with one hash of the address pair: what a fragment must push out, O(1) per packet held
 */
#ifndef VNRX_FLOW_H
#define VNRX_FLOW_H

#include "vnetrx/pkt.h"

#include "dissect.h"

#define VNRX_WAYS         8u
#define VNRX_FLOWS_MAX    65536u
#define VNRX_FLOW_NONE    UINT32_MAX

/* How IPv4 ids of a held packet's segments go on: the distance to the one before. */
#define VNRX_ID_OPEN 1u    /* 0 or 1: the second segment decides */
#define VNRX_ID_SET  0u    /* exactly id_step                    */
#define VNRX_ID_ANY  0xffu /* ids carry no meaning               */

/* A held packet: all that a join reads and writes, in one cache line. */
struct vnrx_flow {
	struct vnetrx_pkt *head;
	struct vnetrx_pkt *tail;      /* last link of head's chain                                          */
	const uint8_t     *hdr;       /* head's first byte: the header that others are compared with        */
	uint32_t           next_seq;  /* sequence number that joins next                                    */
	uint32_t           first_seq;
	uint32_t           fast_max;  /* a full segment joins on the short way while seq - first_seq is not above this */
	uint32_t           truesize;  /* of all joined packets                                              */
	uint32_t           len;       /* frame length of the first segment, padding left out                */
	uint32_t           tick;      /* gro->tick of the last join                                         */
	uint16_t           segs;
	uint16_t           hdr_len;   /* up to the payload                                                  */
	uint16_t           last_id;   /* IPv4 id of the last segment                                        */
	uint16_t           id_csum;   /* IPv4: folded sum of id and header checksum, equal for all segments */
	uint8_t            id_step;   /* with VNRX_ID_SET: 0 or 1; VNRX_ID_OPEN: 0                          */
	uint8_t            id_mode;   /* VNRX_ID_*                                                          */
	uint8_t            l3;
	uint8_t            l4;
	uint8_t            version;   /* 4 or 6                                                             */
	uint8_t            shape;     /* which mask fits the header: see gro_tcp.c; VNRX_SHAPE_NONE = none   */
	uint16_t           rsvd;
};

_Static_assert(sizeof(struct vnrx_flow) <= VNRX_CACHE_LINE, "a join touches one line of the table");

/* A record's places in the lists, touched at most once per call and flow. */
struct vnrx_links {
	vnetrx_ns first;     /* when the first segment was seen */
	vnetrx_ns seen;      /* when the last one was           */
	uint32_t  seen_prev, seen_next;
	uint32_t  first_prev, first_next;
	uint32_t  pair_prev, pair_next; /* pair_prev above the sentinel: head of bucket pair_prev - sentinel - 1 */
};

struct vnrx_flows {
	uint64_t          *tags;  /* one word per set, a byte per way: 0x80 | 7 bits of the hash, 0 = free */
	struct vnrx_flow  *flow;  /* sets * 8                                                              */
	struct vnrx_links *links; /* sets * 8 and a sentinel behind them                                   */
	uint32_t          *pair;  /* bucket heads, VNRX_FLOW_NONE = empty                                  */
	uint32_t           sets;
	uint32_t           pairs;
	uint32_t           sentinel; /* index of the sentinel = sets * 8                                   */
	uint32_t           held;
	uint32_t           held_max;
	uint32_t           key[12];  /* see flow.c                                                         */
	uint64_t           mix[2];
};

/* Hash of a packet's flow and of its address pair. */
struct vnrx_hash {
	uint32_t flow;
	uint32_t pair;
};

/* For a keyed byte: where a flow's hash points. */
static VNRX_INLINE uint32_t vnrx_hash_set(const struct vnrx_flows *t, uint32_t hash)
{
	return (uint32_t)((uint64_t)hash * t->sets / 4294967296u);
}

static VNRX_INLINE uint64_t vnrx_hash_tag(uint32_t hash)
{
	return hash % 128u + 128u;
}

#define VNRX_TAG_ONES 0x0101010101010101u
#define VNRX_TAG_TOPS 0x8080808080808080u

/* Ways of a set whose tag is `tag`: the top bit of their bytes. Above a true match there may be false ones. */
static VNRX_INLINE uint64_t vnrx_tag_match(uint64_t tags, uint64_t tag)
{
	uint64_t x = tags ^ tag * VNRX_TAG_ONES;

	return (x - VNRX_TAG_ONES) & ~x & VNRX_TAG_TOPS;
}

/* Near-universal (NH) product sums over 32-bit words: see flow.c. */
static VNRX_INLINE uint64_t vnrx_nh(uint32_t a, uint32_t b, const uint32_t *key)
{
	return (uint64_t)(uint32_t)(a + key[0]) * (uint32_t)(b + key[1]);
}

static VNRX_INLINE uint64_t vnrx_hash_addrs(const struct vnrx_flows *t, const uint8_t *l3, unsigned version)
{
	const uint8_t *a;

	if (version == 4u) {
		a = l3 + VNRX_IPV4_SRC;
		return vnrx_nh(vnrx_load32(a), vnrx_load32(a + 4), t->key + 2);
	}
	a = l3 + VNRX_IPV6_SRC;
	return vnrx_nh(vnrx_load32(a), vnrx_load32(a + 4), t->key + 4) +
	       vnrx_nh(vnrx_load32(a + 8), vnrx_load32(a + 12), t->key + 6) +
	       vnrx_nh(vnrx_load32(a + 16), vnrx_load32(a + 20), t->key + 8) +
	       vnrx_nh(vnrx_load32(a + 24), vnrx_load32(a + 28), t->key + 10);
}

static VNRX_INLINE uint32_t vnrx_hash_flow(const struct vnrx_flows *t, uint64_t addrs, uint32_t ports, uint32_t proto)
{
	uint64_t sum = addrs + vnrx_nh(ports, proto, t->key);

	return (uint32_t)(sum * t->mix[0] / 4294967296u);
}

static VNRX_INLINE uint32_t vnrx_hash_pair(const struct vnrx_flows *t, uint64_t addrs)
{
	return (uint32_t)((addrs * t->mix[1] / 4294967296u) * t->pairs / 4294967296u);
}

/* Bytes of the table for so many held packets, and its set-up in them. */
struct vnrx_mem;
void vnrx_flows_init(struct vnrx_flows *t, struct vnrx_mem *mem, uint32_t held_max, const uint64_t key[2]);

/* The slot that holds the flow of a dissected packet (reach PORTS); VNRX_FLOW_NONE = none. */
uint32_t vnrx_flows_find(const struct vnrx_flows *t, const uint8_t *hdr, const struct vnrx_dissect *d, uint32_t hash);

/* A free slot in the set of a hash, or the least recently joined one of the set, which the caller must empty first. */
uint32_t vnrx_flows_place(const struct vnrx_flows *t, uint32_t hash, bool *taken);

/* Enters slot, whose record the caller fills, at the young end of the lists. */
void vnrx_flows_add(struct vnrx_flows *t, uint32_t slot, uint32_t hash, uint32_t pair, vnetrx_ns now);

/* Takes slot out of the table. */
void vnrx_flows_del(struct vnrx_flows *t, uint32_t slot);

/* Takes all slots out. */
void vnrx_flows_clear(struct vnrx_flows *t);

/* Slot was joined at `now`: it becomes the youngest of by_seen. */
void vnrx_flows_touch(struct vnrx_flows *t, uint32_t slot, vnetrx_ns now);

/* Oldest slots; the sentinel = none. */
static inline uint32_t vnrx_flows_quietest(const struct vnrx_flows *t)
{
	return t->links[t->sentinel].seen_next;
}

static inline uint32_t vnrx_flows_oldest(const struct vnrx_flows *t)
{
	return t->links[t->sentinel].first_next;
}

/* Walks everything; for tests and VNRX_CHECK. */
bool vnrx_flows_valid(const struct vnrx_flows *t);

#endif
