/* SPDX-License-Identifier: BSD-3-Clause */
/* A program behind the sender that asks for the flow hash of each frame; the kernel keeps it with the frame, as a
 * network card would deliver it. Needs BPF_TCX (Linux 6.6). */
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pace.h"

#define TCX_EGRESS 47 /* BPF_TCX_EGRESS */
#define TCX_NEXT   (-1)

static int bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

int pace_hash(int ifindex)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_hash_recalc },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = TCX_NEXT },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;
	int prog;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SCHED_CLS;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = sizeof(insns) / sizeof(insns[0]);
	attr.license = (uintptr_t) "BSD";
	prog = bpf(BPF_PROG_LOAD, &attr);
	if (prog < 0)
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t)prog;
	attr.link_create.target_ifindex = (uint32_t)ifindex;
	attr.link_create.attach_type = TCX_EGRESS;
	return bpf(BPF_LINK_CREATE, &attr);
}
