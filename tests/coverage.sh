# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # tests/lib.sh sets $logs and $stage_name
# Lines and branches of lib/ that the unit tests run, by gcov and gcovr. Sourced by tests/run.sh.
#
# Three builds, because what stands under #if is in one of them only; tests/coverage/report.py makes one table of them.
# Without optimization: each branch of the source is one of the program, not one in each inlined copy.

coverage()
{
	(
		stage portable coverage_of portable engine -Dc_args=-DVNRX_PORTABLE -Dexamples=false
		stage tcp-only coverage_of tcp-only engine -Dgro=tcp -Dexamples=false
	) &
	stage main coverage_of main 'unit verified'
	wait
	stage report coverage_report main portable tcp-only
	cat "$logs/report.out"
}

# coverage_of NAME SUITES OPTION...: builds, and runs these suites' tests from nothing.
coverage_of()
{
	dir=build/coverage-$1
	suites=$2
	shift 2
	CC=gcc configure "$dir" -Db_coverage=true -Doptimization=0 -Dchecks=none -Dbenches=false "$@"
	# shellcheck disable=SC2046 # names without blanks
	meson compile -C "$dir" $(for suite in $suites; do programs_of "$suite" "$dir"; done | tr ' ' '\n' | sort -u)
	find "$dir" -name '*.gcda' -delete
	export VNETRX_SEED=1 # a stage is a shell of its own; the same lines each time
	# shellcheck disable=SC2046,SC2086 # names without blanks
	run_tests_in "$dir" $(printf -- '--suite %s ' $suites) --timeout-multiplier=4
}

coverage_report()
{
	for build in "$@"; do
		# Left out: the other forms of lib/compiler.h, that two libraries of the tests hold beside this build's.
		gcovr --root . --filter 'lib/' --exclude-directories '.*/lib(portable|proved)\.a\.p' -j 2 \
			--exclude-unreachable-branches --json "$logs/$build.json" "build/coverage-$build"
	done
	result=0
	python3 tests/coverage/report.py "$logs" "$@" >"$logs/report.out" || result=$?
	counted_lines <"$logs/report.out"
	mkdir -p "$logs/html"
	gcovr --root . --add-tracefile "$logs/merged.json" --html-details "$logs/html/index.html" || result=$?
	return $result
}
