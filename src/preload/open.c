/* open.c - open() and its family.
 *
 * Four routes, by flags and mode:
 *
 *	silent	O_PATH, directories: not observed and not reported
 *	read	not observed by the filter; reported if it succeeds and is new
 *	told	creates or truncates a file that was not read: intent, call, result
 *	asked	everything else: libc's function, after the reader has examined the file
 *
 * open() is a cancellation point.  pthread_setcanceltype() around the call replaces
 * what libc does inside: a pending cancellation acts before the call, and one that
 * arrives while the call blocks ends it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "preload.h"

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

enum way { WAY_SILENT, WAY_READ, WAY_TOLD, WAY_ASKED };

int wrap_openat(int dirfd, const char *path, int flags, ...) __asm__("openat");

/* ---- which way ---- */

/* Names that mean something else to every process. */
static bool is_magic(const char *path)
{
	if (strncmp(path, "/proc/", 6) == 0)
		return path[6] == 's' || path[6] == 't' ||
		       (path[6] >= '0' && path[6] <= '9');
	return strncmp(path, "/dev/fd", 7) == 0 ||
	       strncmp(path, "/dev/std", 8) == 0;
}

static uint32_t name_bit(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	const char *name = slash ? slash + 1 : path;

	return log_name_bit(name, (size_t)(path + len - name));
}

static bool was_read(const char *path)
{
	uint32_t bit = name_bit(path, strlen(path));

	return atomic_load(&preload.names[bit / 64]) >> bit % 64 & 1;
}

static void set_read(const char *path, size_t len)
{
	uint32_t bit = name_bit(path, len);
	uint64_t mask = UINT64_C(1) << bit % 64;

	if (!(atomic_load_explicit(&preload.names[bit / 64],
				   memory_order_relaxed) &
	      mask))
		atomic_fetch_or(&preload.names[bit / 64], mask);
}

static bool is_writing(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
}

/* Who reads the file may know it by another name. */
static bool has_other_names(const char *path)
{
	struct stat st;

	return raw_call(SYS_newfstatat, AT_FDCWD, path, &st, 0) == 0 &&
	       st.st_nlink > 1 && S_ISREG(st.st_mode);
}

static enum way way_of_write(const char *path, int flags)
{
	if ((flags & O_ACCMODE) == O_ACCMODE)
		return WAY_ASKED;
	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return WAY_TOLD;
	if (flags & O_TRUNC && !was_read(path) && !has_other_names(path))
		return WAY_TOLD;
	return WAY_ASKED;
}

static enum way way_of(int dirfd, const char *path, int flags)
{
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return WAY_ASKED;
	if (flags & O_PATH)
		return WAY_SILENT;
	if (!is_writing(flags) && flags & O_DIRECTORY)
		return WAY_SILENT;
	if (is_no_pointer(path))
		return WAY_SILENT;
	if (path[0] == '/' ? is_magic(path) :
			     dirfd != AT_FDCWD || preload.nameless)
		return WAY_ASKED;
	if (self_is_borrowed() || preload.elsewhere ||
	    atomic_load_explicit(&preload.log->mounted, memory_order_relaxed) ||
	    !ring_has_room())
		return WAY_ASKED;
	return is_writing(flags) ? way_of_write(path, flags) : WAY_READ;
}

/* ---- the ways ---- */

