/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All that the program needs of a machine: one machine_*.c and one boot_*.S for each.
 *
 * boot_*.S sets up a stack, clears .bss, maps memory where the machine needs that for ordinary loads and stores, and
 * calls main(); what that returns goes to machine_exit(). Addresses of memory are the device's addresses as well.
 */
#ifndef UNIKERNEL_MACHINE_H
#define UNIKERNEL_MACHINE_H

#include "vnetrx/base.h"

struct machine {
	const char *name;
	uintptr_t   options; /* a word that QEMU's loader device may have written, see options.h  */
	uintptr_t   mmio;    /* registers of the first virtio-mmio slot                           */
	uint32_t    mmio_step;
	uint32_t    mmio_slots;
};

extern const struct machine machine;

/* To be called first. */
void machine_init(void);

/* One character to the serial line. */
void machine_putc(char c);

/* Nanoseconds since any time. */
vnetrx_ns machine_now(void);

/* Memory and registers: what was accessed before it is seen before what is accessed after it. */
static inline void machine_barrier(void)
{
#if defined(__riscv)
	__asm__ volatile("fence iorw, iorw" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb sy" ::: "memory");
#else
	__asm__ volatile("mfence" ::: "memory");
#endif
}

/* Ends the machine with this code. */
_Noreturn void machine_exit(unsigned code);

#endif
