/* next.h - the functions that our wrappers stand in front of.
 *
 * dlsym(RTLD_NEXT) would do, but it lives in libdl on old systems, and may
 * allocate and lock.  So the tables of the loaded libraries are read directly:
 * those between us and libc once at the start, because another library may have
 * replaced a function too (it must go on to be called), libc's own when a
 * function is first needed.  That needs no lock and is right in any context. */
#ifndef ROAR_PRELOAD_NEXT_H
#define ROAR_PRELOAD_NEXT_H

#include <stdatomic.h>
#include <stdbool.h>

enum next {
#define X(name) NEXT_##name,
#include "next_names.inc"
#undef X
	NEXT_END,
};

extern _Atomic(void *) next_table[NEXT_END]; /* NULL: not looked for yet */
extern bool next_foreign[NEXT_END]; /* it is not libc's */

/* Reads the libraries that were loaded with us. */
void next_init(void);

void *next_find(enum next which);

/* Never NULL: what libc lacks fails with ENOSYS. */
static inline void *next_function(enum next which)
{
	void *f = atomic_load_explicit(&next_table[which],
				       memory_order_relaxed);

	return f ? f : next_find(which);
}

/* Must the function be called although we could do without? */
static inline bool next_is_foreign(enum next which)
{
	return next_foreign[which];
}

#endif