static long open_unseen(int dirfd, const char *path, int flags, mode_t mode)
{
	int type, unused;
	long r;

	(void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	r = unseen_call(SYS_openat, dirfd, (long)path, flags, (long)mode);
	(void)pthread_setcanceltype(type, &unused);
	return r;
}

static int set_errno(long r)
{
	if (r >= 0)
		return (int)r;
	errno = (int)-r;
	return -1;
}

/* Another thread changed the directory in the meantime: which one the path
 * started at is unknown, but the descriptor knows its file. */
static void tell_descriptor(long fd)
{
	struct telling t = { .kind = LOG_FD, .value = (int32_t)fd };

	(void)tell(&t, true);
	tell_sync(); /* before the program can close it */
}

static bool directory_moved(const char *path, uint64_t cwd)
{
	return path[0] != '/' &&
	       ((uint32_t)cwd || cwd != atomic_load(&preload.cwd));
}

static void tell_read(const char *path, int flags, long fd, uint32_t generation,
		      uint64_t cwd)
{
	size_t len = strlen(path);
	uint64_t seed = (uint64_t)process_id() << 32 | generation;
	uint64_t mark = log_hash(seed ^ cwd >> 16, path, len);
	_Atomic uint64_t *slot = &preload.known[mark % (LOG_KNOWN_SIZE / 8)];
	struct telling t = {
		.kind = LOG_OPEN,
		.flags = (uint32_t)flags,
		.dirfd = AT_FDCWD,
		.value = (int32_t)fd,
		.path = path,
		.path_len = len < LOG_PATH_MAX ? len : LOG_PATH_MAX,
	};

	if (atomic_load_explicit(slot, memory_order_relaxed) == mark)
		return;
	set_read(path, len);
	if (directory_moved(path, cwd))
		tell_descriptor(fd);
	else if (tell(&t, true) == 0)
		atomic_store_explicit(slot, mark, memory_order_relaxed);
}

static int open_read(const char *path, int flags, mode_t mode)
{
	uint32_t generation = atomic_load(&preload.log->generation);
	uint64_t cwd = atomic_load(&preload.cwd);
	int saved = errno;
	long fd = open_unseen(AT_FDCWD, path, flags, mode);

	if (fd < 0)
		return set_errno(fd);
	tell_read(path, flags, fd, generation, cwd);
	if (unlikely(ring_is_early()))
		tell_sync();
	errno = saved;
	return (int)fd;
}

static int open_told(const char *path, int flags, mode_t mode)
{
	uint64_t cwd = atomic_load(&preload.cwd);
	int saved = errno;
	struct telling t = {
		.kind = LOG_INTENT,
		.flags = (uint32_t)flags,
		.dirfd = AT_FDCWD,
		.path = path,
	};
	struct telling done = { .kind = LOG_RESULT };
	long fd;

	(void)tell(&t, true);
	raise_generation();
	fd = open_unseen(AT_FDCWD, path, flags, mode);
	raise_generation();
	done.value = (int32_t)fd;
	done.other = (uint32_t)t.cell;
	(void)tell(&done, true);
	if (fd >= 0 && directory_moved(path, cwd))
		tell_descriptor(fd);
	errno = saved;
	return set_errno(fd);
}

static int call_next(enum next which, int dirfd, const char *path, int flags,
		     mode_t mode)
{
	void *f = next_function(which);

	switch (which) {
	case NEXT_open:
	case NEXT_open64:
		return ((int (*)(const char *, int, ...))f)(path, flags, mode);
	case NEXT_creat:
	case NEXT_creat64:
		return ((int (*)(const char *, mode_t))f)(path, mode);
	case NEXT___open_2:
	case NEXT___open64_2:
		return ((int (*)(const char *, int))f)(path, flags);
	case NEXT___openat_2:
	case NEXT___openat64_2:
		return ((int (*)(int, const char *, int))f)(dirfd, path, flags);
	default:
		return ((int (*)(int, const char *, int, ...))f)(dirfd, path,
								 flags, mode);
	}
}

/* Devices wait, too; and what magic names lead to may be anything. */
bool opens_at_once(int dirfd, const char *path)
{
	struct stat st;

	if (is_no_pointer(path) || (path[0] == '/' && is_magic(path)))
		return false;
	return raw_call(SYS_newfstatat, dirfd, path, &st, 0) < 0 ||
	       S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
}

static int call_patiently(enum next which, int dirfd, const char *path,
			  int flags, mode_t mode)
{
	return PATIENTLY_WHEN(opens_at_once(dirfd, path),
			      call_next(which, dirfd, path, flags, mode));
}

static int open_asked(enum next which, int dirfd, const char *path, int flags,
		      mode_t mode)
{
	struct telling t = {
		.call = LOG_CALL_OPEN,
		.dirfd = dirfd,
		.path = path,
		.flags = (uint32_t)flags,
	};
	bool asked = ask_begin(&t);

	return (int)ask_end(asked, &t,
			    call_patiently(which, dirfd, path, flags, mode));
}

int preload_open(enum next which, int dirfd, const char *path, int flags,
		 mode_t mode)
{
	enum way way;

	if (unlikely(!live()))
		return call_patiently(which, dirfd, path, flags, mode);
	way = next_is_foreign(which) ? WAY_ASKED : way_of(dirfd, path, flags);
	switch (way) {
	case WAY_SILENT:
		return set_errno(open_unseen(dirfd, path, flags, mode));
	case WAY_READ:
		return open_read(path, flags, mode);
	case WAY_TOLD:
		return open_told(path, flags, mode);
	default:
		return open_asked(which, dirfd, path, flags, mode);
	}
}

/* ---- the functions ---- */

/* The mode of an open; there is one only when something may be created. */
#define OPEN_MODE(flags, mode)                                           \
	do {                                                             \
		va_list ap;                                              \
                                                                         \
		va_start(ap, flags);                                     \
		if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) \
			(mode) = va_arg(ap, mode_t);                     \
		va_end(ap);                                              \
	} while (0)

