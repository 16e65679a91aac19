/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "pcap.h"
#include "stages.h"
#include "vouch.h"

#define MTU 1500u

static bool read_frames(struct capture *cap, struct pcap_in *in, char *error)
{
	struct pcap_frame frame;
	int got;

	while ((got = pcap_in_next(in, &frame)) == 1) {
		if (!burst_add(&cap->frames, frame.data, frame.len, frame.ns)) {
			snprintf(error, PCAP_ERROR_MAX, "out of memory");
			return false;
		}
	}
	cap->cut = pcap_in_cut(in);
	if (got < 0)
		snprintf(error, PCAP_ERROR_MAX, "%s", pcap_in_error(in));
	else if (cap->frames.num == 0u)
		snprintf(error, PCAP_ERROR_MAX, "no packets in it");
	return got == 0 && cap->frames.num > 0u;
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
	if (!ok)
		return false;
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
