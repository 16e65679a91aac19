/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vnetrx-replay: a capture through the whole receive path.
 *
 *   IN --burst--> softdev --> rxq --deliver--> OUT, --meta
 *
 * Time is the capture's: a burst happens at the time of its last packet, and between bursts the clock stops at every
 * deadline of the queue.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "burst.h"
#include "counters.h"
#include "files.h"
#include "heap.h"
#include "options.h"
#include "report.h"
#include "softdev.h"
#include "vnetrx.h"

#define BUDGET       (1u << 30) /* a poll takes all there is */
#define SEGS_MAX     128u       /* the library's default gro_segs_max */
#define BUF_LEN_MAX  4096u      /* the library's default buf_len_max */
#define RUNS_PER_PKT 17u        /* a full packet of 128 buffers of 4096 bytes, in runs of 32768 */

struct replay {
	struct replay_options opts;
	struct heap_host   host;
	struct softdev    *dev;
	struct vnetrx_rxq *rxq;
	void              *mem;
	struct replay_files files;
	struct burst       burst;
	vnetrx_ns clock;
	vnetrx_ns last_ns;   /* of the packets read, never stepping back */
	uint64_t  read;      /* packets read                             */
	uint64_t  lost;      /* of these, too large for the whole ring   */
	uint64_t  delivered;
	bool      stepped;   /* the warning about time was given         */
	int         out_errno; /* why output failed; 0 = it did not      */
	const char *out_name;  /* and which                              */
};

static int complain(int code, const char *what, const char *why)
{
	fprintf(stderr, "vnetrx-replay: %s: %s\n", what, why);
	return code;
}

/* Notes the first output that failed. */
static void failed(struct replay *r, const char *name)
{
	if (r->out_errno != 0)
		return;
	r->out_errno = errno != 0 ? errno : EIO;
	r->out_name = name;
}

static void show(void *arg, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct replay *r = arg;
	unsigned i;

	for (i = 0u; i < n && r->out_errno == 0; i++) {
		r->delivered++;
		if (!pcap_out_write(r->files.out, pkts[i], r->clock))
			failed(r, r->opts.out);
		if (r->files.meta != NULL && !replay_meta(r->files.meta, r->delivered, pkts[i], r->clock))
			failed(r, r->opts.meta);
	}
}

/* The longest frame that the ring can hold, if it is shorter than the longest record. */
static uint32_t frame_len_max(const struct replay_options *opts)
{
	uint32_t buf = opts->buf_len_max != 0u ? opts->buf_len_max / 64u * 64u : BUF_LEN_MAX;
	uint64_t ring = (uint64_t)opts->ring * buf - REPLAY_HDR_LEN;

	return ring < PCAP_FRAME_MAX ? (uint32_t)ring : PCAP_FRAME_MAX;
}

/* Everything that GRO may hold at once has room, so that nothing is lost for want of a descriptor or a page. */
static struct vnetrx_rxq_config queue_config(struct replay *r)
{
	const struct replay_options *opts = &r->opts;
	uint32_t runs = opts->ring * 3u + opts->flows * RUNS_PER_PKT;
	struct vnetrx_rxq_config cfg = {
		.dev_ops = &softdev_ops,
		.host_ops = &heap_host_ops,
		.dev = r->dev,
		.host = &r->host,
		.hash_key = { opts->seed, 0x9e3779b97f4a7c15u },
		.ring_size = opts->ring,
		.frame_len_max = frame_len_max(opts),
		.buf_len_min = opts->buf_len_min,
		.buf_len_max = opts->buf_len_max,
		.hdr_len = REPLAY_HDR_LEN,
		.runs_max = runs < UINT16_MAX ? runs : UINT16_MAX,
		.pkts_max = opts->ring * 2u + (opts->flows + 1u) * SEGS_MAX,
		.gro_flows = opts->flows,
		.gro_flags = VNETRX_GRO_CSUM_BYTES,
		.gro_timeout_ns = opts->flush_timeout,
		.gro_hold_max_ns = opts->hold_max,
	};

