/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring that the kernel fills (TPACKET_V2): nothing has to run while frames are sent. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pace.h"

#define SLOT  256u       /* bytes of the ring for each packet      */
#define BLOCK (1u << 20) /* bytes, that the kernel has in one piece */
#define KEPT  128u       /* bytes of each packet that are looked at */

struct pace_watch {
	int      sock;
	uint32_t slots;
	uint8_t *ring;
};

static int set(int sock, int level, int option, const void *value, socklen_t size)
{
	return setsockopt(sock, level, option, value, size);
}

static int start(struct pace_watch *w, unsigned index)
{
	struct sock_filter keep[] = { BPF_STMT(BPF_RET | BPF_K, KEPT) };
	struct sock_fprog filter = { .len = 1u, .filter = keep };
	struct tpacket_req req = { .tp_block_size = BLOCK, .tp_frame_size = SLOT };
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int version = TPACKET_V2;

	req.tp_block_nr = (w->slots + BLOCK / SLOT - 1u) / (BLOCK / SLOT);
	req.tp_frame_nr = w->slots = req.tp_block_nr * (BLOCK / SLOT);
	addr.sll_ifindex = (int)index;
	w->sock = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (w->sock < 0 || set(w->sock, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) != 0 ||
	    set(w->sock, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0 ||
	    set(w->sock, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)) != 0)
		return -1;
	w->ring = mmap(NULL, (size_t)w->slots * SLOT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, w->sock, 0);
	if (w->ring == MAP_FAILED) {
		w->ring = NULL;
		return -1;
	}
	return bind(w->sock, (struct sockaddr *)&addr, sizeof(addr));
}

struct pace_watch *pace_watch_new(const char *name, uint32_t packets)
{
	struct pace_watch *w = calloc(1u, sizeof(*w));
	unsigned index = if_nametoindex(name);

	if (w == NULL)
		return NULL;
	w->sock = -1;
	w->slots = packets;
	if (index != 0u && start(w, index) == 0)
		return w;
	fprintf(stderr, "vnetrx-pace: %s: %s\n", name, strerror(errno));
	pace_watch_delete(w);
	return NULL;
}

static uint32_t get16(const uint8_t *from)
{
	return (uint32_t)from[0] << 8 | from[1];
}

/* One packet of ours: what is in it, and how long it took. */
static void look(const uint8_t *frame, uint32_t len, uint64_t ns, const struct pace_frames *f, struct pace_seen *seen)
{
	uint32_t flow = get16(frame + 34) - PACE_PORT, seq, first, payload = len - PACE_HDR, ip_len = get16(frame + 16);

	memcpy(&seq, frame + 38, sizeof(seq));
	first = ntohl(seq) / f->payload * f->flows + flow;
	if (ip_len != len - 14u || payload % f->payload != 0u || flow >= f->flows || first >= f->count) {
		seen->wrong++;
		return;
	}
	seen->hold_ns[seen->packets++] = ns - f->sent_ns[first];
	seen->segs += payload / f->payload;
}

void pace_watch_read(struct pace_watch *w, const struct pace_frames *f, struct pace_seen *seen)
{
	struct tpacket_stats stats = { 0u, 0u };
	socklen_t len = sizeof(stats);
	uint32_t i;

	for (i = 0u; i < w->slots; i++) {
		struct tpacket2_hdr *hdr = (struct tpacket2_hdr *)(void *)(w->ring + (size_t)i * SLOT);
		const struct sockaddr_ll *from;
		const uint8_t *frame = (const uint8_t *)hdr + hdr->tp_mac;
		uint64_t ns = (uint64_t)hdr->tp_sec * 1000000000u + hdr->tp_nsec;

		if ((hdr->tp_status & TP_STATUS_USER) == 0u)
			break;
		from = (const struct sockaddr_ll *)(const void *)((const uint8_t *)hdr +
								  TPACKET_ALIGN((int)sizeof(struct tpacket2_hdr)));
		if (from->sll_pkttype != PACKET_OUTGOING && hdr->tp_snaplen >= PACE_HDR &&
		    get16(frame + 12) == ETH_P_IP && get16(frame + 26) == 198u * 256u + 18u)
			look(frame, hdr->tp_len, ns, f, seen);
		hdr->tp_status = TP_STATUS_KERNEL;
	}
	if (getsockopt(w->sock, SOL_PACKET, PACKET_STATISTICS, &stats, &len) == 0)
		seen->lost += stats.tp_drops;
}

void pace_watch_delete(struct pace_watch *w)
{
	if (w->ring != NULL)
		munmap(w->ring, (size_t)w->slots * SLOT);
	if (w->sock >= 0)
		close(w->sock);
	free(w);
}