WRAPPER(int, open, const char *path, int flags, ...)
{
	mode_t mode = 0;

	OPEN_MODE(flags, mode);
	return preload_open(NEXT_open, AT_FDCWD, path, flags, mode);
}

WRAPPER(int, open64, const char *path, int flags, ...)
{
	mode_t mode = 0;

	OPEN_MODE(flags, mode);
	return preload_open(NEXT_open64, AT_FDCWD, path, flags, mode);
}

WRAPPER(int, openat, int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;

	OPEN_MODE(flags, mode);
	return preload_open(NEXT_openat, dirfd, path, flags, mode);
}

WRAPPER(int, openat64, int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;

	OPEN_MODE(flags, mode);
	return preload_open(NEXT_openat64, dirfd, path, flags, mode);
}

WRAPPER(int, creat, const char *path, mode_t mode)
{
	return preload_open(NEXT_creat, AT_FDCWD, path,
			    O_WRONLY | O_CREAT | O_TRUNC, mode);
}

WRAPPER(int, creat64, const char *path, mode_t mode)
{
	return preload_open(NEXT_creat64, AT_FDCWD, path,
			    O_WRONLY | O_CREAT | O_TRUNC, mode);
}

/* The checked forms abort the program when a mode is missing: libc does that. */
static bool lacks_mode(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

WRAPPER(int, __open_2, const char *path, int flags)
{
	if (lacks_mode(flags))
		return NEXT(__open_2)(path, flags);
	return preload_open(NEXT___open_2, AT_FDCWD, path, flags, 0);
}

WRAPPER(int, __open64_2, const char *path, int flags)
{
	if (lacks_mode(flags))
		return NEXT(__open64_2)(path, flags);
	return preload_open(NEXT___open64_2, AT_FDCWD, path, flags, 0);
}

WRAPPER(int, __openat_2, int dirfd, const char *path, int flags)
{
	if (lacks_mode(flags))
		return NEXT(__openat_2)(dirfd, path, flags);
	return preload_open(NEXT___openat_2, dirfd, path, flags, 0);
}

WRAPPER(int, __openat64_2, int dirfd, const char *path, int flags)
{
	if (lacks_mode(flags))
		return NEXT(__openat64_2)(dirfd, path, flags);
	return preload_open(NEXT___openat64_2, dirfd, path, flags, 0);
}

int wrap_openat2(int dirfd, const char *path, const struct open_how *how,
		 size_t size) __asm__("openat2");

static int call_openat2(int dirfd, const char *path, const struct open_how *how,
			size_t size)
{
	if (next_is_foreign(NEXT_openat2))
		return NEXT(openat2)(dirfd, path, how, size);
	return set_errno(raw_call(SYS_openat2, dirfd, path, how, size));
}

/* Newer than most libcs; its ways of resolving are the reader's business. */
WRAPPER(int, openat2, int dirfd, const char *path, const struct open_how *how,
	size_t size)
{
	struct telling t = {
		.call = LOG_CALL_OPEN,
		.dirfd = dirfd,
		.path = path,
		.flags = is_no_pointer(how) ? 0 : (uint32_t)how->flags,
		.dirfd2 = is_no_pointer(how) ? 0 : (int32_t)how->resolve,
	};
	bool asked = ask_begin(&t);

	return (int)ask_end(
		asked, &t,
		PATIENTLY_WHEN(opens_at_once(dirfd, path),
			       call_openat2(dirfd, path, how, size)));
}
