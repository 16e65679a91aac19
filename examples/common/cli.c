/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vnetrx/base.h"

#define MTU_BUF 1536u /* 12 + 1518, rounded to 64 */
#define MAX_BUF 4096u
#define LOW_BUF 128u
#define TOP_BUF 32768u
#define ALIGN   64u   /* the library's default buf_align */

bool cli_number(const struct cli_option *option, uint64_t low, uint64_t high, uint64_t *value)
{
	char *end = NULL;
	unsigned long long v;

	errno = 0;
	v = strtoull(option->text, &end, 10);
	if (isdigit((unsigned char)option->text[0]) && *end == '\0' && errno == 0 && v >= low && v <= high) {
		*value = v;
		return true;
	}
	fprintf(stderr, "%s: --%s %s: not a number from %llu to %llu\n", option->program, option->name, option->text,
		(unsigned long long)low, (unsigned long long)high);
	return false;
}

bool cli_number32(const struct cli_option *option, uint32_t low, uint32_t high, uint32_t *value)
{
	uint64_t v = 0u;

	if (!cli_number(option, low, high, &v))
		return false;
	*value = (uint32_t)v;
	return true;
}

bool cli_buffers(const struct cli_option *option, uint32_t *len_min, uint32_t *len_max)
{
	uint32_t len = 0u;

	*len_min = *len_max = 0u;
	if (strcmp(option->text, "auto") == 0)
		return true;
	if (strcmp(option->text, "mtu") == 0)
		len = MTU_BUF;
	else if (strcmp(option->text, "max") == 0)
		len = MAX_BUF;
	else if (isdigit((unsigned char)option->text[0]) && !cli_number32(option, LOW_BUF, TOP_BUF, &len))
		return false;
	else if (len == 0u)
		fprintf(stderr, "%s: --%s %s: not auto, mtu, max or a number from %u to %u\n", option->program,
			option->name, option->text, LOW_BUF, TOP_BUF);
	*len_min = *len_max = (len + ALIGN - 1u) / ALIGN * ALIGN;
	return len != 0u;
}

const char *cli_interface(const char *text, struct cli_interface *interface)
{
	const char *slash = strchr(text, '/');
	size_t len = slash != NULL ? (size_t)(slash - text) : 0u;

	interface->name = slash != NULL ? slash + 1 : text;
	if (len >= sizeof(interface->netns))
		return "the name of the network namespace is too long";
	memcpy(interface->netns, text, len);
	interface->netns[len] = '\0';
	if (slash == text)
		return "no network namespace before the slash: [NETNS/]NAME is wanted";
	return interface->name[0] == '\0' ? "no name of an interface: [NETNS/]NAME is wanted" : NULL;
}

void cli_begin(char **argv)
{
	char *slash = argv[0] != NULL ? strrchr(argv[0], '/') : NULL;

	if (slash != NULL)
		argv[0] = slash + 1;
}

bool cli_printed(const char *program)
{
	bool failed = fflush(stdout) != 0;

	if (failed || ferror(stdout) != 0)
		fprintf(stderr, "%s: standard output: %s\n", program, failed ? strerror(errno) : "cannot be written");
	return !failed && ferror(stdout) == 0;
}

bool cli_help(const char *program, const char *text)
{
	fputs(text, stdout);
	return cli_printed(program);
}

bool cli_version(const char *program)
{
	printf("%s %d.%d.%d\n", program, VNETRX_VERSION_MAJOR, VNETRX_VERSION_MINOR, VNETRX_VERSION_PATCH);
	return cli_printed(program);
}
