# SPDX-License-Identifier: BSD-3-Clause
# The kernel's own GRO beside ours. Sourced.
#
#	kernel:  a, ka ---- kb, b       veth with GRO; frames without a flow hash, and with one
#	         pace ----> tk, b       TAP with IFF_NAPI; its frames never have a hash
#	ours:    a, va ---- vb, x       veth, AF_XDP, vnetrx-box ---- tb, b
#
# The same frames at the same pace, one row for each number of flows. The longest time that the kernel held a packet,
# with a hash, is given to ours as bound, with the quiet time that the kernel has.

pace=build/release/examples/vnetrx-pace
quiet_ns=5000000 # more than a tick: else each frame costs the kernel a new setting of the hardware's timer
gap_ns=2000
frames=40000
payload=536 # the MSS where nobody says another (RFC 9293, 3.7.1)

# paced NAME FROM TO FLOWS
paced()
{
	taskset -c 0 nice -n -20 $pace "$2" "$3" "$4" $payload $frames $gap_ns >"$world/$1.json"
}

# whole FUNCTION NAME ARG...: runs it until every frame came out and the pace was held; $tries times at most. A machine
# that stands still for some milliseconds loses frames, on whichever side.
whole()
{
	for try in $(seq "$tries"); do
		"$@"
		if [ "$(value "$2" segs)" = $frames ] && [ "$(value "$2" wrong)" = 0 ] &&
			{ [ "${2#tap}" != "$2" ] || [ "$(value "$2" pace_ns)" -le $((gap_ns + gap_ns / 50)) ]; }; then
			return 0
		fi
		echo "$2, try $try: $(value "$2" segs) of $frames segments," \
			"$(value "$2" pace_ns) ns from frame to frame"
		sleep 0.5
	done
	check "$2: segments that came out" "$(value "$2" segs)" = $frames
}

# ours NAME FROM FLOWS HOLD_NS. Frames are copied: chunks that come back at once are warm when the sender's half of
# AF_XDP writes into them, which takes a third of its time for each frame (docs/performance.md). A box that has just
# been started loses frames while the kernel finds memory for its first packets, so that all are sent once before.
ours()
{
	BOX_IN=xdp:x/vb BOX_A=va BOX_WITH='taskset -c 1 nice -n -20' \
		box_start "box-$1" --busy --copy-max 640 --flush-timeout $quiet_ns --hold-max "$4"
	paced warm "$2" b/tb "$3"
	paced "$1" "$2" b/tb "$3"
	stop_box "$1" >"$world/stopped"
	grep '^not ok' "$world/stopped" || true
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
		whole paced "kernel$flows$hash" "${hash}a/ka" b/kb "$flows"
	done
	whole paced "tap$flows" tap:b/tk b/tk "$flows"
	hold=$(value "kernel${flows}hash:" hold_ns)
	for hash in '' hash:; do
		whole ours "ours$flows$hash" "${hash}a/va" "$flows" "$hold"
	done
	printf '%5s  %6s %6s %6s  %6s %6s %6s  %6s %6s  %6s %6s\n' "$flows" \
		"$(us "$hold")" "$(us "$(value "ours${flows}hash:" hold_ns)")" \
		"$(us $((flows * $(value "kernel${flows}hash:" pace_ns))))" \
		"$(value "kernel$flows" per_packet)" "$(value "tap$flows" per_packet)" \
		"$(value "ours$flows" per_packet)" "$(value "kernel${flows}hash:" per_packet)" \
		"$(value "ours${flows}hash:" per_packet)" "$(value "kernel${flows}hash:" pace_ns)" \
		"$(value "tap$flows" pace_ns)" >>"$world/table"
}

peers_checks()
{
	flows=$1
	paced_ns=$(value "kernel${flows}hash:" pace_ns)
	for name in kernel$flows kernel${flows}hash: ours$flows ours${flows}hash:; do
		check "$name: ns from frame to frame" "$(value "$name" pace_ns)" '<=' $((gap_ns + gap_ns / 50))
	done
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
	cat <<'END'
Holds and gaps in us: the longest of the kernel and of ours, with a hash, and a flow's own gap. Segments in each packet.
Pace in ns from frame to frame; a TAP takes frames more slowly.

           holds          gap      without a hash      with a hash       pace
flows  kernel   ours   a flow    veth    TAP   ours    veth   ours    veth    TAP
END
	cat "$world/table"
	for flows in 1 8 16 64; do
		peers_checks $flows
	done
	ip -n a link del ka
	ip -n a link del va
	ip -n b link del tk
}
