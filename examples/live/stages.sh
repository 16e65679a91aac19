# SPDX-License-Identifier: BSD-3-Clause
# The stages of examples/run.sh live. Sourced; $runs, $seconds and $mib say how long.

probe=build/release/examples/vnetrx-probe

# stop_box NAME: by SIGINT; it must end with 0, and the counters must add up, which it looks at itself.
stop_box()
{
	box_end INT
	check "$1: exit code of the box (3: counters, 4: buffers)" $box_code = 0
}

# ---- rates ----

# iperf NAME ADDRESS ARG...: Mbit/s, as the receiver saw it, appended to $world/NAME.rates
iperf()
{
	iperf_name=$1 iperf_to=$2
	shift 2
	beside iperf at b iperf3 -s -1
	until at b ss -tln | grep -q :5201; do
		sleep 0.05
	done
	at a iperf3 -f m -t "$seconds" -c "$iperf_to" "$@" | awk '/receiver/ { print $7 }' >>"$world/$iperf_name.rates"
	beside_end
}

# Figures of the last run of a box: segments in each packet written, segments for each packet that came back.
per_packet()
{
	ratio "$(value "$1" forward.queue.delivered_segs)" "$(value "$1" forward.out.written)"
}

per_ack()
{
	ratio "$(value "$1" forward.merge.pkts)" "$(value "$1" back.merge.pkts)"
}

rates_of()
{
	for run in $(seq "$runs"); do
		for gro in off on; do
			box_start rates-$gro --offload csum --gro $gro
			iperf "$1-$gro" "$2"
			stop_box "$1, joining $gro, run $run" >"$world/stopped"
			grep '^not ok' "$world/stopped" || true
			per_packet rates-$gro >>"$world/$1-$gro.packet"
			per_ack rates-$gro >>"$world/$1-$gro.ack"
			for what in rates packet ack; do
				echo >>"$world/$1-$gro.$what"
			done
		done
	done
	for what in rates packet ack; do
		for gro in off on; do
			grep . "$world/$1-$gro.$what" | median >"$world/$1-$gro.$what.median"
		done
	done
}

middle()
{
	cat "$world/$1.median"
}

rates_table()
{
	printf '%-28s %10s %10s\n' "$1, medians of $runs" without with
	printf '%-28s %10s %10s\n' 'Mbit/s' "$(middle "$1-off.rates")" "$(middle "$1-on.rates")" \
		'segments in each packet' "$(middle "$1-off.packet")" "$(middle "$1-on.packet")" \
		'segments for each ACK' "$(middle "$1-off.ack")" "$(middle "$1-on.ack")"
	check "$1: times the throughput without joining" \
		"$(ratio "$(middle "$1-on.rates")" "$(middle "$1-off.rates")")" '>=' 2
	check "$1: segments in each delivered packet" "$(middle "$1-on.packet")" '>=' 28
	check "$1: segments for each ACK" "$(middle "$1-on.ack")" '>=' 40
}

stage_rates()
{
	rates_of IPv4 10.9.0.2
	rates_table IPv4
	rates_of IPv6 fd09::2
	rates_table IPv6
}

# ---- exact ----

# way NAME FROM TO ADDRESS: $mib MiB of TCP
way()
{
	bytes=$((mib << 20))
	beside "$1" at "$3" $probe tcp-sink 7000 $bytes
	until at "$3" ss -tln | grep -q :7000; do
		sleep 0.05
	done
	at "$2" $probe tcp-source "$4" 7000 $bytes >"$world/source.json" || true
	beside_end
	check "$1: bytes received" "$(value "$1" received)" = $bytes
	check "$1: pieces that differ" "$(value "$1" wrong)" = 0
}

stage_exact()
{
	for offload in csum all none; do
		box_start exact --offload $offload
		way "IPv4 forward, offload $offload" a b 10.9.0.2
		way "IPv4 back, offload $offload" b a 10.9.0.1
		way "IPv6 forward, offload $offload" a b fd09::2
		way "IPv6 back, offload $offload" b a fd09::1
		stop_box "exact, offload $offload"
	done
}

# ---- UDP ----

# udp_trains NAME ADDRESS
udp_trains()
{
	trains=$((mib * 2))
	beside "$1" at b $probe train-sink 7001 $trains
	until at b ss -uln | grep -q :7001; do
		sleep 0.05
	done
	at a $probe train-source "$2" 7001 $trains >"$world/source.json" || true
	beside_end
	check "$1: trains received" "$(value "$1" trains)" = $trains
	check "$1: of these, in one piece" "$(value "$1" joined)" '>=' $((trains * 99 / 100))
	check "$1: pieces that differ" "$(value "$1" wrong)" = 0
}

