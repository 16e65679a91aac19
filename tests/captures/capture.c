/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LINK_MAX 64u

/* How to read numbers of this file, and what lies before the network header. */
struct reader {
	bool     big;
	unsigned links;
	uint32_t link[LINK_MAX]; /* pcapng: of each interface; pcap: the first */
};

static bool fail(struct capture *c, size_t at, const char *what)
{
	snprintf(c->error, sizeof(c->error), "byte %zu: %s", at, what);
	return false;
}

static uint32_t get32(const struct reader *r, const uint8_t *p)
{
	uint32_t le = p[0] + p[1] * 0x100u + p[2] * 0x10000u + p[3] * 0x1000000u;

	return r->big ? p[3] + p[2] * 0x100u + p[1] * 0x10000u + p[0] * 0x1000000u : le;
}

static uint32_t get16(const struct reader *r, const uint8_t *p)
{
	return r->big ? p[0] * 0x100u + p[1] : p[1] * 0x100u + p[0];
}

static bool slurp(struct capture *c, const char *path)
{
	gzFile f = gzopen(path, "rb");
	size_t cap = 1u << 20;
	int got = 0;

	if (f == NULL)
		return fail(c, 0, "cannot be opened");
	c->file = malloc(cap);
	while (c->file != NULL && (got = gzread(f, c->file + c->file_len, (unsigned)(cap - c->file_len))) > 0) {
		c->file_len += (size_t)got;
		if (c->file_len == cap) {
			cap *= 2u;
			c->file = realloc(c->file, cap);
		}
	}
	gzclose(f);
	if (c->file == NULL)
		return fail(c, 0, "out of memory");
	return got == 0 || fail(c, c->file_len, "cannot be unpacked");
}

/* Bytes before the network header of a link type that is not Ethernet, and where its protocol is; false: not known. */
static bool other_link(uint32_t link, const uint8_t *p, size_t len, size_t *skip, unsigned *type)
{
	*skip = link == 113u ? 16u : link == 276u ? 20u : 0u;
	if (link == 113u || link == 276u) {
		const uint8_t *proto = p + (link == 113u ? 14 : 0);

		if (len < *skip)
			return false;
		*type = proto[0] * 256u + proto[1];
		return true;
	}
	if (link != 12u && link != 14u && link != 101u && link != 228u && link != 229u)
		return false;
	*type = len > 0u && p[0] / 16u == 6u ? 0x86ddu : 0x0800u;
	return true;
}

/* Does an Ethernet frame end in the checksum of itself (IEEE 802.3, 3.2.9)? Some cards leave it there. */
static bool has_fcs(const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;

	return len >= 18u && crc32(0, p, (unsigned)(len - 4u)) == end[-4] + end[-3] * 0x100u + end[-2] * 0x10000u +
	                                                                   end[-1] * 0x1000000u;
}

static bool add(struct capture *c, uint32_t link, const uint8_t *p, size_t len)
{
	uint8_t eth[14] = { 0 };
	size_t skip = 0, made = 0;
	unsigned type = 0;
	struct capture_frame *f;

	if (link % 0x10000u == 1u && has_fcs(p, len))
		len -= 4u;
	if (link % 0x10000u != 1u) {
		if (!other_link(link % 0x10000u, p, len, &skip, &type))
			return fail(c, (size_t)(p - c->file), "link type or its header is not known");
		eth[12] = (uint8_t)(type / 256u);
		eth[13] = (uint8_t)type;
		made = sizeof(eth);
	}
	if (c->n == c->cap) {
		c->cap = c->cap * 2u + 256u;
		c->frame = realloc(c->frame, c->cap * sizeof(*c->frame));
		if (c->frame == NULL)
			return fail(c, 0, "out of memory");
	}
	f = &c->frame[c->n];
	f->synth = made != 0u;
	f->len = made + len - skip;
	f->bytes = malloc(f->len + 1u);
	if (f->bytes == NULL)
		return fail(c, 0, "out of memory");
	memcpy(f->bytes, eth, made);
	memcpy(f->bytes + made, p + skip, len - skip);
	c->n++;
	return true;
}

static bool read_pcap(struct capture *c, struct reader *r)
{
	size_t at = 24;

	if (c->file_len < at)
		return fail(c, c->file_len, "header is cut off");
	r->link[0] = get32(r, c->file + 20);
	while (at < c->file_len) {
		uint32_t len;

		if (c->file_len - at < 16u)
			return fail(c, at, "record header is cut off");
		len = get32(r, c->file + at + 8);
		if (len > c->file_len - at - 16u)
			return fail(c, at, "record is cut off");
		if (!add(c, r->link[0], c->file + at + 16, len))
			return false;
		at += 16u + len;
	}
	return true;
}

/* One pcapng block of len bytes at p. */
static bool read_block(struct capture *c, struct reader *r, const uint8_t *p, uint32_t len)
{
	uint32_t type = get32(r, p);
	uint32_t caplen, interface;

	if (type == 1u && len >= 20u && r->links < LINK_MAX) {
		r->link[r->links++] = get16(r, p + 8);
		return true;
	}
	if (type == 6u && len >= 32u) {
		interface = get32(r, p + 8);
		caplen = get32(r, p + 20);
		if (caplen > len - 32u || interface >= r->links)
			return fail(c, (size_t)(p - c->file), "packet block contradicts itself");
		return add(c, r->link[interface], p + 28, caplen);
	}
	if (type == 3u && len >= 16u && r->links > 0u) {
		caplen = get32(r, p + 8);
		return add(c, r->link[0], p + 12, caplen < len - 16u ? caplen : len - 16u);
	}
	return true;
}

static bool read_pcapng(struct capture *c, struct reader *r)
{
	size_t at = 0;

	while (at < c->file_len) {
		const uint8_t *p = c->file + at;
		uint32_t len;

		if (c->file_len - at < 12u)
			return fail(c, at, "block is cut off");
		if (memcmp(p, "\x0a\x0d\x0d\x0a", 4) == 0) {
			r->big = p[8] == 0x1au;
			r->links = 0;
		}
		len = get32(r, p + 4);
		if (len < 12u || len % 4u != 0u || len > c->file_len - at)
			return fail(c, at, "block length is wrong");
		if (!read_block(c, r, p, len))
			return false;
		at += len;
	}
	return true;
}

bool capture_read(struct capture *c, const char *path)
{
	static const uint8_t magics[4][4] = { { 0xd4, 0xc3, 0xb2, 0xa1 }, { 0x4d, 0x3c, 0xb2, 0xa1 },
	                                      { 0xa1, 0xb2, 0xc3, 0xd4 }, { 0xa1, 0xb2, 0x3c, 0x4d } };
	struct reader r;

	memset(c, 0, sizeof(*c));
	memset(&r, 0, sizeof(r));
	if (!slurp(c, path))
		return false;
	if (c->file_len < 4u)
		return fail(c, 0, "is no capture");
	for (unsigned i = 0; i < 4u; i++) {
		r.big = i >= 2u;
		if (memcmp(c->file, magics[i], 4) == 0)
			return read_pcap(c, &r);
	}
	r.big = false;
	return memcmp(c->file, "\x0a\x0d\x0d\x0a", 4) == 0 ? read_pcapng(c, &r) : fail(c, 0, "is no capture");
}

void capture_free(struct capture *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->frame[i].bytes);
	free(c->frame);
	free(c->file);
}
