/* arch_x86_64.bpf.h - which call it was, and its arguments, on x86-64
 *
 * Numbers are those of the kernel's syscall_64.tbl and syscall_32.tbl: a 32-bit
 * program, or a 64-bit one that says "int 0x80", counts by the second. */
#ifndef ROAR_TRACE_EBPF_ARCH_X86_64_BPF_H
#define ROAR_TRACE_EBPF_ARCH_X86_64_BPF_H

#include "call.bpf.h"

enum {
	TS_COMPAT = 2,
	X32_BIT = 0x40000000,
};

struct pt_regs {
	unsigned long r10, r9, r8, dx, si, di, bx, cx, bp, orig_ax;
} __attribute__((preserve_access_index));

static const volatile u8 native_calls[CALLS_MAX] = {
	[0] = CALL_READ, /* read */
	[1] = CALL_WRITE, /* write */
	[2] = CALL_OPEN,	  [17] = CALL_READ, /* pread64 */
	[18] = CALL_WRITE, /* pwrite64 */
	[19] = CALL_READ, /* readv */
	[20] = CALL_WRITE, /* writev */
	[40] = CALL_SENDFILE,	  [47] = CALL_RECVMSG,
	[76] = CALL_TRUNCATE,	  [82] = CALL_RENAME,
	[83] = CALL_MKDIR,	  [85] = CALL_CREAT,
	[86] = CALL_LINK,	  [87] = CALL_UNLINK,
	[88] = CALL_SYMLINK,	  [133] = CALL_MKNOD,
	[257] = CALL_OPENAT,	  [258] = CALL_MKDIRAT,
	[259] = CALL_MKNODAT,	  [263] = CALL_UNLINKAT,
	[264] = CALL_RENAMEAT,	  [265] = CALL_LINKAT,
	[266] = CALL_SYMLINKAT,	  [275] = CALL_SPLICE,
	[295] = CALL_READ, /* preadv */
	[296] = CALL_WRITE, /* pwritev */
	[299] = CALL_RECVMMSG,	  [304] = CALL_HANDLE,
	[316] = CALL_RENAMEAT2,	  [326] = CALL_SPLICE, /* copy_file_range */
	[327] = CALL_READ, /* preadv2 */
	[328] = CALL_WRITE, /* pwritev2 */
	[425] = CALL_URING_SETUP, [437] = CALL_OPENAT2,
	[438] = CALL_PIDFD_GETFD,
};

static const volatile u8 compat_calls[CALLS_MAX] = {
	[3] = CALL_READ,	  [4] = CALL_WRITE,
	[5] = CALL_OPEN,	  [8] = CALL_CREAT,
	[9] = CALL_LINK,	  [10] = CALL_UNLINK,
	[14] = CALL_MKNOD,	  [38] = CALL_RENAME,
	[39] = CALL_MKDIR,	  [83] = CALL_SYMLINK,
	[92] = CALL_TRUNCATE,	  [102] = CALL_SOCKETCALL,
	[145] = CALL_READ, /* readv */
	[146] = CALL_WRITE, /* writev */
	[180] = CALL_READ, /* pread64 */
	[181] = CALL_WRITE, /* pwrite64 */
	[187] = CALL_SENDFILE,	  [193] = CALL_TRUNCATE, /* truncate64 */
	[239] = CALL_SENDFILE, /* sendfile64 */
	[295] = CALL_OPENAT,	  [296] = CALL_MKDIRAT,
	[297] = CALL_MKNODAT,	  [301] = CALL_UNLINKAT,
	[302] = CALL_RENAMEAT,	  [303] = CALL_LINKAT,
	[304] = CALL_SYMLINKAT,	  [313] = CALL_SPLICE,
	[333] = CALL_READ, /* preadv */
	[334] = CALL_WRITE, /* pwritev */
	[337] = CALL_RECVMMSG,	  [342] = CALL_HANDLE,
	[353] = CALL_RENAMEAT2,	  [372] = CALL_RECVMSG,
	[377] = CALL_SPLICE, /* copy_file_range */
	[378] = CALL_READ, /* preadv2 */
	[379] = CALL_WRITE, /* pwritev2 */
	[417] = CALL_RECVMMSG, /* recvmmsg_time64 */
	[425] = CALL_URING_SETUP, [437] = CALL_OPENAT2,
	[438] = CALL_PIDFD_GETFD,
};

static u32 arch_call(struct pt_regs *regs, bool compat)
{
	unsigned long nr = regs->orig_ax;

	if (nr >= X32_BIT && nr < X32_BIT + CALLS_MAX)
		return CALL_FOREIGN;
	if (nr >= CALLS_MAX) /* after a signal handler it is -1 */
		return CALL_NONE;
	return compat ? compat_calls[nr] : native_calls[nr];
}

