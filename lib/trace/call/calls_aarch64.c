/* calls_aarch64.c - system call numbers of aarch64 and 32-bit ARM programs */
#include "trace/call/calls.h"

#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "trace/call/calls_common.h"

static const struct call_spec aarch64[] = { CALLS_COMMON };

/* Numbers from the kernel's arch/arm syscall.tbl. */
static const struct call_spec arm[] = {
	{ 322, CALL_OPENAT },
	{ 5, CALL_OPEN },
	{ 437, CALL_OPENAT2 },
	{ 8, CALL_CREAT },
	{ 10, CALL_UNLINK },
	{ 328, CALL_UNLINKAT },
	{ 38, CALL_RENAME },
	{ 329, CALL_RENAMEAT },
	{ 382, CALL_RENAMEAT2 },
	{ 9, CALL_LINK },
	{ 330, CALL_LINKAT },
	{ 83, CALL_SYMLINK },
	{ 331, CALL_SYMLINKAT },
	{ 92, CALL_TRUNCATE },
	{ 193, CALL_TRUNCATE }, /* truncate64 */
	{ 14, CALL_MKNOD },
	{ 324, CALL_MKNODAT },
	{ 11, CALL_EXECVE },
	{ 387, CALL_EXECVEAT },
	{ 12, CALL_CHDIR },
	{ 133, CALL_CHDIR },
	{ 61, CALL_CHROOT },
	{ 218, CALL_CHROOT },
	{ 337, CALL_NAMESPACE },
	{ 375, CALL_NAMESPACE },
	{ 21, CALL_NAMESPACE },
	{ 52, CALL_UMOUNT },
	{ 429, CALL_NAMESPACE },
	{ 371, CALL_HANDLE },
	{ 425, CALL_IO_URING },
	{ 242, CALL_GETAFFINITY },
	/* recvmsg, recvmmsg, pidfd_getfd */
	{ 297, CALL_RECVMMSG },
	{ 365, CALL_RECVMMSG },
	{ 417, CALL_RECVMMSG },
	{ 438, CALL_RECVMMSG },
	{ 75, CALL_LIMIT },
	{ 369, CALL_PRLIMIT },
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
	{ 383, CALL_CREDENTIALS },
	{ 446, CALL_CREDENTIALS },
	{ 172, CALL_PRCTL },
	/* chmod, fchmod, fchmodat, fchmodat2 */
	{ 15, CALL_RIGHTS },
	{ 94, CALL_RIGHTS },
	{ 333, CALL_RIGHTS },
	{ 452, CALL_RIGHTS },
	/* chown, lchown and fchown, each twice, fchownat */
	{ 182, CALL_RIGHTS },
	{ 16, CALL_RIGHTS },
	{ 95, CALL_RIGHTS },
	{ 212, CALL_RIGHTS },
	{ 198, CALL_RIGHTS },
	{ 207, CALL_RIGHTS },
	{ 325, CALL_RIGHTS },
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
		.audit_arch = AUDIT_ARCH_AARCH64,
		.specs = aarch64,
		.n_specs = sizeof(aarch64) / sizeof(aarch64[0]),
	},
	{
		.audit_arch = AUDIT_ARCH_ARM,
		.specs = arm,
		.n_specs = sizeof(arm) / sizeof(arm[0]),
	},
};
const size_t n_call_abis = sizeof(call_abis) / sizeof(call_abis[0]);

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

void calls_refuse(pid_t tid)
{
	int none = -1;
	struct iovec number = { &none, sizeof(none) };

	(void)ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &number);
	calls_set_first(tid, (uint64_t)-ENOSYS);
}
