/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pcap.h"
#include "stages.h"
#include "vouch.h"

#define MTU       1500u
#define FRAME_MIN 14u /* an Ethernet header */

/* Appends a frame, unless the receive path would drop it: that would be missing in the sums. */
static bool take(struct capture *cap, const struct pcap_frame *frame)
{
	if (frame->len >= FRAME_MIN && frame->len <= PCAP_FRAME_MAX)
		return burst_add(&cap->frames, frame->data, frame->len, frame->ns);
	cap->left_out++;
	return true;
}

static bool read_frames(struct capture *cap, struct pcap_in *in, char *error)
{
	struct pcap_frame frame;
	uint64_t packets = 0u;
	int got;

	while ((got = pcap_in_next(in, &frame)) == 1) {
		packets++;
		if (!take(cap, &frame)) {
			snprintf(error, PCAP_ERROR_MAX, "out of memory");
			return false;
		}
	}
	if (packets > 0u)
		pcap_in_warn(in, "vnetrx-stages", cap->path, packets);
	if (cap->left_out > 0u)
		fprintf(stderr, "vnetrx-stages: warning: %s: %" PRIu64 " of %" PRIu64
			" packets are left out: shorter than %u bytes, or longer than %u\n",
			cap->path, cap->left_out, packets, FRAME_MIN, PCAP_FRAME_MAX);
	if (cap->frames.num > 0u)
		return true;
	snprintf(error, PCAP_ERROR_MAX, "%s", got < 0 && packets == 0u ? pcap_in_error(in) : "no packets to measure");
	return false;
}

bool capture_load(struct capture *cap, const char *path, char *error)
{
	struct pcap_in *in = pcap_in_open(path, error);
	bool ok;
	size_t i;

	*cap = (struct capture){ .path = path };
	if (in == NULL)
		return false;
	ok = read_frames(cap, in, error);
	pcap_in_close(in);
	if (!ok) {
		burst_free(&cap->frames);
		return false;
	}
	cap->meta = calloc(cap->frames.num, sizeof(*cap->meta));
	if (cap->meta == NULL) {
		snprintf(error, PCAP_ERROR_MAX, "out of memory");
		return false;
	}
	for (i = 0u; i < cap->frames.num; i++)
		vouch(cap->frames.bytes + cap->frames.frames[i].at, cap->frames.frames[i].len, MTU, &cap->meta[i]);
	return true;
}

void capture_free(struct capture *cap)
{
	burst_free(&cap->frames);
	free(cap->meta);
}
