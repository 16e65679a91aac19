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
iperf_to()
{
	iperf_for=$1
	shift
	timeout -k 2 $((iperf_for + 15)) iperf -t "$iperf_for" -y C -c "$@" </dev/null 2>/dev/null |
		awk -F , 'END { printf "%.0f\n", $9 / 1e6 }'
}

# ---- without rights ----

frame_by_frame()
{
	check_frames="dgram,id=n,local.type=unix,local.path=$check_dir/q"
	check_frames="$check_frames,remote.type=unix,remote.path=$check_dir/p"
	guest_boot $guest_sum 2 30 "$check_frames" || { verdict 1 'boots'; return; }
	verdict 0 'boots'
	timeout -k 2 30 python3 $guest_dir/peer.py "$check_dir/p" "$check_dir/q" >"$check_dir/peer" || verdict 1 'peer.py'
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
