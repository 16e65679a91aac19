#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Laws 1 and 2 on real captures, checked by programs that share no code with the library. See usage() below.
set -u

usage()
{
	cat <<'END'
sh tests/captures.sh [DIR] [--no-install]

Sends each capture in DIR (default: examples/captures) through vnetrx-replay, with --poll 0 and 64, each with
--flush-timeout 0 and 1000000, with UDP merged and with the adaptive timer, and checks from IN, OUT and META that
nothing is lost, changed or out of order. Then, where DIR has them, how many packets certain captures must come to;
captures of other kinds made here; and that the checker finds what is wrong.

--no-install  fail instead of installing Debian packages

The last line is "N passed, N failed".
END
}

start=$PWD
cd "$(dirname "$0")/.." || exit 2
. scripts/packages.sh
. tests/lib.sh

captures=
for arg in "$@"; do
	case $arg in
	-h | --help) usage; exit 0 ;;
	--no-install) forbid_install ;;
	-*) echo "captures.sh: $arg: no such option; --help says which there are" >&2; exit 2 ;;
	*)
		[ -z "$captures" ] || { echo "captures.sh: $arg: only one directory at a time" >&2; exit 2; }
		captures=$arg
		;;
	esac
done
case $captures in
'') captures=examples/captures ;;
/*) ;;
*) captures=$start/$captures ;;
esac
[ -d "$captures" ] || { echo "captures.sh: $captures: no directory" >&2; exit 2; }

need gcc libc6-dev meson ninja-build 'pkgconf|pkg-config' libcmocka-dev libpcap-dev zlib1g-dev || exit 1

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 2' HUP INT TERM

build=build/release
replay=$build/examples/vnetrx-replay
check=$build/tests/check/check-capture
make=$build/tests/check/make-capture
{
	CC=gcc configure $build $release &&
		ninja -C $build examples/vnetrx-replay tests/check/check-capture tests/check/make-capture
} >"$scratch/build.log" 2>&1 || {
	cat "$scratch/build.log" >&2
	exit 1
}

passed=0
failed=0
in=0
out=0

# result CODE TEXT: one line, counted.
result()
{
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
		echo "PASS  $2"
	else
		failed=$((failed + 1))
		echo "FAIL  $2"
	fi
}

# through CAPTURE OPTION...: replays and checks; sets $in, $out and, when it is false, $why. That a file is damaged must
# be said, with the byte, and what was read before is delivered all the same.
through()
{
	capture=$1
	shift
	law_option=
	case " $* " in
	*' --rfc6864 '*) law_option=--rfc6864 ;;
	esac
	"$replay" "$@" --meta "$scratch/meta" "$capture" "$scratch/out.pcap" >/dev/null 2>"$scratch/error"
	code=$?
	why=$("$check" "$capture" "$scratch/out.pcap" "$scratch/meta" $law_option 2>&1) || {
		why="$* (replay: exit $code, $(cat "$scratch/error")): $why"
		return 1
	}
	in=$(echo "$why" | sed -n 's/.*: \([0-9]*\) in,.*/\1/p')
	out=$(echo "$why" | sed -n 's/.* \([0-9]*\) delivered.*/\1/p')
	case $code,$why in
	0,*damaged*) why="$*: the file is damaged, and vnetrx-replay did not say so"; return 1 ;;
	0,*) return 0 ;;
	2,*damaged*) grep -q ': byte [0-9]*: ' "$scratch/error" && return 0 ;;
	esac
	why="$*: vnetrx-replay ends with $code: $(cat "$scratch/error")"
	return 1
}

# One capture with all settings.
one_file()
{
	figures=
	bad=
	note=
	for options in '--poll 0' '--poll 0 --flush-timeout 1000000' '--poll 64' '--poll 64 --flush-timeout 1000000' \
		'--poll 64 --udp-zero' '--poll 8 --udp-zero --adaptive'; do
		# shellcheck disable=SC2086 # words
		if through "$1" $options; then
			figures="$figures$(printf ' %5d' "$out")"
			[ $code = 0 ] || note='  damaged at its end, said so'
		else
			figures="$figures  FAIL"
			bad="$bad
      $why"
		fi
	done
	[ -z "$bad" ]
	result $? "$(printf '%-32s %5d %s' "$(basename "$1")" "$in" "$figures")$note$bad"
}

# exactly NUMBER CAPTURE LIMIT OPTION...: so many packets of so many are delivered.
exactly()
{
	of=$2
	limit=$3
	file=$(find "$captures" -name "$1_*.pcap*" | head -n 1)
	[ -n "$file" ] || return 0
	shift 3
	if through "$file" --poll 0 --flows 4096 "$@"; then
		[ "$out" = "$limit" ] && [ "$in" = "$of" ]
		result $? "$(printf '%-32s %5d of %5d   limit: exactly %d of %d%s' "$(basename "$file")" "$out" "$in" \
			"$limit" "$of" "${*:+  $*}")"
	else
		result 1 "$(basename "$file"): $why"
	fi
}

# made KIND BASE OUT: a capture of another kind passes, and at most OUT packets are delivered.
made()
{
	if "$make" "$1" "$2" "$scratch/$1.pcap" && through "$scratch/$1.pcap" --poll 0; then
		[ "$out" -le "$3" ]
		result $? "$(printf '%-32s %5d of %5d   limit: at most %d' "$1" "$out" "$in" "$3")"
	else
		result 1 "$1: $why"
	fi
}

echo '                                             packets delivered'
echo '                                             --poll 0    --poll 64    --udp-zero, poll'
echo '      capture                             in       timer       timer    64  8 adapt'
# shellcheck disable=SC2044 # names without blanks
for file in $(find "$captures" -name '*.pcap' -o -name '*.pcap.gz' -o -name '*.pcapng' -o -name '*.pcapng.gz' |
	LC_ALL=C sort); do
	one_file "$file"
done
[ $((passed + failed)) -gt 0 ] || result 1 "no captures in $captures"

echo
echo '      --poll 0 --flows 4096'
exactly 01 1358 1358
exactly 02 2696 1811
exactly 04 1556 961
exactly 04 1556 611 --rfc6864
exactly 06 254 136
exactly 07 402 129
exactly 15 158 123

echo
echo '      made from examples/captures/bulk-ipv4.pcap.gz'
bulk=examples/captures/bulk-ipv4.pcap.gz
through $bulk --poll 0
limit=$out
made cooked $bulk "$limit"
made cooked2 $bulk "$limit"
made raw $bulk "$limit"
made vxlan $bulk $((limit + 10))
made geneve $bulk $((limit + 10))
made fragments $bulk $((limit + 700))
"$make" alien $bulk "$scratch/alien.pcap" || exit 2
"$replay" "$scratch/alien.pcap" "$scratch/out.pcap" >"$scratch/error" 2>&1
code=$?
[ $code = 2 ] && grep -q 'link type 105 (IEEE802_11)' "$scratch/error"
result $? "unsupported link type: exit $code: $(sed "s|$scratch/||" "$scratch/error")"

echo
echo '      the checker finds what is wrong'
sh tests/check/controls.sh "$replay" "$check" "$make" $bulk >"$scratch/controls" 2>&1 ||
	grep -q '^not ok' "$scratch/controls" || result 1 "controls: $(cat "$scratch/controls")"
while read -r word text; do
	case $word in
	ok) result 0 "${text#* - }" ;;
	not) result 1 "${text#* - }" ;;
	esac
done <"$scratch/controls"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
