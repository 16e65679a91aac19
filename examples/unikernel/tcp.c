/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp.h"

#include "print.h"

void *memcpy(void *restrict dst, const void *restrict src, size_t n);

#define CONNS        16u
#define TCP_HDR      20u
#define PROTO_TCP    6u
#define MSS          1460u
#define WINDOW       (1u << 21) /* what may be on its way; nothing here ever fills it */
#define WINDOW_SCALE 7u
#define ACK_DELAY_NS 1000000u
#define RESEND_NS    200000000u
#define RESENDS      5u

#define FIN 0x01u
#define SYN 0x02u
#define RST 0x04u
#define ACK 0x10u

#define ADLER       65521u
#define ADLER_BYTES 5552u /* so many may be added before the sums have to be reduced (RFC 1950, zlib) */

enum state { CLOSED = 0, SYN_RECEIVED, ESTABLISHED, LAST_ACK };

struct conn {
	enum state state;
	uint32_t   peer;         /* address                                        */
	uint16_t   peer_port;
	uint16_t   port;
	uint32_t   rcv_nxt;
	uint32_t   snd_nxt;      /* behind the SYN; never moves but by the FIN     */
	uint32_t   unacked;      /* segments                                       */
	bool       scaled;       /* both sides scale windows                       */
	vnetrx_ns  due;          /* ACK, or the FIN again; VNETRX_NEVER = nothing  */
	unsigned   resends;      /* of the FIN                                     */
	uint8_t    hdr[ETH_HDR + IP_HDR]; /* of a packet of the peer, for the way back */
	uint64_t   bytes;
	uint64_t   acks;
	vnetrx_ns  first;
	vnetrx_ns  last;
	uint32_t   adler[2];
};

struct segment {
	const struct net_packet *p;
	const uint8_t *tcp;
	uint32_t seq;
	uint32_t ack;
	uint32_t data; /* offset of the payload in the packet */
	uint32_t len;  /* of the payload                      */
	uint32_t flags;
};

struct tcp_stats tcp_stats;
static struct conn conns[CONNS];
static unsigned open_num;
static vnetrx_ns now_ns;
static vnetrx_ns next_due = VNETRX_NEVER;
static bool sums_wanted;
static uint32_t isn;

void tcp_init(bool sums, uint32_t secret)
{
	sums_wanted = sums;
	isn = secret;
}

unsigned tcp_open(void)
{
	return open_num;
}

/* ---- sending ---- */

/* The sum of the pseudo-header of a packet between these two addresses, `ip` being its IPv4 header. */
static uint64_t pseudo(const uint8_t *ip, uint32_t len)
{
	uint8_t rest[4] = { 0u, PROTO_TCP };

	put16(rest + 2, len);
	return net_sum(rest, sizeof(rest), net_sum(ip + 12, 8u, 0u));
}

/* Writes a header with `options` bytes of options, which the caller has put behind it, and sends. */
static void emit(struct nic *nic, const uint8_t *hdr, uint8_t *frame, const struct conn *c, uint32_t flags,
		 uint32_t options)
{
	uint8_t *tcp = frame + ETH_HDR + IP_HDR;
	uint32_t len = TCP_HDR + options;
	uint32_t window = (flags & SYN) == 0u && c->scaled ? WINDOW >> WINDOW_SCALE : 0xffffu;
	uint16_t sum;

	put16(tcp, c->port);
	put16(tcp + 2, c->peer_port);
	put32(tcp + 4, (flags & (SYN | FIN)) != 0u ? c->snd_nxt - 1u : c->snd_nxt);
	put32(tcp + 8, (flags & ACK) != 0u ? c->rcv_nxt : 0u);
	put16(tcp + 12, len / 4u << 12 | flags);
	put16(tcp + 14, window);
	put32(tcp + 16, 0u);
	/* the same addresses the other way round: the same sum */
	sum = net_fold(net_sum(tcp, len, pseudo(hdr + ETH_HDR, len)));
	memcpy(tcp + 16, &sum, sizeof(sum));
	net_answer(nic, hdr, frame, PROTO_TCP, len);
}

static void send(struct nic *nic, struct conn *c, uint32_t flags)
{
	uint8_t *frame = nic_frame(nic);
	uint8_t *options;

	if (frame == NULL)
		return;
	options = frame + ETH_HDR + IP_HDR + TCP_HDR;
	put32(options, 2u << 24 | 4u << 16 | MSS);
	put32(options + 4, 1u << 24 | 3u << 16 | 3u << 8 | WINDOW_SCALE);
	emit(nic, c->hdr, frame, c, flags, (flags & SYN) == 0u ? 0u : c->scaled ? 8u : 4u);
	if ((flags & SYN) == 0u) {
		tcp_stats.acks++;
		c->acks++;
		c->unacked = 0u;
		c->due = VNETRX_NEVER;
	}
}

