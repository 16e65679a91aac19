#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What did a change bring to the GRO engine? Builds lib/ of two revisions with -O2 and runs them in one process.
#
#	bench/gro_ab.sh OLD NEW [--quick] [--only TEXT] [--repeats N]
#
# OLD and NEW are revisions, or . for the work tree as it is.
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=scripts/packages.sh
. scripts/packages.sh

case ${1:-} in
--help | -h | '')
	sed -n '3,7s/^# \{0,1\}//p' "bench/$(basename "$0")"
	[ -n "${1:-}" ]
	exit
	;;
esac
[ $# -ge 2 ] || { echo 'two revisions are needed: see --help' >&2; exit 1; }
need gcc binutils git || exit 1
CC=${CC:-gcc}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# build PREFIX REVISION: PREFIX.o with lib/ in it, whose global symbols begin with PREFIX.
build()
{
	mkdir "$scratch/$1"
	if [ "$2" = . ]; then
		tar c lib include | tar x -C "$scratch/$1"
	else
		git archive "$2" lib include | tar x -C "$scratch/$1"
	fi
	(
		cd "$scratch/$1" || exit 1
		find lib -name '*.c' | while read -r file; do
			$CC -O2 -std=c11 -fno-stack-protector -Iinclude -Ilib -DVNRX_CHECKS=0 \
				-c "$file" -o "$(echo "$file" | tr / _).o" || exit 1
		done || exit 1
		ld -r ./*.o -o all.o || exit 1
		nm --defined-only -g all.o | awk -v prefix="$1" '{ print $3, prefix $3 }' >names
		objcopy --redefine-syms=names all.o "../$1.o"
	) || { echo "revision $2 does not build" >&2; exit 1; }
}

build old_ "$1"
build new_ "$2"
shift 2
$CC -O2 -std=c11 -D_GNU_SOURCE -Iinclude -Ibench -Ilib -o "$scratch/gro_ab" bench/gro_ab.c bench/gro_work.c \
	bench/supply.c bench/traffic.c bench/bench.c bench/bench_out.c "$scratch/old_.o" "$scratch/new_.o" \
	lib/gro/*.c lib/buf/*.c lib/err.c || exit 1
"$scratch/gro_ab" "$@"