	if (opts->no_gro)
		cfg.flags |= VNETRX_RXQ_GRO_OFF;
	if (opts->no_coalesce)
		cfg.flags |= VNETRX_RXQ_NO_COALESCE;
	if (opts->udp)
		cfg.gro_protos = VNETRX_GRO_TCP | VNETRX_GRO_UDP | VNETRX_GRO_TUNNEL;
	if (opts->udp_zero)
		cfg.gro_flags |= VNETRX_GRO_UDP_ZERO;
	if (opts->adaptive)
		cfg.gro_flags |= VNETRX_GRO_ADAPTIVE;
	if (opts->rfc6864)
		cfg.gro_flags |= VNETRX_GRO_RFC6864;
	return cfg;
}

static int open_queue(struct replay *r)
{
	const struct softdev_config dev_cfg = { .ring_size = r->opts.ring, .hdr_len = REPLAY_HDR_LEN };
	struct vnetrx_rxq_config cfg;
	const char *why = "";
	size_t size;
	int err;

	r->host.show = show;
	r->host.arg = r;
	r->dev = softdev_new(&dev_cfg);
	if (r->dev == NULL)
		return complain(REPLAY_EXIT_USAGE, "device", "out of memory");
	cfg = queue_config(r);
	size = vnetrx_rxq_footprint(&cfg, &why);
	if (size == 0u)
		return complain(REPLAY_EXIT_USAGE, "these options do not go together", why);
	r->mem = heap_memory(size);
	if (r->mem == NULL)
		return complain(REPLAY_EXIT_USAGE, "queue", "out of memory");
	err = vnetrx_rxq_init(&r->rxq, &cfg, r->mem, size);
	if (err != VNETRX_OK)
		return complain(REPLAY_EXIT_USAGE, "queue", vnetrx_strerror(err));
	vnetrx_rxq_fill(r->rxq);
	return 0;
}

static void poll_all(struct replay *r)
{
	while (softdev_waiting(r->dev) > 0u)
		if (vnetrx_rxq_poll(r->rxq, BUDGET, r->clock) == 0u)
			break;
}

static void send(struct replay *r, const void *data, uint32_t len)
{
	const struct vnetrx_meta meta = { .flags = r->opts.trust_csum ? VNETRX_PKT_CSUM_OK : 0u };

	if (!softdev_fits(r->dev, len))
		poll_all(r);
	if (softdev_send(r->dev, data, len, &meta) != 0)
		r->lost++;
}

/* Lets time go on to `ns`, stopping wherever the queue wants to be called. */
static void advance(struct replay *r, vnetrx_ns ns)
{
	vnetrx_ns due;

	while ((due = vnetrx_rxq_deadline(r->rxq)) < ns) {
		if (due > r->clock)
			r->clock = due;
		vnetrx_rxq_expire(r->rxq, BUDGET, r->clock);
		if (vnetrx_rxq_deadline(r->rxq) == due)
			break;
		if (ns == VNETRX_NEVER && vnetrx_rxq_state(r->rxq) != VNETRX_RXQ_RUNNING)
			break; /* no memory will come: nothing to wait for */
	}
	if (ns != VNETRX_NEVER && ns > r->clock)
		r->clock = ns;
}

static void end_of_burst(struct replay *r)
{
	poll_all(r);
	while (!vnetrx_rxq_complete(r->rxq, r->clock))
		poll_all(r);
}

static void run_burst(struct replay *r)
{
	size_t i;

	if (r->burst.num == 0u)
		return;
	advance(r, r->burst.frames[r->burst.num - 1u].ns);
	for (i = 0u; i < r->burst.num; i++)
		send(r, r->burst.bytes + r->burst.frames[i].at, r->burst.frames[i].len);
	end_of_burst(r);
	burst_clear(&r->burst);
}

