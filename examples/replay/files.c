/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IN is read while OUT is written: one file for both would be empty before it was read. META is created before OUT is
 * opened, so that two names of one new file are seen, and emptied after that, so that nothing is lost when OUT fails.
 */
#include "files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int complain(int code, const char *what, const char *why)
{
	fprintf(stderr, "vnetrx-replay: %s: %s\n", what, why);
	return code;
}

/* Looks at a file by its name, - = the descriptor std; false: there is none yet. */
static bool look(const char *name, int std, struct stat *st)
{
	return (strcmp(name, "-") == 0 ? fstat(std, st) : stat(name, st)) == 0;
}

/* Whether both names mean one file that has content; a terminal, a pipe or /dev/null may be used twice. */
static bool same(const char *a, int std_a, const char *b, int std_b)
{
	struct stat x, y;

	return look(a, std_a, &x) && look(b, std_b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
	       (S_ISREG(x.st_mode) || S_ISBLK(x.st_mode));
}

/* 0, or what to exit with, as far as files are there already. */
static int check(const struct replay_options *opts)
{
	const char *in = opts->in, *out = opts->out, *meta = opts->meta;

	if (same(in, STDIN_FILENO, out, STDOUT_FILENO))
		return complain(REPLAY_EXIT_USAGE, out, "OUT is IN");
	if (meta != NULL && same(in, STDIN_FILENO, meta, STDOUT_FILENO))
		return complain(REPLAY_EXIT_USAGE, meta, "META is IN");
	if (meta != NULL && same(out, STDOUT_FILENO, meta, STDOUT_FILENO))
		return complain(REPLAY_EXIT_USAGE, meta, "META is OUT");
	return 0;
}

/* META, which is not emptied yet. */
static FILE *open_meta(const char *name)
{
	return strcmp(name, "-") == 0 ? fdopen(dup(STDOUT_FILENO), "w") : fopen(name, "a");
}

static int open_outputs(struct replay_files *files, const struct replay_options *opts)
{
	int code;

	if (opts->meta != NULL) {
		files->meta = open_meta(opts->meta);
		if (files->meta == NULL)
			return complain(REPLAY_EXIT_OUTPUT, opts->meta, strerror(errno));
		code = check(opts);
		if (code != 0)
			return code;
	}
	files->out = pcap_out_open(opts->out);
	if (files->out == NULL)
		return complain(REPLAY_EXIT_OUTPUT, opts->out, strerror(errno));
	if (files->meta != NULL && strcmp(opts->meta, "-") != 0)
		(void)!ftruncate(fileno(files->meta), 0); /* a pipe has nothing to cut off */
	return 0;
}

int replay_files_open(struct replay_files *files, const struct replay_options *opts)
{
	char error[PCAP_ERROR_MAX];
	struct stat st;
	bool is_new = opts->meta != NULL && !look(opts->meta, STDOUT_FILENO, &st);
	int code = check(opts);

	if (code != 0)
		return code;
	files->in = pcap_in_open(opts->in, error);
	if (files->in == NULL)
		return complain(REPLAY_EXIT_INPUT, opts->in, error);
	code = open_outputs(files, opts);
	if (code == 0 || files->meta == NULL)
		return code;
	(void)fclose(files->meta);
	files->meta = NULL;
	if (is_new)
		(void)unlink(opts->meta);
	return code;
}
