/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* sched_setaffinity() */
#include "backend.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define WORDS_MAX  64u
#define START_MS   60000u
#define STOP_MS    20000u
#define PAGES_NEED 64u /* huge pages: with as many free, it runs in them */

static cpu_set_t all_cpus;
static bool have_cpus;

static unsigned cpu_of(bool last)
{
	unsigned found = 0;
	unsigned i;

	if (!have_cpus) {
		have_cpus = true;
		CPU_ZERO(&all_cpus);
		(void)sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
	}
	for (i = CPU_SETSIZE; i-- > 0u;) {
		if (!CPU_ISSET(i, &all_cpus))
			continue;
		found = i;
		if (last)
			break;
	}
	return found;
}

static void pin(unsigned cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
}

void bench_backend_move(void)
{
	pin(cpu_of(true));
}

static bool huge_pages_free(void)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned n = 0;

	if (f == NULL)
		return false;
	if (fscanf(f, "%u", &n) != 1)
		n = 0;
	fclose(f);
	return n >= PAGES_NEED;
}

/* In the child: does not return. */
static void become(const struct bench_backend *be, const char *args)
{
	static char text[1024];
	char *words[WORDS_MAX];
	unsigned cpu = cpu_of(false);
	unsigned n = 0;
	char *word, *rest = NULL;

	snprintf(
		text, sizeof(text),
		"dpdk-testpmd --lcores 0@%u,1@%u --no-pci --no-telemetry %s --vdev net_vhost0,iface=%s,queues=1 -- "
		"--total-num-mbufs=8192 --nb-cores=1 --no-flush-rx --no-lsc-interrupt --auto-start --stats-period 1 %s",
		cpu, cpu, huge_pages_free() ? "--in-memory -m 64" : "--no-huge --no-shconf -m 64", be->path, args);
	for (word = strtok_r(text, " ", &rest); word != NULL && n + 1u < WORDS_MAX; word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	words[n] = NULL;
	pin(cpu);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with us, whatever happens to us */
	(void)!freopen("/dev/null", "r", stdin);
	(void)!freopen(be->log, "w", stdout);
	(void)dup2(STDOUT_FILENO, STDERR_FILENO);
	execvp(words[0], words);
	_exit(127);
}

static bool says(const char *file, const char *text)
{
	char line[512];
	bool found = false;
	FILE *f = fopen(file, "r");

	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = strstr(line, text) != NULL;
	fclose(f);
	return found;
}

void bench_backend_start(struct bench_backend *be, const char *args)
{
	struct stat st;
	unsigned ms;

	snprintf(be->dir, sizeof(be->dir), "/tmp/vnetrx-bench-XXXXXX");
	if (mkdtemp(be->dir) == NULL)
		bench_die("no directory for the socket");
	snprintf(be->path, sizeof(be->path), "%s/sock", be->dir);
	snprintf(be->log, sizeof(be->log), "%s/log", be->dir);
	fflush(stdout);
	be->pid = fork();
	if (be->pid == 0)
		become(be, args);
	for (ms = 0; be->pid > 0 && ms < START_MS; ms += 10u) {
		if (stat(be->path, &st) == 0 && says(be->log, "packets/burst"))
			return;
		if (waitpid(be->pid, NULL, WNOHANG) == be->pid)
			break;
		usleep(10000);
	}
	bench_die("dpdk-testpmd does not run here (package dpdk-dev)");
}

/* The last number behind `name` in a file. */
static unsigned long long number_behind(const char *file, const char *name)
{
	char line[512];
	unsigned long long n = 0;
	FILE *f = fopen(file, "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		const char *at = strstr(line, name);

		if (at != NULL)
			n = strtoull(at + strlen(name), NULL, 10);
	}
	if (f != NULL)
		fclose(f);
	return n;
}

unsigned long long bench_backend_stop(struct bench_backend *be)
{
	unsigned long long received;
	unsigned ms;

	kill(be->pid, SIGINT);
	for (ms = 0; ms < STOP_MS && waitpid(be->pid, NULL, WNOHANG) == 0; ms += 10u)
		usleep(10000);
	if (ms >= STOP_MS) {
		kill(be->pid, SIGKILL);
		(void)waitpid(be->pid, NULL, 0);
	}
	received = number_behind(be->log, "RX-packets:");
	(void)unlink(be->path);
	(void)unlink(be->log);
	(void)rmdir(be->dir);
	return received;
}
