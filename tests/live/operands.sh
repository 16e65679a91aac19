#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# operands.sh BOX PACE [LWIP]: operands and values that are wrong are refused before anything is made. Prints TAP.
set -u
box=$1
pace=$2
lwip=${3:-}

. "$(dirname "$0")/../tap.sh"

# refused TEXT PROGRAM ARG...: exit 1, and one line that begins with the program's name and the text.
refused()
{
	text=$1
	shift
	"$@" >/dev/null 2>"$dir/err"
	[ $? = 1 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q "^$(basename "$1"): $text" "$dir/err"
	verdict $? "$(basename "$1") says: $text"
}

long=$(printf '%0128d' 0)
refused '/name: no network namespace before the slash' "$box" /name out
refused 'xdp:/name: no network namespace before the slash' "$box" in xdp:/name
refused 'space/: no name of an interface' "$box" space/ out
refused ': no name of an interface' "$box" in ''
refused "$long/name: the name of the network namespace is too long" "$box" in "$long/name"
refused '/name: no network namespace before the slash' "$pace" /name out 1 2 1 1
if [ -n "$lwip" ]; then
	refused '/name: no network namespace before the slash' "$lwip" /name
	refused 'space/: no name of an interface' "$lwip" space/
	refused ': no name of an interface' "$lwip" ''
	refused '--gro x: not on or off' "$lwip" --gro x name
	refused '0 operands given, one wanted' "$lwip"
fi

finish
