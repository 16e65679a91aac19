/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of held packets: bounded, keyed, in age order.
 *
 * Sets of eight ways. A tag byte per way (0 = free) is compared first, all eight at once; a record's index is
 * set * 8 + way. Three and a half ways per held packet are there, so that sets rarely overflow; when one does, its
 * least recently joined packet is evicted. Beside the sets, lists run through the records:
 *
 *   seen[w]    waiting equally long, in order of the last join: the head is the next of them to be quiet for too long
 *   first      in order of the first segment: the head is the next to be held for too long
 *   bucket[b]  all with one hash of the address pair, and of the outer address pair: what a fragment must push out,
 * O(1)              per packet held
 */
#ifndef VNRX_FLOW_H
#define VNRX_FLOW_H

#include "vnetrx/pkt.h"

#include "dissect.h"

#define VNRX_WAYS         8u
#define VNRX_FLOWS_MAX    65536u
#define VNRX_FLOW_NONE    UINT32_MAX

/* Lists by waiting time: the first for a fixed one; with the adaptive timer the k-th waits 1024 << k ns. */
#define VNRX_WAITS        10u

/* How IPv4 ids of a held packet's segments go on: how many above the expected one may come too. */
#define VNRX_ID_SET  0u      /* none                                              */
#define VNRX_ID_OPEN 1u      /* 0 or 1 from the first one on: the second decides  */
#define VNRX_ID_ANY  0xffffu /* ids carry no meaning                              */

/* What goes on from header to header of an IPv4 level. */
struct vnrx_id {
	uint16_t next; /* lowest id that may come                                             */
	uint16_t more; /* VNRX_ID_*                                                           */
	uint16_t csum; /* folded sum of id and header checksum, equal for all full segments   */
	uint16_t step; /* from id to id, 0 or 1; with VNRX_ID_OPEN 0                          */
};

/* kind of a held packet; what is never held is no kind, so that the code for it falls away */
#define VNRX_KIND_IPV6       0x01u
#ifndef VNRX_TCP_ONLY
#define VNRX_KIND_UDP        0x02u
#define VNRX_KIND_TUNNEL     0x04u
#define VNRX_KIND_OUTER_IPV6 0x08u
#define VNRX_KIND_UDP_TUNNEL 0x10u
#define VNRX_KIND_PPPOE      0x20u
#else
#define VNRX_KIND_UDP        0u
#define VNRX_KIND_TUNNEL     0u
#define VNRX_KIND_OUTER_IPV6 0u
#define VNRX_KIND_UDP_TUNNEL 0u
#define VNRX_KIND_PPPOE      0u
#endif

/* A held packet: all that a join reads and writes, in one cache line. */
struct vnrx_flow {
	struct vnetrx_pkt *head;
	struct vnetrx_pkt *tail;      /* last link of head's chain                                          */
	uint8_t           *hdr;       /* the head's headers, to compare with: in its buffer, or a scratch   */
	uint32_t           next_seq;  /* sequence number that joins next; UDP: payload so far               */
	uint32_t           first_seq; /* of the first segment; UDP: 0                                       */
	uint32_t           fast_max;  /* the short way joins while seq - first_seq is not above this        */
	uint32_t           truesize;  /* of all joined packets                                              */
	uint32_t           tick;      /* gro->tick of the last join                                         */
	struct vnrx_id     id;        /* of the innermost IPv4 header                                       */
	uint16_t           len;       /* frame length of a full segment                                     */
	uint16_t           segs;
	uint16_t           hdr_len;   /* up to the payload                                                  */
	uint8_t            l3;
	uint8_t            l4;
	uint8_t            shape;     /* which mask fits the header, see shape.c; VNRX_SHAPE_NONE = none     */
	uint8_t            kind;      /* VNRX_KIND_*                                                        */
	uint8_t            scratch;   /* hdr is gro->scratch[this]; VNRX_SCRATCH_NONE = in the packet       */
	uint8_t            tag;       /* adaptive: the next 8 bits of the hash after those of the tag        */
};

_Static_assert(sizeof(struct vnrx_flow) <= VNRX_CACHE_LINE, "a join touches one line of the table");

/* A place in a bucket of address pairs. */
struct vnrx_hook {
	uint32_t prev; /* above the sentinels: first of bucket prev - sentinel - VNRX_WAITS; VNRX_FLOW_NONE: in none */
	uint32_t next;
};

#define VNRX_PAIR  0u /* by the innermost address pair                    */
#define VNRX_OUTER 1u /* by the outer one; only packets in a tunnel       */

