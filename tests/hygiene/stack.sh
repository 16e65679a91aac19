#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The deepest stack of every public function: frames as gcc -O2 lays them out, added along the call graph that it writes
# down. Calls through the tables of ops end at the driver and the host: what these use comes on top.
# $CC and $CFLAGS, such as CC=arm-none-eabi-gcc CFLAGS='-Os -mcpu=cortex-m4 -mthumb', measure for other targets.
. "$(dirname "$0")/lib.sh"

CC=${CC:-gcc}
limit=1024

# The call graphs of sources $@ into $scratch/graph.
measure()
{
	: >"$scratch/graph"
	for source in "$@"; do
		# shellcheck disable=SC2086 # a list of options
		$CC -std=c11 ${CFLAGS:--O2} -Werror -fno-stack-protector -fcallgraph-info=su -Iinclude -Ilib \
			-c "$source" -o "$scratch/one.o" || return
		cat "$scratch/one.ci" >>"$scratch/graph"
	done
}

# Reads a graph; per public function a line "BYTES OPS PATH": the deepest sum, the deepest one at which an op is called
# (- = none is), and the way to the first with the frames on it. Fails on a sum above the limit, on a frame whose size
# is only known when it runs, on recursion, and on a call of something that is neither ours nor one of the four
# functions that the environment owes.
sums()
{
	awk -F '"' -v limit="$limit" '
		function name(f) {
			sub(/^.*:/, "", f)
			return f
		}
		function fail(why) {
			print "# " why
			bad = 1
		}
		# Bytes on the stack from the call of f on; sets way[f] and ops[f].
		function depth(f,    called, n, i, most) {
			if (f in sum)
				return sum[f]
			if (f in open)
				fail(name(f) " calls itself")
			if (f in open || !(f in frame)) {
				if (!(f in open) && f !~ /^mem(cpy|move|set|cmp)$/)
					fail(name(f) " is called, and nothing is known about it")
				return 0
			}
			open[f] = 1
			most = 0
			way[f] = name(f) " " frame[f]
			n = split(calls[f], called, " ")
			for (i = 1; i <= n; i++) {
				if (called[i] == "__indirect_call") {
					if (ops[f] < frame[f])
						ops[f] = frame[f]
					continue
				}
				if (depth(called[i]) > most) {
					most = sum[called[i]]
					way[f] = name(f) " " frame[f] " > " way[called[i]]
				}
				if (ops[called[i]] > 0 && ops[f] < ops[called[i]] + frame[f])
					ops[f] = ops[called[i]] + frame[f]
			}
			delete open[f]
			sum[f] = frame[f] + most
			return sum[f]
		}
		$1 ~ /^node:/ && $4 ~ / bytes \(/ {
			if ($4 ~ /dynamic/)
				fail(name($2) " has a frame of unknown size")
			sub(/ bytes.*/, "", $4)
			sub(/.*n/, "", $4)
			if (!($2 in frame) || frame[$2] < $4 + 0)
				frame[$2] = $4 + 0
		}
		$1 ~ /^edge:/ { calls[$2] = calls[$2] " " $4 }
		END {
			for (f in frame) {
				if (f !~ /^vnetrx_/)
					continue
				print depth(f), (ops[f] > 0 ? ops[f] : "-"), way[f]
				if (depth(f) > limit)
					fail(name(f) " is above " limit " bytes")
				public++
			}
			exit bad || !public
		}
	' "$scratch/graph" >"$scratch/sums"
}

# No public function above the limit, nothing that cannot be added up.
deepest_small()
{
	measure "$@" && sums
	small=$?
	grep '^#' "$scratch/sums"
	return $small
}

# The same for the controls: fails only if they are refused for a reason that has the words $1 in it.
not_refused_as()
{
	words=$1
	shift
	deepest_small "$@" >"$scratch/why"
	! grep "^#.*$words" "$scratch/why"
}

# shellcheck disable=SC2046 # names without blanks
set -- $(find lib -name '*.c' | sort)
verdict "deepest stack of every public function: at most $limit bytes" deepest_small "$@"
echo 'bytes, bytes where an op of the driver or host is called (-: nowhere), the way and the frames on it:'
grep -v '^#' "$scratch/sums" | sort -k 1nr -k 3

cat >"$scratch/first.c" <<'END'
void vnrx_second(void);
void vnetrx_first(void);
void vnetrx_first(void)
{
	volatile char a[600];

	a[0] = 1;
	vnrx_second();
	a[1] = 1;
}
END
cat >"$scratch/second.c" <<'END'
void vnrx_second(void);
void vnrx_second(void)
{
	volatile char a[600];

	a[0] = 1;
}
END
cat >"$scratch/again.c" <<'END'
unsigned vnetrx_again(const volatile unsigned *n);
unsigned vnetrx_again(const volatile unsigned *n)
{
	volatile unsigned half = *n / 2u;

	return half != 0u ? vnetrx_again(&half) + half : 0u;
}
END
cat >"$scratch/dynamic.c" <<'END'
void vnetrx_dynamic(unsigned n);
void vnetrx_dynamic(unsigned n)
{
	volatile char a[n];

	a[0] = 1;
}
END
refused 'two frames of 600 bytes, in two files' not_refused_as "above $limit" "$scratch/first.c" "$scratch/second.c"
refused 'call of a function that is nowhere' not_refused_as 'vnrx_second is called' "$scratch/first.c"
refused 'function that calls itself' not_refused_as 'calls itself' "$scratch/again.c"
refused 'frame of unknown size' not_refused_as 'unknown size' "$scratch/dynamic.c"
refused 'no public function at all' deepest_small "$scratch/second.c"
finish
