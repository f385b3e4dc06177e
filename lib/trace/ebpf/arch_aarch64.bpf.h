/* arch_aarch64.bpf.h - which call it was, and its arguments, on 64-bit ARM
 *
 * Numbers are those of asm-generic/unistd.h and, for 32-bit programs, of the
 * kernel's arm syscall.tbl.  Written by the same pattern as x86-64; compiled, but
 * not run on such a machine. */
#ifndef ROAR_TRACE_EBPF_ARCH_AARCH64_BPF_H
#define ROAR_TRACE_EBPF_ARCH_AARCH64_BPF_H

#include "call.bpf.h"

enum { TIF_32BIT = 1 << 22 };

struct pt_regs {
	u64 regs[31];
	u64 orig_x0;
	s32 syscallno;
} __attribute__((preserve_access_index));

struct thread_info___arm64 {
	unsigned long flags;
} __attribute__((preserve_access_index));

static const volatile u8 native_calls[CALLS_MAX] = {
	[33] = CALL_MKNODAT,	  [34] = CALL_MKDIRAT,
	[35] = CALL_UNLINKAT,	  [36] = CALL_SYMLINKAT,
	[37] = CALL_LINKAT,	  [38] = CALL_RENAMEAT,
	[45] = CALL_TRUNCATE,	  [56] = CALL_OPENAT,
	[63] = CALL_READ, /* read */
	[64] = CALL_WRITE, /* write */
	[65] = CALL_READ, /* readv */
	[66] = CALL_WRITE, /* writev */
	[67] = CALL_READ, /* pread64 */
	[68] = CALL_WRITE, /* pwrite64 */
	[69] = CALL_READ, /* preadv */
	[70] = CALL_WRITE, /* pwritev */
	[71] = CALL_SENDFILE,	  [76] = CALL_SPLICE,
	[212] = CALL_RECVMSG,	  [243] = CALL_RECVMMSG,
	[265] = CALL_HANDLE,	  [276] = CALL_RENAMEAT2,
	[285] = CALL_SPLICE, /* copy_file_range */
	[286] = CALL_READ, /* preadv2 */
	[287] = CALL_WRITE, /* pwritev2 */
	[425] = CALL_URING_SETUP, [437] = CALL_OPENAT2,
	[438] = CALL_PIDFD_GETFD,
};

static const volatile u8 compat_calls[CALLS_MAX] = {
	[3] = CALL_READ,	  [4] = CALL_WRITE,
	[5] = CALL_OPEN,	  [8] = CALL_CREAT,
	[9] = CALL_LINK,	  [10] = CALL_UNLINK,
	[14] = CALL_MKNOD,	  [38] = CALL_RENAME,
	[39] = CALL_MKDIR,	  [83] = CALL_SYMLINK,
	[92] = CALL_TRUNCATE,	  [145] = CALL_READ, /* readv */
	[146] = CALL_WRITE, /* writev */
	[180] = CALL_READ, /* pread64 */
	[181] = CALL_WRITE, /* pwrite64 */
	[187] = CALL_SENDFILE,	  [193] = CALL_TRUNCATE, /* truncate64 */
	[239] = CALL_SENDFILE, /* sendfile64 */
	[297] = CALL_RECVMSG,	  [322] = CALL_OPENAT,
	[323] = CALL_MKDIRAT,	  [324] = CALL_MKNODAT,
	[328] = CALL_UNLINKAT,	  [329] = CALL_RENAMEAT,
	[330] = CALL_LINKAT,	  [331] = CALL_SYMLINKAT,
	[340] = CALL_SPLICE,	  [361] = CALL_READ, /* preadv */
	[362] = CALL_WRITE, /* pwritev */
	[365] = CALL_RECVMMSG,	  [371] = CALL_HANDLE,
	[382] = CALL_RENAMEAT2,	  [391] = CALL_SPLICE, /* copy_file_range */
	[392] = CALL_READ, /* preadv2 */
	[393] = CALL_WRITE, /* pwritev2 */
	[417] = CALL_RECVMMSG, /* recvmmsg_time64 */
	[425] = CALL_URING_SETUP, [437] = CALL_OPENAT2,
	[438] = CALL_PIDFD_GETFD,
};

static u32 arch_call(struct pt_regs *regs, bool compat)
{
	s32 nr = regs->syscallno;

	if (nr < 0 || nr >= CALLS_MAX)
		return CALL_NONE;
	return compat ? compat_calls[nr] : native_calls[nr];
}

static bool arch_is_compat(struct task_struct *task)
{
	struct thread_info___arm64 *t = (void *)&task->thread_info;

	return t->flags & TIF_32BIT;
}

/* The result has taken the place of the first argument. */
static void arch_args(struct pt_regs *regs, bool compat, u64 a[5])
{
	a[0] = regs->orig_x0;
	a[1] = regs->regs[1];
	a[2] = regs->regs[2];
	a[3] = regs->regs[3];
	a[4] = regs->regs[4];
	if (!compat)
		return;
	for (int i = 0; i < 5; i++)
		a[i] = (u32)a[i];
}

/* The functions behind the calls, for the trampolines; the last column: called by
 * 32-bit programs. */
#define ARCH_HOOKS(HOOK)                                          \
	HOOK(__arm64_sys_openat, CALL_OPENAT, false)              \
	HOOK(__arm64_sys_openat2, CALL_OPENAT2, false)            \
	HOOK(__arm64_sys_io_uring_setup, CALL_URING_SETUP, false) \
	HOOK(__arm64_sys_open_by_handle_at, CALL_HANDLE, false)   \
	HOOK(__arm64_sys_pidfd_getfd, CALL_PIDFD_GETFD, false)    \
	HOOK(__arm64_sys_renameat, CALL_RENAMEAT, false)          \
	HOOK(__arm64_sys_renameat2, CALL_RENAMEAT2, false)        \
	HOOK(__arm64_sys_linkat, CALL_LINKAT, false)              \
	HOOK(__arm64_sys_symlinkat, CALL_SYMLINKAT, false)        \
	HOOK(__arm64_sys_unlinkat, CALL_UNLINKAT, false)          \
	HOOK(__arm64_sys_truncate, CALL_TRUNCATE, false)          \
	HOOK(__arm64_sys_mknodat, CALL_MKNODAT, false)            \
	HOOK(__arm64_sys_mkdirat, CALL_MKDIRAT, false)            \
	HOOK(__arm64_sys_recvmsg, CALL_RECVMSG, false)            \
	HOOK(__arm64_sys_recvmmsg, CALL_RECVMMSG, false)

/* Those that remove names, to be seen before they begin. */
#define ARCH_ENTRY_HOOKS(HOOK)                             \
	HOOK(__arm64_sys_renameat, CALL_RENAMEAT, false)   \
	HOOK(__arm64_sys_renameat2, CALL_RENAMEAT2, false) \
	HOOK(__arm64_sys_unlinkat, CALL_UNLINKAT, false)

#endif
