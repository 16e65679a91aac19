/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check-capture [--trust-csum] [--delivered N] [--code N] IN OUT META
 *
 * Are the packets of OUT, cut as META says, those of IN (law 1), each flow in its order (law 2)? With --delivered: are they
 * so many? With --code: did vnetrx-replay end with the right one, 2 if IN is damaged, else 0? Then what can be read of IN
 * counts. Prints one line. Exit: 0 they are, 1 they are not, 2 a file cannot be read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "support/laws.h"

#define LINE_MAX_BYTES 1024u

/* The number behind "key": in a line of JSON; -1 = it is not there. */
static long number(const char *line, const char *key)
{
	char quoted[32];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(line, quoted);
	return at == NULL ? -1 : strtol(at + strlen(quoted), NULL, 10);
}

/* The id modes, the outermost level first. */
static unsigned id_flags(const char *line)
{
	const char *at = strstr(line, "\"id\":[");
	const char *end, *comma;
	unsigned flags = 0;

	if (at == NULL)
		return 0;
	at += strlen("\"id\":[");
	end = strchr(at, ']');
	comma = strchr(at, ',');
	if (end != NULL && comma != NULL && comma < end) {
		flags |= strncmp(at, "\"fixed\"", 7) == 0 ? LAW_OUTER_ID_FIXED : 0u;
		at = comma + 1;
	}
	return flags | (strncmp(at, "\"fixed\"", 7) == 0 ? LAW_ID_FIXED : 0u);
}

static bool read_meta(FILE *meta, struct law_pkt *pkt, const char **why)
{
	char line[LINE_MAX_BYTES];
	long segs, gso_size, rx_gso_size, len;

	*why = "META has fewer lines than OUT has packets";
	if (fgets(line, sizeof(line), meta) == NULL)
		return false;
	segs = number(line, "segs");
	gso_size = number(line, "gso_size");
	rx_gso_size = number(line, "rx_gso_size");
	len = number(line, "len");
	*why = "META says another length than OUT";
	if (len != (long)pkt->len)
		return false;
	*why = "META lacks segs, gso_size or rx_gso_size";
	if (segs < 0 || gso_size < 0 || rx_gso_size < 0)
		return false;
	pkt->segs = (unsigned)segs;
	pkt->gso_size = (unsigned)gso_size;
	if (segs > 1 && rx_gso_size == 0)
		pkt->flags |= LAW_MERGED;
	pkt->flags |= id_flags(line);
	return true;
}

static void put_in(struct laws *laws, const struct capture *in, bool trust)
{
	for (size_t i = 0; i < in->n; i++) {
		struct law_pkt pkt = { .bytes = in->frame[i].bytes, .len = in->frame[i].len };

		pkt.flags = (trust ? LAW_CSUM_OK : 0u) | (in->frame[i].synth ? LAW_SYNTH : 0u);
		laws_in(laws, &pkt);
	}
}

/* NULL, or what is wrong with packet *at of OUT. */
static const char *take_out(struct laws *laws, const struct capture *out, FILE *meta, size_t *at)
{
	const char *why = NULL;

	for (*at = 0; *at < out->n; (*at)++) {
		struct law_pkt pkt = { .bytes = out->frame[*at].bytes, .len = out->frame[*at].len };

		if (!read_meta(meta, &pkt, &why))
			return why;
		why = laws_out(laws, &pkt, NULL);
		if (why != NULL)
			return why;
	}
	if (fgetc(meta) != EOF)
		return "META has more lines than OUT has packets";
	return laws_missing(laws) != 0u ? "packets of IN are missing in OUT" : NULL;
}

struct job {
	const char *name; /* IN */
	struct capture in, out;
	FILE *meta;
	bool trust;
	bool damaged;     /* IN cannot be read to its end */
	long delivered;   /* wanted; -1 = any */
	long code;        /* of vnetrx-replay; -1 = not asked */
};

/* What is wrong beside the packets. */
static const char *check_numbers(const struct job *job)
{
	if (job->code >= 0 && job->code != (job->damaged ? 2 : 0))
		return "wrong exit code";
	return job->delivered >= 0 && (size_t)job->delivered != job->out.n ? "not the number wanted" : NULL;
}

static int check(const struct job *job)
{
	struct laws *laws = laws_new();
	const char *base = strrchr(job->name, '/');
	const char *why, *numbers = check_numbers(job);
	char wanted[64] = "";
	size_t at;

	put_in(laws, &job->in, job->trust);
	why = take_out(laws, &job->out, job->meta, &at);
	if (job->delivered >= 0)
		snprintf(wanted, sizeof(wanted), " (wanted %ld)", job->delivered);
	printf("%-34s %6zu in %6zu delivered%s %6u joined  ", base != NULL ? base + 1 : job->name, job->in.n, job->out.n,
	       wanted, laws_joined(laws));
	if (why != NULL && at < job->out.n)
		printf("FAIL: packet %zu of OUT: %s\n", at + 1u, why);
	else if (why != NULL)
		printf("FAIL: %s, the oldest is packet %u\n", why, laws_oldest(laws) + 1u);
	else if (numbers != NULL)
		printf("FAIL: %s\n", numbers);
	else
		printf(job->damaged ? "PASS, up to where the file is damaged\n" : "PASS\n");
	laws_free(laws);
	return why != NULL || numbers != NULL ? 1 : 0;
}

static bool options(struct job *job, int *argc, char ***argv)
{
	for (; *argc > 1 && strncmp((*argv)[1], "--", 2) == 0; (*argc)--, (*argv)++) {
		const char *option = (*argv)[1];
		long *value = strcmp(option, "--delivered") == 0 ? &job->delivered :
		              strcmp(option, "--code") == 0 ? &job->code : NULL;

		if (strcmp(option, "--trust-csum") == 0) {
			job->trust = true;
		} else if (value != NULL && *argc > 2) {
			*value = strtol((*argv)[2], NULL, 10);
			(*argc)--;
			(*argv)++;
		} else {
			return false;
		}
	}
	return *argc == 4;
}

static bool readable(struct job *job, char **argv)
{
	bool fine = true;

	job->name = argv[1];
	job->damaged = !capture_read(&job->in, argv[1]);
	if (job->damaged && (job->code < 0 || job->in.n == 0u)) {
		fprintf(stderr, "check-capture: %s: %s\n", argv[1], job->in.error);
		fine = false;
	}
	if (!capture_read(&job->out, argv[2])) {
		fprintf(stderr, "check-capture: %s: %s\n", argv[2], job->out.error);
		fine = false;
	}
	job->meta = fopen(argv[3], "r");
	if (job->meta == NULL) {
		fprintf(stderr, "check-capture: %s: cannot be opened\n", argv[3]);
		fine = false;
	}
	return fine;
}

int main(int argc, char **argv)
{
	struct job job = { .delivered = -1, .code = -1 };
	int code = 2;

	if (!options(&job, &argc, &argv)) {
		fputs("usage: check-capture [--trust-csum] [--delivered N] [--code N] IN OUT META\n", stderr);
		return 2;
	}
	if (readable(&job, argv))
		code = check(&job);
	if (job.meta != NULL)
		fclose(job.meta);
	capture_free(&job.in);
	capture_free(&job.out);
	return code;
}
