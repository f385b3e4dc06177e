/* hooks.bpf.h - the kernel functions of the calls, for the trampolines
 *
 * Lists of HOOK(function, call, compat); `compat`: called by 32-bit programs.  The
 * functions of an architecture have a prefix of their own.  arch_*.bpf.h combines the
 * lists to ARCH_HOOKS() and, for calls that remove names and must be seen before they
 * begin, ARCH_ENTRY_HOOKS(). */
#ifndef ROAR_TRACE_EBPF_HOOKS_BPF_H
#define ROAR_TRACE_EBPF_HOOKS_BPF_H

/* Arguments are the same in 32 bits and in 64. */
#define HOOKS_SAME(HOOK, prefix, compat)                    \
	HOOK(prefix##openat2, CALL_OPENAT2, compat)         \
	HOOK(prefix##pidfd_getfd, CALL_PIDFD_GETFD, compat) \
	HOOK(prefix##renameat, CALL_RENAMEAT, compat)       \
	HOOK(prefix##renameat2, CALL_RENAMEAT2, compat)     \
	HOOK(prefix##linkat, CALL_LINKAT, compat)           \
	HOOK(prefix##symlinkat, CALL_SYMLINKAT, compat)     \
	HOOK(prefix##unlinkat, CALL_UNLINKAT, compat)       \
	HOOK(prefix##mknodat, CALL_MKNODAT, compat)         \
	HOOK(prefix##mkdirat, CALL_MKDIRAT, compat)         \
	HOOK(prefix##mount, CALL_MOUNT, compat)             \
	HOOK(prefix##umount, CALL_UMOUNT, compat)           \
	HOOK(prefix##move_mount, CALL_MOVE_MOUNT, compat)

/* Calls of every 64-bit architecture. */
#define HOOKS_NATIVE(HOOK, prefix)                            \
	HOOKS_SAME(HOOK, prefix, false)                       \
	HOOK(prefix##openat, CALL_OPENAT, false)              \
	HOOK(prefix##io_uring_setup, CALL_URING_SETUP, false) \
	HOOK(prefix##fanotify_init, CALL_FANOTIFY, false)     \
	HOOK(prefix##open_by_handle_at, CALL_HANDLE, false)   \
	HOOK(prefix##truncate, CALL_TRUNCATE, false)          \
	HOOK(prefix##recvmsg, CALL_RECVMSG, false)            \
	HOOK(prefix##recvmmsg, CALL_RECVMMSG, false)

#define HOOKS_REMOVE(HOOK, prefix, compat)              \
	HOOK(prefix##renameat, CALL_RENAMEAT, compat)   \
	HOOK(prefix##renameat2, CALL_RENAMEAT2, compat) \
	HOOK(prefix##unlinkat, CALL_UNLINKAT, compat)

#endif
