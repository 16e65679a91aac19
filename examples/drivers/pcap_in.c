/* SPDX-License-Identifier: BSD-3-Clause */
/* libpcap reads through a stream of our own, without a buffer, so that `offset` is exactly what it has consumed. */
#include "pcap.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_ZLIB
#include <fcntl.h>
#include <zlib.h>
#endif

#define ETH_HDR   14u
#define SLL_HDR   16u
#define SLL2_HDR  20u
#define TYPE_IPV4 0x0800u
#define TYPE_IPV6 0x86ddu
#define TYPE_NONE 0x88b5u /* local experimental: the packet says no type */

struct pcap_in {
#ifdef HAVE_ZLIB
	gzFile   file;
#else
	FILE    *file;
#endif
	pcap_t  *pcap;
	uint64_t offset; /* bytes that libpcap took so far */
	uint64_t cut;    /* records that a snaplen cut     */
	int      link;
	int      err;    /* errno of the read that failed  */
	char     error[PCAP_ERROR_MAX];
	uint8_t  frame[ETH_HDR + PCAP_FRAME_MAX];
};

#ifdef HAVE_ZLIB
static bool source_open(struct pcap_in *in, const char *path)
{
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	in->file = gzdopen(fd, "rb");
	if (in->file == NULL) {
		close(fd);
		errno = ENOMEM;
	}
	return in->file != NULL;
}

static ssize_t source_read(void *cookie, char *buf, size_t size)
{
	struct pcap_in *in = cookie;
	int n;

	errno = 0;
	n = gzread(in->file, buf, (unsigned)size);
	if (n >= 0)
		in->offset += (unsigned)n;
	else
		in->err = errno = errno != 0 ? errno : EIO; /* damaged data set none */
	return n;
}

static int source_close(void *cookie)
{
	struct pcap_in *in = cookie;

	return gzclose(in->file) == Z_OK ? 0 : -1;
}

/* What the unpacking complains about; NULL = nothing. */
static const char *source_error(const struct pcap_in *in)
{
	int code;

	(void)gzerror(in->file, &code);
	switch (code) {
	case Z_OK:
	case Z_STREAM_END:
		return NULL;
	case Z_ERRNO:
		return strerror(in->err);
	case Z_BUF_ERROR:
		return "compressed data end too early";
	default:
		return "compressed data are damaged";
	}
}
#else
static bool source_open(struct pcap_in *in, const char *path)
{
	in->file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	return in->file != NULL;
}

static ssize_t source_read(void *cookie, char *buf, size_t size)
{
	struct pcap_in *in = cookie;
	size_t n = fread(buf, 1u, size, in->file);

	in->offset += n;
	if (n > 0u || !ferror(in->file))
		return (ssize_t)n;
	in->err = errno;
	return -1;
}

static int source_close(void *cookie)
{
	struct pcap_in *in = cookie;

	return fclose(in->file);
}

static const char *source_error(const struct pcap_in *in)
{
	return ferror(in->file) ? strerror(in->err) : NULL;
}
#endif

static bool link_known(int link)
{
	return link == DLT_EN10MB || link == DLT_RAW || link == DLT_IPV4 || link == DLT_IPV6 || link == DLT_LINUX_SLL ||
	       link == DLT_LINUX_SLL2;
}

/* Opens libpcap on the stream; false = in->error is set. */
static bool open_pcap(struct pcap_in *in)
{
	const cookie_io_functions_t io = { .read = source_read, .close = source_close };
	char text[PCAP_ERRBUF_SIZE] = "";
	FILE *stream = fopencookie(in, "rb", io);
	const char *name;

	if (stream == NULL || setvbuf(stream, NULL, _IONBF, 0u) != 0) {
		snprintf(in->error, sizeof(in->error), "out of memory");
		return false;
	}
	in->pcap = pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, text);
	if (in->pcap == NULL) {
		const char *why = source_error(in);

		snprintf(in->error, sizeof(in->error), "byte %llu: %s", (unsigned long long)in->offset,
		         why != NULL ? why : text);
		fclose(stream);
		return false;
	}
	in->link = pcap_datalink(in->pcap);
	if (link_known(in->link))
		return true;
	name = pcap_datalink_val_to_name(in->link);
	snprintf(in->error, sizeof(in->error),
	         "link type %d (%s) is not supported: only Ethernet, raw IP and Linux cooked", in->link,
	         name != NULL ? name : "unknown");
	pcap_close(in->pcap);
	return false;
}

struct pcap_in *pcap_in_open(const char *path, char *error)
{
	struct pcap_in *in = calloc(1u, sizeof(*in));

	if (in == NULL || !source_open(in, path)) {
		snprintf(error, PCAP_ERROR_MAX, "%s", strerror(errno));
	} else if (!open_pcap(in)) {
		memcpy(error, in->error, PCAP_ERROR_MAX);
	} else {
		return in;
	}
	free(in);
	return NULL;
}

