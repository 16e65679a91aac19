/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of every stage. All are uint64_t; "now" marks a level, all others only rise.
 *
 * Each list below is the one place where a counter is named and explained; the structs, the names and the texts that
 * tools print are made from it.
 */
#ifndef VNETRX_STATS_H
#define VNETRX_STATS_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VNETRX_POOL_STATS(X) \
	X(runs,         "page runs owned, now") \
	X(run_bytes,    "bytes of page runs owned, now") \
	X(pinned_bytes, "bytes of runs of which a packet in the engine or at the host keeps a part, now") \
	X(bufs_lent,    "buffers carved and lent out, now (device, or about to be posted)") \
	X(bufs_recycled, "buffers carved and waiting to be lent again, now") \
	X(pkts_used,    "packet descriptors in use, now") \
	X(run_allocs,   "runs the host gave") \
	X(run_frees,    "runs given back to the host") \
	X(run_fails,    "times no run was to be had: the host had none, or runs_max are owned") \
	X(carved,       "buffers cut from runs") \
	X(carved_bytes, "bytes of these, holes included") \
	X(claimed,      "buffers that became fragments of packets") \
	X(put_back,     "buffers that came back unused or after a drop or a copy") \
	X(copies,       "packets moved to small buffers (copy-break)") \
	X(copy_fails,   "packets that would have been moved, but no run was to be had") \
	X(frags_freed,  "fragments freed on the queue's thread") \
	X(pkts_remote,  "packets freed from other threads")

#define VNETRX_MERGE_STATS(X) \
	X(pkts,           "packets assembled") \
	X(bytes,          "bytes of these, device headers left out") \
	X(bufs,           "buffers that carried them") \
	X(frags,          "fragments they consist of") \
	X(joined_bufs,    "buffers that the coalescer made part of the fragment before") \
	X(not_full,       "buffers that were not full though the packet went on (accepted)") \
	X(drop_bad_id,    "completions with an id that was not out (ignored)") \
	X(drop_error,     "packets dropped: the device reported a buffer as failed (len 0)") \
	X(drop_short,     "packets dropped: shorter than device header and Ethernet header") \
	X(drop_long,      "packets dropped: more written than was posted") \
	X(drop_nbufs,     "packets dropped: buffer count out of range") \
	X(drop_missing,   "packets dropped: buffers announced that never came") \
	X(drop_decode,    "packets dropped: the driver refused the device header") \
	X(drop_meta,      "packets dropped: what the header says does not fit the packet") \
	X(drop_frame_long, "packets dropped: longer than frame_len_max") \
	X(drop_no_pkt,    "packets dropped: no packet descriptor free") \
	X(drained,        "buffers recycled because their packet was dropped")

#define VNETRX_GRO_STATS(X) \
	X(pkts,            "packets received") \
	X(held,            "packets held, now") \
	X(held_new,        "packets that opened a held packet") \
	X(joined,          "packets that joined a held packet") \
	X(passed,          "packets that were never held") \
	X(out,             "packets given out, merged or not") \
	X(pass_off,        "passed: GRO is off for its protocol") \
	X(pass_gso,        "passed: already merged by the device") \
	X(pass_not_ip,     "passed: not IPv4 or IPv6, or more than two VLAN tags") \
	X(pass_cut,        "passed: headers or IP length beyond the packet") \
	X(pass_ip_options, "passed: IPv4 options") \
	X(pass_ip_csum,    "passed: wrong IPv4 header checksum") \
	X(pass_fragment,   "passed: IP fragment, or IPv4 reserved flag") \
	X(pass_ext,        "passed: IPv6 extension header that ends the walk") \
	X(pass_proto,      "passed: a protocol that never joins") \
	X(pass_flags,      "passed: TCP SYN, RST, URG, no ACK, or PSH or FIN on a packet that starts anew") \
	X(pass_empty,      "passed: no payload (pure ACK)") \
	X(pass_l4_csum,    "passed: wrong or uncheckable layer 4 checksum") \
	X(pass_hdr_len,    "passed: headers longer than can be compared, or not in one piece") \
	X(pass_trailer,    "passed: bytes after the IP packet that are no Ethernet padding") \
	X(pass_big,        "passed: alone as large as a merged packet may be") \
	X(pass_small,      "passed: less payload than is worth holding") \
	X(pass_tunnel,     "passed: a tunnel header that is not understood, or a tunnel in a tunnel") \
	X(left_push,       "held packets closed by PSH or FIN") \
	X(left_short,      "held packets closed by a short segment") \
	X(left_full,       "held packets closed at gro_bytes_max or gro_segs_max") \
	X(left_next,       "held packets closed because the next of the flow differs") \
	X(left_order,      "held packets pushed out so that a passed packet does not overtake them") \
	X(left_evicted,    "held packets evicted for another flow") \
	X(left_timeout,    "held packets that had been quiet for gro_timeout_ns") \
	X(left_hold,       "held packets that reached gro_hold_max_ns") \
	X(left_flush,      "held packets flushed") \
	X(differ_seq,      "of left_next: sequence number not the next one") \
	X(differ_ack,      "of left_next: acknowledgement number") \
	X(differ_flags,    "of left_next: TCP flags or window") \
	X(differ_options,  "of left_next: TCP options or extension headers") \
	X(differ_size,     "of left_next: larger than the first segment") \
	X(differ_ip,       "of left_next: TTL, TOS, class, flow label or DF") \
	X(differ_id,       "of left_next: IPv4 id neither equal nor the next one") \
	X(differ_l2,       "of left_next: MAC addresses, VLAN tags or stripped tag") \
	X(differ_meta,     "of left_next: mark or checksum state") \
	X(differ_tunnel,   "of left_next: tunnel header, VNI, key or outer checksum")

