/* interpose.c - another library that stands in front of libc.
 *
 * Counts calls of open() and rename() and says so at the end: whoever loads it,
 * before or after ours, must see all of them. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

#define API __attribute__((visibility("default")))

static int n_opens, n_renames;

API int open(const char *path, int flags, ...);
API int rename(const char *from, const char *to);

int open(const char *path, int flags, ...)
{
	int (*next)(const char *, int, ...) = (int (*)(
		const char *, int, ...))dlsym(RTLD_NEXT, "open");
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = va_arg(ap, int);
	va_end(ap);
	n_opens++;
	return next(path, flags, mode);
}

int rename(const char *from, const char *to)
{
	int (*next)(const char *, const char *) = (int (*)(
		const char *, const char *))dlsym(RTLD_NEXT, "rename");

	n_renames++;
	return next(from, to);
}

__attribute__((destructor)) static void say(void)
{
	printf("%d opens, %d renames\n", n_opens, n_renames);
}
