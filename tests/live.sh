# SPDX-License-Identifier: BSD-3-Clause
# Real traffic. Sourced by tests/run.sh. Stages box-...: kernels on both sides of vnetrx-box, see examples/live/. The
# others: the front end against a device that others wrote, dpdk-testpmd with net_vhost.
#
# One back end runs at a time, on the first CPU; the front end on the last. Each has an end in time, and is ended by its
# process id. A stage that cannot run here says why and counts as skipped.

live=build/release/tests/vnetrx-live
sink=build/release/examples/vnetrx-vhost-sink
live_cpus=$(taskset -pc $$ | sed 's/.*: //; s/,/ /g; s/-/ /g')
live_first=${live_cpus%% *}
live_last=${live_cpus##* }

live()
{
	# Thousands of packets of each of 32 ways; 100: about 10 million in all.
	VNETRX_COUNT=${VNETRX_COUNT:-340}
	live_dir=$(mktemp -d "${TMPDIR:-/tmp}/live.XXXXXX") || return
	trap 'backend_end KILL; rm -rf "$live_dir"' EXIT
	trap 'exit 1' HUP INT TERM
	backend_pid=
	stage build build_live
	[ -x "$live" ] && [ -x "$sink" ] || return
	why=unknown
	for name in ${VNETRX_STAGES:-ways flood queues restart listen bursts idle rates stop $live_box}; do
		case $name in
		box-*)
			stage "$name" live_box "${name#box-}"
			continue
			;;
		esac
		[ "$why" != unknown ] || why=$(why_no_backend)
		if [ -n "$why" ]; then
			stage "$name" skip_stage "$name: $why"
		else
			stage "$name" "live_$name"
		fi
	done
}

live_box='box-rates box-exact box-udp box-order box-stop'

# live_box STAGE: a stage of examples/run.sh live, shortened; 3 = skipped.
live_box()
{
	result=0
	timeout 300 sh examples/run.sh live --quick "$1" >"$live_dir/box.out" 2>&1 || result=$?
	cat "$live_dir/box.out"
	counted_lines <"$live_dir/box.out"
	[ $result = 0 ] || [ $result = 3 ]
}

build_live()
{
	CC=gcc configure build/release $release
	meson compile -C build/release vnetrx-live vnetrx-vhost-sink
	echo 'ok - built' | counted_lines
}

skip_stage()
{
	echo "skip - $1"
	echo "skip - $1" | counted_lines
}

# ---- the back end ----

# Nothing, if it can run here.
why_no_backend()
{
	backend_there >"$live_dir/why" 2>&1 || tail -n 1 "$live_dir/why"
}

# Can it run here? Says why not.
backend_there()
{
	need dpdk-dev >/dev/null || { echo 'dpdk-testpmd is not there and cannot be installed'; return 1; }
	backend_start 1 io && backend_end INT
}

# backend_start QUEUES MODE ARG...: waits until it forwards. With BACKEND_CLIENT=1 it connects to us.
backend_start()
{
	backend_queues=$1
	mode=$2
	shift 2
	[ "${BACKEND_CLIENT:-0}" = 1 ] || rm -f "$live_dir/sock"
	backend_log=$live_dir/backend.log
	device="net_vhost0,iface=$live_dir/sock,queues=$backend_queues,client=${BACKEND_CLIENT:-0}"
	taskset -c "$live_first" dpdk-testpmd --lcores "0@$live_first,1@$live_first" --no-pci --no-huge --no-shconf \
		-m 128 --no-telemetry --vdev "$device" -- --total-num-mbufs=8192 --nb-cores=1 \
		--rxq="$backend_queues" --txq="$backend_queues" --no-flush-rx --no-lsc-interrupt \
		--forward-mode="$mode" --port-topology=loop --auto-start --stats-period 1 "$@" \
		</dev/null >"$backend_log" 2>&1 &
	backend_pid=$!
	tries=0
	until backend_ready; do
		tries=$((tries + 1))
		if [ $tries -gt 600 ] || ! kill -0 "$backend_pid" 2>/dev/null; then
			echo "dpdk-testpmd does not run: $(grep -iE 'error|cannot|fail' "$backend_log" | head -n 1)"
			backend_end KILL
			return 1
		fi
		sleep 0.1
	done
}

backend_ready()
{
	grep -q 'packets/burst' "$backend_log" && { [ "${BACKEND_CLIENT:-0}" = 1 ] || [ -S "$live_dir/sock" ]; }
}

