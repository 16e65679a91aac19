/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "counters.h"

#define BUDGET     64u
#define TAP_RING   256u
#define XDP_RING   2048u
#define NOBUFS_NS  SECOND_NS /* no memory for any packet for so long: the lane gives up */

/* ---- out ---- */

static void dropped(struct lane *lane, const struct vnetrx_pkt *pkt, int err)
{
	lane->count.dropped_bytes += pkt->len;
	switch (err) {
	case -EAGAIN:
		lane->count.drop_end++;
		return;
	case -EMSGSIZE:
		lane->count.drop_unsaid++;
		return;
	case -ENOBUFS:
	case -ENOMEM:
		lane->count.drop_nobufs++;
		if (lane->nobufs_from == 0u)
			lane->nobufs_from = lane->now;
		else if (lane->now - lane->nobufs_from >= NOBUFS_NS)
			lane->err = err;
		return;
	case -EINVAL:
		lane->count.drop_refused++;
		return;
	default:
		lane->count.drop_gone++;
		lane->err = err;
	}
}

static unsigned deliver(void *host, struct vnetrx_pkt *const *pkts, unsigned n)
{
	struct lane *lane = host;
	unsigned i;

	for (i = 0u; i < n; i++) {
		int err = lane->out.write(lane->out.dev, pkts[i]);

		if (err == -EAGAIN && !lane->ending) {
			lane->blocked = true;
			lane->count.blocks++;
			break;
		}
		if (err != 0) {
			dropped(lane, pkts[i], err);
			continue;
		}
		lane->nobufs_from = 0u;
		lane->count.written++;
		lane->count.written_bytes += pkts[i]->len;
	}
	vnetrx_pkt_free(pkts, i);
	return i;
}

/* ---- in ---- */

vnetrx_ns lane_turn(struct lane *lane, vnetrx_ns now)
{
	struct vnetrx_rxq *rxq = lane->rxq;
	unsigned took;

	lane->blocked = false;
	lane->now = now;
	if (vnetrx_rxq_deadline(rxq) <= now)
		took = vnetrx_rxq_expire(rxq, BUDGET, now);
	else
		took = vnetrx_rxq_poll(rxq, BUDGET, now);
	now = clock_now();
	lane->ready = took == BUDGET || !vnetrx_rxq_complete(rxq, now);
	if (lane->blocked)
		lane->ready = false;
	if (vnetrx_rxq_state(rxq) == VNETRX_RXQ_BROKEN && lane->err == 0) {
		lane->err = -EIO;
		lane->in_broken = true;
		lane->ready = false;
	}
	return now;
}

/* ---- life ---- */

/* What depends on the driver. A TAP has a queue of its own in the kernel; what comes by AF_XDP and finds no buffer is
 * lost. */
static void config_for(struct vnetrx_rxq_config *cfg, const struct port_queue *in)
{
	if (cfg->ring_size == 0u)
		cfg->ring_size = in->region != NULL ? XDP_RING : TAP_RING;
	cfg->dev_ops = in->ops;
	cfg->dev = in->dev;
	cfg->hdr_len = (uint16_t)in->hdr_len;
	cfg->frame_len_max = in->frame_len_max;
	if (in->buf_len != 0u) {
		cfg->buf_len_min = in->buf_len;
		cfg->buf_len_max = in->buf_len;
		cfg->buf_align = (uint16_t)in->buf_len;
	}
}

bool lane_new(struct lane *lane, const struct vnetrx_rxq_config *config, struct port_queue in, struct port_queue out)
{
	struct vnetrx_host_ops host_ops = in.region != NULL ? region_host_ops() : heap_host_ops;
	struct vnetrx_rxq_config cfg = *config;
	const char *why = NULL;
	size_t size;

	host_ops.deliver = deliver;
	host_ops.timer_set = NULL; /* deadlines are asked for */
	*lane = (struct lane){ .host = { .region = in.region }, .in = in, .out = out, .ready = true };
	config_for(&cfg, &in);
	cfg.host_ops = &host_ops;
	cfg.host = lane;
	size = vnetrx_rxq_footprint(&cfg, &why);
	lane->mem = size != 0u ? heap_memory(size) : NULL;
	if (lane->mem == NULL || vnetrx_rxq_init(&lane->rxq, &cfg, lane->mem, size) != VNETRX_OK) {
		fprintf(stderr, "vnetrx-box: queue: %s\n", why != NULL ? why : "out of memory");
		free(lane->mem);
		lane->mem = NULL;
		return false;
	}
	(void)vnetrx_rxq_fill(lane->rxq);
	return true;
}

void lane_flush(struct lane *lane)
{
	lane->ending = true;
	vnetrx_rxq_flush(lane->rxq);
}

void lane_end(struct lane *lane)
{
	lane->in.reset(lane->in.dev);
	(void)vnetrx_rxq_reclaim(lane->rxq);
}

bool lane_delete(struct lane *lane)
{
	bool ok = lane->mem == NULL || vnetrx_rxq_fini(lane->rxq) == VNETRX_OK;

	free(lane->mem);
	lane->mem = NULL;
	return ok && lane->host.heap.pages_out == 0u && (lane->in.region == NULL || lane->in.region->out == 0u);
}

/* ---- counters ---- */

uint64_t lane_dropped(const struct lane_counters *count)
{
	return count->drop_nobufs + count->drop_refused + count->drop_unsaid + count->drop_gone + count->drop_end;
}

const char *lane_wrong(const struct lane *lane, const struct vnetrx_rxq_stats *stats)
{
	const struct vnetrx_gro_stats *gro = &stats->gro;
	const struct lane_counters *count = &lane->count;
	uint64_t entered = gro->held_new + gro->joined + gro->passed;

	if (lane->in.stats->reads != stats->merge.pkts + counters_drops(&stats->merge))
		return "frames read are not packets assembled and dropped";
	if (lane->in.stats->read_bytes < stats->merge.bytes)
		return "more bytes were assembled than read";
	if (gro->pkts != 0u && (gro->pkts != stats->merge.pkts || gro->pkts != entered))
		return "packets given to GRO are not those held, joined and passed";
	if (gro->pkts != 0u && (gro->held != 0u || gro->out != gro->held_new + gro->passed))
		return "packets that left GRO are not those that were opened and passed";
	if (stats->queue.delivered != (gro->pkts != 0u ? gro->out : stats->merge.pkts) || stats->queue.waiting != 0u)
		return "not every packet was handed up";
	if (stats->queue.delivered != count->written + lane_dropped(count))
		return "packets handed up are not those written and dropped";
	if (stats->queue.delivered_bytes != count->written_bytes + count->dropped_bytes)
		return "bytes handed up are not those written and dropped";
	if (count->written != lane->out.stats->writes)
		return "packets written are not those that the driver counted";
	return stats->pool.bufs_lent != 0u ? "a buffer is still lent" : NULL;
}
