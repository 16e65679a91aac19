/* SPDX-License-Identifier: BSD-3-Clause */
/* A vhost-user back end of others: dpdk-testpmd with net_vhost, on the first CPU; we move to the last. */
#ifndef BENCH_BACKEND_H
#define BENCH_BACKEND_H

#include <sys/types.h>

struct bench_backend {
	char  dir[64];
	char  path[96];  /* of the socket */
	char  log[96];
	pid_t pid;
};

/* Starts it with these further arguments of testpmd (words in one string), and waits until it forwards. Ends the
 * process when it does not. */
void bench_backend_start(struct bench_backend *be, const char *args);

/* Ends it, by its id; returns how many packets it says that it received. */
unsigned long long bench_backend_stop(struct bench_backend *be);

/* From now on the calling thread stays on the last of the CPUs that the process may use. */
void bench_backend_move(void);

#endif
