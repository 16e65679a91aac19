#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# controls.sh REPLAY CHECK MAKE CAPTURE: check-capture must find what is wrong. Prints TAP. CAPTURE: one TCP connection
# over IPv4, one direction, full segments; at least 40 packets.
set -u
replay=$1
check=$2
make=$3
capture=$4

. "$(dirname "$0")/../tap.sh"

passes()
{
	line=$("$check" "$2" "$3" "$4" 2>&1)
	verdict $? "$1" "$line"
}

# fails TEXT PATTERN IN OUT META: exit code 1, and the reason matches.
fails()
{
	line=$("$check" "$3" "$4" "$5" 2>&1)
	[ $? = 1 ] && echo "$line" | grep -q "FAIL.*$2"
	verdict $? "$1" "$line"
}

for run in joined single; do
	[ $run = joined ] && option=--poll=0 || option=--no-gro
	"$replay" $option --meta "$dir/$run.meta" "$capture" "$dir/$run.pcap" || exit 2
done
"$make" fragments "$capture" "$dir/fragments.pcap" &&
	"$replay" --no-gro --meta "$dir/fragments.meta" "$dir/fragments.pcap" "$dir/fragments.out" || exit 2
# The first packet of several segments.
n=$(sed -n '/"gso_size":[1-9]/{s/.*"n":\([0-9]*\),.*/\1/p;q;}' "$dir/joined.meta")
[ -n "$n" ] || exit 2

passes 'what was merged passes' "$capture" "$dir/joined.pcap" "$dir/joined.meta"
passes 'what was not merged passes' "$capture" "$dir/single.pcap" "$dir/single.meta"
passes 'fragments pass' "$dir/fragments.pcap" "$dir/fragments.out" "$dir/fragments.meta"

"$make" flip "$dir/single.pcap" "$dir/bad.pcap" 30 700
fails 'a flipped payload byte is found' 'byte 700 differs' "$capture" "$dir/bad.pcap" "$dir/single.meta"
"$make" flip "$dir/joined.pcap" "$dir/bad.pcap" "$n" 700
fails 'a flipped payload byte of a merged packet is found' 'TCP checksum' "$capture" "$dir/bad.pcap" "$dir/joined.meta"
"$make" swap "$dir/single.pcap" "$dir/bad.pcap" 30
fails 'two packets of a flow that changed places are found' 'byte [0-9]* differs' "$capture" "$dir/bad.pcap" \
	"$dir/single.meta"
"$make" swap "$dir/fragments.out" "$dir/bad.pcap" 30
fails 'a fragment that was overtaken is found' 'order: packet 30 of IN' "$dir/fragments.pcap" "$dir/bad.pcap" \
	"$dir/fragments.meta"
"$make" swap "$dir/fragments.out" "$dir/bad.pcap" 29
fails 'a fragment that overtook is found' 'order: packet 29 of IN' "$dir/fragments.pcap" "$dir/bad.pcap" \
	"$dir/fragments.meta"

sed '$d' "$dir/single.meta" >"$dir/bad.meta"
"$make" drop "$dir/single.pcap" "$dir/bad.pcap" "$(wc -l <"$dir/single.meta")"
fails 'a missing packet is found' 'never delivered' "$capture" "$dir/bad.pcap" "$dir/bad.meta"
"$make" drop "$capture" "$dir/bad.pcap" "$(wc -l <"$dir/single.meta")"
fails 'a packet too many is found' 'packet more' "$dir/bad.pcap" "$dir/single.pcap" "$dir/single.meta"
fails 'lines missing in META are found' 'META says nothing' "$capture" "$dir/single.pcap" "$dir/bad.meta"
"$make" flip "$capture" "$dir/bad.pcap" 30 50
fails 'a repaired checksum is found' 'merged with a wrong TCP checksum' "$dir/bad.pcap" "$dir/joined.pcap" \
	"$dir/joined.meta"

sed "/\"n\":$n,/s/\"gso_size\":[0-9]*/\"gso_size\":1000/" "$dir/joined.meta" >"$dir/bad.meta"
fails 'a gso_size that gives another number of segments is found' 'gso_size' "$capture" "$dir/joined.pcap" \
	"$dir/bad.meta"
size=$(sed -n "/\"n\":$n,/s/.*\"gso_size\":\([0-9]*\).*/\1/p" "$dir/joined.meta")
sed "/\"n\":$n,/s/\"gso_size\":[0-9]*/\"gso_size\":$((size - 1))/" "$dir/joined.meta" >"$dir/bad.meta"
fails 'a gso_size that is off by one is found' 'segment\|gso_size' "$capture" "$dir/joined.pcap" "$dir/bad.meta"
sed "/\"n\":$n,/s/\"rising\"/\"fixed\"/" "$dir/joined.meta" >"$dir/bad.meta"
fails 'a wrong id mode is found' 'segment 2: byte 1[89] differs' "$capture" "$dir/joined.pcap" "$dir/bad.meta"

finish
