# SPDX-License-Identifier: BSD-3-Clause
# What scripts that print TAP share. Sourced, before anything else changes the directory.
#
#	verdict CODE NAME [WHY]  counts a test, passed when CODE is 0; else says WHY, or what is in $dir/err
#	finish                   prints the plan; its result is the script's
#
# $dir is a directory of the script's own, removed when it ends.

dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
trap 'exit 2' HUP INT TERM
count=0
failures=0

verdict()
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2: ${3-$(cat "$dir/err")}"
		failures=$((failures + 1))
	fi
}

finish()
{
	echo "1..$count"
	[ $failures = 0 ]
}
