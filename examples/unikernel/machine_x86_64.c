/* SPDX-License-Identifier: BSD-3-Clause */
/* QEMU's x86-64 `microvm`; ends by isa-debug-exit: QEMU's code is twice ours and one. Addresses: hw/i386/microvm.c. */
#include "machine.h"

#define UART        0x3f8u
#define UART_STATUS 0x3fdu
#define UART_EMPTY  0x20u
#define DEBUG_EXIT  0xf4u

#define PIT_COUNTER 0x40u
#define PIT_CONTROL 0x43u
#define PIT_HZ      1193182u
#define PIT_TICKS   11932u /* 10 ms */
#define SHIFT       20u

const struct machine machine = {
	.name = "x86-64 microvm",
	.options = 0x02000000u,
	.mmio = 0xfeb00000u,
	.mmio_step = 0x200u,
	.mmio_slots = 24u,
};

static uint64_t tsc_base;
static uint64_t tick_ns; /* << SHIFT */

static void out(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port));
}

static uint8_t in(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static uint64_t tsc(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}

/* Counts down. */
static uint16_t pit(void)
{
	uint8_t low;

	out(PIT_CONTROL, 0u); /* latch counter 0 */
	low = in(PIT_COUNTER);
	return (uint16_t)(in(PIT_COUNTER) << 8 | low);
}

/* How long is a tick of the time stamp counter? */
void machine_init(void)
{
	uint16_t from, ticks;

	out(PIT_CONTROL, 0x34u); /* counter 0, both bytes, again and again from 0, which is 65536 */
	out(PIT_COUNTER, 0u);
	out(PIT_COUNTER, 0u);
	from = pit();
	tsc_base = tsc();
	do {
		ticks = (uint16_t)(from - pit());
	} while (ticks < PIT_TICKS);
	tick_ns = (((uint64_t)ticks * 1000000000u / PIT_HZ) << SHIFT) / (tsc() - tsc_base);
}

void machine_putc(char c)
{
	while ((in(UART_STATUS) & UART_EMPTY) == 0u)
		;
	out(UART, (uint8_t)c);
}

vnetrx_ns machine_now(void)
{
	return (tsc() - tsc_base) * tick_ns >> SHIFT;
}

void machine_exit(unsigned code)
{
	for (;;)
		out(DEBUG_EXIT, (uint8_t)code);
}
