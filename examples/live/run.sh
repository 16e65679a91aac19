#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Traffic of real kernels through vnetrx-box. See usage() below.
set -eu

usage()
{
	cat <<'END'
usage: sh examples/run.sh live [--quick] [--no-install] [STAGE...]

Two hosts, each a network namespace, with vnetrx-box between them; the kernel's own TCP and UDP on both sides. Prints
each figure beside its limit; ends non-zero when one is missed.

  rates   iperf3 through the box without and with joining, IPv4 and IPv6: medians of 5 alternating runs
  exact   1 GiB of TCP each way, IPv4 and IPv6, compared byte by byte
  udp     trains of 42,000 bytes of UDP: arrive joined, compared byte by byte
  order   16 flows over two queues of each TAP: each flow stays in order
  stop    the box is ended in mid-traffic, in each way there is: message, exit code, counters that add up

  peers   the kernel's own GRO beside ours: 1 to 64 paced flows, frames with and without a flow hash
  xdp     over AF_XDP: frames of 1500 and 9000 bytes, compared byte by byte; every frame accounted for
  lwip    lwIP above the queue, iperf 2 without and with joining: medians of 9 alternating runs

  --quick       shorter: 3 runs of 1 s, 64 MiB
  --no-install  install no Debian package; say what is missing instead
END
}

cd "$(dirname "$0")/../.."
. scripts/packages.sh
. examples/live/world.sh
. examples/live/stages.sh
. examples/live/peers.sh

build_them()
{
	ninja -C build/release examples/vnetrx-box examples/vnetrx-probe examples/vnetrx-pace \
		examples/libvnetrx_nobufs.so || return 1
	pkg-config --exists lwip || return 0
	ninja -C build/release -t query examples/vnetrx-lwip >/dev/null 2>&1 ||
		meson setup --reconfigure build/release || return 1 # lwIP came later than the directory
	ninja -C build/release examples/vnetrx-lwip
}

stages=
runs=5
lwip_runs=9
tries=20
seconds=2
mib=1024
for arg in "$@"; do
	case $arg in
	--help | -h) usage; exit 0 ;;
	--quick) runs=3 lwip_runs=3 tries=5 seconds=1 mib=64 ;;
	--no-install) forbid_install ;;
	rates | exact | udp | order | stop | peers | xdp | lwip) stages="$stages $arg" ;;
	*) echo "run.sh live: $arg: no such stage or option; --help says which there are" >&2; exit 1 ;;
	esac
done
stages=${stages:-rates exact udp order stop peers xdp lwip}

if [ -z "${VNETRX_WORLD:-}" ]; then
	need gcc libc6-dev meson ninja-build 'pkgconf|pkg-config' iproute2 iperf3 \
		procps util-linux ethtool || exit 1
	case $stages in
	*lwip*) need liblwip-dev iperf || echo 'lwIP will be left out' ;;
	esac
	mkdir -p build
	[ -f build/release/build.ninja ] ||
		CC=gcc meson setup build/release --buildtype=release -Dtests=false -Dbenches=false >build/setup.log
	build_them >build/build.log || {
		cat build/build.log
		exit 1
	}
	why=$(world_possible) || {
		for stage in $stages; do
			echo "skip - $stage: $why"
		done
		exit 3
	}
fi
world_enter examples/live/run.sh "$@"
world_make
for stage in $stages; do
	echo "---- $stage"
	"stage_$stage"
done
world_result
