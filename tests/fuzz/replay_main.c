/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a libFuzzer harness without libFuzzer: every file of a corpus, then inputs made from them by a fixed generator,
 * so that a build with any compiler, under Valgrind or on another machine, sees what the fuzzers found.
 *
 *	fuzz_x [-n MADE] [-s SEED] [-v] DIR
 *
 * Each input lies in an allocation of its exact length: an access past it is seen by Valgrind and AddressSanitizer.
 */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 4096u
#define INPUT_MAX (1u << 20)
#define MADE_MORE 64u /* a made input may be this much longer than its origin */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	uint8_t *data;
	size_t   size;
};

static struct input files[FILES_MAX];
static size_t files_num;
static bool verbose;

static uint64_t rng_state;

/* splitmix64 */
static uint64_t rng(void)
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static size_t below(size_t n)
{
	return (size_t)(rng() % n);
}

static void die(const char *what, const char *name)
{
	printf("Bail out! %s: %s\n", what, name);
	exit(2);
}

static uint8_t *take(size_t size)
{
	uint8_t *p = malloc(size > 0 ? size : 1);

	if (!p)
		die("no memory", "input");
	return p;
}

static void run(const uint8_t *data, size_t size)
{
	uint8_t *copy = take(size);

	memcpy(copy, data, size);
	(void)LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void load(const char *dir, const char *name)
{
	static uint8_t buf[INPUT_MAX];
	char path[4096];
	struct input *in = &files[files_num];
	FILE *f;

	if (files_num == FILES_MAX)
		die("more files than can be held", dir);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f)
		die("cannot be read", path);
	in->size = fread(buf, 1, sizeof(buf), f);
	if (ferror(f) || !feof(f))
		die("cannot be read, or is too long", path);
	(void)fclose(f);
	in->data = take(in->size);
	memcpy(in->data, buf, in->size);
	files_num++;
}

static int name_order(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void replay(const char *dir)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, name_order);

	if (n < 0)
		die("no such directory", dir);
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.') {
			load(dir, names[i]->d_name);
			printf("# %s\n", names[i]->d_name);
			(void)fflush(stdout);
			run(files[files_num - 1].data, files[files_num - 1].size);
		}
		free(names[i]);
	}
	free(names);
}

/* A file of the corpus with a few bytes changed, cut off, or followed by others. */
static void run_made(void)
{
	const struct input *from = &files[below(files_num)];
	size_t size = from->size;
	uint8_t *data = take(size + MADE_MORE);

	memcpy(data, from->data, size);
	if (below(4) == 0 && size > 0)
		size = below(size);
	for (size_t more = below(4) == 0 ? below(MADE_MORE + 1) : 0; more > 0; more--)
		data[size++] = (uint8_t)rng();
	for (size_t changes = 1 + below(8); changes > 0 && size > 0; changes--)
		data[below(size)] = below(2) == 0 ? (uint8_t)rng() : (uint8_t)(0u - (unsigned)below(2));
	run(data, size);
	free(data);
}

int main(int argc, char **argv)
{
	unsigned long made = 2000;
	unsigned long seed = 1;
	bool empty;
	int c;

	while ((c = getopt(argc, argv, "n:s:v")) != -1) {
		switch (c) {
		case 'n': made = strtoul(optarg, NULL, 10); break;
		case 's': seed = strtoul(optarg, NULL, 10); break;
		case 'v': verbose = true; break;
		default: return 2;
		}
	}
	if (optind != argc - 1)
		die("usage", "fuzz_x [-n MADE] [-s SEED] [-v] DIR");
	printf("1..2\n");
	replay(argv[optind]);
	empty = files_num == 0;
	printf("%s 1 - corpus of %zu inputs\n", empty ? "not ok" : "ok", files_num);
	rng_state = seed;
	for (unsigned long i = 0; i < made && !empty; i++) {
		if (verbose)
			fprintf(stderr, "made input %lu\n", i);
		run_made();
	}
	printf("%s 2 - %lu inputs made of them with seed %lu\n", empty ? "not ok" : "ok", empty ? 0 : made, seed);
	while (files_num > 0)
		free(files[--files_num].data);
	return empty ? 1 : 0;
}
