/* SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

#include "machine.h"
#include "tcp.h"

void *memcpy(void *restrict dst, const void *restrict src, size_t n);

#define HEADERS_MAX 134u /* Ethernet, IPv4 and TCP, both with all options */
#define ARP_LEN     28u
#define PROTO_ICMP  1u
#define PROTO_TCP   6u
#define TTL         64u

struct net_stats net_stats;

/* ---- checksums ---- */

uint64_t net_sum(const uint8_t *p, uint32_t len, uint64_t sum)
{
	uint16_t half = 0u;

	for (; len >= 4u; len -= 4u, p += 4u) {
		uint32_t word;

		memcpy(&word, p, sizeof(word));
		sum += word;
	}
	if (len >= 2u) {
		memcpy(&half, p, sizeof(half));
		sum += half;
		p += 2u;
	}
	return len % 2u != 0u ? sum + *p : sum; /* as if a zero followed */
}

/* Of the same words, each with its bytes swapped. */
static uint64_t swapped(uint64_t sum)
{
	uint16_t folded = (uint16_t)~net_fold(sum);

	return (uint64_t)((folded & 0xffu) << 8 | folded >> 8);
}

uint64_t net_sum_packet(const struct vnetrx_pkt *pkt, uint32_t off, uint32_t len, uint64_t sum)
{
	uint32_t done = 0u;

	for (; pkt != NULL && done < len; pkt = pkt->chain) {
		uint32_t n;

		if (off >= pkt->frag_len) {
			off -= pkt->frag_len;
			continue;
		}
		n = pkt->frag_len - off < len - done ? pkt->frag_len - off : len - done;
		if (done % 2u == 0u)
			sum = net_sum(pkt->data + off, n, sum);
		else
			sum += swapped(net_sum(pkt->data + off, n, 0u));
		done += n;
		off = 0u;
	}
	return sum;
}

uint16_t net_fold(uint64_t sum)
{
	while (sum >> 16 != 0u)
		sum = (sum & 0xffffu) + (sum >> 16);
	return (uint16_t)~sum;
}

static void put_sum(uint8_t *field, uint64_t sum)
{
	uint16_t folded = net_fold(sum);

	memcpy(field, &folded, sizeof(folded));
}

/* ---- answers ---- */

void net_answer(struct nic *nic, const uint8_t *hdr, uint8_t *frame, uint8_t protocol, uint32_t len)
{
	static uint16_t id;
	uint8_t *ip = frame + ETH_HDR;

	memcpy(frame, hdr + 6, 6u);
	memcpy(frame + 6, nic->dev.mac, 6u);
	put16(frame + 12, 0x0800u);
	put16(ip, 0x4500u);
	put16(ip + 2, IP_HDR + len);
	put16(ip + 4, id++);
	put16(ip + 6, 0x4000u);
	ip[8] = TTL;
	ip[9] = protocol;
	put16(ip + 10, 0u);
	put32(ip + 12, NET_ADDRESS);
	memcpy(ip + 16, hdr + ETH_HDR + 12, 4u);
	put_sum(ip + 10, net_sum(ip, IP_HDR, 0u));
	nic_send(nic, frame, ETH_HDR + IP_HDR + len);
}

/* RFC 826: who has our address? */
static void arp(struct nic *nic, const struct vnetrx_pkt *pkt, const uint8_t *hdr)
{
	const uint8_t *request = hdr + ETH_HDR;
	uint8_t *frame, *reply;

	if (pkt->len < ETH_HDR + ARP_LEN || get32(request) != 0x00010800u || get32(request + 4) != 0x06040001u ||
	    get32(request + 24) != NET_ADDRESS)
		return;
	frame = nic_frame(nic);
	if (frame == NULL)
		return;
	net_stats.arps++;
	reply = frame + ETH_HDR;
	memcpy(frame, hdr + 6, 6u);
	memcpy(frame + 6, nic->dev.mac, 6u);
	put16(frame + 12, 0x0806u);
	memcpy(reply, request, 6u);
	put16(reply + 6, 2u);
	memcpy(reply + 8, nic->dev.mac, 6u);
	put32(reply + 14, NET_ADDRESS);
	memcpy(reply + 18, request + 8, 10u);
	nic_send(nic, frame, ETH_HDR + ARP_LEN);
}

/* RFC 792: the same back, as an answer. */
static void ping(const struct net_packet *p)
{
	uint32_t len = p->end - p->l4;
	uint8_t *frame, *reply;

	if (len < 8u || get16(p->hdr + p->l4) != 0x0800u || len > NIC_FRAME_MAX - ETH_HDR - IP_HDR ||
	    net_fold(net_sum_packet(p->pkt, p->l4, len, 0u)) != 0u)
		return;
	frame = nic_frame(p->nic);
	if (frame == NULL)
		return;
	net_stats.pings++;
	reply = frame + ETH_HDR + IP_HDR;
	(void)vnetrx_pkt_copy(p->pkt, p->l4, reply, len);
	put32(reply, 0u);
	put_sum(reply + 2, net_sum(reply, len, 0u));
	net_answer(p->nic, p->hdr, frame, PROTO_ICMP, len);
}

/* ---- input ---- */

/* Is it a whole packet for us, with a right header? QEMU's RSC joins packets and leaves the first one's checksum. */
static bool ip_right(const struct vnetrx_pkt *pkt, const uint8_t *ip)
{
	uint32_t hdr_len = (ip[0] & 15u) * 4u;
	bool rsc = (pkt->flags & VNETRX_PKT_RSC) != 0u;

	return ip[0] >> 4 == 4u && hdr_len >= IP_HDR && get16(ip + 2) >= hdr_len &&
	       get16(ip + 2) <= pkt->len - ETH_HDR && get32(ip + 16) == NET_ADDRESS &&
	       (get16(ip + 6) & 0x3fffu) == 0u && (rsc || net_fold(net_sum(ip, hdr_len, 0u)) == 0u);
}

static void ipv4(struct nic *nic, const struct vnetrx_pkt *pkt, const uint8_t *hdr)
{
	const uint8_t *ip = hdr + ETH_HDR;
	struct net_packet p = { .nic = nic, .pkt = pkt, .hdr = hdr };

	if (pkt->len < ETH_HDR + IP_HDR || !ip_right(pkt, ip)) {
		net_stats.ip_wrong++;
		return;
	}
	p.l4 = ETH_HDR + (ip[0] & 15u) * 4u;
	p.end = ETH_HDR + get16(ip + 2);
	if (ip[9] == PROTO_TCP)
		tcp_input(&p);
	else if (ip[9] == PROTO_ICMP)
		ping(&p);
	else
		net_stats.ignored++;
}

void net_input(struct nic *nic, const struct vnetrx_pkt *pkt)
{
	uint8_t scratch[HEADERS_MAX] = { 0 };
	const uint8_t *hdr = pkt->data;

	if (pkt->frag_len < HEADERS_MAX) {
		(void)vnetrx_pkt_copy(pkt, 0u, scratch, HEADERS_MAX);
		hdr = scratch;
	}
	switch (get16(hdr + 12)) {
	case 0x0800u:
		ipv4(nic, pkt, hdr);
		break;
	case 0x0806u:
		arp(nic, pkt, hdr);
		break;
	default:
		net_stats.ignored++;
	}
}
