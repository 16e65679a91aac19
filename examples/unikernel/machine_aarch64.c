/* SPDX-License-Identifier: BSD-3-Clause */
/* QEMU's aarch64 `virt`; ends by semihosting. Addresses: hw/arm/virt.c of QEMU. */
#include "machine.h"
#include "print.h"

#define UART      ((volatile uint32_t *)0x09000000u) /* PL011 */
#define UART_FLAG 6u
#define UART_FULL 0x20u
#define SECOND    1000000000u

#define SYS_EXIT                0x18u
#define STOPPED_APPLICATIONEXIT 0x20026u

const struct machine machine = {
	.name = "aarch64 virt",
	.options = 0x42000000u,
	.mmio = 0x0a000000u,
	.mmio_step = 0x200u,
	.mmio_slots = 32u,
};

static uint64_t tick_ns;

void machine_init(void)
{
	uint64_t hz;

	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	tick_ns = SECOND / hz; /* 16, exactly */
}

void machine_putc(char c)
{
	while ((UART[UART_FLAG] & UART_FULL) != 0u)
		;
	UART[0] = (uint8_t)c;
}

vnetrx_ns machine_now(void)
{
	uint64_t ticks;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks * tick_ns;
}

void machine_exit(unsigned code)
{
	const uint64_t block[2] = { STOPPED_APPLICATIONEXIT, code };
	register uint64_t op __asm__("x0") = SYS_EXIT;
	register const uint64_t *arg __asm__("x1") = block;

	for (;;)
		__asm__ volatile("hlt #0xf000" : "+r"(op) : "r"(arg) : "memory");
}

/* From boot_aarch64.S: an exception, of which none is expected. */
_Noreturn void machine_trap(uint64_t syndrome, uint64_t at);

void machine_trap(uint64_t syndrome, uint64_t at)
{
	print("trap: syndrome %x at %x\n", syndrome, at);
	machine_exit(64u);
}
