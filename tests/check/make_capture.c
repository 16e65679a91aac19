/* SPDX-License-Identifier: BSD-3-Clause */
/* make-capture: captures of kinds that are hard to find, and captures with one thing wrong, from a good one. */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "sums.h"

#define COOKED_HDR  16u
#define COOKED2_HDR 20u

static const char usage[] =
	"usage: make-capture KIND IN OUT [N [AT]]\n"
	"Makes another capture from a capture of Ethernet frames.\n"
	"\n"
	"  cooked     the same packets as Linux cooked capture (SLL)\n"
	"  cooked2    as Linux cooked capture, version 2 (SLL2)\n"
	"  raw        as raw IP\n"
	"  alien      the same bytes, said to be of a link type that is not Ethernet, raw IP or cooked (IEEE802_11)\n"
	"  vxlan      in VXLAN over IPv4, without UDP checksums\n"
	"  geneve     in GENEVE over IPv6, with UDP checksums\n"
	"  fragments  every tenth IPv4 packet is the first fragment of one\n"
	"  flip       packet N with byte AT flipped\n"
	"  swap       packets N and N + 1 have changed places\n"
	"  drop       without packet N\n";

static uint8_t *room(size_t len)
{
	uint8_t *data = calloc(1u, len);

	if (data == NULL) {
		fprintf(stderr, "make-capture: out of memory\n");
		exit(2);
	}
	return data;
}

static void replace(struct frame *f, uint8_t *data, uint32_t len)
{
	free(f->data);
	f->data = data;
	f->len = len;
}

static void make_cooked(struct frame *f)
{
	uint8_t *data = room(f->len + COOKED_HDR);

	data[3] = 1; /* ARPHRD_ETHER */
	data[5] = 6;
	memcpy(data + 6, f->data + 6, 6u);
	memcpy(data + 14, f->data + 12, f->len - 12u);
	replace(f, data, f->len + COOKED_HDR - ETH_HDR);
}

static void make_cooked2(struct frame *f)
{
	uint8_t *data = room(f->len + COOKED2_HDR);

	memcpy(data, f->data + 12, 2u);
	data[7] = 1; /* interface 1 */
	data[9] = 1; /* ARPHRD_ETHER */
	data[11] = 6;
	memcpy(data + 12, f->data + 6, 6u);
	memcpy(data + COOKED2_HDR, f->data + ETH_HDR, f->len - ETH_HDR);
	replace(f, data, f->len + COOKED2_HDR - ETH_HDR);
}

static void make_raw(struct frame *f)
{
	uint8_t *data = room(f->len);

	memcpy(data, f->data + ETH_HDR, f->len - ETH_HDR);
	replace(f, data, f->len - ETH_HDR);
}

/* Ethernet and a 20-byte IPv4 or 40-byte IPv6 header, UDP behind it. */
static void put_outer(uint8_t *data, struct ip *ip, uint32_t number)
{
	uint8_t *l3 = data + ETH_HDR;

	put16(data + 12, ip->version == 4u ? TYPE_IPV4 : TYPE_IPV6);
	memcpy(data, "\x02\0\0\0\0\x01\x02\0\0\0\0\x02", 12u);
	l3[0] = (uint8_t)(ip->version * 16u);
	if (ip->version == 4u) {
		l3[0] = 0x45;
		put16(l3 + 2, ip->end - ETH_HDR);
		put16(l3 + 4, number);
		l3[8] = 64;
		l3[9] = PROTO_UDP;
		put32(l3 + 12, 0xc0000201u); /* 192.0.2.1, .2: RFC 5737 */
		put32(l3 + 16, 0xc0000202u);
		sums_ipv4(ip, data);
		return;
	}
	put16(l3 + 4, ip->end - ip->l4);
	l3[6] = PROTO_UDP;
	l3[7] = 64;
	put32(l3 + 8, 0x20010db8u); /* 2001:db8::, ::2: RFC 3849 */
	put32(l3 + 24, 0x20010db8u);
	l3[39] = 2;
}

