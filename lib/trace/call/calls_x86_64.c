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
	{ 5, CALL_OPEN },
	{ 437, CALL_OPENAT2 },
	{ 8, CALL_CREAT },
	{ 10, CALL_UNLINK },
	{ 301, CALL_UNLINKAT },
	{ 38, CALL_RENAME },
	{ 302, CALL_RENAMEAT },
	{ 353, CALL_RENAMEAT2 },
	{ 9, CALL_LINK },
	{ 303, CALL_LINKAT },
	{ 83, CALL_SYMLINK },
	{ 304, CALL_SYMLINKAT },
	{ 92, CALL_TRUNCATE },
	{ 193, CALL_TRUNCATE }, /* truncate64 */
	{ 14, CALL_MKNOD },
	{ 297, CALL_MKNODAT },
	{ 11, CALL_EXECVE },
	{ 358, CALL_EXECVEAT },
	{ 12, CALL_CHDIR },
	{ 133, CALL_CHDIR },
	{ 61, CALL_CHROOT },
	{ 217, CALL_CHROOT },
	{ 310, CALL_NAMESPACE },
	{ 346, CALL_NAMESPACE },
	{ 21, CALL_NAMESPACE },
	{ 22, CALL_UMOUNT },
	{ 52, CALL_UMOUNT },
	{ 429, CALL_NAMESPACE },
	{ 342, CALL_HANDLE },
	{ 425, CALL_IO_URING },
	/* recvmsg, recvmmsg, socketcall, pidfd_getfd */
	{ 372, CALL_RECVMMSG },
	{ 337, CALL_RECVMMSG },
	{ 417, CALL_RECVMMSG },
	{ 102, CALL_RECVMMSG },
	{ 438, CALL_RECVMMSG },
	{ 75, CALL_LIMIT },
	{ 340, CALL_PRLIMIT },
	{ 242, CALL_GETAFFINITY },
	{ 241, CALL_SETAFFINITY },
	/* setuid, setreuid, setresuid, setfsuid, capset, seccomp, landlock */
	{ 23, CALL_CREDENTIALS },
	{ 213, CALL_CREDENTIALS },
	{ 70, CALL_CREDENTIALS },
	{ 203, CALL_CREDENTIALS },
	{ 164, CALL_CREDENTIALS },
	{ 208, CALL_CREDENTIALS },
	{ 138, CALL_CREDENTIALS },
	{ 215, CALL_CREDENTIALS },
	{ 185, CALL_CREDENTIALS },
	{ 354, CALL_CREDENTIALS },
	{ 446, CALL_CREDENTIALS },
	{ 172, CALL_PRCTL },
	/* chmod, fchmod, fchmodat, fchmodat2 */
	{ 15, CALL_RIGHTS },
	{ 94, CALL_RIGHTS },
	{ 306, CALL_RIGHTS },
	{ 452, CALL_RIGHTS },
	/* chown, lchown and fchown, each twice, fchownat */
	{ 182, CALL_RIGHTS },
	{ 16, CALL_RIGHTS },
	{ 95, CALL_RIGHTS },
	{ 212, CALL_RIGHTS },
	{ 198, CALL_RIGHTS },
	{ 207, CALL_RIGHTS },
	{ 298, CALL_RIGHTS },
	/* setxattr and removexattr, each with its l- and f-form */
	{ 226, CALL_RIGHTS },
	{ 227, CALL_RIGHTS },
	{ 228, CALL_RIGHTS },
	{ 235, CALL_RIGHTS },
	{ 236, CALL_RIGHTS },
	{ 237, CALL_RIGHTS },
	{ 54, CALL_ATTRIBUTES },
	{ 120, CALL_CLONE },
	{ 435, CALL_CLONE3 },
};

const struct call_abi call_abis[] = {
	{
		.audit_arch = AUDIT_ARCH_X86_64,
		.foreign_from = 0x40000000, /* x32 */
		.specs = x86_64,
		.n_specs = sizeof(x86_64) / sizeof(x86_64[0]),
	},
	{
		.audit_arch = AUDIT_ARCH_I386,
		.specs = i386,
		.n_specs = sizeof(i386) / sizeof(i386[0]),
	},
};
const size_t n_call_abis = sizeof(call_abis) / sizeof(call_abis[0]);

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

/* The kernel has put -ENOSYS into the result already; no call must follow. */
void calls_refuse(pid_t tid)
{
	(void)ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, regs.orig_rax),
		     -1);
}
