#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# All tests; installs what they need. `sh tests/run.sh --help` says more.
# shellcheck disable=SC2086 # $base, $units and $natively are lists of words

usage()
{
	cat <<'END'
sh tests/run.sh [SUITE] [--no-install]

(none)        unit tests in a release build, under Valgrind, with clang and its sanitizers; the corpora of the fuzzers;
              hygiene checks
quick         builds and runs the unit tests with gcc only
builds        unit tests in other builds of the library: -Dpool_debug=true under Valgrind, by clang without sanitizers,
              without compiler extensions, with -Dgro=tcp (5 minutes)
laws          random streams against the model and the laws, hostile devices: many more than by default
ports         unit tests on armhf, aarch64 and s390x (big-endian) in emulation; symbols there and on riscv64
live          front ends over vhost-user against a back end of others, dpdk-testpmd: every kind of ring and buffer,
              floods, restarts, bursts after sleep, rates; 10 million packets checked byte by byte (10 minutes)
unikernel     the bare-metal program of examples/unikernel boots on three machines in QEMU, answers, receives
proof         machine-checked proofs that what reads the wire and the device has no runtime error (10 minutes);
              planted bugs, which must be found: see docs/proof.md
coverage      lines and branches of lib/ that the unit tests run, beside their limits (5 minutes)
tsan          what has threads under ThreadSanitizer; planted races, which must be found (10 minutes)
fuzz MINUTES  each fuzzer for so long
hygiene       the hygiene checks alone

--no-install  fail instead of installing Debian packages
VNETRX_COUNT  how many random streams `laws` tries, thousands of packets of hostile devices, and ten thousands of
              packets of all protocols against the model (1000: more than ten million of these) and of operations of
              virtqueues; for `live`, thousands of packets of each of its 32 ways (340) and 300 times as many bursts;
              for `tsan`, thousands of packets freed on other threads and of chains of each ring (400)
VNETRX_FUZZ_SECONDS  for `fuzz`: so many seconds instead of MINUTES
VNETRX_STAGES of `live` and `tsan`, VNETRX_PORTS of `ports`, VNETRX_MACHINES of `unikernel`, VNETRX_MODULES of
              `proof`, VNETRX_FUZZERS of `fuzz` (as in "virtq gro"): only these, by name
VNETRX_EVA_MAX the longest frame that `proof` tries one by one (256)

Logs are in build/log/SUITE. The last line is "N passed, N failed", or "N passed, N failed, N skipped".
END
}

cd "$(dirname "$0")/.." || exit 2
. scripts/packages.sh
. tests/lib.sh

suite=
minutes=
for arg in "$@"; do
	case $suite,$arg in
	*,-h | *,--help) usage; exit 0 ;;
	*,--no-install) forbid_install ;;
	,quick | ,builds | ,laws | ,ports | ,live | ,unikernel | ,proof) suite=$arg ;;
	,coverage | ,tsan | ,fuzz | ,hygiene) suite=$arg ;;
	fuzz,[1-9] | fuzz,[1-9][0-9] | fuzz,[1-9][0-9][0-9] | fuzz,[1-9][0-9][0-9][0-9]) minutes=$arg ;;
	*) echo "unknown argument: $arg" >&2; usage >&2; exit 2 ;;
	esac
done
if [ "$suite" = fuzz ] && [ -z "$minutes" ]; then
	echo "fuzz needs the MINUTES for each fuzzer, 1 to 9999" >&2
	exit 2
fi

base='gcc libc6-dev meson ninja-build pkgconf|pkg-config libcmocka-dev libpcap-dev zlib1g-dev'
memcheck='valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,indirect,possible'

# Optimized a little: it builds as fast, and Valgrind runs it twice as fast.
checked='-Dchecks=full -Doptimization=1'

# What `meson test` may be asked for.
units='--suite unit --suite fuzz'
natively="$units --suite script"

on_gcc()
{
	CC=gcc configure build/gcc $checked
	test_in build/gcc $natively --suite verified
}

# The only one that builds the benches with clang.
on_clang()
{
	CC=clang configure build/clang --buildtype=release -Doptimization=2 -Ddebug=true
	test_in build/clang $natively --suite verified
}

on_release()
{
	CC=gcc configure build/release $release
	test_in build/release $natively --suite verified
}

# The twins of lib/compiler.h; without atomics, so that only what runs on one thread is tried.
on_portable()
{
	CC=gcc configure build/portable $checked -Dc_args=-DVNRX_PORTABLE -Dexamples=false -Dbenches=false
	engine_in build/portable
}

# As small as it can be built: without UDP, tunnels and PPPoE; what is about them is skipped.
on_tcp_only()
{
	CC=gcc configure build/tcp-only -Dchecks=full -Doptimization=s -Dgro=tcp -Dexamples=false -Dbenches=false
	engine_in build/tcp-only
}

# With their runtime as a shared library: a hundred programs link faster.
configure_sanitizers()
{
	CC=clang configure build/sanitizers $checked -Db_sanitize=address,undefined -Db_lundef=false -Dbenches=false \
		-Dc_args='-fno-sanitize-recover=all -gline-tables-only -shared-libsan' \
		-Dc_link_args="-shared-libsan -Wl,-rpath,$(clang -print-resource-dir)/lib/linux"
}

# Half as many random streams as natively, where they run fast.
on_sanitizers()
{
	configure_sanitizers
	export VNETRX_COUNT=10
	test_in build/sanitizers $natively --suite verified
}

# Fewer random streams, and not each of all cases: it is slow, and they run in the other builds.
under_memcheck()
{
	export VNETRX_COUNT=5 # a stage is a shell of its own
	memchecked=$1
	shift
	test_in "$memchecked" "$@" --wrap="$memcheck" --timeout-multiplier=10
}

