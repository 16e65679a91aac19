#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Instructions per packet of each stage on fixed work, counted by callgrind, beside those that bench/counts.txt has.
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=scripts/packages.sh
. scripts/packages.sh
. bench/lib.sh

TOLERANCE=2 # percent
OTHER=15    # with another compiler than the stored figures are of
AUTO=1.006  # auto-sized over fixed largest buffers, large packets: the published 99.4 % of the rate

usage()
{
	cat <<END2
usage: bench/count.sh [--renew] [--no-install]

Fails when a stage needs $TOLERANCE % more instructions than bench/counts.txt says ($OTHER % with another compiler), or
when auto-sized buffers need more than $AUTO times those of fixed ones.

  --renew   writes bench/counts.txt anew: after a change that is meant to cost what it costs, in the same commit
END2
}

renew=
for arg in "$@"; do
	case $arg in
	--renew) renew=1 ;;
	--no-install) forbid_install ;;
	--help | -h) usage; exit 0 ;;
	*) usage >&2; exit 1 ;;
	esac
done

need gcc libc6-dev meson ninja-build 'pkgconf|pkg-config' valgrind || exit 1
bench_build bench/gro_count bench/path_count bench/ring_count 2>/dev/null || exit 1

compiler=$(gcc -dumpmachine)-gcc-$(gcc -dumpversion)
stored=bench/counts.txt
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0
passed=0

# NAME, functions that count, command; the command's last line begins "packets N".
work()
{
	cat <<'END2'
gro-trains gro gro_count train44 8 64 64 tcp4
gro-rr-8 gro gro_count rr 8 64 64 tcp4
gro-rr-64 gro gro_count rr 64 256 64 tcp4
gro-push gro gro_count train44 8 64 64 tcp4 4
gro-vxlan gro gro_count train44 8 64 64 vxlan
path-small path path_count small 0 0 0 0 20000
path-mtu path path_count MTU 0 0 0 0 20000
path-64k-mtu-buffers path path_count 64K 1536 1536 0 0 2000
path-64k-no-coalesce path path_count 64K 1536 1536 0 2 2000
path-64k-largest path path_count 64K 4096 4096 0 0 10000
path-64k-auto path path_count 64K 0 0 0 0 10000
path-64k-by-cost path path_count 64K 0 0 1000 0 10000
virtq-split virtq ring_count rx split
virtq-packed virtq ring_count rx packed
txq-split txq ring_count tx split
txq-packed txq ring_count tx packed
END2
}

toggles()
{
	case $1 in
	gro) echo --toggle-collect=vnetrx_gro_receive --toggle-collect=vnetrx_gro_flush ;;
	path) echo --toggle-collect=path_poll --toggle-collect=path_free ;;
	virtq) echo --toggle-collect=vnetrx_virtq_add_bufs --toggle-collect=vnetrx_virtq_kick_needed \
		--toggle-collect=vnetrx_virtq_reap ;;
	txq) echo --toggle-collect=vnetrx_txq_add --toggle-collect=vnetrx_txq_kick --toggle-collect=vnetrx_txq_poll ;;
	esac
}

# count KIND COMMAND...: instructions per packet.
count()
{
	kind=$1
	program=$bench/$2
	shift 2
	total=$(instructions "$(toggles "$kind")" "$program" "$@") || return
	awk -v total="$total" '$1 == "packets" { printf "%.1f\n", total / $2 }' "$scratch/stdout"
}

verdict()
{
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
}

# compare NAME FIGURE: a line; false when it is too much.
compare()
{
	before=$(awk -v name="$1" '$1 == name { print $2 }' $stored)
	awk -v name="$1" -v now="$2" -v before="${before:-0}" -v tolerance="$tolerance" 'BEGIN {
		if (before == 0) { printf "%-22s %8.1f, no stored figure: MISSED\n", name, now; exit 1 }
		over = (now / before - 1) * 100
		ok = over <= tolerance && over > -25 # much less: the work is not what it was
		printf "%-22s %8.1f, stored %8.1f, %+.1f %%, limit +%s %%: %s\n", name, now, before, over, tolerance,
			ok ? "ok" : "MISSED"
		exit !ok
	}'
}

tolerance=$TOLERANCE
if [ -z "$renew" ]; then
	was=$(awk '$1 == "compiler" { print $2 }' $stored)
	if [ "$was" != "$compiler" ]; then
		tolerance=$OTHER
		echo "Stored figures are of $was, this is $compiler: limit $OTHER % instead of $TOLERANCE %."
	fi
fi
work >"$scratch/work"
while read -r name kind command; do
	# shellcheck disable=SC2086 # a list of words
	figure=$(count "$kind" $command </dev/null) || {
		echo "$name cannot be counted"
		verdict 1
		continue
	}
	echo "$name $figure" >>"$scratch/figures"
	[ -n "$renew" ] || { compare "$name" "$figure"; verdict $?; }
done <"$scratch/work"

if [ -n "$renew" ]; then
	{
		echo '# SPDX-License-Identifier: BSD-3-Clause'
		echo '# Instructions per packet; bench/count.sh compares with them, bench/count.sh --renew writes them.'
		echo "compiler $compiler"
		cat "$scratch/figures"
	} >$stored
	cat $stored
	exit
fi
awk -v limit=$AUTO '$1 == "path-64k-auto" { auto = $2 } $1 == "path-64k-largest" { fixed = $2 }
	END {
		ok = auto <= limit * fixed
		printf "auto-sized over largest buffers, large packets: %.4f times, limit %s: %s\n",
			auto / fixed, limit, ok ? "ok" : "MISSED"
		exit !ok
	}' "$scratch/figures"
verdict $?
[ $failed = 0 ] || echo "Where more is meant: bench/count.sh --renew, and say why in the commit."
echo "$passed passed, $failed failed"
[ $failed = 0 ]
