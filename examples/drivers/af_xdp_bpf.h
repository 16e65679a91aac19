/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel runs for AF_XDP: a map of sockets, and a program that hands each frame to its queue's socket. */
#ifndef EXAMPLES_AF_XDP_BPF_H
#define EXAMPLES_AF_XDP_BPF_H

#include <stdbool.h>

/* Each returns a file descriptor or a negative errno. */
int xdp_map(unsigned queues);
int xdp_program(int map_fd);
int xdp_attach(int prog_fd, int ifindex, bool generic);

/* Queue i's frames go to socket fd from now on. */
int xdp_map_set(int map_fd, unsigned i, int fd);

#endif
