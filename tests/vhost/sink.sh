#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# sink.sh SINK: what vnetrx-vhost-sink does with what is at its path. Prints TAP.
set -u
sink=$(realpath "$1")

. "$(dirname "$0")/../tap.sh"
cd "$dir" || exit 2

# exits CODE TEXT ARG...: what it says is one line with the text.
exits()
{
	code=$1
	text=$2
	shift 2
	"$sink" --quiet "$@" >out 2>err
	[ $? = "$code" ] && [ "$(wc -l <err)" = 1 ] && grep -q "^vnetrx-vhost-sink: $text" err
}

echo kept >file
exits 2 'file: what is there is no socket, and stays: move it' --listen --seconds 1 file && [ "$(cat file)" = kept ]
verdict $? 'listening at the path of a file is refused, and the file is whole'
exits 2 '\.: what is there is no socket' --listen --seconds 1 .
verdict $? 'nor does it listen at a directory'
exits 2 'file: what is there is no socket' --seconds 60 file
verdict $? 'a file is no back end'
exits 2 '\.: a directory is no socket' --seconds 60 .
verdict $? 'nor is a directory'
exits 0 'waiting for nowhere: No such file or directory' --seconds 1 nowhere
verdict $? 'it says once that it waits, and why'
exits 0 'waiting for sock: no back end has connected' --listen --seconds 1 sock && [ ! -e sock ]
verdict $? 'and when it listens'

"$sink" --quiet --listen sock >live.out 2>live.err &
live=$!
n=0
while [ ! -s live.err ] && [ $n -lt 100 ]; do
	sleep 0.1
	n=$((n + 1))
done
exits 2 'sock: another program listens there: end that one' --listen --seconds 1 sock && [ -S sock ]
verdict $? 'the socket of a live listener is left to it'
kill -9 $live
wait $live 2>/dev/null
[ -S sock ]
verdict $? 'a kill leaves the socket over'
exits 0 'waiting for sock: Connection refused' --seconds 1 sock
verdict $? 'nobody is behind it'
exits 0 'waiting for sock: no back end has connected' --listen --seconds 1 sock && [ ! -e sock ]
verdict $? 'which the next one replaces'

finish
