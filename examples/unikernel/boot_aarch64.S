/* SPDX-License-Identifier: BSD-3-Clause */
/* The first GiB (registers) is mapped as device memory, the second (RAM) as ordinary memory, both onto themselves. */
	.section .text.boot, "ax"
	.globl	_start
_start:	ldr	x0, =stack_end
	mov	sp, x0
	ldr	x0, =bss_start
	ldr	x1, =bss_end
1:	cmp	x0, x1
	b.hs	2f
	str	xzr, [x0], #8
	b	1b
2:	ldr	x0, =vectors
	msr	vbar_el1, x0
	mov	x0, #3 << 20			// vector registers may be used
	msr	cpacr_el1, x0
	ldr	x0, =level1
	mov	x1, #0x401			// block, accessed, attribute 0
	str	x1, [x0]
	ldr	x1, =0x40000705			// block, accessed, inner shareable, attribute 1
	str	x1, [x0, #8]
	msr	ttbr0_el1, x0
	mov	x0, #0xff00			// attribute 0: device, 1: cached
	msr	mair_el1, x0
	ldr	x0, =0x803520			// 32-bit addresses in 4 KiB pages, cached; no second table
	msr	tcr_el1, x0
	tlbi	vmalle1
	dsb	sy
	isb
	mrs	x0, sctlr_el1
	mov	x1, #0x1005			// map, cache data, cache instructions
	orr	x0, x0, x1
	msr	sctlr_el1, x0
	isb
	bl	main
	bl	machine_exit

	.section .text.vectors, "ax"
	.balign	2048
vectors:
	.rept	16
	.balign	128
	b	trap
	.endr
trap:	mrs	x0, esr_el1
	mrs	x1, elr_el1
	bl	machine_trap

	.section .bss.level1, "aw", %nobits
	.balign	4096
level1:	.skip	4096