# backend_end SIGNAL: by its id, and KILL when it takes longer than 20 s.
backend_end()
{
	[ -n "$backend_pid" ] || return 0
	kill "-$1" "$backend_pid" 2>/dev/null
	tries=0
	while kill -0 "$backend_pid" 2>/dev/null && [ $tries -lt 200 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	kill -KILL "$backend_pid" 2>/dev/null
	wait "$backend_pid" 2>/dev/null
	backend_pid=
	return 0
}

# backend_count NAME: of the sums it printed at its end, for instance TX-dropped.
backend_count()
{
	sed -n '/Accumulated forward statistics/,$p' "$backend_log" | sed -n "s/.*$1: *\([0-9]*\).*/\1/p" | head -n 1
}

# ---- what the front end says ----

# front NAME ARG...: vnetrx-live with these, its line in $live_dir/NAME.json; counts.
front()
{
	front_name=$1
	shift
	result=0
	taskset -c "$live_last" "$live" "$@" "$live_dir/sock" >"$live_dir/$front_name.json" || result=$?
	cat "$live_dir/$front_name.json"
	verdict_of $result "$front_name: $*"
}

# sink_for NAME ARG...: the same with the sink.
sink_for()
{
	front_name=$1
	shift
	result=0
	taskset -c "$live_last" "$sink" "$@" --json "$live_dir/sock" >"$live_dir/$front_name.json" || result=$?
	verdict_of $result "vnetrx-vhost-sink $*"
}

# value NAME FIELD
value()
{
	sed -n "s/.*\"$2\":\([0-9.]*\).*/\1/p" "$live_dir/$1.json" | tail -n 1
}

# verdict_of CODE TEXT: a line, counted.
verdict_of()
{
	if [ "$1" = 0 ]; then
		echo "ok - $2"
	else
		echo "not ok - $2"
	fi | tee -a "$live_dir/lines" | counted_lines
	tail -n 1 "$live_dir/lines"
}

# is TEXT A OP B: a comparison of numbers, counted.
is()
{
	result=0
	awk -v a="$2" -v op="$3" -v b="$4" 'BEGIN {
		if (a == "" || b == "") exit 1
		exit !(op == "=" ? a + 0 == b + 0 : op == "<=" ? a + 0 <= b + 0 : a + 0 >= b + 0)
	}' || result=$?
	verdict_of $result "$1: $2 $3 $4"
}

# ---- stages ----

# The options of each way that a front end can be.
live_all_ways()
{
	for ring in '' --packed; do
		for buffers in '' --no-mrg; do
			for order in '' --in-order; do
				for lens in '--min 64 --max 64' '--min 1500' '--min 9000' '--min 64 --max 9000'; do
					echo "$ring $buffers $order $lens"
				done
			done
		done
	done
}

# Each kind of ring, buffers and lengths; one back end for all: it is a new front end each time. Every second one
# sleeps, and frames are sent in one to four pieces.
live_ways()
{
	set +e
	backend_start 1 io || return 1
	number=0
	frames=0
	live_all_ways >"$live_dir/ways"
	while read -r way; do
		[ $((number / 4 % 2)) = $((number % 2)) ] || way="$way --interrupt"
		# shellcheck disable=SC2086 # a list of options
		front "way$number" $way --segs $((1 + number % 4)) --seconds 300 --count "${VNETRX_COUNT}000"
		is "way $number: frames back" "$(value "way$number" received)" = "${VNETRX_COUNT}000"
		frames=$((frames + $(value "way$number" received)))
		number=$((number + 1))
	done <"$live_dir/ways"
	backend_end INT
	is 'ways' $number = 32
	is 'frames that came back; limit: what the back end sent' "$frames" = "$(backend_count TX-packets)"
	is 'frames that the back end dropped' "$(backend_count TX-dropped)" = 0
	echo "$frames frames"
}

# As fast as the back end takes them: what is lost is what it says that it dropped.
live_flood()
{
	set +e
	number=0
	for ring in '' --packed; do
		for lens in '64 64' '64 9000'; do
			backend_start 1 io || return 1
			# shellcheck disable=SC2086 # a list of options
			front "flood$number" $ring --flood --min "${lens% *}" --max "${lens#* }" --seconds 300 \
				--count "${VNETRX_COUNT}000"
			backend_end INT
			is "flood $number: frames lost; limit: what the back end dropped" \
				"$(value "flood$number" lost)" = "$(backend_count TX-dropped)"
			number=$((number + 1))
		done
	done
}

live_queues()
{
	set +e
	backend_start 2 io || return 1
	front queues-split --queues 2 --max 1500 --seconds 300 --count "${VNETRX_COUNT}000"
	front queues-packed --queues 2 --packed --interrupt --max 9000 --seconds 300 --count "${VNETRX_COUNT}000"
	backend_end INT
}

# front_beside NAME ARG...: the same as front, in the background; front_wait NAME counts.
front_beside()
{
	front_name=$1
	shift
	taskset -c "$live_last" "$live" "$@" "$live_dir/sock" >"$live_dir/$front_name.json" &
	front_pid=$!
	front_text="$front_name: $*"
}

front_wait()
{
	result=0
	wait "$front_pid" || result=$?
	cat "$live_dir/$front_name.json"
	verdict_of $result "$front_text"
}

