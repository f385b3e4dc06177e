/* trampoline.bpf.c - the same body, attached to the ends of single system calls
 *
 * Where the kernel allows programs at the ends of its functions (fexit, and fentry at
 * the start of those that remove names), calls that are not observed cost nothing, in
 * any process of the machine.  Each call has its own small program here.  They do what
 * is done at the tracepoint, so the records are the same by construction.  Reads and
 * writes are not hooked: their sums are missing with this layer.
 *
 * This layer is compiled and offered to the kernel at every load.  Kernels on which it
 * was developed refuse such programs (EPERM), so it has been checked by the compiler
 * and by that refusal only.  Then tracepoint.bpf.c does the work.  That file also
 * explains the licence. */
#include "exit.bpf.h"
#include ARCH_BPF_H

char LICENSE[] SEC("license") = "GPL";

static int caught(struct pt_regs *regs, u32 call, bool compat, long ret)
{
	struct ebpf_member *m;
	struct named c = { 0 };
	u64 a[5];

	if (ret < 0)
		return 0;
	m = member_of(bpf_get_current_task_btf());
	if (!m)
		return 0;
	arch_args((u64)regs, compat, a);
	if (!call_names_files(call)) {
		other_done(m, call, a, ret, compat);
		return 0;
	}
	long_form(call, a, &c);
	if (c.kind == WIRE_MOUNT)
		return tell_mount(m, &c);
	return c.kind ? tell_named(m, &c) : 0;
}

#define HOOK(function, call, compat)                                \
	SEC("fexit/" #function)                                     \
	int BPF_PROG(at_##function, struct pt_regs *regs, long ret) \
	{                                                           \
		return caught(regs, call, compat, ret);             \
	}

ARCH_HOOKS(HOOK)

static int begins(struct pt_regs *regs, u32 call, bool compat)
{
	struct ebpf_member *m = member_of(bpf_get_current_task_btf());
	struct named c = { 0 };
	u64 a[5];

	if (!m)
		return 0;
	arch_args((u64)regs, compat, a);
	__builtin_memset(m->before, 0, sizeof(m->before));
	long_form(call, a, &c);
	return c.kind ? note_places(m, &c) : 0;
}

#define ENTRY_HOOK(function, call, compat)                    \
	SEC("fentry/" #function)                              \
	int BPF_PROG(before_##function, struct pt_regs *regs) \
	{                                                     \
		return begins(regs, call, compat);            \
	}

ARCH_ENTRY_HOOKS(ENTRY_HOOK)