/* A record's places in the lists, touched at most once per call and flow; and what only tunnels need. */
struct vnrx_links {
	vnetrx_ns first;     /* when the first segment was seen */
	vnetrx_ns seen;      /* when the last one was           */
	uint32_t  seen_prev, seen_next;
	uint32_t  first_prev, first_next;
	struct vnrx_hook hook[2]; /* VNRX_PAIR, VNRX_OUTER */
	struct vnrx_id outer_id;
	uint8_t   outer_l3;
	uint8_t   outer_l4;
	uint8_t   wait;      /* which of the seen lists */
	/* for the adaptive timer, see wait.c */
	uint8_t   late;      /* how far after `seen` the last segment may have come: VNRX_LATE_UNIT       */
	uint16_t  span;      /* what was known of the flow before: a span of time, VNRX_GAP_UNIT          */
	int16_t   gaps;      /* and the gaps in it; from the first touch on + 1, less the segments before */
};

_Static_assert(sizeof(struct vnrx_links) <= VNRX_CACHE_LINE, "nor does an insert touch more of it than two");

/* Where a frame's hash points. */
struct vnrx_place {
	uint32_t hash;
	uint32_t set;
};

struct vnrx_flows {
	uint64_t          *tags;  /* one word per set, a byte per way: 0x80 | 7 bits of the hash, 0 = free */
	struct vnrx_flow  *flow;  /* sets * 8                                                              */
	struct vnrx_links *links; /* sets * 8 and VNRX_WAITS sentinels behind them                         */
	uint32_t          *bucket[2]; /* VNRX_PAIR, VNRX_OUTER: first slots, VNRX_FLOW_NONE = empty        */
	uint32_t           sets;
	uint32_t           pairs;
	uint32_t           sentinel; /* index of the first sentinel = sets * 8                             */
	uint32_t           held;
	uint32_t           held_max;
	uint32_t           key[20];  /* see flow.c                                                         */
	uint64_t           mix[3];
};

/*@ predicate vnrx_flows_memory{L}(struct vnrx_flows *t) =
      \valid(t) && 1 <= t->sets <= VNRX_FLOWS_MAX && 1 <= t->pairs <= VNRX_FLOWS_MAX &&
      t->sentinel == t->sets * VNRX_WAYS &&
      \valid(t->tags + (0 .. t->sets - 1)) && \valid(t->links + (0 .. t->sentinel + VNRX_WAITS - 1)) &&
      \valid(t->bucket[0] + (0 .. t->pairs - 1)) && \valid(t->bucket[1] + (0 .. t->pairs - 1)) &&
      \separated(t, t->tags + (0 .. t->sets - 1), t->links + (0 .. t->sentinel + VNRX_WAITS - 1)) &&
      \separated(t, t->bucket[0] + (0 .. t->pairs - 1), t->bucket[1] + (0 .. t->pairs - 1)) &&
      \separated(t->bucket[0] + (0 .. t->pairs - 1), t->links + (0 .. t->sentinel + VNRX_WAITS - 1)) &&
      \separated(t->bucket[1] + (0 .. t->pairs - 1), t->links + (0 .. t->sentinel + VNRX_WAITS - 1));

    // Lists lead to records and sentinels only.
    predicate vnrx_flows_lists{L}(struct vnrx_flows *t) =
      \forall integer s; 0 <= s < t->sentinel + VNRX_WAITS ==>
        t->links[s].seen_prev < t->sentinel + VNRX_WAITS && t->links[s].seen_next < t->sentinel + VNRX_WAITS &&
        t->links[s].first_prev < t->sentinel + VNRX_WAITS && t->links[s].first_next < t->sentinel + VNRX_WAITS;

    predicate vnrx_hook_ok{L}(struct vnrx_flows *t, struct vnrx_hook *hook) =
      (hook->next == VNRX_FLOW_NONE || hook->next < t->sentinel) &&
      (hook->prev == VNRX_FLOW_NONE || hook->prev < t->sentinel ||
       t->sentinel + VNRX_WAITS <= hook->prev < t->sentinel + VNRX_WAITS + t->pairs);

    predicate vnrx_flows_buckets{L}(struct vnrx_flows *t) =
      (\forall integer b; 0 <= b < t->pairs ==>
        (t->bucket[0][b] == VNRX_FLOW_NONE || t->bucket[0][b] < t->sentinel) &&
        (t->bucket[1][b] == VNRX_FLOW_NONE || t->bucket[1][b] < t->sentinel)) &&
      \forall integer s; 0 <= s < t->sentinel ==>
        vnrx_hook_ok(t, &t->links[s].hook[0]) && vnrx_hook_ok(t, &t->links[s].hook[1]);
*/

/* Where a packet belongs. */
struct vnrx_hash {
	uint32_t flow;
	uint32_t pair;  /* bucket of its address pair                         */
	uint32_t outer; /* bucket of its outer address pair; with a tunnel    */
};