# The back end goes away three times, without a word and with one, while frames are on their way.
live_restart()
{
	set +e
	for ring in '' --packed; do
		for more in '' '--no-mrg --interrupt'; do
			backend_start 1 io || return 1
			# shellcheck disable=SC2086 # lists of options
			front_beside "restart$ring${more%% *}" $ring $more --max 9000 --reconnects 3 --seconds 20 \
				--count 1000000000000
			for signal in KILL INT KILL; do
				sleep 1
				backend_end $signal
				backend_start 1 io || return 1
			done
			front_wait
			is "frames that were on their way when the back end went away" \
				"$(value "$front_name" cut)" '<=' $((3 * 256))
			backend_end INT
		done
	done
}

# The socket is ours, and the back end comes to it, three times.
live_listen()
{
	set +e
	BACKEND_CLIENT=1
	rm -f "$live_dir/sock"
	front_beside listen --listen --max 9000 --reconnects 2 --seconds 20 --count 1000000000000
	for signal in KILL INT; do
		backend_start 1 io || { kill "$front_pid"; return 1; }
		sleep 2
		backend_end $signal
	done
	backend_start 1 io || { kill "$front_pid"; return 1; }
	front_wait
	backend_end INT
	BACKEND_CLIENT=0
}

# Interrupts: a burst after each sleep, 1 to all that fits the ring.
live_bursts()
{
	set +e
	repeats=$((VNETRX_COUNT * 150))
	backend_start 1 io || return 1
	front bursts-split --interrupt --bursts $repeats --seconds 600
	front bursts-packed --interrupt --packed --bursts $repeats --seconds 600
	backend_end INT
	for ring in split packed; do
		is "bursts, $ring: times asleep; limit: bursts" "$(value "bursts-$ring" asleep)" '>=' $repeats
	done
}

# Nothing comes for ten seconds.
live_idle()
{
	set +e
	for ring in '' --packed; do
		backend_start 1 io || return 1
		# shellcheck disable=SC2086 # an option, or none
		sink_for idle $ring --seconds 10 --quiet
		backend_end INT
		is "idle $ring: connections" "$(value idle connects)" = 1
		is "idle $ring: CPU seconds in 10 s" "$(value idle cpu_seconds)" '<=' 0.010
	done
}

# Figures for people; counted is that all that the back end sent was received, and the other way round.
live_rates()
{
	set +e
	for lens in 64 1500 1500,1500,1500,1500,1500,1500; do
		for ring in '' --packed; do
			for wait in --busy ''; do
				backend_start 1 txonly --txpkts=$lens || return 1
				# shellcheck disable=SC2086 # options, or none
				sink_for sink $ring $wait --seconds 2
				backend_end INT
				is "packets received; limit: what the back end sent" "$(value sink merge.pkts)" = \
					"$(backend_count TX-packets)"
				is "packets dropped" "$(value sink drops)" = 0
				echo "rate: txonly $lens $ring $wait: $(rate sink merge.pkts)"
			done
		done
	done
	for len in 64 1500 9000; do
		for ring in '' --packed; do
			backend_start 1 rxonly || return 1
			front oneway $ring --oneway --min $len --seconds 2 --count 1000000000000
			backend_end INT
			is "frames that the back end received; limit: what was sent" "$(backend_count RX-packets)" = \
				"$(value oneway sent)"
			echo "rate: rxonly $len $ring: $(rate oneway sent)"
		done
	done
}

rate()
{
	awk -v n="$(value "$1" "$2")" -v s="$(value "$1" seconds)" \
		'BEGIN { printf "%.3f Mpps\n", (s > 0 ? n / s / 1e6 : 0) }'
}

# The sink: how it ends.
live_stop()
{
	set +e
	backend_start 1 txonly || return 1
	for signal in INT TERM; do
		"$sink" "$live_dir/sock" >"$live_dir/stop.out" &
		stop_pid=$!
		sleep 2
		kill -$signal $stop_pid
		result=0
		wait $stop_pid || result=$?
		verdict_of $result "SIG$signal ends it with 0"
		grep -q Altogether "$live_dir/stop.out"
		verdict_of $? "SIG$signal: the sums are printed"
	done
	"$sink" --count 1000 --seconds 60 --quiet "$live_dir/sock"
	verdict_of $? '--count reached'
	"$sink" --once --quiet "$live_dir/sock" &
	stop_pid=$!
	sleep 2
	backend_end KILL
	result=0
	wait $stop_pid || result=$?
	verdict_of $result '--once: it ends with the back end'
	"$sink" --count 1000 --seconds 1 --quiet "$live_dir/sock"
	is 'exit code: --count not reached' $? = 3
	"$sink" --nonsense 2>"$live_dir/stop.err"
	is 'exit code: wrong option' $? = 1
	"$sink" --help >"$live_dir/stop.out"
	is 'exit code: --help' $? = 0
}
