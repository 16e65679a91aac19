# SPDX-License-Identifier: BSD-3-Clause
# Stages: what tests/run.sh and tests/ports.sh run, log, time and count. Sourced, at the top of the project.
#
#	clear_stages SUITE           first: the logs will be in build/log/SUITE
#	stage NAME FUNCTION ARG...   runs it with `set -e`, its output in NAME.log there, and prints one line
#	after STAGE                  inside a stage: waits until the other has ended
#	counted FILE                 inside a stage: adds the cases of a testlog.json to the stage
#	counted_lines < OUTPUT       inside a stage: adds lines "ok ...", "not ok ...", "skip ..."
#	total                        prints how long all stages since clear_stages took, and their sum; false when
#	                             something failed

clear_stages()
{
	logs=build/log/$1
	mkdir -p "$logs"
	rm -rf "${logs:?}"/*
	stages_from=$(date +%s)
}

stage()
{
	stage_name=$1
	shift
	stage_from=$(date +%s)
	: >"$logs/$stage_name.count"
	(
		set -e
		"$@"
	) >"$logs/$stage_name.log" 2>&1
	stage_result=$?
	# A stage that ended wrongly without a failed case (it did not build, say) is a failure of its own; so is one
	# that counted nothing.
	if sums=$(sum_of "$logs/$stage_name.count") && { [ $stage_result != 0 ] || [ "$sums" = '0 0 0' ]; }; then
		echo '0 1 0' >>"$logs/$stage_name.count"
	fi
	sums=$(sum_of "$logs/$stage_name.count") || {
		echo "---- $stage_name failed; end of $logs/$stage_name.log:"
		tail -n 60 "$logs/$stage_name.log"
		echo "----"
	}
	touch "$logs/$stage_name.done"
	# shellcheck disable=SC2086 # three numbers
	printf '%-18s %s  (%d s)\n' "$stage_name" "$(in_words $sums)" $(($(date +%s) - stage_from))
}

# after STAGE: waits until it has ended; at once when it was not begun.
after()
{
	while [ -f "$logs/$1.count" ] && [ ! -f "$logs/$1.done" ]; do
		sleep 1
	done
}

# "PASSED FAILED SKIPPED" of count files; false when something failed.
sum_of()
{
	cat "$@" | awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0; exit f > 0 }'
}

in_words()
{
	if [ "$3" = 0 ]; then
		echo "$1 passed, $2 failed"
	else
		echo "$1 passed, $2 failed, $3 skipped"
	fi
}

counted()
{
	python3 tests/count.py "$1" >>"$logs/$stage_name.count"
}

counted_lines()
{
	python3 tests/count.py - >>"$logs/$stage_name.count"
}

total()
{
	sums=$(sum_of "$logs"/*.count)
	total_result=$?
	echo "Took $(($(date +%s) - stages_from)) s."
	# shellcheck disable=SC2086 # three numbers
	in_words $sums
	return $total_result
}

# Options of build/release, which several scripts share: with others, each would build it anew.
release='--buildtype=release -Doptimization=2 -Ddebug=true -Dbenches=false'

# configure DIR OPTION...: a build directory with these options and the $CC of now; keeps one that has them already.
configure()
{
	dir=$1
	shift
	options="${CC:-cc} $*"
	if [ -f "$dir/build.ninja" ] && [ "$(cat "$dir/options" 2>/dev/null)" = "$options" ]; then
		return 0
	fi
	rm -rf "$dir"
	meson setup "$dir" -Dwerror=true "$@"
	echo "$options" >"$dir/options"
}

# test_in DIR ARG...: builds all and runs the tests there; ARG... goes to `meson test`.
test_in()
{
	meson compile -C "$1" && run_tests_in "$@"
}

# engine_in DIR: the same for suite `engine`, and builds nothing else.
engine_in()
{
	# shellcheck disable=SC2046 # names without blanks
	meson compile -C "$1" $(programs_of engine "$1") && run_tests_in "$1" --suite engine
}

# programs_of SUITE DIR: the targets that the suite's tests run, as the sources say now.
programs_of()
{
	ninja -C "$2" build.ninja >&2
	meson introspect --tests "$2" | python3 -c '
import json, os, sys
programs = {os.path.basename(t["cmd"][0]) for t in json.load(sys.stdin) if any(
    s.split(":")[-1] == sys.argv[1] for s in t["suite"])}
print(" ".join(sorted(programs)))' "$1"
}

run_tests_in()
{
	dir=$1
	shift
	rm -f "$dir"/meson-logs/testlog*.json
	result=0
	meson test -C "$dir" --no-rebuild --print-errorlogs "$@" || result=$?
	# With --wrap the log's name ends in the wrapper's.
	for testlog in "$dir"/meson-logs/testlog*.json; do
		counted "$testlog"
	done
	return $result
}
