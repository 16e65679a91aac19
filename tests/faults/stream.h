/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Good traffic, and the proof that all of it arrived: TCP streams over IPv4 and IPv6 whose every byte is known from its
 * place in the stream.
 */
#ifndef FAULTS_STREAM_H
#define FAULTS_STREAM_H

#include "vnetrx.h"

#define STREAM_FLOWS     8u
#define STREAM_FRAME_MAX 65549u /* Ethernet header and the largest IPv4 packet */

struct stream {
	uint64_t rng;
	uint64_t sent[STREAM_FLOWS];     /* bytes */
	uint64_t arrived[STREAM_FLOWS];
	bool     big;                    /* some frames are as large as can be */
	bool     gaps;                   /* packets may be missing, but those that come are whole and in order */
	uint32_t len;                    /* of frame */
	struct vnetrx_meta meta;         /* what the device says about it */
	uint8_t  frame[STREAM_FRAME_MAX + 3u];
};

void stream_init(struct stream *s, uint64_t seed);

/* Builds the next frame of a random flow. */
void stream_next(struct stream *s);

/* Whatever was sent so far counts as arrived. */
void stream_sync(struct stream *s);

/* The packet carries the next bytes of its flow and nothing else, or the test fails. With gaps: bytes that were sent,
 * later ones than any packet of the flow before. */
void stream_check(struct stream *s, const struct vnetrx_pkt *pkt);

/* Everything sent has arrived. */
bool stream_complete(const struct stream *s);

#endif
