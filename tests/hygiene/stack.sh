#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Stack frames of the library's functions, as gcc -O2 lays them out, and the size of its code.
. "$(dirname "$0")/lib.sh"

# Frames of sources $@ into $scratch/frames: "FILE:LINE:COLUMN:NAME BYTES static|dynamic...".
measure()
{
	: >"$scratch/frames"
	for source in "$@"; do
		gcc -std=c11 -O2 -Werror -fno-stack-protector -fstack-usage -Iinclude -Ilib -c "$source" \
			-o "$scratch/one.o" || return
		cat "$scratch/one.su" >>"$scratch/frames"
		size "$scratch/one.o" | awk 'NR == 2 { print $1 }' >>"$scratch/text"
	done
}

# No frame above 2 KiB (a batch of 64 buffers is 1.5 KiB), none whose size is only known when it runs.
frames_small()
{
	measure "$@" && [ -s "$scratch/frames" ] &&
		awk -F '\t' '$2 > 2048 || $3 ~ /dynamic/ { print; bad = 1 } END { exit bad }' "$scratch/frames"
}

# shellcheck disable=SC2046 # names without blanks
set -- $(find lib -name '*.c' | sort)
measure "$@" || { echo 'not ok - the library compiles'; exit 1; }
largest=$(sort -t '	' -k 2 -n "$scratch/frames" | tail -n 1 |
	awk -F '\t' '{ sub(/.*:/, "", $1); print $2, "in", $1 }')
verdict "frames are of known size and at most 2048 bytes (largest: $largest)" frames_small "$@"
echo "text of the library: $(awk '{ sum += $1 } END { print sum }' "$scratch/text") bytes"

cat >"$scratch/control.c" <<'END'
void use(char *p);
void large(void);
void large(void)
{
	char a[3000];

	use(a);
}
END
refused 'frame of 3000 bytes' frames_small "$scratch/control.c"
finish