/* The time of a packet, or of the one before it if that was later. */
static vnetrx_ns packet_time(struct replay *r, vnetrx_ns ns)
{
	if (ns >= r->last_ns) {
		r->last_ns = ns;
	} else if (!r->stepped) {
		r->stepped = true;
		fprintf(stderr, "vnetrx-replay: warning: time steps back at packet %" PRIu64
		        "; it counts as standing still\n", r->read);
	}
	return r->last_ns;
}

static int take_frame(struct replay *r, const struct pcap_frame *frame)
{
	vnetrx_ns ns;

	r->read++;
	ns = packet_time(r, frame->ns);
	if (r->read == 1u)
		r->clock = ns;
	if (r->opts.poll == 0u) {
		send(r, frame->data, frame->len);
		return 0;
	}
	if (!burst_add(&r->burst, frame->data, frame->len, ns))
		return complain(REPLAY_EXIT_INPUT, r->opts.in, "out of memory");
	if (r->burst.num == r->opts.poll)
		run_burst(r);
	return 0;
}

static int run(struct replay *r)
{
	struct pcap_frame frame;
	int code = 0;
	int got = 0;

	while (code == 0 && r->out_errno == 0 && (got = pcap_in_next(r->files.in, &frame)) == 1)
		code = take_frame(r, &frame);
	run_burst(r);
	end_of_burst(r);
	advance(r, VNETRX_NEVER);
	vnetrx_rxq_flush(r->rxq);
	return got < 0 ? REPLAY_EXIT_INPUT : code;
}

static void report(struct replay *r)
{
	struct vnetrx_rxq_stats stats;

	vnetrx_rxq_read_stats(r->rxq, &stats);
	pcap_in_warn(r->files.in, "vnetrx-replay", r->opts.in, r->read);
	if (r->lost > 0u)
		fprintf(stderr, "vnetrx-replay: warning: %" PRIu64 " of %" PRIu64
		        " packets are larger than the ring and are missing\n", r->lost, r->read);
	if (counters_drops(&stats.merge) > 0u)
		fprintf(stderr, "vnetrx-replay: warning: %" PRIu64 " of %" PRIu64
		        " packets were dropped; --stats says why\n", counters_drops(&stats.merge), r->read);
	if (r->opts.stats)
		counters_table(stdout, &stats, true);
	if (r->opts.json) {
		printf("{");
		counters_json(stdout, "", &stats);
		printf("}\n");
	}
	if (fflush(stdout) != 0)
		failed(r, "standard output");
}

/* Closes what is open; a write that fails only now counts too. */
static void close_files(struct replay *r)
{
	if (r->files.in != NULL)
		pcap_in_close(r->files.in);
	if (r->files.out != NULL && !pcap_out_close(r->files.out))
		failed(r, r->opts.out);
	if (r->files.meta != NULL && fclose(r->files.meta) != 0)
		failed(r, r->opts.meta);
}

static void close_queue(struct replay *r)
{
	if (r->rxq != NULL) {
		softdev_reset(r->dev);
		vnetrx_rxq_reclaim(r->rxq);
		if (vnetrx_rxq_fini(r->rxq) != VNETRX_OK || r->host.pages_out != 0u)
			fprintf(stderr, "vnetrx-replay: warning: the queue kept memory\n");
	}
	free(r->mem);
	if (r->dev != NULL)
		softdev_free(r->dev);
	burst_free(&r->burst);
}

int main(int argc, char **argv)
{
	static struct replay r;
	int code = replay_options_read(&r.opts, argc, argv);

	if (code >= 0)
		return code;
	code = open_queue(&r);
	if (code == 0)
		code = replay_files_open(&r.files, &r.opts);
	if (code == 0) {
		code = run(&r);
		report(&r);
	}
	close_files(&r);
	close_queue(&r);
	if (r.out_errno != 0)
		code = complain(REPLAY_EXIT_OUTPUT, r.out_name, strerror(r.out_errno));
	return code;
}
