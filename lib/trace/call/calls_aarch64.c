/* calls_aarch64.c - system call numbers of aarch64 and 32-bit ARM programs */
#include "trace/call/calls.h"

#include <elf.h>
#include <linux/audit.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "trace/call/calls_common.h"

static const struct call_spec aarch64[] = { CALLS_COMMON };

/* Numbers from the kernel's arch/arm syscall.tbl. */
static const struct call_spec arm[] = {
	{ 322, CALL_OPENAT },
	{ 328, CALL_UNLINKAT },
	{ 329, CALL_RENAMEAT },
	{ 382, CALL_RENAMEAT2 },
	{ 330, CALL_LINKAT },
	{ 331, CALL_SYMLINKAT },
	{ 324, CALL_MKNODAT },
	{ 387, CALL_EXECVEAT },
	{ 218, CALL_CHROOT },
	/* unshare, setns */
	{ 337, CALL_NAMESPACE },
	{ 375, CALL_NAMESPACE },
	{ 371, CALL_HANDLE },
	/* recvmsg, recvmmsg */
	{ 297, CALL_RECVMMSG },
	{ 365, CALL_RECVMMSG },
	{ 369, CALL_PRLIMIT },
	/* seccomp */
	{ 383, CALL_CREDENTIALS },
	/* fchmodat, fchownat */
	{ 333, CALL_RIGHTS },
	{ 325, CALL_RIGHTS },
	{ 367, CALL_FANOTIFY },
#include "base/macros.h"
#include "trace/call/calls_32.inc"
};

const struct call_abi call_abis[] = {
	{
		.audit_arch = AUDIT_ARCH_AARCH64,
		.specs = aarch64,
		.n_specs = ARRAY_SIZE(aarch64),
	},
	{
		.audit_arch = AUDIT_ARCH_ARM,
		.specs = arm,
		.n_specs = ARRAY_SIZE(arm),
	},
};
const size_t n_call_abis = ARRAY_SIZE(call_abis);

/* The first argument and the result share a register.  The kernel tells by the
 * length whose registers they are. */
void calls_set_first(pid_t tid, uint64_t value)
{
	union {
		struct user_regs_struct wide;
		uint32_t narrow[18]; /* of a 32-bit program */
	} regs;
	struct iovec all = { &regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &all) < 0)
		return;
	if (all.iov_len == sizeof(regs.narrow))
		regs.narrow[0] = (uint32_t)value;
	else
		regs.wide.regs[0] = value;
	(void)ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &all);
}

void calls_answer(pid_t tid, int64_t result)
{
	int none = -1;
	struct iovec number = { &none, sizeof(none) };

	(void)ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &number);
	calls_set_first(tid, (uint64_t)result);
}
