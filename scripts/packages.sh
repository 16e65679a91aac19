# SPDX-License-Identifier: BSD-3-Clause
# Installs what is missing from Debian packages. Source this file, then say what you need:
#
#	. scripts/packages.sh
#	[ "$1" = --no-install ] && forbid_install
#	need gcc meson ninja-build || exit 1
#
# need PKG...     Nothing when all are there. Else says what it installs and installs it; false when it could not.
#                 A|B means either: what is there counts, else A is installed.
# need_clang      clang with its sanitizer runtime, whose package carries clang's version in its name.
# forbid_install  From now on (in child processes too) need installs nothing: it names the apt-get command and is false.
#
# Needs nothing but a POSIX shell and dpkg.

export DEBIAN_FRONTEND=noninteractive DEBCONF_NONINTERACTIVE_SEEN=true LC_ALL=C.UTF-8
PATH=${PATH:-/usr/bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

forbid_install()
{
	VNETRX_NO_INSTALL=1
	export VNETRX_NO_INSTALL
}

need()
{
	_missing=$(_packages_missing "$@")
	[ -n "$_missing" ] || return 0
	_command="apt-get install --no-install-recommends $_missing"
	if ! command -v dpkg-query >/dev/null 2>&1; then
		echo "This is no Debian system: make sure that it has what these packages hold: $_missing" >&2
		return 0
	fi
	if [ -n "${VNETRX_NO_INSTALL:-}" ]; then
		echo "Missing, and --no-install forbids to install it. Install it with:  $_command" >&2
		return 1
	fi
	_packages_root || {
		echo "Missing, and only root may install it. Install it with:  $_command" >&2
		return 1
	}
	echo "Installing Debian packages: $_missing"
	_log=$(mktemp "${TMPDIR:-/tmp}/packages.XXXXXX") || return 1
	if _packages_install >"$_log" 2>&1; then
		rm -f "$_log"
		return 0
	fi
	cat "$_log" >&2
	rm -f "$_log"
	echo "This failed:  $_command" >&2
	return 1
}

need_clang()
{
	need clang || return 1
	_major=$(clang -dumpversion | sed 's/[^0-9].*//')
	need "libclang-rt-$_major-dev"
}

# ---- from here on for this file only ----

_packages_missing()
{
	for _alternatives in "$@"; do
		_there=
		for _package in $(echo "$_alternatives" | tr '|' ' '); do
			case $(dpkg-query -W -f '${Status}\n' "$_package" 2>/dev/null) in
			*'ok installed'*) _there=1 ;;
			esac
		done
		[ -n "$_there" ] || printf '%s ' "${_alternatives%%|*}"
	done | sed 's/ $//'
}

# Sets _as to what must stand before a command that only root may run.
_packages_root()
{
	_as=
	[ "$(id -u)" != 0 ] || return 0
	command -v sudo >/dev/null 2>&1 || return 1
	_as='sudo env DEBIAN_FRONTEND=noninteractive'
	[ -t 0 ] || sudo -n true 2>/dev/null
}

# With the package lists that are there; when there are none, or they are too old for the mirror, with new ones.
_packages_install()
{
	if ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1 && _packages_get; then
		return 0
	fi
	for _try in 1 2 3; do
		$_as apt-get -q update </dev/null && break
		sleep 5
	done
	_packages_get
}

_packages_get()
{
	# shellcheck disable=SC2086 # lists of words
	$_as apt-get -q -y --no-install-recommends --no-remove -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
		install $_missing </dev/null
}
