#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# No paths of a developer's machine, no hosts of package archives, no notes of things left undone, no blanks at line
# ends. The brackets keep the patterns from finding themselves.
. "$(dirname "$0")/lib.sh"

# What is under version control; in a tree without it, all but build/.
files()
{
	git ls-files -z 2>/dev/null >"$scratch/files" && [ -s "$scratch/files" ] ||
		find . -path ./.git -prune -o -path ./build -prune -o -type f -print0 >"$scratch/files"
	tr '\0' '\n' <"$scratch/files"
}

# none PATTERN FILE...: no text file has it.
none()
{
	pattern=$1
	shift
	! grep -n -I -E -e "$pattern" "$@" /dev/null
}

paths='/wor[k]/|/tmp/w[t]/|/far[m]/|/hom[e]/[a-z]|/roo[t]/'
hosts='de[b]\.debian\.org|securit[y]\.debian\.org|snapsho[t]\.debian\.org|ft[p]\.[a-z.]*debian\.org'
hosts="$hosts|pyp[i]\\.org|pythonhoste[d]\\.org|npmj[s]\\.org|crate[s]\\.io|archiv[e]\\.ubuntu\\.com"
undone='TOD[O]|FIXM[E]|\bXX[X]\b|HAC[K]'

files >"$scratch/list"
# shellcheck disable=SC2046 # names without blanks, which the first check makes sure of
{
	verdict "$(wc -l <"$scratch/list") files have names without blanks" none '[[:space:]]' "$scratch/list"
	set -- $(cat "$scratch/list")
}
verdict 'no paths of one machine' none "$paths" "$@"
verdict 'no hosts of package archives' none "$hosts" "$@"
verdict 'nothing left undone' none "$undone" "$@"
# A patch has a blank where the line that it shows has nothing.
verdict 'no blanks at line ends' none '[[:graph:]][[:blank:]]+$' "$@"

printf 'cd /%s/main\n' work >"$scratch/control"
refused 'path of one machine' none "$paths" "$scratch/control"
printf 'from deb.%s.org\n' debian >"$scratch/control"
refused 'host of a package archive' none "$hosts" "$scratch/control"
printf '/* TO%s: all */\n' DO >"$scratch/control"
refused 'something left undone' none "$undone" "$scratch/control"
finish
