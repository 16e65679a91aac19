#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One benchmark, from an optimized build with nothing else in it: installs what the build needs, builds, runs.
#
#	sh bench/one.sh bench_rxq --check
#
# Options go to the program, whose --help says more; without a name: the programs there are.
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=scripts/packages.sh
. scripts/packages.sh
. bench/lib.sh

if [ "${1:-}" = --no-install ]; then
	forbid_install
	shift
fi
case ${1:-} in
'' | -*)
	sed -n '3,7s/^# \{0,1\}//p' "bench/$(basename "$0")"
	for source in bench/bench_*.c; do
		name=$(basename "$source" .c)
		[ "$name" = bench_out ] || echo "	$name"
	done
	[ "${1:-}" = --help ] || [ "${1:-}" = -h ]
	exit
	;;
esac
[ -f "bench/$1.c" ] || { echo "there is no bench/$1.c; without a name: a list" >&2; exit 2; }
need gcc meson ninja-build pkg-config || exit 1
bench_build "bench/$1" || exit 1
program=$1
shift
exec "$bench/$program" "$@"
