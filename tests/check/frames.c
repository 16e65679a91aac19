/* SPDX-License-Identifier: BSD-3-Clause */
#include "frames.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Unpacks the file, or copies one that is not packed. */
static FILE *unpacked(const char *path)
{
	static char block[65536];
	gzFile gz = gzopen(path, "rb");
	FILE *file = gz != NULL ? tmpfile() : NULL;
	int n = -1;

	while (file != NULL && (n = gzread(gz, block, sizeof(block))) > 0)
		if (fwrite(block, 1u, (size_t)n, file) != (size_t)n)
			break;
	if (gz != NULL)
		gzclose(gz);
	if (file != NULL && n != 0) {
		fclose(file);
		file = NULL;
	}
	if (file != NULL)
		rewind(file);
	return file;
}

/* IEEE 802.3 3.2.9, bit by bit. */
static uint32_t crc32_of(const uint8_t *data, uint32_t len)
{
	uint32_t crc = 0xffffffffu;

	for (uint32_t i = 0; i < len; i++) {
		crc ^= data[i];
		for (unsigned bit = 0; bit < 8u; bit++)
			crc = (crc & 1u) != 0u ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	}
	return ~crc;
}

static uint32_t fcs_len(const uint8_t *data, uint32_t len)
{
	uint32_t crc;

	if (len < ETH_HDR + 4u)
		return 0;
	crc = crc32_of(data, len - 4u);
	for (unsigned i = 0; i < 4u; i++)
		if (data[len - 4u + i] != (uint8_t)(crc >> 8u * i))
			return 0;
	return 4;
}

/* Length of what stands before the network header; -1: a link type that is not known. */
static int link_hdr(int link)
{
	switch (link) {
	case DLT_EN10MB:
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
		return 0;
	case DLT_LINUX_SLL:
		return 16;
	case DLT_LINUX_SLL2:
		return 20;
	default:
		return -1;
	}
}

static void put_type(uint8_t *eth, int link, const uint8_t *data, uint32_t len)
{
	uint32_t at = link == DLT_LINUX_SLL ? 14u : 0u;

	if (link == DLT_LINUX_SLL || link == DLT_LINUX_SLL2) {
		if (at + 2u <= len)
			memcpy(eth + 12, data + at, 2u);
	} else if (len > 0u && data[0] / 16u == 4u) {
		eth[12] = 0x08;
	} else if (len > 0u && data[0] / 16u == 6u) {
		eth[12] = 0x86;
		eth[13] = 0xdd;
	}
}

static bool add(struct frames *frames, int link, const uint8_t *data, const struct pcap_pkthdr *rec)
{
	uint32_t hdr = (uint32_t)link_hdr(link) < rec->caplen ? (uint32_t)link_hdr(link) : rec->caplen;
	uint32_t body = rec->caplen - hdr;
	struct frame *f;

	if (frames->num % 1024u == 0u) {
		f = realloc(frames->frame, (frames->num + 1024u) * sizeof(*f));
		if (f == NULL)
			return false;
		frames->frame = f;
	}
	f = &frames->frame[frames->num];
	*f = (struct frame){ .len = (uint32_t)frames->skip + body };
	f->ns = (uint64_t)rec->ts.tv_sec * 1000000000u + (uint64_t)rec->ts.tv_usec;
	f->data = calloc(1u, f->len + 1u);
	if (f->data == NULL)
		return false;
	memcpy(f->data + frames->skip, data + hdr, body);
	if (frames->skip != 0u)
		put_type(f->data, link, data, rec->caplen);
	else
		f->fcs = fcs_len(f->data, f->len);
	frames->num++;
	return true;
}

static bool read_all(struct frames *frames, pcap_t *pcap)
{
	int link = pcap_datalink(pcap);
	struct pcap_pkthdr *rec;
	const u_char *data;
	int got;

	if (link_hdr(link) < 0) {
		snprintf(frames->error, sizeof(frames->error), "link type %d is not known here", link);
		return false;
	}
	frames->skip = link == DLT_EN10MB ? 0u : ETH_HDR;
	while ((got = pcap_next_ex(pcap, &rec, &data)) == 1) {
		if (!add(frames, link, data, rec)) {
			snprintf(frames->error, sizeof(frames->error), "out of memory");
			return false;
		}
	}
	frames->damaged = got != PCAP_ERROR_BREAK;
	return true;
}

bool frames_read(struct frames *frames, const char *path)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	FILE *file = unpacked(path);
	pcap_t *pcap;
	bool fine;

	*frames = (struct frames){ 0 };
	if (file == NULL) {
		snprintf(frames->error, sizeof(frames->error), "cannot be read");
		return false;
	}
	pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, text);
	if (pcap == NULL) {
		fclose(file);
		snprintf(frames->error, sizeof(frames->error), "%s", text);
		return false;
	}
	fine = read_all(frames, pcap);
	pcap_close(pcap);
	return fine;
}

bool frames_write(const struct frames *frames, const char *path, int link)
{
	pcap_t *pcap = pcap_open_dead_with_tstamp_precision(link, 262144, PCAP_TSTAMP_PRECISION_NANO);
	pcap_dumper_t *out = pcap != NULL ? pcap_dump_open(pcap, path) : NULL;
	bool fine = out != NULL;

	for (size_t i = 0; fine && i < frames->num; i++) {
		const struct frame *f = &frames->frame[i];
		struct pcap_pkthdr rec = { .caplen = f->len, .len = f->len };

		rec.ts.tv_sec = (time_t)(f->ns / 1000000000u);
		rec.ts.tv_usec = (suseconds_t)(f->ns % 1000000000u);
		pcap_dump((u_char *)out, &rec, f->data);
	}
	if (out != NULL) {
		fine = pcap_dump_flush(out) == 0;
		pcap_dump_close(out);
	}
	if (pcap != NULL)
		pcap_close(pcap);
	return fine;
}

void frames_free(struct frames *frames)
{
	for (size_t i = 0; i < frames->num; i++)
		free(frames->frame[i].data);
	free(frames->frame);
	*frames = (struct frames){ 0 };
}
