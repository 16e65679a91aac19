#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Each public header compiles alone, in every dialect, C++ with both compilers.
. "$(dirname "$0")/lib.sh"

strict='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fsyntax-only -Iinclude'

# compiles HEADER LANGUAGE-OPTIONS COMPILER
alone()
{
	# shellcheck disable=SC2086 # lists of options
	echo "#include \"$1\"" | $3 $strict $2 -
}

every_dialect()
{
	for std in gcc-c99 clang-c11 gcc-c17; do
		alone "$1" "-x c -std=${std#*-} -ffreestanding" ${std%-*} || return
	done
	for compiler in gcc clang; do
		alone "$1" '-x c++ -std=c++17' $compiler || return
	done
}

for header in include/vnetrx.h include/vnetrx/*.h; do
	verdict "${header#include/} alone: C99 and C17 by gcc, C11 by clang, C++17 by both" \
		every_dialect "${header#include/}"
done

# A header that needs another one before it.
mkdir "$scratch/vnetrx"
echo 'int vnetrx_control(size_t n);' >"$scratch/vnetrx/control.h"
strict="$strict -I$scratch"
refused 'header that forgets stddef.h' every_dialect vnetrx/control.h
finish
