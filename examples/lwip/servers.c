/* SPDX-License-Identifier: BSD-3-Clause */
#include "servers.h"

#include <stdlib.h>

#include "lwip/tcp.h"

/* A connection of the echo server. */
struct echo {
	struct servers *s;
	struct pbuf    *first; /* what is still to be sent back    */
	bool            ended; /* the other side sends no more     */
};

/* ---- sink ---- */

static err_t sink_received(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
	struct servers *s = arg;

	(void)err;
	if (p == NULL)
		return tcp_close(pcb);
	s->bytes += p->tot_len;
	tcp_recved(pcb, p->tot_len);
	pbuf_free(p);
	return ERR_OK;
}

static err_t sink_accepted(void *arg, struct tcp_pcb *pcb, err_t err)
{
	struct servers *s = arg;

	if (err != ERR_OK)
		return err;
	s->conns++;
	tcp_arg(pcb, s);
	tcp_recv(pcb, sink_received);
	return ERR_OK;
}

/* ---- echo ---- */

static void echo_over(void *arg, err_t err)
{
	struct echo *e = arg;

	(void)err;
	if (e->first != NULL)
		pbuf_free(e->first);
	free(e);
}

static err_t echo_close(struct echo *e, struct tcp_pcb *pcb)
{
	tcp_arg(pcb, NULL);
	tcp_recv(pcb, NULL);
	tcp_sent(pcb, NULL);
	tcp_err(pcb, NULL);
	echo_over(e, ERR_OK);
	return tcp_close(pcb);
}

/* Sends back what there is room for; the window opens as that goes. */
static err_t echo_some(struct echo *e, struct tcp_pcb *pcb)
{
	while (e->first != NULL) {
		struct pbuf *p = e->first;
		u16_t room = tcp_sndbuf(pcb), len = LWIP_MIN(p->len, room);

		if (len == 0u || tcp_write(pcb, p->payload, len, TCP_WRITE_FLAG_COPY) != ERR_OK)
			break;
		e->s->echoed += len;
		tcp_recved(pcb, len);
		e->first = pbuf_free_header(p, len);
	}
	(void)tcp_output(pcb);
	return e->ended && e->first == NULL ? echo_close(e, pcb) : ERR_OK;
}

static err_t echo_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
	(void)len;
	return echo_some(arg, pcb);
}

static err_t echo_received(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
	struct echo *e = arg;

	(void)err;
	if (p == NULL) {
		e->ended = true;
	} else {
		e->s->bytes += p->tot_len;
		if (e->first != NULL)
			pbuf_cat(e->first, p);
		else
			e->first = p;
	}
	return echo_some(e, pcb);
}

static err_t echo_accepted(void *arg, struct tcp_pcb *pcb, err_t err)
{
	struct echo *e = err == ERR_OK ? calloc(1u, sizeof(*e)) : NULL;

	if (e == NULL)
		return ERR_MEM;
	e->s = arg;
	e->s->conns++;
	tcp_arg(pcb, e);
	tcp_recv(pcb, echo_received);
	tcp_sent(pcb, echo_sent);
	tcp_err(pcb, echo_over);
	return ERR_OK;
}

/* ---- both ---- */

static bool listen_on(struct servers *s, u16_t port, tcp_accept_fn accepted)
{
	struct tcp_pcb *pcb = tcp_new();

	if (pcb == NULL || tcp_bind(pcb, IP_ADDR_ANY, port) != ERR_OK)
		return false;
	pcb = tcp_listen(pcb);
	if (pcb == NULL)
		return false;
	tcp_arg(pcb, s);
	tcp_accept(pcb, accepted);
	return true;
}

bool servers_start(struct servers *s)
{
	return listen_on(s, 5001u, sink_accepted) && listen_on(s, 7u, echo_accepted);
}
