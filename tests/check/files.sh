#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# files.sh REPLAY STAGES CAPTURE: what the programs do with names of files, and with what they print. Prints TAP.
set -u
replay=$(realpath "$1")
stages=$(realpath "$2")
capture=$(realpath "$3")

. "$(dirname "$0")/../tap.sh"
cd "$dir" || exit 2

# exits CODE TEXT ARG...: runs REPLAY with ARG...; what it says is one line that begins with its name.
exits()
{
	code=$1
	text=$2
	shift 2
	"$replay" "$@" >out 2>err
	[ $? = "$code" ] && grep -q "^vnetrx-replay: .*$text" err
}

gzip -dc "$capture" >kept.pcap || exit 2

# in_is_safe TEXT NAMES...: refused, and IN is what it was.
in_is_safe()
{
	text=$1
	shift
	cp kept.pcap in.pcap
	ln -sf in.pcap symbolic.pcap
	ln -f in.pcap hard.pcap
	exits 1 "$text" "$@" && cmp -s kept.pcap in.pcap
	verdict $? "refused, and the capture is whole: $*"
}

in_is_safe 'OUT is IN' in.pcap in.pcap
in_is_safe 'OUT is IN' in.pcap ./in.pcap
in_is_safe 'OUT is IN' in.pcap symbolic.pcap
in_is_safe 'OUT is IN' symbolic.pcap hard.pcap
in_is_safe 'META is IN' --meta hard.pcap in.pcap out.pcap
in_is_safe 'META is IN' --meta symbolic.pcap in.pcap out.pcap
cp kept.pcap in.pcap
"$replay" - in.pcap <in.pcap >out 2>err
[ $? = 1 ] && cmp -s kept.pcap in.pcap
verdict $? 'standard input is looked at too'
[ ! -e out.pcap ]
verdict $? 'OUT was not created'
exits 1 'META is OUT' --meta new in.pcap ./new && [ ! -e new ]
verdict $? 'a new file cannot be OUT and META'
echo old >meta
exits 1 'META is OUT' --meta meta in.pcap meta && [ "$(cat meta)" = old ]
verdict $? 'nor can an old one'

exits 3 'No such file' --meta nowhere/meta in.pcap out.pcap && [ ! -e out.pcap ]
verdict $? 'no OUT when META cannot be had'
exits 3 'No such file' --meta meta in.pcap nowhere/out && [ "$(cat meta)" = old ]
verdict $? 'META stays when OUT cannot be had'
exits 3 'No such file' --meta new in.pcap nowhere/out && [ ! -e new ]
verdict $? 'and is not created'
"$replay" --meta meta in.pcap out.pcap 2>err && head -n 1 meta | grep -q '^{"n":1,'
verdict $? 'META is written from its beginning'
"$replay" --meta /dev/null in.pcap /dev/null 2>err
verdict $? '/dev/null may be named twice'
"$replay" in.pcap - 2>err | cmp -s - out.pcap
verdict $? 'OUT on standard output is the same'
"$replay" --meta - in.pcap /dev/null 2>err | cmp -s - meta
verdict $? 'META on standard output is the same'

exits 1 'only one' --stats --json in.pcap out.pcap
verdict $? '--stats and --json together are refused'
exits 1 'only one' --stats in.pcap -
verdict $? '--stats and OUT on standard output are refused'
"$replay" --help >/dev/full 2>err
[ $? = 3 ]
verdict $? 'help that cannot be printed is an error'
"$stages" --help >/dev/full 2>err
[ $? = 3 ]
verdict $? 'vnetrx-stages says so too'
exits 1 "unrecognized option '--nothing'" --nothing in.pcap out.pcap
verdict $? 'unknown options are told under the name of the program alone'
for size in 128 1000 32705 32767 32768; do
	"$replay" --ring 1024 --buf $size in.pcap out.pcap 2>err
	verdict $? "buffers of $size bytes"
done

# One record of 14 bytes of a frame of 60, and one that is whole.
{
	printf '\324\303\262\241\2\0\4\0\0\0\0\0\0\0\0\0\16\0\0\0\1\0\0\0'
	printf '\0\0\0\0\0\0\0\0\16\0\0\0\74\0\0\0\2\0\0\0\0\2\2\0\0\0\0\1\210\265'
	printf '\0\0\0\0\0\0\0\0\16\0\0\0\16\0\0\0\2\0\0\0\0\2\2\0\0\0\0\1\210\265'
} >cut.pcap
exits 0 'warning: cut.pcap: 1 of 2 packets were cut' cut.pcap out.pcap
verdict $? 'packets that a snaplen cut are told'
"$stages" --repeats 1 cut.pcap >out 2>err && grep -q 'warning: cut.pcap: 1 of 2 packets were cut' err
verdict $? 'vnetrx-stages tells them too'

# measures TEXT ARG...: STAGES prints a table of what it took, and a line with the text.
measures()
{
	text=$1
	shift
	"$stages" --repeats 1 "$@" >out 2>err && grep -q '+ timer' out && [ "$(wc -l <err)" = 1 ] &&
		grep -q "^vnetrx-stages: warning: $text" err
}

# refuses CODE TEXT ARG...: STAGES measures nothing, and its last line says why.
refuses()
{
	code=$1
	text=$2
	shift 2
	"$stages" "$@" >out 2>err
	[ $? = "$code" ] && [ ! -s out ] && tail -n 1 err | grep -q "^vnetrx-stages: $text"
}

# A frame of 14 bytes and one of 3; only the latter; one that is whole and one without its end.
{
	head -c 24 cut.pcap
	tail -c 30 cut.pcap
	printf '\0\0\0\0\0\0\0\0\3\0\0\0\3\0\0\0abc'
} >short.pcap
{
	head -c 24 cut.pcap
	tail -c 19 short.pcap
} >only_short.pcap
{
	head -c 24 cut.pcap
	tail -c 30 cut.pcap
	tail -c 30 cut.pcap | head -c 26
} >tail.pcap
exits 2 'warning: tail.pcap: byte 54: .*truncated.* (packets: 1)' tail.pcap out.pcap && [ "$(wc -c <out.pcap)" = 54 ]
verdict $? 'a file that ends in the middle of a packet: all before it is written'
measures 'tail.pcap: byte 54: .*truncated.* (packets: 1)' tail.pcap
verdict $? 'and measured'
measures 'short.pcap: 1 of 2 packets are left out: shorter than 14 bytes' short.pcap
verdict $? 'frames without a whole Ethernet header are left out, and counted'
refuses 2 'only_short.pcap: no packets to measure' only_short.pcap
verdict $? 'when there are no others, that is said'
head -c 50 tail.pcap >none.pcap
refuses 2 'none.pcap: byte 24: truncated' none.pcap
verdict $? 'and that the first packet is not whole'
refuses 1 '--irq 99999999999: not a number from 0 to 1000000000' --irq 99999999999 in.pcap
verdict $? 'a wrong value is told with its option'
refuses 2 '\.: .*Is a directory' .
verdict $? 'a directory is told as such'
exits 2 'Is a directory' . out.pcap
verdict $? 'by vnetrx-replay too'

"$replay" in.pcap out.pcap 2>err && [ ! -s err ]
verdict $? 'whole captures have no warning'

finish
