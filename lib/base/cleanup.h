/* cleanup.h - scope ends, resources end.
 *
 * CLEANUP(fn) runs fn(&variable) when the variable leaves its scope, so every
 * return of a function is correct by construction.  A function that hands its
 * resource over says so with TAKE_PTR or TAKE_FD.  These are the only macros
 * of their kind in the tree. */
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

/* Defines fn##p(), the form of a free function that CLEANUP() wants. */
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

/* Closes a descriptor and keeps errno: closing is never the news. */
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
