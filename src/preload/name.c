/* name.c - calls that change what a name means: always asked. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "preload.h"

/* ---- rename ---- */

static struct telling renaming(int dirfd, const char *from, int dirfd2,
			       const char *to, unsigned flags)
{
	return (struct telling){
		.call = LOG_CALL_RENAME,
		.flags = flags,
		.dirfd = dirfd,
		.dirfd2 = dirfd2,
		.path = from,
		.path2 = to,
	};
}

WRAPPER(int, rename, const char *from, const char *to)
{
	struct telling t = renaming(AT_FDCWD, from, AT_FDCWD, to, 0);

	return (int)ASKED(&t, NEXT(rename)(from, to));
}

WRAPPER(int, renameat, int dirfd, const char *from, int dirfd2, const char *to)
{
	struct telling t = renaming(dirfd, from, dirfd2, to, 0);

	return (int)ASKED(&t, NEXT(renameat)(dirfd, from, dirfd2, to));
}

WRAPPER(int, renameat2, int dirfd, const char *from, int dirfd2, const char *to,
	unsigned flags)
{
	struct telling t = renaming(dirfd, from, dirfd2, to, flags);

	return (int)ASKED(&t, NEXT(renameat2)(dirfd, from, dirfd2, to, flags));
}

/* ---- links ---- */

static struct telling linking(enum log_call call, int dirfd, const char *from,
			      int dirfd2, const char *to, int flags)
{
	struct telling t = renaming(dirfd, from, dirfd2, to, (unsigned)flags);

	t.call = (uint8_t)call;
	return t;
}

WRAPPER(int, link, const char *from, const char *to)
{
	struct telling t = linking(LOG_CALL_LINK, AT_FDCWD, from, AT_FDCWD, to,
				   0);

	return (int)ASKED(&t, NEXT(link)(from, to));
}

WRAPPER(int, linkat, int dirfd, const char *from, int dirfd2, const char *to,
	int flags)
{
	struct telling t = linking(LOG_CALL_LINK, dirfd, from, dirfd2, to,
				   flags);

	return (int)ASKED(&t, NEXT(linkat)(dirfd, from, dirfd2, to, flags));
}

WRAPPER(int, symlink, const char *text, const char *to)
{
	struct telling t = linking(LOG_CALL_SYMLINK, AT_FDCWD, text, AT_FDCWD,
				   to, 0);

	return (int)ASKED(&t, NEXT(symlink)(text, to));
}

WRAPPER(int, symlinkat, const char *text, int dirfd, const char *to)
{
	struct telling t = linking(LOG_CALL_SYMLINK, AT_FDCWD, text, dirfd, to,
				   0);

	return (int)ASKED(&t, NEXT(symlinkat)(text, dirfd, to));
}

/* ---- removing and cutting ---- */

static struct telling naming(enum log_call call, int dirfd, const char *path,
			     unsigned flags)
{
	return (struct telling){
		.call = (uint8_t)call,
		.flags = flags,
		.dirfd = dirfd,
		.path = path,
	};
}

WRAPPER(int, unlink, const char *path)
{
	struct telling t = naming(LOG_CALL_UNLINK, AT_FDCWD, path, 0);

	return (int)ASKED(&t, NEXT(unlink)(path));
}

WRAPPER(int, unlinkat, int dirfd, const char *path, int flags)
{
	struct telling t = naming(LOG_CALL_UNLINK, dirfd, path,
				  (unsigned)flags);

	return (int)ASKED(&t, NEXT(unlinkat)(dirfd, path, flags));
}

/* The filter does not know rmdir(), which removes no content; unlinkat() does the
 * same and is asked, so names told before are resolved while they exist. */
WRAPPER(int, rmdir, const char *path)
{
	struct telling t = naming(LOG_CALL_UNLINK, AT_FDCWD, path,
				  AT_REMOVEDIR);

	if (next_is_foreign(NEXT_rmdir))
		return (int)ASKED(&t, NEXT(rmdir)(path));
	return (int)ASKED(&t, NEXT(unlinkat)(AT_FDCWD, path, AT_REMOVEDIR));
}

/* As libc does it, so that each of the two calls has its own result. */
WRAPPER(int, remove, const char *path)
{
	if (next_is_foreign(NEXT_remove))
		return NEXT(remove)(path);
	if (wrap_unlink(path) == 0)
		return 0;
	return errno == EISDIR ? wrap_rmdir(path) : -1;
}

WRAPPER(int, truncate, const char *path, off_t length)
{
	struct telling t = naming(LOG_CALL_TRUNCATE, AT_FDCWD, path, 0);

	return (int)ASKED(&t, NEXT(truncate)(path, length));
}

WRAPPER(int, truncate64, const char *path, off_t length)
{
	struct telling t = naming(LOG_CALL_TRUNCATE, AT_FDCWD, path, 0);

	return (int)ASKED(&t, NEXT(truncate64)(path, length));
}

/* ---- mknod: a regular file is an empty output, the rest has no content ---- */

static bool is_regular(mode_t mode)
{
	return (mode & S_IFMT) == 0 || S_ISREG(mode);
}

WRAPPER(int, mknod, const char *path, mode_t mode, dev_t dev)
{
	struct telling t = naming(LOG_CALL_MKNOD, AT_FDCWD, path, mode);

	if (!is_regular(mode))
		return NEXT(mknod)(path, mode, dev);
	return (int)ASKED(&t, NEXT(mknod)(path, mode, dev));
}

WRAPPER(int, mknodat, int dirfd, const char *path, mode_t mode, dev_t dev)
{
	struct telling t = naming(LOG_CALL_MKNOD, dirfd, path, mode);

	if (!is_regular(mode))
		return NEXT(mknodat)(dirfd, path, mode, dev);
	return (int)ASKED(&t, NEXT(mknodat)(dirfd, path, mode, dev));
}

/* What mknod() was to programs built before glibc 2.33. */
WRAPPER(int, __xmknod, int version, const char *path, mode_t mode, dev_t *dev)
{
	struct telling t = naming(LOG_CALL_MKNOD, AT_FDCWD, path, mode);

	if (!is_regular(mode))
		return NEXT(__xmknod)(version, path, mode, dev);
	return (int)ASKED(&t, NEXT(__xmknod)(version, path, mode, dev));
}

WRAPPER(int, __xmknodat, int version, int dirfd, const char *path, mode_t mode,
	dev_t *dev)
{
	struct telling t = naming(LOG_CALL_MKNOD, dirfd, path, mode);

	if (!is_regular(mode))
		return NEXT(__xmknodat)(version, dirfd, path, mode, dev);
	return (int)ASKED(&t,
			  NEXT(__xmknodat)(version, dirfd, path, mode, dev));
}
