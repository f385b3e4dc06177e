/* calls.h - the system calls that stop a tracee, by architecture.
 *
 * The seccomp filter returns the enum value of the call, so user space does not look at
 * call numbers.  There is a table per audit architecture: the machine's own and, where
 * the kernel runs such programs, its 32-bit sibling. */
#ifndef ROAR_TRACE_CALL_CALLS_H
#define ROAR_TRACE_CALL_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum call {
	CALL_NONE,
	CALL_OPEN, /* open(path, flags, mode) */
	CALL_OPENAT, /* openat(dirfd, path, flags, mode) */
	CALL_OPENAT2, /* openat2(dirfd, path, how, size) */
	CALL_CREAT, /* creat(path, mode) */
	CALL_RENAME, /* rename(old, new) */
	CALL_RENAMEAT, /* renameat(olddir, old, newdir, new[, flags]) */
	CALL_RENAMEAT2,
	CALL_LINK, /* link(old, new) */
	CALL_LINKAT, /* linkat(olddir, old, newdir, new, flags) */
	CALL_SYMLINK, /* symlink(text, new) */
	CALL_SYMLINKAT, /* symlinkat(text, newdir, new) */
	CALL_UNLINK, /* unlink(path) */
	CALL_UNLINKAT, /* unlinkat(dirfd, path, flags) */
	CALL_TRUNCATE, /* truncate(path, length) */
	CALL_MKNOD, /* mknod(path, mode, dev) */
	CALL_MKNODAT, /* mknodat(dirfd, path, mode, dev) */
	CALL_EXECVE, /* execve(path, argv, envp) */
	CALL_EXECVEAT, /* execveat(dirfd, path, argv, envp, flags) */
	CALL_CHDIR, /* chdir(path), fchdir(fd): where relative paths start */
	CALL_CHROOT, /* chroot, pivot_root: where absolute paths start */
	CALL_NAMESPACE, /* unshare, setns, move_mount: what is mounted */
	CALL_MOUNT, /* mount(source, path, ...) */
	CALL_UMOUNT, /* umount2(path, flags) */
	CALL_DETACH, /* open_tree, fsmount: a mount that is not attached anywhere */
	CALL_HANDLE, /* open_by_handle_at(mount, handle, flags) */
	CALL_FANOTIFY, /* fanotify_init(flags, ...): may receive files */
	CALL_IO_URING, /* io_uring_setup: later operations cannot be seen */
	CALL_RECVMSG, /* recvmsg(fd, message, flags): may receive files */
	CALL_RECVMMSG, /* recvmmsg and others that may receive files */
	CALL_LIMIT, /* setrlimit(RLIMIT_NOFILE, ...) */
	CALL_PRLIMIT, /* prlimit64(pid, RLIMIT_NOFILE, new, old) */
	CALL_GETAFFINITY, /* sched_getaffinity: see hot.h */
	CALL_SETAFFINITY,
	CALL_CREDENTIALS, /* setuid and similar, seccomp, landlock: later calls may
			   * be refused */
	CALL_PRCTL, /* prctl that gives up privileges: the same */
	CALL_RIGHTS, /* chmod, chown, setxattr and similar: permissions change */
	CALL_ATTRIBUTES, /* ioctl(FS_IOC_SETFLAGS, ...): the same */
	CALL_CLONE, /* clone(flags, ...) into other namespaces or untraced */
	CALL_CLONE3, /* clone3(args, size) */
	CALL_PTRACE, /* ptrace(PTRACE_ATTACH, tid) and similar: another tracer */
	CALL_WAIT, /* wait4(tid, status, __WALL): for a thread it traces */
	CALL_UNSEEN, /* not a system call: marks a call whose names we cannot see */
	CALL_FOREIGN, /* a system call ABI without a table */
	CALL_END,
};

struct call_spec {
	uint32_t nr;
	enum call call;
};

struct call_abi {
	uint32_t audit_arch; /* AUDIT_ARCH_* */
	uint32_t foreign_from; /* first number of another ABI; 0: none... */
	uint32_t foreign_until; /* ...and the first after it; higher numbers are not
				 * calls */
	const struct call_spec *specs;
	size_t n_specs;
};

extern const struct call_abi call_abis[];
extern const size_t n_call_abis;

/* Skips the call that a thread is stopped at, and makes this its result. */
void calls_answer(pid_t tid, int64_t result);

/* Replaces the first argument of the call that a thread is stopped at. */
void calls_set_first(pid_t tid, uint64_t value);

/* Looks up a call by its number; CALL_NONE when it is in no table. */
enum call call_find(uint32_t audit_arch, uint64_t nr);

#endif
