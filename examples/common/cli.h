/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs' command lines have in common: values of options. Each function says on standard error what is
 * wrong with `text`, after the program's name, and is false then.
 */
#ifndef EXAMPLES_CLI_H
#define EXAMPLES_CLI_H

#include <stdbool.h>
#include <stdint.h>

struct cli_option {
	const char *program;
	const char *name; /* without the dashes */
	const char *text;
};

/* The whole of the text as a decimal number from low to high. */
bool cli_number(const struct cli_option *option, uint64_t low, uint64_t high, uint64_t *value);
bool cli_number32(const struct cli_option *option, uint32_t low, uint32_t high, uint32_t *value);

/* Receive buffers: auto, mtu (1536), max (4096), or their length in bytes, device header included, rounded up to a
 * multiple of 64: buf_len_min and buf_len_max of a queue; auto = 0. */
bool cli_buffers(const struct cli_option *option, uint32_t *len_min, uint32_t *len_max);

/* An interface, given as [NETNS/]NAME. */
struct cli_interface {
	char        netns[128]; /* "" = the program's own namespace */
	const char *name;       /* within the text                  */
};

/* NULL, or what is wrong with the text: it says nothing itself. */
const char *cli_interface(const char *text, struct cli_interface *interface);

/* Makes getopt name the program without its directory, as everything else does. */
void cli_begin(char **argv);

/* Whether all that was printed reached standard output; says so if not. */
bool cli_printed(const char *program);

/* Print the text, or "PROGRAM 1.2.3"; false as of cli_printed(). */
bool cli_help(const char *program, const char *text);
bool cli_version(const char *program);

#endif
