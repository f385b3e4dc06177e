/* exec.c - the exec family.
 *
 * All variants call libc's execve, execvpe, fexecve or execveat, with an environment
 * that preloads this library if the new program can load it. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "preload.h"
#include "trace/preload/preload_target.h"

#define DEFAULT_PATH "/bin:/usr/bin"

/* ---- what will be executed ---- */

/* The next candidate of PATH in `buf`; `*rest` is NULL after the last. */
static bool candidate(const char **rest, const char *file, char *buf)
{
	const char *dir = *rest;
	size_t len = strcspn(dir, ":"), file_len = strlen(file);

	*rest = dir[len] ? dir + len + 1 : NULL;
	if (len + file_len + 2 > LOG_PATH_MAX)
		return false;
	memcpy(buf, dir, len);
	if (len)
		buf[len++] = '/';
	memcpy(buf + len, file, file_len + 1);
	return true;
}

/* The file that execvp() will execute: the first it may. */
static bool search_path(const char *file, char *buf)
{
	const char *rest = getenv("PATH");

	rest = rest ? rest : DEFAULT_PATH;
	while (rest)
		if (candidate(&rest, file, buf) &&
		    raw_call(SYS_faccessat, AT_FDCWD, buf, X_OK) == 0)
			return true;
	return false;
}

/* Programs that were looked at: a mark of the file, whose lowest bit says whether it
 * bears us.  A shell executes the same few again and again.  What has changed in the
 * last seconds may change once more without a sign, and scripts depend on other
 * files: these are not kept. */
static _Atomic uint64_t looks[64];

static uint64_t mark_of(const struct stat *st)
{
	const uint64_t key[] = { st->st_dev,
				 st->st_ino,
				 (uint64_t)st->st_size,
				 (uint64_t)st->st_mtim.tv_sec,
				 (uint64_t)st->st_mtim.tv_nsec,
				 (uint64_t)st->st_ctim.tv_sec,
				 (uint64_t)st->st_ctim.tv_nsec };

	return (log_hash(0, (const char *)key, sizeof(key)) | 3) ^ 1;
}

static bool is_old(const struct stat *st)
{
	enum { YOUNG = 5 }; /* seconds */
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 &&
	       st->st_ctim.tv_sec + YOUNG < now.tv_sec;
}

/* The mark of a program that may be known; 0: none. */
static uint64_t find_mark(int dirfd, const char *file)
{
	struct stat st;

	if (raw_call(SYS_newfstatat, dirfd, file, &st, 0) < 0 ||
	    !S_ISREG(st.st_mode) || !is_old(&st))
		return 0;
	return mark_of(&st);
}

static _Atomic uint64_t *look_of(uint64_t mark)
{
	return &looks[mark >> 8 & (sizeof(looks) / sizeof(looks[0]) - 1)];
}

static bool is_script(int fd)
{
	char head[2] = "";

	return raw_call(SYS_pread64, fd, head, sizeof(head), 0) == 2 &&
	       head[0] == '#' && head[1] == '!';
}

