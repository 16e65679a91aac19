# SPDX-License-Identifier: BSD-3-Clause
# What the hygiene checks share. Each check prints lines "ok - ...", "not ok - ..." and ends with `finish`.

cd "$(dirname "$0")/../.." || exit 2
failures=0

# verdict TEXT COMMAND...: runs the command; its output only when it fails.
verdict()
{
	verdict_text=$1
	shift
	if verdict_out=$("$@" 2>&1); then
		echo "ok - $verdict_text"
	else
		echo "not ok - $verdict_text"
		echo "$verdict_out" | head -n 40 | sed 's/^/    /'
		failures=$((failures + 1))
	fi
}

# refused TEXT COMMAND...: the control of a check: the command must fail on what was planted.
refused()
{
	verdict_text=$1
	shift
	if verdict_out=$("$@" 2>&1); then
		echo "not ok - control: $verdict_text: not noticed"
		failures=$((failures + 1))
	else
		echo "ok - control: $verdict_text"
	fi
}

# at_most TEXT FIGURE LIMIT
at_most()
{
	verdict "$1: $2 (limit $3)" [ "$2" -le "$3" ]
}

# A directory for the check's own files; gone at the end.
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT

finish()
{
	[ $failures = 0 ]
	exit $?
}
