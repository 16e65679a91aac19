#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Our virtio front end beside DPDK's: installs DPDK, sets aside huge pages, builds with -O2, measures. Options go to the
# program: --quick, --check, --json, --only TEXT, --help.
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=scripts/packages.sh
. scripts/packages.sh
. bench/lib.sh

if [ "${1:-}" = --no-install ]; then
	forbid_install
	shift
fi
need gcc meson ninja-build pkg-config libdpdk-dev dpdk-dev || exit 1
bench_build bench/vs_dpdk_virtio || exit 1
huge_pages 192 # of 2 MiB: back end, DPDK's front end, ours
"$bench/vs_dpdk_virtio" "$@"
