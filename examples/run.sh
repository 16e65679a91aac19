#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Real traffic through the whole receive path, and what each stage gains. See usage() below.
set -eu

usage()
{
	cat <<'END'
usage: sh examples/run.sh [CAPTURE] [--no-install]
       sh examples/run.sh live ...

Builds the library and sends captured traffic through the whole receive path, each time with one stage more: one table.
Then it writes what the host received as a capture.

  live          instead: traffic of real kernels through vnetrx-box; live --help says more
  CAPTURE       pcap or pcapng, gzip too; without it, the captures recorded in examples/captures
  --no-install  install no Debian package; say what is missing instead
END
}

if [ "${1:-}" = live ]; then
	shift
	exec sh "$(dirname "$0")/live/run.sh" "$@"
fi

start=$PWD
cd "$(dirname "$0")/.."
. scripts/packages.sh

capture=
for arg in "$@"; do
	case $arg in
	--help | -h)
		usage
		exit 0
		;;
	--no-install) forbid_install ;;
	-*)
		echo "run.sh: $arg: no such option; --help says which there are" >&2
		exit 1
		;;
	*)
		[ -z "$capture" ] || {
			echo "run.sh: $arg: only one capture at a time" >&2
			exit 1
		}
		capture=$arg
		;;
	esac
done

case $capture in
'' | /*) ;;
*) capture=$start/$capture ;;
esac
[ -z "$capture" ] || [ -r "$capture" ] || {
	echo "run.sh: $capture: cannot be read" >&2
	exit 2
}

need gcc libc6-dev meson ninja-build 'pkgconf|pkg-config' libpcap-dev zlib1g-dev || exit 1

build=build/release
out=build/out
mkdir -p $out

# quietly LOG COMMAND...: what it prints is shown only when it fails
quietly()
{
	log=$1
	shift
	"$@" >"$log" 2>&1 || {
		cat "$log" >&2
		exit 1
	}
}

echo "Building in $build"
[ -f $build/build.ninja ] ||
	CC=gcc quietly build/setup.log meson setup $build --buildtype=release -Dtests=false -Dbenches=false
quietly build/build.log ninja -C $build

if [ -n "$capture" ]; then
	set -- "$capture"
else
	set -- examples/captures/*.pcap.gz
fi
$build/examples/vnetrx-stages "$@"

cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
echo
echo "${cpu:-$(uname -m)}, $(nproc) cores, Linux $(uname -r), $(gcc --version | head -n 1), $(date +%Y-%m-%d)"

for capture in "$@"; do
	name=$(basename "$capture" .gz)
	name=$(basename "${name%.pcapng}" .pcap)
	# 2: it is damaged further on, as vnetrx-stages has said; what stands before is written.
	$build/examples/vnetrx-replay --flush-timeout 100000 "$capture" "$out/$name.pcap" || [ $? = 2 ]
	last=$out/$name.pcap
done
[ $# -eq 1 ] || last=$out/bulk-ipv4.pcap
echo
echo "What the host received, as captures: $(pwd)/$out"
echo "Look into one:  tcpdump -nr $last | less    or    wireshark $last"
