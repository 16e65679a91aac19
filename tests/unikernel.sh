# SPDX-License-Identifier: BSD-3-Clause
# The unikernel of examples/unikernel on all its machines, in QEMU without KVM. Sourced by tests/run.sh.

unikernel()
{
	for machine in ${VNETRX_MACHINES:-riscv64 x86_64 aarch64}; do
		stage "$machine" unikernel_on "$machine" --smoke
	done
}

# unikernel_on MACHINE OPTION: the lines that run.sh prints, counted.
unikernel_on()
{
	result=0
	sh examples/unikernel/run.sh "$@" >"$logs/$stage_name.out" || result=$?
	cat "$logs/$stage_name.out"
	counted_lines <"$logs/$stage_name.out"
	return $result
}