/* To a segment that belongs to nothing (RFC 9293, 3.10.7.1). */
static void refuse(const struct segment *s)
{
	struct conn none = { .port = (uint16_t)get16(s->tcp + 2), .peer_port = (uint16_t)get16(s->tcp) };
	uint8_t *frame;

	if ((s->flags & RST) != 0u)
		return;
	frame = nic_frame(s->p->nic);
	if (frame == NULL)
		return;
	tcp_stats.refused++;
	none.snd_nxt = (s->flags & ACK) != 0u ? s->ack : 0u;
	none.rcv_nxt = s->seq + s->len + ((s->flags & SYN) != 0u ? 1u : 0u) + ((s->flags & FIN) != 0u ? 1u : 0u);
	emit(s->p->nic, s->p->hdr, frame, &none, (s->flags & ACK) != 0u ? RST : RST | ACK, 0u);
}

/* ---- connections ---- */

static void set_due(struct conn *c, vnetrx_ns after)
{
	c->due = now_ns + after;
	if (c->due < next_due)
		next_due = c->due;
}

static struct conn *find(const struct segment *s, uint32_t peer)
{
	unsigned i;

	for (i = 0u; i < CONNS; i++)
		if (conns[i].state != CLOSED && conns[i].peer == peer && conns[i].peer_port == get16(s->tcp) &&
		    conns[i].port == get16(s->tcp + 2))
			return &conns[i];
	return NULL;
}

static void drop(struct conn *c)
{
	uint64_t ns = c->last - c->first;

	print("closed: %u bytes in %u us, %u Mbit/s, %u ACKs", c->bytes, ns / 1000u,
	      ns != 0u ? c->bytes * 8000u / ns : (uint64_t)0, c->acks);
	if (sums_wanted)
		print(", Adler-32 %x", (uint64_t)(c->adler[1] << 16 | c->adler[0]));
	print("\n");
	c->state = CLOSED;
	open_num--;
	tcp_stats.closed++;
}

/* Does the SYN offer window scaling? */
static bool scales(const struct segment *s)
{
	uint32_t off = TCP_HDR, end = (uint32_t)(s->tcp[12] >> 4) * 4u;

	while (off < end && s->tcp[off] != 0u) {
		if (s->tcp[off] == 1u) {
			off++;
			continue;
		}
		if (s->tcp[off] == 3u)
			return true;
		if (off + 1u >= end || s->tcp[off + 1u] < 2u)
			break;
		off += s->tcp[off + 1u];
	}
	return false;
}

static void open(const struct segment *s, uint32_t peer)
{
	struct conn *c = conns;

	while (c < conns + CONNS && c->state != CLOSED)
		c++;
	if (c == conns + CONNS)
		return; /* the peer tries again */
	isn += 64000u + (uint32_t)now_ns;
	*c = (struct conn){
		.state = SYN_RECEIVED,
		.peer = peer,
		.peer_port = (uint16_t)get16(s->tcp),
		.port = TCP_PORT,
		.rcv_nxt = s->seq + 1u,
		.snd_nxt = isn + 1u,
		.scaled = scales(s),
		.due = VNETRX_NEVER,
		.first = now_ns,
		.last = now_ns,
		.adler = { 1u, 0u },
	};
	memcpy(c->hdr, s->p->hdr, sizeof(c->hdr));
	open_num++;
	send(s->p->nic, c, SYN | ACK);
}

/* ---- data ---- */

static void adler_add(uint32_t sum[2], const uint8_t *p, uint32_t len)
{
	while (len > 0u) {
		uint32_t n = len < ADLER_BYTES ? len : ADLER_BYTES;

		len -= n;
		for (; n > 0u; n--) {
			sum[0] += *p++;
			sum[1] += sum[0];
		}
		sum[0] %= ADLER;
		sum[1] %= ADLER;
	}
}

/* The bytes of a packet from `off` on. */
static void consume(struct conn *c, const struct vnetrx_pkt *pkt, uint32_t off, uint32_t len)
{
	c->bytes += len;
	tcp_stats.bytes += len;
	for (; sums_wanted && pkt != NULL && len > 0u; pkt = pkt->chain) {
		uint32_t n;

		if (off >= pkt->frag_len) {
			off -= pkt->frag_len;
			continue;
		}
		n = pkt->frag_len - off < len ? pkt->frag_len - off : len;
		adler_add(c->adler, pkt->data + off, n);
		len -= n;
		off = 0u;
	}
}

/* Segments in a packet: a merged one of unknown number counts by its length. */
static uint32_t segs_of(const struct segment *s)
{
	if (s->p->pkt->segs > 1u)
		return s->p->pkt->segs;
	return s->len > MSS ? (s->len + MSS - 1u) / MSS : 1u;
}