on_valgrind()
{
	after release
	under_memcheck build/release $units --suite verified
}

on_pool_debug()
{
	CC=gcc configure build/pool-debug $release -Dpool_debug=true -Dexamples=false -Dbenches=false
	under_memcheck build/pool-debug $units --suite verified
}

# Prints the script's figures and counts its checks.
hygiene()
{
	after release
	sh "tests/hygiene/$1.sh" >"$logs/$stage_name.out" || result=$?
	cat "$logs/$stage_name.out"
	counted_lines <"$logs/$stage_name.out"
	return "${result:-0}"
}

hygiene_names()
{
	for script in tests/hygiene/*.sh; do
		name=$(basename "$script" .sh)
		[ "$name" = lib ] || echo "hygiene-$name"
	done
}

# in_turn NAME...: these stages, two at a time: each of two workers takes the next that the other has not.
in_turn()
{
	worker "$@" &
	worker "$@"
	wait
}

worker()
{
	for turn in "$@"; do
		mkdir "$logs/$turn.taken" 2>/dev/null || continue
		case $turn in
		hygiene-*) stage "$turn" hygiene "${turn#hygiene-}" ;;
		*) stage "$turn" "on_$(echo "$turn" | tr - _)" ;;
		esac
	done
}

# law PROGRAM ARG...: one program, its cases counted.
law()
{
	result=0
	CMOCKA_MESSAGE_OUTPUT=TAP "$@" >"$logs/$stage_name.tap" || result=$?
	cat "$logs/$stage_name.tap"
	counted_lines <"$logs/$stage_name.tap"
	return $result
}

build_laws()
{
	CC=gcc configure build/gcc $checked
	meson compile -C build/gcc
	configure_sanitizers
	meson compile -C build/sanitizers
	echo 'ok - built' | counted_lines
}

build_fuzzers()
{
	CC=clang configure build/fuzz -Dfuzz=true -Dchecks=full -Dexamples=false -Dbenches=false -Db_lundef=false \
		-Db_sanitize=address,undefined -Dc_args='-fno-sanitize-recover=all -fsanitize=fuzzer-no-link'
	meson compile -C build/fuzz
	echo 'ok - built' | counted_lines
}

# New inputs go to build/fuzz/corpus, inputs that fail to build/fuzz/found.
fuzz()
{
	name=${1##*/fuzz_}
	corpus=build/fuzz/corpus/$name
	mkdir -p "$corpus" build/fuzz/found "tests/fuzz/corpus/$name"
	"$1" -max_total_time="${VNETRX_FUZZ_SECONDS:-$((minutes * 60))}" -timeout=10 \
		-rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="build/fuzz/found/$name-" "$corpus" "tests/fuzz/corpus/$name"
	echo "ok - $name" | counted_lines
}

# Every second fuzzer, from the $1-th on.
fuzz_lane()
{
	number=0
	for fuzzer in build/fuzz/tests/fuzz/fuzz_*; do
		name=${fuzzer##*/fuzz_}
		[ -x "$fuzzer" ] && [ -f "$fuzzer" ] || continue
		case " ${VNETRX_FUZZERS:-$name} " in
		*" $name "*) ;;
		*) continue ;;
		esac
		[ $((number % 2)) != "$1" ] || stage "fuzz-$name" fuzz "$fuzzer"
		number=$((number + 1))
	done
}

# need and need_clang; that they could not install is a failure like any other.
with()
{
	need "$@" || { echo '0 1 0' >"$logs/packages.count"; false; }
}

with_clang()
{
	need_clang || { echo '0 1 0' >"$logs/packages.count"; false; }
}

run_all()
{
	with $base valgrind g++ universal-ctags binutils && with_clang || return
	echo "Two stages run at a time; logs are in $logs."
	in_turn release sanitizers valgrind $(hygiene_names)
}

run_builds()
{
	with $base valgrind && with_clang || return
	in_turn pool-debug clang portable tcp-only
}

run_quick()
{
	with $base || return
	stage gcc on_gcc
}

run_hygiene()
{
	with $base g++ universal-ctags binutils && with_clang || return
	stage release on_release
	in_turn $(hygiene_names)
}

run_laws()
{
	with $base && with_clang || return
	VNETRX_COUNT=${VNETRX_COUNT:-1000}
	export VNETRX_COUNT
	stage build build_laws
	(
		stage laws law build/gcc/tests/test_laws
		stage model law env VNETRX_COUNT=$((VNETRX_COUNT * 17)) build/gcc/tests/test_model # of 600 packets each
	) &
	stage faults law build/sanitizers/tests/test_faults --seed "$(date +%s)" --count "${VNETRX_COUNT}000"
	stage rings law build/sanitizers/tests/test_virtq_model --seed "$(date +%s)" --count "${VNETRX_COUNT}0000"
	wait
}

run_fuzz()
{
	with $base && with_clang || return
	stage build build_fuzzers
	fuzz_lane 0 &
	fuzz_lane 1
	wait
}

run_ports()
{
	with $base binutils || return
	. tests/ports.sh
	ports
}

run_unikernel()
{
	with $base || return
	. tests/unikernel.sh
	unikernel
}

run_live()
{
	with $base || return
	. tests/live.sh
	live
}

run_proof()
{
	with $base frama-c-base why3 z3 cvc4 patch spin || return
	. tests/proof.sh
	proof
}

run_coverage()
{
	with $base gcovr || return
	. tests/coverage.sh
	coverage
}

run_tsan()
{
	with $base && with_clang || return
	. tests/tsan.sh
	tsan
}

clear_stages "${suite:-all}"
"run_${suite:-all}"
total
