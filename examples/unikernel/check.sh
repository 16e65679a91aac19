# SPDX-License-Identifier: BSD-3-Clause
# What the unikernel promises, measured. Sourced by run.sh after guest.sh, with a machine selected and built.
#
#	smoke   boots, talks frame by frame, receives from iperf 2 over the user network: needs no rights
#	check   the same, and over TAP: merged packets of 64 KB, RSC, byte-exactness, rates with and without GRO
#
# Each line begins with ok, not ok or skip; true if none was not ok.

check_bad=0
check_dir=$(mktemp -d "${TMPDIR:-/tmp}/unikernel.XXXXXX") || exit 2
trap 'guest_kill; rm -rf "$check_dir"' EXIT
trap 'exit 130' INT TERM

# verdict RESULT TEXT
verdict()
{
	if [ "$1" = 0 ]; then
		echo "ok - $guest_arch: $2"
	else
		echo "not ok - $guest_arch: $2"
		check_bad=1
	fi
}

# is TEXT VALUE OP LIMIT: numbers; OP is one of = <= >=
is()
{
	awk -v a="$2" -v op="$3" -v b="$4" 'BEGIN {
		if (a == "" || b == "") exit 1
		exit !(op == "=" ? a + 0 == b + 0 : op == "<=" ? a + 0 <= b + 0 : a + 0 >= b + 0)
	}'
	verdict $? "$1: $2 (limit: $3 $4)"
}

# ratio A B: to three digits
ratio()
{
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f\n", (b > 0 ? a / b : 0) }'
}

