/* SPDX-License-Identifier: BSD-3-Clause */
/* vnetrx-stages: the same captures through the receive path, each time with one stage more. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "pcap.h"
#include "stages.h"

#define CAPTURES_MAX 256
#define ROWS_MAX 16

enum { OPT_JSON = 256, OPT_EACH, OPT_IRQ, OPT_TIMEOUT, OPT_REPEATS, OPT_HELP };

struct options {
	struct settings set;
	bool json;
	bool each;
};

static const struct option longs[] = {
	{ "json", no_argument, NULL, OPT_JSON },
	{ "each", no_argument, NULL, OPT_EACH },
	{ "irq", required_argument, NULL, OPT_IRQ },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "repeats", required_argument, NULL, OPT_REPEATS },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static const char usage[] =
	"usage: vnetrx-stages [options] CAPTURE...\n"
	"Sends captures through the receive path, each time with one stage more, and prints what that gains.\n"
	"\n"
	"  --irq NS      a poll takes what arrives within so long of its first packet, at most 64 packets (20000)\n"
	"  --timeout NS  GRO timer of the last row (100000); nothing is held longer than 1 ms\n"
	"  --repeats N   timed runs, of which the median counts (7)\n"
	"  --each        one table for each capture, then the one over all\n"
	"  --json        one JSON object instead of tables\n"
	"\n"
	"Exit: 0, also when a capture is damaged and only what stands before is measured, which a warning says;\n"
	"1 usage; 2 bad input; 3 packets were lost on the way, or output failed.\n";

static bool valued(struct options *opts, int option, const struct cli_option *o)
{
	uint32_t repeats = 0u;

	switch (option) {
	case OPT_IRQ:
		return cli_number(o, 0u, 1000000000u, &opts->set.irq_ns);
	case OPT_TIMEOUT:
		return cli_number(o, 1u, 1000000000u, &opts->set.timeout_ns);
	default:
		if (!cli_number32(o, 1u, 101u, &repeats))
			return false;
		opts->set.repeats = repeats;
		return true;
	}
}

/* < 0: go on; else the code to exit with. */
static int read_options(struct options *opts, int argc, char **argv)
{
	struct cli_option o = { .program = "vnetrx-stages" };
	int option, at = 0;

	cli_begin(argv);
	*opts = (struct options){ .set = { 20000u, 100000u, 1000000u, 7u } };
	while ((option = getopt_long(argc, argv, "", longs, &at)) != -1) {
		if (option == OPT_HELP)
			return cli_help(o.program, usage) ? 0 : 3;
		o.name = longs[at].name;
		o.text = optarg;
		if (option == OPT_JSON)
			opts->json = true;
		else if (option == OPT_EACH)
			opts->each = true;
		else if (option == '?' || !valued(opts, option, &o))
			return 1;
	}
	if (optind == argc || argc - optind > CAPTURES_MAX) {
		fprintf(stderr, "vnetrx-stages: 1 to %d captures wanted (--help says more)\n", CAPTURES_MAX);
		return 1;
	}
	return -1;
}

static double per(uint64_t a, uint64_t b)
{
	return b == 0u ? 0.0 : (double)a / (double)b;
}

static void table_head(const char *title)
{
	printf("\n%s\n%-30s %10s %9s %9s %9s %10s %9s %8s\n%-30s %10s %9s %9s %9s %10s %9s %8s\n", title, "",
	       "packets", "segments", "fragments", "buffers", "truesize", "longest", "ns per", "", "delivered",
	       "a packet", "a packet", "a packet", "a byte", "hold, us", "packet");
}

static void table_row(const char *label, const struct result *r)
{
	printf("%-30s %10" PRIu64 " %9.2f %9.2f %9.2f %10.2f %9.1f %8.0f\n", label, r->delivered,
	       per(r->segs, r->delivered), per(r->frags, r->delivered), per(r->bufs, r->delivered),
	       per(r->truesize, r->bytes), (double)r->hold_max / 1000.0, r->path_ns / (double)r->received);
}

static void json_row(const char *label, const struct result *r, bool first)
{
	printf("%s{\"row\":\"%s\",\"received\":%" PRIu64 ",\"delivered\":%" PRIu64 ",\"segs_per_packet\":%.4f,"
	       "\"frags_per_packet\":%.4f,\"bufs_per_packet\":%.4f,\"truesize_per_byte\":%.4f,\"hold_max_ns\":%" PRIu64
	       ",\"ns_per_packet\":%.1f}", first ? "" : ",", label, r->received, r->delivered,
	       per(r->segs, r->delivered), per(r->frags, r->delivered), per(r->bufs, r->delivered),
	       per(r->truesize, r->bytes), r->hold_max, r->path_ns / (double)r->received);
}

