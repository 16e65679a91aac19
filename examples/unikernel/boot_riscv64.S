/* SPDX-License-Identifier: BSD-3-Clause */
	.section .text.boot, "ax"
	.globl	_start
_start:	csrr	t0, mhartid
	bnez	t0, 3f
	la	sp, stack_end
	la	t0, trap
	csrw	mtvec, t0
	la	t0, bss_start
	la	t1, bss_end
1:	bgeu	t0, t1, 2f
	sd	zero, (t0)
	addi	t0, t0, 8
	j	1b
2:	call	main
	call	machine_exit
3:	wfi
	j	3b
	.balign	4
trap:	csrr	a0, mcause
	csrr	a1, mepc
	call	machine_trap
