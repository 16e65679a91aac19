/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "pace.h"

#define IP  14u
#define TCP 34u

/* Nobody's addresses: the kernel looks at such a frame no further than it must. */
static const uint8_t header[PACE_HDR] = {
	2, 0, 0, 0, 0, 0x72, 2, 0, 0, 0, 0, 0x71, 8, 0,                                /* Ethernet           */
	0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 198, 18, 0, 1, 198, 19, 0, 1,       /* IPv4: DF, TTL, TCP */
	0, 0, 0x13, 0x88, 0, 0, 0, 0, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0,  /* TCP: ACK           */
};

static void put16(uint8_t *to, uint32_t value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
}

/* Of the Internet (RFC 1071), over an even number of bytes. */
static uint32_t sum(const uint8_t *bytes, size_t len, uint32_t from)
{
	size_t i;

	for (i = 0u; i + 1u < len; i += 2u)
		from += (uint32_t)bytes[i] << 8 | bytes[i + 1u];
	return from;
}

static uint32_t fold(uint32_t s)
{
	while (s >> 16 != 0u)
		s = (s & 0xffffu) + (s >> 16);
	return ~s & 0xffffu;
}

static void build(const struct pace_frames *f, uint32_t i)
{
	uint8_t *frame = f->bytes + (size_t)i * f->len;
	uint32_t turn = i / f->flows, seq = htonl(turn * f->payload);
	uint32_t tcp_len = f->len - TCP;

	memcpy(frame, header, PACE_HDR);
	memset(frame + PACE_HDR, (int)(turn & 0xffu), f->payload);
	put16(frame + IP + 2u, f->len - IP);
	put16(frame + IP + 4u, turn);
	put16(frame + IP + 10u, fold(sum(frame + IP, 20u, 0u)));
	put16(frame + TCP, PACE_PORT + i % f->flows);
	memcpy(frame + TCP + 4u, &seq, sizeof(seq));
	put16(frame + TCP + 16u, fold(sum(frame + TCP, tcp_len, sum(frame + IP + 12u, 8u, 6u + tcp_len))));
}

bool pace_frames_new(struct pace_frames *f)
{
	uint32_t i;

	f->len = PACE_HDR + f->payload;
	f->bytes = malloc((size_t)f->count * f->len);
	f->sent_ns = calloc(f->count, sizeof(*f->sent_ns));
	if (f->bytes == NULL || f->sent_ns == NULL)
		return false;
	for (i = 0u; i < f->count; i++)
		build(f, i);
	return true;
}

void pace_frames_delete(struct pace_frames *f)
{
	free(f->bytes);
	free(f->sent_ns);
}