static bool arch_is_compat(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

static void arch_args(struct pt_regs *regs, bool compat, u64 a[5])
{
	if (compat) {
		a[0] = (u32)regs->bx;
		a[1] = (u32)regs->cx;
		a[2] = (u32)regs->dx;
		a[3] = (u32)regs->si;
		a[4] = (u32)regs->di;
		return;
	}
	a[0] = regs->di;
	a[1] = regs->si;
	a[2] = regs->dx;
	a[3] = regs->r10;
	a[4] = regs->r8;
}

/* The functions behind the calls, for the trampolines; the last column: called by
 * 32-bit programs. */
#define ARCH_HOOKS(HOOK)                                             \
	HOOK(__x64_sys_openat, CALL_OPENAT, false)                   \
	HOOK(__x64_sys_openat2, CALL_OPENAT2, false)                 \
	HOOK(__x64_sys_io_uring_setup, CALL_URING_SETUP, false)      \
	HOOK(__x64_sys_open_by_handle_at, CALL_HANDLE, false)        \
	HOOK(__x64_sys_pidfd_getfd, CALL_PIDFD_GETFD, false)         \
	HOOK(__x64_sys_renameat, CALL_RENAMEAT, false)               \
	HOOK(__x64_sys_renameat2, CALL_RENAMEAT2, false)             \
	HOOK(__x64_sys_linkat, CALL_LINKAT, false)                   \
	HOOK(__x64_sys_symlinkat, CALL_SYMLINKAT, false)             \
	HOOK(__x64_sys_unlinkat, CALL_UNLINKAT, false)               \
	HOOK(__x64_sys_truncate, CALL_TRUNCATE, false)               \
	HOOK(__x64_sys_mknodat, CALL_MKNODAT, false)                 \
	HOOK(__x64_sys_mkdirat, CALL_MKDIRAT, false)                 \
	HOOK(__x64_sys_recvmsg, CALL_RECVMSG, false)                 \
	HOOK(__x64_sys_recvmmsg, CALL_RECVMMSG, false)               \
	HOOK(__x64_sys_open, CALL_OPEN, false)                       \
	HOOK(__x64_sys_creat, CALL_CREAT, false)                     \
	HOOK(__x64_sys_rename, CALL_RENAME, false)                   \
	HOOK(__x64_sys_link, CALL_LINK, false)                       \
	HOOK(__x64_sys_symlink, CALL_SYMLINK, false)                 \
	HOOK(__x64_sys_unlink, CALL_UNLINK, false)                   \
	HOOK(__x64_sys_mknod, CALL_MKNOD, false)                     \
	HOOK(__x64_sys_mkdir, CALL_MKDIR, false)                     \
	HOOK(__ia32_sys_openat2, CALL_OPENAT2, true)                 \
	HOOK(__ia32_sys_pidfd_getfd, CALL_PIDFD_GETFD, true)         \
	HOOK(__ia32_sys_renameat, CALL_RENAMEAT, true)               \
	HOOK(__ia32_sys_renameat2, CALL_RENAMEAT2, true)             \
	HOOK(__ia32_sys_linkat, CALL_LINKAT, true)                   \
	HOOK(__ia32_sys_symlinkat, CALL_SYMLINKAT, true)             \
	HOOK(__ia32_sys_unlinkat, CALL_UNLINKAT, true)               \
	HOOK(__ia32_sys_mknodat, CALL_MKNODAT, true)                 \
	HOOK(__ia32_sys_mkdirat, CALL_MKDIRAT, true)                 \
	HOOK(__ia32_sys_creat, CALL_CREAT, true)                     \
	HOOK(__ia32_sys_rename, CALL_RENAME, true)                   \
	HOOK(__ia32_sys_link, CALL_LINK, true)                       \
	HOOK(__ia32_sys_symlink, CALL_SYMLINK, true)                 \
	HOOK(__ia32_sys_unlink, CALL_UNLINK, true)                   \
	HOOK(__ia32_sys_mknod, CALL_MKNOD, true)                     \
	HOOK(__ia32_sys_mkdir, CALL_MKDIR, true)                     \
	HOOK(__ia32_sys_truncate64, CALL_TRUNCATE, true)             \
	HOOK(__ia32_compat_sys_open, CALL_OPEN, true)                \
	HOOK(__ia32_compat_sys_openat, CALL_OPENAT, true)            \
	HOOK(__ia32_compat_sys_open_by_handle_at, CALL_HANDLE, true) \
	HOOK(__ia32_compat_sys_truncate, CALL_TRUNCATE, true)        \
	HOOK(__ia32_compat_sys_recvmsg, CALL_RECVMSG, true)          \
	HOOK(__ia32_compat_sys_recvmmsg_time64, CALL_RECVMMSG, true) \
	HOOK(__ia32_compat_sys_recvmmsg_time32, CALL_RECVMMSG, true) \
	HOOK(__ia32_compat_sys_socketcall, CALL_SOCKETCALL, true)

/* Those that remove names, to be seen before they begin. */
#define ARCH_ENTRY_HOOKS(HOOK)                           \
	HOOK(__x64_sys_renameat, CALL_RENAMEAT, false)   \
	HOOK(__x64_sys_renameat2, CALL_RENAMEAT2, false) \
	HOOK(__x64_sys_unlinkat, CALL_UNLINKAT, false)   \
	HOOK(__x64_sys_rename, CALL_RENAME, false)       \
	HOOK(__x64_sys_unlink, CALL_UNLINK, false)       \
	HOOK(__ia32_sys_renameat, CALL_RENAMEAT, true)   \
	HOOK(__ia32_sys_renameat2, CALL_RENAMEAT2, true) \
	HOOK(__ia32_sys_unlinkat, CALL_UNLINKAT, true)   \
	HOOK(__ia32_sys_rename, CALL_RENAME, true)       \
	HOOK(__ia32_sys_unlink, CALL_UNLINK, true)

#endif
