#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Records the captures of this folder anew, between two network namespaces that it makes and removes.
#
#   namespace vnrx-a (10.77.0.1, fd00:77::1) --veth va/vb--> namespace vnrx-b (10.77.0.2, fd00:77::2)
#
# Captured is what arrives at vb, and only that: what a receive queue there would see.
#
# Needs root, iproute2, ethtool, tcpdump, iperf3, gzip and cc. Payloads repeat, so that the files compress well.
set -eu

cd "$(dirname "$0")"
tmp=$(mktemp -d)
pids=

cleanup()
{
	for pid in $pids; do
		kill "$pid" 2>/dev/null || true
	done
	ip netns del vnrx-a 2>/dev/null || true
	ip netns del vnrx-b 2>/dev/null || true
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

in_a() { ip netns exec vnrx-a "$@"; }
in_b() { ip netns exec vnrx-b "$@"; }

setup()
{
	ip netns add vnrx-a
	ip netns add vnrx-b
	ip -n vnrx-a link add va type veth peer name vb netns vnrx-b
	ip -n vnrx-a addr add 10.77.0.1/24 dev va
	ip -n vnrx-b addr add 10.77.0.2/24 dev vb
	ip -n vnrx-a addr add fd00:77::1/64 dev va nodad
	ip -n vnrx-b addr add fd00:77::2/64 dev vb nodad
	for ns in a b; do
		ip -n vnrx-$ns link set lo up
		ip -n vnrx-$ns link set v$ns up
	done
	cc -O2 -D_GNU_SOURCE -o "$tmp/rpc" rpc.c
	sleep 2
}

# offloads on|off: with off every frame is at most 1514 bytes and carries its own checksum
offloads()
{
	in_a ethtool -K va tx "$1" tso "$1" gso "$1" gro "$1" >/dev/null 2>&1
	in_b ethtool -K vb tx "$1" tso "$1" gso "$1" gro "$1" >/dev/null 2>&1
}

# record NAME PACKETS COMMAND...: what arrives at vb while COMMAND runs
record()
{
	name=$1 count=$2
	shift 2
	ip netns exec vnrx-b tcpdump -i vb -Q in -s 0 -c "$count" -B 32768 --time-stamp-precision=nano \
		-w "$tmp/$name.pcap" tcp or udp \
		2>"$tmp/log" &
	dump=$!
	sleep 1
	"$@" >/dev/null
	sleep 1
	kill "$dump" 2>/dev/null || true
	wait "$dump" || true
	gzip -9n <"$tmp/$name.pcap" >"$name.pcap.gz"
	ls -l "$name.pcap.gz"
}

setup
ip netns exec vnrx-b iperf3 -s >/dev/null &
pids="$pids $!"
ip netns exec vnrx-a "$tmp/rpc" serve 10.77.0.1 7000 &
pids="$pids $!"
sleep 1

offloads off
record bulk-ipv4 3000 in_a iperf3 -c 10.77.0.2 --repeating-payload -n 8M
record bulk-ipv6 3000 in_a iperf3 -c fd00:77::2 --repeating-payload -n 8M
record flows     4000 in_a iperf3 -c 10.77.0.2 --repeating-payload -P 32 -n 64M
record rpc       4000 in_b "$tmp/rpc" call 10.77.0.1 7000 8 600 256 1000
record mixed     3000 in_b "$tmp/rpc" call 10.77.0.1 7000 12 80 2000 60000
record udp       800  in_a iperf3 -u -c 10.77.0.2 --repeating-payload -b 60M -l 1200 -t 1
in_a tc qdisc add dev va root tbf rate 300mbit burst 3100 latency 50ms
record paced     2400 in_a iperf3 -c 10.77.0.2 --repeating-payload -n 4M
in_a tc qdisc del dev va root
offloads on
record gso        200 in_a iperf3 -c 10.77.0.2 --repeating-payload -n 64M
