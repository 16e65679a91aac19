#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# symbols.sh [LIBRARY]: what the static library needs and defines, and that it links without any other library.
# $CC, $NM and $AR are what it was made with; default: gcc, nm, ar and build/release/lib/libvnetrx.a.
. "$(dirname "$0")/lib.sh"

library=${1:-build/release/lib/libvnetrx.a}
CC=${CC:-gcc}
NM=${NM:-nm}
AR=${AR:-ar}

# Undefined symbols of archive $1 that it does not define itself, the four that the environment owes it left out.
wanted()
{
	$NM -P "$1" >"$scratch/symbols" || return
	awk '$2 ~ /^[UwvV]$/ && !($1 in seen) { seen[$1]; print $1 }' "$scratch/symbols" | sort >"$scratch/undefined"
	awk '$2 ~ /^[A-TW-Z]$/ && $2 != "U" { print $1 }' "$scratch/symbols" | sort -u >"$scratch/defined"
	comm -23 "$scratch/undefined" "$scratch/defined" | grep -v -x -E 'memcpy|memmove|memset|memcmp'
	[ -s "$scratch/defined" ]
}

# The same: fails, and names them, when there is one.
wants_nothing()
{
	names=$(wanted "$1") || return
	echo "$names"
	[ -z "$names" ]
}

# Global names that are not ours.
defines_only_ours()
{
	names=$($NM -P -g --defined-only "$1" | awk 'NF > 1 { print $1 }')
	echo "$names" | grep -v -E '^(vnetrx|vnrx)_'
	[ -n "$names" ] && ! echo "$names" | grep -q -v -E '^(vnetrx|vnrx)_'
}

# A program with nothing but the library, its own four functions and an entry point.
links_alone()
{
	cat >"$scratch/alone.c" <<-'END'
		#include "vnetrx.h"
		void *memcpy(void *restrict dst, const void *restrict src, size_t n);
		void *memmove(void *dst, const void *src, size_t n);
		void *memset(void *dst, int c, size_t n);
		int memcmp(const void *a, const void *b, size_t n);
		void *memcpy(void *restrict dst, const void *restrict src, size_t n)
		{
			for (size_t i = 0; i < n; i++)
				((volatile char *)dst)[i] = ((const char *)src)[i];
			return dst;
		}
		void *memmove(void *dst, const void *src, size_t n)
		{
			return memcpy(dst, src, n);
		}
		void *memset(void *dst, int c, size_t n)
		{
			for (size_t i = 0; i < n; i++)
				((volatile char *)dst)[i] = (char)c;
			return dst;
		}
		int memcmp(const void *a, const void *b, size_t n)
		{
			return n > 0 ? *(const volatile char *)a - *(const volatile char *)b : 0;
		}
		void _start(void);
		void _start(void)
		{
			for (;;)
				;
		}
	END
	$CC -std=c11 -O2 -ffreestanding -fno-stack-protector -fno-builtin -nostdlib -static -no-pie -Iinclude \
		-Wl,--no-undefined "$scratch/alone.c" \
		-Wl,--whole-archive "$1" -Wl,--no-whole-archive -o "$scratch/alone"
}

# Standard headers that a source of the library may include: those of a freestanding environment, and Valgrind's in
# the one header that tells it about memory.
includes_freestanding()
{
	grep -rn -E '^[[:space:]]*#[[:space:]]*include[[:space:]]*<' "$@" |
		grep -v -E '<(float|iso646|limits|stdalign|stdarg|stdbool|stddef|stdint|stdnoreturn)\.h>' |
		grep -v -E '^lib/track\.h:[0-9]+:#include <valgrind/memcheck\.h>$' >"$scratch/includes"
	cat "$scratch/includes"
	[ ! -s "$scratch/includes" ]
}

[ -f "$library" ] || { echo "not ok - $library is not built"; exit 1; }
verdict "$library needs only memcpy, memmove, memset, memcmp" wants_nothing "$library"
verdict "$library defines only vnetrx_ and vnrx_ names" defines_only_ours "$library"
verdict "$library links with -nostdlib" links_alone "$library"
verdict 'lib/ and include/ include only freestanding headers' includes_freestanding lib include

cat >"$scratch/control.c" <<'END'
#include <string.h>
size_t unprefixed(const char *s);
size_t unprefixed(const char *s)
{
	return strlen(s) + 1;
}
END
$CC -O2 -c -fno-builtin "$scratch/control.c" -o "$scratch/control.o" || exit 2
cp "$library" "$scratch/control.a" && $AR r "$scratch/control.a" "$scratch/control.o" 2>/dev/null || exit 2
refused 'library that needs strlen' wants_nothing "$scratch/control.a"
refused 'library that defines a name without prefix' defines_only_ours "$scratch/control.a"
refused 'library that needs strlen, linked with -nostdlib' links_alone "$scratch/control.a"
refused 'source that includes string.h' includes_freestanding "$scratch/control.c"
finish
