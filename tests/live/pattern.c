/* SPDX-License-Identifier: BSD-3-Clause */
#include "pattern.h"

#include <string.h>

#include "rng.h"

static uint8_t copy[PATTERN_SIZE];

void pattern_init(uint8_t *shared)
{
	uint64_t rng = 1u;
	uint32_t i;

	for (i = 0u; i < PATTERN_SIZE; i++)
		copy[i] = (uint8_t)rng_below(&rng, 256u);
	memcpy(shared, copy, PATTERN_SIZE);
}

uint32_t pattern_at(uint64_t number)
{
	return (uint32_t)(number * 0x9e3779b97f4a7c15u >> 40) % PATTERN_START;
}

void pattern_header(uint8_t *to, uint64_t number, uint32_t len, uint16_t pair)
{
	static const uint8_t ethernet[14] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5 };

	memcpy(to, ethernet, sizeof(ethernet));
	memcpy(to + 14, &number, sizeof(number));
	memcpy(to + 22, &len, sizeof(len));
	memcpy(to + 26, &pair, sizeof(pair));
}

/* Compares [off, off + len) of the frame, `bytes`, with the table. */
static bool same(const uint8_t *bytes, uint32_t off, uint32_t len, uint32_t at)
{
	uint32_t skip = off < PATTERN_HDR ? PATTERN_HDR - off : 0u;

	if (skip >= len)
		return true;
	return memcmp(bytes + skip, copy + at + off + skip - PATTERN_HDR, len - skip) == 0;
}

bool pattern_check(const struct vnetrx_pkt *pkt, uint16_t pair, uint64_t *number)
{
	uint8_t hdr[PATTERN_HDR], want[PATTERN_HDR];
	const struct vnetrx_pkt *frag;
	uint32_t off = 0u;

	*number = 0u;
	if (pkt->len > PATTERN_FRAME || vnetrx_pkt_copy(pkt, 0u, hdr, PATTERN_HDR) != PATTERN_HDR)
		return false;
	memcpy(number, hdr + 14, sizeof(*number));
	pattern_header(want, *number, pkt->len, pair);
	if (memcmp(hdr, want, PATTERN_HDR) != 0)
		return false;
	for (frag = pkt; frag != NULL; frag = frag->chain) {
		if (frag->frag_len > pkt->len - off || !same(frag->data, off, frag->frag_len, pattern_at(*number)))
			return false;
		off += frag->frag_len;
	}
	return off == pkt->len;
}