void pcap_in_close(struct pcap_in *in)
{
	pcap_close(in->pcap);
	free(in);
}

const char *pcap_in_error(const struct pcap_in *in)
{
	return in->error;
}

void pcap_in_warn(const struct pcap_in *in, const char *program, const char *path, uint64_t packets)
{
	if (in->cut > 0u)
		fprintf(stderr,
			"%s: warning: %s: %" PRIu64 " of %" PRIu64
			" packets were cut when they were captured (snaplen): they do not join\n",
			program, path, in->cut, packets);
	if (in->error[0] != '\0')
		fprintf(stderr, "%s: warning: %s: %s: only what stands before is taken (packets: %" PRIu64 ")\n",
			program, path, in->error, packets);
}

static uint32_t ip_type(const uint8_t *data, uint32_t len)
{
	unsigned version = len == 0u ? 0u : data[0] >> 4;

	return version == 4u ? TYPE_IPV4 : version == 6u ? TYPE_IPV6 : TYPE_NONE;
}

/* Puts an Ethernet header in place of what stands before the network header. */
static void to_ethernet(struct pcap_in *in, const uint8_t *data, uint32_t len, struct pcap_frame *frame)
{
	uint8_t *eth = in->frame;
	uint8_t cooked[SLL2_HDR] = { 0 };
	uint32_t hdr = in->link == DLT_LINUX_SLL ? SLL_HDR : in->link == DLT_LINUX_SLL2 ? SLL2_HDR : 0u;
	uint32_t type = ip_type(data, len);

	if (hdr > len)
		hdr = len; /* a cut header: what is missing counts as zero */
	memcpy(cooked, data, hdr);
	memset(eth, 0, ETH_HDR);
	if (in->link == DLT_LINUX_SLL) {
		type = cooked[14] * 256u + cooked[15];
		memcpy(eth + 6, cooked + 6, 6u);
	} else if (in->link == DLT_LINUX_SLL2) {
		type = cooked[0] * 256u + cooked[1];
		memcpy(eth + 6, cooked + 12, 6u);
	}
	eth[12] = (uint8_t)(type >> 8);
	eth[13] = (uint8_t)type;
	memcpy(eth + ETH_HDR, data + hdr, len - hdr);
	frame->data = eth;
	frame->len = ETH_HDR + len - hdr;
}

/* The end of the file, or what is wrong with it. */
static int ended(struct pcap_in *in, int code, uint64_t start)
{
	const char *why = source_error(in);

	if (code == PCAP_ERROR_BREAK && why == NULL)
		return 0;
	snprintf(in->error, sizeof(in->error), "byte %llu: %s", (unsigned long long)start,
	         why != NULL ? why : pcap_geterr(in->pcap));
	return -1;
}

/* Some cards and switches leave the frame check sequence (IEEE 802.3 3.2.9) at the end: a checksum, not content. Four
 * last bytes that are the right CRC-32 of all others are one: chance says otherwise once in 2^32 frames. */
static void strip_fcs(struct pcap_frame *frame)
{
#ifdef HAVE_ZLIB
	const uint8_t *end = frame->data + frame->len;
	uint32_t fcs;

	if (frame->len < ETH_HDR + 4u)
		return;
	fcs = (uint32_t)end[-4] | (uint32_t)end[-3] << 8 | (uint32_t)end[-2] << 16 | (uint32_t)end[-1] << 24;
	if (crc32(0, frame->data, frame->len - 4u) == fcs)
		frame->len -= 4u;
#else
	(void)frame;
#endif
}

int pcap_in_next(struct pcap_in *in, struct pcap_frame *frame)
{
	struct pcap_pkthdr *hdr;
	const u_char *data;
	uint64_t start = in->offset;
	int code = pcap_next_ex(in->pcap, &hdr, &data);

	if (code != 1)
		return ended(in, code, start);
	if (hdr->caplen > PCAP_FRAME_MAX) {
		snprintf(in->error, sizeof(in->error), "byte %llu: a record of %u bytes, more than %u",
		         (unsigned long long)start, hdr->caplen, PCAP_FRAME_MAX);
		return -1;
	}
	if (hdr->len > hdr->caplen)
		in->cut++;
	frame->ns = (uint64_t)hdr->ts.tv_sec * 1000000000u + (uint64_t)hdr->ts.tv_usec;
	if (in->link == DLT_EN10MB) {
		frame->data = data;
		frame->len = hdr->caplen;
		if (hdr->len <= hdr->caplen)
			strip_fcs(frame);
	} else {
		to_ethernet(in, data, hdr->caplen, frame);
	}
	return 1;
}