static bool look_inside(int dirfd, const char *file, uint64_t mark)
{
	long fd = unseen_call(SYS_openat, dirfd, (long)file,
			      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	bool bears;

	if (fd < 0)
		return false;
	bears = target_bears((int)fd, quiet_open);
	if (mark && !is_script((int)fd))
		atomic_store_explicit(look_of(mark), mark | bears,
				      memory_order_relaxed);
	(void)raw_call(SYS_close, fd);
	return bears;
}

static bool bears_at(int dirfd, const char *file, int flags)
{
	uint64_t mark, known;

	if (flags & AT_EMPTY_PATH && file[0] == '\0')
		return target_bears(dirfd, quiet_open);
	mark = flags & AT_SYMLINK_NOFOLLOW ? 0 : find_mark(dirfd, file);
	known = atomic_load_explicit(look_of(mark), memory_order_relaxed);
	if (mark && (known & ~UINT64_C(1)) == mark)
		return known & 1;
	return look_inside(dirfd, file, mark);
}

/* Whose child it is the reader would have to ask the kernel. */
static void announce(void)
{
	int32_t pid = (int32_t)raw_call(SYS_getpid, 0);
	struct telling t = { .kind = LOG_CHILD, .exact = true, .value = pid };

	if (pid != atomic_load(&preload.identity->pid))
		(void)tell(&t, false);
}

static void look_at(struct exec_target *x, int dirfd, const char *file,
		    int flags, char *const *argv)
{
	x->t = (struct telling){
		.call = LOG_CALL_EXEC,
		.flags = (uint32_t)flags,
		.dirfd = dirfd,
		.path = file,
		.argv = argv,
	};
	if (!is_no_pointer(file) && !atomic_load(&preload.elsewhere))
		x->bears = bears_at(dirfd, file, flags & ~(int)LOG_EXEC_SPAWN);
	if (!(flags & (int)LOG_EXEC_SPAWN))
		announce();
	x->asked = ask_begin(&x->t);
}

/* A name without a slash that is nowhere in PATH is asked for as it is. */
static void look_in_path(struct exec_target *x, const char *file, int flags,
			 char *const *argv)
{
	long buf = raw_call(SYS_mmap, 0, LOG_PATH_MAX, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buf < 0 && buf > -4096) {
		look_at(x, AT_FDCWD, file, flags, argv);
		return;
	}
	if (search_path(file, (char *)buf))
		look_at(x, AT_FDCWD, (char *)buf, flags, argv);
	else
		look_at(x, AT_FDCWD, file, flags, argv);
	(void)raw_call(SYS_munmap, buf, LOG_PATH_MAX);
}

void exec_target_init(struct exec_target *x, int dirfd, const char *file,
		      int flags, char *const *argv, bool search)
{
	int saved = errno;

	*x = (struct exec_target){ 0 };
	if (!live())
		return;
	if (search && !is_no_pointer(file) && !strchr(file, '/') && file[0])
		look_in_path(x, file, flags, argv);
	else
		look_at(x, dirfd, file, flags, argv);
	errno = saved;
}

long exec_target_done(struct exec_target *x, long result)
{
	return ask_end(x->asked, &x->t, result);
}

/* ---- the functions with an array ---- */

/* What every one of them needs around the call itself. */
struct exec_call {
	struct exec_target x;
	struct envp_plan plan;
	char *small[ENVP_SMALL];
};

/* Returns the environment to call with. */
static char *const *begin(struct exec_call *c, int dirfd, const char *file,
			  int flags, char *const *argv, char *const *envp,
			  bool search)
{
	exec_target_init(&c->x, dirfd, file, flags, argv, search);
	envp_plan(&c->plan, envp, c->x.bears, c->small);
	return c->plan.envp;
}

/* It did not succeed, or we would not be here. */
static int end(struct exec_call *c, int result)
{
	envp_release(&c->plan);
	return (int)exec_target_done(&c->x, result);
}

WRAPPER(int, execve, const char *path, char *const *argv, char *const *envp)
{
	struct exec_call c;

	envp = begin(&c, AT_FDCWD, path, 0, argv, envp, false);
	return end(&c, EXEC_PATIENTLY(NEXT(execve)(path, argv, envp)));
}

WRAPPER(int, execvpe, const char *file, char *const *argv, char *const *envp)
{
	struct exec_call c;

	envp = begin(&c, AT_FDCWD, file, 0, argv, envp, true);
	return end(&c, EXEC_PATIENTLY(NEXT(execvpe)(file, argv, envp)));
}

WRAPPER(int, fexecve, int fd, char *const *argv, char *const *envp)
{
	struct exec_call c;

	envp = begin(&c, fd, "", AT_EMPTY_PATH, argv, envp, false);
	return end(&c, EXEC_PATIENTLY(NEXT(fexecve)(fd, argv, envp)));
}

/* glibc has it since 2.34. */
static int call_execveat(int dirfd, const char *path, char *const *argv,
			 char *const *envp, int flags)
{
	long r = raw_call(SYS_execveat, dirfd, path, argv, envp, flags);

	if (r >= 0)
		return (int)r;
	errno = (int)-r;
	return -1;
}

WRAPPER(int, execveat, int dirfd, const char *path, char *const *argv,
	char *const *envp, int flags)
{
	struct exec_call c;

	envp = begin(&c, dirfd, path, flags, argv, envp, false);
	if (next_is_foreign(NEXT_execveat))
		return end(&c, EXEC_PATIENTLY(NEXT(execveat)(dirfd, path, argv,
							     envp, flags)));
	return end(&c, EXEC_PATIENTLY(
			       call_execveat(dirfd, path, argv, envp, flags)));
}

WRAPPER(int, execv, const char *path, char *const *argv)
{
	return wrap_execve(path, argv, environ);
}

WRAPPER(int, execvp, const char *file, char *const *argv)
{
	return wrap_execvpe(file, argv, environ);
}

/* ---- the functions with a list ---- */

static size_t count_list(va_list ap)
{
	size_t n = 1; /* the first is named */

	while (va_arg(ap, char *))
		n++;
	return n;
}

/* Collects `n` arguments and the NULL after them; on the stack, as libc does. */
static void collect(char **argv, const char *first, size_t n, va_list ap)
{
	argv[0] = (char *)first;
	for (size_t i = 1; i <= n; i++)
		argv[i] = va_arg(ap, char *);
}

#define COLLECT(first, argv)                                      \
	va_list ap;                                               \
	size_t n_args;                                            \
                                                                  \
	va_start(ap, first);                                      \
	n_args = (first) ? count_list(ap) : 0;                    \
	va_end(ap);                                               \
	(argv) = __builtin_alloca((n_args + 1) * sizeof(char *)); \
	va_start(ap, first);                                      \
	if (n_args)                                               \
		collect(argv, first, n_args, ap);                 \
	else                                                      \
		(argv)[0] = NULL

WRAPPER(int, execl, const char *path, const char *first, ...)
{
	char **argv;

	COLLECT(first, argv);
	va_end(ap);
	return wrap_execve(path, argv, environ);
}

WRAPPER(int, execlp, const char *file, const char *first, ...)
{
	char **argv;

	COLLECT(first, argv);
	va_end(ap);
	return wrap_execvpe(file, argv, environ);
}

WRAPPER(int, execle, const char *path, const char *first, ...)
{
	char **argv;
	char *const *envp;

	COLLECT(first, argv);
	envp = va_arg(ap, char *const *);
	va_end(ap);
	return wrap_execve(path, argv, envp);
}
