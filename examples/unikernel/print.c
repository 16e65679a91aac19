/* SPDX-License-Identifier: BSD-3-Clause */
#include "print.h"

#include <stdarg.h>

#include "machine.h"

static void put_text(const char *text)
{
	while (*text != '\0')
		machine_putc(*text++);
}

static void put_number(uint64_t n, unsigned base)
{
	char digits[24];
	unsigned i = sizeof(digits) - 1u;

	digits[i] = '\0';
	do {
		digits[--i] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n != 0u);
	put_text(digits + i);
}

void print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	for (; *format != '\0'; format++) {
		if (*format != '%' || format[1] == '\0')
			machine_putc(*format);
		else if (*++format == 's')
			put_text(va_arg(args, const char *));
		else
			put_number(va_arg(args, uint64_t), *format == 'x' ? 16u : 10u);
	}
	va_end(args);
}
