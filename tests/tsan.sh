# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # tests/lib.sh sets $logs and $stage_name
# ThreadSanitizer over what has threads, and races that are planted, which it must find. Sourced by tests/run.sh.
#
#	VNETRX_COUNT=400   how long the two under load run: so many thousand packets each way, and for each kind of ring
#	                   two and a half times as many chains
#
# Nothing is suppressed. What it is told of fences, which it does not know, stands in lib/barrier.h.

tsan_load='test_threads test_virtq_threads'
tsan_others='test_pkt test_rxq_life test_rxq_memory test_rxq_time test_txq test_virtio_rx test_laws test_faults
	test_vhost_user'

tsan()
{
	stages=${VNETRX_STAGES:-}
	[ -z "$stages" ] || tsan_load=$stages tsan_others= # programs: these, no planted races
	stage build tsan_build
	for program in $tsan_load; do
		stage "$program" tsan_run "$program" "${VNETRX_COUNT:-400}"
	done
	for program in $tsan_others; do
		stage "$program" tsan_run "$program" 5
	done
	[ -z "$stages" ] || return 0
	stage controls tsan_controls
	for bug in tests/tsan/*.bug; do
		stage "bug-$(basename "$bug" .bug)" tsan_bug "$bug"
	done
}

tsan_configure()
{
	CC=clang configure "$1" -Dchecks=full -Doptimization=1 -Dbenches=false -Db_sanitize=thread -Db_lundef=false \
		-Dc_args=-gline-tables-only
}

tsan_build()
{
	tsan_configure build/tsan
	# shellcheck disable=SC2086 # lists of words
	meson compile -C build/tsan $tsan_load $tsan_others
	echo 'ok - built' | counted_lines
}

# tsan_reports NAME PROGRAM: runs it and sets $reports.
tsan_reports()
{
	rm -f "$logs/$1".report.*
	result=0
	TSAN_OPTIONS="log_path=$logs/$1.report" CMOCKA_MESSAGE_OUTPUT=TAP "$2" >"$logs/$1.tap" 2>&1 || result=$?
	reports=$(cat "$logs/$1".report.* 2>/dev/null | grep -c '^WARNING: ThreadSanitizer' || true)
}

tsan_run()
{
	export VNETRX_COUNT="$2" # a stage is a shell of its own
	tsan_reports "$1" "build/tsan/tests/$1"
	cat "$logs/$1.tap" "$logs/$1".report.* 2>/dev/null || true
	counted_lines <"$logs/$1.tap"
	if [ "$reports" = 0 ]; then
		echo "ok - $1: 0 reports" | counted_lines
	else
		echo "not ok - $1: $reports reports" | counted_lines
	fi
	return $result
}

# A copy of the sources to plant races in.
tsan_controls()
{
	planted=$PWD/build/tsan-planted
	rm -rf "$planted/src"
	mkdir -p "$planted/src"
	cp -R lib include tests examples meson.build meson_options.txt "$planted/src"
	(
		cd "$planted/src" || exit
		rm -rf "$planted/build"
		tsan_configure "$planted/build"
		# shellcheck disable=SC2086 # a list of words
		meson compile -C "$planted/build" $tsan_load
	)
	echo 'ok - built' | counted_lines
}

# One planted race: there must be a report, whatever else the program does.
tsan_bug()
{
	name=$(basename "$1" .bug)
	program=$(sed -n 's/^Program: //p' "$1")
	src=build/tsan-planted/src
	sed '1,/^$/d' "$1" | patch -s -p1 -d $src
	built=0
	meson compile -C build/tsan-planted/build "$program" || built=$?
	sed '1,/^$/d' "$1" | patch -s -R -p1 -d $src
	[ $built = 0 ]
	export VNETRX_COUNT=10
	tsan_reports "bug-$name" "build/tsan-planted/build/tests/$program"
	if [ "$reports" != 0 ]; then
		echo "ok - $name: found, $reports reports" | counted_lines
	else
		echo "not ok - $name: not found" | counted_lines
	fi
}