static void data(struct conn *c, const struct segment *s)
{
	uint32_t behind = c->rcv_nxt - s->seq; /* bytes that are known already, if it begins before rcv_nxt */
	uint32_t segs = segs_of(s);
	bool fin = (s->flags & FIN) != 0u;

	tcp_stats.packets += s->len != 0u ? 1u : 0u;
	tcp_stats.segs += s->len != 0u ? segs : 0u;
	if (behind > s->len || (behind == s->len && s->len != 0u && !fin)) {
		if (behind - s->len < WINDOW && behind != 0u)
			tcp_stats.old++;
		else
			tcp_stats.disorder++;
		tcp_stats.dup_acks++;
		send(s->p->nic, c, ACK);
		return;
	}
	consume(c, s->p->pkt, s->data + behind, s->len - behind);
	c->rcv_nxt = s->seq + s->len;
	c->unacked += segs;
	c->last = now_ns;
	if (fin) {
		c->rcv_nxt++;
		c->snd_nxt++;
		c->state = LAST_ACK;
		send(s->p->nic, c, FIN | ACK);
		set_due(c, RESEND_NS);
	} else if (c->unacked >= 2u) {
		send(s->p->nic, c, ACK);
	} else if (c->due == VNETRX_NEVER) {
		set_due(c, ACK_DELAY_NS);
	}
}

static void established(struct conn *c, const struct segment *s)
{
	if ((s->flags & RST) != 0u) {
		if (s->seq - c->rcv_nxt < WINDOW) {
			tcp_stats.resets++;
			drop(c);
		}
	} else if ((s->flags & SYN) != 0u) {
		send(s->p->nic, c, c->state == SYN_RECEIVED ? SYN | ACK : ACK);
	} else if ((s->flags & ACK) == 0u || s->ack != c->snd_nxt) {
		if (c->state == LAST_ACK)
			set_due(c, RESEND_NS); /* of what was sent before our FIN */
	} else if (c->state == LAST_ACK) {
		drop(c);
	} else {
		if (c->state == SYN_RECEIVED) {
			c->state = ESTABLISHED;
			c->first = now_ns;
			tcp_stats.accepted++;
		}
		if (s->len != 0u || (s->flags & FIN) != 0u)
			data(c, s);
		else if (s->seq != c->rcv_nxt)
			send(s->p->nic, c, ACK); /* asks whether we are still here (RFC 9293, 3.8.4) */
	}
}

/* ---- input ---- */

/* What the device or the engine vouches for is right; the rest is added up. */
static bool csum_right(const struct net_packet *p)
{
	uint32_t len = p->end - p->l4;

	if ((p->pkt->flags & (VNETRX_PKT_CSUM_OK | VNETRX_PKT_PARTIAL | VNETRX_PKT_RSC)) != 0u)
		return true;
	return net_fold(net_sum_packet(p->pkt, p->l4, len, pseudo(p->hdr + ETH_HDR, len))) == 0u;
}

void tcp_input(const struct net_packet *p)
{
	struct segment s = { .p = p, .tcp = p->hdr + p->l4 };
	uint32_t peer = get32(p->hdr + ETH_HDR + 12);
	uint32_t hdr_len;
	struct conn *c;

	if (p->end - p->l4 < TCP_HDR)
		return;
	hdr_len = (uint32_t)(s.tcp[12] >> 4) * 4u;
	if (hdr_len < TCP_HDR || hdr_len > p->end - p->l4)
		return;
	if (!csum_right(p)) {
		tcp_stats.csum_bad++;
		return;
	}
	s.seq = get32(s.tcp + 4);
	s.ack = get32(s.tcp + 8);
	s.flags = s.tcp[13];
	s.data = p->l4 + hdr_len;
	s.len = p->end - s.data;
	c = find(&s, peer);
	if (c != NULL)
		established(c, &s);
	else if (get16(s.tcp + 2) == TCP_PORT && (s.flags & (SYN | ACK | RST)) == SYN)
		open(&s, peer);
	else
		refuse(&s);
}

/* ---- time ---- */

static void due(struct nic *nic, struct conn *c)
{
	if (c->state != LAST_ACK) {
		send(nic, c, ACK);
	} else if (c->resends++ == RESENDS) {
		drop(c);
	} else {
		send(nic, c, FIN | ACK);
		set_due(c, RESEND_NS);
	}
}

void tcp_tick(struct nic *nic, vnetrx_ns now)
{
	unsigned i;

	now_ns = now;
	if (now < next_due)
		return;
	next_due = VNETRX_NEVER;
	for (i = 0u; i < CONNS; i++) {
		struct conn *c = &conns[i];

		if (c->state != CLOSED && c->due <= now)
			due(nic, c);
		if (c->state != CLOSED && c->due < next_due)
			next_due = c->due;
	}
}
