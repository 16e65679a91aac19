#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Instructions per packet of the GRO engine, counted by callgrind: receive and flush, nothing else. Exact, whatever
# else the machine does.
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=scripts/packages.sh
. scripts/packages.sh
. bench/lib.sh

usage()
{
	echo "usage: bench/gro_count.sh [--help] [PATTERN FLOWS WINDOW BURST KIND [PUSH_EVERY]]"
	echo "Without arguments: a table. PATTERN train44, rr, rand; KIND tcp4, vlan, tcp6, vxlan, udp4."
	echo "GRO_COUNT=PROGRAM uses that instead of building build/bench/bench/gro_count."
	exit "$1"
}

# count PATTERN FLOWS WINDOW BURST KIND [PUSH_EVERY]: one line.
count()
{
	total=$(instructions '--toggle-collect=vnetrx_gro_receive --toggle-collect=vnetrx_gro_flush' "$program" "$@") ||
		exit 1
	awk -v case="$*" -v total="$total" '
		$1 == "packets" {
			printf "%-32s %8.1f instructions per packet, ", case, total / $2
			printf "%5.1f segments per packet out\n", $2 / $4
		}
	' "$scratch/stdout"
}

[ "${1:-}" != --help ] || usage 0
[ $# = 0 ] || [ $# -ge 5 ] || usage 1
need valgrind || exit 1
program=${GRO_COUNT:-$bench/gro_count}
if [ -z "${GRO_COUNT:-}" ]; then
	need gcc meson ninja-build && bench_build bench/gro_count || exit 1
fi
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
if [ $# != 0 ]; then
	count "$@"
	exit
fi
count train44 8 64 64 tcp4
count rr 8 64 64 tcp4
count rr 64 256 64 tcp4
count rr 1000 4096 64 tcp4
count rand 8 64 64 tcp4
count train44 8 8 8 tcp4
count train44 8 64 64 tcp4 4
count train44 8 64 64 vlan
count train44 8 64 64 tcp6
count train44 8 64 64 vxlan
count train44 8 64 64 udp4
