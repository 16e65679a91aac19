# SPDX-License-Identifier: BSD-3-Clause
# Unit tests on other architectures, under qemu-user, and their libraries' symbols. Sourced by tests/run.sh.
#
# Compilers, emulators and the foreign cmocka are Debian packages that are downloaded and unpacked below
# build/ports-cache, not installed: cross compilers cannot be installed beside gcc-multilib, and a foreign cmocka wants
# its architecture added to dpkg. The package lists used for that are private as well.

cache=$PWD/build/ports-cache
tools=$cache/tools # the cross compilers' root directory

# Per port: Debian's name, GNU triplet, Meson's CPU family, endianness, and "run", or "link" where Debian has no cmocka.
port_table='armhf armhf arm-linux-gnueabihf arm little run
aarch64 arm64 aarch64-linux-gnu aarch64 little run
s390x s390x s390x-linux-gnu s390x big run
riscv64 riscv64 riscv64-linux-gnu riscv64 little link'

ports()
{
	stage port-tools port_tools
	if ! sum_of "$logs/port-tools.count" >/dev/null; then
		return
	fi
	for port in ${VNETRX_PORTS:-armhf aarch64 s390x riscv64}; do
		stage "port-$port" run_port "$port"
	done
}

# apt with lists of its own, kept in $cache/$1; $2 = its further options.
port_apt()
{
	apt_dir=$cache/apt-$1
	apt_more=$2
	shift 2
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/archives/partial"
	# shellcheck disable=SC2086 # a list of options
	apt-get -q -y -o Dir::State::Lists="$apt_dir/lists" -o Dir::Cache="$apt_dir" -o Debug::NoLocking=1 \
		-o APT::Sandbox::User="$(id -un)" -o APT::Keep-Downloaded-Packages=1 $apt_more "$@"
}

