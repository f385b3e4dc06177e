/* route.c - syscall(), by number.
 *
 * With a seccomp filter the kernel reports the call, and it goes to libc directly.
 * Without a filter, observed calls are routed to their functions here.  The parameters
 * are fixed where libc declares "...": both use the same registers, so the last call
 * can be a tail call. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include "preload.h"

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif

typedef long (*syscall_function)(long, long, long, long, long, long, long);

/* The wrappers, under the names they have for programs. */
int renameat2(int, const char *, int, const char *, unsigned);
int unlinkat(int, const char *, int);
int linkat(int, const char *, int, const char *, int);
int symlinkat(const char *, int, const char *);
int truncate(const char *, off_t);
int chdir(const char *);
int fchdir(int);
int chroot(const char *);
int unshare(int);
int setns(int, int);
int mount(const char *, const char *, const char *, unsigned long,
	  const void *);
int umount2(const char *, int);
int execve(const char *, char *const *, char *const *);
int execveat(int, const char *, char *const *, char *const *, int);
int open_by_handle_at(int, struct file_handle *, int);
int mknodat(int, const char *, mode_t, dev_t);

long preload_syscall(long nr, long a, long b, long c, long d, long e,
		     long f) __asm__("syscall")
	__attribute__((visibility("default")));

static long next_syscall(long nr, long a, long b, long c, long d, long e,
			 long f)
{
	return ((syscall_function)next_function(NEXT_syscall))(nr, a, b, c, d,
							       e, f);
}

#define S(x) ((const char *)(x))
#define V(x) ((char *const *)(x))

/* Calls that have no function of their own here: asked as what they are. */
static long ask_and_call(enum log_call call, long nr, long a, long b, long c,
			 long d)
{
	struct telling t = {
		.call = (uint8_t)call,
		.dirfd = AT_FDCWD,
	};
	bool asked;

	if (call == LOG_CALL_OPEN) {
		t.dirfd = (int32_t)a;
		t.path = (const char *)b;
		t.flags = is_no_pointer((void *)c) ? 0 : *(uint32_t *)c;
		t.dirfd2 = is_no_pointer((void *)c) ? 0 : ((int32_t *)c)[4];
	}
	asked = ask_begin(&t);
	return ask_end(asked, &t,
		       PATIENTLY_WHEN(call != LOG_CALL_OPEN ||
					      opens_at_once((int)a, S(b)),
				      next_syscall(nr, a, b, c, d, 0, 0)));
}

static long route(long nr, long a, long b, long c, long d, long e, long f)
{
	switch (nr) {
#ifdef SYS_open
	case SYS_open:
		return preload_open(NEXT_openat, AT_FDCWD, S(a), (int)b,
				    (mode_t)c);
	case SYS_creat:
		return preload_open(NEXT_openat, AT_FDCWD, S(a),
				    O_WRONLY | O_CREAT | O_TRUNC, (mode_t)b);
	case SYS_rename:
		return renameat2(AT_FDCWD, S(a), AT_FDCWD, S(b), 0);
	case SYS_unlink:
		return unlinkat(AT_FDCWD, S(a), 0);
	case SYS_rmdir:
		return unlinkat(AT_FDCWD, S(a), AT_REMOVEDIR);
	case SYS_link:
		return linkat(AT_FDCWD, S(a), AT_FDCWD, S(b), 0);
	case SYS_symlink:
		return symlinkat(S(a), AT_FDCWD, S(b));
	case SYS_mknod:
		return mknodat(AT_FDCWD, S(a), (mode_t)b, (dev_t)c);
#endif
	case SYS_openat:
		return preload_open(NEXT_openat, (int)a, S(b), (int)c,
				    (mode_t)d);
	case SYS_openat2:
		return ask_and_call(LOG_CALL_OPEN, nr, a, b, c, d);
#ifdef SYS_renameat
	case SYS_renameat:
		return renameat2((int)a, S(b), (int)c, S(d), 0);
#endif
	case SYS_renameat2:
		return renameat2((int)a, S(b), (int)c, S(d), (unsigned)e);
	case SYS_unlinkat:
		return unlinkat((int)a, S(b), (int)c);
	case SYS_linkat:
		return linkat((int)a, S(b), (int)c, S(d), (int)e);
	case SYS_symlinkat:
		return symlinkat(S(a), (int)b, S(c));
	case SYS_mknodat:
		return mknodat((int)a, S(b), (mode_t)c, (dev_t)d);
	case SYS_truncate:
		return truncate(S(a), b);
	case SYS_chdir:
		return chdir(S(a));
	case SYS_fchdir:
		return fchdir((int)a);
	case SYS_chroot:
		return chroot(S(a));
	case SYS_unshare:
		return unshare((int)a);
	case SYS_setns:
		return setns((int)a, (int)b);
	case SYS_mount:
		return mount(S(a), S(b), S(c), (unsigned long)d, S(e));
	case SYS_umount2:
		return umount2(S(a), (int)b);
	case SYS_pivot_root:
		return ask_and_call(LOG_CALL_NAMESPACE, nr, a, b, 0, 0);
	case SYS_execve:
		return execve(S(a), V(b), V(c));
	case SYS_execveat:
		return execveat((int)a, S(b), V(c), V(d), (int)e);
	case SYS_open_by_handle_at:
		return open_by_handle_at((int)a, (struct file_handle *)b,
					 (int)c);
	case SYS_io_uring_setup:
		return ask_and_call(LOG_CALL_IO_URING, nr, a, b, 0, 0);
	default:
		return next_syscall(nr, a, b, c, d, e, f);
	}
}

/* Calls whose outcome cannot be found out afterwards: the reader needs the result. */
static bool needs_result(long nr)
{
	return nr == SYS_openat2 || nr == SYS_io_uring_setup;
}

/* Calls with a notification that nothing else could interrupt. */
static bool is_patient(long nr)
{
	switch (nr) {
#ifdef SYS_open
	case SYS_open:
	case SYS_creat:
	case SYS_rename:
	case SYS_unlink:
	case SYS_link:
	case SYS_symlink:
	case SYS_mknod:
#endif
#ifdef SYS_renameat
	case SYS_renameat:
#endif
	case SYS_openat:
	case SYS_renameat2:
	case SYS_unlinkat:
	case SYS_linkat:
	case SYS_symlinkat:
	case SYS_mknodat:
	case SYS_truncate:
	case SYS_chdir:
	case SYS_fchdir:
	case SYS_execve:
	case SYS_execveat:
		return true;
	default:
		return false;
	}
}

static bool is_harmless(long nr, long a, long b)
{
#ifdef SYS_open
	if (nr == SYS_open || nr == SYS_creat)
		return opens_at_once(AT_FDCWD, S(a));
#endif
	return nr != SYS_openat || opens_at_once((int)a, S(b));
}

long preload_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	if (is_patient(nr) && live() && preload.seccomp)
		return PATIENTLY_AS(nr == SYS_execve || nr == SYS_execveat,
				    is_harmless(nr, a, b),
				    next_syscall(nr, a, b, c, d, e, f));
	if (!live() || (preload.seccomp && !needs_result(nr)))
		return next_syscall(nr, a, b, c, d, e, f);
	return route(nr, a, b, c, d, e, f);
}
