/* calls_x86_64.c - system call numbers of x86_64 and i386 programs */
#include "trace/call/calls.h"

#include <linux/audit.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "trace/call/calls_common.h"

static const struct call_spec x86_64[] = {
	CALLS_COMMON,
	{ SYS_open, CALL_OPEN },
	{ SYS_creat, CALL_CREAT },
	{ SYS_unlink, CALL_UNLINK },
	{ SYS_rename, CALL_RENAME },
	{ SYS_link, CALL_LINK },
	{ SYS_symlink, CALL_SYMLINK },
	{ SYS_mknod, CALL_MKNOD },
	{ SYS_chmod, CALL_RIGHTS },
	{ SYS_chown, CALL_RIGHTS },
	{ SYS_lchown, CALL_RIGHTS },
};

/* Numbers from the kernel's syscall_32.tbl. */
static const struct call_spec i386[] = {
	{ 295, CALL_OPENAT },
	{ 301, CALL_UNLINKAT },
	{ 302, CALL_RENAMEAT },
	{ 353, CALL_RENAMEAT2 },
	{ 303, CALL_LINKAT },
	{ 304, CALL_SYMLINKAT },
	{ 297, CALL_MKNODAT },
	{ 358, CALL_EXECVEAT },
	{ 217, CALL_CHROOT },
	/* unshare, setns */
	{ 310, CALL_NAMESPACE },
	{ 346, CALL_NAMESPACE },
	{ 22, CALL_UMOUNT },
	{ 342, CALL_HANDLE },
	/* recvmsg, recvmmsg, socketcall */
	{ 372, CALL_RECVMMSG },
	{ 337, CALL_RECVMMSG },
	{ 102, CALL_RECVMMSG },
	{ 340, CALL_PRLIMIT },
	/* seccomp */
	{ 354, CALL_CREDENTIALS },
	/* fchmodat, fchownat */
	{ 306, CALL_RIGHTS },
	{ 298, CALL_RIGHTS },
	{ 338, CALL_FANOTIFY },
#include "base/macros.h"
#include "trace/call/calls_32.inc"
};

const struct call_abi call_abis[] = {
	{
		.audit_arch = AUDIT_ARCH_X86_64,
		.foreign_from = 0x40000000, /* x32 */
		.foreign_until = 0x40001000,
		.specs = x86_64,
		.n_specs = ARRAY_SIZE(x86_64),
	},
	{
		.audit_arch = AUDIT_ARCH_I386,
		.specs = i386,
		.n_specs = ARRAY_SIZE(i386),
	},
};
const size_t n_call_abis = ARRAY_SIZE(call_abis);

void calls_set_first(pid_t tid, uint64_t value)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0)
		return;
	if (regs.cs == 0x23) /* the code segment of 32-bit programs */
		regs.rbx = value;
	else
		regs.rdi = value;
	(void)ptrace(PTRACE_SETREGS, tid, 0, &regs);
}

void calls_answer(pid_t tid, int64_t result)
{
	(void)ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, regs.orig_rax),
		     -1);
	(void)ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, regs.rax),
		     result);
}
