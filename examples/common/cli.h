/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs' command lines have in common: values of options. Each function says on standard error what is
 * wrong with `text`, after the program's name, and is false then.
 */
#ifndef EXAMPLES_CLI_H
#define EXAMPLES_CLI_H

#include <stdbool.h>
#include <stdint.h>

struct vnetrx_rxq_config;

struct cli_option {
	const char *program;
	const char *name; /* without the dashes */
	const char *text;
};

/* The whole of the text as a decimal number from low to high. */
bool cli_number(const struct cli_option *option, uint64_t low, uint64_t high, uint64_t *value);
bool cli_number32(const struct cli_option *option, uint32_t low, uint32_t high, uint32_t *value);

/* Receive buffers: auto, mtu (1536), max (4096), or their length in bytes, device header included; auto = 0. */
bool cli_buffers(const struct cli_option *option, uint32_t *len);

/* "PROGRAM 1.2.3" */
void cli_version(const char *program);

#endif
