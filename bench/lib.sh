# SPDX-License-Identifier: BSD-3-Clause
# What the scripts of bench/ share. Sourced, at the top of the project.
#
#	bench_build TARGET...   builds these in build/bench: optimized, nothing else in it, as figures want it
#	huge_pages N            sets N huge pages of 2 MiB aside until the script ends, or says that it cannot
#	instructions "OPTION..." PROGRAM ARG...
#	                        prints how many instructions callgrind counts with these options of its own; what the
#	                        program prints is in $scratch/stdout, which the script has

. tests/lib.sh

bench=build/bench/bench # where the programs are

bench_build()
{
	CC=gcc configure build/bench --buildtype=release -Doptimization=2 -Dtests=false >&2 || return
	ninja -C build/bench "$@" >&2 && return
	# A library may have been installed since.
	meson setup --reconfigure build/bench >&2 && ninja -C build/bench "$@" >&2
}

instructions()
{
	_options=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	valgrind --tool=callgrind --callgrind-out-file="$scratch/out" --collect-atstart=no $_options \
		"$@" >"$scratch/stdout" 2>"$scratch/stderr" || { cat "$scratch/stderr" >&2; return 1; }
	awk '$1 == "summary:" || $1 == "totals:" { total = $2 } END { print total }' "$scratch/out"
}

huge_pages()
{
	_setting=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
	_before=$(cat $_setting 2>/dev/null)
	if [ -w $_setting ] && [ "$_before" -lt "$1" ]; then
		trap 'echo "$_before" >$_setting' EXIT
		trap 'exit 1' INT TERM
		echo "$1" >$_setting 2>/dev/null
		_have=$(cat $_setting)
		[ "$_have" -ge "$1" ] ||
			echo "only $_have of $1 huge pages could be had: figures are for smaller pages" >&2
	elif [ "${_before:-0}" -lt "$1" ]; then
		echo 'huge pages cannot be set aside here: figures are for smaller ones' >&2
	fi
}