# median FILE
median()
{
	sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# The end of a run: its code, and the serial line if that is not 0.
ends_well()
{
	guest_end
	is "$1: exit code" $guest_code = 0
	[ $guest_code = 0 ] || cat "$guest_log"
}

# iperf_to SECONDS HOST ARG...: Mbit/s
# Reno paces nothing; BBR, the default of some hosts, would take the doorbells' rhythm for the network's bandwidth.
iperf_to()
{
	iperf_for=$1
	shift
	timeout -k 2 $((iperf_for + 15)) iperf -Z reno -t "$iperf_for" -y C -c "$@" </dev/null 2>/dev/null |
		awk -F , 'END { printf "%.0f\n", $9 / 1e6 }'
}

# ---- without rights ----

frame_by_frame()
{
	check_frames="dgram,id=n,local.type=unix,local.path=$check_dir/q"
	check_frames="$check_frames,remote.type=unix,remote.path=$check_dir/p"
	guest_boot $guest_sum 2 30 "$check_frames" || { verdict 1 'boots'; return; }
	verdict 0 'boots'
	timeout -k 2 30 python3 $guest_dir/peer.py "$check_dir/p" "$check_dir/q" >"$check_dir/peer" ||
		verdict 1 'peer.py: exit code'
	sed -n "s/^\(ok\|not ok\) - /\1 - $guest_arch: /p" "$check_dir/peer"
	! grep -q '^not ok' "$check_dir/peer" || check_bad=1
	ends_well 'frame by frame'
	check_sum=$(sed -n 's/^Adler-32 //p' "$check_dir/peer")
	grep -q "^closed: .*, Adler-32 $check_sum\$" "$guest_log"
	verdict $? "what was received is what was sent: Adler-32 $check_sum"
}

over_user_network()
{
	check_port=$(guest_free_port)
	guest_boot 0 1 30 "user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:$check_port-10.0.2.15:5001" || {
		verdict 1 'boots on the user network'
		return
	}
	check_rate=$(iperf_to "$1" 127.0.0.1 -p "$check_port")
	ends_well 'user network'
	is 'user network: Mbit/s' "$check_rate" '>=' 20
	is 'user network: segments of each delivered packet' \
		"$(ratio "$(guest_value tcp.segs)" "$(guest_value tcp.packets)")" '>=' 2
}

smoke()
{
	need iperf || exit 2
	frame_by_frame
	over_user_network 2
	return $check_bad
}

# ---- over TAP ----

# tap_boot FLAGS CONNECTIONS [DEVICE-OPTIONS]
tap_boot()
{
	guest_boot "$1" "$2" 60 "$guest_tap" "${3:-}" && guest_ready_tap || {
		verdict 1 'boots on TAP'
		return 1
	}
}

# Merged packets of 64 KB from the kernel. The rate is the best of three: others may be at work on the host.
tap_gso()
{
	check_best=0
	for check_run in 1 2 3; do
		tap_boot 0 1 || return
		ping -c 10 -i 0.05 -q 10.0.2.15 >"$check_dir/ping"
		check_rate=$(iperf_to 3 10.0.2.15)
		ends_well "GSO, run $check_run"
		echo "rate - $guest_arch: GSO: $check_rate Mbit/s"
		[ "$check_rate" -le "$check_best" ] || check_best=$check_rate
	done
	[ "$guest_arch" != riscv64 ] || is 'GSO: Mbit/s, best of 3' "$check_best" '>=' 5000
	is 'TAP: pings answered' "$(sed -n 's/.* \([0-9]*\) received.*/\1/p' "$check_dir/ping")" = 10
	is 'GSO: packets in 32 buffers or more' "$(guest_value seen.many_bufs)" '>=' 1000
	is 'GSO: buffers of one packet, most' "$(guest_value seen.nbufs_max)" '>=' 32
	is 'GSO: fragments of one packet, most' "$(guest_value seen.frags_max)" '<=' 3
}

# exact NAME DEVICE-OPTIONS COMMAND...: 64 MiB arrive as they were sent; COMMAND is run before.
exact()
{
	check_name=$1 check_options=$2
	shift 2
	tap_boot $guest_sum 1 "$check_options" || return
	"$@" || verdict 1 "$check_name: $*"
	check_sum=$(timeout -k 2 60 python3 $guest_dir/send.py 10.0.2.15 5001 64)
	ends_well "$check_name"
	is "$check_name: bytes received" "$(guest_value tcp.bytes)" = 67108864
	grep -q "^closed: .*, Adler-32 $check_sum\$" "$guest_log"
	verdict $? "$check_name: they are what was sent: Adler-32 $check_sum"
}

tap_exact()
{
	exact 'GSO' '' true
	is 'GSO: packets that the device had merged' "$(guest_value seen.gso)" '>=' 500
	exact 'frames of one MTU' $guest_gso_off true
	is 'frames of one MTU: packets that the device had merged' "$(guest_value seen.gso)" = 0
	is 'frames of one MTU: segments that joined' "$(guest_value gro.joined)" '>=' 20000
	# QEMU's RSC forgets that a checksum was to be completed: the kernel completes it.
	exact 'RSC' ,guest_rsc_ext=on ethtool -K unikernel0 tx off tso off gso off
	is 'RSC: packets without a segment size' "$(guest_value seen.rsc)" '>=' 500
	is 'RSC: segments in one, mean' "$(ratio "$(guest_value seen.rsc_segs)" "$(guest_value seen.rsc)")" '>=' 2
	is 'RSC: packets with a wrong checksum' "$(guest_value tcp.csum_bad)" = 0
}

# mtu_run NAME FLAGS: one run with frames of one MTU; appends rate, and ACKs of a segment.
mtu_run()
{
	tap_boot "$2" 1 $guest_gso_off || return
	iperf_to 3 10.0.2.15 >>"$check_dir/$1.rate"
	guest_end
	[ $guest_code = 0 ] || verdict 1 "$1: exit code: $guest_code"
	ratio "$(guest_value tcp.acks)" "$(guest_value tcp.segs)" >>"$check_dir/$1.acks"
	ratio "$(guest_value tcp.segs)" "$(guest_value tcp.packets)" >>"$check_dir/$1.segs"
}

tap_mtu()
{
	for check_run in 1 2 3 4 5; do
		mtu_run without $guest_no_gro
		mtu_run with 0
	done
	echo "Mbit/s without GRO: $(tr '\n' ' ' <"$check_dir/without.rate")"
	echo "Mbit/s with GRO:    $(tr '\n' ' ' <"$check_dir/with.rate")"
	is 'frames of one MTU: Mbit/s with GRO, median of 5; limit: without' "$(median "$check_dir/with.rate")" '>=' \
		"$(median "$check_dir/without.rate")"
	is 'frames of one MTU: ACKs with GRO, as part of those without, medians' \
		"$(ratio "$(median "$check_dir/with.acks")" "$(median "$check_dir/without.acks")")" '<=' 0.1
	is 'frames of one MTU: segments of each delivered packet, median' "$(median "$check_dir/with.segs")" '>=' 20
}

check()
{
	frame_by_frame
	over_user_network 3
	if [ "$network" = user ]; then
		echo "skip - $guest_arch: all over TAP: it takes CAP_NET_ADMIN and /dev/net/tun, or a user namespace"
		return $check_bad
	fi
	tap_gso
	tap_exact
	tap_mtu
	return $check_bad
}
