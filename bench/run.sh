#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Measures everything and writes a report with plots. See usage() below.
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=scripts/packages.sh
. scripts/packages.sh
. bench/lib.sh

usage()
{
	cat <<'END2'
usage: sh bench/run.sh [quick] [--no-install]

Builds with -O2, runs all benchmarks, and writes bench/out/report.md, report.json and plots (SVG and PNG).

  quick         under 2 minutes: few repeats; leaves out what needs DPDK or a second process
  --no-install  install no Debian package; say what is missing instead
END2
}

quick=
for arg in "$@"; do
	case $arg in
	quick) quick=--quick ;;
	--no-install) forbid_install ;;
	--help | -h) usage; exit 0 ;;
	*) usage >&2; exit 1 ;;
	esac
done

need gcc libc6-dev meson ninja-build 'pkgconf|pkg-config' python3 \
	'gnuplot-nox|gnuplot-qt|gnuplot-x11' || exit 1
[ -n "$quick" ] || need libdpdk-dev dpdk-dev liblwip-dev || exit 1

build=build/bench
out=bench/out
mkdir -p $out build/log
rm -f $out/*.json $out/*.log $out/*.txt
began=$(date +%s)

# quietly LOG COMMAND...: what it prints is shown only when it fails
quietly()
{
	log=$1
	shift
	"$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
}

echo "Building in $build"
quietly build/log/bench-build.log bench_build
[ -n "$quick" ] || { [ -x $build/bench/vs_dpdk ] && grep -q HAVE_LWIP $build/build.ninja; } || {
	quietly build/log/bench-setup.log meson setup --reconfigure $build
	quietly build/log/bench-build.log bench_build
}

# What is run: name, seconds that it usually takes, command. Each writes JSON, and its limits to stderr.
if [ -n "$quick" ]; then
	plan="seeds 27 $build/bench/bench_seeds
scale 20 $build/bench/bench_scale
rxq 6 $build/bench/bench_rxq
gro 10 $build/bench/bench_gro
virtq 12 $build/bench/bench_virtq
txq 6 $build/bench/bench_txq"
	left_out='DPDK (GRO and virtio), back ends in other processes, lwIP and TAP unless they are here'
else
	plan="seeds 110 $build/bench/bench_seeds
scale 90 $build/bench/bench_scale
rxq 60 $build/bench/bench_rxq
gro 60 $build/bench/bench_gro
merge 30 $build/bench/bench_merge
virtq 60 $build/bench/bench_virtq
txq 40 $build/bench/bench_txq
flush 10 $build/bench/bench_flush
dpdk 300 bench/vs_dpdk.sh
virtio 180 bench/vs_dpdk_virtio.sh"
	left_out='kernel GRO, which examples/run.sh live peers measures'
	if [ -f examples/live/peers.sh ]; then # it sets up network namespaces, and prints text
		plan="$plan
kernel 180 sh examples/run.sh live peers"
		left_out=
	fi
fi
total=$(echo "$plan" | awk '{ sum += $2 } END { print sum }')
count=$(echo "$plan" | wc -l)

# What is still to come, at the speed so far.
left()
{
	awk -v gone=$(($(date +%s) - started)) -v done="$1" -v total="$total" 'BEGIN {
		rate = done > 0 ? gone / done : 1
		printf "%d s", (total - done) * rate
	}'
}

started=$(date +%s)
sum=0
i=0
while read -r name seconds command; do
	i=$((i + 1))
	printf '[%d/%d] %-8s about %s left\n' $i "$count" "$name" "$(left $sum)"
	if [ "$name" = kernel ]; then
		$command >$out/kernel.txt 2>&1 </dev/null || echo "exit code $?" >>$out/kernel.txt
		continue
	fi
	# shellcheck disable=SC2086 # --quick or nothing
	$command --json --check $quick >$out/$name.json 2>$out/$name.log </dev/null ||
		echo "exit code $?" >>$out/$name.log
	sum=$((sum + seconds))
done <<END2
$plan
END2

python3 bench/report.py --out $out --command "sh bench/run.sh${quick:+ quick}" --left-out "$left_out" || exit 1
echo "$(($(date +%s) - began)) s. Report: $(pwd)/$out/report.md"
