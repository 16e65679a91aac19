# SPDX-License-Identifier: BSD-3-Clause
# A world of its own for live traffic: two hosts, each a network namespace, and vnetrx-box between them. Sourced.
#
#	host a, ta ---- vnetrx-box ---- tb, host b         10.9.0.1, fd09::1            10.9.0.2, fd09::2
#
# world_enter SCRIPT ARG...   starts SCRIPT again, in mount, PID and network namespaces that nobody else sees. They, and
#                             every process in them, end with it: also when it is killed.
# world_make                  then: hosts a and b
# box_start NAME ARG...       the box with these options; what it says will be in $world/NAME.json and NAME.err
# box_end SIGNAL              sends it and waits; its exit code is in $box_code
# beside NAME COMMAND...      in the background, output in $world/NAME.json; beside_end waits, its code in $beside_code
# at HOST COMMAND...          on host a or b
# value NAME FIELD            a number of $world/NAME.json
# check TEXT A OP B           prints and counts a comparison (=, <=, >=); then world_result ends with the right code

world_enter()
{
	[ -z "${VNETRX_WORLD:-}" ] || return 0
	set -- setpriv --pdeathsig KILL unshare --mount --net --pid --fork --kill-child=KILL --mount-proc \
		--propagation private env VNETRX_WORLD=1 sh "$@"
	if [ "$(id -u)" != 0 ]; then
		shift 4
		set -- setpriv --pdeathsig KILL unshare --user --map-root-user "$@"
	fi
	"$@" </dev/null &
	world_pid=$!
	trap 'kill -KILL $world_pid 2>/dev/null; exit 1' HUP INT TERM
	world_code=0
	wait $world_pid || world_code=$?
	exit $world_code
}

# Says why not, if it cannot be had here.
world_possible()
{
	[ -c /dev/net/tun ] || { echo 'there is no /dev/net/tun'; return 1; }
	unshare --mount --net --pid --fork true 2>/dev/null ||
		unshare --user --map-root-user --mount --net --pid --fork true 2>/dev/null ||
		{ echo 'no right to make network namespaces'; return 1; }
}

world_make()
{
	trap 'exit 1' HUP INT TERM
	world=$(mktemp -d "${TMPDIR:-/tmp}/world.XXXXXX")
	trap 'rm -rf "$world"' EXIT
	world_missed=0
	mkdir -p /run/netns
	mount -t tmpfs none /run/netns
	for host in a b; do
		ip netns add $host
		ip -n $host link set lo up
		at $host sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.all.accept_dad=0
	done
}

at()
{
	ip netns exec "$@"
}

box_start()
{
	box_name=$1
	shift
	# shellcheck disable=SC2086 # a command, or none
	${BOX_WITH:-} build/release/examples/vnetrx-box --json --quiet "$@" "${BOX_IN:-a/ta}" "${BOX_OUT:-b/tb}" \
		>"$world/$box_name.json" 2>"$world/$box_name.err" &
	box_pid=$!
	until link_is_up a ta && link_is_up b tb; do
		kill -0 $box_pid 2>/dev/null || { cat "$world/$box_name.err" >&2; return 1; }
		sleep 0.05
	done
	ip -n a addr add 10.9.0.1/24 dev ta
	ip -n b addr add 10.9.0.2/24 dev tb
	ip -n a addr add fd09::1/64 dev ta nodad
	ip -n b addr add fd09::2/64 dev tb nodad
}

link_is_up()
{
	ip -n "$1" -o link show "$2" up 2>/dev/null | grep -q .
}

box_end()
{
	kill "-$1" $box_pid 2>/dev/null
	box_wait
}

box_wait()
{
	box_code=0
	wait $box_pid || box_code=$?
	[ $box_code = 0 ] || cat "$world/$box_name.err"
}

beside()
{
	beside_name=$1
	shift
	"$@" >"$world/$beside_name.json" &
	beside_pid=$!
}

beside_end()
{
	beside_code=0
	wait $beside_pid || beside_code=$?
}

value()
{
	sed -n "s/.*\"$2\":\([0-9.]*\).*/\1/p" "$world/$1.json" | tail -n 1
}

# ratio A B [FORMAT]
ratio()
{
	awk -v a="$1" -v b="$2" -v f="${3:-%.2f}" 'BEGIN { printf f, (b + 0 != 0 ? a / b : 0) }'
}

check()
{
	if awk -v a="$2" -v op="$3" -v b="$4" 'BEGIN {
		if (a == "" || b == "") exit 1
		exit !(op == "=" ? a + 0 == b + 0 : op == "<=" ? a + 0 <= b + 0 : a + 0 >= b + 0)
	}'; then
		echo "ok - $1: $2; limit: $3 $4"
	else
		echo "not ok - $1: $2; limit: $3 $4"
		world_missed=$((world_missed + 1))
	fi
}

# The middle one of the numbers on standard input.
median()
{
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

world_result()
{
	[ "$world_missed" = 0 ] && return 0
	echo "$world_missed missed"
	return 1
}
