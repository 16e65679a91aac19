/* SPDX-License-Identifier: BSD-3-Clause */
/* Text on the serial line. */
#ifndef UNIKERNEL_PRINT_H
#define UNIKERNEL_PRINT_H

#include <stdint.h>

/* %s: a string, %u: a uint64_t in decimal, %x: one in hexadecimal; nothing else. */
void print(const char *format, ...);

#endif
