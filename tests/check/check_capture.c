/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check-capture: were the laws kept between a capture and what vnetrx-replay made of it?
 *
 *   IN  --its flows-->  what must leave next   ==   OUT cut by META  <-- OUT, META
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "laws.h"

static const char usage[] =
	"usage: check-capture IN OUT META [--rfc6864]\n"
	"Checks what vnetrx-replay --meta META IN OUT wrote: that cutting each packet gives back the packets that\n"
	"came, byte for byte, each once, and that no packet has overtaken one of its flow.\n"
	"\n"
	"  --rfc6864  ids of IPv4 packets with DF may differ\n"
	"\n"
	"Prints one line. Exit: 0 the laws were kept; 1 they were not; 2 usage, or a file cannot be read.\n";

static int unusable(const char *path, const char *why)
{
	fprintf(stderr, "check-capture: %s: %s\n", path, why);
	return 2;
}

/* Number of the first packet of OUT that breaks a law, 0 = none does. */
static size_t check_all(struct laws *laws, FILE *file)
{
	struct meta meta;
	bool bad = false;

	for (size_t n = 0; n < laws->out.num; n++) {
		if (!meta_read(file, &meta, &bad)) {
			snprintf(laws->why, sizeof(laws->why), "META says nothing about it that can be read");
			return n + 1u;
		}
		if (!laws_delivered(laws, n, &meta))
			return n + 1u;
	}
	if (meta_read(file, &meta, &bad) || bad) {
		snprintf(laws->why, sizeof(laws->why), "META says more");
		return laws->out.num + 1u;
	}
	return laws_end(laws) ? 0u : laws->out.num + 1u;
}

static void print_result(const struct laws *laws, const char *path, size_t failed)
{
	const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;

	printf("%s: %zu in, %zu delivered, %zu joined%s, ", name, laws->in.num, laws->out.num,
	       laws->in.num > laws->out.num ? laws->in.num - laws->out.num : 0u,
	       laws->in.damaged ? " (file damaged at its end)" : "");
	if (failed == 0u)
		printf("PASS\n");
	else if (failed > laws->out.num)
		printf("FAIL at the end of OUT: %s\n", laws->why);
	else
		printf("FAIL at packet %zu of OUT: %s\n", failed, laws->why);
}

static int run(struct laws *laws, char **path)
{
	size_t failed;
	FILE *meta;

	if (!frames_read(&laws->in, path[0]))
		return unusable(path[0], laws->in.error);
	if (!frames_read(&laws->out, path[1]))
		return unusable(path[1], laws->out.error);
	if (laws->out.damaged || laws->out.skip != 0u)
		return unusable(path[1], "damaged, or no Ethernet");
	meta = fopen(path[2], "r");
	if (meta == NULL || !laws_begin(laws)) {
		if (meta != NULL)
			fclose(meta);
		return unusable(path[2], meta == NULL ? "cannot be read" : "out of memory");
	}
	failed = check_all(laws, meta);
	fclose(meta);
	print_result(laws, path[0], failed);
	return failed == 0u ? 0 : 1;
}

int main(int argc, char **argv)
{
	static struct laws laws;
	char *path[3];
	int paths = 0;
	int code;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			return 0;
		}
		if (strcmp(argv[i], "--rfc6864") == 0) {
			laws.rfc6864 = true;
		} else if (argv[i][0] != '-' && paths < 3) {
			path[paths++] = argv[i];
		} else {
			return unusable(argv[i], "not wanted; --help says what is");
		}
	}
	if (paths != 3)
		return unusable("IN OUT META", "all three are wanted; --help says more");
	code = run(&laws, path);
	flows_free(laws.flows);
	frames_free(&laws.in);
	frames_free(&laws.out);
	return code;
}