# What dpkg says of this machine, parts of the ports' cross compilers left out: they are wanted below $tools although
# they are installed.
port_status()
{
	parts=$(echo "$port_table" | awk -v own="$(gcc -dumpmachine)" '
		$3 != own { printf "%s%s(-base)?|%s-cross", sep, $3, $2; sep = "|" }')
	awk -v RS= -v ORS='\n\n' -v parts="^Package: .*-($parts)\$" '
		{ split($0, line, "\n") } line[1] !~ parts' /var/lib/dpkg/status
}

# The cross compilers and whatever they depend on that this machine has not, and the emulators.
port_tools()
{
	if [ "$(cat "$tools/complete" 2>/dev/null)" != "$port_table" ]; then
		may_download
		rm -rf "$tools"
		mkdir -p "$tools"
		packages=
		emulators=
		while read -r _ deb triplet _; do
			packages="$packages gcc-$triplet libc6-dev-$deb-cross"
			emulators="$emulators ./usr/bin/qemu-${triplet%%-*}-static"
		done <<-END
			$port_table
		END
		port_apt native '' update
		port_status >"$cache/status"
		# shellcheck disable=SC2086 # a list of packages
		port_apt native "-o Dir::State::status=$cache/status" --download-only --no-install-recommends \
			install $packages
		(cd "$cache/apt-native" && port_apt native '' download qemu-user-static)
		for package in "$cache"/apt-native/archives/*.deb; do
			dpkg -x "$package" "$tools"
		done
		# shellcheck disable=SC2086 # a list of files
		dpkg --fsys-tarfile "$cache"/apt-native/qemu-user-static_*.deb | tar -x -C "$tools" $emulators
		rm -rf "$cache/apt-native"
		echo "$port_table" >"$tools/complete"
	fi
	echo 'ok - compilers and emulators' | counted_lines
}

may_download()
{
	if [ -n "${VNETRX_NO_INSTALL:-}" ]; then
		echo "build/ports-cache is not complete, and --no-install forbids to download packages into it"
		return 1
	fi
}

# The machine's own Debian archive as a line of sources.list: its first suite that is no update of another.
port_source()
{
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		awk '$2 !~ /-/ && $3 == "main" { print "deb", $1, $2, $3; exit }'
}

# cmocka of Debian architecture $1, below $cache/cmocka-$1.
port_cmocka()
{
	if [ ! -f "$cache/cmocka-$1/complete" ]; then
		may_download
		mkdir -p "$cache/cmocka-$1"
		port_source >"$cache/sources.list"
		options="-o Dir::Etc::SourceList=$cache/sources.list -o Dir::Etc::SourceParts=/dev/null
			-o Dir::State::status=/dev/null -o APT::Architecture=$1 -o APT::Architectures=$1"
		port_apt "$1" "$options" update
		(cd "$cache/apt-$1" && port_apt "$1" "$options" download libcmocka-dev libcmocka0)
		for package in "$cache/apt-$1"/libcmocka*.deb; do
			dpkg -x "$package" "$cache/cmocka-$1"
		done
		rm -rf "$cache/apt-$1"
		touch "$cache/cmocka-$1/complete"
	fi
}

# A tool of the cross compilers, told where it now lives: port_tool TRIPLET TOOL ARG...
port_tool()
{
	tool=$cache/bin/$1-$2
	mkdir -p "$cache/bin"
	cat >"$tool" <<-END
		#!/bin/sh
		LD_LIBRARY_PATH=$(echo "$tools"/usr/lib/*-linux-gnu | tr ' ' ':') exec $tools/usr/bin/$1-$2 $3 "\$@"
	END
	chmod +x "$tool"
}

# The cross file of the port whose line of the table was read last, and what its programs are run with.
port_cross_file()
{
	port_tool "$triplet" gcc "--sysroot=$tools"
	for tool in ar nm strip; do
		port_tool "$triplet" $tool ''
	done
	emulator=$cache/bin/run-$name
	cat >"$emulator" <<-END
		#!/bin/sh
		exec $tools/usr/bin/qemu-${triplet%%-*}-static -L $tools/usr/$triplet \\
			-E LD_LIBRARY_PATH=$cache/cmocka-$deb/usr/lib/$triplet "\$@"
	END
	chmod +x "$emulator"
	cat >"$cache/$name.ini" <<-END
		[binaries]
		c = '$cache/bin/$triplet-gcc'
		ar = '$cache/bin/$triplet-ar'
		nm = '$cache/bin/$triplet-nm'
		strip = '$cache/bin/$triplet-strip'
		pkgconfig = 'pkg-config'
		exe_wrapper = '$emulator'
		[properties]
		sys_root = '$cache/cmocka-$deb'
		pkg_config_libdir = '$cache/cmocka-$deb/usr/lib/$triplet/pkgconfig'
		[host_machine]
		system = 'linux'
		cpu_family = '$family'
		cpu = '$family'
		endian = '$endian'
	END
}

run_port()
{
	read -r name deb triplet family endian kind <<-END
		$(echo "$port_table" | grep "^$1 ")
	END
	port_cross_file
	configure "build/port-$name-release" --cross-file "$cache/$name.ini" --buildtype=release -Doptimization=2 \
		-Dtests=false -Dexamples=false -Dbenches=false
	meson compile -C "build/port-$name-release"
	cross=$cache/bin/$triplet
	AR=$cross-ar NM=$cross-nm CC=$cross-gcc sh tests/hygiene/symbols.sh "build/port-$name-release/lib/libvnetrx.a" \
		>"$logs/$stage_name.out" || result=$?
	cat "$logs/$stage_name.out"
	counted_lines <"$logs/$stage_name.out"
	if [ "$kind" = run ]; then
		port_cmocka "$deb"
		configure "build/port-$name" --cross-file "$cache/$name.ini" $checked -Dexamples=false \
			-Dbenches=false
		test_in "build/port-$name" --suite unit --suite verified --suite fuzz --timeout-multiplier=5 ||
			result=$?
	fi
	return "${result:-0}"
}
