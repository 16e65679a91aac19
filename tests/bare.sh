#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# bare.sh DIR COMMAND...: runs a command of this project where nothing is installed yet: in a bare Debian 12 tree, in a
# fresh copy of HEAD, for instance
#
#	sh tests/bare.sh build/bare sh tests/run.sh
#
# DIR is made with debootstrap if it is not there, from the archive and with the apt settings of this machine; what
# earlier commands installed stays. For a tree that has nothing, remove DIR first. Needs root. Exit: the command's.

cd "$(dirname "$0")/.." || exit 2
[ $# -ge 2 ] || { sed -n '3,8s/^# \{0,1\}//p' tests/bare.sh >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo 'chroot needs root' >&2; exit 2; }
. scripts/packages.sh
need debootstrap git || exit 2

mkdir -p "$1" && tree=$(cd "$1" && pwd) || exit 2
shift

# Lines of sources.list: all suites of Debian 12's main that this machine uses.
sources()
{
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		awk '$2 ~ /^bookworm/ && $3 == "main" { print "deb", $1, $2, $3 }' | sort -u
}

# Proxies, certificates and checks of dates, as this machine has them; not what it does before and after installing.
apt_settings()
{
	apt-config dump | grep -E '^Acquire::(Check-|Max-|Retries|Force|[a-z]*::(Proxy|Timeout|Verify|CaInfo|Pipeline))'
}

bootstrap()
{
	[ ! -f "$tree/bare-is-complete" ] || return 0
	mirror=$(sources | awk '$3 == "bookworm" { print $2; exit }')
	[ -n "$mirror" ] || { echo 'this machine has no package lists of Debian 12' >&2; return 1; }
	echo "Making a bare Debian 12 in $tree"
	if ! debootstrap --variant=minbase bookworm "$tree" "$mirror" >"$tree.log" 2>&1; then
		tail "$tree.log" >&2
		return 1
	fi
	sources >"$tree/etc/apt/sources.list"
	apt_settings >"$tree/etc/apt/apt.conf.d/90like-outside"
	cp /etc/resolv.conf "$tree/etc/resolv.conf"
	touch "$tree/bare-is-complete"
}

leave()
{
	umount "$tree/dev" && umount "$tree/proc" ||
		echo "/dev or /proc is still mounted in $tree: unmount it before you remove the tree" >&2
}

bootstrap || exit 2
rm -rf "$tree/srv/project"
mkdir -p "$tree/srv/project"
git archive HEAD | tar -x -C "$tree/srv/project" || exit 2
trap leave EXIT
trap 'exit 130' INT TERM
mount -t proc proc "$tree/proc" && mount --bind /dev "$tree/dev" || exit 2
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ TERM=dumb chroot "$tree" \
	sh -c 'cd /srv/project && exec "$@"' sh "$@"