stage_udp()
{
	for offload in csum all; do
		box_start udp --offload $offload
		udp_trains "IPv4 trains, offload $offload" 10.9.0.2
		udp_trains "IPv6 trains, offload $offload" fd09::2
		stop_box "udp, offload $offload"
		if [ $offload = csum ]; then
			check 'datagrams in each packet written' "$(per_packet udp)" '>=' 14
		fi
	done
}

# ---- order ----

# Host a knows b beforehand: what waits for ARP's answer is sent beside what comes after it, and the kernel's own order
# is lost there.
introduce()
{
	ip -n a neigh replace 10.9.0.2 lladdr "$(at b cat /sys/class/net/tb/address)" dev ta
}

stage_order()
{
	for gro in off on; do
		name=order-$gro
		box_start $name --queues 2 --offload csum --gro $gro
		introduce
		beside sink at b $probe flow-sink 7002 $((mib * 200))
		until at b ss -uln | grep -q :7002; do
			sleep 0.05
		done
		at a $probe flow-source 10.9.0.2 7002 $((mib * 200)) >"$world/source.json" || true
		beside_end
		stop_box "order, joining $gro"
		check "joining $gro: datagrams received" "$(value sink received)" '>=' $((mib * 150))
		check "joining $gro: datagrams out of order in their flow" "$(value sink late)" = 0
		check "joining $gro: datagrams that differ" "$(value sink wrong)" = 0
		for queue in 0 1; do
			check "joining $gro: frames over queue $queue" "$(value $name "forward.in.reads.$queue")" '>=' \
				$((mib * 10))
		done
	done
}

# ---- stop ----

# stop_in_traffic NAME: the box between interfaces that stay when it ends, iperf3 in both directions.
stop_in_traffic()
{
	name=$1
	ip -n a tuntap add dev ta mode tap vnet_hdr
	ip -n b tuntap add dev tb mode tap vnet_hdr
	box_start "$name" --offload csum --seconds 30
	ip netns exec b iperf3 -s -1 >/dev/null & # no function, so that $! is its id
	stop_server=$!
	until at b ss -tln | grep -q :5201; do
		sleep 0.05
	done
	ip netns exec a iperf3 -c 10.9.0.2 -t 60 --bidir >/dev/null 2>&1 &
	stop_client=$!
	sleep 0.7
}

kernel_count()
{
	ip netns exec "$1" cat "/sys/class/net/$2/statistics/$3" 2>/dev/null || true
}

# stopped CODE MESSAGE: what must be so afterwards. The kernel counts what it gave to the box and took from it.
stopped()
{
	box_wait
	check "$name: exit code" $box_code = "$1"
	check "$name: it says '$2'" "$(grep -c "$2" "$world/$name.err")" = 1
	check "$name: packets before the end" "$(value "$name" forward.in.reads)" '>=' 1000
	for ends in 'forward a ta b tb' 'back b tb a ta'; do
		# shellcheck disable=SC2086 # words
		set -- $ends
		gave=$(kernel_count "$2" "$3" tx_packets)
		took=$(kernel_count "$4" "$5" rx_packets)
		[ -z "$gave" ] || check "$name, $1: frames read; limit: what the kernel gave" \
			"$(value "$name" "$1.in.reads")" = "$gave"
		[ -z "$took" ] || check "$name, $1: packets written; limit: what the kernel took" \
			"$(value "$name" "$1.out.written")" = "$took"
	done
	kill -KILL $stop_client $stop_server 2>/dev/null || true
	wait $stop_client $stop_server 2>/dev/null || true
	ip -n a link del ta 2>/dev/null || true
	ip -n b link del tb 2>/dev/null || true
}

