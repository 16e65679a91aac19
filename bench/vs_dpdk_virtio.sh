#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Our virtio front end beside DPDK's: installs DPDK, sets aside huge pages, builds with -O2, measures. Options go to the
# program: --quick, --check, --json, --only TEXT, --help.
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=scripts/packages.sh
. scripts/packages.sh

PAGES=192 # of 2 MiB: back end, DPDK's front end, ours
setting=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages

if [ "${1:-}" = --no-install ]; then
	forbid_install
	shift
fi
need gcc meson ninja-build pkg-config libdpdk-dev dpdk-dev || exit 1
[ -f build/release/build.ninja ] || meson setup build/release --buildtype=release -Doptimization=2 >&2 || exit 1
ninja -C build/release bench/vs_dpdk_virtio >&2 || {
	meson setup --reconfigure build/release >&2 && ninja -C build/release bench/vs_dpdk_virtio >&2 || exit 1
}

# Puts back what was there before.
before=$(cat $setting 2>/dev/null)
put_back()
{
	[ -z "$before" ] || echo "$before" >$setting
}
if [ -w $setting ] && [ "$before" -lt $PAGES ]; then
	trap put_back EXIT
	trap 'exit 1' INT TERM
	echo $PAGES >$setting 2>/dev/null
	have=$(cat $setting)
	[ "$have" -ge $PAGES ] || echo "only $have of $PAGES huge pages could be had: figures are for smaller pages" >&2
elif [ "${before:-0}" -lt $PAGES ]; then
	before=
	echo 'huge pages cannot be set aside here: figures are for pages of 4 KiB' >&2
fi
build/release/bench/vs_dpdk_virtio "$@"
