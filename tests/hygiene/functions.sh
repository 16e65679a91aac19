#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Budgets: length of functions, files and lines, number of parameters.
. "$(dirname "$0")/lib.sh"

# Lines "LENGTH PARAMETERS FILE:LINE NAME" of the functions below the directories.
functions()
{
	find "$@" -name '*.[ch]' | sort | ctags -o - -L - -x --language-force=C --kinds-C=f \
		--_xformat='%{line}	%{end}	%{input}	%{name}	%{signature}' |
		awk -F '\t' '{
			parameters = $5 ~ /^\((void)?\)$/ ? 0 : gsub(/,/, ",", $5) + 1
			print $2 - $1 + 1, parameters, $3 ":" $1, $4
		}'
}

# No line beyond 120 columns, tabs to 8, in the C files and scripts below the directories.
lines_fit()
{
	find "$@" -name '*.[ch]' -o -name '*.sh' -o -name meson.build | while read -r file; do
		expand -t 8 "$file" | awk -v file="$file" 'length > 120 { print file ":" NR ": " length " columns" }'
	done >"$scratch/wide_lines"
	cat "$scratch/wide_lines"
	[ ! -s "$scratch/wide_lines" ]
}

# percentile P: of the first column of what it reads.
percentile()
{
	sort -n | awk -v p="$1" '{ value[NR] = $1 } END { i = int((NR - 1) * p / 100 + 0.5) + 1; print value[i] + 0 }'
}

# Two functions that stay in their budget; none beyond it, printed.
within()
{
	[ -s "$1" ] && awk '$1 > 70 || $2 > 6 { print; bad = 1 } END { exit bad }' "$1"
}

functions lib include >"$scratch/lib"
functions tests examples bench >"$scratch/other"
for part in lib other; do
	figures=$scratch/$part
	[ $part = lib ] && name='lib/ and include/' || name='tests/, examples/ and bench/'
	longest=$(sort -n "$figures" | tail -n 1 | awk '{ print $1 + 0, "(" $4 ")" }')
	verdict "$(wc -l <"$figures") functions of $name have at most 70 lines (longest: $longest) and 6 parameters" \
		within "$figures"
done
at_most 'lines of a function in lib/ and include/, median' "$(percentile 50 <"$scratch/lib")" 15
at_most 'lines of a function in lib/ and include/, 90th percentile' "$(percentile 90 <"$scratch/lib")" 40
find lib include -name '*.[ch]' -exec wc -l {} \; | sort -n | tail -n 1 >"$scratch/longest"
read -r lines file <"$scratch/longest"
at_most "lines of a file in lib/ and include/, longest ($file)" "$lines" 400
verdict 'no line has more than 120 columns' lines_fit lib include tests examples bench scripts

mkdir "$scratch/control"
awk 'BEGIN {
	print "int long_one(int a)\n{"
	for (i = 0; i < 70; i++) print "\ta++;"
	print "\treturn a;\n}"
}' >"$scratch/control/long.c"
functions "$scratch/control" >"$scratch/long"
refused 'function of 74 lines' within "$scratch/long"
echo 'int wide_one(int a, int b, int c, int d, int e, int f, int g) { return a + b + c + d + e + f + g; }' \
	>"$scratch/control/long.c"
functions "$scratch/control" >"$scratch/wide"
refused 'function with 7 parameters' within "$scratch/wide"
printf '%0121d\n' 0 >"$scratch/control/long.c"
refused 'line of 121 columns' lines_fit "$scratch/control"
finish
