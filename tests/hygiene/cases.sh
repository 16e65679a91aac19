#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The table "Bugs of others" in docs/testing.md: every case once, each with a test that exists, or with the reason why
# there is nothing to test.
. "$(dirname "$0")/lib.sh"

cases="$(seq -f 'G%g' 44) A1 A2 A3 A4 A6 A7 A8 A9 A10 A11 A12 A16 A17 A18 A19 A20
	B1 B2 B5 B7 B9 B10 B11 B12 B13 C1 C2 C5 C6 C8 C10 C11 C12 C13 C14 C15
	D1 D2 D4 D6 D7 D8 D11 D12 D13 D14 D15 D17 D19 D21 D22 D23 D25 D26 D28 D29 D30 E1 E2 E5 E6 E7 E9 F1 F2 F4 F6 F8"

# Names of the tests that cmocka runs.
tests_of()
{
	grep -h -o -E 'cmocka_unit_test[a-z_]*\([a-z_0-9]+' "$@" | sed 's/.*(//' | sort -u
}

# Rows "CASE|TEXT|TEST" of the table in $1.
rows_of()
{
	sed -n 's/^| \([A-G][0-9]*\) | \(.*\) | \(.*\) |$/\1|\2|\3/p' "$1"
}

# Each case of the list has one row in $1, and there are no others.
complete()
{
	rows_of "$1" | cut -d '|' -f 1 | sort >"$scratch/have"
	printf '%s\n' $cases | sort >"$scratch/want"
	diff "$scratch/want" "$scratch/have"
}

# Each row of $1 names tests in the list $2, all of which exist, or says why there is no counterpart.
answered()
{
	rows_of "$1" | awk -F '|' -v list="$2" '
		BEGIN { while ((getline name < list) > 0) exists[name] = 1 }
		{
			if (length($2) < 4) { print $1 ": does not say what went wrong"; bad = 1 }
			names = 0
			for (rest = $3; match(rest, /`[a-z_0-9]+`/); rest = substr(rest, RSTART + RLENGTH)) {
				name = substr(rest, RSTART + 1, RLENGTH - 2)
				names++
				if (!(name in exists)) { print $1 ": there is no test " name; bad = 1 }
			}
			if (!names && ($3 !~ /^no counterpart: / || length($3) < 36)) {
				print $1 ": names no test and no reason"
				bad = 1
			}
		}
		END { exit bad }'
}

tests_of tests/*.c >"$scratch/tests"
verdict "$(echo $cases | wc -w) cases have one row each" complete docs/testing.md
verdict "they name tests that exist ($(rows_of docs/testing.md | grep -c 'no counterpart') have no counterpart)" \
	answered docs/testing.md "$scratch/tests"

grep -v '^| G17 ' docs/testing.md >"$scratch/control.md"
refused 'a case without a row' complete "$scratch/control.md"
sed 's/`deep_tags_pass`/`deep_tags_fail`/' docs/testing.md >"$scratch/control.md"
refused 'a test that does not exist' answered "$scratch/control.md" "$scratch/tests"
sed 's/^\(| G3 .* |\) .* |$/\1 some day |/' docs/testing.md >"$scratch/control.md"
refused 'a row without a test and a reason' answered "$scratch/control.md" "$scratch/tests"
finish
