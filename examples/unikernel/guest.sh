# SPDX-License-Identifier: BSD-3-Clause
# Building, booting and asking the unikernel. Sourced by run.sh and check.sh, at the top of the project, after
# scripts/packages.sh.
#
#	guest_select ARCH             riscv64, x86_64 or aarch64: what the functions below work on
#	guest_need                    installs clang, lld and the machine's QEMU
#	guest_build                   makes $guest_elf, if a source is newer
#	guest_boot FLAGS CONNECTIONS SECONDS NETDEV [DEVICE-OPTIONS]
#	                              starts it, and returns when it is ready
#	guest_ready_tap               afterwards, with guest_tap as NETDEV: the host's side of the network
#	guest_free_port               prints a TCP port of 127.0.0.1 that nobody has
#	guest_end                     waits until it has ended; its own code is in $guest_code
#	guest_value NAME              a counter that it printed
#	guest_kill                    ends it at once, if it runs
#
# What it printed is in $guest_log.

guest_dir=examples/unikernel
guest_pid=

# FLAGS, see options.h.
guest_no_gro=1
guest_sum=2

guest_tap=tap,id=n,ifname=unikernel0,script=no,downscript=no,vnet_hdr=on
guest_gso_off=,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off

guest_select()
{
	guest_arch=$1
	guest_exits=plain
	case $guest_arch in
	riscv64)
		guest_package=qemu-system-misc
		guest_qemu='qemu-system-riscv64 -M virt -bios none'
		guest_target='--target=riscv64-none-elf -march=rv64imac -mabi=lp64 -mcmodel=medium -mno-relax'
		guest_base=0x80000000 guest_options=0x82000000
		;;
	aarch64)
		guest_package=qemu-system-arm
		guest_qemu='qemu-system-aarch64 -M virt -cpu cortex-a57 -semihosting-config enable=on,target=native'
		guest_target='--target=aarch64-none-elf -mno-outline-atomics'
		guest_base=0x40200000 guest_options=0x42000000
		;;
	x86_64)
		guest_package=qemu-system-x86
		guest_qemu='qemu-system-x86_64 -M microvm,x-option-roms=off -cpu max
			-device isa-debug-exit,iobase=0xf4,iosize=4'
		guest_target='--target=x86_64-none-elf -mno-red-zone'
		guest_base=0x100000 guest_options=0x02000000
		guest_exits=odd # QEMU's code is twice the guest's and one
		;;
	*)
		echo "$guest_arch: no such machine; there are riscv64, x86_64 and aarch64" >&2
		return 1
		;;
	esac
	guest_out=build/unikernel/$guest_arch
	guest_elf=$guest_out/unikernel.elf
	guest_log=$guest_out/serial.log
}

guest_need()
{
	need clang lld python3 "$guest_package"
}

guest_sources()
{
	find lib -name '*.c'
	find $guest_dir -name '*.c' ! -name 'machine_*'
	echo "$guest_dir/machine_$guest_arch.c"
	echo "$guest_dir/boot_$guest_arch.S"
}

# Objects beside each other, two at a time. The functions of mem.c must not be made of themselves: -fno-builtin.
guest_build()
{
	[ ! -f "$guest_elf" ] || [ -n "$(find lib include $guest_dir -newer "$guest_elf" | head -n 1)" ] || return 0
	rm -rf "$guest_out"
	mkdir -p "$guest_out"
	guest_flags="$guest_target -std=c11 -O2 -g -ffreestanding -fbuiltin -fno-pic -fno-stack-protector
		-fno-asynchronous-unwind-tables -ffunction-sections -Wall -Wextra -Wpedantic -Wconversion -Wshadow
		-Werror -DVNRX_CHECKS=0 -Iinclude -Ilib"
	guest_flags=$(echo "$guest_flags" | tr -s '\n\t' '  ')
	guest_sources | xargs -P "$(nproc)" -I {} sh -c '
		builtin=
		[ "${3##*/}" != mem.c ] || builtin=-fno-builtin
		clang $2 $builtin -c "$3" -o "$1/$(echo "$3" | tr / _).o"' sh "$guest_out" "$guest_flags" {} || return
	# shellcheck disable=SC2086 # a list of options
	clang $guest_target -nostdlib -static -fuse-ld=lld -Wl,--gc-sections "-Wl,--defsym=BASE=$guest_base" \
		"-Wl,-T,$guest_dir/unikernel.ld" "$guest_out"/*.o -o "$guest_elf"
}

# The word of options.h.
guest_word()
{
	printf '0x7678%04x%04x%04x' "$2" "$3" "$1"
}

guest_boot()
{
	guest_kill
	: >"$guest_log"
	# shellcheck disable=SC2086 # lists of options
	timeout -k 2 $(($3 + 20)) $guest_qemu -accel tcg -m 64 -kernel "$guest_elf" -nodefaults -no-user-config \
		-display none -no-reboot -serial stdio -global virtio-mmio.force-legacy=false \
		-device "loader,addr=$guest_options,data=$(guest_word "$1" "$2" "$3"),data-len=8" \
		-netdev "$4" -device "virtio-net-device,netdev=n,mac=02:00:00:00:09:02,rx_queue_size=1024${5:-}" \
		</dev/null >"$guest_log" 2>&1 &
	guest_pid=$!
	guest_tries=0
	until grep -q '^ready' "$guest_log"; do
		guest_tries=$((guest_tries + 1))
		if [ $guest_tries -gt 400 ] || ! kill -0 $guest_pid 2>/dev/null; then
			guest_kill
			echo "QEMU does not run, or the program does not come up:" >&2
			cat "$guest_log" >&2
			return 1
		fi
		sleep 0.05
	done
}

# The queue is longer than a window in frames of one MTU, so that nothing is lost.
guest_ready_tap()
{
	ip addr add 10.0.2.2/24 dev unikernel0 && ip link set unikernel0 txqueuelen 4000 && ip link set unikernel0 up
}

guest_free_port()
{
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

guest_end()
{
	guest_code=0
	wait "$guest_pid" || guest_code=$?
	guest_pid=
	if [ $guest_exits = odd ] && [ $guest_code -lt 124 ]; then
		[ $((guest_code % 2)) = 1 ] || { echo "the machine was reset" >&2; guest_code=65; return; }
		guest_code=$((guest_code / 2))
	fi
}

guest_value()
{
	awk -v name="$1" '$1 == name { print $2; found = 1; exit } END { if (!found) print 0 }' "$guest_log"
}

guest_kill()
{
	[ -n "$guest_pid" ] || return 0
	kill -KILL "$guest_pid" 2>/dev/null
	wait "$guest_pid" 2>/dev/null
	guest_pid=
}
