/* calls_x86_64.c - system call numbers of x86_64 and i386 programs */
#include "trace/ptrace/calls.h"

#include <linux/audit.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "trace/ptrace/calls_common.h"

static const struct call_spec x86_64[] = {
	CALLS_COMMON,
	{ SYS_open, CALL_OPEN },
	{ SYS_creat, CALL_CREAT },
	{ SYS_unlink, CALL_UNLINK },
	{ SYS_rename, CALL_RENAME },
	{ SYS_link, CALL_LINK },
	{ SYS_symlink, CALL_SYMLINK },
	{ SYS_mknod, CALL_MKNOD },
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
	{ 22, CALL_NAMESPACE },
	{ 52, CALL_NAMESPACE },
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

/* The kernel has put -ENOSYS into the result already; no call must follow. */
void calls_refuse(pid_t tid)
{
	(void)ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, regs.orig_rax),
		     -1);
}