static void make_tunnel(struct frame *f, unsigned version, uint32_t number)
{
	uint32_t l4 = ETH_HDR + (version == 4u ? 20u : 40u);
	uint32_t end = l4 + 16u + f->len;
	struct ip ip = { .version = version, .proto = PROTO_UDP, .l3 = ETH_HDR, .l4 = l4, .end = end };
	uint8_t *data = room(end);

	put_outer(data, &ip, number);
	put16(data + l4, 49152u);
	put16(data + l4 + 2, version == 4u ? 4789u : 6081u);
	put16(data + l4 + 4, end - l4);
	if (version == 4u)
		data[l4 + 8u] = 0x08; /* there is a VNI */
	else
		put16(data + l4 + 10, 0x6558u); /* Ethernet follows */
	data[l4 + 14u] = 77;
	memcpy(data + l4 + 16, f->data, f->len);
	if (version == 6u)
		sums_l4(&ip, data, l4 + 6u);
	replace(f, data, end);
}

static void make_fragment(struct frame *f)
{
	struct layout lay;

	layout_read(&lay, f->data, f->len);
	if (lay.first.version != 4u)
		return;
	f->data[lay.first.l3 + 6u] = 0x20; /* more fragments */
	sums_ipv4(&lay.first, f->data);
}

/* Packet number i is made into another kind; false: no such kind. */
static bool make_one(const char *kind, struct frame *f, size_t i)
{
	if (strcmp(kind, "cooked") == 0)
		make_cooked(f);
	else if (strcmp(kind, "cooked2") == 0)
		make_cooked2(f);
	else if (strcmp(kind, "raw") == 0)
		make_raw(f);
	else if (strcmp(kind, "vxlan") == 0)
		make_tunnel(f, 4u, (uint32_t)i);
	else if (strcmp(kind, "geneve") == 0)
		make_tunnel(f, 6u, (uint32_t)i);
	else if (strcmp(kind, "fragments") == 0 && i % 10u == 9u)
		make_fragment(f);
	else
		return strcmp(kind, "alien") == 0 || strcmp(kind, "fragments") == 0;
	return true;
}

static bool make_all(const char *kind, struct frames *frames)
{
	for (size_t i = 0; i < frames->num; i++)
		if (frames->frame[i].len < ETH_HDR || !make_one(kind, &frames->frame[i], i))
			return false;
	return true;
}

/* One packet is treated wrongly; false: no such kind, packet or byte. */
static bool spoil(const char *kind, struct frames *frames, size_t n, size_t at)
{
	struct frame *f = frames->frame;
	struct frame first;

	if (n < 1u || n > frames->num)
		return false;
	f += n - 1u;
	first = *f;
	if (strcmp(kind, "flip") == 0 && at < f->len) {
		f->data[at] ^= 0xffu;
	} else if (strcmp(kind, "swap") == 0 && n < frames->num) {
		f[0] = f[1];
		f[1] = first;
	} else if (strcmp(kind, "drop") == 0) {
		memmove(f, f + 1, (frames->num - n) * sizeof(*f));
		free(first.data);
		frames->num--;
	} else {
		return false;
	}
	return true;
}

static int link_of(const char *kind)
{
	if (strcmp(kind, "cooked") == 0)
		return DLT_LINUX_SLL;
	if (strcmp(kind, "cooked2") == 0)
		return DLT_LINUX_SLL2;
	if (strcmp(kind, "raw") == 0)
		return DLT_RAW;
	return strcmp(kind, "alien") == 0 ? DLT_IEEE802_11 : DLT_EN10MB;
}

int main(int argc, char **argv)
{
	static struct frames frames;
	size_t n = argc > 4 ? strtoul(argv[4], NULL, 10) : 0u;
	size_t at = argc > 5 ? strtoul(argv[5], NULL, 10) : 0u;
	bool fine;

	if (argc < 4 || argc > 6) {
		fputs(usage, stderr);
		return 2;
	}
	if (!frames_read(&frames, argv[2]) || frames.skip != 0u) {
		fprintf(stderr, "make-capture: %s: %s\n", argv[2],
		        frames.error[0] != '\0' ? frames.error : "no Ethernet");
		return 2;
	}
	fine = argc == 4 ? make_all(argv[1], &frames) : spoil(argv[1], &frames, n, at);
	if (!fine)
		fprintf(stderr, "make-capture: %s: no such kind, packet or byte\n", argv[1]);
	if (fine && !frames_write(&frames, argv[3], link_of(argv[1]))) {
		fprintf(stderr, "make-capture: %s: cannot be written\n", argv[3]);
		fine = false;
	}
	frames_free(&frames);
	return fine ? 0 : 2;
}
