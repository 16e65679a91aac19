/* SPDX-License-Identifier: BSD-3-Clause */
/* QEMU's riscv64 `virt`, without firmware: this runs in machine mode. Addresses: hw/riscv/virt.c of QEMU. */
#include "machine.h"
#include "print.h"

#define UART        ((volatile uint8_t *)0x10000000u) /* 16550 */
#define UART_STATUS 5u
#define UART_EMPTY  0x20u
#define FINISHER    ((volatile uint32_t *)0x00100000u)
#define FINISH_OK   0x5555u
#define FINISH_CODE 0x3333u /* code in bits 16..31 */
#define TICK_NS     100u    /* the timer runs at 10 MHz */

const struct machine machine = {
	.name = "riscv64 virt",
	.options = 0x82000000u,
	.mmio = 0x10001000u,
	.mmio_step = 0x1000u,
	.mmio_slots = 8u,
};

void machine_init(void)
{
}

void machine_putc(char c)
{
	while ((UART[UART_STATUS] & UART_EMPTY) == 0u)
		;
	UART[0] = (uint8_t)c;
}

vnetrx_ns machine_now(void)
{
	uint64_t ticks;

	__asm__ volatile("rdtime %0" : "=r"(ticks));
	return ticks * TICK_NS;
}

void machine_exit(unsigned code)
{
	for (;;)
		*FINISHER = code == 0u ? FINISH_OK : code << 16 | FINISH_CODE;
}

/* From boot_riscv64.S: an exception, of which none is expected. */
_Noreturn void machine_trap(uint64_t cause, uint64_t at);

void machine_trap(uint64_t cause, uint64_t at)
{
	print("trap: cause %u at %x\n", cause, at);
	machine_exit(64u);
}