#define VNETRX_QUEUE_STATS(X) \
	X(polls,          "calls of poll and expire") \
	X(completions,    "completions reaped") \
	X(posted,         "buffers the device took") \
	X(kicks,          "doorbells rung") \
	X(delivered,      "packets the host took") \
	X(delivered_segs, "segments in them") \
	X(delivered_bytes, "bytes in them") \
	X(waiting,        "packets the host has not taken yet, now") \
	X(early_dropped,  "packets dropped by the host before GRO") \
	X(early_taken,    "packets kept by the host before GRO") \
	X(stalls,         "times the host took less than was offered") \
	X(starved,        "times reaping stopped because no packet descriptor was free") \
	X(short_refills,  "refills that left the ring short") \
	X(reclaimed,      "buffers taken back from the device by reclaim") \
	X(broken,         "times the device reported itself broken")

#define VNETRX_TXQ_STATS(X) \
	X(pkts,       "packets taken") \
	X(bytes,      "bytes of these, device headers left out") \
	X(slots,      "slots of the ring that they took") \
	X(csum_pkts,  "packets whose checksum the device completes") \
	X(gso_pkts,   "packets that the device cuts") \
	X(hdr_joined, "packets whose device header lay before their data, in one descriptor") \
	X(out,        "packets at the device, now") \
	X(done,       "packets given back, the lost ones included") \
	X(lost,       "packets given back by reset") \
	X(reaps,      "batches in which packets were given back") \
	X(busy,       "packets refused for want of room") \
	X(wrong,      "packets refused: malformed, or asking for what the device does not offer") \
	X(resumes,    "times there was room again after that") \
	X(batches,    "batches ended by kick") \
	X(doorbells,  "doorbells rung") \
	X(polls,      "calls of poll") \
	X(arms,       "interrupts asked for") \
	X(broken,     "times the device broke the ring")

#define VNETRX_STAT_FIELD(name, text) uint64_t name;

struct vnetrx_pool_stats {
	VNETRX_POOL_STATS(VNETRX_STAT_FIELD)
};

struct vnetrx_merge_stats {
	VNETRX_MERGE_STATS(VNETRX_STAT_FIELD)
};

struct vnetrx_gro_stats {
	VNETRX_GRO_STATS(VNETRX_STAT_FIELD)
};

struct vnetrx_queue_stats {
	VNETRX_QUEUE_STATS(VNETRX_STAT_FIELD)
};

/* All of a receive queue; uint64_t and nothing else, so it can be walked as an array beside vnetrx_stats_name(). */
struct vnetrx_rxq_stats {
	struct vnetrx_queue_stats queue;
	struct vnetrx_pool_stats  pool;
	struct vnetrx_merge_stats merge;
	struct vnetrx_gro_stats   gro;
};

/* A transmit queue. */
struct vnetrx_txq_stats {
	VNETRX_TXQ_STATS(VNETRX_STAT_FIELD)
};

/* The number of counters in struct vnetrx_rxq_stats. */
#define VNETRX_STATS_NUM (sizeof(struct vnetrx_rxq_stats) / sizeof(uint64_t))

/* "stage.name" of the i-th counter of struct vnetrx_rxq_stats; NULL past the end. */
const char *vnetrx_stats_name(unsigned i);

/* What it counts; NULL past the end. */
const char *vnetrx_stats_text(unsigned i);

/* The number of counters in struct vnetrx_txq_stats. */
#define VNETRX_TXQ_STATS_NUM (sizeof(struct vnetrx_txq_stats) / sizeof(uint64_t))

/* "tx.name" of the i-th counter of struct vnetrx_txq_stats; NULL past the end. */
const char *vnetrx_txq_stats_name(unsigned i);

/* What it counts; NULL past the end. */
const char *vnetrx_txq_stats_text(unsigned i);

#ifdef __cplusplus
}
#endif

#endif
