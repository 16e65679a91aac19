# SPDX-License-Identifier: BSD-3-Clause
# The kernel's own GRO beside ours. Sourced.
#
#	kernel:  a, ka ---- kb, b       veth with GRO; frames without a flow hash, and with one
#	         pace ----> tk, b       TAP with IFF_NAPI; its frames never have a hash
#	ours:    a, va ---- vb, x       veth, AF_XDP, vnetrx-box ---- tb, b
#
# The same frames at the same pace, one row for each number of flows. The longest time that the kernel held a packet, with
# a hash, is given to ours as bound, with the quiet time that the kernel has.

pace=build/release/examples/vnetrx-pace
quiet_ns=1000000
gap_ns=2000
payload=1448

# paced NAME FROM TO FLOWS
paced()
{
	taskset -c 0 $pace "$2" "$3" "$4" $payload "$frames" $gap_ns >"$world/$1.json"
	[ "$(value "$1" wrong)" = 0 ] || check "$1: packets that are not what was sent" "$(value "$1" wrong)" = 0
}

# ours NAME FROM FLOWS HOLD_NS
ours()
{
	BOX_IN=xdp:x/vb BOX_A=va BOX_WITH='taskset -c 1' \
		box_start "box-$1" --flush-timeout $quiet_ns --hold-max "$4"
	paced "$1" "$2" b/tb "$3"
	stop_box "$1" >"$world/stopped"
	! grep '^not ok' "$world/stopped" || world_missed=$((world_missed + 1))
}

flush_timeout()
{
	at b sh -c "echo $quiet_ns >/sys/class/net/$1/gro_flush_timeout"
}

us()
{
	ratio "$1" 1000 %.0f
}

peers_row()
{
	flows=$1
	for hash in '' hash:; do
		paced "kernel$flows$hash" "${hash}a/ka" b/kb "$flows"
	done
	paced "tap$flows" tap:b/tk b/tk "$flows"
	hold=$(value "kernel${flows}hash:" hold_ns)
	for hash in '' hash:; do
		ours "ours$flows$hash" "${hash}a/va" "$flows" "$hold"
	done
	printf '%5s %8s  %8s %8s  %8s %8s %8s %8s %8s\n' "$flows" \
		"$(us "$hold")" "$(us "$(value "ours${flows}hash:" hold_ns)")" \
		"$(us $((flows * $(value "kernel${flows}hash:" pace_ns))))" \
		"$(value "kernel$flows" per_packet)" "$(value "tap$flows" per_packet)" "$(value "ours$flows" per_packet)" \
		"$(value "kernel${flows}hash:" per_packet)" "$(value "ours${flows}hash:" per_packet)" >>"$world/table"
}

peers_checks()
{
	flows=$1
	paced_ns=$(value "kernel${flows}hash:" pace_ns)
	check "$flows flows: ns from frame to frame" "$paced_ns" '<=' $((gap_ns + 50))
	check "$flows flows: the kernel's longest hold, in gaps of a flow" \
		"$(ratio "$(value "kernel${flows}hash:" hold_ns)" $((flows * paced_ns)) %.0f)" '>=' 20
	for peer in kernel tap; do
		check "$flows flows, no hash: segments in each packet; limit: the kernel's, $peer" \
			"$(value "ours$flows" per_packet)" '>=' "$(value "$peer$flows" per_packet)"
	done
	check "$flows flows, with a hash: segments in each packet; limit: the kernel's" \
		"$(value "ours${flows}hash:" per_packet)" '>=' "$(value "kernel${flows}hash:" per_packet)"
	[ "$flows" -lt 16 ] || check "$flows flows, no hash: segments in each packet" \
		"$(value "ours$flows" per_packet)" '>=' 20
}

stage_peers()
{
	frames=$((mib * 40))
	cable a ka b kb 1500
	cable a va x vb 1500
	at b ethtool -K kb gro on >/dev/null
	ip -n b tuntap add dev tk mode tap
	ip -n b link set tk up
	flush_timeout kb
	flush_timeout tk
	for flows in 1 8 16 64; do
		peers_row $flows
	done
	echo 'Segments in each packet; times in us'
	printf '%5s %8s  %8s %8s  %8s %8s %8s %8s %8s\n' flows hold '' "a flow's" no hash: '' '' with hash: \
		'' kernel ours gap veth TAP ours veth ours
	cat "$world/table"
	for flows in 1 8 16 64; do
		peers_checks $flows
	done
	ip -n a link del ka
	ip -n a link del va
	ip -n b link del tk
}
