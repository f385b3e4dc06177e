/* seize_x86_64.c - see seize.h; also for the 32-bit calls of that machine. */
#include <linux/audit.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "trace/hybrid/seize.h"

enum {
	/* Internal to the kernel; programs never see them. */
	RESTART_BY_FLAGS = -512, /* ERESTARTSYS */
	RESTART_ALWAYS = -513, /* ERESTARTNOINTR */
};

bool seize_helps(void)
{
	return true;
}

/* A 64-bit program can make 32-bit calls, too: the kernel knows. */
static uint32_t arch_of(pid_t tid, const struct user_regs_struct *regs)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) > 0)
		return info.arch;
	return regs->cs == 0x23 ? AUDIT_ARCH_I386 : AUDIT_ARCH_X86_64;
}

bool seize_interrupted(pid_t tid, struct seccomp_data *ret)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0 ||
	    (int)regs.orig_rax == -1 || (int)regs.rax != RESTART_BY_FLAGS)
		return false;
	*ret = (struct seccomp_data){ .nr = (int)regs.orig_rax,
				      .arch = arch_of(tid, &regs),
				      .instruction_pointer = regs.rip };
	if (ret->arch == AUDIT_ARCH_I386) {
		const uint64_t args[] = { regs.rbx, regs.rcx, regs.rdx,
					  regs.rsi, regs.rdi, regs.rbp };

		for (size_t i = 0; i < 6; i++)
			ret->args[i] = (uint32_t)args[i];
	} else {
		const uint64_t args[] = { regs.rdi, regs.rsi, regs.rdx,
					  regs.r10, regs.r8,  regs.r9 };

		for (size_t i = 0; i < 6; i++)
			ret->args[i] = args[i];
	}
	return true;
}

void seize_repeat(pid_t tid)
{
	(void)ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, regs.rax),
		     (long)RESTART_ALWAYS);
}
