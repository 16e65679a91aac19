/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capture files in and out, as Ethernet frames with nanosecond times.
 *
 * Read: pcap and pcapng, plain or gzip, by libpcap and zlib. Ethernet as it is, without a frame check sequence; raw IP
 * and Linux cooked (v1, v2) get an Ethernet header. Written: pcap, nanoseconds, snaplen 262144, little-endian on every
 * machine.
 */
#ifndef EXAMPLES_PCAP_H
#define EXAMPLES_PCAP_H

#include "vnetrx/pkt.h"

#define PCAP_FRAME_MAX 262144u /* longest record read or written              */
#define PCAP_ERROR_MAX 320u

struct pcap_frame {
	const uint8_t *data;   /* until the next read                                      */
	uint32_t       len;
	vnetrx_ns      ns;     /* since 1970                                               */
};

struct pcap_in;
struct pcap_out;

/* Opens a capture, "-" = standard input. NULL: `error` (PCAP_ERROR_MAX bytes) says why. */
struct pcap_in *pcap_in_open(const char *path, char *error);

/* 1 = the next frame, 0 = the end, -1 = the file is damaged from here on: see pcap_in_error(). */
int pcap_in_next(struct pcap_in *in, struct pcap_frame *frame);

/* What is wrong, and at which byte of the (uncompressed) file. */
const char *pcap_in_error(const struct pcap_in *in);

/* Says on standard error what a program's user should know of the `packets` read so far: some were cut, and, when the
 * last pcap_in_next() was -1, from where on the file is damaged. */
void pcap_in_warn(const struct pcap_in *in, const char *program, const char *path, uint64_t packets);

void pcap_in_close(struct pcap_in *in);

/* Creates a capture, "-" = standard output; NULL: see errno. */
struct pcap_out *pcap_out_open(const char *path);

/* Appends a packet; false: see errno. */
bool pcap_out_write(struct pcap_out *out, const struct vnetrx_pkt *pkt, vnetrx_ns ns);

/* Closes it; false: not everything reached the file, see errno. */
bool pcap_out_close(struct pcap_out *out);

#endif
