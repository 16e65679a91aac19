#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Boots the unikernel in QEMU and sends to it. See usage() below.

usage()
{
	cat <<'END'
usage: sh examples/unikernel/run.sh [ARCH] [OPTION...]

Builds the library and a bare-metal program on top of it, boots that in QEMU (without KVM), pings it, sends to it with
iperf 2, and prints what its receive path counted. As root over a TAP device in a network namespace of its own, which
ends with this command; else, or with --user, over QEMU's user network, which nobody can ping through.

  ARCH           riscv64 (default), x86_64 (microvm), aarch64

  --seconds N    send for N seconds, 1 to 600 (default 5)
  --streams N    so many connections at once, 1 to 16 (default 1)
  --no-gro       the same program without GRO
  --gso-off      frames of one MTU; without it the device gives merged ones of 64 KB (TAP only)
  --user         QEMU's user network even as root
  --stay         send nothing: stay up for the given seconds, for pings and senders of your own
  --no-install   install no Debian package; say what is missing instead

  --smoke        boots, answers ARP and ping, receives: the short form of the check; needs no rights
  --check        everything that is promised: lines "ok" and "not ok", each with figure and limit

Exit: 0; 1 the program found something wrong, or a check failed; 2 wrong usage, or something is missing; 3 its time was
up.
END
}

cd "$(dirname "$0")/../.." || exit 2
. scripts/packages.sh
. examples/unikernel/guest.sh

wrong()
{
	echo "run.sh: $1; --help says more" >&2
	exit 2
}

# number NAME VALUE MIN MAX
number()
{
	case $2 in
	'' | *[!0-9]*) wrong "$1 wants a number, $3 to $4" ;;
	esac
	if [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
		wrong "$1: $2 is not in $3 to $4"
	fi
}

arguments=$*
arch=riscv64 seconds=5 streams=1 flags=0 devopts='' network='' mode=run
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage; exit 0 ;;
	--seconds) number "$1" "${2:-}" 1 600; seconds=$2; shift ;;
	--streams) number "$1" "${2:-}" 1 16; streams=$2; shift ;;
	--no-gro) flags=$guest_no_gro ;;
	--gso-off) devopts=$guest_gso_off ;;
	--user) network=user ;;
	--stay) mode=stay ;;
	--smoke) mode=smoke ;;
	--check) mode=check ;;
	--no-install) forbid_install ;;
	-*) wrong "$1: no such option" ;;
	*) arch=$1 ;;
	esac
	shift
done
guest_select "$arch" || exit 2

# Can this user have a TAP device in a namespace of its own?
tap_there()
{
	[ -w /dev/net/tun ] && unshare $1 sh -c 'ip tuntap add dev try0 mode tap' >/dev/null 2>&1
}

# The same command again, in a network namespace; returns when that cannot be had.
enter_namespace()
{
	[ -z "${VNETRX_NAMESPACE:-}" ] || { ip link set lo up; return 0; }
	for kind in -n -rn; do
		if tap_there $kind; then
			# shellcheck disable=SC2086 # options and arguments have no blanks
			VNETRX_NAMESPACE=1 exec unshare $kind sh examples/unikernel/run.sh $arguments
		fi
	done
	network=user
}

guest_need || exit 2
guest_build || exit 2
if [ $mode = smoke ]; then
	. examples/unikernel/check.sh
	smoke
	exit
fi
need iperf iproute2 iputils-ping ethtool || exit 2
[ "$network" = user ] || enter_namespace
if [ $mode = check ]; then
	. examples/unikernel/check.sh
	check
	exit
fi

trap guest_kill EXIT
trap 'exit 130' INT TERM

connections=$streams life=$((seconds + 15))
[ $mode != stay ] || connections=0 life=$seconds
if [ "$network" = user ]; then
	port=$(guest_free_port)
	netdev="user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:$port-10.0.2.15:5001"
	target="127.0.0.1 -p $port"
else
	netdev=$guest_tap
	target=10.0.2.15
fi
guest_boot $flags "$connections" $life "$netdev" "$devopts" || exit 2
if [ "$network" != user ]; then
	guest_ready_tap || exit 2
fi
if [ $mode = stay ]; then
	echo "Up for $seconds s at $target"
	if [ "$network" != user ]; then
		echo "Its network:  nsenter -t $$ -n ping 10.0.2.15"
	fi
else
	[ "$network" = user ] || ping -c 3 -i 0.2 -q 10.0.2.15 | grep received
	# shellcheck disable=SC2086 # options
	timeout -k 2 $((seconds + 10)) iperf -Z reno -c $target -t "$seconds" -P "$streams" -f m | tail -n 1
fi
guest_end
cat "$guest_log"
[ $mode != stay ] || [ $guest_code != 3 ] || guest_code=0
exit $guest_code
