#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Who may include whom: the include graph is the data-flow graph, and a wing of lib/ knows no other wing.
. "$(dirname "$0")/lib.sh"

# Public header: the public headers it may include. A header that is missing here is an error.
public='base:
ops: base
stats: base
sizer: base
moderate: base
pkt: base ops
pool: base ops pkt stats
merge: base ops pkt stats pool
gro: base ops pkt stats
virtio_net: base ops
virtio_features: base
virtio_ctrl: base virtio_features
virtq: base ops
virtio_rx: base ops virtio_net virtq
virtio_features: base
txq: base ops pkt stats virtio_net virtq
rxq: base ops pkt stats sizer pool merge gro'

# Part of lib/: the public headers and the parts it may include. lib/*.h and files of the same part are always allowed;
# lib/rxq*.c join the wings and may include all.
parts='buf: base ops pkt stats sizer pool merge
gro: base ops pkt stats gro
virtio: base ops pkt stats virtio_net virtio_features virtio_ctrl virtq virtio_rx txq'

# Lines "FILE INCLUDED" for the quoted includes of the C files below $1.
includes()
{
	(cd "$1" && find . -name '*.[ch]' | sed 's|^\./||' | sort | while read -r file; do
		sed -n "s|^[[:space:]]*#[[:space:]]*include[[:space:]]*\"\\([^\"]*\\)\".*|$file \\1|p" "$file"
	done)
}

# allowed TABLE NAME INCLUDED
allowed()
{
	line=$(echo "$1" | grep "^$2:") || { echo "$2 stands in no layer"; return 1; }
	case " ${line#*:} " in
	*" $3 "*) return 0 ;;
	esac
	return 1
}

# Headers below $1/vnetrx against the table.
public_in_order()
{
	includes "$1/vnetrx" >"$scratch/includes"
	bad=0
	while read -r file header; do
		allowed "$public" "${file%.h}" "${header%.h}" || { echo "$file includes $header"; bad=1; }
	done <"$scratch/includes"
	for file in "$1"/vnetrx/*.h; do
		name=$(basename "$file" .h)
		echo "$public" | grep -q "^$name:" || { echo "$name.h stands in no layer"; bad=1; }
	done
	return $bad
}

# The part of lib/ that a file belongs to; "." is its top.
part_of()
{
	case $1 in
	*/*) echo "${1%%/*}" ;;
	*) echo . ;;
	esac
}

# Whether a file of the top knows all parts.
joins_wings()
{
	case $1 in
	rxq.c | rxq_*.c) ;;
	*) false ;;
	esac
}

# one_include LIB FILE INCLUDED
one_include()
{
	part=$(part_of "$2")
	case $3 in
	vnetrx/*)
		header=${3#vnetrx/}
		[ "$part" = . ] || allowed "$parts" "$part" "${header%.h}"
		;;
	vnetrx.h)
		joins_wings "$2"
		;;
	*)
		other=${3#../}
		[ -f "$1/$other" ] || other=$part/$other
		[ -f "$1/$other" ] || { echo "$2: $3 is not in lib/"; return 1; }
		other_part=$(part_of "$other")
		[ "$other_part" = . ] || [ "$other_part" = "$part" ] || joins_wings "$2"
		;;
	esac
}

wings_apart()
{
	includes "$1" >"$scratch/includes"
	bad=0
	while read -r file header; do
		one_include "$1" "$file" "$header" || { echo "$file must not include $header"; bad=1; }
	done <"$scratch/includes"
	return $bad
}

verdict "public headers include only what stands before them ($(includes include | wc -l) includes)" \
	public_in_order include
verdict "the wings of lib/ know nothing of each other ($(includes lib | wc -l) includes)" \
	wings_apart lib

mkdir -p "$scratch/include/vnetrx" "$scratch/lib/buf" "$scratch/lib/gro"
echo '#include "rxq.h"' >"$scratch/include/vnetrx/pool.h"
refused 'pool.h that includes rxq.h' public_in_order "$scratch/include"
echo '#include "gro/flow.h"' >"$scratch/lib/buf/pool.c"
: >"$scratch/lib/gro/flow.h"
refused 'buf/pool.c that includes gro/flow.h' wings_apart "$scratch/lib"
echo '#include "vnetrx/merge.h"' >"$scratch/lib/gro/gro.c"
: >"$scratch/lib/buf/pool.c"
refused 'gro/gro.c that includes vnetrx/merge.h' wings_apart "$scratch/lib"
finish
