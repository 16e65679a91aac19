/* SPDX-License-Identifier: BSD-3-Clause */
#include "pcap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC_NS      0xa1b23c4du
#define LINK_ETHERNET 1u
#define NS_PER_S      1000000000u

struct pcap_out {
	FILE *file;
};

static void put_le32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
}

struct pcap_out *pcap_out_open(const char *path)
{
	struct pcap_out *out = calloc(1u, sizeof(*out));
	uint8_t hdr[24] = { 0 };

	if (out == NULL)
		return NULL;
	out->file = strcmp(path, "-") == 0 ? fdopen(dup(STDOUT_FILENO), "wb") : fopen(path, "wb");
	if (out->file == NULL) {
		free(out);
		return NULL;
	}
	put_le32(hdr, MAGIC_NS);
	hdr[4] = 2u; /* version 2.4 */
	hdr[6] = 4u;
	put_le32(hdr + 16, PCAP_FRAME_MAX);
	put_le32(hdr + 20, LINK_ETHERNET);
	if (fwrite(hdr, sizeof(hdr), 1u, out->file) != 1u) {
		fclose(out->file);
		free(out);
		return NULL;
	}
	return out;
}

bool pcap_out_write(struct pcap_out *out, const struct vnetrx_pkt *pkt, vnetrx_ns ns)
{
	uint32_t len = pkt->len < PCAP_FRAME_MAX ? pkt->len : PCAP_FRAME_MAX;
	uint8_t hdr[16];

	put_le32(hdr, (uint32_t)(ns / NS_PER_S));
	put_le32(hdr + 4, (uint32_t)(ns % NS_PER_S));
	put_le32(hdr + 8, len);
	put_le32(hdr + 12, pkt->len);
	if (fwrite(hdr, sizeof(hdr), 1u, out->file) != 1u)
		return false;
	for (; pkt != NULL && len > 0u; pkt = pkt->chain) {
		uint32_t n = pkt->frag_len < len ? pkt->frag_len : len;

		if (fwrite(pkt->data, 1u, n, out->file) != n)
			return false;
		len -= n;
	}
	return true;
}

bool pcap_out_close(struct pcap_out *out)
{
	bool failed = ferror(out->file) != 0;

	failed = fclose(out->file) != 0 || failed;
	free(out);
	return !failed;
}
