/* failing_calls.c - loaded into the program under test: makes one system call fail.
 *
 *	FAIL=CALL:N:ERRNO	the Nth call of that name, from 1, and all later ones with N+
 *
 * Calls: fsync, pwrite, fallocate, renameat2, openat, ftruncate, mkdirat, flock, write.  Only
 * those on files below the directory FAIL_BELOW are counted, where a descriptor tells. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

static int is_below(int fd)
{
	const char *dir = getenv("FAIL_BELOW");
	char link[64], path[4096] = "";

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return dir && readlink(link, path, sizeof(path) - 1) > 0 &&
	       strncmp(path, dir, strlen(dir)) == 0;
}

/* Is it this call's turn?  Sets errno. */
static int fails(const char *call, int fd)
{
	static atomic_int count;
	const char *plan = getenv("FAIL");
	size_t len = strlen(call);
	char *end;
	long n, now;

	if (!plan || strncmp(plan, call, len) != 0 || plan[len] != ':' ||
	    !is_below(fd))
		return 0;
	n = strtol(plan + len + 1, &end, 10);
	now = atomic_fetch_add(&count, 1) + 1;
	if (*end == '+' ? now < n : now != n)
		return 0;
	errno = atoi(strchr(end, ':') + 1);
	return 1;
}

#define NEXT(name) (__typeof__(&name))dlsym(RTLD_NEXT, #name)

VISIBLE int fsync(int fd)
{
	return fails("fsync", fd) ? -1 : (NEXT(fsync))(fd);
}

VISIBLE ssize_t write(int fd, const void *data, size_t len)
{
	return fails("write", fd) ? -1 : (NEXT(write))(fd, data, len);
}

VISIBLE ssize_t pwrite64(int fd, const void *data, size_t len, off64_t offset)
{
	return fails("pwrite", fd) ? -1 :
				     (NEXT(pwrite64))(fd, data, len, offset);
}

VISIBLE int fallocate64(int fd, int mode, off64_t offset, off64_t len)
{
	return fails("fallocate", fd) ?
		       -1 :
		       (NEXT(fallocate64))(fd, mode, offset, len);
}

VISIBLE int ftruncate64(int fd, off64_t len)
{
	return fails("ftruncate", fd) ? -1 : (NEXT(ftruncate64))(fd, len);
}

VISIBLE int flock(int fd, int operation);
VISIBLE int flock(int fd, int operation)
{
	return fails("flock", fd) ? -1 : (NEXT(flock))(fd, operation);
}

VISIBLE int mkdirat(int dir, const char *path, mode_t mode)
{
	return fails("mkdirat", dir) ? -1 : (NEXT(mkdirat))(dir, path, mode);
}

VISIBLE int renameat2(int from_dir, const char *from, int to_dir,
		      const char *to, unsigned flags)
{
	return fails("renameat2", to_dir) ?
		       -1 :
		       (NEXT(renameat2))(from_dir, from, to_dir, to, flags);
}

VISIBLE int openat64(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & O_CREAT)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return fails("openat", dir) ? -1 :
				      (NEXT(openat64))(dir, path, flags, mode);
}
