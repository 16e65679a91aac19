#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Captures through the whole path, checked by a program that shares no code with the library. `--help` says more.

usage()
{
	cat <<'END'
sh tests/captures.sh [DIR] [--no-install]

Every capture (*.pcap, *.pcapng, *.gz) in DIR, or else those in examples/captures, goes through vnetrx-replay with
--poll 0 and --poll 64, each with and without --flush-timeout 1000000, with UDP merged and with the adaptive timer;
check-capture then compares what came out with what went in (laws 1 and 2), and some captures by name with the number of
packets they must become. One line for each run. Captures of other link types are made and tried too. The last line is
"N passed, N failed".
END
}

from=$PWD
cd "$(dirname "$0")/.." || exit 2
. scripts/packages.sh
. tests/lib.sh

captures=
for arg in "$@"; do
	case $arg in
	-h | --help) usage; exit 0 ;;
	--no-install) forbid_install ;;
	-*) echo "unknown argument: $arg" >&2; usage >&2; exit 2 ;;
	*) captures=$arg ;;
	esac
done
case $captures in
'') captures=examples/captures ;;
/*) ;;
*) captures=$from/$captures ;;
esac

need gcc libc6-dev meson ninja-build 'pkgconf|pkg-config' libcmocka-dev libpcap-dev zlib1g-dev || exit 2
build=build/release
log=$(mktemp "${TMPDIR:-/tmp}/captures.XXXXXX") || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/captures.XXXXXX") || exit 2
trap 'rm -rf "$work" "$log"' EXIT
trap 'exit 130' INT TERM
{
	CC=gcc configure $build --buildtype=release -Doptimization=2 &&
		meson compile -C $build vnetrx-replay check-capture make-capture
} >"$log" 2>&1 || {
	cat "$log" >&2
	exit 2
}

passed=0
failed=0

count()
{
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
}

# run CAPTURE WANTED OPTION...: WANTED = packets to be delivered, - = any number
run()
{
	capture=$1
	wanted=$2
	shift 2
	options=$*
	"$build/examples/vnetrx-replay" "$@" --meta "$work/meta" "$capture" "$work/out.pcap" 2>"$work/said"
	code=$?
	[ "$wanted" = - ] || set -- --delivered "$wanted"
	[ "$wanted" != - ] || set --
	line=$("$build/tests/check-capture" "$@" --code $code "$capture" "$work/out.pcap" "$work/meta" 2>&1)
	result=$?
	printf '%-40s %s\n' "$options" "$line"
	[ $result = 0 ] || sed 's/^/    /' "$work/said"
	count $result
}

# The packets that a capture must become when all of it is one burst and every flow has a place.
exact()
{
	case $(basename "$1") in
	01_*) echo 1358 ;;
	02_*) echo 1811 ;;
	04_*) echo 961 ;;
	06_*) echo 136 ;;
	07_*) echo 129 ;;
	15_*) echo 123 ;;
	*) echo - ;;
	esac
}

for capture in "$captures"/*.pcap "$captures"/*.pcapng "$captures"/*.gz; do
	[ -f "$capture" ] || continue
	for poll in 0 64; do
		run "$capture" - --poll $poll
		run "$capture" - --poll $poll --flush-timeout 1000000
	done
	run "$capture" - --poll 64 --udp-zero
	run "$capture" - --poll 8 --udp-zero --adaptive
	wanted=$(exact "$capture")
	[ "$wanted" = - ] || run "$capture" "$wanted" --poll 0 --flows 4096
done

[ $((passed + failed)) != 0 ] || {
	echo "no captures in $captures" >&2
	exit 2
}

# Link types other than Ethernet: ten segments become one packet.
for kind in cooked cooked2 raw; do
	"$build/tests/make-capture" $kind "$work/$kind.pcap"
	run "$work/$kind.pcap" 1 --poll 0
done

# The checker itself: a changed byte of the payload, and a capture that is not the input, must not pass.
printf 'x' | dd of="$work/out.pcap" bs=1 seek=200 conv=notrunc 2>/dev/null
for input in "$work/raw.pcap" "$work/cooked.pcap"; do
	line=$("$build/tests/check-capture" --delivered 1 "$input" "$work/out.pcap" "$work/meta" 2>&1)
	result=$?
	printf '%-40s %s\n' 'changed output, must fail:' "$line"
	[ $result = 1 ]
	count $?
done

# A link type that is no network's: exit 2, and a message that names the reason.
"$build/tests/make-capture" unknown "$work/unknown.pcap"
"$build/examples/vnetrx-replay" "$work/unknown.pcap" "$work/out.pcap" >"$work/said" 2>&1
code=$?
if [ $code = 2 ] && grep -q -i 'link' "$work/said"; then
	echo "link type not supported: exit $code (wanted 2), said: $(cat "$work/said")  PASS"
	count 0
else
	echo "link type not supported: exit $code (wanted 2), said: $(cat "$work/said")  FAIL"
	count 1
fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