stage_stop()
{
	for signal in INT TERM; do
		stop_in_traffic "SIG$signal"
		kill -$signal $box_pid
		stopped 0 "stopped: SIG$signal"
	done
	for side in 'a ta' 'b tb'; do
		stop_in_traffic "down-${side#* }"
		ip -n "${side% *}" link set "${side#* }" down
		stopped 2 "${side#* }: the interface is down"
		stop_in_traffic "gone-${side#* }"
		ip -n "${side% *}" link del "${side#* }"
		stopped 2 "${side#* }: the interface is gone"
	done
	stop_in_traffic peer
	kill -KILL $stop_server
	sleep 0.5
	kill -INT $box_pid
	stopped 0 'stopped: SIGINT'
	BOX_WITH="env LD_PRELOAD=build/release/examples/libvnetrx_nobufs.so NOBUFS_EVERY=50"
	stop_in_traffic nobufs-some
	kill -INT $box_pid
	stopped 0 'stopped: SIGINT'
	check 'nobufs-some: packets dropped for want of memory' "$(value nobufs-some forward.out.drop_nobufs)" '>=' 10
	BOX_WITH="$BOX_WITH NOBUFS_RUN=50 NOBUFS_FROM=10000"
	stop_in_traffic nobufs-all
	stopped 2 'the kernel has no memory for packets'
	BOX_WITH=
	code=0
	timeout -s KILL 10 build/release/examples/vnetrx-box --quiet --busy --seconds 1 a/busy b/busy >/dev/null ||
		code=$?
	check '--busy without AF_XDP: exit code when its time is up' $code = 0
}

# ---- AF_XDP ----

# Frames of 9000 bytes over chunks of 2 KiB: six for each.
stage_xdp()
{
	for mtu in 1500 9000; do
		cable a va x vb $mtu
		ip -n b tuntap add dev tb mode tap vnet_hdr
		ip -n b link set tb mtu $mtu
		BOX_IN=xdp:x/vb BOX_A=va box_start xdp
		way "AF_XDP, MTU $mtu" a b 10.9.0.2
		way "AF_XDP, MTU $mtu, back" b a 10.9.0.1
		iperf xdp$mtu 10.9.0.2
		echo "MTU $mtu: $(tail -n 1 "$world/xdp$mtu.rates") Mbit/s"
		sleep 0.2
		sent=$(kernel_count a va tx_packets)
		stop_box "AF_XDP, MTU $mtu"
		check "MTU $mtu: frames received and those that the kernel counts as lost; limit: sent" \
			$(($(value xdp forward.in.reads) + $(value xdp forward.in.lost))) = "$sent"
		check "MTU $mtu: buffers for each frame" "$(ratio "$(value xdp forward.merge.bufs)" \
			"$(value xdp forward.merge.pkts)")" '>=' "$(ratio $mtu 1700)"
		check "MTU $mtu: packets dropped" "$(value xdp forward.drops)" = 0
		ip -n a link del va
		ip -n b link del tb
	done
}

# ---- lwIP ----

lwip=build/release/examples/vnetrx-lwip

# lwip_run GRO: iperf 2 to the sink, then an echo
lwip_run()
{
	$lwip --gro "$1" b/tb >"$world/lwip-$1.json" &
	lwip_pid=$!
	until link_is_up b tb; do
		sleep 0.05
	done
	ip -n b addr add 10.9.0.1/24 dev tb
	at b iperf -c 10.9.0.2 -f m -t "$lwip_seconds" | awk '/Mbits/ { print $(NF - 1) }' >>"$world/lwip-$1.rates"
	kill -INT $lwip_pid
	lwip_code=0
	wait $lwip_pid || lwip_code=$?
	[ $lwip_code = 0 ] || check "lwIP, joining $1: exit code" $lwip_code = 0
	ratio "$(value "lwip-$1" frames_out)" "$(value "lwip-$1" merge.pkts)" '%.5f\n' >>"$world/lwip-$1.acks"
	ratio "$(value "lwip-$1" queue.delivered_segs)" "$(value "lwip-$1" queue.delivered)" '%.2f\n' \
		>>"$world/lwip-$1.segs"
}

stage_lwip()
{
	if [ ! -x $lwip ]; then
		echo "skip - lwip: liblwip-dev is not there"
		return 0
	fi
	lwip_seconds=$seconds
	for run in $(seq "$lwip_runs"); do
		for gro in off on; do
			lwip_run $gro
		done
	done
	printf '%-28s %10s %10s\n' "lwIP, medians of $lwip_runs" without with
	for what in rates segs acks; do
		printf '%-28s %10s %10s\n' $what "$(median <"$world/lwip-off.$what")" \
			"$(median <"$world/lwip-on.$what")"
	done
	check 'lwIP: times the throughput without joining' \
		"$(ratio "$(median <"$world/lwip-on.rates")" "$(median <"$world/lwip-off.rates")")" '>=' 1.4
	check 'lwIP: ACKs for each segment, of those without joining' \
		"$(ratio "$(median <"$world/lwip-on.acks")" "$(median <"$world/lwip-off.acks")" %.3f)" '<=' 0.2
}
