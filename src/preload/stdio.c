/* stdio.c - streams and temporary files.
 *
 * fopen() with the usual modes is our open() and libc's fdopen(), which avoids the
 * round trip to the reader that libc's own open would cost.  Other modes (append,
 * character sets, mapping) go to libc's fopen().
 *
 * libc also creates temporary files, because only libc knows the name it will try.
 * With a filter the kernel reports the name; without one it is reported afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "preload.h"

typedef FILE *(*fopen_function)(const char *, const char *);
typedef FILE *(*freopen_function)(const char *, const char *, FILE *);

/* Open flags of a usual mode; -1 for the others. */
static int flags_of(const char *mode)
{
	int flags;

	if (mode[0] == 'r')
		flags = O_RDONLY;
	else if (mode[0] == 'w')
		flags = O_WRONLY | O_CREAT | O_TRUNC;
	else
		return -1;
	for (mode++; *mode; mode++) {
		if (*mode == '+')
			flags = (flags & ~O_ACCMODE) | O_RDWR;
		else if (*mode == 'e')
			flags |= O_CLOEXEC;
		else if (*mode == 'x')
			flags |= O_EXCL;
		else if (*mode != 'b')
			return -1;
	}
	return flags;
}

static FILE *stream_of(int fd, const char *mode)
{
	FILE *f;
	int saved;

	if (fd < 0)
		return NULL;
	f = fdopen(fd, mode);
	if (f)
		return f;
	saved = errno;
	(void)raw_call(SYS_close, fd);
	errno = saved;
	return NULL;
}

static long number_of(FILE *f)
{
	int saved = errno;
	long fd = f ? fileno(f) : -1;

	errno = saved;
	return fd;
}

static FILE *fopen_asked(enum next which, const char *path, const char *mode,
			 int flags)
{
	struct telling t = {
		.call = LOG_CALL_OPEN,
		.dirfd = AT_FDCWD,
		.path = path,
		.flags = (uint32_t)flags,
	};
	bool asked = ask_begin(&t);
	struct patience p = { .saved = errno };
	FILE *f;

	do
		f = ((fopen_function)next_function(which))(path, mode);
	while (!f && errno == EINTR && opens_at_once(AT_FDCWD, path) &&
	       patience_is_left(&p));
	if (p.held)
		patience_end(&p);
	(void)ask_end(asked, &t, number_of(f));
	return f;
}

/* What libc makes of the first letters of a mode; for the reader. */
static int rough_flags(const char *mode)
{
	int base = mode[0] == 'r' ? 0 :
		   mode[0] == 'w' ? O_CREAT | O_TRUNC :
				    O_CREAT | O_APPEND;

	if (strchr(mode, '+'))
		return base | O_RDWR;
	return base | (mode[0] == 'r' ? O_RDONLY : O_WRONLY);
}

static FILE *preload_fopen(enum next which, const char *path, const char *mode)
{
	int flags;

	if (!live() || is_no_pointer(mode))
		return ((fopen_function)next_function(which))(path, mode);
	flags = flags_of(mode);
	if (flags < 0 || next_is_foreign(which) || next_is_foreign(NEXT_openat))
		return fopen_asked(which, path, mode, rough_flags(mode));
	return stream_of(preload_open(NEXT_openat, AT_FDCWD, path, flags, 0666),
			 mode);
}

WRAPPER(FILE *, fopen, const char *path, const char *mode)
{
	return preload_fopen(NEXT_fopen, path, mode);
}

WRAPPER(FILE *, fopen64, const char *path, const char *mode)
{
	return preload_fopen(NEXT_fopen64, path, mode);
}

static FILE *preload_freopen(enum next which, const char *path,
			     const char *mode, FILE *stream)
{
	freopen_function next = (freopen_function)next_function(which);
	struct telling t = {
		.call = LOG_CALL_OPEN,
		.dirfd = AT_FDCWD,
		.path = path,
	};
	uint64_t mask = 0;
	bool asked, quiet;
	FILE *f;

	/* Without a path it is the same file in another mode. */
	if (!live() || is_no_pointer(path) || is_no_pointer(mode))
		return next(path, mode, stream);
	t.flags = (uint32_t)rough_flags(mode);
	asked = ask_begin(&t);
	/* It cannot be made again: the old stream is gone then. */
	quiet = opens_at_once(AT_FDCWD, path) && signals_hold(&mask);
	f = next(path, mode, stream);
	if (quiet)
		signals_let_go(mask);
	(void)ask_end(asked, &t, number_of(f));
	return f;
}

WRAPPER(FILE *, freopen, const char *path, const char *mode, FILE *stream)
{
	return preload_freopen(NEXT_freopen, path, mode, stream);
}

WRAPPER(FILE *, freopen64, const char *path, const char *mode, FILE *stream)
{
	return preload_freopen(NEXT_freopen64, path, mode, stream);
}

/* ---- mkstemp ---- */

/* It cannot be made again, as PATIENTLY() would: the name is another one then. */
#define TEMPORARY(call, name)                      \
	({                                         \
		uint64_t mask_ = 0;                \
		bool held_ = signals_hold(&mask_); \
		int fd_ = (call);                  \
                                                   \
		if (held_)                         \
			signals_let_go(mask_);     \
		temporary(fd_, name);              \
	})

static int temporary(int fd, const char *name)
{
	struct telling t = {
		.kind = LOG_INTENT,
		.dirfd = AT_FDCWD,
		.flags = O_RDWR | O_CREAT | O_EXCL,
		.path = name,
	};
	struct telling done = { .kind = LOG_RESULT, .value = fd };
	int saved = errno;

	if (fd < 0 || !live() || preload.seccomp)
		return fd;
	(void)tell(&t, true);
	done.other = (uint32_t)t.cell;
	(void)tell(&done, true);
	raise_generation();
	errno = saved;
	return fd;
}

WRAPPER(int, mkstemp, char *name)
{
	return TEMPORARY(NEXT(mkstemp)(name), name);
}

WRAPPER(int, mkstemp64, char *name)
{
	return TEMPORARY(NEXT(mkstemp64)(name), name);
}

WRAPPER(int, mkostemp, char *name, int flags)
{
	return TEMPORARY(NEXT(mkostemp)(name, flags), name);
}

WRAPPER(int, mkostemp64, char *name, int flags)
{
	return TEMPORARY(NEXT(mkostemp64)(name, flags), name);
}

WRAPPER(int, mkstemps, char *name, int suffix_len)
{
	return TEMPORARY(NEXT(mkstemps)(name, suffix_len), name);
}

WRAPPER(int, mkstemps64, char *name, int suffix_len)
{
	return TEMPORARY(NEXT(mkstemps64)(name, suffix_len), name);
}

WRAPPER(int, mkostemps, char *name, int suffix_len, int flags)
{
	return TEMPORARY(NEXT(mkostemps)(name, suffix_len, flags), name);
}

WRAPPER(int, mkostemps64, char *name, int suffix_len, int flags)
{
	return TEMPORARY(NEXT(mkostemps64)(name, suffix_len, flags), name);
}
