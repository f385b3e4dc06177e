/* cleanup.h - frees resources at the end of a scope.
 *
 * CLEANUP(fn) runs fn(&variable) when the variable leaves its scope, so that no return of a
 * function can leak it.  A function that transfers ownership uses TAKE_PTR or TAKE_FD.  The
 * tree has no other macros of this kind. */
#ifndef ROAR_BASE_CLEANUP_H
#define ROAR_BASE_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* The value of `ptr`, which becomes NULL: ownership moves to the receiver. */
#define TAKE_PTR(ptr)                       \
	({                                  \
		__auto_type taken_ = (ptr); \
		(ptr) = NULL;               \
		taken_;                     \
	})

/* The value of `fd`, which becomes -1. */
#define TAKE_FD(fd)                \
	({                         \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})

/* Defines fn##p(), the form of a free function that CLEANUP() needs. */
#define DEFINE_CLEANUP(type, fn)          \
	static inline void fn##p(type *p) \
	{                                 \
		if (*p)                   \
			fn(*p);           \
	}

static inline void freep(void *p)
{
	free(*(void **)p);
}

/* Closes a descriptor and preserves errno. */
static inline void closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = saved;
}

DEFINE_CLEANUP(FILE *, fclose)
DEFINE_CLEANUP(DIR *, closedir)

#endif
