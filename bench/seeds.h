/* SPDX-License-Identifier: BSD-3-Clause */
/* The four ideas that the library began with, a table or two each: see bench_seeds.c. */
#ifndef SEEDS_H
#define SEEDS_H

struct bench;

void seeds_sizer(struct bench *b);
void seeds_coalescer(struct bench *b);
void seeds_flush(struct bench *b);

#endif
