/* arch_aarch64.bpf.h - the kind of a call and its arguments, on 64-bit ARM
 *
 * Numbers are those of asm-generic/unistd.h and, for 32-bit programs, of the kernel's
 * arm syscall.tbl.  Written by the same pattern as x86-64; compiled, but not run on
 * such a machine. */
#ifndef ROAR_TRACE_EBPF_ARCH_AARCH64_BPF_H
#define ROAR_TRACE_EBPF_ARCH_AARCH64_BPF_H

#include "call.bpf.h"
#include "hooks.bpf.h"

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
	[262] = CALL_FANOTIFY,	  [39] = CALL_UMOUNT,
	[40] = CALL_MOUNT,	  [429] = CALL_MOVE_MOUNT,
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
	[367] = CALL_FANOTIFY, [297] = CALL_RECVMSG, [322] = CALL_OPENAT,
	[323] = CALL_MKDIRAT,  [324] = CALL_MKNODAT, [328] = CALL_UNLINKAT,
	[329] = CALL_RENAMEAT, [330] = CALL_LINKAT,  [331] = CALL_SYMLINKAT,
	[340] = CALL_SPLICE,   [361] = CALL_READ, /* preadv */
	[362] = CALL_WRITE, /* pwritev */
	[365] = CALL_RECVMMSG, [371] = CALL_HANDLE,  [382] = CALL_RENAMEAT2,
	[391] = CALL_SPLICE, /* copy_file_range */
	[392] = CALL_READ, /* preadv2 */
	[393] = CALL_WRITE, /* pwritev2 */
#include "compat_calls.inc"
};

static u64 arch_number(u64 regs)
{
	return (u64)READ(pt_regs, regs, syscallno);
}

static u32 arch_call(u64 nr, bool compat)
{
	if (nr >= CALLS_MAX) /* or negative */
		return CALL_NONE;
	return compat ? compat_calls[nr] : native_calls[nr];
}

static bool arch_is_compat(struct task_struct *task)
{
	struct thread_info___arm64 *t = (void *)&task->thread_info;

	return t->flags & TIF_32BIT;
}

/* The result has replaced the first argument in its register. */
static void arch_args(u64 address, bool compat, u64 a[5])
{
	struct pt_regs *regs = AT(pt_regs, address);

	a[0] = GET(regs, orig_x0);
	a[1] = GET(regs, regs[1]);
	a[2] = GET(regs, regs[2]);
	a[3] = GET(regs, regs[3]);
	a[4] = GET(regs, regs[4]);
	if (!compat)
		return;
	for (int i = 0; i < 5; i++)
		a[i] = (u32)a[i];
}

#define ARCH_HOOKS(HOOK) HOOKS_NATIVE(HOOK, __arm64_sys_)

#define ARCH_ENTRY_HOOKS(HOOK) HOOKS_REMOVE(HOOK, __arm64_sys_, false)

#endif
