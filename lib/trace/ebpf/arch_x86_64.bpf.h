/* arch_x86_64.bpf.h - the kind of a call and its arguments, on x86-64
 *
 * Numbers are those of the kernel's syscall_64.tbl and syscall_32.tbl: a 32-bit
 * program, or a 64-bit one that uses "int 0x80", has the second. */
#ifndef ROAR_TRACE_EBPF_ARCH_X86_64_BPF_H
#define ROAR_TRACE_EBPF_ARCH_X86_64_BPF_H

#include "call.bpf.h"
#include "hooks.bpf.h"

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
	[300] = CALL_FANOTIFY,	  [165] = CALL_MOUNT,
	[166] = CALL_UMOUNT,	  [429] = CALL_MOVE_MOUNT,
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
	[338] = CALL_FANOTIFY, [102] = CALL_SOCKETCALL, [295] = CALL_OPENAT,
	[296] = CALL_MKDIRAT,  [297] = CALL_MKNODAT,	[301] = CALL_UNLINKAT,
	[302] = CALL_RENAMEAT, [303] = CALL_LINKAT,	[304] = CALL_SYMLINKAT,
	[313] = CALL_SPLICE,   [333] = CALL_READ, /* preadv */
	[334] = CALL_WRITE, /* pwritev */
	[337] = CALL_RECVMMSG, [342] = CALL_HANDLE,	[353] = CALL_RENAMEAT2,
	[372] = CALL_RECVMSG,  [377] = CALL_SPLICE, /* copy_file_range */
	[378] = CALL_READ, /* preadv2 */
	[379] = CALL_WRITE, /* pwritev2 */
#include "compat_calls.inc"
};

static u64 arch_number(u64 regs)
{
	return READ(pt_regs, regs, orig_ax);
}

static u32 arch_call(u64 nr, bool compat)
{
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

static void arch_args(u64 address, bool compat, u64 a[5])
{
	struct pt_regs *regs = AT(pt_regs, address);

	if (compat) {
		a[0] = (u32)GET(regs, bx);
		a[1] = (u32)GET(regs, cx);
		a[2] = (u32)GET(regs, dx);
		a[3] = (u32)GET(regs, si);
		a[4] = (u32)GET(regs, di);
		return;
	}
	a[0] = GET(regs, di);
	a[1] = GET(regs, si);
	a[2] = GET(regs, dx);
	a[3] = GET(regs, r10);
	a[4] = GET(regs, r8);
}

/* Calls that 64-bit ARM does not have any more. */
#define HOOKS_OLD(HOOK, prefix, compat)             \
	HOOK(prefix##creat, CALL_CREAT, compat)     \
	HOOK(prefix##rename, CALL_RENAME, compat)   \
	HOOK(prefix##link, CALL_LINK, compat)       \
	HOOK(prefix##symlink, CALL_SYMLINK, compat) \
	HOOK(prefix##unlink, CALL_UNLINK, compat)   \
	HOOK(prefix##mknod, CALL_MKNOD, compat)     \
	HOOK(prefix##mkdir, CALL_MKDIR, compat)

#define HOOKS_REMOVE_OLD(HOOK, prefix, compat)    \
	HOOK(prefix##rename, CALL_RENAME, compat) \
	HOOK(prefix##unlink, CALL_UNLINK, compat)

#define ARCH_HOOKS(HOOK)                                             \
	HOOKS_NATIVE(HOOK, __x64_sys_)                               \
	HOOK(__x64_sys_open, CALL_OPEN, false)                       \
	HOOKS_OLD(HOOK, __x64_sys_, false)                           \
	HOOKS_SAME(HOOK, __ia32_sys_, true)                          \
	HOOKS_OLD(HOOK, __ia32_sys_, true)                           \
	HOOK(__ia32_sys_truncate64, CALL_TRUNCATE, true)             \
	HOOK(__ia32_compat_sys_open, CALL_OPEN, true)                \
	HOOK(__ia32_compat_sys_openat, CALL_OPENAT, true)            \
	HOOK(__ia32_compat_sys_open_by_handle_at, CALL_HANDLE, true) \
	HOOK(__ia32_compat_sys_truncate, CALL_TRUNCATE, true)        \
	HOOK(__ia32_compat_sys_recvmsg, CALL_RECVMSG, true)          \
	HOOK(__ia32_compat_sys_recvmmsg_time64, CALL_RECVMMSG, true) \
	HOOK(__ia32_compat_sys_recvmmsg_time32, CALL_RECVMMSG, true) \
	HOOK(__ia32_compat_sys_socketcall, CALL_SOCKETCALL, true)

#define ARCH_ENTRY_HOOKS(HOOK)                    \
	HOOKS_REMOVE(HOOK, __x64_sys_, false)     \
	HOOKS_REMOVE_OLD(HOOK, __x64_sys_, false) \
	HOOKS_REMOVE(HOOK, __ia32_sys_, true)     \
	HOOKS_REMOVE_OLD(HOOK, __ia32_sys_, true)

#endif