/* Where a flow's hash points. */
/*@ requires \valid_read(t) && t->sets >= 1;
    assigns \nothing;
    ensures \result < t->sets;
*/
static VNRX_INLINE uint32_t vnrx_hash_set(const struct vnrx_flows *t, uint32_t hash)
{
	return (uint32_t)((uint64_t)hash * t->sets / 4294967296u);
}

/*@ assigns \nothing;
    ensures 128 <= \result <= 255;
*/
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

static VNRX_INLINE uint64_t vnrx_nh_ipv6(const uint8_t *a, const uint32_t *key)
{
	return vnrx_nh(vnrx_load32(a), vnrx_load32(a + 4), key) +
	       vnrx_nh(vnrx_load32(a + 8), vnrx_load32(a + 12), key + 2) +
	       vnrx_nh(vnrx_load32(a + 16), vnrx_load32(a + 20), key + 4) +
	       vnrx_nh(vnrx_load32(a + 24), vnrx_load32(a + 28), key + 6);
}

/* Words of the key: 0 and 1 for ports and protocol, 2 to 9 for the innermost addresses, 12 to 19 for outer ones. IPv4
 * addresses use the first two of their words. */
static VNRX_INLINE uint64_t vnrx_hash_addrs(const struct vnrx_flows *t, const uint8_t *l3, unsigned version,
                                            unsigned word)
{
	const uint8_t *a = l3 + VNRX_IPV4_SRC;

	if (version == 4u)
		return vnrx_nh(vnrx_load32(a), vnrx_load32(a + 4), t->key + word);
	return vnrx_nh_ipv6(l3 + VNRX_IPV6_SRC, t->key + word);
}

#define VNRX_KEY_INNER 2u
#define VNRX_KEY_OUTER 12u

static VNRX_INLINE uint32_t vnrx_hash_flow(const struct vnrx_flows *t, uint64_t addrs, uint32_t ports, uint32_t proto)
{
	uint64_t sum = (addrs + vnrx_nh(ports, proto, t->key)) * t->mix[0];

	return (uint32_t)((sum ^ sum / 4294967296u) * t->mix[2] / 4294967296u);
}

static VNRX_INLINE uint32_t vnrx_hash_pair(const struct vnrx_flows *t, uint64_t addrs)
{
	return (uint32_t)((addrs * t->mix[1] / 4294967296u) * t->pairs / 4294967296u);
}

/* Sets for so many held packets: three and a half ways for each. */
/*@ requires held_max <= VNRX_FLOWS_MAX;
    assigns \nothing;
    ensures 1 <= \result <= VNRX_FLOWS_MAX;
*/
static inline uint32_t vnrx_flows_sets(uint32_t held_max)
{
	return held_max * 7u / 16u + 1u;
}

/* Bytes of the table for so many held packets, and its set-up in them. */
struct vnrx_mem;
void vnrx_flows_init(struct vnrx_flows *t, struct vnrx_mem *mem, uint32_t held_max, const uint64_t key[2]);

/* All hashes of a dissected packet (reach ADDRS or PORTS). For a packet whose addresses are not those of a tunnel's
 * inside,
 * outer is the bucket that its own addresses would have as outer ones: tunnels between them are pushed out with it. */
void vnrx_flows_hash(const struct vnrx_flows *t, const uint8_t *hdr, const struct vnrx_dissect *d, struct vnrx_hash *h);

/* The slot that holds the flow of a dissected packet (reach PORTS); VNRX_FLOW_NONE = none. */
uint32_t vnrx_flows_find(const struct vnrx_flows *t, const uint8_t *hdr, const struct vnrx_dissect *d, uint32_t hash);

/* A free slot in the set of a hash, or the least recently joined one of the set, which the caller must empty first. */
/*@ requires vnrx_flows_memory(t) && \valid(taken);
    requires \separated(taken, t, t->links + (0 .. t->sentinel + VNRX_WAITS - 1));
    assigns *taken;
    ensures \result < t->sentinel;
*/
uint32_t vnrx_flows_place(const struct vnrx_flows *t, uint32_t hash, bool *taken);

/* The tag of a slot: 0x80 and the lowest 7 bits of its hash. */
/*@ requires vnrx_flows_memory(t) && slot < t->sentinel;
    assigns \nothing;
*/
uint32_t vnrx_flows_tag(const struct vnrx_flows *t, uint32_t slot);

/* The slot of seen[wait] that was joined longest ago; a sentinel (>= t->sentinel) = none. */
static inline uint32_t vnrx_flows_quietest(const struct vnrx_flows *t, unsigned wait)
{
	return t->links[t->sentinel + wait].seen_next;
}

/* The slot whose first segment is oldest; the sentinel = none. */
static inline uint32_t vnrx_flows_oldest(const struct vnrx_flows *t)
{
	return t->links[t->sentinel].first_next;
}

/* Walks everything; for tests and VNRX_CHECK. */
bool vnrx_flows_valid(const struct vnrx_flows *t);

#endif
