/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine that is one program: it answers ARP and ping at 10.0.2.15, receives what iperf 2 sends, and prints what its
 * receive path counted.
 *
 *   nic (virtio-mmio, vnetrx) --> net (ARP, IPv4, ping) --> tcp (receiver)
 *
 * The code with which it ends: 0 all connections were served; 1 something was dropped or broke; 2 there is no network
 * device that can be used; 3 the time was up; 64 a trap.
 */
#include "machine.h"
#include "net.h"
#include "options.h"
#include "print.h"
#include "tcp.h"

enum { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_DEVICE = 2, EXIT_TIME = 3 };

#define SECOND    1000000000u
#define LINGER_NS 100000000u /* after the last connection: our last ACK may have to be repeated */

static struct nic nic;

/* Mixes the clock's bits; a machine without a source of random numbers has nothing better. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (x ^ x >> 31) | 1u;
}

static void report(void)
{
	const struct net_stats *n = &net_stats;
	const struct tcp_stats *t = &tcp_stats;

	print("net.arps %u  ARP requests answered\n", n->arps);
	print("net.pings %u  pings answered\n", n->pings);
	print("net.ip_wrong %u  IPv4 packets ignored: wrong, or not for us\n", n->ip_wrong);
	print("net.ignored %u  packets of other kinds ignored\n", n->ignored);
	print("tcp.packets %u  packets with payload, as they came up\n", t->packets);
	print("tcp.segs %u  segments in them\n", t->segs);
	print("tcp.bytes %u  bytes received in order\n", t->bytes);
	print("tcp.acks %u  ACKs sent\n", t->acks);
	print("tcp.dup_acks %u  of these: for what was not the next\n", t->dup_acks);
	print("tcp.disorder %u  packets dropped because they were not the next\n", t->disorder);
	print("tcp.old %u  packets that brought nothing new\n", t->old);
	print("tcp.csum_bad %u  packets with a wrong checksum\n", t->csum_bad);
	print("tcp.refused %u  segments answered with RST\n", t->refused);
	print("tcp.resets %u  connections reset by the peer\n", t->resets);
	print("tcp.accepted %u  connections established\n", t->accepted);
	print("tcp.closed %u  connections that came to their end\n", t->closed);
}

/* Until enough connections were served, or the time is up. */
static unsigned run(const struct options *o)
{
	vnetrx_ns start = machine_now();
	vnetrx_ns end = o->seconds != 0u ? start + (vnetrx_ns)o->seconds * SECOND : VNETRX_NEVER;
	vnetrx_ns stop = VNETRX_NEVER;

	for (;;) {
		vnetrx_ns now = machine_now();

		tcp_tick(&nic, now);
		if (nic_poll(&nic, now))
			continue;
		if (stop == VNETRX_NEVER && o->connections != 0u && tcp_stats.closed >= o->connections &&
		    tcp_open() == 0u)
			stop = now + LINGER_NS;
		if (now >= stop)
			return EXIT_GOOD;
		if (now >= end)
			return EXIT_TIME;
	}
}

int main(void)
{
	struct options o;
	uint64_t key[2];
	unsigned code;

	machine_init();
	o = options_read();
	key[0] = mix(machine_now() + 1u);
	key[1] = mix(key[0] + machine_now());
	tcp_init((o.flags & OPTIONS_SUM) != 0u, (uint32_t)key[1]);
	print("libvnetrx on %s, GRO %s\n", machine.name, (o.flags & OPTIONS_NO_GRO) != 0u ? "off" : "on");
	if (!nic_init(&nic, (o.flags & OPTIONS_NO_GRO) == 0u, key))
		return EXIT_DEVICE;
	print("features %x\n", nic.dev.plan.accept.word[0]);
	print("ready at 10.0.2.15, TCP port %u\n", (uint64_t)TCP_PORT);
	code = run(&o);
	nic_flush(&nic);
	report();
	if (!nic_report(&nic) && code == EXIT_GOOD)
		code = EXIT_BAD;
	print("end %u\n", (uint64_t)code);
	return (int)code;
}
