/* SPDX-License-Identifier: BSD-3-Clause */
/* Started in 32-bit mode through the PVH entry. The first 4 GiB are mapped onto themselves in pieces of 2 MiB. There is
 * no table of interrupts: an exception resets the machine. */
	.section .note.pvh, "a", @note
	.long	4, 4, 18		/* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz	"Xen"
	.long	_start

	.section .text.boot, "ax"
	.code32
	.globl	_start
_start:	cli
	cld
	mov	$stack_end, %esp
	mov	$bss_start, %edi
	mov	$bss_end, %ecx
	sub	%edi, %ecx
	shr	$2, %ecx
	xor	%eax, %eax
	rep stosl
	movl	$level3 + 3, level4
	mov	$level3, %edi
	mov	$level2 + 3, %eax
	mov	$4, %ecx
1:	mov	%eax, (%edi)
	add	$4096, %eax
	add	$8, %edi
	loop	1b
	mov	$level2, %edi
	mov	$0x83, %eax		/* present, writable, 2 MiB */
	mov	$2048, %ecx
2:	mov	%eax, (%edi)
	add	$0x200000, %eax
	add	$8, %edi
	loop	2b
	mov	$level4, %eax
	mov	%eax, %cr3
	mov	%cr4, %eax
	or	$0x620, %eax		/* long page table entries, SSE */
	mov	%eax, %cr4
	mov	$0xc0000080, %ecx	/* EFER: long mode */
	rdmsr
	or	$0x100, %eax
	wrmsr
	mov	%cr0, %eax
	and	$~4, %eax
	or	$0x80000002, %eax	/* paging, and SSE again */
	mov	%eax, %cr0
	lgdt	gdt_at
	ljmp	$8, $3f
	.code64
3:	mov	$16, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	call	main
	mov	%eax, %edi
	call	machine_exit

	.section .rodata
	.balign	8
gdt:	.quad	0, 0x00af9a000000ffff, 0x00cf92000000ffff
gdt_at:	.word	23
	.long	gdt

	.section .bss.levels, "aw", @nobits
	.balign	4096
level4:	.skip	4096
level3:	.skip	4096
level2:	.skip	4 * 4096
