/* calls_common.h - the calls that every 64-bit architecture has by name.
 *
 * One list, so that a call that is observed on one machine is observed on all.  Only
 * the calls_*.c files include it: the numbers are those of the machine it is compiled
 * for.  Some headers do not know the newer calls, which stand here as numbers: 442
 * mount_setattr, 446 landlock_restrict_self, 452 fchmodat2, 463 setxattrat, 466
 * removexattrat, 467 open_tree_attr. */
#ifndef ROAR_TRACE_CALL_CALLS_COMMON_H
#define ROAR_TRACE_CALL_CALLS_COMMON_H

#include <sys/syscall.h>

/* The most frequent call first: call_find() searches in this order. */
#define CALLS_COMMON                                                          \
	{ SYS_openat, CALL_OPENAT }, { SYS_ioctl, CALL_ATTRIBUTES },          \
		{ SYS_openat2, CALL_OPENAT2 },                                \
		{ SYS_unlinkat, CALL_UNLINKAT },                              \
		{ SYS_renameat, CALL_RENAMEAT },                              \
		{ SYS_renameat2, CALL_RENAMEAT2 },                            \
		{ SYS_linkat, CALL_LINKAT },                                  \
		{ SYS_symlinkat, CALL_SYMLINKAT },                            \
		{ SYS_truncate, CALL_TRUNCATE },                              \
		{ SYS_mknodat, CALL_MKNODAT }, { SYS_execve, CALL_EXECVE },   \
		{ SYS_execveat, CALL_EXECVEAT }, { SYS_chdir, CALL_CHDIR },   \
		{ SYS_fchdir, CALL_CHDIR }, { SYS_chroot, CALL_CHROOT },      \
		{ SYS_pivot_root, CALL_CHROOT },                              \
		{ SYS_unshare, CALL_NAMESPACE },                              \
		{ SYS_setns, CALL_NAMESPACE }, { SYS_mount, CALL_MOUNT },     \
		{ SYS_umount2, CALL_UMOUNT },                                 \
		{ SYS_move_mount, CALL_NAMESPACE }, { 442, CALL_NAMESPACE },  \
		{ SYS_open_tree, CALL_DETACH }, { SYS_fsmount, CALL_DETACH }, \
		{ 467, CALL_DETACH }, { SYS_open_by_handle_at, CALL_HANDLE }, \
		{ SYS_io_uring_setup, CALL_IO_URING },                        \
		{ SYS_fanotify_init, CALL_FANOTIFY },                         \
		{ SYS_recvmsg, CALL_RECVMSG },                                \
		{ SYS_recvmmsg, CALL_RECVMMSG },                              \
		{ SYS_pidfd_getfd, CALL_RECVMMSG },                           \
		{ SYS_setrlimit, CALL_LIMIT },                                \
		{ SYS_prlimit64, CALL_PRLIMIT },                              \
		{ SYS_sched_getaffinity, CALL_GETAFFINITY },                  \
		{ SYS_sched_setaffinity, CALL_SETAFFINITY },                  \
		{ SYS_setuid, CALL_CREDENTIALS },                             \
		{ SYS_setreuid, CALL_CREDENTIALS },                           \
		{ SYS_setresuid, CALL_CREDENTIALS },                          \
		{ SYS_setfsuid, CALL_CREDENTIALS },                           \
		{ SYS_capset, CALL_CREDENTIALS },                             \
		{ SYS_seccomp, CALL_CREDENTIALS }, { 446, CALL_CREDENTIALS }, \
		{ SYS_fchmod, CALL_RIGHTS }, { SYS_fchmodat, CALL_RIGHTS },   \
		{ 452, CALL_RIGHTS }, { SYS_fchown, CALL_RIGHTS },            \
		{ SYS_fchownat, CALL_RIGHTS }, { SYS_setxattr, CALL_RIGHTS }, \
		{ SYS_lsetxattr, CALL_RIGHTS },                               \
		{ SYS_fsetxattr, CALL_RIGHTS },                               \
		{ SYS_removexattr, CALL_RIGHTS },                             \
		{ SYS_lremovexattr, CALL_RIGHTS },                            \
		{ SYS_fremovexattr, CALL_RIGHTS }, { 463, CALL_RIGHTS },      \
		{ 466, CALL_RIGHTS }, { SYS_clone, CALL_CLONE },              \
		{ SYS_clone3, CALL_CLONE3 }, { SYS_ptrace, CALL_PTRACE },     \
		{ SYS_wait4, CALL_WAIT },                                     \
	{                                                                     \
		SYS_prctl, CALL_PRCTL                                         \
	}

#endif