static void add(struct result *sum, const struct result *r)
{
	sum->received += r->received;
	sum->delivered += r->delivered;
	sum->segs += r->segs;
	sum->frags += r->frags;
	sum->bufs += r->bufs;
	sum->bytes += r->bytes;
	sum->truesize += r->truesize;
	sum->hold_max = r->hold_max > sum->hold_max ? r->hold_max : sum->hold_max;
	sum->path_ns += r->path_ns;
}

/* The label, with the timer's values when it has one. */
static const char *label_of(const struct row *row, const struct settings *set)
{
	static char text[64];

	if (!row->timer)
		return row->label;
	snprintf(text, sizeof(text), "%s (%" PRIu64 " us, at most 1 ms)", row->label, set->timeout_ns / 1000u);
	return text;
}

/* Adds to results what each row makes of the capture, and keeps that apart too, if asked. */
static bool measure_rows(const struct capture *cap, const struct settings *set, struct result *results,
                         struct result *alone)
{
	for (unsigned i = 0u; i < rows_num; i++) {
		struct result r = { 0 };
		const char *why = measure(cap, &rows[i], set, &r);

		if (why != NULL) {
			fprintf(stderr, "vnetrx-stages: %s: %s\n", cap->path, why);
			return false;
		}
		add(&results[i], &r);
		alone[i] = r;
	}
	return true;
}

static void footnote(const struct settings *set)
{
	printf("A poll takes what arrived within %" PRIu64
	       " us. Truesize: memory a packet keeps from use. ns: in the queue and "
	       "its host,\nfor each packet from the device, frames hot in cache; median of %u runs.\n",
	       set->irq_ns / 1000u, set->repeats);
}

/* The file's name without directories and endings. */
static void kind_row(const char *path, const struct result *alone)
{
	const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;

	printf("%-30.*s %10" PRIu64, (int)strcspn(name, "."), name, alone[0].received);
	for (unsigned i = 0u; i < rows_num; i++) {
		if (i == 0u || i + 2u >= rows_num)
			printf(" %9.2f", per(alone[i].segs, alone[i].delivered));
	}
	putchar('\n');
}

/* What merging makes of each capture: sums hide that some traffic cannot join. */
static void kinds(const struct capture *caps, unsigned n, struct result (*alone)[ROWS_MAX])
{
	printf("\n%-30s %10s %9s %9s %9s\n", "segments a packet, by capture", "packets", "as came", "+ GRO", "+ timer");
	for (unsigned k = 0u; k < n; k++)
		kind_row(caps[k].path, alone[k]);
}

static void json_table(const struct result *results, const struct settings *set)
{
	printf("{\"irq_ns\":%" PRIu64 ",\"timeout_ns\":%" PRIu64 ",\"rows\":[", set->irq_ns, set->timeout_ns);
	for (unsigned i = 0u; i < rows_num; i++)
		json_row(rows[i].label, &results[i], i == 0u);
	puts("]}");
}

static bool table(const char *title, const struct capture *caps, unsigned n, const struct options *opts)
{
	static struct result alone[CAPTURES_MAX][ROWS_MAX];
	struct result results[ROWS_MAX] = { { 0 } };

	for (unsigned k = 0u; k < n; k++) {
		if (!measure_rows(&caps[k], &opts->set, results, alone[k]))
			return false;
	}
	if (opts->json) {
		json_table(results, &opts->set);
		return true;
	}
	table_head(title);
	for (unsigned i = 0u; i < rows_num; i++)
		table_row(label_of(&rows[i], &opts->set), &results[i]);
	if (n > 1u)
		kinds(caps, n, alone);
	return true;
}

int main(int argc, char **argv)
{
	static struct capture caps[CAPTURES_MAX];
	struct options opts;
	char error[PCAP_ERROR_MAX];
	uint64_t packets = 0u, bytes = 0u;
	char title[128];
	unsigned n = 0u;
	int code = read_options(&opts, argc, argv);

	if (code >= 0)
		return code;
	for (code = 0; code == 0 && optind < argc; optind++) {
		if (!capture_load(&caps[n], argv[optind], error)) {
			fprintf(stderr, "vnetrx-stages: %s: %s\n", argv[optind], error);
			code = 2;
			break;
		}
		packets += caps[n].frames.num;
		bytes += caps[n].frames.size;
		if (opts.each && !opts.json && !table(argv[optind], &caps[n], 1u, &opts))
			code = 3;
		n++;
	}
	snprintf(title, sizeof(title), "%" PRIu64 " packets, %.1f MB, from %u capture%s", packets, (double)bytes / 1e6,
		 n, n == 1u ? "" : "s");
	if (code == 0 && !table(title, caps, n, &opts))
		code = 3;
	if (code == 0 && !opts.json)
		footnote(&opts.set);
	if (!cli_printed("vnetrx-stages") && code == 0)
		code = 3;
	while (n > 0u)
		capture_free(&caps[--n]);
	return code;
}
