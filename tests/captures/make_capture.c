/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * make-capture cooked|cooked2|raw|unknown FILE
 *
 * A capture of another link type than Ethernet: one TCP flow of ten segments that a queue makes one packet of, or, with
 * `unknown`, one record of a link type that is none of a network's. Exit: 0, 1 usage, 2 FILE cannot be written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/frames.h"

#define SEGMENTS 10u
#define ETH_HDR  14u

static const struct kind {
	const char *name;
	uint32_t link;
	size_t   hdr_len, type_at; /* header before the network header, and the EtherType in it */
} kinds[] = {
	{ "cooked", 113, 16, 14 },
	{ "cooked2", 276, 20, 0 },
	{ "raw", 101, 0, 0 },
	{ "unknown", 105, 0, 0 }, /* IEEE 802.11 */
};

static void put(FILE *file, const uint32_t *words, unsigned n)
{
	fwrite(words, sizeof(*words), n, file);
}

/* In the byte order of this machine, which the magic number tells. */
static void file_header(FILE *file, uint32_t link)
{
	const uint16_t version[2] = { 2, 4 };
	const uint32_t magic = 0xa1b2c3d4u;
	const uint32_t rest[4] = { 0, 0, 262144, link };

	put(file, &magic, 1);
	fwrite(version, sizeof(version[0]), 2, file);
	put(file, rest, 4);
}

static void record(FILE *file, const struct kind *kind, const struct frame *f, unsigned number)
{
	static uint8_t frame[FRAME_MAX];
	uint8_t hdr[20] = { 0 };
	uint32_t len = (uint32_t)(frame_build(f, frame) - ETH_HDR + kind->hdr_len);
	const uint32_t words[4] = { 1600000000, number, len, len };

	put(file, words, 4);
	if (kind->hdr_len != 0u)
		memcpy(hdr + kind->type_at, frame + 12, 2);
	fwrite(hdr, 1, kind->hdr_len, file);
	fwrite(frame + ETH_HDR, 1, len - kind->hdr_len, file);
}

static int write_capture(const struct kind *kind, const char *path)
{
	FILE *file = fopen(path, "wb");
	struct frame f;
	int bad;

	if (file == NULL)
		return 2;
	file_header(file, kind->link);
	frame_init(&f, 0);
	f.payload_len = 1000;
	for (unsigned i = 0; i < SEGMENTS; i++) {
		record(file, kind, &f, i);
		f.seq += f.payload_len;
		f.id++;
	}
	bad = ferror(file);
	return fclose(file) != 0 || bad ? 2 : 0;
}

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name) == 0)
			return write_capture(&kinds[i], argv[2]);
	}
	fputs("usage: make-capture cooked|cooked2|raw|unknown FILE\n", stderr);
	return 1;
}
