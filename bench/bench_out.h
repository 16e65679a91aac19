/* SPDX-License-Identifier: BSD-3-Clause */
/* Between bench.c and bench_out.c. */
#ifndef BENCH_OUT_H
#define BENCH_OUT_H

struct bench;

/* The machine: CPU, cores, kernel, compiler, date. */
void bench_out_head(struct bench *b, const char *about);

#endif
