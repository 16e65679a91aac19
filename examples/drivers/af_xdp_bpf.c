/* SPDX-License-Identifier: BSD-3-Clause */
#include "af_xdp_bpf.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HAS_FRAGS (1u << 5) /* BPF_F_XDP_HAS_FRAGS, Linux 5.18 */

#define INSN(c, d, s, o, i) { .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }

static int bpf(int cmd, union bpf_attr *attr)
{
	long fd = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return fd >= 0 ? (int)fd : -errno;
}

int xdp_map(unsigned queues)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_XSKMAP;
	attr.key_size = 4u;
	attr.value_size = 4u;
	attr.max_entries = queues;
	return bpf(BPF_MAP_CREATE, &attr);
}

int xdp_map_set(int map_fd, unsigned i, int fd)
{
	union bpf_attr attr;
	uint32_t key = i, value = (uint32_t)fd;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map_fd;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)&value;
	return bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

/* return bpf_redirect_map(map, ctx->rx_queue_index, XDP_PASS): without a socket the frame goes on as ever. */
int xdp_program(int map_fd)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_LDX | BPF_W | BPF_MEM, 2, 1, offsetof(struct xdp_md, rx_queue_index), 0),
		INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map_fd),
		INSN(0, 0, 0, 0, 0), /* the second half of the one before */
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, XDP_PASS),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_XDP;
	attr.expected_attach_type = BPF_XDP;
	attr.prog_flags = HAS_FRAGS;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = sizeof(insns) / sizeof(insns[0]);
	attr.license = (uintptr_t) "BSD";
	return bpf(BPF_PROG_LOAD, &attr);
}

int xdp_attach(int prog_fd, int ifindex, bool generic)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t)prog_fd;
	attr.link_create.target_ifindex = (uint32_t)ifindex;
	attr.link_create.attach_type = BPF_XDP;
	attr.link_create.flags = generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	return bpf(BPF_LINK_CREATE, &attr);
}
